"""Lossless classes of a config_db.json, their maps and their watchdog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pcn.base.errors import TopologyError
from pcn.topologies.formats.sonic.fields import classes_of, number_of
from pcn.topologies.tree import Node
from pcn.topologies.watchdog import Watchdog


def lossless_of(node: Node, table: Mapping[str, Node], names: frozenset[str]) -> frozenset[int]:
    """Returns the lossless classes of a switch. Its ports have to agree."""
    sets: dict[frozenset[int], str] = {}
    for name, at in table.items():
        classes = at.get("pfc_enable")
        if classes is None or (name != "global" and name not in names):
            continue
        sets[classes_of(classes)] = name
    if len(sets) > 1:
        raise node.fail(
            f"PORT_QOS_MAP: pfc_enable of {' and '.join(sets.values())} differ: all ports have one "
            "set here"
        )
    return next(iter(sets), frozenset())


def check_map(mapping: Node, kind: str, lossless: frozenset[int]) -> None:
    """Raises FormatError where a lossless class has a group or queue of another number, or shares
    its own."""
    for number, to in mapping.pairs():
        pair = {number.text(), to.text()}
        if len(pair) > 1 and pair & set(map(str, lossless)):
            raise to.fail(
                f"class {number.text()} has {kind} {to.text()}: a lossless class has one of its "
                "number here, alone"
            )


def watched(qos: Node | None, lossless: frozenset[int]) -> tuple[int, ...]:
    """Returns the lossless classes of a port at which the watchdog looks: `pfcwd_sw_enable`, or
    all."""
    enabled = None if qos is None else qos.get("pfcwd_sw_enable")
    return tuple(sorted(lossless if enabled is None else lossless & classes_of(enabled)))


def watchdog_of(
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
        number_of(table["GLOBAL"], "POLL_INTERVAL", 1e-3) if "GLOBAL" in table else None
    ) or Watchdog.poll_s
    for name, at in table.items():
        if name not in numbers:
            continue
        action, detection_s = at.get("action"), number_of(at, "detection_time", 1e-3)
        restoration_s = number_of(at, "restoration_time", 1e-3)
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
