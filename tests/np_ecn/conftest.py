"""Makes the driver of programs without a switch importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "softswitch_program"))
