"""Counts names that don't name what they hold, and fails where there is any.

    python lint/names.py            fails at the first vague name
    python lint/names.py FILE...    prints them, by file and line

In Python a name is bound by an assignment, a loop, a `with`, a comprehension, as an argument, a
function or a class. In C, JavaScript and templates each name counts, strings and comments aside.
The noun of the field takes the place of a vague one (`flow`, `port`, `entry`), never another empty
word. P4 isn't read: names there are names of compiled programs.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

LINT = Path(__file__).resolve().parent
ROOT = LINT.parent
VAGUE = frozenset((LINT / "names.txt").read_text(encoding="utf-8").split())
ENDS = (".py", ".c", ".h", ".js", ".j2")
PUBLISHED = (
    (r"experiments/(define/checks\.py|page/templates/parts\.html\.j2)", {"what"}),
    (r"pcn/doctor\.py", {"found"}),
    (r"hosts/algorithms/check\.py", {"kept"}),
    (
        r"hosts/csrc/(reaction|notification)_point\.h|(hosts/algorithms|examples)/.*\.c",
        {"own", "what"},
    ),
)
"""Names that docs/stability.md promises, by path: entries of summary.json and of `--json`, and what
an RP in C calls its state."""
FOREIGN = re.compile(r"\.min\.js$|(^|/)iframe-worker\.js$|^tests/test_lint_names\.py$")
"""Paths of others' code, and of the linter's own test, which has vague names."""
_ASIDE = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
_TEMPLATE = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)


def names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yields each name that a module binds, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno


def words(text: str, template: bool = False) -> Iterator[tuple[str, int]]:
    """Yields each name of C or JavaScript, or of a template's expressions, with its line."""
    if template:
        text = _only(_TEMPLATE, text)
    text = _ASIDE.sub(lambda match: _blank(match[0]), text)
    if "`" in text:
        text = _without_literals(text)
    for number, line in enumerate(text.splitlines(), start=1):
        for match in re.finditer(r"[A-Za-z_]\w*", line):
            yield match[0], number


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _without_literals(text: str) -> str:
    """Returns JavaScript whose template literals have their expressions alone."""
    result, inside, braces = [], [False], [0]
    for sign, before in zip(text, " " + text, strict=False):
        if sign == "`":
            if inside[-1]:
                inside.pop()
                braces.pop()
            else:
                inside.append(True)
                braces.append(0)
            sign = " "
        elif inside[-1] and before == "$" and sign == "{":
            inside.append(False)
            braces.append(0)
        elif not inside[-1]:
            braces[-1] += (sign == "{") - (sign == "}")
            if braces[-1] < 0 and len(inside) > 1:
                inside.pop()
                braces.pop()
        result.append(" " if inside[-1] and sign != "\n" else sign)
    return "".join(result)


def _only(pattern: re.Pattern[str], text: str) -> str:
    """Returns a text with all blank but what a pattern matches."""
    parts, at = [], 0
    for match in pattern.finditer(text):
        parts += [_blank(text[at : match.start()]), match[0]]
        at = match.end()
    return "".join([*parts, _blank(text[at:])])


def of_file(path: Path) -> Iterator[tuple[str, int]]:
    """Yields the names of a file, with their lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return names(ast.parse(text))
    return words(text, path.suffix == ".j2")


def vague(path: Path, listed: Sequence[tuple[str, int]] | None = None) -> list[tuple[str, int]]:
    """Returns the vague ones among a file's names, with their lines."""
    file = path.resolve()
    place = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else path.name
    return [
        (name, line)
        for name, line in (of_file(path) if listed is None else listed)
        if name.strip("_").lower() in VAGUE and not _is_published(place, name)
    ]


def _is_published(place: str, name: str) -> bool:
    return any(name in published and re.fullmatch(path, place) for path, published in PUBLISHED)


def share(paths: Iterable[Path]) -> tuple[int, Counter[str]]:
    """Returns how many names the files have, and the vague ones among them."""
    total, which = 0, Counter[str]()
    for path in paths:
        listed = [*of_file(path)]
        total += len(listed)
        which.update(name for name, _ in vague(path, listed))
    return total, which


def files() -> list[Path]:
    """Returns git's files that hold names."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [ROOT / file for file in listed if file.endswith(ENDS) and not FOREIGN.search(file)]


def main(arguments: list[str]) -> int:
    if arguments:
        for path in map(Path, arguments):
            for name, line in vague(path):
                print(f"{path}:{line}: {name}")
        return 0
    total, which = share(files())
    if not which:
        return 0
    most = ", ".join(f"{name} {times}" for name, times in which.most_common(5))
    print(
        f"{which.total()} of {total} names are vague: {most}. Write the noun of the field; "
        "`python lint/names.py FILE` prints where they are",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
