"""Makes the driver of programs without a switch importable, and NP-ECN's model of a port."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "softswitch_program"))
sys.path.insert(0, str(Path(__file__).parents[1] / "np_ecn"))
