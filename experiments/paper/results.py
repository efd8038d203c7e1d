"""The results of figures as a page for the repository (docs/results.md) and one that opens offline (report.html)."""

from __future__ import annotations

import base64
import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.errors import ExperimentError
from experiments.paper import FIGURES
from experiments.paper.base import Figure
from experiments.paper.run import PICTURE, read
from experiments.report import number

_INTRODUCTION = (
    "What the paper's figures come to here: the compiled P4 program of each scheme and its host algorithms in virtual "
    "time, at line rate. `make figures` runs all of it and writes this page; no number and no verdict in its tables is "
    "typed.",
    "Met: within the band that the row names. Ordered: outside it, yet on the side of the others that the paper says, "
    "or within the wider band that the row names. Claims have the numbers of [claims.md](claims.md); what was chosen "
    "where the paper is silent stands in [choices.md](choices.md).",
)
_COLUMNS = ("claim", "what", "paper", "theory", "measured", "unit", "verdict")


@dataclass(frozen=True)
class Section:
    """A figure with the summary of its latest run."""

    figure: Figure
    summary: Mapping[str, Any]
    picture: bytes

    @property
    def runs(self) -> str:
        count = len(self.summary["runs"])
        return f"{count} runs, {self.summary['wall_s']:.0f} s of one core." if count else "No run is needed."


def sections(root: Path) -> list[Section]:
    """The figures that have been run into `root`, in the paper's order."""
    found = []
    for name, figure in FIGURES.items():
        summary = read(root / name)
        if summary is not None:
            found.append(Section(figure, summary, (root / name / PICTURE).read_bytes()))
    return found


def write_docs(root: Path, docs: Path) -> None:
    """docs/results.md and its pictures, docs/figures/*.png, of all figures that have been run into `root`. Those that
    haven't stay as they are there."""
    pictures = docs / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    made, page = sections(root), docs / "results.md"
    text = markdown(made, page.read_text(encoding="utf-8") if page.exists() else "")
    for section in made:
        (pictures / f"{section.figure.name}.png").write_bytes(section.picture)
    whole = page.with_suffix(".new")
    whole.write_text(text, encoding="utf-8")
    whole.replace(page)  # whoever ends this meanwhile leaves the page as it was


def markdown(made: Sequence[Section], before: str = "") -> str:
    """The page; of figures that aren't in `made` as it was `before`."""
    entries = _entries(before) | {_heading(section.figure): _entry(section) for section in made}
    kept = [entries[heading] for heading in map(_heading, FIGURES.values()) if heading in entries]
    head = ["# Results", *_INTRODUCTION]
    table = ["| figure | met | ordered | not met | not comparable |", "| --- | --: | --: | --: | --: |"]
    parts = [*head, "\n".join([*table, *(row for row, _ in kept)]), *(body for _, body in kept)]
    return "\n\n".join(parts) + "\n"


def _entry(section: Section) -> tuple[str, str]:
    """A figure's row in the table on top, and its section."""
    figure, checks = section.figure, section.summary["checks"]
    counts = Counter(check["verdict"] for check in checks)
    numbers = " | ".join(str(counts[verdict]) for verdict in ("met", "ordered", "not met", "not comparable"))
    picture = f"![{figure.title}](figures/{figure.name}.png)"
    table = [f"| {' | '.join(_COLUMNS)} |", "| --- | --- | --: | --: | --: | --- | --- |"]
    table += [f"| {' | '.join(cell.replace('|', '/') for cell in _cells(check))} |" for check in checks]
    body = "\n\n".join([f"## {_heading(figure)}", figure.about, section.runs, picture, "\n".join(table)])
    return f"| [{figure.source}](#{_anchor(figure)}): {figure.title} | {numbers} |", body


def _entries(text: str) -> dict[str, tuple[str, str]]:
    """Rows and sections of a page, by the section's heading. Raises ExperimentError where they don't match."""
    head, *bodies = re.split(r"\n+(?=## )", text.rstrip("\n"))
    rows = [line for line in head.splitlines() if line.startswith("| [")]
    if len(rows) != len(bodies):
        raise ExperimentError(
            f"results.md names {len(rows)} figures in its table and has {len(bodies)} sections: put back the one that "
            "was written, or delete it. What was run is kept, and goes into the page with the next figure"
        )
    return {body.partition("\n")[0].removeprefix("## "): (row, body) for row, body in zip(rows, bodies, strict=True)}


def _heading(figure: Figure) -> str:
    return f"{figure.title} ({figure.source})"


def _anchor(figure: Figure) -> str:
    """As GitHub makes it of a heading."""
    kept = (letter for letter in _heading(figure).lower() if letter.isalnum() or letter in " -_")
    return "".join(kept).replace(" ", "-")


def _cells(check: Mapping[str, Any]) -> list[str]:
    return [number(check[name]) if name in ("paper", "theory", "measured") else check[name] for name in _COLUMNS]


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; color: #16202b; }
table { border-collapse: collapse; font-size: 0.9rem; } td, th { padding: 0.2rem 0.6rem; text-align: left; }
td:nth-child(n+3):nth-child(-n+5) { text-align: right; } tr { border-bottom: 1px solid #e3e8ee; }
img { max-width: 100%; } .met { color: #00724f; } .not-met { color: #b23a00; font-weight: 600; }
.ordered { color: #8a6100; } .not-comparable { color: #5a6673; }
"""


def page(made: Sequence[Section]) -> str:
    """report.html: everything in one file."""
    parts = [f"<h1>Results</h1>{''.join(f'<p>{html.escape(text)}</p>' for text in _INTRODUCTION)}"]
    for section in made:
        figure = section.figure
        picture = base64.b64encode(section.picture).decode()
        rows = "".join(
            f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in _cells(check)[:-1])}"
            f'<td class="{check["verdict"].replace(" ", "-")}">{check["verdict"]}</td></tr>'
            for check in section.summary["checks"]
        )
        head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
        parts.append(
            f'<h2 id="{figure.name}">{html.escape(_heading(figure))}</h2><p>{html.escape(figure.about)}</p>'
            f"<p>{html.escape(section.runs)}</p>"
            f'<img alt="{html.escape(figure.title)}" src="data:image/png;base64,{picture}">'
            f"<table><tr>{head}</tr>{rows}</table>"
        )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>PCN Lab: results</title><style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )
