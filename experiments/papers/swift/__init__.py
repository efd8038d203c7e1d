"""Swift (SIGCOMM'20): a window that holds the round trip at a target."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper
from pcn.experiments.papers.swift.target import Target

PAPER = Paper(7, "Swift (SIGCOMM'20)", (Target(),))
