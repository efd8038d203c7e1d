"""`report.html`: one file that opens offline, in light and dark, narrow and wide."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from experiments import figures
from experiments.analysis import Steady
from experiments.checks import Check
from experiments.drawing import topology_svg
from experiments.figures import Look
from experiments.palette import DARK, LIGHT, Theme
from experiments.parameters import format_value
from experiments.recording import FlowRecord, Recording
from experiments.scenarios.base import Plan, Scenario
from experiments.summary import goodput_bps

_TITLES = {
    "rates": (
        "Sending rates",
        "sending rate of each flow and their sum over time, with the bottleneck's capacity",
    ),
    "queue": ("Bottleneck queue", "bytes that wait at the bottleneck over time"),
    "pause": ("PFC", "PAUSE frames over time, by link"),
    "marked": ("Marked packets", "share of the packets that carried a mark over time, by port"),
}
_NARROW = "(max-width: 620px)"
_DARK = "(prefers-color-scheme: dark)"
SCHEME_NAMES = {
    "pcn": "PCN",
    "pfc": "PFC alone, no congestion control",
    "dcqcn": "DCQCN",
    "qcn": "QCN",
    "timely": "TIMELY",
}


def render(
    scenario: Scenario,
    plan: Plan,
    recording: Recording,
    steady: Steady,
    checks: Sequence[Check],
    wide: Mapping[str, bytes],
    clock: str,
    target: str,
) -> str:
    """The page. `wide` holds the light, wide figures, which are files of the result too; the others are drawn here."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    story: dict[str, list[str]] = {name: [] for name in ("topology", *figures.names(), "checks")}
    for place, text in scenario.story(plan, recording, steady):
        story[place].append(text)
    return environment.get_template("report.html.j2").render(
        title=scenario.title,
        scheme=plan.scheme,
        scheme_name=SCHEME_NAMES.get(plan.scheme, plan.scheme),
        source=scenario.source,
        clock_text=_clock_text(recording, clock, target),
        light_css=_css(LIGHT),
        dark_css=_css(DARK),
        palette=len(LIGHT.flows),
        tiles=_tiles(plan, recording, steady, checks),
        story=story,
        topology=Markup(topology_svg(plan.topology, plan.bottleneck)),
        figures=_figures(plan, recording, wide),
        checks=[_row(check) for check in checks],
        flows=[_flow(flow, recording, steady) for flow in recording.flows],
        facts=_facts(plan, recording, clock, target),
        parameters=[(p.name, format_value(p.kind, plan.values[p.name])) for p in scenario.parameters],
        versions=sorted(recording.versions.items()),
        notes=recording.notes,
    )


def number(value: float | None) -> str:
    """A figure of a check for people: four significant digits, no exponent, a dash where there is none."""
    if value is None:
        return "–"
    if value == 0 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _clock_text(recording: Recording, clock: str, target: str) -> str:
    if clock == "live":
        return f"live on {target}, time stretched {recording.k:g} times; all figures are nominal"
    return f"virtual clock, {target}"


def _css(theme: Theme) -> str:
    names = {"ink": theme.ink, "muted": theme.muted, "grid": theme.grid, "accent": theme.accent}
    names |= {f"flow{index}": color for index, color in enumerate(theme.flows)}
    return " ".join(f"--{name}: {color};" for name, color in names.items())


def _data(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _figures(plan: Plan, recording: Recording, wide: Mapping[str, bytes]) -> list[dict[str, Any]]:
    looks = {
        f"{_NARROW} and {_DARK}": Look(DARK, narrow=True),
        _NARROW: Look(LIGHT, narrow=True),
        _DARK: Look(DARK),
    }
    drawn = {media: figures.draw(plan, recording, look) for media, look in looks.items()}
    return [
        {
            "name": name,
            "title": _TITLES[name][0],
            "alt": _TITLES[name][1],
            "data": _data(wide[name]),
            "sources": [{"media": media, "data": _data(pngs[name])} for media, pngs in drawn.items()],
        }
        for name in figures.names()
    ]


def _tiles(plan: Plan, recording: Recording, steady: Steady, checks: Sequence[Check]) -> list[dict[str, str]]:
    lost = sum(flow.sent_packets - flow.received_packets for flow in recording.flows)
    sent = sum(flow.sent_packets for flow in recording.flows)
    judged = [check for check in checks if check.verdict != "not comparable"]
    met = sum(check.verdict == "met" for check in judged)
    return [
        {"value": f"{lost:,}", "what": f"packets lost of {sent:,}"},
        {"value": f"{steady.utilisation:.1%}", "what": "bottleneck utilisation, last third"},
        {"value": f"{steady.jain:.3f}", "what": "Jain's fairness index, last third"},
        {"value": f"{steady.queue_bytes_mean / 1e3:.1f} KB", "what": "mean queue, last third"},
        {"value": f"{steady.pause:,}", "what": "PAUSE frames, last third"},
        {"value": f"{met} of {len(judged)}", "what": "checks met"},
    ]


def _row(check: Check) -> dict[str, str]:
    return {
        "claim": check.claim,
        "what": check.what,
        "paper": number(check.paper),
        "theory": number(check.theory),
        "measured": number(check.measured),
        "unit": check.unit,
        "verdict": check.verdict,
    }


def _flow(flow: FlowRecord, recording: Recording, steady: Steady) -> dict[str, Any]:
    total = sum(steady.goodput_bps.values())
    own = steady.goodput_bps[flow.id]
    return {
        "id": flow.id,
        "src": flow.src,
        "dst": flow.dst,
        "goodput": f"{goodput_bps(flow, recording.duration_s) / 1e9:.3f} Gbit/s",
        "steady": f"{own / 1e9:.3f} Gbit/s",
        "share": f"{own / total:.1%}" if total else "–",
        "marked": f"{flow.marked_packets / flow.received_packets:.1%}" if flow.received_packets else "–",
        "sent": f"{flow.sent_packets:,}",
        "received": f"{flow.received_packets:,}",
    }


def _facts(plan: Plan, recording: Recording, clock: str, target: str) -> list[tuple[str, str]]:
    return [
        ("scenario", plan.scenario),
        ("scheme", plan.scheme),
        ("clock", clock),
        ("target", target),
        ("k", f"{recording.k:g}"),
        ("seed", str(plan.seed)),
        ("duration", format_value("time", recording.duration_s)),
        ("took", f"{recording.wall_s:.0f} s"),
    ]
