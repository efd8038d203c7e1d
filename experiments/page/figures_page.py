"""The results of figures: an index for the repository (docs/results.md), a page a figure
(docs/results), and one of all that opens offline (report.html)."""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from pcn.base import inputs, packed
from pcn.experiments.data.failures import Failures
from pcn.experiments.define.charts import Chart
from pcn.experiments.define.checks import VERDICTS, Check
from pcn.experiments.define.experiment import Experiment
from pcn.experiments.define.outcomes import Outcomes
from pcn.experiments.define.tables import Table
from pcn.experiments.page import claims_page, plots
from pcn.experiments.page.check_rows import known, number, row
from pcn.experiments.page.environment import environment, script
from pcn.experiments.papers import FIGURES, PAPERS
from pcn.experiments.results.atomic_folder import held, replacing
from pcn.experiments.results.documents import html
from pcn.experiments.sweep.figures import PICTURE, read, stored_outcomes

_ABOUT = (
    "What the paper's figures come to here: the compiled P4 program of each scheme and its host "
    "algorithms in virtual time, at line rate."
)
_READING = (
    "Met: within the band that the row names. Trend: outside it, yet on the paper's side of the "
    "others, or within the wider band that the row names. Claims have the numbers of "
    "[claims.md](claims.md); what was chosen where the paper is silent stands in "
    "[choices.md](choices.md). Where it is known why a row is off, it links to it."
)
_OF_DOCS = (
    f"{_ABOUT} `make figures` runs all of it and writes this page, and for each figure a page with "
    "its rows, tables and picture, which the site of `make docs` has. Git has the numbers that "
    "these pages are made of (docs/figures), and the pictures that other pages explain. No number "
    "and no verdict is typed."
)
_OF_PAGE = (
    f"{_ABOUT} `pcn figure NAME` runs one and puts it on this page, which has all that were run; "
    "`pcn figure NAME --redraw` judges and draws again what was run."
)
_CLAIMS = (
    "How many of the claims of [claims.md](claims.md) are checked, by paper and kind, its first "
    "(A: closed form or deterministic, S: simulated or measured, P: a parameter, X: the text "
    "disagrees with itself, -: context alone): in tests, in figures, by a choice, which may be "
    "several, or not yet. Then the figures' rows about them."
)
_LINE = 120
NUMBERS = "figures/numbers.tar.xz"
"""Of docs: NAME.json with each figure's numbers, which the pages print."""
_PNG = b"\x89PNG\r\n\x1a\n"
_COLUMNS = ("claim", "what", "paper", "theory", "measured", "unit", "verdict")


@dataclass(frozen=True)
class Section:
    """A figure with the summary of its latest run."""

    figure: Experiment
    summary: Mapping[str, Any]
    picture: bytes | None
    """None: it couldn't be drawn, or had no room."""
    charts: Sequence[Chart] = ()
    missing: str = ""
    """Why there are no charts."""

    @property
    def count(self) -> int:
        """Of its runs."""
        runs = self.summary["runs"]
        return runs if isinstance(runs, int) else len(runs)

    @property
    def runs(self) -> str:
        """How many, and how long they took, by the clock: beside other work it is longer."""
        if not self.count:
            return "No run is needed."
        return (
            f"{self.count} run{'s' * (self.count > 1)}, {self.summary['wall_s']:.0f} s one after "
            "the other."
        )

    @property
    def heading(self) -> str:
        return f"{self.figure.title} ({self.figure.source})"

    @property
    def tables(self) -> list[Table]:
        return [Table(**table) for table in self.summary.get("tables", ())]

    @property
    def verdicts(self) -> dict[str, Counter[str]]:
        """By claim."""
        by_claim: dict[str, Counter[str]] = {}
        for check in self.summary["checks"]:
            by_claim.setdefault(check["claim"], Counter())[check["verdict"]] += 1
        return by_claim


def sections(root: Path) -> list[Section]:
    """Returns the figures that have been run into `root`, in the paper's order."""
    run_sections = []
    for name in FIGURES:
        summary = read(root / name)
        if summary is not None:
            figure = FIGURES[name]
            charts, missing = _charts(figure, root / name)
            run_sections.append(Section(figure, summary, _picture(root / name), charts, missing))
    return run_sections


def _charts(figure: Experiment, place: Path) -> tuple[Sequence[Chart], str]:
    """Returns a figure's charts of the runs that are kept there, or why there are none."""
    failures = Failures()
    charts = failures.attempt("charts", lambda: figure.charts(Outcomes(stored_outcomes(place))))
    return charts or (), "; ".join(failures.lines())


def _picture(place: Path) -> bytes | None:
    """Returns a figure's picture, if it has one. A user who may write the folder could link any
    file there, and then read it in the page: so it has to be a picture, and no link."""
    try:
        with held(place) as folder, inputs.opened(folder / PICTURE, links=False) as file:
            content = file.read()
    except OSError:
        return None
    return content if content.startswith(_PNG) else None


def write_docs(root: Path, docs: Path) -> None:
    """Of all figures that have been run into `root`: docs/figures/NAME.png, and their numbers into
    NUMBERS. Then the pages of all existing figures, and their verdicts in docs/claims.md, if that
    exists."""
    figures = docs / "figures"
    with held(figures, make=True):
        pass
    numbers = _numbers(docs)
    for section in sections(root):
        name = section.figure.name
        if section.picture is not None:
            with replacing(figures / f"{name}.png") as file:
                file.write(section.picture)
        document = {**section.summary, "runs": len(section.summary["runs"])}
        text = json.dumps(document, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        numbers[f"{name}.json"] = f"{text}\n".encode()
    with replacing(docs / NUMBERS) as file:
        file.write(packed.pack(numbers))
    claims = docs / "claims.md"
    all_sections = documented(docs)
    text = ""
    if claims.exists():
        text = with_verdicts(claims.read_text(encoding="utf-8"), all_sections)
        with replacing(claims) as file:
            file.write(text.encode())
    with replacing(docs / "results.md") as file:
        file.write(index(all_sections, text).encode())
    write_pages(docs)


def write_pages(docs: Path) -> list[str]:
    """Writes the pages of docs/results, of the numbers in docs/figures; returns the figures."""
    with held(docs / "results", make=True):
        pass
    for section in (figures := documented(docs)):
        with replacing(docs / f"results/{section.figure.name}.md") as file:
            file.write(figure_page(section, docs).encode())
    return [section.figure.name for section in figures]


def documented(docs: Path) -> list[Section]:
    """Returns the figures that have numbers there."""
    numbers = _numbers(docs)
    return [
        Section(figure, json.loads(numbers[f"{name}.json"]), None)
        for name, figure in FIGURES.items()
        if f"{name}.json" in numbers
    ]


def _numbers(docs: Path) -> dict[str, bytes]:
    archive = docs / NUMBERS
    return dict(packed.members(archive)) if archive.exists() else {}


def with_verdicts(claims: str, sections: Sequence[Section]) -> str:
    """Returns docs/claims.md with the figures' verdicts."""
    return claims_page.addressed(
        claims, {section.figure.name: section.verdicts for section in sections}
    )


def index(sections: Sequence[Section], claims: str = "") -> str:
    """Returns docs/results.md of these figures, a heading each, which pages link to; `claims` is
    docs/claims.md."""
    parts = ["# Results", _wrapped(_OF_DOCS)]
    if claims:
        verdicts = {section.figure.name: section.verdicts for section in sections}
        parts += [_wrapped(_CLAIMS), claims_page.table(claims, verdicts)]
    runs, wall_s = (
        sum(section.count for section in sections),
        sum(section.summary["wall_s"] for section in sections),
    )
    took = f"{wall_s / 60:.0f} minutes one after the other, some of them beside other work"
    parts.append(_wrapped(f"{_READING} All together: {runs:,} runs, {took}."))
    papers = {name: paper.title for paper in PAPERS for name in paper.figures}
    for title, figures in groupby(
        sections, lambda section: papers.get(section.figure.name, "Other packages")
    ):
        parts += [f"## {title}", *map(_entry, figures)]
    return "\n\n".join(parts) + "\n"


def _entry(section: Section) -> str:
    """Returns a figure's heading in the index, its name, and how many rows have which verdict."""
    counts = Counter(check["verdict"] for check in section.summary["checks"])
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return f"### {section.figure.name}\n\n{_wrapped(f'{section.heading}: {verdicts}.')}"


def figure_page(section: Section, docs: Path | None = None) -> str:
    """Returns a figure's page, of docs/results: with its picture, if that is in `docs`/figures."""
    figure, checks = section.figure, section.summary["checks"]
    place = f"figures/{figure.name}.png"
    drawn = docs is not None and (docs / place).is_file()
    table = [f"| {' | '.join(_COLUMNS)} |", "| --- | --- | --: | --: | --: | --- | --- |"]
    table += [
        f"| {' | '.join(cell.replace('|', '/') for cell in _linked(Check(**check)))} |"
        for check in checks
    ]
    parts = [
        f"# {section.heading}",
        *map(_wrapped, (figure.about, *section.summary.get("story", ()), section.runs)),
        *map(_table, section.tables),
        *[f"![{figure.title}]({place})"] * drawn,
        "\n".join(table),
    ]
    return re.sub(r"\]\((?!https?:|#)", "](../", "\n\n".join(parts)) + "\n"


def _table(table: Table) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (table.columns, *table.rows)]
    lines.insert(1, f"| --- |{' --: |' * (len(table.columns) - 1)}")
    return "\n\n".join(
        [f"**{table.title}**", "\n".join(lines), *map(_wrapped, (*table.notes, *table.caveats))]
    )


def _wrapped(text: str) -> str:
    """Returns the paragraphs in lines of a page."""
    return "\n\n".join(
        textwrap.fill(part, _LINE, break_long_words=False, break_on_hyphens=False)
        for part in text.split("\n\n")
    )


def _linked(check: Check) -> list[str]:
    """Returns a row's cells; the verdict with a link to what is known about it."""
    numbers = [number(value) for value in (check.paper, check.theory, check.measured)]
    link = f", [known]({check.explained})" if check.explained else ""
    return [check.claim, check.what, *numbers, check.unit, check.verdict + link]


def _drawn(section: Section) -> dict[str, Any]:
    drawn = plots.section(section.figure.name, "", section.charts)
    return {
        **{name: drawn[name] for name in ("titles", "together", "heights", "notes")},
        "missing": section.missing,
    }


def page(sections: Sequence[Section]) -> str:
    """Returns report.html: everything in one file, with the look of a run's report."""
    checks = {
        section.figure.name: [Check(**check) for check in section.summary["checks"]]
        for section in sections
    }
    parts = [
        {
            "name": section.figure.name,
            "title": section.figure.title,
            "source": section.figure.source,
            "about": Markup(html(section.figure.about)),
            "story": [Markup(html(text)) for text in section.summary.get("story", ())],
            "tables": section.tables,
            "runs": section.runs,
            **_drawn(section),
            "counts": Counter(check.verdict for check in checks[section.figure.name]),
            "checks": [row(check) for check in checks[section.figure.name]],
        }
        for section in sections
    ]
    return (
        environment()
        .get_template("figures.html.j2")
        .render(
            introduction=[Markup(html(text)) for text in (_OF_PAGE, _READING)],
            verdicts=VERDICTS,
            sections=parts,
            known=known(check for figure_checks in checks.values() for check in figure_checks),
            script=script("known.js", "charts.js"),
            data=plots.as_json(
                {
                    "charts": {
                        key: chart
                        for section in sections
                        for key, chart in plots.alone(section.charts, section.figure.name).items()
                    }
                }
            ),
        )
    )
