"""Priority-based flow control (IEEE 802.1Qbb) by port: the table of p4src/v1model/pfc.p4, which
every program has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from pcn.controller.constants import CLASSES, MAX_QUANTA, PFC_BYTES
from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.marking_contract import Setting
from pcn.topologies.model import Topology

TABLE = "pfc_config"
# p4src/shared/constants.p4 has these two; the p4info can't tell them.
PFC_CLONE_SESSION = 1
LOSSLESS_CLASSES = 0b0000_1000  # RoCE data, class 3: of a port that isn't configured
CLONE_SESSIONS = (PFC_CLONE_SESSION,)
QUANTUM_BITS = 512  # IEEE 802.1Qbb: a pause quantum is 512 bit times
SETTINGS = (
    Setting(
        "xoff",
        "size",
        "bytes of an ingress port inside the switch above which it sends PAUSE",
        0,
        2**32 - 1,
    ),
    Setting("xon", "size", "below which it sends RESUME (default: follows xoff)", 0, 2**32 - 1),
    Setting("quanta", "count", "of its PAUSE frames, 512 bit times each", 2, MAX_QUANTA),
)


@dataclass(frozen=True)
class PfcPort:
    """One port: thresholds of what came in there, and its PAUSE frames. Times are real.

    Raises ValueError for what can't work.
    """

    port: int
    xoff_bytes: int
    xon_bytes: int
    quanta: int
    quantum_q16_us: int
    lossless: int = LOSSLESS_CLASSES

    def __post_init__(self) -> None:
        if not 0 <= self.xon_bytes <= self.xoff_bytes < 2**32:
            raise ValueError(
                f"XON {self.xon_bytes}, XOFF {self.xoff_bytes} bytes: 0 <= XON <= XOFF < 2^32 must "
                "hold"
            )
        if not 2 <= self.quanta <= MAX_QUANTA:
            raise ValueError(f"PAUSE of {self.quanta} quanta: 2 to {MAX_QUANTA} are possible")

    @property
    def refresh_us(self) -> int:
        """Half of a pause's time: one lost PAUSE frame then still doesn't let the neighbour go."""
        return max(1, self.quanta * self.quantum_q16_us // 65536 // 2)

    @property
    def pause_s(self) -> float:
        """How long one PAUSE of ours holds the neighbour, if it isn't refreshed."""
        return self.quanta * self.quantum_q16_us / 65536 * 1e-6

    def entries(self) -> list[TableEntry]:
        action = TableAction(
            "set_pfc",
            xoff_bytes=self.xoff_bytes,
            xon_bytes=self.xon_bytes,
            quanta=self.quanta,
            refresh_us=self.refresh_us,
            quantum_q16_us=self.quantum_q16_us,
            lossless=self.lossless,
        )
        return [TableEntry(TABLE, match=TableMatch(port=self.port), action=action)]


def quantum_q16_us(rate_bps: float, dilation: float) -> int:
    """Returns a pause quantum at a port of this nominal rate, in real us * 65536, rounded. Fits
    bit<32>, or raises ValueError."""
    value = round(QUANTUM_BITS * dilation / rate_bps * 1e6 * 65536)
    if not 1 <= value < 2**32:
        raise ValueError(
            f"a pause quantum at {rate_bps:g} bit/s and k = {dilation:g} is {value / 65536:g} us: "
            "the data plane counts 1/65536 to 65535 us"
        )
    return value


def configure(
    topology: Topology, switch: str, port: int, dilation: float, parameters: Any = None
) -> PfcPort:
    """Builds a port's entry from the topology's parameters; it doesn't depend on the scheme. Raises
    ValueError, also for a PAUSE that expires before it can be sent again, which takes up to the
    time of the longest frame and eight PFC frames."""
    return _checked_port(
        port,
        round(topology.number("xoff_bytes")),
        round(topology.number("xon_bytes")),
        round(topology.number("pause_quanta")),
        quantum_q16_us(topology.link_at(switch, port).rate_bps, dilation),
        lossless(topology),
        topology.number("mtu_bytes"),
    )


@lru_cache  # ports of one number are alike in most switches
def _checked_port(
    port: int, xoff: int, xon: int, quanta: int, quantum: int, classes: int, mtu_bytes: float
) -> PfcPort:
    pfc_port = PfcPort(port, xoff, xon, quanta, quantum, classes)
    quantum_us = pfc_port.quantum_q16_us / 65536
    wait_us = (mtu_bytes + CLASSES * PFC_BYTES) * 8 / QUANTUM_BITS * quantum_us
    least = math.ceil(max(2 * wait_us, 1 + wait_us) / quantum_us)
    if pfc_port.quanta < least:
        raise ValueError(
            f"a PAUSE of {pfc_port.quanta} quanta lasts {pfc_port.pause_s * 1e6:.3g} us there, and "
            f"is over before it can be sent again, behind a frame of {mtu_bytes:g} bytes: "
            f"pause_quanta {least} or more"
        )
    return pfc_port


def lossless(topology: Topology) -> int:
    """Returns the bit mask of the topology's lossless classes."""
    return sum(1 << number for number in topology.lossless_classes)


def port_of(port: int, arguments: Mapping[str, int]) -> PfcPort:
    """Returns a port by its entry's arguments. Raises ValueError, KeyError."""
    fields = ("xoff_bytes", "xon_bytes", "quanta", "quantum_q16_us", "lossless")
    return PfcPort(port, **{name: arguments[name] for name in fields})


def show(arguments: Mapping[str, int]) -> dict[str, float]:
    return {
        "xoff": arguments["xoff_bytes"],
        "xon": arguments["xon_bytes"],
        "quanta": arguments["quanta"],
    }


def change(port: int, arguments: Mapping[str, int], values: Mapping[str, float]) -> PfcPort:
    """Returns the port with new thresholds. XON keeps its distance from XOFF, unless it is given
    too."""
    distance = arguments["xoff_bytes"] - arguments["xon_bytes"]
    if "xon" not in values and values.get("xoff", distance) < distance:
        raise ValueError(
            f"XON follows XOFF at {distance} bytes below, and can't at an XOFF of "
            f"{values['xoff']:g} bytes: take {distance} or more, or set xon=... too"
        )
    old = port_of(port, arguments)
    xoff = round(values.get("xoff", old.xoff_bytes))
    xon = round(values.get("xon", xoff - distance))
    return replace(
        old, xoff_bytes=xoff, xon_bytes=xon, quanta=round(values.get("quanta", old.quanta))
    )
