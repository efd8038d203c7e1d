"""Small wrong changes to a source file: which there are."""

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

COMMON = {
    " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ",
    " + ": " - ", " - ": " + ", " * ": " / ", " / ": " * ", " += ": " -= ", " -= ": " += ",
    " | ": " & ", " & ": " | ", " << ": " >> ", " >> ": " << ", " % ": " * ",
}  # fmt: skip
C = COMMON | {
    " && ": " || ",
    " || ": " && ",
    "++": "--",
    "--": "++",
    "true": "false",
    "false": "true",
    "!": "",
}
PYTHON = COMMON | {
    (
        " and "
    ): (
        " or "
    ), (
        " or "
    ): " and ", "True": "False", "False": "True", " not ": " ", "min(": "max(", "max(": "min(",
}  # fmt: skip
_C_HIDDEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#[^\n]*',
    re.DOTALL | re.MULTILINE,
)
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_STATEMENT = re.compile(
    r"^[ \t]+(?!return|break|continue|goto|static|struct|const|enum|union|case|raise|assert"
    r"|import|from)"
    r"[\w*(][^\n{}]*$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Change:
    """Of `path`, at `offset`: `old` becomes `new`."""

    path: str
    offset: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        end = self.offset + len(self.old)
        assert text[self.offset : end] == self.old
        return text[: self.offset] + self.new + text[end:]

    def described(self, text: str) -> str:
        """virtualnet/csrc/links/pfc.c:59:23: if (in->held_bytes <= in->xoff) return; [<= -> <]"""
        start = self.offset + len(self.old) - len(self.old.lstrip())
        line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
        shown = text.splitlines()[line - 1].strip()
        return (
            f"{self.path}:{line}:{column}: {shown} [{self.old.strip() or '-'} -> "
            f"{self.new.strip() or '-'}]"
        )


def changes(path: str, text: str) -> list[Change]:
    """All of them, in order of their places."""
    python = path.endswith(".py")
    code = (
        _without_strings(text)
        if python
        else _C_HIDDEN.sub(lambda match: _blank(match.group()), text)
    )
    mutations = [*_operators(path, code, PYTHON if python else C), *_numbers(path, code)]
    for start, end in _statements(code, python):
        mutations.append(Change(path, start, text[start:end], "pass" if python else ";"))
    return sorted(mutations, key=lambda change: (change.offset, change.new))


def _operators(path: str, code: str, table: dict[str, str]) -> Iterator[Change]:
    for old, new in table.items():
        word = old.strip().isalpha() and old == old.strip()
        pattern = rf"\b{old}\b" if word else re.escape(old) + (r"(?!=)" if old == "!" else "")
        yield from (Change(path, match.start(), old, new) for match in re.finditer(pattern, code))


def _numbers(path: str, code: str) -> Iterator[Change]:
    for match in _NUMBER.finditer(code):
        number = int(match.group())
        yield Change(path, match.start(), match.group(), str(number + 1))
        if number == 1:
            yield Change(path, match.start(), "1", "0")


def _statements(code: str, python: bool) -> Iterator[tuple[int, int]]:
    """Assignments and calls of one line, from where to where."""
    for match in _STATEMENT.finditer(code):
        text = match.group().strip(" \t\0")
        whole = text.count("(") == text.count(")") and (
            "=" in text or text.endswith((")", ");", "++;", "--;"))
        )
        if not whole or text.endswith(("\\", ",", ":")) or (not python and not text.endswith(";")):
            continue
        start = match.start() + len(match.group()) - len(match.group().lstrip())
        yield start, start + len(text)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", "\0", text)


def _without_strings(text: str) -> str:
    """NULs for strings and comments."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    hidden = text
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            begin, end = (starts[row - 1] + column for row, column in (token.start, token.end))
            hidden = hidden[:begin] + _blank(hidden[begin:end]) + hidden[end:]
    return hidden
