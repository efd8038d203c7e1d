"""QCN with its congestion points at inputs (RZ 3880, "unbiased QCN"): QCN's RP, and other answers
to two questions.

Which queue? What an ingress port has inside the switch, whichever outputs it waits for; not an
output's queue. And which flow does a sample notify? With `qcn-in` the source of the packet that
arrives: flows are notified by what they send, also one that waits for nothing. With the paper's
occupancy sampling a flow that has packets inside: that of one of them, by chance (`qcn-os`), that
with the most bytes (`qcn-os-largest`), or one by the time that packets wait (`qcn-os-sojourn`,
ours).

Parameters are QCN's, so that the schemes can be compared; the paper's figures have their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from . import qcn
from .parameters import parameter
from .qcn import QcnParameters, QcnReactionPoint
from .scheme import Scheme

_PROGRAM, _MARKING = "qcn_in", ("qcn_in_cp",)


@dataclass(frozen=True)
class QcnInParameters(QcnParameters):
    """QCN's. `culprit` is how a sample selects the flow to notify: a name in
    controller/marking/qcn_in_cp.py."""

    culprit: ClassVar[str] = "arrival"
    keep_alive: ClassVar[float] = (
        0  # a sample at a departure needs a culprit that isn't an arriving packet
    )
    longest_wait_s: ClassVar[float] = 0


@dataclass(frozen=True)
class OccupancyParameters(QcnParameters):
    """Occupancy sampling."""

    culprit: ClassVar[str] = "random"
    keep_alive: float = parameter(
        1,
        "count",
        (
            "QCN at inputs: a paused input samples what departs; 2: and by the packet generator; "
            "0: not"
        ),
        most=2,
    )
    longest_wait_s: float = parameter(
        0,
        "time",
        "QCN at inputs: a packet's longest wait; 0: XOFF's bytes at 1/16 of the line",
        most=1,
    )


@dataclass(frozen=True)
class LargestParameters(OccupancyParameters):
    culprit: ClassVar[str] = "largest"


@dataclass(frozen=True)
class SojournParameters(OccupancyParameters):
    culprit: ClassVar[str] = "sojourn"
    # Who is told is a packet that departs: without departures there is nobody.
    keep_alive: float = parameter(
        1, "count", "QCN at inputs: a paused input samples what departs; 0: not", most=1
    )


def _scheme(name: str, summary: str, parameters: type[QcnParameters]) -> Scheme:
    return Scheme(
        name,
        f"QCN at inputs, {summary} (RZ 3880)",
        _PROGRAM,
        parameters,
        QcnReactionPoint,
        marking=_MARKING,
        recommended=qcn.recommended,
        by_network=qcn.RULES,
        unfit=qcn.unfit,
        lossless_alone=True,
    )


QCN_IN = _scheme("qcn-in", "which notifies the source of the arriving packet", QcnInParameters)
QCN_OS = _scheme(
    "qcn-os", "which notifies the source of a random packet inside", OccupancyParameters
)
QCN_OS_LARGEST = _scheme(
    "qcn-os-largest", "which notifies the flow with the most bytes inside", LargestParameters
)
QCN_OS_SOJOURN = _scheme(
    "qcn-os-sojourn", "which notifies a flow by the time that its packets wait", SojournParameters
)
QCN_OUT = Scheme(
    "qcn-out",
    "QCN at outputs with separate buffers, behind a fabric (RZ 3880)",
    "qcn_both",
    QcnParameters,
    QcnReactionPoint,
    marking=("qcn_out_cp",),
    recommended=qcn.recommended,
    by_network=qcn.RULES,
    unfit=qcn.unfit,
)
QCN_BOTH = Scheme(
    "qcn-both",
    "QCN at inputs and at outputs with separate buffers (RZ 3880)",
    "qcn_both",
    QcnInParameters,
    QcnReactionPoint,
    marking=("qcn_in_cp", "qcn_out_cp"),
    recommended=qcn.recommended,
    by_network=qcn.RULES,
    unfit=qcn.unfit,
    lossless_alone=True,
)
