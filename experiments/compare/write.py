"""The files of a comparison: comparison.html, numbers.csv, and pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from pcn.experiments.compare import tables
from pcn.experiments.compare.figures import figures
from pcn.experiments.compare.groups import Group
from pcn.experiments.page.report import environment
from pcn.experiments.results.atomic_folder import COMPARED, result_directory, whole
from pcn.topologies import extras

PAGE = "comparison.html"


def write(groups: Sequence[Group], place: Path) -> list[str]:
    """Writes them into `place`; returns their names. Raises ExperimentError."""
    drawn = _pictures(groups) if extras.installed("figures") else {}
    files = {
        COMPARED: tables.as_csv(groups).encode(),
        PAGE: render(
            groups, {name: kinds["svg"].decode() for name, kinds in drawn.items()}
        ).encode(),
        **{f"{name}.{kind}": data for name, kinds in drawn.items() for kind, data in kinds.items()},
    }
    with result_directory(place) as work:
        for name, data in files.items():
            with whole(work / name) as file:
                file.write(data)
    return list(files)


def _pictures(groups: Sequence[Group]) -> dict[str, dict[str, bytes]]:
    from pcn.experiments.draw.pictures import pictures  # an extra, and slow to load

    return {name: pictures(charts, pdf=True) for name, charts in figures(groups).items()}


def render(groups: Sequence[Group], drawn: Mapping[str, str]) -> str:
    """Returns the page; `drawn` are its pictures as SVG, by name."""
    scenarios = dict.fromkeys(
        run.scenario for group in groups for run in group.runs if run.scenario
    )
    page = {
        "title": f"Comparison: {', '.join(scenarios) or 'sweeps'}",
        "places": [
            (group.name, list(dict.fromkeys(run.place for run in group.runs))) for group in groups
        ],
        "tables": tables.all_tables(groups),
        "equal": tables.equal(groups),
        "pictures": [Markup(_inline(name, text)) for name, text in drawn.items()],
    }
    return environment().get_template("comparison.html.j2").render(page)


def _inline(name: str, text: str) -> str:
    """Returns an SVG file as an element: without its prolog, with its own ids, as wide as there is
    room."""
    element = text[text.index("<svg") :]
    element = re.sub(r'\bid="', f'id="{name}-', element)
    element = re.sub(r'(href="|url\()#', rf"\1#{name}-", element)
    return element.replace("<svg", '<svg class="picture"', 1)
