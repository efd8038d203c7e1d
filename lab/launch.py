"""How the switches of a network are started: each one's ports, and whether they share a process."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcn.base.errors import LabError, nearest
from pcn.lab import pace
from pcn.lab.target import (
    EMBEDDED,
    EngineTarget,
    LaunchSpec,
    PortSpec,
    SoftswitchTarget,
)
from pcn.softswitch.tick import TICK_NS
from pcn.topologies import order, queue_depth
from pcn.topologies.lossless import CLASSES, PFC
from pcn.topologies.model import FIFO, Endpoint, Topology
from pcn.topologies.schedules import Schedule
from pcn.topologies.switch import ARBITRATIONS, Switch

if TYPE_CHECKING:
    from pcn.controller.marking_contract import PacketGenerator
    from pcn.lab.calibrate import Links

SLACK_S, SLACK_REAL_S = 0.1e-6, 40e-6
"""Nominal: how late an embedded switch's frames may leave, so that one wake-up serves several. Half
a packet's time at 40 Gbit/s, a twentieth of what would show in a queue (docs/hosts.md)."""


class NetworkError(LabError):
    """The network can't be started here; the text has the reason and the way out."""


def links(target: str, processes: bool) -> Links:
    """Returns how the switches of a network with agents are linked."""
    if target not in EMBEDDED:
        return "kernel"
    return "together" if share_process(target, processes) else "processes"


def share_process(target: str, processes: bool) -> bool:
    """Returns whether the switches share a process: the embedded ones do, unless each is to have
    its own."""
    return target in EMBEDDED and not processes


def switch_slack_s(k: float) -> float:
    """Returns how late a frame may leave a switch by an interface, nominal."""
    return min(SLACK_S, SLACK_REAL_S / k)


def slack(target: str, k: float, agents: bool) -> str:
    """Returns how late frames may leave, nominal, so that one wake-up serves several. Those of
    links in memory have their times, however late they are put."""
    from pcn.hosts.loop import transmit_gap_s

    if target in EMBEDDED:
        return (
            "none: links are in memory"
            if agents
            else f"{switch_slack_s(k) * 1e6:.2g} us in switches"
        )
    return f"{transmit_gap_s(k) * 1e6:.2g} us in hosts" if agents else ""


def virtual_alone(
    topology: Topology, target: str = SoftswitchTarget.name
) -> Iterator[tuple[str, str]]:
    """Yields what exists in virtual time, and not with live switches of this target: a name of
    `LEFT_OUT`, or an empty one, and a line."""
    by_engine = target == EngineTarget.name
    if topology.flow_control != PFC:
        yield (
            "",
            f"{topology.name}: flow control {topology.flow_control!r} is there in virtual time "
            "alone: what stops a live switch's queues is PAUSE, by its program; nothing there "
            "counts credits",
        )
    if queue_depth.queue_packets(topology.parameters):
        yield "queue", f"{topology.name}: {queue_depth.QUEUE} is there in virtual time alone"
    code = [switch for switch in topology.switches if order.is_shown(switch.arbitration)]
    if code:
        yield (
            "arbitration",
            f"{', '.join(switch.name for switch in code)}: arbitration "
            f"{order.stored(code[0].arbitration)}: a topology's file can't bring code",
        )
    arbitrations = {
        switch.arbitration
        for switch in topology.switches
        if switch.arbitration != FIFO and switch not in code and not by_engine
    }
    names = " and ".join(map(repr, sorted(arbitrations)))
    for name, has, feature in (
        ("arbitration", lambda of: of.arbitration in arbitrations, f"arbitration {names} is"),
        ("output", lambda switch: switch.output is not None, "output buffers behind a fabric are"),
        ("watchdog", lambda switch: switch.watchdog is not None, "a PFC watchdog is"),
        ("latency", lambda switch: switch.takes_time, "a latency and cut-through are"),
        (
            "weights",
            lambda of: any(any(row.weights) for row in of.schedules),
            "weights of classes are",
        ),
        ("caps", lambda of: any(any(row.caps_bps) for row in of.schedules), "caps of classes are"),
        ("buffer", lambda switch: switch.buffer is not None, "a shared buffer is"),
    ):
        switches = [switch.name for switch in topology.switches if has(switch)]
        if switches and not (by_engine and name == "weights"):
            by_the_engine = name in ("weights", "arbitration")
            where = (
                "with --target engine, and in virtual time" if by_the_engine else "in virtual time"
            )
            yield name, f"{', '.join(switches)}: {feature} there {where} alone"


LEFT_OUT = ("queue", "arbitration", "output", "watchdog", "latency", "weights", "caps", "buffer")
"""What a live network can do without."""


def require_live(topology: Topology, target: str = SoftswitchTarget.name) -> None:
    """Raises NetworkError with all that live switches of this target haven't."""
    lacking = list(virtual_alone(topology, target))
    if not lacking:
        return
    names = [name for name, _ in lacking if name]
    way_out = (
        f"\n`pcn up --leave-out {','.join(names)}` goes without"
        if len(names) == len(lacking)
        else ""
    )
    raise NetworkError("\n".join(line for _, line in lacking) + way_out)


def without(topology: Topology, names: Collection[str]) -> Topology:
    """Returns the topology without these of `LEFT_OUT`. Raises NetworkError for another name."""
    for name in names:
        if name not in LEFT_OUT:
            raise NetworkError(f"{name!r} can't be left out; {nearest(name, LEFT_OUT)}")
    plain: dict[str, dict[str, Any]] = {
        "arbitration": {"arbitration": FIFO},
        "output": {"output": None},
        "watchdog": {"watchdog": None},
        "latency": {"latency_s": 0.0, "cut_through": False},
        "buffer": {"buffer": None},
    }
    fields: dict[str, Any] = {}
    for name in names:
        fields |= plain.get(name, {})
    parameters = {**topology.parameters, **({queue_depth.QUEUE: 0} if "queue" in names else {})}
    switches = tuple(
        replace(switch, schedules=_schedules(switch, names), **fields)
        for switch in topology.switches
    )
    return replace(topology, switches=switches, parameters=parameters)


def _schedules(switch: Switch, names: Collection[str]) -> tuple[Schedule, ...]:
    """Returns a switch's schedules without these of "weights" and "caps"."""
    rows = switch.schedules
    if "weights" in names:
        rows = tuple(replace(row, weights=(0,) * CLASSES) for row in rows)
    if "caps" in names:
        rows = tuple(replace(row, caps_bps=()) for row in rows)
    return tuple(row for row in rows if any(row.weights) or any(row.caps_bps))


def require_kernel_hosts(topology: Topology) -> None:
    """Raises NetworkError for hosts that the kernel's network stack can't be: agents send by
    several NICs, and the kernel has a host's address at one interface."""
    for host in topology.hosts:
        if (ports := len(topology.ports(host.name))) > 1:
            raise NetworkError(
                f"{host.name}: a host with {ports} ports needs an agent, and here the kernel's "
                "stack sends; of a file `split_hosts=1` makes a host of each link"
            )


def launch_spec(
    topology: Topology,
    name: str,
    dilation: float,
    address: Path,
    seed: int = 1,
    generator: PacketGenerator | None = None,
    place: str | None = None,
    frame_bytes: int | None = None,
    tick_ns: int = TICK_NS,
    target: str = SoftswitchTarget.name,
) -> LaunchSpec:
    """Returns how the switch `name` is started: ports with real rates and delays, P4Runtime on the
    Unix socket `address`. `frame_bytes`: of a data packet, where that isn't the topology's
    `mtu_bytes`; `tick_ns`: of its clock. Raises NetworkError for what live switches of
    this `target` haven't."""
    require_live(topology, target)
    ports, switch = [], topology.switch(name)
    schedules = {port: switch.schedule(port) for port in topology.ports(name)}
    for port in topology.ports(name):
        link = topology.link_at(name, port)
        ports.append(
            PortSpec(
                port,
                Endpoint(name, port).interface,
                rate_bps=link.rate_bps / dilation,
                delay_s=link.delay_s * dilation,
            )
        )
    return LaunchSpec(
        name=name,
        device_id=switch.device_id,
        ports=tuple(ports),
        address=f"unix:{address}",
        seed=seed,
        tick_ns=tick_ns,
        slack_s=switch_slack_s(dilation) * dilation,
        late_s=pace.tolerance_s(dilation) * dilation,
        place=place,
        generator=generator,
        nominal_packet_bytes=frame_bytes or int(topology.number("mtu_bytes")),
        weights={port: of.weights for port, of in schedules.items() if of is not None},
        arbitration=ARBITRATIONS.get(switch.arbitration, switch.arbitration) or None,
    )
