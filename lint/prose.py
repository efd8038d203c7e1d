"""Finds words that lint/words.txt lists: in pages, docstrings, texts that the program prints, and
names of tests.

    python lint/prose.py [FILE ...]     without FILE: all of git's

A docstring of a function that returns something begins with a verb, too, and none with an order; a
property's names what it is. A message that is raised has a subject that acts. Code, in backticks or
fenced, isn't prose.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

LINT = Path(__file__).resolve().parent
ROOT = LINT.parent
# Compiler output, the licence, the record of what was, and the linter's own test, which has listed
# words.
LEFT_OUT = (
    "p4src/compiled/",
    "LICENSE",
    "CHANGELOG.md",
    "tests/test_prose.py",
    "tests/test_lint_names.py",
)
ORDERS = {
    "Add", "Bring", "Call", "Check", "Close", "Count", "Decide", "Forget", "Handle", "Make", "Read",
    "Remove", "Return", "Run", "Send", "Set", "Start", "Stop", "Take", "Wait", "Write", "Yield",
}  # fmt: skip
"""First words of a docstring that gives an order, where the house's state what a function does."""
WITH_VERBS = (
    "base/", "bench/", "controller/", "experiments/", "hosts/", "lab/", "lint/", "p4net/",
    "p4src/", "pcn/", "softswitch/", "topologies/", "virtualnet/",
)  # fmt: skip
_VERB = re.compile("[A-Z][a-z]*s")
_STANDING = re.compile(r"\bthere (?:is|are)\b")
_NO_STATEMENT = re.compile(r"(^|\.)(cached_)?property$|\b(command|group)\b")
"""Decorators of what is no statement: a property's docstring names what it is, a command's is its
help."""
_CODE = re.compile(r"```.*?```|``.*?``|`[^`\n]*`", re.DOTALL)


class Word(NamedTuple):
    """An expression of the list, and what stands instead."""

    pattern: re.Pattern[str]
    instead: str


class Finding(NamedTuple):
    """A listed word, at a line of a file."""

    file: str
    line: int
    text: str
    instead: str


def words() -> list[Word]:
    """Reads the list. Raises ValueError at a line without "->"."""
    listed = []
    for line in (LINT / "words.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            expression, arrow, instead = line.partition(" -> ")
            if not arrow:
                raise ValueError(f"words.txt: {line!r}: no ' -> '")
            listed.append(Word(re.compile(expression, re.IGNORECASE), instead))
    return listed


def prose(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yields the prose of a module: its first line's number, and the text with code blanked."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, _without_code(node.value)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.replace("_", " ")


def _without_code(text: str) -> str:
    return _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)


def verbless(name: str, nodes: Sequence[ast.AST]) -> Iterator[Finding]:
    """Yields a module's docstrings without a verb in the third person in front, of functions that
    return something, and all that give an order."""
    for node in nodes if name.startswith(WITH_VERBS) else ():
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
        if any(_NO_STATEMENT.search(decorator) for decorator in decorators):
            continue
        first = (ast.get_docstring(node) or "Returns").split()[0].rstrip(",.:;")
        returns = node.returns is not None and ast.unparse(node.returns) != "None"
        if first in ORDERS or (returns and not _VERB.fullmatch(first)):
            yield Finding(name, node.body[0].lineno, first, "a verb: Returns, Yields, ...")


def standing(name: str, nodes: Sequence[ast.AST]) -> Iterator[Finding]:
    """Yields where a module raises a message whose sentence has no subject that acts."""
    for node in nodes if name.startswith(WITH_VERBS) else ():
        for part in ast.walk(node) if isinstance(node, ast.Raise) else ():
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                for match in _STANDING.finditer(part.value):
                    yield Finding(name, part.lineno, match[0], "no X; choose from A, B")


def findings(name: str, text: str, listed: Sequence[Word]) -> list[Finding]:
    """Lists a file's findings in the order of its lines."""
    nodes = [*ast.walk(ast.parse(text))] if name.endswith(".py") else []
    findings = [*verbless(name, nodes), *standing(name, nodes)]
    for first, part in prose(nodes) if nodes else [(1, _without_code(text))]:
        for word in listed:
            for match in word.pattern.finditer(part):
                findings.append(
                    Finding(
                        name, first + part.count("\n", 0, match.start()), match[0], word.instead
                    )
                )
    return sorted(findings)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints findings. 0: there are none."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="files to read (default: all of git's)"
    )
    listed = words()
    findings = [
        finding
        for name in parser.parse_args(arguments).files or _tracked()
        for finding in _of_file(name, listed)
    ]
    for finding in findings:
        print(f"{finding.file}:{finding.line}: {finding.text!r}: {finding.instead}")
    return int(bool(findings))


def _tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "*.md", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in listed.stdout.splitlines() if not name.startswith(LEFT_OUT)]


def _of_file(name: str, listed: Sequence[Word]) -> list[Finding]:
    return findings(name, (ROOT / name).read_text(encoding="utf-8"), listed)


if __name__ == "__main__":
    sys.exit(main())
