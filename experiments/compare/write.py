"""The files of a comparison: comparison.html, numbers.csv, and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pcn.experiments.compare import tables
from pcn.experiments.compare.figures import OVER_TIME, figures, shown_ms
from pcn.experiments.compare.groups import Group
from pcn.experiments.define.charts import Chart
from pcn.experiments.page import plots
from pcn.experiments.page.environment import environment, script
from pcn.experiments.papers import EXPERIMENTS
from pcn.experiments.results.atomic_folder import COMPARED, result_directory, whole
from pcn.topologies import extras

PAGE = "comparison.html"
_TITLES = {
    "slowdown": "Slowdown by size",
    "completion": "Completion times",
    OVER_TIME: "Over time",
}
_WHERE = (
    "Shown from {0:.4g} to {1:.4g} ms: from where the last run begins to where the last one has a "
    "hundredth of what is highest."
)


def write(groups: Sequence[Group], place: Path) -> list[str]:
    """Writes them into `place`; returns their names. Raises ExperimentError."""
    charts = figures(groups)
    drawn = _pictures(charts) if extras.installed("figures") else {}
    files = {
        COMPARED: tables.as_csv(groups).encode(),
        PAGE: render(groups, charts).encode(),
        **{f"{name}.{kind}": data for name, kinds in drawn.items() for kind, data in kinds.items()},
    }
    with result_directory(place) as work:
        for name, data in files.items():
            with whole(work / name) as file:
                file.write(data)
    return list(files)


def _titles(scenarios: Iterable[str]) -> str:
    """Returns what the runs are of; experiments that aren't the project's by their names."""
    return ", ".join(EXPERIMENTS[name].title if name in EXPERIMENTS else name for name in scenarios)


def _pictures(charts: Mapping[str, Sequence[Chart]]) -> dict[str, dict[str, bytes]]:
    from pcn.experiments.draw.pictures import pictures  # an extra, and slow to load

    return {name: pictures(beside, pdf=True) for name, beside in charts.items()}


def render(groups: Sequence[Group], charts: Mapping[str, Sequence[Chart]]) -> str:
    """Returns the page; `charts` are those of `figures`, by name."""
    scenarios = dict.fromkeys(
        run.scenario for group in groups for run in group.runs if run.scenario
    )
    over_time = charts.get(OVER_TIME, ())
    shown = shown_ms(over_time)
    notes = [_WHERE.format(*shown)] if shown else []
    drawn = [
        plots.section(name, _TITLES[name], beside, notes if name == OVER_TIME else ())
        for name, beside in charts.items()
    ]
    by_places: dict[str, list[str]] = {}
    for group in groups:
        places = ", ".join(dict.fromkeys(run.place for run in group.runs))
        by_places.setdefault(places, []).append(group.name)
    # What one looks for first is open, all else folds
    several = len(groups) > 1
    first, *others = tables.all_tables(groups) if several else [None, *tables.all_tables(groups)]
    page = {
        "title": f"Comparison: {_titles(scenarios) or 'sweeps'}",
        "places": [(", ".join(names), places) for places, names in by_places.items()],
        "first": first,
        "tables": others,
        "equal": tables.equal(groups),
        "unknown": tables.unknown(groups),
        "drawn": drawn,
        "script": script("known.js", "charts.js"),
        "data": plots.as_json(
            {
                "charts": {
                    key: chart
                    for name, beside in charts.items()
                    for key, chart in plots.alone(beside, name).items()
                },
                "zooms": [[plots.axis_name(over_time[0]), *shown]] if shown else [],
            }
        ),
    }
    return environment().get_template("comparison.html.j2").render(page)
