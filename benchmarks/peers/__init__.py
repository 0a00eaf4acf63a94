"""The systems of the comparison over streams: ours, those of other libraries, and two baselines that know no column."""

from __future__ import annotations
