"""What a text of JSON or YAML is composed to: values, lists and mappings, each with its line."""

from __future__ import annotations

from dataclasses import dataclass

MOST_VALUES, DEEPEST = 2_000_000, 64
"""Of a tree; a value that an alias of YAML repeats counts each time."""


class ComposeError(Exception):
    """A text is no tree: the line, and why."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


@dataclass(slots=True, eq=False)
class Scalar:
    """One value. `plain`: it stands there without quotes, and may be a number, a truth value or
    nothing."""

    line: int
    text: str
    plain: bool


@dataclass(slots=True, eq=False)
class ListOf:
    line: int
    items: list[Tree]


@dataclass(slots=True, eq=False)
class MappingOf:
    line: int
    pairs: list[tuple[Tree, Tree]]


Tree = Scalar | ListOf | MappingOf


class Composer:
    """Puts a tree together, part by part. Raises ComposeError where it is too large or too deep."""

    def __init__(self) -> None:
        self.values = 0
        self.root: Tree | None = None
        self.open: list[ListOf | MappingOf] = []
        self._keys: list[Tree | None] = []

    def count(self, line: int, values: int = 1) -> None:
        self.values += values
        if self.values > MOST_VALUES:
            raise ComposeError(
                line, f"more than {MOST_VALUES:,} values, those that aliases repeat included"
            )

    def add(self, part: Tree) -> None:
        """A whole part: into the list or mapping that is open, or the root."""
        self.count(part.line)
        if not self.open:
            self.root = part
            return
        inner, key = self.open[-1], self._keys[-1]
        if isinstance(inner, ListOf):
            inner.items.append(part)
        elif key is None:
            self._keys[-1] = part
        else:
            inner.pairs.append((key, part))
            self._keys[-1] = None

    def begin(self, part: ListOf | MappingOf) -> None:
        if len(self.open) >= DEEPEST:
            raise ComposeError(
                part.line, f"nested too deeply: lists and mappings are {DEEPEST} deep at most"
            )
        self.add(part)
        self.open.append(part)
        self._keys.append(None)

    def end(self) -> ListOf | MappingOf:
        self._keys.pop()
        return self.open.pop()

    @property
    def wants_value(self) -> bool:
        """Whether a key stands there, without its value."""
        return bool(self._keys) and self._keys[-1] is not None
