"""Compares two pages of results: python same_results.py BEFORE.md AFTER.md. Prints the rows that
differ."""

import sys
from collections.abc import Iterator
from pathlib import Path

_COLUMNS = "| claim | what | paper | theory | measured | unit | verdict |"


def rows(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Of all checks: figure, and the row's cells."""
    figure, inside = "", False
    for line in text.splitlines():
        if line.startswith("## "):
            figure = line
        inside = line == _COLUMNS or (inside and line.startswith("|"))
        if inside and line != _COLUMNS and not line.startswith("| ---"):
            yield figure, tuple(cell.strip() for cell in line.strip("|").split("|"))


def main(before: str, after: str) -> int:
    old, new = (list(rows(Path(path).read_text(encoding="utf-8"))) for path in (before, after))
    for row in old:
        if row not in new:
            print("gone:", *row)
    for row in new:
        if row not in old:
            print("new: ", *row)
    print(f"{len(old)} rows, {'equal' if old == new else 'different'}")
    return int(old != new)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
