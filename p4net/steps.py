"""What a switch's control plane is given before traffic starts: steps in a file's order, each with
its place in the file, and carrying them out through a `ControlPlane`.

A step is an update of P4Runtime, a read whose result is printed, or a setting of the target's
queues, which P4Runtime lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from pcn.base.p4rt import p4r
from pcn.controller.control_plane import ControlPlane
from pcn.controller.errors import SwitchError
from pcn.controller.p4info import Schema
from pcn.p4net.errors import P4NetError


@dataclass(frozen=True)
class Place:
    """A line of a file."""

    path: Path
    line: int

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


Step: TypeAlias = Write | Read | Queue


class Entries(Protocol):
    """A source of steps, most often a file."""

    def steps(self, schema: Schema) -> Sequence[Step]:
        """Returns the steps for a switch that runs the schema's program. Raises P4NetError."""
        ...


def carry_out(
    switch: ControlPlane, steps: Iterable[Step], set_queue: Callable[[Queue], None]
) -> list[str]:
    """Carries out steps in their order. Returns a line for each value that was read. Raises
    P4NetError with the place of the step that the switch refuses."""
    lines: list[str] = []
    for step in steps:
        try:
            if isinstance(step, Write):
                switch.write([step.update])
            elif isinstance(step, Read):
                lines += [
                    f"{step.title}{text}" for text in step.show(list(switch.read([step.query])))
                ]
            else:
                set_queue(step)
        except SwitchError as error:
            raise step.place.fail(str(error)) from None
    return lines


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
