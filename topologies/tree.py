"""A file of values in lists and mappings, YAML or JSON, read with all its faults: each names its
line, its field and the way out.

YAML's own guesses (`on` a boolean, `1:30` ninety) are not used: a value is the text that stands
there, until the reader of its field converts it. `tree_json` and `tree_yaml` make trees of texts,
of bounded size, whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pcn.base import inputs
from pcn.base.errors import LabError, is_near, nearest
from pcn.topologies.tree_parts import (
    ComposeError,
    Document,
    Lines,
    MappingOf,
    Plain,
    Root,
    Spot,
    Tree,
)

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


class Node:
    """A value and where it stands."""

    __slots__ = ("_name", "_names", "_outer", "_place", "_spot", "faults", "tree")

    def __init__(
        self, tree: Tree, faults: Faults, outer: Node | Document, place: int, name: int | str
    ) -> None:
        """`outer`: the list or mapping in which it is, of whose lines its own are at `place`;
        `name`: its number there, or its key."""
        self.tree = tree
        self.faults = faults
        self._outer = outer
        self._place = place
        self._name = name
        self._names: dict[str, Node] | None = None
        self._spot: Spot | Root | None = None

    @property
    def where(self) -> str:
        """Its path: ports[1].speed."""
        if isinstance(self._outer, Document):
            return ""
        if isinstance(self._name, int):
            return f"{self._outer.where}[{self._name}]"
        return self._outer._under(self._name)

    @property
    def spot(self) -> Spot | Root:
        """Where it stands."""
        if self._spot is None:
            outer = self._outer
            inside = not isinstance(outer, Document)
            self._spot = Spot(outer.spot, self._place) if inside else outer.spot
        return self._spot

    @property
    def lines(self) -> Lines:
        """Of it and its parts."""
        return self.spot.lines

    @property
    def line(self) -> int:
        return self.spot.line

    def fail(self, text: str) -> FaultError:
        """Notes a fault here; to be raised."""
        where = self.where
        self.faults.add(self.line, f"{where}: {text}" if where else text)
        return FaultError()

    def text(self) -> str:
        """Returns a value's text. Raises FaultError where the value is a list or a mapping."""
        tree = self.tree
        if isinstance(tree, str):
            return str(tree)
        if isinstance(tree, (list, MappingOf)):
            raise self.fail("one value is wanted here, not a list or a mapping")
        return _CONSTANTS[tree]

    def value(self, read: Callable[[str], T]) -> T:
        """Returns the value as `read` makes it of the text; its ValueError is the fault."""
        text = self.text()
        try:
            return read(text)
        except ValueError as error:
            raise self.fail(str(error)) from None

    def with_text(self, text: Tree) -> Node:
        """Returns one value that stands for this one."""
        return Node(text, self.faults, self._outer, self._place, self._name)

    @property
    def is_list(self) -> bool:
        return isinstance(self.tree, list)

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.tree, MappingOf)

    @property
    def is_text(self) -> bool:
        """One value in quotes, or one that is neither number nor truth value nor nothing."""
        return isinstance(self.tree, str) and not (
            isinstance(self.tree, Plain) and _NO_TEXT.match(self.tree)
        )

    @property
    def is_nothing(self) -> bool:
        return self.tree is None or (
            isinstance(self.tree, Plain) and self.tree in ("", "~", "null")
        )

    @property
    def content(self) -> Hashable:
        """Equal for nodes that no reader distinguishes, wherever they stand."""
        return _content(self.tree)

    def elements(self, read: Callable[[Node], T], least: int = 1) -> tuple[T, ...]:
        """Returns every element, or all faults of them."""
        if not isinstance(self.tree, list):
            raise self.fail("a list is wanted here: each element on its own line, after `- `")
        if len(self.tree) < least:
            raise self.fail("the list is empty")
        if read is Node.text and all(isinstance(part, str) for part in self.tree):
            return tuple(map(str, self.tree))  # type: ignore[arg-type]  # as `read` makes them
        results, bad = [], False
        for i, part in enumerate(self.tree):
            try:
                results.append(read(Node(part, self.faults, self, i, i)))
            except FaultError:
                bad = True
        if bad:
            raise FaultError
        return tuple(results)

    def entries(self, read_key: Callable[[str], T], read: Callable[[Node], Any]) -> dict[T, Any]:
        """Returns a mapping with keys of one kind."""
        entries, bad = dict[T, Any](), False
        for name, place in self._places().items():
            try:
                key = read_key(name)
            except ValueError as error:
                self._key(place, name).fail(str(error))
                bad = True
                continue
            try:
                entries[key] = self._read(read, place, name)
            except FaultError:
                bad = True
        if bad:
            raise FaultError
        return entries

    def fields(
        self, known: Mapping[str, Field], strange: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """Returns a mapping with known keys: the values by key, or all faults. `strange`: keys that
        are like no known one are no faults, and get the first place of each there."""
        places = self._places()
        bad = False
        for name, place in places.items() if not places.keys() <= known.keys() else ():
            if name not in known:
                fault = f"{self._under(name)}: no such field; {nearest(name, list(known))}"
                if strange is not None and not is_near(name, known):
                    strange.setdefault(name, shortened(fault, _LONGEST_FAULT))
                else:
                    self.faults.add(self._key(place, name).line, fault)
                    bad = True
        result = {}
        for name, how in known.items():
            if name not in places:
                result[name] = how.default
                if how.needed:
                    self.faults.add(self.line, f"{self._under(name)}: missing")
                    bad = True
                continue
            try:
                result[name] = self._read(how.read, places[name], name)
            except FaultError:
                bad = True
        if bad:
            raise FaultError
        return result

    def get(self, name: str) -> Node | None:
        """Returns a key's value in a mapping whose other keys don't matter; None if it is missing,
        or nothing."""
        if self._names is None:  # readers get many names of one large mapping
            self._names = {key.text(): node for key, node in self.pairs()}
        node = self._names.get(name)
        return None if node is None or node.is_nothing else node

    def pairs(self) -> list[tuple[Node, Node]]:
        """Returns the keys and values. A key that stands twice is a fault: YAML would silently take
        the last."""
        return [
            (self._key(place, name), self._value(place, name))
            for name, place in self._places().items()
        ]

    def _places(self) -> dict[str, int]:
        """Returns the numbers of pairs by their keys. Raises FaultError for a key that is no text,
        or stands twice."""
        if not isinstance(self.tree, MappingOf):
            raise self.fail("a mapping is wanted here: `name: value`, each on its own line")
        pairs = self.tree.pairs
        places = {key: place for place, (key, _) in enumerate(pairs) if key.__class__ is str}
        if len(places) == len(pairs):
            return places  # as JSON's are, if they are right
        places = dict[str, int]()
        for place, (tree, _) in enumerate(pairs):
            key = str(tree) if isinstance(tree, str) else self._key(place, "?").text()
            if key in places:
                before = self._key(places[key], key)
                raise self._key(place, key).fail(f"stands in line {before.line} already")
            places[key] = place
        return places

    def _key(self, place: int, name: str) -> Node:
        assert isinstance(self.tree, MappingOf)
        return Node(self.tree.pairs[place][0], self.faults, self, 2 * place, name)

    def _value(self, place: int, name: str) -> Node:
        assert isinstance(self.tree, MappingOf)
        return Node(self.tree.pairs[place][1], self.faults, self, 2 * place + 1, name)

    def _read(self, read: Callable[[Node], T], place: int, name: str) -> T:
        """Returns what `read` makes of a pair's value; of a text that is wanted as it is without a
        Node, which would take as long as all else of it."""
        tree = self.tree.pairs[place][1]  # type: ignore[union-attr]  # of a mapping
        if read is Node.text and isinstance(tree, str):
            return str(tree)  # type: ignore[return-value]  # as `read` makes it
        return read(Node(tree, self.faults, self, 2 * place + 1, name))

    def _under(self, name: str) -> str:
        name, where = shortened(name, _LONGEST_KEY), self.where
        return f"{where}.{name}" if where else name


def _content(tree: Tree) -> Hashable:
    if isinstance(tree, MappingOf):
        return MappingOf, *[
            (
                key if key.__class__ is str else _content(key),
                value if value.__class__ is str else _content(value),
            )
            for key, value in tree.pairs
        ]
    if isinstance(tree, list):
        return list, *[part if part.__class__ is str else _content(part) for part in tree]
    return (Plain, tree) if isinstance(tree, Plain) else tree


_CONSTANTS = {None: "null", True: "true", False: "false"}


def shortened(text: str, most: int) -> str:
    """Returns a text, or the beginning of one with more than `most` characters."""
    return text if len(text) <= most else f"{text[:most]}..."


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """Returns a file's text, of at most `most_bytes`, without a byte order mark before it. Raises
    FileError."""
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
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: this is no text in UTF-8: {error}") from None


def compose(path: Path, text: str) -> Document | None:
    """Returns the tree of a text, by the file's name JSON or YAML, or else JSON where it begins so;
    None of an empty one.

    Raises ComposeError. YAML needs an extra (ModuleNotFoundError)."""
    named = {".json": True, ".yaml": False, ".yml": False}
    if named.get(path.suffix.lower(), text.lstrip()[:1] in ("{", "[")):
        from pcn.topologies.tree_json import compose as composed
    else:
        from pcn.topologies.tree_yaml import compose as composed
    return composed(text)


def read_tree(path: Path, document: Document, read: Callable[[Node], T]) -> T:
    """Returns what `read` makes of a tree. Raises FileError with all faults."""
    faults = Faults(path)
    try:
        result = read(Node(document.tree, faults, document, 0, ""))
    except FaultError:
        faults.raise_any()
        raise
    faults.raise_any()
    return result


def read_file(path: Path, read: Callable[[Node], T], empty: str) -> T:
    """Returns what `read` makes of the file's one document; `empty` is the way out of an empty one.
    Raises FileError with all faults."""
    try:
        document = compose(path, read_text(path))
    except ComposeError as error:
        raise FileError(f"{path}:{error.line}: {error}") from None
    if document is None:
        raise FileError(f"{path}: empty: {empty}")
    return read_tree(path, document, read)
