"""`report.html`: one file that opens offline, in light and dark, narrow and wide; of one run, or of
several schemes."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import unescape
from operator import attrgetter
from typing import Any

from markupsafe import Markup

from pcn.base.units import kind_of
from pcn.experiments.data.failures import Failures
from pcn.experiments.data.parameters import Parameter, Value, format_value
from pcn.experiments.define import scheme_parameters
from pcn.experiments.define.checks import Check
from pcn.experiments.define.draws import NOTHING
from pcn.experiments.define.looks import label
from pcn.experiments.define.tables import Table, with_unit
from pcn.experiments.draw.topology_drawing import topology_svg
from pcn.experiments.page import flow_rows, plots
from pcn.experiments.page.check_rows import known, row, took
from pcn.experiments.page.environment import environment, script
from pcn.experiments.results import replay
from pcn.experiments.results.judged_run import Result, by_scheme
from pcn.experiments.results.utilisation import utilisation
from pcn.hosts.algorithms import known_scheme
from pcn.hosts.algorithms.base import ReactionPoint
from pcn.topologies import extras, lossless
from pcn.topologies.model import Topology
from pcn.topologies.picture.load import STEPS
from pcn.topologies.picture.svg import svg

_MOST_CABLES = 2000
"""Lines between switches in the picture of a network."""
_MOST_PRINTED = 10
"""Lines of a list on paper."""


def render(
    results: Sequence[Result],
    compared: Sequence[Check] = (),
    failures: Failures | None = None,
    pictures: bool = False,
) -> str:
    """Returns the page of one run, or of several: schemes side by side, in figures the clocks of a
    scheme over each other. `compared` are the checks across them. `failures` names what is missing
    (default: the one run's). `pictures`: whether there are PNG and SVG files of the charts beside
    it."""
    first = results[0]
    charts = [first_chart for first_chart, *_ in plots.drawn(results)]
    replayed = replay.times(first).size > 2
    pictures_of = [
        Markup(result.failures.attempt("topology", functools.partial(_picture, result)) or "")
        for result in results
    ]
    # The same network with another load needs no second drawing
    loads = [] if replayed or not _is_same_network(results) else _loads(pictures_of[0], results)
    headlines = first.failures.attempt("headlines", lambda: _headlines(results)) or []
    data = plots.data(results)
    replayed_data = data["replay"]
    page = {
        "title": first.experiment.title,
        "source": first.experiment.source,
        "clock_text": _clock_text(results),
        "script": script("known.js", "charts.js", "report.js"),
        "data": plots.as_json({**data, "loads": loads}),
        "views": [view.title for view in charts[0].views] if charts else [],
        "replayed": replayed,
        "drawn_at": f"{replayed_data['times'][replayed_data['opens']]:.2f} ms" if replayed else "",
        "trees": _trees(results, replay.largest_trees(replayed_data)),
        "drawings": pictures_of[:1] if loads else pictures_of,
        "seeds": _seeds(results),
        "explain": _explain(results),
        # a network by its tiers has them in its drawing
        "load_steps": [
            (f"{below:.0%} to {most:.0%}", colour) for below, (most, colour) in _load_steps()
        ]
        if any('class="topology"' in picture for picture in pictures_of)
        else [],
        "tables": _tables(results),
        "about": _by_place(
            first.failures.attempt("text", lambda: plots.page_of(first).about(first.plan)) or []
        ),
        "charts": [
            {"name": chart.name, "title": chart.title, "alt": chart.alt} for chart in charts
        ],
        "together": [chart.title for chart in plots.together(results)],
        "runs": _printed([_run(result, results, pictures) for result in results]),
        "panels": [_panel_text(runs) for runs in by_scheme(results)],
        "headlines": headlines,
        "glance": _glance(results, headlines) if headlines and len(results) > 1 else None,
        "claims": any(
            check.claim
            for check in (*compared, *(check for run in results for check in run.checks))
        ),
        "compared": [row(check) for check in compared],
        "known": known([*compared, *(check for result in results for check in result.checks)]),
    }
    missing = (
        first.failures if failures is None else failures
    ).lines()  # at last: some are of the above
    return environment().get_template("report.html.j2").render(page, missing=missing)


def scheme_title(scheme: str) -> str:
    """Returns what the page calls a scheme: `PCN: Photonic Congestion Notification (NSDI'20)`."""
    known = known_scheme(scheme)
    name = label(scheme)
    summary = known.summary.removesuffix(f": {name}") if known else name
    return summary if summary.startswith(name) else f"{name}: {summary}"


def _clock_text(results: Sequence[Result]) -> str:
    live = [result for result in results if result.clock == "live"]
    virtual = [
        f"{result.clock} clock, {result.target}, links and queues computed"
        for result in results
        if result.clock != "live"
    ][:1]
    if not live:
        return virtual[0]
    stretched = sorted({result.recording.k for result in live})
    times = " to ".join(f"{k:g}" for k in dict.fromkeys((stretched[0], stretched[-1])))
    stretch = (
        f"live on {live[0].target}, every packet real, time stretched {times} times; all figures "
        "are nominal"
    )
    return " · ".join([stretch, *virtual])


def _by_place(texts: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for place, text in texts:
        places.setdefault(place, []).append(text)
    return places


def _run(result: Result, results: Sequence[Result], pictures: bool) -> dict[str, Any]:
    plan, recording, experiment = result.plan, result.recording, result.experiment
    had = scheme_parameters.as_run(plan, recording)
    flows = flow_rows.rows(result)
    return {
        "scheme": plan.scheme,
        "folder": result.folder,
        "files": ", ".join(
            [
                "summary.json",
                *["series.parquet (time_s, entity, metric, value)"] * extras.installed("parquet"),
                *["the figures as PNG and SVG"] * pictures,
                *["logs"] * (result.clock == "live"),
            ]
        ),
        "name": f"{result.name}, {result.clock}"
        if len({run.clock for run in results}) > 1
        else result.name,
        "title": scheme_title(plan.scheme),
        "lasts": format_value("time", float(f"{recording.duration_s - recording.start_s:.4g}")),
        "checks": [row(check) for check in result.checks],
        "flows": flows,
        "flow_columns": [
            (name, heading)
            for name, heading in flow_rows.COLUMNS
            if any(row[name] != "–" for row in flows)
        ],
        "facts": _facts(result),
        "parameters": [
            (
                p.name,
                format_value(p.kind, had[p.name])
                if had[p.name] == plan.values[p.name]
                else _at_ports(p, had),
            )
            for p in experiment.parameters(plan.scheme)
            if p.name in had
        ],
        "versions": [*sorted(recording.versions.items()), *result.provenance.items()],
        "notes": recording.notes,
        "unheeded": _unheeded(result),
    }


def _unheeded(result: Result) -> str:
    """Returns why packets are marked with a scheme whose senders react to none; empty: they do, or
    nothing is marked."""
    scheme = known_scheme(result.plan.scheme)
    if scheme is None or not any(flow.marked_packets for flow in result.recording.flows):
        return ""
    if any(
        getattr(scheme.reaction_point, name, None) is not getattr(ReactionPoint, name)
        for name in ("on_cnp", "on_ack")
    ):
        return ""
    return (
        f"{result.name}: the switches' program ({scheme.program}) marks, and receivers count the "
        "marks, but no sender reacts to them."
    )


def _printed(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds the lists of facts, parameters and versions, as they are printed: of a run after the
    first what differs from it, and of each list no more than a few lines."""
    for run in runs:
        run["lists"] = []
        for name in ("facts", "parameters", "versions"):
            pairs = run[name]
            known = () if run is runs[0] else runs[0][name]
            printed = [pair for pair in pairs if pair not in known][:_MOST_PRINTED]
            run["lists"].append(
                {
                    "pairs": [(*pair, pair in printed) for pair in pairs],
                    "left": len(pairs) - len(printed),
                }
            )
    return runs


def _picture(result: Result) -> str:
    """Returns the network, links in the colours of their load: with what is replayed in it, or by
    its tiers."""
    plan, load = result.plan, utilisation(result)
    replayed = replay.times(result).size > 2
    queues = plan.sampling.queues if replayed else ()
    drawn = (
        topology_svg(plan.topology, plan.bottleneck, queues, load)
        if plots.page_of(result).replay
        else ""
    )
    return drawn or svg(plan.topology, load, _MOST_CABLES)


def _is_same_network(results: Sequence[Result]) -> bool:
    networks = [replace(result.plan.topology, flows=()) for result in results]
    return len(networks) > 1 and all(network == networks[0] for network in networks)


def _loads(picture: str, results: Sequence[Result]) -> list[list[float]]:
    """Returns for each run the busier way's share of each line of the drawing, in its order."""
    lines = [
        unescape(f"{ports} {peers}").split()
        for ports, peers in re.findall(r'data-a="([^"]*)" data-b="([^"]*)"', picture)
    ]
    return [
        [round(max(load.get(port, 0.0) for port in ports), 3) for ports in lines]
        for load in map(utilisation, results)
    ]


def _explain(results: Sequence[Result]) -> str:
    """Returns how flows of the first run are explained; empty where they aren't. A run's own page
    lies in its folder."""
    result, page = results[0], plots.page_of(results[0])
    if not page.explain or result.clock != "virtual":
        return ""
    command = page.explain_command(result.folder if len(results) > 1 else ".", result.files)
    return f"Why flows were slow: `{command}`, in the folder of this page."


def _trees(results: Sequence[Result], trees: Sequence[replay.Tree | None]) -> list[str]:
    """Returns a sentence a run: when its congestion tree is largest, and where it starts."""
    sentences = []
    for result, tree in zip(results, trees, strict=False):
        name = f"{result.name}: " if len(results) > 1 else ""
        if tree is None:
            sentences.append(f"{name}PAUSE holds no link at any of the moments.")
            continue
        roots = ", ".join(
            f"{port}, where {format_value('size', float(f'{waiting * 1e3:.3g}'))} wait"
            for port, waiting in tree.roots.items()
        )
        sentences.append(
            f"{name}the congestion tree is largest at {tree.time_ms:.2f} ms: PAUSE holds "
            f"{tree.held} link{'s' * (tree.held > 1)}" + f"; root {roots}" * bool(roots) + "."
        )
    return [sentence[0].upper() + sentence[1:] for sentence in sentences]


def _seeds(results: Sequence[Result]) -> str:
    """Returns the sentence below the numbers of single runs, on their intervals."""
    seeds = sorted({result.plan.seed for result in results})
    several = ", a run each" if len(results) > 1 else ""
    if all(result.clock == "virtual" and result.decided == NOTHING for result in results):
        return (
            "The runs have no chance in them: with other seeds each gives the same numbers."
            if several
            else "The run has no chance in it: with another seed it gives the same numbers."
        )
    return (
        f"Seed {', '.join(map(str, seeds))}{several}: one run has no interval. `pcn sweep "
        f"{results[0].experiment.name} --seeds 1:5`, with this run's options, gives the numbers "
        "intervals, and `pcn compare` shows which differences are beyond chance."
    )


def _panel_text(runs: Sequence[Result]) -> dict[str, Any]:
    """Returns what stands above and below a scheme's figures."""
    paragraphs = []
    for result in runs:
        prefix = f"{result.clock.capitalize()}: " if len(runs) > 1 else ""
        story = result.failures.attempt("text", functools.partial(_story, result)) or []
        paragraphs += [(place, prefix + text) for place, text in story]
    return {"name": runs[0].name, "story": _by_place(paragraphs)}


def _story(result: Result) -> list[tuple[str, str]]:
    return plots.page_of(result).story(result.plan, result.recording, result.steady)


def _load_steps() -> list[tuple[float, tuple[float, str]]]:
    return list(zip([0.0, *(most for most, _ in STEPS)], STEPS, strict=False))


def _tables(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Returns the parts of a page with tables: where the time went, what becomes of many flows, and
    of the few of each run that stand out. What is open is printed: of several runs the first part
    alone."""
    page = plots.page_of(results[0])
    many: list[Table] = []
    single: list[Table] = []
    if tabulate := page.tables:
        failures = results[0].failures
        many = failures.attempt("tables", lambda: tabulate(plots.measured(results))) or []
    if tabulate_flows := page.flows:
        for result in results:
            tables = result.failures.attempt(
                "table of flows", functools.partial(tabulate_flows, result.plan, result.recording)
            )
            name = label(result.folder or result.plan.scheme)
            for table in tables or []:
                # What a table of the run before has said isn't said again
                noted = {note for before in single for note in before.notes}
                notes = [note for note in table.notes if note not in noted]
                title = f"{name}: {table.title}" if len(results) > 1 else table.title
                single.append(replace(table, title=title, notes=notes))
    parts = [
        ("parts", "Where the time went", True, [table for table in many if table.bars]),
        ("slowest", "Where PAUSE starts, and the slowest flows", len(results) == 1, single),
        ("tables", "Flows by size", False, [table for table in many if not table.bars]),
    ]
    return [
        {"name": name, "title": title, "open": is_open, "tables": tables}
        for name, title, is_open, tables in parts
        if tables
    ]


def _headlines(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Returns the rows with a cell a run."""
    columns = []
    for result in results:
        sent = sum(map(attrgetter("sent_packets"), result.recording.flows))
        lost = sent - sum(map(attrgetter("received_packets"), result.recording.flows))
        judged = [check for check in result.checks if check.verdict != "not comparable"]
        met = sum(check.verdict == "met" for check in judged)
        headlines = plots.page_of(result).headlines(result.plan, result.recording, result.steady)
        columns.append(
            [
                *((line.label, line.value, line.beside) for line in headlines),
                ("packets lost", f"{lost:,} of {sent:,}", ""),
                ("checks met", f"{met} of {len(judged)}", ""),
            ]
        )
    return [
        {
            "label": rows[0][0],
            "cells": [{"value": value, "beside": beside} for _, value, beside in rows],
        }
        for rows in zip(*columns, strict=True)
    ]


def _glance(results: Sequence[Result], lines: Sequence[dict[str, Any]]) -> Table:
    """Returns the headlines with a row a run and a column a number."""
    columns = [
        with_unit(
            line["label"],
            [
                f"{cell['value']} ({cell['beside']})" if cell["beside"] else cell["value"]
                for cell in line["cells"]
            ],
        )
        for line in lines
    ]
    names = [
        f"{result.name}, {result.clock}" if len({run.clock for run in results}) > 1 else result.name
        for result in results
    ]
    rows = zip(names, *(cells for _, cells in columns), strict=True)
    return Table("", ["", *(heading for heading, _ in columns)], [list(row) for row in rows])


def _facts(result: Result) -> list[tuple[str, str]]:
    plan, recording = result.plan, result.recording
    return [
        ("scenario", plan.scenario),
        ("scheme", result.name),
        ("clock", result.clock),
        ("target", result.target),
        ("k", f"{recording.k:g}"),
        ("seed", f"{plan.seed}: decides {result.decided}"),
        ("duration", format_value("time", recording.duration_s - recording.start_s)),
        ("flow control", _flow_control(plan.topology)),
        ("took", took(recording.wall_s)),
        *(
            (
                f"packet latency, class {number}",
                f"{_us(latency.percentile_s(50))}, 99% {_us(latency.percentile_s(99))}",
            )
            for number, latency in recording.recorded.latency.items()
        ),
    ]


def _at_ports(parameter: Parameter, had: Mapping[str, Value | None]) -> str:
    """Returns a threshold that ports had in place of the scheme's."""
    value = had[parameter.name]
    if value is None:
        return "by port: topology.json has them"
    return f"{format_value(parameter.kind, value)} at all ports, of their switches"


def _flow_control(topology: Topology) -> str:
    numbers = []
    shared = [switch for switch in topology.switches if switch.buffer is not None]
    if shared:
        numbers.append(
            f"thresholds of shared buffers at {len(shared)} of {len(topology.switches)} switches"
        )
    for name in lossless.names(topology.flow_control):
        if len(shared) == len(topology.switches) and name in ("xoff_bytes", "xon_bytes"):
            continue
        called = name.removesuffix("_bytes").removesuffix("_s").replace("_", " ")
        numbers.append(f"{called} {format_value(kind_of(name), topology.number(name))}")
    return (
        f"{topology.flow_control}, classes {', '.join(map(str, topology.lossless_classes))}: "
        f"{', '.join(numbers)}"
    )


def _us(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1e6:.4g} us"
