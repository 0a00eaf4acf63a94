from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

# So that the tests of this folder, which is no package, can import it by name.
specification = importlib.util.spec_from_file_location("reference_game", Path(__file__).with_name("reference_game.py"))
sys.modules["reference_game"] = importlib.util.module_from_spec(specification)
specification.loader.exec_module(sys.modules["reference_game"])
