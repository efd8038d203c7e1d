"""The counts of the programs that switches ran, and what each is of."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple

from pcn.softswitch.program.errors import ProgramError, Source
from pcn.softswitch.program.load import load_program
from pcn.softswitch.program.model import (
    Action,
    ActionNode,
    ConditionNode,
    ConstEntry,
    Control,
    Match,
    ParseState,
    Program,
    Table,
    Transition,
)
from pcn.softswitch.program.points import (
    NOT_UPDATED,
    PIPELINES,
    UNVERIFIED,
    UPDATED,
    VERIFIED,
    WRONG,
    Points,
)
from pcn.softswitch.program.statements import (
    Extract,
    ExtractNext,
    ExtractNextUnion,
    Jump,
    JumpIfZero,
    Operation,
    Verify,
)

MOST_PROGRAMS: Final = 64
"""Of a switch: each is kept with its text, and a client may load any number."""
KINDS = (
    "state", "transition", "statement", "action", "table", "hit", "miss", "entry", "true", "false",
    "verified", "wrong", "unverified", "updated", "not updated", "deparser",
)  # fmt: skip
"""Of points."""
BRANCHES = frozenset(KINDS) - {"state", "statement", "action", "table", "entry", "deparser"}


class Point(NamedTuple):
    """A place of a program, and how many packets ran through it. `name`: the state, action, table
    or control that it is of; `text`: what it is there, as a key's value or the source's text.
    `file` is empty, and `line` 0, where p4c gives no source."""

    kind: str
    name: str
    text: str
    file: str
    line: int
    packets: int

    @property
    def reached(self) -> bool:
        return self.packets > 0


@dataclass(frozen=True)
class Covered:
    """The points of a program. `program`: its source, as p4c names it; `digest`: SHA-256 of its
    JSON. Equal digests have equal points, with other counts."""

    program: str
    digest: str
    points: tuple[Point, ...]


class Counts:
    """Counts the points of covered programs, on any switches of one thread at a time."""

    def __init__(self) -> None:
        self._cells: dict[str, ctypes.Array[ctypes.c_uint64]] = {}

    def of(self, json_text: str) -> ctypes.Array[ctypes.c_uint64]:
        """Returns the memory where a program counts. Raises ProgramError, also for one more than
        `MOST_PROGRAMS`."""
        if json_text not in self._cells:
            if len(self._cells) >= MOST_PROGRAMS:
                raise ProgramError(
                    f"a covered switch counts {MOST_PROGRAMS} programs: start it anew, and merge"
                )
            count = Points(_program(json_text)).count
            self._cells[json_text] = (ctypes.c_uint64 * count)()
        return self._cells[json_text]

    def covered(self) -> list[Covered]:
        """Returns all programs so far."""
        return [
            Covered(
                (program := _program(text)).name,
                hashlib.sha256(text.encode()).hexdigest(),
                tuple(_points(program, [*cells])),
            )
            for text, cells in self._cells.items()
        ]


@lru_cache(maxsize=16)
def _program(json_text: str) -> Program:
    return load_program(json_text)


def merged(runs: Iterable[Covered]) -> list[Covered]:
    """Returns each program once, with the sums of its counts, in the order of their names. Raises
    ValueError where equal programs differ in their points."""
    programs: dict[str, Covered] = {}
    for run in runs:
        if run.digest not in programs:
            programs[run.digest] = run
            continue
        there = programs[run.digest]
        if [p[:-1] for p in there.points] != [p[:-1] for p in run.points]:
            raise ValueError(f"{run.program} has other points in one file than in another")
        pairs = zip(there.points, run.points, strict=True)
        programs[run.digest] = replace(
            there, points=tuple(a._replace(packets=a.packets + b.packets) for a, b in pairs)
        )
    return sorted(programs.values(), key=lambda covered: (covered.program, covered.digest))


# ---- a program's counts as points ----


def _point(kind: str, name: str, text: str, source: Source | None, count: int) -> Point:
    file, line = (source.file, source.line) if source is not None else ("", 0)
    return Point(kind, name, text, file, line, count)


def _points(program: Program, cells: list[int]) -> Iterator[Point]:
    """Yields the points of a program. What p4c has copied, as an action for each table or a control
    for each instance, is one point."""
    points = Points(program)
    yield from _parser(program, points, cells)
    counts: dict[Point, int] = {}
    for point in _controls(program, points, cells):
        key = point._replace(packets=0)
        counts[key] = counts.get(key, 0) + point.packets
    yield from (point._replace(packets=count) for point, count in counts.items())


def _controls(program: Program, points: Points, cells: list[int]) -> Iterator[Point]:
    for pipeline, control in zip(PIPELINES, (program.ingress, program.egress), strict=True):
        yield from _conditions(pipeline, control, points, cells)
    for i, table in enumerate(program.tables):
        if i not in points.hidden:
            yield from _table(program, i, table, points, cells)
    used = {a for t in program.tables for a in t.actions}
    used |= {
        node.action
        for control in (program.ingress, program.egress)
        for node in control.nodes
        if isinstance(node, ActionNode)
    }
    inside = {a for i in points.hidden for a in program.tables[i].actions}
    for i in sorted(used):
        yield from _action(i, program.actions[i], i not in inside, points, cells)
    for i, checksum in enumerate(program.checksums):
        first = points.checksums[i]
        kinds = []
        if checksum.verify:
            kinds += [("verified", VERIFIED), ("wrong", WRONG), ("unverified", UNVERIFIED)]
        if checksum.update:
            kinds += [("updated", UPDATED), ("not updated", NOT_UPDATED)]
        text = checksum.source.fragment if checksum.source else ""
        for kind, offset in kinds:
            yield _point(kind, checksum.name, text, checksum.source, cells[first + offset])
    deparser = program.deparser
    yield _point("deparser", deparser.name, "", deparser.source, cells[points.deparsed])


def _parser(program: Program, points: Points, cells: list[int]) -> Iterator[Point]:
    """Entries of a state are the transitions to it, less those that the budget of visits
    refused."""
    parser = program.parser
    entered = [0] * len(parser.states)
    entered[parser.start] = cells[points.parsed]
    reachable, pending = {parser.start}, [parser.start]
    while pending:
        i = pending.pop()
        for k, following in enumerate(_following(parser.states[i])):
            if following is None:
                continue
            entered[following] += cells[points.transitions[i] + k]
            if following not in reachable:
                reachable.add(following)
                pending.append(following)
    for i in sorted(reachable):
        state = parser.states[i]
        count = entered[i] - cells[points.timeouts[i]]
        yield _point("state", state.name, "", state.source, count)
        for k, statement in enumerate(state.statements):
            source = statement.source
            text = source.fragment if source else _described(program, statement.operation)
            yield _point("statement", state.name, text, source, count)
            ended = cells[points.failures[i, k]]
            count -= ended
            if isinstance(statement.operation, Verify):
                yield _point("true", state.name, text, source, count)
                yield _point("false", state.name, text, source, ended)
        for k, transition in enumerate(state.transitions):
            text = f"{_key(program, state, transition)} -> {_state(program, transition.next_state)}"
            taken = cells[points.transitions[i] + k]
            yield _point("transition", state.name, text, state.source, taken)
        taken = cells[points.transitions[i] + len(state.transitions)]
        text = f"default -> {_state(program, state.default)}"
        yield _point("transition", state.name, text, state.source, taken)


def _following(state: ParseState) -> tuple[int | None, ...]:
    return (*(transition.next_state for transition in state.transitions), state.default)


def _state(program: Program, number: int | None) -> str:
    return "accept" if number is None else program.parser.states[number].name


def _key(program: Program, state: ParseState, transition: Transition) -> str:
    if transition.vset is not None:
        return program.value_sets[transition.vset].name
    return ", ".join(
        _masked(value, mask, part.width)
        for part, value, mask in zip(state.key, transition.values, transition.masks, strict=True)
    )


def _masked(value: int, mask: int, width: int) -> str:
    full = (1 << width) - 1
    return f"{value:#x}" if mask & full == full else f"{value:#x} &&& {mask:#x}"


def _described(program: Program, operation: Operation) -> str:
    """Returns what a statement of the parser does, which has no source text."""
    match operation:
        case Extract(header):
            return f"extract {program.headers[header].name}"
        case ExtractNext(stack):
            return f"extract {program.stacks[stack].name}.next"
        case ExtractNextUnion(stack):
            return f"extract {program.union_stacks[stack].name}.next"
        case _:
            return type(operation).__name__.lower()


def _conditions(name: str, control: Control, points: Points, cells: list[int]) -> Iterator[Point]:
    for i, node in enumerate(control.nodes):
        if isinstance(node, ConditionNode):
            text = node.source.fragment if node.source else node.name
            first = points.conditions[name, i]
            yield _point("true", name, text, node.source, cells[first + 1])
            yield _point("false", name, text, node.source, cells[first])


def _table(
    program: Program, index: int, table: Table, points: Points, cells: list[int]
) -> Iterator[Point]:
    first, missed = points.entries[index], cells[points.misses[index]]
    hits = cells[first : first + len(table.const_entries) + 1]
    yield _point("table", table.name, "", table.source, sum(hits) + missed)
    if table.key:
        yield _point("hit", table.name, "", table.source, sum(hits))
    default = program.actions[table.default.action].name if table.default else "no action"
    yield _point("miss", table.name, f"default {default}", table.source, missed)
    for entry, count in zip(table.const_entries, hits, strict=False):
        text = f"{_entry(table, entry)} {program.actions[entry.call.action].name}"
        yield _point("entry", table.name, text, entry.source, count)


def _entry(table: Table, entry: ConstEntry) -> str:
    return ", ".join(
        f"{key:#x}..{mask:#x}" if field.match is Match.RANGE else _masked(key, mask, field.width)
        for field, key, mask in zip(table.key, entry.keys, entry.masks, strict=True)
    )


def _action(
    index: int, action: Action, named: bool, points: Points, cells: list[int]
) -> Iterator[Point]:
    """Statements run as often as the action begins, less the jumps over them. p4c may make several
    of one in the source: they are one point."""
    flow = cells[points.actions[index]]
    if named:
        yield _point("action", action.name, "", action.source, flow)
    joins = [0] * (len(action.statements) + 1)
    for k, statement in enumerate(action.statements):
        if isinstance(statement.operation, Jump | JumpIfZero) and (index, k) in points.jumps:
            joins[statement.operation.target] += cells[points.jumps[index, k]]
    counts: dict[Source, int] = {}
    for k, statement in enumerate(action.statements):
        flow += joins[k]
        source, operation = statement.source, statement.operation
        if source is not None and not isinstance(operation, Jump):
            counts[source] = max(flow, counts.get(source, 0))
        if isinstance(operation, JumpIfZero):
            jumped = cells[points.jumps[index, k]]
            # of `a ? b : c` p4c gives the values' places alone
            source = source or next((s.source for s in action.statements[k:] if s.source), None)
            text = source.fragment if source else f"condition {k}"
            yield _point("true", action.name, text, source, flow - jumped)
            yield _point("false", action.name, text, source, jumped)
            flow -= jumped
        elif isinstance(operation, Jump):
            forward = operation.target > k
            joins[operation.target] += flow if forward else 0
            flow = 0
    for source, count in counts.items():
        yield _point("statement", action.name, source.fragment, source, count)
