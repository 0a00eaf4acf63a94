"""Models as ONNX graphs."""

from __future__ import annotations

from stream_maxloss.run.onnx.model import Exported, onnx_model

__all__ = ["Exported", "onnx_model"]
