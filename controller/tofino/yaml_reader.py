"""A YAML file read with all its faults: each names its line, its field and the way out.

YAML's own guesses (`on` a boolean, `1:30` ninety) are not used: a value is the text that stands there, until the reader
of its field says what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml

from topologies.errors import LabError, nearest

T = TypeVar("T")


class FileError(LabError):
    """What is wrong with a file, a line a fault."""


class FaultError(Exception):
    """A value can't be read; its faults are noted."""


@dataclass
class Faults:
    """Of one file, by line."""

    path: Path
    found: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, text: str) -> None:
        self.found.append((line, text))

    def raise_any(self) -> None:
        """Raises FileError."""
        if self.found:
            raise FileError("\n".join(f"{self.path}:{line}: {text}" for line, text in sorted(self.found)))


@dataclass(frozen=True)
class Field:
    """How a key's value is read, whether it must be there, and what it is if it needn't and isn't."""

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

    node: yaml.Node
    where: str
    faults: Faults

    @property
    def line(self) -> int:
        return int(self.node.start_mark.line) + 1

    def fail(self, text: str) -> FaultError:
        """Notes a fault here; to be raised."""
        self.faults.add(self.line, f"{self.where}: {text}" if self.where else text)
        return FaultError()

    def text(self) -> str:
        """Of a value that is neither a list nor a mapping."""
        if not isinstance(self.node, yaml.ScalarNode):
            raise self.fail("one value is wanted here, not a list or a mapping")
        return str(self.node.value)

    def value(self, read: Callable[[str], T]) -> T:
        """The value as `read` makes it of the text; its ValueError is the fault."""
        text = self.text()
        try:
            return read(text)
        except ValueError as error:
            raise self.fail(str(error)) from None

    def elements(self, read: Callable[[Node], T]) -> tuple[T, ...]:
        """Every element, or all faults of them."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.fail("a list is wanted here: each element on a line of its own, after `- `")
        if not self.node.value:
            raise self.fail("the list is empty")
        nodes = [Node(one, f"{self.where}[{i}]", self.faults) for i, one in enumerate(self.node.value)]
        return self._all([(read, node) for node in nodes])

    def entries(self, read_key: Callable[[str], T], read: Callable[[Node], Any]) -> dict[T, Any]:
        """A mapping with keys of one kind."""
        pairs = self._pairs()
        keys = self._all([(lambda node: node.value(read_key), key) for key, _ in pairs])
        values = self._all([(read, value) for _, value in pairs])
        return dict(zip(keys, values, strict=True))

    def fields(self, known: Mapping[str, Field]) -> dict[str, Any]:
        """A mapping with known keys: the values by key, or all faults."""
        pairs = {key.text(): (key, value) for key, value in self._pairs()}
        bad = False
        for name, (key, _) in pairs.items():
            if name not in known:
                self.faults.add(key.line, f"{self._under(name)}: no such field; {nearest(name, list(known))}")
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

    def _pairs(self) -> list[tuple[Node, Node]]:
        """Keys and values. A key that stands twice is a fault: YAML would silently take the last."""
        if not isinstance(self.node, yaml.MappingNode):
            raise self.fail("a mapping is wanted here: `name: value`, each on a line of its own")
        pairs, seen = [], dict[str, int]()
        for key_node, value_node in self.node.value:
            name = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            key = Node(key_node, self._under(name), self.faults)
            if key.text() in seen:
                raise key.fail(f"stands in line {seen[name]} already")
            seen[name] = key.line
            pairs.append((key, Node(value_node, key.where, self.faults)))
        return pairs

    def _under(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def _all(self, work: list[tuple[Callable[[Node], T], Node]]) -> tuple[T, ...]:
        found, bad = [], False
        for read, node in work:
            try:
                found.append(read(node))
            except FaultError:
                bad = True
        if bad:
            raise FaultError
        return tuple(found)


def read_file(path: Path, read: Callable[[Node], T]) -> T:
    """What `read` makes of the file's one document. Raises FileError with all faults."""
    faults = Faults(path)
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        faults.add(mark.line + 1 if mark else 1, f"this is no YAML: {error.problem or error.context}")
        faults.raise_any()
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: this is no text in UTF-8: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise FileError(f"{path}: nested too deeply: lists and mappings in each other are three deep at most") from None
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    if node is None:
        raise FileError(f"{path}: empty: `pcn deploy --sample` prints one to start from")
    try:
        result = read(Node(node, "", faults))
    except FaultError:
        faults.raise_any()
        raise
    faults.raise_any()
    return result
