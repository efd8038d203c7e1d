"""Points of programs by file and line, as reports show them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from pcn.softswitch.coverage.counts import BRANCHES, Covered, Point
from pcn.softswitch.coverage.source_files import SourceFiles, StateLines

FUNCTIONS: Final = ("state", "action", "table")
_OF_OTHERS: Final = ("hit", "miss", "action")
"""Kinds whose lines others count: a table's, an action's statements."""
_ARCHITECTURE: Final = ("core.p4", "v1model.p4")


@dataclass
class File:
    """A source file. `lines`: how often each ran; `branches`: by line and branch, the
    sides with their counts; `functions`: by line and name, states, actions and tables."""

    name: str
    lines: dict[int, int] = field(default_factory=dict)
    branches: dict[tuple[int, str], dict[str, int]] = field(default_factory=dict)
    functions: dict[tuple[int, str], int] = field(default_factory=dict)

    def lines_found(self) -> tuple[int, int]:
        """Returns how many lines ran, of how many."""
        return sum(count > 0 for count in self.lines.values()), len(self.lines)

    def branches_found(self) -> tuple[int, int]:
        """Returns how many sides of branches were taken, of how many."""
        counts = [count for sides in self.branches.values() for count in sides.values()]
        return sum(count > 0 for count in counts), len(counts)

    def lines_unreached(self) -> list[int]:
        """Returns the lines that never ran."""
        return sorted(line for line, count in self.lines.items() if not count)

    def sides_not_taken(self) -> list[tuple[int, str, str]]:
        """Returns line, branch and side where one was never taken though its line ran."""
        return sorted(
            (line, plain(branch), plain(side))
            for (line, branch), sides in self.branches.items()
            for side, count in sides.items()
            if not count and any(sides.values())
        )

    def sides_by_line(self) -> dict[int, list[int]]:
        """Returns the counts of all sides of a line's branches, by line."""
        by_line: dict[int, list[int]] = {}
        for (line, _), sides in self.branches.items():
            by_line.setdefault(line, []).extend(sides.values())
        return by_line


def located(covered: Covered, sources: SourceFiles) -> list[Point]:
    """Returns the points of a program, those of its parser with the lines of the source, where it
    is there and has one state of the name."""
    names = dict.fromkeys((covered.program, *(p.file for p in covered.points if p.file)))
    places: dict[str, list[tuple[str, StateLines]]] = {}
    for file in sources.with_includes([*names]):
        for name, all_lines in sources.states(file).items():
            places.setdefault(name, []).extend((file, lines) for lines in all_lines)
    of_parser: dict[str, list[Point]] = {}
    for point in covered.points:
        if not point.file and point.kind in _PARSER and len(places.get(point.name, ())) == 1:
            of_parser.setdefault(point.name, []).append(point)
    lines_of: dict[str, Iterator[int]] = {
        name: iter(_lines(points, places[name][0][1])) for name, points in of_parser.items()
    }
    return [
        point._replace(file=places[point.name][0][0], line=next(lines_of[point.name]))
        if not point.file and point.kind in _PARSER and point.name in lines_of
        else point
        for point in covered.points
    ]


_PARSER: Final = ("state", "statement", "transition", "true", "false")


def _lines(points: Sequence[Point], place: StateLines) -> list[int]:
    """Returns the lines of a state's points: the state's, where the source has more statements or
    cases than the program, as behind #ifdef."""
    targets = Counter(_target(point) for point in points if point.kind == "transition")
    whole = len(place.statements) == sum(point.kind == "statement" for point in points)
    statement, cases, lines = -1, Counter[str](), []
    for point in points:
        line = place.line
        if point.kind == "transition":
            target = _target(point)
            of_target = place.cases.get(target, [])
            if len(of_target) == targets[target]:
                line = of_target[cases[target]]
            cases[target] += 1
        elif point.kind != "state":
            statement += point.kind == "statement"
            if whole and statement >= 0:
                line = place.statements[statement]
        lines.append(line)
    return lines


def _target(transition: Point) -> str:
    """Returns the state to which a transition leads."""
    return transition.text.rpartition(" -> ")[2]


def by_file(programs: Sequence[Covered], sources: SourceFiles) -> dict[str, File]:
    """Returns the files of programs. What p4c has copied, as an action for each table, counts
    together; of several things on a line, the most frequent one counts."""
    files: dict[str, File] = {}
    counts: dict[tuple[str, int, str], int] = {}
    for program in programs:
        points = located(program, sources)
        states = {p.name: p.line for p in points if p.kind == "state"}
        sides_of = Counter(_branch(point) for point in points if point.kind in BRANCHES)
        for point in points:
            if not point.file or PurePosixPath(point.file).name in _ARCHITECTURE:
                continue
            file = files.setdefault(point.file, File(point.file))
            if point.kind not in _OF_OTHERS:
                key = point.file, point.line, _thing(point)
                counts[key] = counts.get(key, 0) + point.packets
            if point.kind in BRANCHES and sides_of[_branch(point)] > 1:
                transition = point.kind == "transition"
                # a file of somebody else's may lack the state
                line = states.get(point.name, point.line) if transition else point.line
                place = line, _branch(point)
                side = point.text if transition else point.kind
                sides = file.branches.setdefault(place, {})
                sides[side] = sides.get(side, 0) + point.packets
            if point.kind in FUNCTIONS:
                place = point.line, _short(point.name)
                file.functions[place] = file.functions.get(place, 0) + point.packets
    for (name, line, _), count in counts.items():
        lines = files[name].lines
        lines[line] = max(count, lines.get(line, 0))
    return dict(sorted(files.items()))


def _thing(point: Point) -> str:
    """Returns what a point counts with: of a branch, its other sides; of a statement, its
    copies."""
    match point.kind:
        case "statement":
            return f"statement {point.text}"
        case "state" | "table" | "deparser":
            return f"{point.kind} {point.name}"
        case "entry" | "transition":
            return f"{point.kind} of {point.name} {point.text}"
        case _:
            return f"branch {point.text}"


def _branch(point: Point) -> str:
    """Returns what branches, of which a point is a side."""
    if point.kind == "transition":
        return f"transition of {point.name}"
    return f"table {_short(point.name)}" if point.kind in ("hit", "miss") else point.text


def _short(name: str) -> str:
    """Returns a name without the controls, which differ from instance to instance."""
    return name.rpartition(".")[2]


def total(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Returns the sums of parts and of wholes."""
    parts, wholes = zip((0, 0), *pairs, strict=True)
    return sum(parts), sum(wholes)


def plain(text: str) -> str:
    """Returns a name of a program without what would end a line of a report."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]", "?", text)
