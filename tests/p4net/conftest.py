"""Tests of networks of P4 switches. Programs are in programs/, compiled by p4c beside their sources."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "controller"))
