"""Congestion control schemes: each a file with its RP, NP, parameters and `Scheme`, which `found` finds here by itself.
docs/schemes.md says how to bring one from outside."""

from __future__ import annotations

from .base import Ack, Cnm, Cnp, Mark, NetworkFacts, NotificationPoint, ReactionPoint, Window, window_phase
from .dcqcn import DcqcnParameters
from .found import find_scheme, names, schemes
from .pcn import PcnParameters, PcnTimeParameters
from .pcn_x import PcnXParameters
from .pfc import PfcParameters
from .qcn import QcnParameters
from .scheme import Configured, Scheme, SchemeError
from .timely import TimelyParameters

__all__ = [
    "Ack",
    "Cnm",
    "Cnp",
    "Configured",
    "DcqcnParameters",
    "Mark",
    "NetworkFacts",
    "NotificationPoint",
    "PcnParameters",
    "PcnTimeParameters",
    "PcnXParameters",
    "PfcParameters",
    "QcnParameters",
    "ReactionPoint",
    "Scheme",
    "SchemeError",
    "TimelyParameters",
    "Window",
    "find_scheme",
    "names",
    "schemes",
    "window_phase",
]
