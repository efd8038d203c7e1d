"""Counts names that don't name what they hold, and fails where they are more than LIMIT allows.

    python lint/names.py            fails where the share is above LIMIT
    python lint/names.py FILE...    prints them, by file and line

A name is bound by an assignment, a loop, a `with`, a comprehension, as an argument, a function or a
class. The noun of the field takes the place of a vague one (`flow`, `port`, `entry`), never another
empty word.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

LINT = Path(__file__).resolve().parent
ROOT = LINT.parent
VAGUE = frozenset((LINT / "names.txt").read_text(encoding="utf-8").split())
LIMIT = 0.005
"""The largest share of vague names."""


def names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yields each name that a module binds, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno


def share(paths: Iterable[Path]) -> tuple[int, int, Counter[str]]:
    """Returns how many names the files bind, how many of them are vague, and which."""
    total, vague = 0, Counter[str]()
    for path in paths:
        for name, _ in names(ast.parse(path.read_text(encoding="utf-8"))):
            total += 1
            vague[name] += name.strip("_") in VAGUE
    vague = +vague
    return total, vague.total(), vague


def main(arguments: list[str]) -> int:
    if arguments:
        for path in map(Path, arguments):
            for name, line in names(ast.parse(path.read_text(encoding="utf-8"))):
                if name.strip("_") in VAGUE:
                    print(f"{path}:{line}: {name}")
        return 0
    files = subprocess.run(
        ["git", "ls-files", "--", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    total, vague, which = share(ROOT / file for file in files)
    if vague <= LIMIT * total:
        return 0
    most = ", ".join(f"{name} {count}" for name, count in which.most_common(5))
    print(
        f"{vague} of {total} names are vague ({vague / total:.2%}, at most {LIMIT:.2%}): {most}. "
        "Write the noun of the field; `python lint/names.py FILE` prints where they are",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
