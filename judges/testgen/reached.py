"""What of a program the switch that plays its tests runs through: its own coverage, beside
p4testgen's."""

from pathlib import Path

from pcn.softswitch.coverage.counts import Counts
from pcn.softswitch.coverage.lines import by_file, total
from pcn.softswitch.coverage.source_files import SourceFiles


def lines_reached(counts: Counts, root: Path) -> tuple[int, int]:
    """Returns how many lines of the covered programs ran, of how many; `root` has the sources."""
    files = by_file(counts.covered(), SourceFiles([root]))
    return total(file.lines_found() for file in files.values())
