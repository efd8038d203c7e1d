"""The schemes by name: `schemes["pcn"]`. A new one is a file (RP, NP and their parameters) and a line here."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .base import Ack, Cnm, Cnp, Mark, NetworkFacts, NotificationPoint, ReactionPoint, Window, window_phase
from .dcqcn import DcqcnNotificationPoint, DcqcnParameters, DcqcnReactionPoint
from .pcn import PcnNotificationPoint, PcnParameters, PcnReactionPoint, PcnTimeParameters
from .pcn import recommended as _pcn_recommended
from .pcn_x import PcnXNotificationPoint, PcnXParameters, PcnXReactionPoint
from .pfc import PfcNotificationPoint, PfcParameters, PfcReactionPoint
from .qcn import QcnParameters, QcnReactionPoint
from .timely import TimelyParameters, TimelyReactionPoint

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
    "schemes",
    "window_phase",
]


class SchemeError(ValueError):
    """No such scheme, no such parameter, or a value that the parameter can't have."""


@dataclass(frozen=True)
class Scheme:
    """How to make the two ends of a flow, and what marks for it. `program` is the data plane, a top program of p4src;
    `parameters` the dataclass whose fields are the scheme's settings; `marking` the marking points of the program that
    take some of these, by their modules' names in `controller.marking`; `recommended` what its paper says of parameters
    for a network (`pcn up` goes by it)."""

    name: str
    summary: str
    program: str
    parameters: type[Any]
    reaction_point: Callable[[float, Any], ReactionPoint]
    notification_point: Callable[[Any], NotificationPoint]
    marking: tuple[str, ...] = ()
    recommended: Callable[[NetworkFacts], Mapping[str, float]] = lambda _network: {}

    def configure(self, settings: Mapping[str, str | float] | None = None) -> Configured:
        """The scheme with these settings over its defaults. Text may be a number or a fraction: `0.025`, `1/128`.

        Raises SchemeError.
        """
        names = [field.name for field in dataclasses.fields(self.parameters)]
        values: dict[str, float] = {}
        for name, value in (settings or {}).items():
            if name not in names:
                raise SchemeError(f"{self.name} has no parameter {name!r}{_nearest(name, names)}")
            values[name] = _number(name, value)
        try:
            return Configured(self, self.parameters(**values))
        except ValueError as error:
            raise SchemeError(f"{self.name}: {error}") from error


@dataclass(frozen=True)
class Configured:
    """A scheme and its parameters: all that a host needs to make RPs and NPs."""

    scheme: Scheme
    parameters: Any

    def new_rp(self, line_rate_bps: float) -> ReactionPoint:
        """The RP of a flow that starts now on a NIC of this rate."""
        return self.scheme.reaction_point(line_rate_bps, self.parameters)

    def new_np(self) -> NotificationPoint:
        """The NP of a flow whose first packet has arrived."""
        return self.scheme.notification_point(self.parameters)


def find_scheme(name: str) -> Scheme:
    """Raises SchemeError, which names the schemes that there are."""
    try:
        return schemes[name]
    except KeyError:
        raise SchemeError(f"there is no scheme {name!r}{_nearest(name, list(schemes))}") from None


def _nearest(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    hint = f": did you mean {near[0]!r}?" if near else "."
    return f"{hint} There {'are' if names else 'is'} {', '.join(sorted(names)) or 'none'}"


def _number(name: str, value: str | float) -> float:
    try:
        if isinstance(value, str) and "/" in value:
            above, below = value.split("/")
            number = float(above) / float(below)
        else:
            number = float(value)
    except (ValueError, ZeroDivisionError):
        number = math.nan
    if not math.isfinite(number):
        raise SchemeError(f"{name} = {value!r} is not a number: write it like 0.025 or 1/128")
    return number


schemes: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme(
            "pcn",
            "Photonic Congestion Notification (NSDI'20)",
            "pcn",
            PcnParameters,
            PcnReactionPoint,
            PcnNotificationPoint,
            recommended=_pcn_recommended,
        ),
        Scheme(
            "dcqcn",
            "Data Center QCN (SIGCOMM'15)",
            "dcqcn",
            DcqcnParameters,
            DcqcnReactionPoint,
            DcqcnNotificationPoint,
            marking=("red_ecn",),
        ),
        Scheme(
            "qcn",
            "Quantized Congestion Notification (IEEE 802.1Qau)",
            "qcn",
            QcnParameters,
            QcnReactionPoint,
            lambda parameters: NotificationPoint(),
            marking=("qcn_cp",),
        ),
        Scheme(
            "pcn-x",
            "PCN with a fairer NP and RP (docs/fairness.md)",
            "pcn",
            PcnXParameters,
            PcnXReactionPoint,
            PcnXNotificationPoint,
            recommended=_pcn_recommended,
        ),
        Scheme(
            "pcn-time",
            "PCN with marks as a Tofino gives them (docs/tofino.md)",
            "pcn_time",
            PcnTimeParameters,
            PcnReactionPoint,
            PcnNotificationPoint,
            marking=("np_ecn_time",),
            recommended=_pcn_recommended,
        ),
        Scheme(
            "timely",
            "TIMELY (SIGCOMM'15)",
            "pcn",
            TimelyParameters,
            TimelyReactionPoint,
            lambda parameters: NotificationPoint(),
        ),
        Scheme("pfc", "no congestion control: PFC alone", "pcn", PfcParameters, PfcReactionPoint, PfcNotificationPoint),
    )
}
