"""Values of this project's own format: what a text stands for, and the text of a value."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping

from pcn.base.units import Kind, quantity, quantity_text
from pcn.topologies.formats.source import FormatError
from pcn.topologies.tree import Node

_SI: Mapping[Kind, str] = {"rate": "bit/s", "time": "s", "size": "B"}


def quantity_of(kind: Kind) -> Callable[[Node], float]:
    return lambda node: node.value(lambda text: quantity(kind, text))


def count(node: Node) -> int:
    return int(quantity_of("count")(node))


def size(node: Node) -> int:
    return int(quantity_of("size")(node))


def text(node: Node) -> str:
    return node.text()


def one_of(*known: str) -> Callable[[Node], str]:
    def read(text: str) -> str:
        if text not in known:
            raise ValueError(f"{text!r}: choose from {', '.join(known)}")
        return text

    return lambda node: node.value(read)


def exact(kind: Kind, value: float) -> str:
    """Returns a text that `quantity` reads again, to the bit. Raises FormatError."""
    number = int(value) if float(value).is_integer() else value
    for text in (quantity_text(kind, value).replace(" ", ""), f"{number!r}{_SI[kind]}"):
        with contextlib.suppress(ValueError):
            if quantity(kind, text) == value:
                return text
    raise FormatError(f"{value!r} is no {kind} that a file can hold")
