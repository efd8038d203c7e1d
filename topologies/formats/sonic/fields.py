"""Tables and fields of a config_db.json: numbers, classes, rows by port and class, references."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from pcn.topologies.lossless import CLASSES, CONTROL_CLASS
from pcn.topologies.tree import Node

RANGE = re.compile(r"([0-9]{1,2})(?:-([0-9]{1,2}))?\Z")
_REFERENCE = re.compile(r"\[\w+\|(.+)\]\Z")
T = TypeVar("T")


def table_of(node: Node, name: str) -> dict[str, Node]:
    """Returns the rows of a table by their keys: none where the file has no such table."""
    table = node.get(name)
    return {} if table is None else {key.text(): value for key, value in table.pairs()}


def number_of(node: Node, field: str, unit: float = 1.0, least: float = 0.0) -> float | None:
    """Returns a whole number from `least` on, times its unit; None: the field is missing. Raises
    FormatError at any other text."""
    scalar = node.get(field)

    def whole(text: str) -> float:
        if not re.match(r"-?[0-9]{1,15}\Z", text) or int(text) < least:
            raise ValueError(f"{text!r}: a whole number from {least:g} is wanted")
        return int(text) * unit

    return None if scalar is None else scalar.value(whole)


def classes_of(node: Node) -> frozenset[int]:
    """Returns the classes of a list."""
    numbers = [] if not node.text() else node.text().split(",")
    if not all(re.match(r"[0-6]\Z", number) for number in numbers):
        raise node.fail(f"{node.text()!r}: classes from 0 to {CONTROL_CLASS - 1}, as 3,4")
    return frozenset(map(int, numbers))


def rows_by_class(
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
        match = RANGE.match(classes)
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


def referred(node: Node, field: str, known: Mapping[str, T], table: str) -> T | None:
    """Returns what a field refers to, as NAME or [TABLE|NAME]; None: it is missing, or NULL."""
    reference = node.get(field)
    return (
        None
        if reference is None or reference.text() == "NULL"
        else resolved(reference, reference.text(), known, table)
    )


def resolved(node: Node, text: str, known: Mapping[str, T], table: str) -> T:
    """Returns what a text refers to."""
    match = _REFERENCE.match(text)
    name = match[1] if match else text
    if name not in known:
        raise node.fail(f"{table} has no {name!r}")
    return known[name]


def place_of(node: Node) -> str:
    """Returns file, line and table of a node, as errors name it."""
    return f"{node.faults.path}:{node.line}: {node.where}"
