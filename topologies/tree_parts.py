"""What a text of JSON or YAML is composed to: values, lists and mappings, and beside them the line
of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

MOST_VALUES, DEEPEST = 3_000_000, 64
"""Of a tree; a value that an alias of YAML repeats counts each time."""


class ComposeError(Exception):
    """A text is no tree: the line, and why."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


class Plain(str):
    """A value that stands there without quotes, and may be a number, a truth value or nothing."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class MappingOf:
    """In the file's order; a key may stand twice."""

    pairs: list[tuple[Tree, Tree]]


Tree: TypeAlias = str | bool | list["Tree"] | MappingOf | None
"""Text is in quotes, unless it is Plain; JSON's truth values and nothing are Python's."""
Lines: TypeAlias = Any
"""Of a value: its line; of a list or mapping a tuple of its line and a list of the Lines of its
parts, of a mapping those of each key and its value in turn."""


class Part(NamedTuple):
    """A value, where it stands."""

    tree: Tree
    lines: Lines


def text_at(line: int, text: str) -> Part:
    """Returns one value; the other functions a list of parts, and a mapping."""
    return Part(text, line)


def list_at(line: int, parts: list[Part]) -> Part:
    return Part([part.tree for part in parts], (line, [part.lines for part in parts]))


def mapping_at(line: int, pairs: list[tuple[Part, Part]]) -> Part:
    return Part(
        MappingOf([(key.tree, value.tree) for key, value in pairs]),
        (line, [part.lines for pair in pairs for part in pair]),
    )


class Root:
    """Where a text's outermost value stands. `count` returns its Lines, when the first is needed:
    JSON's are a second pass over the text, and most files are read without a fault."""

    def __init__(self, count: Callable[[], Lines]) -> None:
        self._count = count

    @cached_property
    def lines(self) -> Lines:
        """Of it and its parts."""
        return self._count()

    @property
    def line(self) -> int:
        return line_of(self.lines)


class Spot(NamedTuple):
    """Where a value stands, without the value, so that its tree can be freed: at a place among the
    Lines of the list or mapping in which it is."""

    outer: Spot | Root
    place: int

    @property
    def lines(self) -> Lines:
        """Of it and its parts."""
        return self.outer.lines[1][self.place]

    @property
    def line(self) -> int:
        return line_of(self.lines)


class Document:
    """A tree; `count` is its Root's."""

    def __init__(self, tree: Tree, count: Callable[[], Lines]) -> None:
        self.tree = tree
        self.spot = Root(count)


class Composer:
    """Puts a tree together, part by part. Raises ComposeError where it is too large or too deep."""

    def __init__(self) -> None:
        self.values = 0
        self.root: Part | None = None
        self.open: list[Part] = []
        self._keys: list[Part | None] = []

    def count(self, line: int, values: int = 1) -> None:
        self.values += values
        if self.values > MOST_VALUES:
            raise too_many(line)

    def add(self, part: Part) -> None:
        """A whole part: into the list or mapping that is open, or the root."""
        self.count(line_of(part.lines))
        if not self.open:
            self.root = part
            return
        (inner, lines), key = self.open[-1], self._keys[-1]
        if isinstance(inner, list):
            inner.append(part.tree)
            lines[1].append(part.lines)
        elif key is None:
            self._keys[-1] = part
        else:
            assert isinstance(inner, MappingOf)
            inner.pairs.append((key.tree, part.tree))
            lines[1].extend((key.lines, part.lines))
            self._keys[-1] = None

    def begin(self, part: Part) -> None:
        if len(self.open) >= DEEPEST:
            raise too_deep(line_of(part.lines))
        self.add(part)
        self.open.append(part)
        self._keys.append(None)

    def end(self) -> Part:
        self._keys.pop()
        return self.open.pop()


def line_of(lines: Lines) -> int:
    """Returns where a value begins."""
    line: int = lines if isinstance(lines, int) else lines[0]
    return line


def too_many(line: int) -> ComposeError:
    """Returns the error; so does `too_deep`."""
    return ComposeError(
        line, f"more than {MOST_VALUES:,} values, those that aliases repeat included"
    )


def too_deep(line: int) -> ComposeError:
    return ComposeError(line, f"nested too deeply: lists and mappings are {DEEPEST} deep at most")
