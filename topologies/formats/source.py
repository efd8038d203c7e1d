"""What every format is: a file that is read, a reader, perhaps a writer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

from pcn.topologies.lossless import CREDITS, PFC, names
from pcn.topologies.model import Switch, Topology, TopologyError
from pcn.topologies.tree import (
    MOST_BYTES,
    FileError,
    Node,
    compose,
    read_text,
    read_tree,
    shortened,
)
from pcn.topologies.tree_parts import ComposeError, Document, MappingOf, Part, Tree

T = TypeVar("T")
_LONGEST = 1000
"""Characters of a fault: a file may have a word of megabytes."""

_CONFIGURED = {"mtu_bytes", "lossless_classes", "hysteresis_bytes", *names(PFC), *names(CREDITS)}
"""Parameters that switches and hosts are configured with; others are arguments of a function."""


class FormatError(TopologyError):
    """A file that isn't what its format has: names file and line, and the way out."""


class Line(NamedTuple):
    number: int
    words: list[str]


@dataclass(frozen=True)
class Source:
    """A file's text."""

    path: Path
    text: str

    @classmethod
    def of(cls, path: Path, most_bytes: int = MOST_BYTES) -> Source:
        """Raises FormatError."""
        try:
            return cls(path, read_text(path, most_bytes))
        except FileError as error:
            raise FormatError(str(error)) from None

    @cached_property
    def document(self) -> Document | None:
        """Its values, of JSON or YAML. Raises FormatError."""
        try:
            return compose(self.path, self.text)
        except ComposeError as error:
            raise self.error(error.line, str(error)) from None

    def with_values(self, part: Part) -> Source:
        """Returns a source of the same file whose values are others, with lines of the file."""
        source = Source(self.path, self.text)
        source.__dict__["document"] = Document(part.tree, lambda: part.lines)  # a cached property
        return source

    @cached_property
    def keys(self) -> dict[str, Tree]:
        """Of the mapping that the file is; none where it is no such mapping."""
        try:
            document = self.document
        except (FormatError, ModuleNotFoundError):
            return {}
        tree = None if document is None else document.tree
        return keys_of(tree)

    def read(self, read: Callable[[Node], T]) -> T:
        """Returns what `read` makes of the tree. Raises FormatError with all faults."""
        if self.document is None:
            raise FormatError(f"{self.path}: empty")
        try:
            return read_tree(self.path, self.document, read)
        except FileError as error:
            raise FormatError(str(error)) from None

    def lines(self, comment: str = "") -> Iterator[Line]:
        """Yields the lines that have words, less what follows `comment`."""
        for number, text in enumerate(self.text.split("\n"), start=1):
            words = (text.partition(comment)[0] if comment else text).split()
            if words:
                yield Line(number, words)

    def error(self, line: int, text: str) -> FormatError:
        return FormatError(f"{self.path}:{line}: {shortened(text, _LONGEST)}")


def keys_of(tree: Tree) -> dict[str, Tree]:
    """Returns a mapping's values by those keys that are texts; none of what is no mapping."""
    pairs = tree.pairs if isinstance(tree, MappingOf) else []
    return {key: value for key, value in pairs if isinstance(key, str)}


@dataclass(frozen=True)
class Format:
    """`read(source, **options)` makes the topology; `write` a text, None where the format can't
    hold a topology."""

    name: str
    summary: str
    read: Callable[..., Topology]
    recognises: Callable[[Source], bool]
    fields: Mapping[str, str]
    """What its files have, and what becomes of it: docs/formats.md has these as a table."""
    write: Callable[[Topology], str] | None = None
    suffix: str = ""
    """Of files that are written in it without another word."""
    written_note: Callable[[Topology], str] = lambda _: ""
    """What a written file has otherwise than the topology, if that changes how others name its
    nodes."""
    whole: bool = False
    """Its files have all that a topology has."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Of names that are options of others, where its files have the values."""

    def left_out(self, topology: Topology) -> str:
        """Returns what of a topology its files lack, where that would change results; else an empty
        text."""
        if self.whole:
            return ""
        usual = replace(topology, parameters={}, flows=()).parameters
        settings = [
            setting.name
            for setting in fields(Switch)
            if setting.name not in ("name", "device_id")
            and any(
                getattr(switch, setting.name) != setting.default for switch in topology.switches
            )
        ]
        unusual = [
            name
            for name, value in topology.parameters.items()
            if name in _CONFIGURED and value != usual.get(name)
        ]
        parts = [
            f"of switches {', '.join(settings)}" if settings else "",
            f"parameters {', '.join(unusual)}" if unusual else "",
            "credits" if topology.flow_control != PFC else "",
            f"flows ({len(topology.flows)})" if topology.flows else "",
        ]
        text = "; ".join(filter(None, parts))
        return text and f"{self.name} leaves out {text}: .yaml and .json have all"
