"""The coverage of a network's run: what of its programs packets ran through, merged over
switches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from pcn.p4net.errors import P4NetError
from pcn.softswitch.coverage import files
from pcn.softswitch.coverage.counts import Covered


class Coverage:
    """Where the coverage of a run goes: a file of the kind that its name ends in, or a folder of
    all. `near`: files and folders beside which the programs' sources may be. Raises P4NetError."""

    def __init__(self, place: Path, near: Sequence[Path]) -> None:
        self._place = place.absolute()
        self._roots = [path if path.is_dir() else path.parent for path in near]
        try:
            files.check(place)
        except files.CoverageError as error:
            raise P4NetError(f"--coverage {error}") from None

    def write(self, runs: Iterable[Covered]) -> None:
        """Writes the report of switches' counts. Raises P4NetError."""
        try:
            files.write(self._place, runs, self._roots)
        except files.CoverageError as error:
            raise P4NetError(f"--coverage {error}") from None

    def write_from(self, counts: Path) -> None:
        """Writes the report of a file of counts. Raises P4NetError."""
        try:
            files.write(self._place, files.read(counts), self._roots)
        except files.CoverageError as error:
            raise P4NetError(f"--coverage {error}") from None
