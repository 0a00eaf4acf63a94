"""Run the command as `python -m stream_maxloss.cli`."""

from __future__ import annotations

from stream_maxloss.cli import main

main()
