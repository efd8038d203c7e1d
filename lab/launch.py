"""How the switches of a network are started: each one's ports, and whether they share a process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pcn.lab import pace
from pcn.lab.target import LaunchSpec, PortSpec, SoftswitchTarget
from pcn.topologies import lossy
from pcn.topologies.errors import LabError
from pcn.topologies.lossless import PFC
from pcn.topologies.model import FIFO, Endpoint, Topology

if TYPE_CHECKING:
    from pcn.controller.marking_contract import PacketGenerator
    from pcn.lab.calibrate import Links

SLACK_S, SLACK_REAL_S = 0.1e-6, 40e-6
"""Nominal: how late an embedded switch's frames may leave, so that one wake-up serves several. Half a packet's time at
40 Gb/s, a twentieth of what would show in a queue (docs/hosts.md)."""


class NetworkError(LabError):
    """The network can't be started here; the text has the reason and the way out."""


def links(target: str, processes: bool) -> Links:
    """Returns how the switches of a network with agents are linked."""
    if target != SoftswitchTarget.name:
        return "kernel"
    return "together" if share_process(target, processes) else "processes"


def share_process(target: str, processes: bool) -> bool:
    """Returns whether the switches share a process: the embedded ones do, unless each is to have its own."""
    return target == SoftswitchTarget.name and not processes


def switch_slack_s(k: float) -> float:
    """Returns how late a frame may leave a switch by an interface, nominal."""
    return min(SLACK_S, SLACK_REAL_S / k)


def slack(target: str, k: float, agents: bool) -> str:
    """Returns how late frames may leave, nominal, so that one wake-up serves several. Those of links in memory have
    their times, however late they are put."""
    from pcn.hosts.loop import transmit_gap_s

    if target == SoftswitchTarget.name:
        return "none: links are in memory" if agents else f"{switch_slack_s(k) * 1e6:.2g} us in switches"
    return f"{transmit_gap_s(k) * 1e6:.2g} us in hosts" if agents else ""


def require_live(topology: Topology) -> None:
    """Raises NetworkError for what exists in virtual time alone."""
    if topology.flow_control != PFC:
        raise NetworkError(
            f"{topology.name}: flow control {topology.flow_control!r} is there in virtual time alone: what stops a "
            "live switch's queues is PAUSE, by its program; nothing there counts credits"
        )
    if lossy.queue_packets(topology.parameters):
        raise NetworkError(f"{topology.name}: {lossy.QUEUE} is there in virtual time alone")
    for switch in topology.switches:
        if switch.arbitration != FIFO:
            raise NetworkError(f"{switch.name}: arbitration {switch.arbitration!r} is there in virtual time alone")
        if switch.output is not None:
            raise NetworkError(f"{switch.name}: output buffers behind a fabric are there in virtual time alone")
        if switch.watchdog is not None:
            raise NetworkError(f"{switch.name}: a PFC watchdog is there in virtual time alone")
        if switch.takes_time:
            raise NetworkError(f"{switch.name}: a latency and cut-through are there in virtual time alone")
        if switch.schedules:
            raise NetworkError(f"{switch.name}: weights of classes are there in virtual time alone")
        if switch.buffer is not None:
            raise NetworkError(f"{switch.name}: a shared buffer is there in virtual time alone")


def require_kernel_hosts(topology: Topology) -> None:
    """Raises NetworkError for hosts that the kernel's network stack can't be: agents send by several NICs, and the
    kernel has a host's address at one interface."""
    for host in topology.hosts:
        if (ports := len(topology.ports(host.name))) > 1:
            raise NetworkError(
                f"{host.name}: a host with {ports} ports needs an agent, and here the kernel's stack sends; of a file "
                "`split_hosts=1` makes a host of each link"
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
) -> LaunchSpec:
    """Returns how the switch `name` is started: ports with real rates and delays, P4Runtime on the Unix socket
    `address`. `frame_bytes`: of a data packet, where that isn't the topology's `mtu_bytes`. Raises NetworkError for
    what exists in virtual time alone."""
    require_live(topology)
    ports = []
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
        device_id=topology.switch(name).device_id,
        ports=tuple(ports),
        address=f"unix:{address}",
        seed=seed,
        slack_s=switch_slack_s(dilation) * dilation,
        late_s=pace.tolerance_s(dilation) * dilation,
        place=place,
        generator=generator,
        nominal_packet_bytes=frame_bytes or int(topology.number("mtu_bytes")),
    )
