"""Uses the P4Runtime client of tests/p4runtime."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/p4runtime"))
