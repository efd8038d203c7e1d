"""Numbers of RZ 3880 (unbiased QCN) that runs are compared with, each once, by the rows of
docs/claims.md."""

from __future__ import annotations

from pcn.experiments.define.checks import Claim

PFC, OUTPUTS, INPUTS = "pfc", "qcn", "qcn-in"
"""PAUSE alone, and QCN with its congestion points at outputs and at inputs."""
RANDOM, LARGEST, SOJOURN = "qcn-os", "qcn-os-largest", "qcn-os-sojourn"
BUFFERED_OUTPUTS, BOTH = "qcn-out", "qcn-both"
"""Congestion points at outputs with separate buffers, and at both."""
OCCUPANCY = (RANDOM, LARGEST, SOJOURN)
"""Occupancy sampling: the paper's two ways, and ours."""

FAIR = {"four flows": 2.5, "five flows": 2.0}
"""Gbit/s, of 10 Gbit/s."""
ON_OFF = Claim("2.4", "", FAIR)
"""V, Fig. 2a: PAUSE alone, pulses around the fair share."""
UNFAIR = Claim("2.5", "", {"f2 / f3": 1.5, "f5's floor": 2.5, "f5 / f3": 3.0})
"""V, Fig. 2b: congestion points at outputs."""
PRECISE = Claim("2.6", "Gbit/s", FAIR)
"""V, Fig. 2c: congestion points at inputs."""
AT_BOTH = Claim("2.7")
"""V, Fig. 2d: congestion points at both are like those at outputs alone."""
INNOCENT = Claim("2.9", "Gbit/s", {**FAIR, "CNMs": 0.7})
"""VI, Fig. 5a: sampling what arrives punishes f6, which waits for nothing, as it does f1."""
MODULATED = Claim("2.10", "", {**FAIR, "f6 / f1": 7 / 3})
"""VI, Fig. 5b: PAUSE alone holds both of an input's flows alike."""
SPARED = Claim("2.11", "Gbit/s", {**FAIR, "f6": 7.0})
"""VI, Fig. 5c: sampling what waits."""
MESSAGES = Claim("2.12", "", {LARGEST: 0.0})
"""VI, Fig. 5d: messages to f6; "some (but only few)" where the culprit is drawn."""
CONVERGENCE = Claim("2.13", "ms", {"output": 15.0, "input": 60.0, "keep-alive": 15.0})
"""VI, Fig. 6: until one flow's limit is that of an output that has slowed down."""
DELIVERED = Claim("2.14")
"""VI, Fig. 6a: with reliable delivery an output's congestion point is much slower."""
BACKLOGS = Claim("2.16", "KB", {"set point": 60.0})
"""VII, Fig. 7c, d: at outputs an input is nearly empty and an output at the set point; with
occupancy sampling at inputs the input is at the set point, and the output nearly full."""
AT_100G = Claim("2.15", "Gbit/s", {PFC: 16.6, INPUTS: 16.6, RANDOM: 50.0})
"""VII, Fig. 7: what f7 gets, which waits for nothing."""
