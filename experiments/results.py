"""The results of figures as a page for the repository (docs/results.md) and one that opens offline (report.html)."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from experiments.checks import Check
from experiments.documents import anchor, html
from experiments.errors import ExperimentError
from experiments.experiment import Experiment
from experiments.figures import PICTURE, read
from experiments.output import replacing
from experiments.papers import FIGURES
from experiments.report import environment, known, number, row, script

_WHAT = (
    "What the paper's figures come to here: the compiled P4 program of each scheme and its host algorithms in virtual "
    "time, at line rate."
)
_READING = (
    "Met: within the band that the row names. Ordered: outside it, yet on the side of the others that the paper says, "
    "or within the wider band that the row names. Claims have the numbers of [claims.md](claims.md); what was chosen "
    "where the paper is silent stands in [choices.md](choices.md). Where it is known why a row is off, it links to it."
)
_OF_DOCS = (
    f"{_WHAT} `make figures` runs all of it and writes this page; no number and no verdict in its tables is typed."
)
_OF_PAGE = (
    f"{_WHAT} `pcn figure NAME` runs one and puts it on this page, which has all that were run; `pcn figure NAME "
    "--redraw` judges and draws again what was run."
)
VERDICTS = ("met", "ordered", "not met", "not comparable")
_COLUMNS = ("claim", "what", "paper", "theory", "measured", "unit", "verdict")


@dataclass(frozen=True)
class Section:
    """A figure with the summary of its latest run."""

    figure: Experiment
    summary: Mapping[str, Any]
    picture: bytes | None
    """None: it couldn't be drawn, or had no room."""

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
            picture = root / name / PICTURE
            found.append(Section(figure, summary, picture.read_bytes() if picture.exists() else None))
    return found


def write_docs(root: Path, docs: Path) -> None:
    """docs/results.md and its pictures, docs/figures/*.png, of all figures that have been run into `root`. Those that
    haven't stay as they are there."""
    pictures = docs / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    made, page = sections(root), docs / "results.md"
    text = markdown(made, page.read_text(encoding="utf-8") if page.exists() else "")
    for section in made:
        if section.picture is not None:
            with replacing(pictures / f"{section.figure.name}.png") as path:
                path.write_bytes(section.picture)
    with replacing(page) as path:
        path.write_text(text, encoding="utf-8")


def markdown(made: Sequence[Section], before: str = "") -> str:
    """The page; of figures that aren't in `made` as it was `before`."""
    entries = _entries(before) | {_heading(section.figure): _entry(section) for section in made}
    kept = [entries[heading] for heading in map(_heading, FIGURES.values()) if heading in entries]
    head = ["# Results", _OF_DOCS, _READING]
    table = ["| figure | met | ordered | not met | not comparable |", "| --- | --: | --: | --: | --: |"]
    parts = [*head, "\n".join([*table, *(row for row, _ in kept)]), *(body for _, body in kept)]
    return "\n\n".join(parts) + "\n"


def _entry(section: Section) -> tuple[str, str]:
    """A figure's row in the table on top, and its section."""
    figure, checks = section.figure, section.summary["checks"]
    counts = Counter(check["verdict"] for check in checks)
    numbers = " | ".join(str(counts[verdict]) for verdict in VERDICTS)
    picture = f"![{figure.title}](figures/{figure.name}.png)"
    table = [f"| {' | '.join(_COLUMNS)} |", "| --- | --- | --: | --: | --: | --- | --- |"]
    table += [f"| {' | '.join(cell.replace('|', '/') for cell in _linked(Check(**check)))} |" for check in checks]
    body = "\n\n".join(
        [
            f"## {_heading(figure)}",
            figure.about,
            *section.summary.get("story", ()),
            section.runs,
            picture,
            "\n".join(table),
        ]
    )
    return f"| [{figure.source}](#{anchor(_heading(figure))}): {figure.title} | {numbers} |", body


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


def _heading(figure: Experiment) -> str:
    return f"{figure.title} ({figure.source})"


def _linked(check: Check) -> list[str]:
    """A row's cells; the verdict with a link to what is known about it."""
    numbers = [number(value) for value in (check.paper, check.theory, check.measured)]
    link = f", [known]({check.explained})" if check.explained else ""
    return [check.claim, check.what, *numbers, check.unit, check.verdict + link]


def page(made: Sequence[Section]) -> str:
    """report.html: everything in one file, with the look of a run's report."""
    checks = {section.figure.name: [Check(**check) for check in section.summary["checks"]] for section in made}
    parts = [
        {
            "name": section.figure.name,
            "title": section.figure.title,
            "source": section.figure.source,
            "about": Markup(html(section.figure.about)),
            "story": [Markup(html(text)) for text in section.summary.get("story", ())],
            "runs": section.runs,
            "picture": base64.b64encode(section.picture).decode() if section.picture else "",
            "counts": Counter(check.verdict for check in checks[section.figure.name]),
            "checks": [row(check) for check in checks[section.figure.name]],
        }
        for section in made
    ]
    return (
        environment()
        .get_template("figures.html.j2")
        .render(
            introduction=[Markup(html(text)) for text in (_OF_PAGE, _READING)],
            verdicts=VERDICTS,
            sections=parts,
            known=known(check for own in checks.values() for check in own),
            script=script("known.js"),
        )
    )
