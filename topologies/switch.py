"""Switches."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pcn.base.errors import TopologyError
from pcn.topologies import order
from pcn.topologies.buffers import MOST_BUFFER, OutputBuffer, SharedBuffer
from pcn.topologies.ecn import EcnThresholds
from pcn.topologies.entry_points import find
from pcn.topologies.lossless import PFC
from pcn.topologies.schedules import Schedule
from pcn.topologies.watchdog import Watchdog

FIFO, ROUND_ROBIN = "fifo", "round robin"
ARBITRATIONS = {FIFO: "", ROUND_ROBIN: "round_robin"}
"""By their names the engine's schedulers, of virtualnet/csrc/switches/schedulers.c."""
SCHEDULER = "scheduler"
"""Entry points of this kind are further ones, each a `pcn.virtualnet.native.Part`; FILE.c:NAME is
one of a C file (order.py)."""
_from_packages: set[str] = set()
"""Found so far: to list what is installed takes longer than to check a switch, of which there are
thousands."""


@dataclass(frozen=True)
class Switch:
    """`arbitration`: the order among packets of a class at an output. "fifo": that of their
    arrival, an output-queued switch. "round robin": over input ports, a packet each, a switch with
    virtual output queues. FILE.c:NAME: a scheduler of one's own. `output`: None where packets leave
    as soon as their turn comes. `buffer`: None where each class of a port has PFC's thresholds of
    the topology for itself. All other than these: in virtual time alone. `ecn`: RED's thresholds of
    ports to which one of them applies, instead of the scheme's; the first such one counts.
    `schedules`: likewise how ports serve classes, the others have strict priorities; they and
    arbitrations are there live with the target "engine" alone. `watchdog`: in virtual time alone.
    `latency_s`: from a frame's arrival to its turn in the program; `cut_through`: it arrives with
    its first 64 bytes, and may leave while it comes in; in virtual time alone."""

    name: str
    device_id: int
    arbitration: str = FIFO
    output: OutputBuffer | None = None
    buffer: SharedBuffer | None = None
    ecn: tuple[EcnThresholds, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    watchdog: Watchdog | None = None
    latency_s: float = 0.0
    cut_through: bool = False

    @property
    def takes_time(self) -> bool:
        return self.latency_s > 0 or self.cut_through

    def schedule(self, port: int) -> Schedule | None:
        return next(
            (schedule for schedule in self.schedules if schedule.port in (None, port)), None
        )


def is_arbitration(name: str) -> bool:
    """Returns whether a switch can have this arbitration: one of ours, of an installed package, or
    of a C file."""
    if name in ARBITRATIONS or name in _from_packages:
        return True
    if order.file_and_name(name) is not None or order.is_shown(name):
        return True
    if find(SCHEDULER, name) is None:
        return False
    _from_packages.add(name)
    return True


def check_switch(switch: Switch, mtu_bytes: float, flow_control: str) -> None:
    """Raises TopologyError for one that can't be."""
    if switch.device_id < 0:
        raise TopologyError(f"{switch.name}: device id {switch.device_id} must not be negative")
    if not is_arbitration(switch.arbitration):
        raise TopologyError(
            f"{switch.name}: arbitration {switch.arbitration!r}: choose from "
            f"{' and '.join(map(repr, ARBITRATIONS))}, or a scheduler of one's own, FILE.c:NAME"
        )
    buffer = switch.output
    if buffer is not None and not (buffer.speed_up > 0 and 0 <= buffer.latency_s < math.inf):
        raise TopologyError(
            f"{switch.name}: its output buffers need a speed-up above 0, and a latency"
        )
    if buffer is not None and not buffer.size_bytes < MOST_BUFFER:
        raise TopologyError(
            f"{switch.name}: output buffers of {buffer.size_bytes:g} bytes: less than 2^48"
        )
    if buffer is not None and buffer.size_bytes < mtu_bytes:
        raise TopologyError(
            f"{switch.name}: output buffers of {buffer.size_bytes:g} bytes hold no frame of "
            f"mtu_bytes, {mtu_bytes:g}"
        )
    if not 0 <= switch.latency_s < math.inf:
        raise TopologyError(
            f"{switch.name}: a latency of {switch.latency_s:g} s: 0 or more are possible"
        )
    if switch.takes_time and (switch.output is not None or flow_control != PFC):
        raise TopologyError(
            f"{switch.name}: a latency or cut-through is there with PFC, without output buffers"
        )
    if switch.cut_through and switch.watchdog is not None:
        raise TopologyError(f"{switch.name}: cut-through is there without a PFC watchdog")
    if (switch.schedules or switch.watchdog) and switch.output is not None:
        raise TopologyError(
            f"{switch.name}: output buffers have strict priorities, and no PFC watchdog"
        )
    if switch.watchdog is not None and flow_control != PFC:
        raise TopologyError(f"{switch.name}: a PFC watchdog is there with PFC")
    if switch.buffer is not None and (switch.output is not None or flow_control != PFC):
        raise TopologyError(
            f"{switch.name}: a shared buffer is there with PFC, and without output buffers"
        )
