"""A switch's settings, read from its config_db.json."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pcn.base.errors import TopologyError, nearest
from pcn.topologies.buffers import Share
from pcn.topologies.ecn import EcnThresholds
from pcn.topologies.formats.sonic.buffers import (
    EGRESS,
    HEADROOM_POOL,
    LEFT_OUT,
    LIMITS,
    POOL,
    check_limits,
    lacking,
    profile_of,
    share_of,
)
from pcn.topologies.formats.sonic.fields import (
    number_of,
    place_of,
    referred,
    rows_by_class,
    table_of,
)
from pcn.topologies.formats.sonic.pfc import check_map, lossless_of, watchdog_of, watched
from pcn.topologies.formats.sonic.queues import (
    Scheduler,
    scheduler_of,
    thresholds_by_colour,
    thresholds_of,
)
from pcn.topologies.formats.source import Source
from pcn.topologies.tree import Node
from pcn.topologies.watchdog import Watchdog

_PORT = re.compile(r"Ethernet([0-9]{1,5})\Z")
_OF_CLASSES = {
    "tc_to_pg_map": ("TC_TO_PRIORITY_GROUP_MAP", "priority group"),
    "tc_to_queue_map": ("TC_TO_QUEUE_MAP", "queue"),
    "pfc_to_pg_map": ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "priority group"),
    "pfc_to_queue_map": ("MAP_PFC_PRIORITY_TO_QUEUE", "queue"),
}


@dataclass(frozen=True)
class SonicSwitch:
    """What a file has of a switch. By port, in order: rates in bit/s, and by class shares, ECN
    thresholds, schedulers."""

    rates_bps: tuple[float | None, ...]
    pool_bytes: float | None
    shares: tuple[Mapping[int, Share], ...]
    lossless: frozenset[int]
    ecn: tuple[tuple[EcnThresholds, ...], ...]
    schedulers: tuple[Mapping[int, Scheduler], ...]
    lacking: tuple[tuple[str, ...], ...]
    """By port: what its lossless classes lack, with file and line."""
    mtus: tuple[tuple[float, str] | None, ...] = ()
    """By port, in bytes, with file and line."""
    headroom_pool: tuple[float, str] | None = None
    """Bytes of all headrooms together, with file and line."""
    watchdog: Watchdog | None = None


def read(file: Path, leave_out: Collection[str] = ()) -> SonicSwitch:
    """Returns what a file has of a switch, without `leave_out` (`LEFT_OUT`). Raises FormatError
    with all faults and their lines."""
    unknown = sorted(set(leave_out) - set(LEFT_OUT))
    if unknown:
        raise TopologyError(f"{unknown[0]!r} can't be left out; {nearest(unknown[0], LEFT_OUT)}")
    return Source.of(file).read(lambda node: _switch(node, leave_out))


_TABLES = (
    "PORT", "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "QUEUE", "PORT_QOS_MAP", "WRED_PROFILE", (
        "SCHEDULER"
    ),
    "PFC_WD", *LIMITS,
)  # fmt: skip


def _switch(node: Node, leave_out: Collection[str]) -> SonicSwitch:
    tables = {name: table_of(node, name) for name in _TABLES}
    ports = {name: at for name, at in tables["PORT"].items() if _PORT.match(name)}
    names = sorted(ports, key=lambda name: int(name.removeprefix("Ethernet")))
    if not names:
        raise node.fail("no port: a config_db.json has PORT with Ethernet0 and so on")
    pool = tables["BUFFER_POOL"].get(POOL)
    if pool is None and tables["BUFFER_PG"]:
        raise next(iter(tables["BUFFER_PG"].values())).fail(
            f"BUFFER_POOL has no {POOL}, which its profile is of"
        )
    if pool is not None and pool.get("size") is None:
        raise pool.fail(
            "no size, as in the dynamic buffer model: give the one that `show buffer information` "
            "prints"
        )
    profiles = (
        {name: share_of(profile) for name, profile in tables["BUFFER_PROFILE"].items()}
        if pool
        else {}
    )
    known, pools = frozenset(names), {name: name for name in tables["BUFFER_POOL"]}
    if EGRESS not in leave_out:
        check_limits(tables, known)
    rows = rows_by_class(tables["BUFFER_PG"], names, lambda at: at, groups=True) if pool else {}
    shares = {
        name: {
            number: share
            for number, at in by_class.items()
            if (share := profile_of(at, tables, profiles, pools))
        }
        for name, by_class in rows.items()
    }
    schedulers = {name: scheduler_of(row) for name, row in tables["SCHEDULER"].items()}
    wreds = {
        name: thresholds_by_colour(profile) for name, profile in tables["WRED_PROFILE"].items()
    }
    scheduled = rows_by_class(
        tables["QUEUE"], names, lambda at: referred(at, "scheduler", schedulers, "SCHEDULER")
    )
    marked = rows_by_class(
        tables["QUEUE"], names, lambda at: referred(at, "wred_profile", wreds, "WRED_PROFILE")
    )
    qos = {name: at for key, at in tables["PORT_QOS_MAP"].items() for name in key.split(",")}
    lossless = lossless_of(node, qos, known)
    for field, (table, kind) in _OF_CLASSES.items():
        maps = table_of(node, table)
        used: dict[int, Node] = {}  # each once, though all ports name it
        for port, at in qos.items():
            is_used = port == "global" or port in known
            if is_used and (of_port := referred(at, field, maps, table)) is not None:
                used[id(of_port)] = of_port
        for of_classes in used.values():
            check_map(of_classes, kind, lossless)
    for port, at in qos.items():
        if (port == "global" or port in known) and referred(
            at, "scheduler", schedulers, "SCHEDULER"
        ) is not None:
            raise at.fail("scheduler: a port has no shaper here: its link's rate is its speed")
    pool_xoff = pool.get("xoff") if pool and HEADROOM_POOL not in leave_out else None
    headroom_pool = (number_of(pool, "xoff") or 0.0) if pool and pool_xoff else 0.0
    return SonicSwitch(
        tuple(number_of(ports[name], "speed", 1e6) for name in names),
        number_of(pool, "size") if pool else None,
        tuple(shares.get(name, {}) for name in names),
        lossless,
        tuple(thresholds_of(node, name, marked.get(name, {}), lossless) for name in names),
        tuple(
            {number: weight for number, weight in scheduled.get(name, {}).items() if weight}
            for name in names
        ),
        tuple(
            lacking(
                name,
                lossless,
                rows.get(name, {}),
                shares.get(name, {}),
                qos.get(name, qos.get("global", node)),
            )
            if pool
            else ()
            for name in names
        ),
        tuple(_mtu(ports[name]) for name in names),
        (headroom_pool, place_of(pool_xoff)) if headroom_pool and pool_xoff else None,
        watchdog_of(
            tables["PFC_WD"],
            names,
            lossless,
            {name: watched(qos.get(name), lossless) for name in names},
        ),
    )


def _mtu(port: Node) -> tuple[float, str] | None:
    mtu, value = port.get("mtu"), number_of(port, "mtu")
    return None if mtu is None or value is None else (value, place_of(mtu))
