"""Makes the interpreter of Tofino's assembly importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "np_ecn"))
