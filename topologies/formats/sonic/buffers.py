"""Shares of a pool in a config_db.json: profiles, what lossless classes lack, limits of outputs."""

from __future__ import annotations

from collections.abc import Mapping

from pcn.base.errors import TopologyError
from pcn.topologies.buffers import Share
from pcn.topologies.formats.sonic.fields import RANGE, number_of, place_of, referred, resolved
from pcn.topologies.lossless import CLASSES
from pcn.topologies.tree import Node

POOL = "ingress_lossless_pool"
_NO_LIMIT_EXPONENT = 7
"""From this `dynamic_th` on a queue may have more than 99% of its pool."""
MOST_EXPONENT = 15
"""Of alpha."""
HEADROOM_POOL, EGRESS = LEFT_OUT = ("headroom-pool", "egress")
"""What isn't here, is refused, and may be left out: a pool of headroom that is smaller than all
headrooms together, and limits of output queues and of ports as a whole."""
LIMITS = {
    "BUFFER_QUEUE": "profile",
    "BUFFER_PORT_INGRESS_PROFILE_LIST": "profile_list",
    "BUFFER_PORT_EGRESS_PROFILE_LIST": "profile_list",
}


def share_of(node: Node) -> Share:
    """Returns a BUFFER_PROFILE as a share of the pool, in bytes. Raises FormatError."""
    exponent, static = (
        number_of(node, "dynamic_th", least=-MOST_EXPONENT),
        number_of(node, "static_th"),
    )
    size, xoff = number_of(node, "size") or 0.0, number_of(node, "xoff")
    if (exponent is None) == (static is None):
        raise node.fail("a profile has either dynamic_th or static_th")
    if exponent is not None and exponent > MOST_EXPONENT:
        raise node.fail(
            f"dynamic_th {exponent:g}: -{MOST_EXPONENT} to {MOST_EXPONENT} are possible"
        )
    # Where `size` holds xoff, too, that is counted once.
    reserve = size - xoff if xoff is not None and size >= xoff else size
    resume = number_of(node, "xon_offset") or 0.0
    # RESUME is at `xon`, or at `xon_offset` below the threshold, whichever is higher.
    if static is not None:
        resume = min(resume, max(static - (number_of(node, "xon") or 0.0), 0.0))
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


def profile_of(
    at: Node,
    tables: Mapping[str, Mapping[str, Node]],
    profiles: Mapping[str, Share],
    pools: Mapping[str, str],
) -> Share | None:
    """Returns a row's share; None: its profile is NULL. The profile has to be of the one pool that
    is here."""
    share = referred(at, "profile", profiles, "BUFFER_PROFILE")
    row = referred(at, "profile", tables["BUFFER_PROFILE"], "BUFFER_PROFILE")
    if row is not None and row.get("pool") is not None:
        name = referred(row, "pool", pools, "BUFFER_POOL")
        if name != POOL:
            raise at.fail(
                f"its profile is of {name}: {POOL} is the only pool of inputs here; leave the row "
                "out"
            )
    return share


def lacking(
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
        faults.setdefault((place_of(rows.get(number, qos)), why), []).append(number)
    return tuple(
        f"{place}: lossless class {', '.join(map(str, numbers))}: {why}"
        for (place, why), numbers in faults.items()
    )


def check_limits(tables: Mapping[str, Mapping[str, Node]], names: frozenset[str]) -> None:
    """Raises FormatError where a profile limits an output queue of classes, or a port as a
    whole."""
    profiles = tables["BUFFER_PROFILE"]
    for table, field in LIMITS.items():
        for key, at in tables[table].items():
            ports, _, queues = key.partition("|")
            match, listed = RANGE.match(queues), at.get(field)
            if (
                listed is None
                or names.isdisjoint(ports.split(","))
                or (match and int(match[1]) >= CLASSES)
            ):
                continue
            for name in listed.text().split(","):
                if name != "NULL" and _is_limit(
                    resolved(listed, name, profiles, "BUFFER_PROFILE"), tables
                ):
                    raise at.fail(
                        f"{name} limits what waits there, and such limits are missing here: leave "
                        f"the row out, or all of {', '.join(LIMITS)} by `--leave-out {EGRESS}`"
                    )


def _is_limit(profile: Node, tables: Mapping[str, Mapping[str, Node]]) -> bool:
    """Returns whether a threshold is below what its pool holds."""
    exponent, static = (
        number_of(profile, "dynamic_th", least=-MOST_EXPONENT),
        number_of(profile, "static_th"),
    )
    if static is None:
        return exponent is not None and exponent < _NO_LIMIT_EXPONENT
    pool = referred(profile, "pool", tables["BUFFER_POOL"], "BUFFER_POOL")
    sizes = [
        number_of(buffer_pool, "size")
        for buffer_pool in (pool, tables["BUFFER_POOL"].get(POOL))
        if buffer_pool is not None
    ]
    return static < min((size for size in sizes if size is not None), default=static + 1)
