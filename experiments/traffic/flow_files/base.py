"""What every format of flows is: a file that is read, a reader, and what a run can have of a
flow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pcn.experiments.traffic.flow_files.ends import Ends
from pcn.topologies import lossless
from pcn.topologies.ecn import GREEN
from pcn.topologies.formats.source import FormatError, Source
from pcn.topologies.model import FlowSpec

LONGEST_S = 1e6
"""No flow starts later, and runs last no longer."""
MOST_FLOWS = 2**22
"""Of a file: what the engine of virtual time has room for."""
MOST_WAITS = 2**24
"""Of flows for others, all together: those behind a barrier each wait for all before it."""
MOST_TEXT = 256 * 2**20
"""Bytes of a file of text: 60 for each flow."""
_MOST_BYTES = 2**63
_HEAD = 16


@dataclass(frozen=True)
class FlowFile:
    """A file of flows, of text or not."""

    path: Path
    ends: Ends | None = None
    """The topology's hosts; None: it isn't known yet."""
    notes: list[str] = field(default_factory=list)
    """What the flows that were read have otherwise than those that the file is of."""

    @cached_property
    def head(self) -> bytes:
        """Its first bytes. Raises FormatError."""
        try:
            with self.path.open("rb") as file:
                return file.read(_HEAD)
        except OSError as error:
            raise self.error(error.strerror or str(error)) from None

    @cached_property
    def text(self) -> Source:
        """Raises FormatError for a file without text."""
        return Source.of(self.path, MOST_TEXT)

    def host(self, place: int) -> str:
        """Returns the topology's host at a place; `h0` and so on where it isn't known. Raises
        FormatError."""
        if self.ends is None:
            return f"h{place}"
        if place >= len(self.ends):
            raise self.error(
                f"{place + 1} ranks or more, and the topology has {len(self.ends)} hosts"
            )
        return self.ends.names[place]

    def error(self, text: str, line: int | None = None) -> FormatError:
        return FormatError(
            f"{self.path}: {text}" if line is None else f"{self.path}:{line}: {text}"
        )

    def checked(self, flow: FlowSpec, line: int | None = None, where: str = "") -> FlowSpec:
        """Returns the flow with the names of the topology's hosts, if that is known. Raises
        FormatError where no run can have it; `where` stands before the fault."""
        why = fault(flow)
        if not why and self.ends is not None:
            try:
                src, dst = self.ends.host(flow.src, flow.id), self.ends.host(flow.dst, flow.id)
            except ValueError as error:
                raise self.error(f"{where}{error}", line) from None
            if src == dst:
                why = f"a flow from {src} to itself"
            elif (src, dst) != (flow.src, flow.dst):
                flow = replace(flow, src=src, dst=dst)
        if why:
            raise self.error(f"{where}{why}", line)
        return flow


@dataclass(frozen=True)
class FlowFormat:
    """`read` yields the flows with ids from 0, or those of the file."""

    name: str
    recognises: Callable[[FlowFile], bool]
    read: Callable[[FlowFile], Iterator[FlowSpec]]
    fields: Mapping[str, str]
    """What its files have, and what becomes of it: docs/formats.md has these as a table."""
    beside: Callable[[Path], list[Path]] = lambda path: [path]
    """All files that are read where one is given."""


def fault(flow: FlowSpec) -> str:
    """Returns why no run can have the flow; empty: runs can."""
    size = flow.size_bytes or 0
    if not 0 <= flow.start_s <= LONGEST_S:
        return f"start {flow.start_s:g} s: flows start within {LONGEST_S:,.0f} s"
    if not 0 < size < _MOST_BYTES:
        return f"size {size}: from 1 B to 2^63 - 1 B are possible"
    if not 0 <= flow.traffic_class < lossless.CONTROL_CLASS:
        return f"class {flow.traffic_class}: flows have 0 to {lossless.CONTROL_CLASS - 1}"
    if flow.colour != GREEN and not 0 < flow.traffic_class < 5:
        return f"{flow.colour} in class {flow.traffic_class}: classes 1 to 4 have colours"
    if not all(0 <= one_s <= LONGEST_S for one_s in flow.after_s):
        return f"{max(flow.after_s):g} s after another flow: 0 to {LONGEST_S:,.0f} s are possible"
    if flow.rate_bps is not None and not flow.rate_bps > 0:
        return "a rate must be above 0"
    return ""
