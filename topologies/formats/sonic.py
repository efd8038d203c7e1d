"""A SONiC switch's config_db.json, for a switch of any topology: buffers, PFC's classes, ECN,
weights, rates.

    BUFFER_POOL    ingress_lossless_pool: `size`, the pool of all shares; `xoff`: has to hold all
                   headrooms
    BUFFER_PROFILE `size`, `xoff`, `xon`, `xon_offset`, `dynamic_th` or `static_th`: a share
    BUFFER_PG      PORT|3-4: the profile of these classes of a port
    BUFFER_QUEUE   PORT|3-4: refused where the profile limits an output queue;
                   BUFFER_PORT_..._PROFILE_LIST: likewise
    PORT_QOS_MAP   `pfc_enable`: the classes that PFC protects; `pfcwd_sw_enable`: those that the
                   watchdog looks at; maps of classes: checked
    WRED_PROFILE   `green_...`, `yellow_...`, `red_...` with `ecn`: ECN thresholds
    SCHEDULER      DWRR `weight`, or STRICT
    QUEUE          PORT|3: both of a class at a port
    PFC_WD         the watchdog of the ports that have a row
    PORT           `speed` in Mbit/s; `mtu`: has to hold the topology's frames

Ports in the order of their numbers (Ethernet0, Ethernet4, ...) are the switch's ports 1, 2, ...
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pcn.base.errors import TopologyError, nearest
from pcn.topologies.buffers import Share, SharedBuffer
from pcn.topologies.ecn import COLOURS, GREEN, EcnThresholds
from pcn.topologies.formats.source import Source
from pcn.topologies.lossless import CLASSES, CONTROL_CLASS
from pcn.topologies.model import Topology
from pcn.topologies.schedules import Schedule
from pcn.topologies.tree import Node
from pcn.topologies.watchdog import Watchdog

_PORT = re.compile(r"Ethernet([0-9]{1,5})\Z")
_RANGE = re.compile(r"([0-9]{1,2})(?:-([0-9]{1,2}))?\Z")
_REFERENCE = re.compile(r"\[\w+\|(.+)\]\Z")
T = TypeVar("T")
Row = TypeVar("Row", Share, EcnThresholds, Schedule)
POOL = "ingress_lossless_pool"
_OF_CLASSES = {
    "tc_to_pg_map": ("TC_TO_PRIORITY_GROUP_MAP", "priority group"),
    "tc_to_queue_map": ("TC_TO_QUEUE_MAP", "queue"),
    "pfc_to_pg_map": ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "priority group"),
    "pfc_to_queue_map": ("MAP_PFC_PRIORITY_TO_QUEUE", "queue"),
}
HEADROOM_POOL, EGRESS = LEFT_OUT = ("headroom-pool", "egress")
"""What isn't here, is refused, and may be left out: a pool of headroom that is smaller than all
headrooms together, and limits of output queues and of ports as a whole."""
_LIMITS = {
    "BUFFER_QUEUE": "profile",
    "BUFFER_PORT_INGRESS_PROFILE_LIST": "profile_list",
    "BUFFER_PORT_EGRESS_PROFILE_LIST": "profile_list",
}
_NO_LIMIT_EXPONENT = 7
"""From this `dynamic_th` on a queue may have more than 99% of its pool."""
_FRAMING_BYTES = 18
"""Of a frame beside its MTU."""
_NEVER = 2**32 - 1
"""Bytes of a queue, from which RED would mark."""
MOST_EXPONENT = 15
"""Of alpha."""


@dataclass(frozen=True)
class SonicSwitch:
    """What a file has of a switch. By port, in order: rates in bit/s, and by class shares, ECN
    thresholds, weights."""

    rates_bps: tuple[float | None, ...]
    pool_bytes: float | None
    shares: tuple[Mapping[int, Share], ...]
    lossless: frozenset[int]
    ecn: tuple[tuple[EcnThresholds, ...], ...]
    weights: tuple[Mapping[int, int], ...]
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
            schedules=_by_port({port: _schedules(config.weights[port - 1]) for port in ports}),
            watchdog=_watchdog_of(config.watchdog, ports),
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


def _schedules(weights: Mapping[int, int]) -> tuple[Schedule, ...]:
    """Returns the schedule of a port; none where the file has no weights of it."""
    if not weights:
        return ()
    return (Schedule(tuple(weights.get(number, 0) for number in range(CLASSES))),)


def _watchdog_of(watchdog: Watchdog | None, ports: tuple[int, ...]) -> Watchdog | None:
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


_TABLES = (
    "PORT", "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "QUEUE", "PORT_QOS_MAP", "WRED_PROFILE", (
        "SCHEDULER"
    ),
    "PFC_WD", *_LIMITS,
)  # fmt: skip


def _switch(node: Node, leave_out: Collection[str]) -> SonicSwitch:
    tables = {name: _table(node, name) for name in _TABLES}
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
        {name: _share(profile) for name, profile in tables["BUFFER_PROFILE"].items()}
        if pool
        else {}
    )
    known, pools = frozenset(names), {name: name for name in tables["BUFFER_POOL"]}
    if EGRESS not in leave_out:
        _check_limits(tables, known)
    rows = _by_class(tables["BUFFER_PG"], names, lambda at: at, groups=True) if pool else {}
    shares = {
        name: {
            number: share
            for number, at in by_class.items()
            if (share := _profile(at, tables, profiles, pools))
        }
        for name, by_class in rows.items()
    }
    weights = {name: _weight(scheduler) for name, scheduler in tables["SCHEDULER"].items()}
    wreds = {name: _wred(profile) for name, profile in tables["WRED_PROFILE"].items()}
    scheduled = _by_class(
        tables["QUEUE"], names, lambda at: _named(at, "scheduler", weights, "SCHEDULER")
    )
    marked = _by_class(
        tables["QUEUE"], names, lambda at: _named(at, "wred_profile", wreds, "WRED_PROFILE")
    )
    qos = {name: at for key, at in tables["PORT_QOS_MAP"].items() for name in key.split(",")}
    lossless = _lossless(node, qos, known)
    for field, (table, kind) in _OF_CLASSES.items():
        maps = _table(node, table)
        used: dict[int, Node] = {}  # each once, though all ports name it
        for port, at in qos.items():
            is_used = port == "global" or port in known
            if is_used and (of_port := _named(at, field, maps, table)) is not None:
                used[id(of_port)] = of_port
        for of_classes in used.values():
            _check_map(of_classes, kind, lossless)
    for port, at in qos.items():
        if (port == "global" or port in known) and _named(
            at, "scheduler", weights, "SCHEDULER"
        ) is not None:
            raise at.fail("scheduler: a port has no shaper here: its link's rate is its speed")
    pool_xoff = pool.get("xoff") if pool and HEADROOM_POOL not in leave_out else None
    headroom_pool = (_number(pool, "xoff") or 0.0) if pool and pool_xoff else 0.0
    return SonicSwitch(
        tuple(_number(ports[name], "speed", 1e6) for name in names),
        _number(pool, "size") if pool else None,
        tuple(shares.get(name, {}) for name in names),
        lossless,
        tuple(_one_of(node, name, marked.get(name, {}), lossless) for name in names),
        tuple(
            {number: weight for number, weight in scheduled.get(name, {}).items() if weight}
            for name in names
        ),
        tuple(
            _lacking(
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
        (headroom_pool, _place(pool_xoff)) if headroom_pool and pool_xoff else None,
        _watchdog(
            tables["PFC_WD"],
            names,
            lossless,
            {name: _watched(qos.get(name), lossless) for name in names},
        ),
    )


def _place(node: Node) -> str:
    return f"{node.faults.path}:{node.line}: {node.where}"


def _mtu(port: Node) -> tuple[float, str] | None:
    mtu, value = port.get("mtu"), _number(port, "mtu")
    return None if mtu is None or value is None else (value, _place(mtu))


def _profile(
    at: Node,
    tables: Mapping[str, Mapping[str, Node]],
    profiles: Mapping[str, Share],
    pools: Mapping[str, str],
) -> Share | None:
    """Returns a row's share; None: its profile is NULL. The profile has to be of the one pool that
    is here."""
    share = _named(at, "profile", profiles, "BUFFER_PROFILE")
    row = _named(at, "profile", tables["BUFFER_PROFILE"], "BUFFER_PROFILE")
    if row is not None and row.get("pool") is not None:
        name = _named(row, "pool", pools, "BUFFER_POOL")
        if name != POOL:
            raise at.fail(
                f"its profile is of {name}: {POOL} is the only pool of inputs here; leave the row "
                "out"
            )
    return share


def _lacking(
    name: str,
    lossless: frozenset[int],
    rows: Mapping[int, Node],
    shares: Mapping[int, Share],
    qos: Node,
) -> tuple[str, ...]:
    """Returns what a port's lossless classes lack, a line each."""
    wanted = "write one with size, xoff and dynamic_th, as `show buffer information` prints them"
    faults: dict[tuple[str, str], list[int]] = {}
    for number in sorted(lossless):
        share = shares.get(number)
        if share is not None and share.headroom_bytes is not None:
            continue
        if share is not None:
            why = "its BUFFER_PROFILE has no xoff"
        elif number in rows:
            why = (
                "its profile is NULL: the switch itself makes one of speed and cable length; "
                f"{wanted}"
            )
        else:
            why = (
                f"no BUFFER_PG of {name}: in the dynamic buffer model the switch makes its "
                f"profile; {wanted}"
            )
        faults.setdefault((_place(rows.get(number, qos)), why), []).append(number)
    return tuple(
        f"{place}: lossless class {', '.join(map(str, numbers))}: {why}"
        for (place, why), numbers in faults.items()
    )


def _check_limits(tables: Mapping[str, Mapping[str, Node]], names: frozenset[str]) -> None:
    """Raises FormatError where a profile limits an output queue of classes, or a port as a
    whole."""
    profiles = tables["BUFFER_PROFILE"]
    for table, field in _LIMITS.items():
        for key, at in tables[table].items():
            ports, _, queues = key.partition("|")
            match, listed = _RANGE.match(queues), at.get(field)
            if (
                listed is None
                or names.isdisjoint(ports.split(","))
                or (match and int(match[1]) >= CLASSES)
            ):
                continue
            for name in listed.text().split(","):
                if name != "NULL" and _is_limit(
                    _resolved(listed, name, profiles, "BUFFER_PROFILE"), tables
                ):
                    raise at.fail(
                        f"{name} limits what waits there, and such limits are missing here: leave "
                        f"the row out, or all of {', '.join(_LIMITS)} by `--leave-out {EGRESS}`"
                    )


def _is_limit(profile: Node, tables: Mapping[str, Mapping[str, Node]]) -> bool:
    """Returns whether a threshold is below what its pool holds."""
    exponent, static = (
        _number(profile, "dynamic_th", least=-MOST_EXPONENT),
        _number(profile, "static_th"),
    )
    if static is None:
        return exponent is not None and exponent < _NO_LIMIT_EXPONENT
    pool = _named(profile, "pool", tables["BUFFER_POOL"], "BUFFER_POOL")
    sizes = [
        _number(buffer_pool, "size")
        for buffer_pool in (pool, tables["BUFFER_POOL"].get(POOL))
        if buffer_pool is not None
    ]
    return static < min((size for size in sizes if size is not None), default=static + 1)


def _watched(qos: Node | None, lossless: frozenset[int]) -> tuple[int, ...]:
    """Returns the lossless classes of a port at which the watchdog looks: `pfcwd_sw_enable`, or
    all."""
    enabled = None if qos is None else qos.get("pfcwd_sw_enable")
    return tuple(sorted(lossless if enabled is None else lossless & _numbers(enabled)))


def _watchdog(
    table: Mapping[str, Node],
    names: list[str],
    lossless: frozenset[int],
    watched: Mapping[str, tuple[int, ...]],
) -> Watchdog | None:
    """Returns the watchdog of all ports that have a row. They have to agree."""
    agreed: Watchdog | None = None
    guarded: list[str] = []
    numbers = {name: number for number, name in enumerate(names, start=1)}
    poll_s = (
        _number(table["GLOBAL"], "POLL_INTERVAL", 1e-3) if "GLOBAL" in table else None
    ) or Watchdog.poll_s
    for name, at in table.items():
        if name not in numbers:
            continue
        action, detection_s = at.get("action"), _number(at, "detection_time", 1e-3)
        restoration_s = _number(at, "restoration_time", 1e-3)
        if detection_s is None:
            raise at.fail("a watchdog has detection_time, in ms")
        try:
            watchdog = Watchdog(
                "drop" if action is None else action.text(),
                detection_s,
                2 * detection_s if restoration_s is None else restoration_s,
                poll_s,
                classes=() if set(watched[name]) == lossless else watched[name],
            )
        except TopologyError as error:
            raise at.fail(str(error)) from None
        if not watched[name]:
            continue
        if agreed is not None and watchdog != agreed:
            raise at.fail(
                f"differs from that of {guarded[0]}, or pfcwd_sw_enable does: all ports that have "
                "a watchdog have the same here"
            )
        agreed = watchdog
        guarded.append(name)
    if agreed is None:
        return None
    return replace(agreed, ports=tuple(sorted(numbers[name] for name in guarded)))


def _table(node: Node, name: str) -> dict[str, Node]:
    table = node.get(name)
    return {} if table is None else {key.text(): value for key, value in table.pairs()}


def _number(node: Node, field: str, unit: float = 1.0, least: float = 0.0) -> float | None:
    """None: the field is missing."""
    scalar = node.get(field)

    def whole(text: str) -> float:
        if not re.match(r"-?[0-9]{1,15}\Z", text) or int(text) < least:
            raise ValueError(f"{text!r}: a whole number from {least:g} is wanted")
        return int(text) * unit

    return None if scalar is None else scalar.value(whole)


def _share(node: Node) -> Share:
    exponent, static = _number(node, "dynamic_th", least=-MOST_EXPONENT), _number(node, "static_th")
    size, xoff = _number(node, "size") or 0.0, _number(node, "xoff")
    if (exponent is None) == (static is None):
        raise node.fail("a profile has either dynamic_th or static_th")
    if exponent is not None and exponent > MOST_EXPONENT:
        raise node.fail(
            f"dynamic_th {exponent:g}: -{MOST_EXPONENT} to {MOST_EXPONENT} are possible"
        )
    # Where `size` holds xoff, too, that is counted once.
    reserve = size - xoff if xoff is not None and size >= xoff else size
    resume = _number(node, "xon_offset") or 0.0
    # RESUME is at `xon`, or at `xon_offset` below the threshold, whichever is higher.
    if static is not None:
        resume = min(resume, max(static - (_number(node, "xon") or 0.0), 0.0))
    try:
        return Share(
            alpha=0.0 if exponent is None else 2.0**exponent,
            fixed_bytes=static or 0.0,
            reserve_bytes=reserve,
            headroom_bytes=xoff or None,
            resume_bytes=resume,
        )
    except TopologyError as error:
        raise node.fail(str(error)) from None


def _weight(node: Node) -> int:
    for field in ("cir", "pir"):
        if _number(node, field):
            raise node.fail(f"{field}: a queue has no shaper here")
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
    thresholds = []
    for colour in COLOURS:
        k_min, k_max = (_number(node, f"{colour}_{end}_threshold") for end in ("min", "max"))
        p_max = _number(node, f"{colour}_drop_probability", 0.01)
        if colour not in marked:
            thresholds.append(EcnThresholds(_NEVER, _NEVER, 0.0, colour=colour))
            continue
        if k_min is None or k_max is None:
            if colour == GREEN or (k_min, k_max) != (None, None):
                raise node.fail(
                    f"a profile with ecn has {colour}_min_threshold and {colour}_max_threshold"
                )
            continue  # as green ones
        try:
            thresholds.append(
                EcnThresholds(k_min, k_max, 1.0 if p_max is None else p_max, colour=colour)
            )
        except TopologyError as error:
            raise node.fail(str(error)) from None
    return tuple(thresholds)


def _by_class(
    table: Mapping[str, Node],
    names: list[str],
    read: Callable[[Node], T | None],
    groups: bool = False,
) -> dict[str, dict[int, T]]:
    """Returns the rows PORT,PORT|CLASS-CLASS, by port and class; of other ports' none, and none of
    queues from 8 on, which are those of multicast packets. `groups`: the rows are of priority
    groups, of which there are 8."""
    known, by_port = set(names), dict[str, dict[int, T]]()
    for key, node in table.items():
        ports, _, classes = key.partition("|")
        if key.count("|") == 3 and not groups:
            raise node.fail(
                f"{key!r}: a queue of another line card (HOST|ASIC|PORT|QUEUE): that card's file "
                "has it"
            )
        match = _RANGE.match(classes)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if not first <= last or (groups and last >= CLASSES):
            raise node.fail(
                f"{key!r}: a row is PORT|CLASS or PORT|FIRST-LAST"
                + f", of classes 0 to {CLASSES - 1}" * groups
            )
        value = read(node)
        for port in ports.split(","):
            if value is not None and port in known and first < CLASSES:
                by_port.setdefault(port, {}).update(
                    dict.fromkeys(range(first, min(last + 1, CLASSES)), value)
                )
    return by_port


def _named(node: Node, field: str, known: Mapping[str, T], table: str) -> T | None:
    """Returns what a field refers to, as NAME or [TABLE|NAME]; None: it is missing, or NULL."""
    reference = node.get(field)
    return (
        None
        if reference is None or reference.text() == "NULL"
        else _resolved(reference, reference.text(), known, table)
    )


def _resolved(node: Node, text: str, known: Mapping[str, T], table: str) -> T:
    """Returns what a text refers to."""
    match = _REFERENCE.match(text)
    name = match[1] if match else text
    if name not in known:
        raise node.fail(f"{table} has no {name!r}")
    return known[name]


def _lossless(node: Node, table: Mapping[str, Node], names: frozenset[str]) -> frozenset[int]:
    """Returns the lossless classes of a switch. Its ports have to agree."""
    sets: dict[frozenset[int], str] = {}
    for name, at in table.items():
        classes = at.get("pfc_enable")
        if classes is None or (name != "global" and name not in names):
            continue
        sets[_numbers(classes)] = name
    if len(sets) > 1:
        raise node.fail(
            f"PORT_QOS_MAP: pfc_enable of {' and '.join(sets.values())} differ: all ports have one "
            "set here"
        )
    return next(iter(sets), frozenset())


def _numbers(node: Node) -> frozenset[int]:
    """Returns the classes of a list."""
    numbers = [] if not node.text() else node.text().split(",")
    if not all(re.match(r"[0-6]\Z", number) for number in numbers):
        raise node.fail(f"{node.text()!r}: classes from 0 to {CONTROL_CLASS - 1}, as 3,4")
    return frozenset(map(int, numbers))


def _check_map(mapping: Node, kind: str, lossless: frozenset[int]) -> None:
    """Raises FormatError where a lossless class has a group or queue of another number, or shares
    its own."""
    for number, to in mapping.pairs():
        pair = {number.text(), to.text()}
        if len(pair) > 1 and pair & set(map(str, lossless)):
            raise to.fail(
                f"class {number.text()} has {kind} {to.text()}: a lossless class has one of its "
                "number here, alone"
            )


def _one_of(
    node: Node,
    port: str,
    by_class: Mapping[int, tuple[EcnThresholds, ...]],
    lossless: frozenset[int],
) -> tuple[EcnThresholds, ...]:
    """Returns the thresholds of a port's lossless classes, which have to agree: a port has one set
    here."""
    sets = {thresholds for number, thresholds in by_class.items() if number in lossless}
    if len(sets) > 1:
        raise node.fail(
            f"QUEUE: lossless classes of {port} differ in wred_profile: a port has one here"
        )
    return next(iter(sets), ())
