"""The source of covered programs, where it is there: its text, and the lines of parser states,
which p4c's JSON doesn't have."""

from __future__ import annotations

import errno
import posixpath
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from pcn.base import inputs

KINDS: Final = (".p4", ".p4inc", ".h")
"""Of files that are read: their names come from a program's JSON, which a stranger may have
written."""
MOST_BYTES: Final = 4 << 20
_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE)
MOST_INCLUDES: Final = 1000
# What isn't closed goes to the end: it would be looked at from each of its places otherwise.
_HIDDEN: Final = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:[^"\\\n]|\\.)*"?|^[ \t]*#[^\n]*', re.MULTILINE | re.DOTALL
)
_STATE: Final = re.compile(r"\bstate\s+(\w+)\s*\{")
_WORDS: Final = re.compile(r"[(){}\[\];:]|\bselect\b|\btransition\b")
_BLANK: Final = re.compile(r"\s*")


class StateLines(NamedTuple):
    """Where a parser state stands: its first line, the line of each statement before its
    transition, and by next state the lines of the cases of its `select`, or of the transition
    alone."""

    line: int
    statements: list[int]
    cases: dict[str, list[int]]


class SourceFiles:
    """Files by the names that a program's JSON has of them, which are relative to where p4c ran:
    found from `roots`, and from the folders above them."""

    def __init__(self, roots: Iterable[Path]) -> None:
        folders = [Path.cwd()]
        for root in roots:
            place = root.resolve()
            folders += [place, *place.parents]
        self._folders = list(dict.fromkeys(folders))
        self._texts: dict[str, str | None] = {}
        self._paths: dict[str, Path] = {}
        self._states: dict[str, dict[str, list[StateLines]]] = {}

    def text(self, name: str) -> str | None:
        """Returns a file's text; None: it is missing, or is no source of P4."""
        if name not in self._texts:
            self._texts[name] = self._read(name)
        return self._texts[name]

    def path(self, name: str) -> Path | None:
        """Returns where a file is; None as of `text`."""
        return self._paths.get(name) if self.text(name) is not None else None

    def with_includes(self, names: Sequence[str]) -> list[str]:
        """Returns these files and those that they include by "name", as far as they are there, each
        once. Includes are followed up to `MOST_INCLUDES`, of which each is looked for in all
        folders."""
        files = dict.fromkeys(names)
        pending = deque(files)
        while pending:
            name = pending.popleft()
            beside = posixpath.dirname(name)
            for included in _INCLUDE.findall(self.text(name) or ""):
                path = posixpath.normpath(posixpath.join(beside, included))
                if path not in files and len(files) < len(names) + MOST_INCLUDES:
                    files[path] = None
                    pending.append(path)
        return [name for name in files if self.text(name) is not None]

    def states(self, name: str) -> dict[str, list[StateLines]]:
        """Returns the parser states of a file, by name."""
        if name not in self._states:
            self._states[name] = _states(self.text(name) or "")
        return self._states[name]

    def _read(self, name: str) -> str | None:
        place = Path(name)
        if place.suffix not in KINDS or "\0" in name:
            return None
        for folder in self._folders:
            try:
                content = inputs.read_bytes(folder / place, MOST_BYTES)
            except OSError as error:
                if error.errno == errno.EFBIG:
                    return None
                continue
            self._paths[name] = (folder / place).resolve()
            text = content.decode("utf-8", "replace")
            return text.replace("\r\n", "\n").replace("\r", "\n")
        return None


def _states(text: str) -> dict[str, list[StateLines]]:
    # what isn't code becomes blanks, so that places stay
    code = _HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    ends = [match.end() for match in re.finditer("\n", code)]
    heads = [*_STATE.finditer(code)]
    states: dict[str, list[StateLines]] = {}
    for head, following in zip_longest(heads, heads[1:]):
        # a state has none inside
        end = len(code) if following is None else following.start()
        states.setdefault(head[1], []).append(_state(code, head, end, ends))
    return states


def _state(code: str, head: re.Match[str], end: int, ends: Sequence[int]) -> StateLines:
    """Reads statements up to the state's closing brace, or up to `end`: those of a nested block are
    its own, and a condition has no semicolon. `ends`: of the lines."""
    statements, cases = [], dict[str, list[int]]()
    depth, selecting, start = 0, 0, head.end()

    def line(place: int) -> int:
        """Returns the line of what begins at a place, behind blanks."""
        blank = _BLANK.match(code, place)
        return bisect_right(ends, blank.end() if blank else place) + 1

    transition = 0
    for word in _WORDS.finditer(code, head.end(), end):
        match word[0]:
            case "select":
                selecting = 1
            case "transition":
                transition = line(word.start())
            case "(" | "[":
                depth += 1
            case ")" | "]":
                depth -= 1
            case "{":
                if selecting == 1 and depth == 0:
                    selecting = 2
                start = word.end()
            case "}":
                if selecting != 2:
                    break
                selecting = 0
                start = word.end()
            case ";" if depth == 0:
                if selecting == 2 or transition:
                    # `KEY: NAME`, or `transition NAME`
                    target = re.split(r"[:\s]+", code[start : word.start()].strip())[-1]
                    cases.setdefault(target, []).append(line(start))
                else:
                    statements.append(line(start))
                start = word.end()
    return StateLines(line(head.start()), statements, cases)
