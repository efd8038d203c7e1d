"""The table of docs/schemes.md: what of each scheme's parameters follows from a network, by which
rule, and to what it comes on some. `python -m pcn.hosts.parameter_table` prints it, and a test
compares the page."""

from __future__ import annotations

from functools import cache

from pcn.base.units import quantity_text
from pcn.topologies.clos import clos
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import Topology
from pcn.topologies.star import star

from .algorithms import Scheme, schemes
from .algorithms.parameters import Description, describe
from .recommended import PAYLOAD_BYTES, recommended, recommended_at_ports


@cache
def networks() -> dict[str, tuple[Topology, int]]:
    """Returns the table's networks by its headings, each with the bytes of a packet's payload."""
    return {
        "dumbbell, 10 Gbit/s, 503 us": (dumbbell(), PAYLOAD_BYTES),
        "fat-tree, 40 Gbit/s, 61 us": (fat_tree(), PAYLOAD_BYTES),
        "clos, 100 and 400 Gbit/s, 12.3 us": (clos(5, 4, 4, 16, 100e9, 400e9, 1e-6), PAYLOAD_BYTES),
        "star, 400 Gbit/s, 3.2 us, 4,098 B": (star(2, 1, 400e9, 0.75e-6), 4038),
    }


def documentation() -> str:
    """Returns the table: a row for each parameter of each rule, schemes with the same rules
    together."""
    columns = ["scheme", "parameter", "rule", "source", *networks()]
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    alike: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for scheme in schemes.values():
        if scheme.reference == scheme.name and scheme.by_network:
            alike.setdefault(tuple(_rows(scheme)), []).append(f"`{scheme.name}`")
    for rows, names in alike.items():
        for number, row in enumerate(rows):
            lines.append(f"| {' | '.join([', '.join(names) if number == 0 else '', *row])} |")
    return "\n".join(lines) + "\n"


def _rows(scheme: Scheme) -> list[tuple[str, ...]]:
    rules = scheme.rules
    rows = []
    for field in describe(scheme.parameters):
        if field.field in rules:
            rule = rules[field.field]
            values = (_value(scheme, field, *where) for where in networks().values())
            rows.append((f"`{field.name}`", rule.text, rule.source, *values))
    return rows


def _value(scheme: Scheme, field: Description, topology: Topology, payload_bytes: int) -> str:
    """Returns the value of hosts, or of ports by their rate where these differ."""
    at_ports = recommended_at_ports(topology, scheme, payload_bytes)
    values = [at[field.field] for at in at_ports.values() if field.field in at]
    values = list(
        dict.fromkeys(values or [recommended(topology, scheme, payload_bytes)[field.field]])
    )
    return ", ".join(quantity_text(field.kind, float(f"{value:.3g}")) for value in values)


if __name__ == "__main__":
    print(documentation(), end="")
