"""Files of coverage: the counts as JSON, which merge, and the reports of them."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from pcn.base import inputs, owner_only
from pcn.softswitch.coverage import cobertura, lcov, page
from pcn.softswitch.coverage.counts import KINDS, Covered, Point, merged
from pcn.softswitch.coverage.lines import by_file
from pcn.softswitch.coverage.source_files import SourceFiles

FORMAT: Final = "pcn-coverage-1"
MOST_BYTES: Final = 64 << 20
"""Of a file of counts: that of examples/router has 6 KB."""
NAMES: Final = {
    ".json": "coverage.json",
    ".info": "coverage.info",
    ".xml": "coverage.xml",
    ".html": "coverage.html",
}
"""By the ending that chooses a file's kind: its name in a folder of all of them."""


class CoverageError(Exception):
    """A file of coverage that can't be read or written, in one line."""


def check(place: Path) -> None:
    """Checks before a run that its coverage can be written there. Raises CoverageError."""
    if place.suffix and place.suffix not in NAMES and not place.is_dir():
        raise CoverageError(
            f"{place}: a file of coverage ends in {', '.join(NAMES)}; a folder gets all of them"
        )
    folder = place.parent if place.suffix in NAMES else None
    if folder is not None and not folder.is_dir():
        raise CoverageError(f"{place}: {os.strerror(errno.ENOENT)}: make the folder first")
    if folder is not None and place.is_dir():
        raise CoverageError(f"{place}: {os.strerror(errno.EISDIR)}")


def write(place: Path, runs: Iterable[Covered], roots: Iterable[Path] = ()) -> None:
    """Writes the coverage of runs, merged: a file of the kind that its name ends in, or all kinds
    into a folder. `roots`: where the programs' sources may be. Raises CoverageError."""
    check(place)
    programs = merge(runs)
    sources = SourceFiles(roots)
    try:
        if place.suffix in NAMES:
            _write(place, _content(place.suffix, programs, sources))
            return
        owner_only.make_folder(place)
        with owner_only.held(place) as folder:
            for kind, name in NAMES.items():
                _write(folder / name, _content(kind, programs, sources))
    except OSError as error:
        raise CoverageError(f"{place}: {error.strerror}") from None
    except owner_only.NotPrivateError as error:
        raise CoverageError(error.line("name another place for the coverage")) from None


def merge(runs: Iterable[Covered]) -> list[Covered]:
    """Returns each program once, with the sums of its counts. Raises CoverageError."""
    try:
        return merged(runs)
    except ValueError as error:
        raise CoverageError(f"{error}: run them with equal versions of the switch") from None


def read(place: Path) -> list[Covered]:
    """Returns what is in a file of counts, or in that of a folder. Raises CoverageError."""
    path = place / NAMES[".json"] if place.is_dir() else place
    try:
        text = inputs.read_text(path, most=MOST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise CoverageError(f"{path}: {getattr(error, 'strerror', 'no text in UTF-8')}") from None
    try:
        return [_program(program) for program in _list(json.loads(text), "programs")]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise CoverageError(
            f"{path}: no counts of coverage, the JSON that --coverage writes"
        ) from None


def _content(kind: str, programs: Sequence[Covered], sources: SourceFiles) -> str:
    match kind:
        case ".json":
            return _json(programs)
        case ".info":
            return lcov.tracefile(by_file(programs, sources), sources)
        case ".xml":
            return cobertura.xml(by_file(programs, sources), sources)
        case _:
            return page.html(programs, sources)


def _write(path: Path, content: str) -> None:
    with os.fdopen(owner_only.output(path), "wb") as file:
        file.write(content.encode("utf-8", "replace"))


def _json(programs: Sequence[Covered]) -> str:
    """Returns the counts, a point a line."""
    parts = []
    for program in programs:
        points = ",\n".join(json.dumps(point) for point in program.points)
        head = f'{{"program": {json.dumps(program.program)}, "json_sha256": "{program.digest}"'
        parts.append(f'{head},\n"points": [\n{points}\n]}}')
    return (
        f'{{"format": "{FORMAT}", "point": {json.dumps(Point._fields)}, "programs": [\n'
        + ",\n".join(parts)
        + "\n]}\n"
    )


def _list(parsed: Any, name: str) -> list[Any]:
    if parsed["format"] != FORMAT or not isinstance(parsed[name], list):
        raise ValueError
    return parsed[name]  # type: ignore[no-any-return]


def _program(parsed: Any) -> Covered:
    name, digest, points = parsed["program"], parsed["json_sha256"], parsed["points"]
    if not (isinstance(name, str) and isinstance(digest, str) and isinstance(points, list)):
        raise ValueError
    return Covered(name, digest, tuple(_point(point) for point in points))


def _point(parsed: Any) -> Point:
    kind, name, text, file, line, count = parsed
    texts = all(isinstance(part, str) for part in (name, text, file))
    numbers = all(type(part) is int and 0 <= part < 2**64 for part in (line, count))
    if kind not in KINDS or not texts or not numbers:
        raise ValueError
    return Point(kind, name, text, file, line, count)
