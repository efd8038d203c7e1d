"""Counts the words and signs of hand-written code: `python lint/code_size.py [COMMIT ...]`.

Of Python, C, P4 and JavaScript in a commit (default: HEAD), without strings, comments and what a
program wrote; C that Python writes is code, though it stands in strings. With several commits, each
as a share of the first. Lines, blanks and names' lengths don't matter.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENDS = (".py", ".c", ".h", ".p4", ".js")
WRITTEN = re.compile(r"(^|/)(generated|compiled/tna|corpus)/|\.min\.js$|_pb2\.py$")
"""Paths of what a program wrote."""
WRITES_C = ("softswitch/codegen/",)
"""Python whose strings are C."""
TESTS = re.compile(r"^(tests|judges|ptf-tests|bench)/|(^|/)test_\w+\.py$|(^|/)conftest\.py$")
_C = re.compile(
    r"""(?P<aside>//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)"""
    r"|(?P<word>\w+(?:\.\d+\w*)?)"
    r"|(?P<sign><<=|>>=|\.\.\.|&&&|=>|->|\+\+|--|<<|>>|&&|\|\||::|[-+*/%&|^!=<>]=|[^\w\s])",
    re.DOTALL,
)
_KINDS = (tokenize.NAME, tokenize.NUMBER, tokenize.OP)


def of_c(text: str) -> int:
    """Returns the words and signs of C, P4 or JavaScript."""
    return sum(match["aside"] is None for match in _C.finditer(text))


def of_python(text: str, writes_c: bool = False) -> int:
    """Returns the words and signs of Python; `writes_c`: with those of C in its strings."""
    count, statement = 0, True
    f_strings = 0  # open ones: up to Python 3.11 each is one token
    starts = {getattr(tokenize, f"{letter}STRING_START", -1) for letter in "FT"}
    middles = {getattr(tokenize, f"{letter}STRING_MIDDLE", -1) for letter in "FT"}
    ends = {getattr(tokenize, f"{letter}STRING_END", -1) for letter in "FT"}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        f_strings += (token.type in starts) - (token.type in ends)
        if token.type in _KINDS and (writes_c or not f_strings):
            count += 1
        elif token.type in (tokenize.STRING, *middles) and writes_c and not statement:
            count += of_c(token.string.strip("rRbBfF").strip("\"'"))
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            # a string that begins a statement is a docstring
            statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return count


def files(commit: str) -> Iterator[tuple[str, str]]:
    """Yields the hand-written files of a commit with their texts."""
    command = ["git", "archive", commit]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        for member in archive:
            ours = member.name.endswith(ENDS) and not WRITTEN.search(member.name)
            if ours and member.isfile() and (file := archive.extractfile(member)) is not None:
                yield member.name, file.read().decode()


def count(commit: str) -> Counter[str]:
    """Returns the words and signs of a commit, of its product and of its tests."""
    counts = Counter[str]()
    for name, text in files(commit):
        python = name.endswith(".py")
        words = of_python(text, name.startswith(WRITES_C)) if python else of_c(text)
        counts["tests" if TESTS.search(name) else "product"] += words
    return counts


def main(commits: list[str]) -> None:
    first = 0
    for commit in commits or ["HEAD"]:
        counts = count(commit)
        total = counts.total()
        first = first or total
        print(
            f"{commit}: {total:,} words and signs (product {counts['product']:,}, tests "
            f"{counts['tests']:,}), {total / first:.3f} of the first"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
