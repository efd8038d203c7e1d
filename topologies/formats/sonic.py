"""A SONiC switch's config_db.json, for a switch of any topology: buffers, PFC's classes, ECN, weights, rates.

    BUFFER_POOL    ingress_lossless_pool: `size`, the pool of all shares
    BUFFER_PROFILE `size`, `xoff`, `xon_offset`, `dynamic_th` or `static_th`: a share
    BUFFER_PG      PORT|3-4: the profile of these classes of a port
    PORT_QOS_MAP   `pfc_enable`: the classes that PFC protects; `tc_to_pg_map`, `tc_to_queue_map`: checked
    WRED_PROFILE   `green_...`, `yellow_...`, `red_...` with `ecn`: ECN thresholds;  SCHEDULER  DWRR `weight`, or STRICT
    QUEUE          PORT|3: both of a class at a port
    PFC_WD         the watchdog
    PORT           `speed` in Mb/s

Ports in the order of their numbers (Ethernet0, Ethernet4, ...) are the switch's ports 1, 2, ...
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pcn.topologies.buffers import Share, SharedBuffer
from pcn.topologies.ecn import COLOURS, GREEN, EcnThresholds
from pcn.topologies.errors import TopologyError
from pcn.topologies.formats.source import Source
from pcn.topologies.lossless import CLASSES, CONTROL_CLASS
from pcn.topologies.model import Topology
from pcn.topologies.schedules import Schedule
from pcn.topologies.tree import Node
from pcn.topologies.watchdog import Watchdog

_PORT = re.compile(r"Ethernet([0-9]{1,5})\Z")
_RANGE = re.compile(r"([0-9])(?:-([0-9]))?\Z")
_REFERENCE = re.compile(r"\[\w+\|(.+)\]\Z")
T = TypeVar("T")
POOL = "ingress_lossless_pool"
_OF_CLASSES = {
    "tc_to_pg_map": ("TC_TO_PRIORITY_GROUP_MAP", "priority group"),
    "tc_to_queue_map": ("TC_TO_QUEUE_MAP", "queue"),
}
_NEVER = 2**32 - 1
"""Bytes of a queue, from which RED would mark."""
MOST_EXPONENT = 15
"""Of alpha."""


@dataclass(frozen=True)
class SonicSwitch:
    """What a file has of a switch. By port, in order: rates in bit/s, and by class shares, ECN thresholds, weights."""

    rates_bps: tuple[float | None, ...]
    pool_bytes: float | None
    shares: tuple[Mapping[int, Share], ...]
    lossless: frozenset[int]
    ecn: tuple[tuple[EcnThresholds, ...], ...]
    weights: tuple[Mapping[int, int], ...]
    watchdog: Watchdog | None = None


def read(file: Path) -> SonicSwitch:
    """Raises FormatError with all faults and their lines."""
    return Source.of(file).read(_switch)


def apply(topology: Topology, configs: Mapping[str, SonicSwitch]) -> Topology:
    """Returns the topology with these switches' settings. Raises TopologyError where they don't fit it, or each
    other."""
    rates: dict[tuple[str, int], float] = {}
    switches = {switch.name: switch for switch in topology.switches}
    for name, config in configs.items():
        ports = topology.ports(topology.switch(name).name)
        if len(ports) > len(config.rates_bps) or max(ports) > len(config.rates_bps):
            raise TopologyError(
                f"{name} has the port {max(ports)}, and its config_db {len(config.rates_bps)} ports: EthernetN in order"
            )
        rates |= {(name, port): rate for port in ports if (rate := config.rates_bps[port - 1]) is not None}
        switches[name] = replace(
            switches[name],
            buffer=_buffer(name, config, ports),
            ecn=tuple(replace(one, port=port) for port in ports for one in config.ecn[port - 1]),
            schedules=tuple(
                Schedule(tuple(config.weights[port - 1].get(number, 0) for number in range(CLASSES)), port)
                for port in ports
                if config.weights[port - 1]
            ),
            watchdog=config.watchdog,
        )
    links = []
    for link in topology.links:
        ends = [rates[end.node, end.port] for end in (link.a, link.b) if (end.node, end.port) in rates]
        if len(set(ends)) > 1:
            raise TopologyError(f"link {link.a} - {link.b}: {ends[0]:g} bit/s at one end, {ends[1]:g} at the other")
        links.append(replace(link, rate_bps=ends[0]) if ends else link)
    parameters = dict(topology.parameters)
    sets = {config.lossless for config in configs.values() if config.lossless}
    if len(sets) > 1:
        raise TopologyError(
            f"{topology.name}: config_db files differ in pfc_enable; lossless classes are one set for all"
        )
    if sets:
        parameters["lossless_classes"] = ",".join(map(str, sorted(next(iter(sets)))))
    return replace(topology, switches=tuple(switches.values()), links=tuple(links), parameters=parameters)


def _buffer(name: str, config: SonicSwitch, ports: tuple[int, ...]) -> SharedBuffer | None:
    """Returns a pool of `pool_bytes`, and beside it all reserves and headrooms."""
    if config.pool_bytes is None:
        return None
    shares, size = [], config.pool_bytes
    for port in ports:
        for number, share in sorted(config.shares[port - 1].items()):
            if number in config.lossless and share.headroom_bytes is None:
                raise TopologyError(f"{name}:{port}: class {number} is lossless, and its BUFFER_PROFILE has no xoff")
            if number == CONTROL_CLASS:
                continue
            shares.append(replace(share, port=port, traffic_class=number))
            size += share.reserve_bytes + (share.headroom_bytes or 0 if number in config.lossless else 0)
        missing = [number for number in sorted(config.lossless) if number not in config.shares[port - 1]]
        if missing:
            raise TopologyError(f"{name}:{port}: class {missing[0]} is lossless, and has no BUFFER_PG")
    return SharedBuffer(size, (*shares, Share(alpha=1.0, reserve_bytes=0.0)))


def _switch(node: Node) -> SonicSwitch:
    tables = {name: _table(node, name) for name in ("PORT", "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "QUEUE")}
    tables |= {name: _table(node, name) for name in ("PORT_QOS_MAP", "WRED_PROFILE", "SCHEDULER", "PFC_WD")}
    ports = {name: at for name, at in tables["PORT"].items() if _PORT.match(name)}
    names = sorted(ports, key=lambda name: int(name.removeprefix("Ethernet")))
    if not names:
        raise node.fail("no port: a config_db.json has PORT with Ethernet0 and so on")
    pool = tables["BUFFER_POOL"].get(POOL)
    profiles = {name: _share(one) for name, one in tables["BUFFER_PROFILE"].items()} if pool else {}
    shares = (
        _by_class(tables["BUFFER_PG"], names, lambda at: _named(at, "profile", profiles, "BUFFER_PROFILE"))
        if pool
        else {}
    )
    weights = {name: _weight(one) for name, one in tables["SCHEDULER"].items()}
    wreds = {name: _wred(one) for name, one in tables["WRED_PROFILE"].items()}
    scheduled = _by_class(tables["QUEUE"], names, lambda at: _named(at, "scheduler", weights, "SCHEDULER"))
    marked = _by_class(tables["QUEUE"], names, lambda at: _named(at, "wred_profile", wreds, "WRED_PROFILE"))
    lossless = _lossless(node, tables["PORT_QOS_MAP"], names)
    for field, (table, what) in _OF_CLASSES.items():
        maps = _table(node, table)
        for port, at in tables["PORT_QOS_MAP"].items():
            if port == "global" or port in names:
                _check_map(_named(at, field, maps, table), what, lossless)
    return SonicSwitch(
        tuple(_number(ports[name], "speed", 1e6) for name in names),
        _number(pool, "size") if pool else None,
        tuple(shares.get(name, {}) for name in names),
        lossless,
        tuple(_one_of(node, name, marked.get(name, {}), lossless) for name in names),
        tuple({number: weight for number, weight in scheduled.get(name, {}).items() if weight} for name in names),
        _watchdog(node, tables["PFC_WD"], names),
    )


def _watchdog(node: Node, table: Mapping[str, Node], names: list[str]) -> Watchdog | None:
    found: dict[Watchdog, str] = {}
    poll_s = (_number(table["GLOBAL"], "POLL_INTERVAL", 1e-3) if "GLOBAL" in table else None) or Watchdog.poll_s
    for name, at in table.items():
        if name not in names:
            continue
        action, detection_s = at.get("action"), _number(at, "detection_time", 1e-3)
        restoration_s = _number(at, "restoration_time", 1e-3)
        if detection_s is None:
            raise at.fail("a watchdog has detection_time, in ms")
        try:
            made = Watchdog(
                "drop" if action is None else action.text(),
                detection_s,
                2 * detection_s if restoration_s is None else restoration_s,
                poll_s,
            )
        except TopologyError as error:
            raise at.fail(str(error)) from None
        found[made] = name
    if len(found) > 1:
        raise node.fail(f"PFC_WD of {' and '.join(found.values())} differ: all ports have one watchdog here")
    return next(iter(found), None)


def _table(node: Node, name: str) -> dict[str, Node]:
    found = node.get(name)
    return {} if found is None else {key.text(): value for key, value in found.pairs()}


def _number(node: Node, field: str, unit: float = 1.0, least: float = 0.0) -> float | None:
    """None: the field is missing."""
    found = node.get(field)

    def whole(text: str) -> float:
        if not re.match(r"-?[0-9]{1,15}\Z", text) or int(text) < least:
            raise ValueError(f"{text!r}: a whole number from {least:g} is wanted")
        return int(text) * unit

    return None if found is None else found.value(whole)


def _share(node: Node) -> Share:
    exponent, static = _number(node, "dynamic_th", least=-MOST_EXPONENT), _number(node, "static_th")
    size, xoff = _number(node, "size") or 0.0, _number(node, "xoff")
    if (exponent is None) == (static is None):
        raise node.fail("a profile has either dynamic_th or static_th")
    if exponent is not None and exponent > MOST_EXPONENT:
        raise node.fail(f"dynamic_th {exponent:g}: -{MOST_EXPONENT} to {MOST_EXPONENT} are possible")
    # Where `size` holds xoff, too, that is counted once.
    reserve = size - xoff if xoff is not None and size >= xoff else size
    try:
        return Share(
            alpha=0.0 if exponent is None else 2.0**exponent,
            fixed_bytes=static or 0.0,
            reserve_bytes=reserve,
            headroom_bytes=xoff or None,
            resume_bytes=_number(node, "xon_offset") or 0.0,
        )
    except TopologyError as error:
        raise node.fail(str(error)) from None


def _weight(node: Node) -> int:
    kind = node.get("type")
    name = "" if kind is None else kind.text()
    if name == "STRICT":
        return 0
    if name != "DWRR":
        raise node.fail(f"type {name!r}: there are DWRR and STRICT (WRR counts packets)")
    weight = _number(node, "weight", least=1)
    if weight is None or weight > 100:
        raise node.fail("DWRR has a weight from 1 to 100")
    return int(weight)


def _wred(node: Node) -> tuple[EcnThresholds, ...] | None:
    """Returns thresholds by colour; None: it marks nothing."""
    ecn = node.get("ecn")
    marked = set() if ecn is None else set(ecn.text().split("_")[1:])
    marked |= set(COLOURS) if "all" in marked else set()
    if not marked & set(COLOURS):
        return None
    made = []
    for colour in COLOURS:
        k_min, k_max = (_number(node, f"{colour}_{end}_threshold") for end in ("min", "max"))
        p_max = _number(node, f"{colour}_drop_probability", 0.01)
        if colour not in marked:
            made.append(EcnThresholds(_NEVER, _NEVER, 0.0, colour=colour))
            continue
        if k_min is None or k_max is None:
            if colour == GREEN or (k_min, k_max) != (None, None):
                raise node.fail(f"a profile with ecn has {colour}_min_threshold and {colour}_max_threshold")
            continue  # as green ones
        try:
            made.append(EcnThresholds(k_min, k_max, 1.0 if p_max is None else p_max, colour=colour))
        except TopologyError as error:
            raise node.fail(str(error)) from None
    return tuple(made)


def _by_class(table: Mapping[str, Node], names: list[str], read: Callable[[Node], T | None]) -> dict[str, dict[int, T]]:
    """Returns the rows PORT,PORT|CLASS-CLASS, by port and class; of other ports' none."""
    known, found = set(names), dict[str, dict[int, T]]()
    for key, node in table.items():
        ports, _, classes = key.partition("|")
        match = _RANGE.match(classes)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if match is None or not first <= last < CLASSES:
            raise node.fail(f"{key!r}: a row is PORT|CLASS or PORT|FIRST-LAST, of classes 0 to {CLASSES - 1}")
        value = read(node)
        for port in ports.split(","):
            if value is not None and port in known:
                found.setdefault(port, {}).update(dict.fromkeys(range(first, last + 1), value))
    return found


def _named(node: Node, field: str, known: Mapping[str, T], table: str) -> T | None:
    """Returns what a field refers to, as NAME or [TABLE|NAME]; None: it is missing, or NULL."""
    found = node.get(field)
    if found is None or found.text() == "NULL":
        return None
    match = _REFERENCE.match(found.text())
    name = match[1] if match else found.text()
    if name not in known:
        raise found.fail(f"{table} has no {name!r}")
    return known[name]


def _lossless(node: Node, table: Mapping[str, Node], names: list[str]) -> frozenset[int]:
    """Returns the lossless classes of a switch. Its ports have to agree."""
    sets: dict[frozenset[int], str] = {}
    for name, at in table.items():
        found = at.get("pfc_enable")
        if found is None or (name != "global" and name not in names):
            continue
        numbers = [] if not found.text() else found.text().split(",")
        if not all(re.match(r"[0-6]\Z", number) for number in numbers):
            raise found.fail(f"{found.text()!r}: classes from 0 to {CONTROL_CLASS - 1}, as 3,4")
        sets[frozenset(map(int, numbers))] = name
    if len(sets) > 1:
        raise node.fail(
            f"PORT_QOS_MAP: pfc_enable of {' and '.join(sets.values())} differ: all ports have one set here"
        )
    return next(iter(sets), frozenset())


def _check_map(found: Node | None, what: str, lossless: frozenset[int]) -> None:
    """Raises FormatError where a lossless class has a group or queue of another number, or shares its own."""
    for number, to in () if found is None else found.pairs():
        pair = {number.text(), to.text()}
        if len(pair) > 1 and pair & set(map(str, lossless)):
            raise to.fail(
                f"class {number.text()} has {what} {to.text()}: a lossless class has one of its number here, alone"
            )


def _one_of(
    node: Node, port: str, by_class: Mapping[int, tuple[EcnThresholds, ...]], lossless: frozenset[int]
) -> tuple[EcnThresholds, ...]:
    """Returns the thresholds of a port's lossless classes, which have to agree: a port has one set here."""
    found = {one for number, one in by_class.items() if number in lossless}
    if len(found) > 1:
        raise node.fail(f"QUEUE: lossless classes of {port} differ in wred_profile: a port has one here")
    return next(iter(found), ())
