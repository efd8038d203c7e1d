"""Settings of config_db.json files on the switches of a topology."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from pcn.base.errors import TopologyError
from pcn.topologies.buffers import Share, SharedBuffer
from pcn.topologies.ecn import EcnThresholds
from pcn.topologies.formats.sonic.buffers import HEADROOM_POOL
from pcn.topologies.formats.sonic.config_db import SonicSwitch
from pcn.topologies.formats.sonic.queues import Scheduler
from pcn.topologies.lossless import CLASSES, CONTROL_CLASS
from pcn.topologies.model import Topology
from pcn.topologies.schedules import Schedule
from pcn.topologies.watchdog import Watchdog

Row = TypeVar("Row", Share, EcnThresholds, Schedule)
_FRAMING_BYTES = 18
"""Of a frame beside its MTU."""


def apply(topology: Topology, configs: Mapping[str, SonicSwitch]) -> Topology:
    """Returns the topology with these switches' settings. Raises TopologyError where they don't fit
    it, or each other."""
    rates: dict[tuple[str, int], float] = {}
    switches = {switch.name: switch for switch in topology.switches}
    for name, config in configs.items():
        ports = topology.ports(topology.switch(name).name)
        if len(ports) > len(config.rates_bps) or max(ports) > len(config.rates_bps):
            raise TopologyError(
                f"{name} has the port {max(ports)}, and its config_db {len(config.rates_bps)} "
                "ports: EthernetN in order"
            )
        _check_ports(name, config, ports, topology.number("mtu_bytes"))
        rates |= {
            (name, port): rate for port in ports if (rate := config.rates_bps[port - 1]) is not None
        }
        switches[name] = replace(
            switches[name],
            buffer=_buffer(name, config, ports),
            ecn=_by_port({port: config.ecn[port - 1] for port in ports}),
            schedules=_by_port({port: _schedules(config.schedulers[port - 1]) for port in ports}),
            watchdog=_guarded(config.watchdog, ports),
        )
    links = []
    for link in topology.links:
        ends = [
            rates[end.node, end.port] for end in (link.a, link.b) if (end.node, end.port) in rates
        ]
        if len(set(ends)) > 1:
            raise TopologyError(
                f"link {link.a} - {link.b}: {ends[0]:g} bit/s at one end, {ends[1]:g} at the other"
            )
        links.append(replace(link, rate_bps=ends[0]) if ends else link)
    parameters = dict(topology.parameters)
    sets = {config.lossless for config in configs.values() if config.lossless}
    if len(sets) > 1:
        raise TopologyError(
            f"{topology.name}: config_db files differ in pfc_enable; lossless classes are one set "
            "for all"
        )
    if sets:
        parameters["lossless_classes"] = ",".join(map(str, sorted(next(iter(sets)))))
    return replace(
        topology, switches=tuple(switches.values()), links=tuple(links), parameters=parameters
    )


def _check_ports(
    name: str, config: SonicSwitch, ports: tuple[int, ...], frame_bytes: float
) -> None:
    """Raises TopologyError with all that these ports lack."""
    faults = [fault for port in ports for fault in config.lacking[port - 1]]
    for mtu in (config.mtus[port - 1] for port in ports):
        if mtu is not None and mtu[0] + _FRAMING_BYTES < frame_bytes:
            faults.append(
                f"{mtu[1]}: frames of {frame_bytes:g} bytes (mtu_bytes of the topology) don't fit"
            )
    if faults:
        raise TopologyError("\n".join(dict.fromkeys(faults)))
    if config.headroom_pool is None or config.pool_bytes is None:
        return
    pool_bytes, place = config.headroom_pool
    headroom = sum(
        share.headroom_bytes or 0.0
        for port in ports
        for number, share in config.shares[port - 1].items()
        if number in config.lossless
    )
    if headroom > pool_bytes:
        raise TopologyError(
            f"{place}: the headrooms of {name}'s {len(ports)} ports share {pool_bytes:.0f} bytes, "
            f"and are {headroom:.0f} together: shared headroom is missing here. Give the pool "
            f"more, or `--leave-out {HEADROOM_POOL}`: then each class has its own"
        )


def _by_port(rows: Mapping[int, tuple[Row, ...]]) -> tuple[Row, ...]:
    """Returns the rows of all ports: without a port where all ports have the same ones, so that a
    reader changes a number in one place."""
    if len(set(rows.values())) == 1:
        return next(iter(rows.values()))
    return tuple(replace(row, port=port) for port in rows for row in rows[port])


def _schedules(schedulers: Mapping[int, Scheduler]) -> tuple[Schedule, ...]:
    """Returns the schedule of a port; none where the file has no schedulers of it."""
    if not schedulers:
        return ()
    rows = [schedulers.get(number, Scheduler(0, 0.0)) for number in range(CLASSES)]
    caps_bps = tuple(row.cap_bps for row in rows)
    weights = tuple(row.weight for row in rows)
    return (Schedule(weights, caps_bps=caps_bps if any(caps_bps) else ()),)


def _guarded(watchdog: Watchdog | None, ports: tuple[int, ...]) -> Watchdog | None:
    """Returns the watchdog of the ports that the switch has."""
    if watchdog is None or not watchdog.ports:
        return watchdog
    guarded = tuple(port for port in ports if watchdog.applies(port))
    return replace(watchdog, ports=() if guarded == ports else guarded) if guarded else None


def _buffer(name: str, config: SonicSwitch, ports: tuple[int, ...]) -> SharedBuffer | None:
    """Returns a pool of `pool_bytes`, and beside it all reserves and headrooms."""
    if config.pool_bytes is None:
        return None
    shares: list[Share] = []
    size = config.pool_bytes
    for number in range(CONTROL_CLASS):
        rows = {
            port: (replace(share, traffic_class=number),)
            if (share := config.shares[port - 1].get(number)) is not None
            else ()
            for port in ports
        }
        shares += _by_port(rows)
        for row in rows.values():
            size += sum(share.reserve_bytes for share in row)
            if number in config.lossless:
                size += sum(share.headroom_bytes or 0.0 for share in row)
    return SharedBuffer(size, (*shares, Share(alpha=1.0, reserve_bytes=0.0)))
