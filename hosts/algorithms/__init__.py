"""Congestion control schemes: each a file with its RP, NP, parameters and `Scheme`, which
`discovery` finds by itself. docs/schemes.md describes how to add one in a user's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import discovery
from .base import (
    Ack,
    Cnm,
    Cnp,
    Demand,
    Grant,
    Hop,
    Loss,
    Mark,
    NetworkFacts,
    NotificationPoint,
    ReactionPoint,
    Telemetry,
    Turn,
    Window,
    window_phase,
)
from .discovery import find_scheme, known_scheme, names
from .scheme import Configured, Rule, Scheme, SchemeError

if TYPE_CHECKING:
    from .discovery import schemes


def __getattr__(name: str) -> Any:
    """Loads `schemes`, all of them, when it is first used."""
    if name == "schemes":
        return discovery.schemes
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Ack",
    "Cnm",
    "Cnp",
    "Configured",
    "Demand",
    "Grant",
    "Hop",
    "Loss",
    "Mark",
    "NetworkFacts",
    "NotificationPoint",
    "ReactionPoint",
    "Rule",
    "Scheme",
    "SchemeError",
    "Telemetry",
    "Turn",
    "Window",
    "find_scheme",
    "known_scheme",
    "names",
    "schemes",
    "window_phase",
]
