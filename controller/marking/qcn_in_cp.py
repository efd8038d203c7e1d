"""QCN's congestion points at inputs (RZ 3880): the tables of p4src/v1model/qcn_in_cp.p4, at
arrivals and departures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from pcn.controller.constants import GENERATOR_PORT, index
from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.marking import qcn_cp
from pcn.controller.marking.qcn_cp import CNM_CLONE_SESSION, QcnPort
from pcn.controller.marking_contract import PacketGenerator, Setting
from pcn.topologies.model import Topology

INPUTS_AT_ONE_OUTPUT = 16
"""A packet waits longest where XOFF's bytes leave at such a part of the line, unless the longest
wait is given."""

BY_GENERATOR = 2
"""Of `keep_alive`: the packet generator's frames sample paused inputs, beside departures."""

TABLE = "qcn_in_arrivals"
DEPARTURES = "qcn_in_departures"
CLONE_SESSIONS = (CNM_CLONE_SESSION,)
SETTINGS = (
    Setting("q_eq", "size", "set point of what an input has inside (QCN at inputs)", 1, 2**31 - 1),
    Setting("w", "count", "weight of its growth", 0, 255),
    Setting("sample", "size", "bytes of arrivals between two samples, on average", 1, 2**31 - 1),
)


class Culprit(IntEnum):
    """How a sample selects the flow to notify: choice_t of the P4 file."""

    ARRIVAL = 0
    RANDOM = 1
    LARGEST = 2
    SOJOURN = 3


@dataclass(frozen=True)
class QcnInPort(QcnPort):
    """One ingress port. `keep_alive_us`: between two samples of a paused input, 0 for none.
    `sojourn_us`: the longest wait of a packet, for SOJOURN. Both are real time. Raises ValueError
    for what can't work."""

    adaptive: bool = False
    culprit: Culprit = Culprit.ARRIVAL
    keep_alive_us: int = 0
    sojourn_us: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.culprit is Culprit.ARRIVAL and self.keep_alive_us:
            raise ValueError(
                "keep-alive needs a culprit that isn't the arriving packet: a paused input has none"
            )
        if not 0 <= self.keep_alive_us < 2**48:
            raise ValueError(f"keep-alive {self.keep_alive_us} us: it must be from 0 to 2^48 - 1")
        if not 1 <= self.sojourn_us < 2**32:
            raise ValueError(f"longest wait {self.sojourn_us} us: it must be from 1 to 2^32 - 1")

    def arguments(self) -> dict[str, int]:
        """Returns the arguments of both tables' actions."""
        return {
            "choice": int(self.culprit),
            **super().arguments(),
            "keep_alive_us": self.keep_alive_us,
            "sojourn_us": self.sojourn_us,
        }

    def entries(self) -> list[TableEntry]:
        return [
            TableEntry(
                table,
                match=TableMatch(port=self.port),
                action=TableAction(action, **self.arguments()),
            )
            for table, action in ((TABLE, "set_arrivals"), (DEPARTURES, "set_departures"))
        ]


def configure(
    topology: Topology, switch: str, port: int, dilation: float, parameters: Any
) -> QcnInPort:
    rate_bps = topology.link_at(switch, port).rate_bps
    sample_s = 8 * parameters.sample_bytes / rate_bps
    longest_s = (
        parameters.longest_wait_s
        or INPUTS_AT_ONE_OUTPUT * 8 * topology.number("xoff_bytes") / rate_bps
    )
    return QcnInPort(
        port,
        round(parameters.q_eq_bytes),
        round(parameters.w),
        round(parameters.sample_bytes),
        bool(parameters.adaptive),
        Culprit[parameters.culprit.upper()],
        max(1, round(sample_s * dilation * 1e6)) if parameters.keep_alive else 0,
        max(1, round(longest_s * dilation * 1e6)),
    )


def packet_generator(
    topology: Topology, switch: str, dilation: float, parameters: Any
) -> PacketGenerator | None:
    """Returns a frame for each port and lossless class, as often as the fastest port is to be
    sampled."""
    if parameters.keep_alive != BY_GENERATOR:
        return None
    ports = topology.ports(switch)
    period_us = min(
        configure(topology, switch, port, dilation, parameters).keep_alive_us for port in ports
    )
    inputs = tuple(index(port, number) for port in ports for number in topology.lossless_classes)
    return PacketGenerator(GENERATOR_PORT, period_us, inputs)


def show(arguments: Mapping[str, int]) -> dict[str, float]:
    return qcn_cp.show(arguments)


def change(port: int, arguments: Mapping[str, int], values: Mapping[str, float]) -> QcnInPort:
    new = qcn_cp.change(port, arguments, values)
    keep_alive_us = round(arguments["keep_alive_us"] * new.sample_bytes / show(arguments)["sample"])
    return QcnInPort(
        port,
        new.q_eq_bytes,
        new.w,
        new.sample_bytes,
        new.adaptive,
        Culprit(arguments["choice"]),
        max(1, keep_alive_us) if arguments["keep_alive_us"] else 0,
        arguments["sojourn_us"],
    )
