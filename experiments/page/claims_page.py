"""docs/claims.md names each claim's check: tests, figures with their verdicts, a choice, or the
reason why there is none yet. The command that writes the figures' results writes the verdicts;
docs/results.md begins with the claims' counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pcn.experiments.define.checks import VERDICTS

NOT_YET = "not yet: "
_ROW = re.compile(
    r"^\| (?P<id>\d+\.\d+) \|.*\| (?P<kind>[^|]+) \| (?P<checked>[^|]*) \|$", re.MULTILINE
)
_PAPER = re.compile(r"^## (\d+) (.+?) \(", re.MULTILINE)
_TEST = re.compile(r"`([\w./-]+\.py)::(\w+)`")
_FIGURE = re.compile(r"\[([\w-]+)\]\(results\.md[^)]*\)(?:: [^;|]*\w)?")
_CHOICE = re.compile(r"\]\((choices\.md#[\w-]+)\)")

Verdicts = Mapping[str, Mapping[str, Counter[str]]]
"""By figure and claim: how many rows have which verdict."""


@dataclass(frozen=True)
class Claim:
    """A row of docs/claims.md, and the addresses in its last column."""

    id: str
    kind: str
    checked: str

    @property
    def paper(self) -> int:
        return int(self.id.partition(".")[0])

    @property
    def tests(self) -> list[tuple[str, str]]:
        """(file, name of a function or class)."""
        return [(match[1], match[2]) for match in _TEST.finditer(self.checked)]

    @property
    def figures(self) -> list[str]:
        return [match[1] for match in _FIGURE.finditer(self.checked)]

    @property
    def choices(self) -> list[str]:
        return [match[1] for match in _CHOICE.finditer(self.checked)]

    @property
    def missing(self) -> str:
        """Why it isn't checked yet; empty if it is."""
        return self.checked.removeprefix(NOT_YET) if self.checked.startswith(NOT_YET) else ""


def claims(text: str) -> list[Claim]:
    """Returns the rows of docs/claims.md."""
    return [
        Claim(match["id"], match["kind"].strip(), match["checked"].strip())
        for match in _ROW.finditer(text)
    ]


def addressed(text: str, verdicts: Verdicts) -> str:
    """Returns docs/claims.md with the figures' present verdicts. Figures without results stay as
    they are."""

    def figure(match: re.Match[str], claim: str) -> str:
        name = match[1]
        if name not in verdicts:
            return match[0]
        counts = verdicts[name].get(claim, Counter())
        summary = ", ".join(
            f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]
        )
        return f"[{name}](results.md#{name}){': ' if summary else ''}{summary}"

    def row(match: re.Match[str]) -> str:
        line, start = match[0], match.start("checked") - match.start()
        return line[:start] + _FIGURE.sub(
            lambda figure_match: figure(figure_match, match["id"]), line[start:]
        )

    return _ROW.sub(row, text)


def table(text: str, verdicts: Verdicts) -> str:
    """Counts the claims of each paper and kind by their check, and the verdicts of the figures'
    rows."""
    head = ("paper", "kind", "claims", "tests", "figures", "choices", "not yet", *VERDICTS)
    titles = {int(number): title for number, title in _PAPER.findall(text)}
    lines = [f"| {' | '.join(head)} |", f"| --- | --- |{' --: |' * (len(head) - 2)}"]
    groups: dict[tuple[int, str], list[Claim]] = {}
    for claim in claims(text):
        groups.setdefault((claim.paper, claim.kind[0]), []).append(claim)
    for (paper, kind), members in sorted(
        groups.items(), key=lambda group: (group[0][0], "ASPX-".index(group[0][1]))
    ):
        lines.append(
            f"| {titles[paper]} | {kind} | {' | '.join(map(str, _counts(members, verdicts)))} |"
        )
    lines.append(f"| all | | {' | '.join(map(str, _counts(claims(text), verdicts)))} |")
    return "\n".join(lines)


def _counts(members: Sequence[Claim], verdicts: Verdicts) -> list[int]:
    rows: Counter[str] = Counter()
    for claim in members:
        for figure in verdicts.values():
            rows += figure.get(claim.id, Counter())
    ways = [
        sum(bool(getattr(claim, way)) for claim in members)
        for way in ("tests", "figures", "choices", "missing")
    ]
    return [len(members), *ways, *(rows[verdict] for verdict in VERDICTS)]
