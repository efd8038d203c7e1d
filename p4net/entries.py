"""Giving a switch its entries: files in their order, and what of command files the switch or its
program refuses.

simple_switch_CLI prints a complaint about such a command and goes on; so does a run that isn't
strict. Runtime JSON and P4Runtime's text form are refused whole, as the tutorials' script refuses
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from pcn.controller.control_plane import ControlPlane
from pcn.controller.p4info import Schema
from pcn.p4net.commands import Commands
from pcn.p4net.errors import P4NetError
from pcn.p4net.steps import Entries, Queue, Step, Translated, carry_out


@dataclass
class Written:
    """What came of entries: `lines` that were read, how many `commands` command files have, and a
    `complaint` for each that failed, with its file and line."""

    lines: list[str] = field(default_factory=list)
    commands: int = 0
    complaints: list[str] = field(default_factory=list)


def write(
    switch: ControlPlane,
    entries: Iterable[Entries],
    set_queue: Callable[[Queue], None],
    *,
    strict: bool,
    translated: Translated | None = None,
) -> Written:
    """Gives a switch its entries; `translated` as `carry_out` has it. Raises P4NetError with the
    place of what can't be carried out; of commands only where it is `strict`."""
    written = Written()
    for source in entries:
        if not isinstance(source, Commands):
            written.lines += carry_out(switch, source.steps(switch.schema), set_queue, translated)
            continue
        for line in source.lines(switch.schema):
            written.commands += 1
            try:
                if line.fault:
                    raise line.place.fail(line.fault)
                written.lines += carry_out(switch, line.steps, set_queue, translated)
            except P4NetError as error:
                if strict:
                    raise
                line.undo()
                written.complaints.append(str(error))
    return written


def queues(entries: Iterable[Entries], schema: Schema, *, strict: bool) -> list[Queue]:
    """Returns the settings of queues in entries, before there is a switch. Raises P4NetError as
    `write`, for what the files alone show."""
    return [
        step
        for source in entries
        for step in _steps(source, schema, strict)
        if isinstance(step, Queue)
    ]


def _steps(source: Entries, schema: Schema, strict: bool) -> Iterator[Step]:
    if strict or not isinstance(source, Commands):
        yield from source.steps(schema)
        return
    for line in source.lines(schema):
        yield from line.steps


def failed(written: Iterable[Written]) -> str:
    """Returns how many commands failed, for people; empty: none."""
    every = list(written)
    complaints = sum(len(outcome.complaints) for outcome in every)
    return (
        f"{complaints} of {sum(outcome.commands for outcome in every)} commands failed"
        if complaints
        else ""
    )
