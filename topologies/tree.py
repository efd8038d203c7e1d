"""A file of values in lists and mappings, YAML or JSON, read with all its faults: each names its
line, its field and the way out.

YAML's own guesses (`on` a boolean, `1:30` ninety) are not used: a value is the text that stands
there, until the reader of its field converts it. `tree_json` and `tree_yaml` make trees of texts,
of bounded size, whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pcn.base import inputs
from pcn.base.errors import LabError, is_near, nearest
from pcn.topologies.tree_parts import ComposeError, ListOf, MappingOf, Scalar, Tree

T = TypeVar("T")

MOST_BYTES = 64 * 2**20
_MOST_FAULTS, _LONGEST_FAULT, _LONGEST_KEY = 1000, 1000, 100
"""Of a file that are reported, and the characters of each, and of a key in its path: a key of a
megabyte would stand in the path of each value below it."""


class FileError(LabError):
    """What is wrong with a file, a line a fault."""


class FaultError(Exception):
    """A value can't be read; its faults are noted."""


_NO_TEXT = re.compile(r"(null|~|true|false|[-+]?\.?[0-9][0-9_.]*([eE][-+]?[0-9]+)?)?\Z")


@dataclass
class Faults:
    """Of one file, by line."""

    path: Path
    texts: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, text: str) -> None:
        """Notes a fault. Raises FileError where there are too many."""
        self.texts.append((line, shortened(text, _LONGEST_FAULT)))
        if len(self.texts) >= _MOST_FAULTS:
            self.texts.append((line, "too many faults: the rest of the file isn't read"))
            self.raise_any()

    def raise_any(self) -> None:
        """Raises FileError."""
        if self.texts:
            raise FileError(
                "\n".join(f"{self.path}:{line}: {text}" for line, text in sorted(self.texts))
            )


@dataclass(frozen=True)
class Field:
    """How a key's value is read, whether it must be there, and what it is if it needn't and
    isn't."""

    read: Callable[[Node], Any]
    needed: bool
    default: Any = None


def needed(read: Callable[[Node], Any]) -> Field:
    return Field(read, needed=True)


def optional(read: Callable[[Node], Any], default: Any = None) -> Field:
    return Field(read, needed=False, default=default)


@dataclass(frozen=True)
class Node:
    """A value and where it stands. `where` is its path: ports[1].speed."""

    tree: Tree
    where: str
    faults: Faults

    @property
    def line(self) -> int:
        return self.tree.line

    def fail(self, text: str) -> FaultError:
        """Notes a fault here; to be raised."""
        self.faults.add(self.line, f"{self.where}: {text}" if self.where else text)
        return FaultError()

    def text(self) -> str:
        """Returns a value's text. Raises FaultError where the value is a list or a mapping."""
        if not isinstance(self.tree, Scalar):
            raise self.fail("one value is wanted here, not a list or a mapping")
        return self.tree.text

    def value(self, read: Callable[[str], T]) -> T:
        """Returns the value as `read` makes it of the text; its ValueError is the fault."""
        text = self.text()
        try:
            return read(text)
        except ValueError as error:
            raise self.fail(str(error)) from None

    @property
    def is_list(self) -> bool:
        return isinstance(self.tree, ListOf)

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.tree, MappingOf)

    @property
    def is_text(self) -> bool:
        """One value in quotes, or one that is neither number nor truth value nor nothing."""
        return isinstance(self.tree, Scalar) and not (
            self.tree.plain and _NO_TEXT.match(self.tree.text)
        )

    @property
    def is_nothing(self) -> bool:
        return (
            isinstance(self.tree, Scalar)
            and self.tree.plain
            and self.tree.text in ("", "~", "null")
        )

    def elements(self, read: Callable[[Node], T], least: int = 1) -> tuple[T, ...]:
        """Returns every element, or all faults of them."""
        if not isinstance(self.tree, ListOf):
            raise self.fail("a list is wanted here: each element on its own line, after `- `")
        if len(self.tree.items) < least:
            raise self.fail("the list is empty")
        nodes = [
            Node(element, f"{self.where}[{i}]", self.faults)
            for i, element in enumerate(self.tree.items)
        ]
        return self._all([(read, node) for node in nodes])

    def entries(self, read_key: Callable[[str], T], read: Callable[[Node], Any]) -> dict[T, Any]:
        """Returns a mapping with keys of one kind."""
        pairs = self.pairs()
        keys = self._all([(lambda node: node.value(read_key), key) for key, _ in pairs])
        values = self._all([(read, value) for _, value in pairs])
        return dict(zip(keys, values, strict=True))

    def fields(
        self, known: Mapping[str, Field], strange: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """Returns a mapping with known keys: the values by key, or all faults. `strange`: keys that
        are like no known one are no faults, and get the first place of each there."""
        pairs = {key.text(): (key, value) for key, value in self.pairs()}
        bad = False
        for name, (key, _) in pairs.items():
            if name not in known:
                fault = f"{self._under(name)}: no such field; {nearest(name, list(known))}"
                if strange is not None and not is_near(name, known):
                    strange.setdefault(name, shortened(fault, _LONGEST_FAULT))
                else:
                    self.faults.add(key.line, fault)
                    bad = True
        result = {}
        for name, how in known.items():
            if name not in pairs:
                result[name] = how.default
                if how.needed:
                    self.faults.add(self.line, f"{self._under(name)}: missing")
                    bad = True
                continue
            try:
                result[name] = how.read(pairs[name][1])
            except FaultError:
                bad = True
        if bad:
            raise FaultError
        return result

    def get(self, name: str) -> Node | None:
        """Returns a key's value in a mapping whose other keys don't matter; None if it is missing,
        or nothing."""
        node = self._by_name.get(name)
        return None if node is None or node.is_nothing else node

    @cached_property
    def _by_name(self) -> dict[str, Node]:
        """Kept: readers get many names of one large mapping."""
        return {key.text(): node for key, node in self.pairs()}

    def pairs(self) -> list[tuple[Node, Node]]:
        """Returns the keys and values. A key that stands twice is a fault: YAML would silently take
        the last."""
        if not isinstance(self.tree, MappingOf):
            raise self.fail("a mapping is wanted here: `name: value`, each on its own line")
        pairs, seen = [], dict[str, int]()
        for key_node, value_node in self.tree.pairs:
            name = key_node.text if isinstance(key_node, Scalar) else "?"
            key = Node(key_node, self._under(name), self.faults)
            if key.text() in seen:
                raise key.fail(f"stands in line {seen[name]} already")
            seen[name] = key.line
            pairs.append((key, Node(value_node, key.where, self.faults)))
        return pairs

    def _under(self, name: str) -> str:
        name = shortened(name, _LONGEST_KEY)
        return f"{self.where}.{name}" if self.where else name

    def _all(self, work: list[tuple[Callable[[Node], T], Node]]) -> tuple[T, ...]:
        results, bad = [], False
        for read, node in work:
            try:
                results.append(read(node))
            except FaultError:
                bad = True
        if bad:
            raise FaultError
        return tuple(results)


def shortened(text: str, most: int) -> str:
    """Returns a text, or the beginning of one with more than `most` characters."""
    return text if len(text) <= most else f"{text[:most]}..."


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """Returns a file's text, of at most `most_bytes`. Raises FileError."""
    try:
        with inputs.opened(path) as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:  # A file's text names it with a byte 0.
        raise FileError(f"{path}: {error}") from None
    if len(data) > most_bytes:
        raise FileError(f"{path}: more than {most_bytes // 2**20} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: this is no text in UTF-8: {error}") from None


def compose(path: Path, text: str) -> Tree | None:
    """Returns the tree of a text, by the file's name JSON or YAML, or else JSON where it begins so;
    None of an empty one.

    Raises ComposeError. YAML needs an extra (ModuleNotFoundError)."""
    named = {".json": True, ".yaml": False, ".yml": False}
    if named.get(path.suffix.lower(), text.lstrip()[:1] in ("{", "[")):
        from pcn.topologies.tree_json import compose as composed
    else:
        from pcn.topologies.tree_yaml import compose as composed
    return composed(text)


def read_tree(path: Path, tree: Tree, read: Callable[[Node], T]) -> T:
    """Returns what `read` makes of a tree. Raises FileError with all faults."""
    faults = Faults(path)
    try:
        result = read(Node(tree, "", faults))
    except FaultError:
        faults.raise_any()
        raise
    faults.raise_any()
    return result


def read_file(path: Path, read: Callable[[Node], T], empty: str) -> T:
    """Returns what `read` makes of the file's one document; `empty` is the way out of an empty one.
    Raises FileError with all faults."""
    try:
        tree = compose(path, read_text(path))
    except ComposeError as error:
        raise FileError(f"{path}:{error.line}: {error}") from None
    if tree is None:
        raise FileError(f"{path}: empty: {empty}")
    return read_tree(path, tree, read)
