"""What a switch's control plane is given before traffic starts: steps in a file's order, each with
its place in the file, and carrying them out through a `ControlPlane`.

A step is an update of P4Runtime, a read whose result is printed, or a setting of the target's
queues, which P4Runtime lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias

from pcn.base.p4rt import p4r
from pcn.controller.control_plane import ControlPlane, Prepared, TableEntry
from pcn.controller.errors import SwitchError, WriteError
from pcn.controller.p4info import Schema
from pcn.p4net.errors import P4NetError
from pcn.topologies.tree_parts import Root, Spot


class Place(NamedTuple):
    """A line of a file. `at`: the line, or where a value stands, whose line is counted when it is
    needed."""

    path: Path
    at: int | Spot | Root

    @property
    def line(self) -> int:
        return self.at if isinstance(self.at, int) else self.at.line

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"

    def fail(self, text: str) -> P4NetError:
        """Returns an error about this line, to be raised."""
        return P4NetError(f"{self}: {text}")


@dataclass(frozen=True)
class Write:
    """An update of P4Runtime."""

    place: Place
    update: p4r.Update


class Insert(NamedTuple):
    """An entry of a table by the program's names, which an InProcessSwitch reads without a message
    between."""

    place: Place
    entry: TableEntry


@dataclass(frozen=True)
class Read:
    """A read, most often of cells of an array. `show` returns the lines of what was found, each
    behind the title."""

    place: Place
    title: str
    query: p4r.Entity
    show: Callable[[Sequence[p4r.Entity]], Sequence[str]] = lambda entities: list(
        map(_value, entities)
    )


@dataclass(frozen=True)
class Queue:
    """A queue's depth in packets, or its rate in packets/s (0: unlimited). None: of all ports, or
    of all queues of a port."""

    place: Place
    setting: Literal["depth", "rate"]
    value: int
    port: int | None = None
    queue: int | None = None


_MOST_AT_ONCE = 4096
"""Entries in one call: gRPC's messages have 4 MB at most."""
Step: TypeAlias = Write | Insert | Read | Queue


class Entries(Protocol):
    """A source of steps, most often a file."""

    def steps(self, schema: Schema) -> Sequence[Step]:
        """Returns the steps for a switch that runs the schema's program. Raises P4NetError."""
        ...


Translated: TypeAlias = dict[tuple[int, int], Prepared]
"""Entries as switches of one kind take them, by the ids of their program's schema and of the entry
itself: several switches may have it."""


def carry_out(
    switch: ControlPlane,
    steps: Iterable[Step],
    set_queue: Callable[[Queue], None],
    translated: Translated | None = None,
) -> list[str]:
    """Carries out steps in their order, entries that follow each other in one call. `translated`:
    of switches of this kind, which live as long as it. Returns a line for each value that was read.
    Raises P4NetError with the place of the step that the switch refuses."""
    translated = {} if translated is None else translated
    lines: list[str] = []
    inserts = list[Insert]()
    for step in steps:
        if isinstance(step, Insert) and len(inserts) < _MOST_AT_ONCE:
            inserts.append(step)
            continue
        _insert(switch, inserts, translated)
        if isinstance(step, Insert):
            inserts = [step]
        else:
            inserts = []
            lines += _carry_out(switch, step, set_queue)
    _insert(switch, inserts, translated)
    return lines


def _insert(switch: ControlPlane, steps: Sequence[Insert], translated: Translated) -> None:
    if not steps:
        return
    prepared, program = list[Prepared](), id(switch.schema)
    for place, entry in steps:
        known = translated.get((program, id(entry)))
        if known is None:  # it holds the entry, whose id it has
            try:
                known = translated[program, id(entry)] = switch.prepare([entry])
            except SwitchError as error:
                raise place.fail(str(error)) from None
        prepared.append(known)
    try:
        switch.insert_prepared(prepared)
    except WriteError as error:
        refused, reason = error.refused[0]
        # An entry that stands several times is inserted once: the switch refuses the last ones.
        places = [place for place, entry in steps if entry is refused]
        times = sum(entry is refused for entry, _ in error.refused)
        raise places[-times].fail(f"{switch.name}: table entry: {reason}") from None
    except SwitchError as error:
        raise steps[0].place.fail(str(error)) from None


def _carry_out(
    switch: ControlPlane, step: Write | Read | Queue, set_queue: Callable[[Queue], None]
) -> list[str]:
    try:
        if isinstance(step, Write):
            switch.write([step.update])
        elif isinstance(step, Read):
            return [f"{step.title}{text}" for text in step.show(list(switch.read([step.query])))]
        else:
            set_queue(step)
    except SwitchError as error:
        raise step.place.fail(str(error)) from None
    return []


def _value(entity: p4r.Entity) -> str:
    """Returns an array's cell, or a direct counter or meter, in a text."""
    which = entity.WhichOneof("entity")
    cell = getattr(entity, which or "")
    index = f"[{cell.index.index}]" if hasattr(cell, "index") else ""
    if which == "register_entry":
        return f"{index} = {int.from_bytes(cell.data.bitstring, 'big')}"
    if which in ("counter_entry", "direct_counter_entry"):
        return f"{index} = {cell.data.packet_count} packets, {cell.data.byte_count} bytes"
    if not cell.HasField("config"):
        return f"{index} = green for all packets"
    config = cell.config
    return f"{index} = {config.cir}:{config.cburst} {config.pir}:{config.pburst} a second"
