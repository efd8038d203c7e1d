"""Tests of networks of P4 switches. Their programs are those of examples/router and
tests/p4runtime/programs."""

import sys
from pathlib import Path

from pages import chromium

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "controller"))

__all__ = ["chromium"]
