"""Draws the README's picture: the victim's congestion tree under PFC alone and under PCN, side by
side, as an animated SVG: .venv/bin/python docs/picture.py docs/tree.svg

Each half is a report's drawing of a run in virtual time, with what the report replays. Without
animation, as in print, it shows the moment with most links held.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pcn.experiments.define.looks import label  # noqa: E402
from pcn.experiments.draw.palette import DARK, LIGHT  # noqa: E402
from pcn.experiments.draw.topology_drawing import topology_svg  # noqa: E402
from pcn.experiments.papers import SCENARIOS  # noqa: E402
from pcn.experiments.papers.pcn.scenarios.victim_setting import (  # noqa: E402
    attainable_bps,
    burst_s,
    ideal_bps,
)
from pcn.experiments.results import replay  # noqa: E402
from pcn.experiments.results.judged_run import Result  # noqa: E402
from pcn.experiments.run.progress import Silent  # noqa: E402
from pcn.experiments.run.virtual import run_virtual  # noqa: E402

SCHEMES = ("pfc", "pcn")
FRAME_S = 0.25
"""Of the animation, for each moment of the run."""
FROM_MS, TO_MS = -0.2, 4.2
SIDE, TOP, BAR = 640, 78, 80
"""Width of a half, room above it, width of a flow's bar at the full rate."""
_SVG = "{http://www.w3.org/2000/svg}"
_STYLE = """
svg { font: 17px system-ui, "Liberation Sans", "DejaVu Sans", sans-serif; background: var(--page); }
text { fill: var(--ink); text-anchor: middle; } .name { font-weight: 600; } .port, .note { fill: var(--muted); font-size: 14px; }
.title { font-size: 22px; font-weight: 700; text-anchor: start; } .story, .flow { text-anchor: start; } .flow { font-size: 15px; }
.link { stroke: var(--muted); stroke-width: 1.6; fill: none; } .bottleneck { stroke-width: 4; } .held { stroke: var(--stop); stroke-width: 6; }
.host, .switch { fill: var(--page); stroke: var(--ink); stroke-width: 1.5; } .switch { fill: var(--grid); }
.scale, .rail { fill: none; stroke: var(--muted); } .level { fill: var(--other1); } circle { fill: var(--of); }
.level { transform-box: fill-box; transform-origin: bottom; } .bar { fill: var(--of); transform-box: fill-box; transform-origin: left; }
.past { fill: var(--accent); transform-box: fill-box; transform-origin: left; }
"""  # noqa: E501


def results() -> list[Result]:
    """Returns the runs, each from its seed."""
    scenario = SCENARIOS["victim"]
    plans = [scenario.plan(scheme, 1, {}) for scheme in SCHEMES]
    return [Result(scenario, plan, run_virtual(plan, Silent())) for plan in plans]


def keyframes(name: str, values: Sequence[str]) -> str:
    """Returns CSS that goes through the values, from one to the next at once; empty where they are
    all equal."""
    changes = [
        (place, value)
        for place, value in enumerate(values)
        if place == 0 or value != values[place - 1]
    ]
    if len(changes) < 2:
        return ""
    steps = "".join(f"{100 * place / len(values):.1f}%{{{value}}}" for place, value in changes)
    return f"@keyframes {name}{{{steps}}}.{name}{{animation:{name} var(--long) step-end infinite}}"


def half(place: int, result: Result, moments: slice, still: int) -> tuple[str, str, str]:
    """Returns a run's drawing, the CSS of its moment `still`, and the CSS that moves it."""
    plan, run = result.plan, replay.data([result])["runs"][0]
    text = topology_svg(plan.topology, plan.bottleneck, plan.sampling.queues)
    text = re.sub(r"<title>.*?</title>", "", text)
    drawing = ElementTree.fromstring(text.replace("<svg ", f'<svg xmlns="{_SVG[1:-1]}" ', 1))
    motions: dict[tuple[str, ...], str] = {}

    def move(element: ElementTree.Element, values: Sequence[str]) -> None:
        """Elements that move alike share a name."""
        name = motions.setdefault(tuple(values[moments]), f"m{place}-{len(motions)}")
        element.set("class", f"{element.get('class', '')} {name}".strip())

    for line in drawing.iter(f"{_SVG}polyline"):
        ways = [f"{line.get('data-a')}->{line.get('data-b')}"]
        ways.append(f"{line.get('data-b')}->{line.get('data-a')}")
        held = [run["links"][way]["held"] for way in ways if way in run["links"]]
        if held:
            stop = "stroke:var(--stop);stroke-width:5px"
            thin = 4 if "bottleneck" in line.get("class", "") else 1.6
            free = f"stroke:var(--muted);stroke-width:{thin}px"
            move(line, [stop if any(at) else free for at in zip(*held, strict=True)])
    most = replay.data([result])["queueMax"]
    for gauge in drawing.iter(f"{_SVG}g"):
        port = gauge.get("data-port", "")
        (level,) = (part for part in gauge if part.get("class") == "level")
        move(level, [f"transform:scaleY({kb / most:.2f})" for kb in run["queues"][port]])
        gauge[-1].text = "queue"
    rate = plan.number("rate") / 1e9
    for flow in [item for item in drawing.iter(f"{_SVG}text") if "data-flow" in item.attrib]:
        entity, classes = flow.get("data-flow", ""), flow.get("class", "")
        x, y = float(flow.get("x", 0)), float(flow.get("y", 0))
        flow.text = entity.replace("flow ", "F")
        flow.set("class", "flow")
        bar = {"x": f"{x + 56:g}", "y": f"{y - 11:g}", "width": f"{BAR}", "height": "12"}
        ElementTree.SubElement(drawing, f"{_SVG}rect", {**bar, "class": "rail"})
        filled = ElementTree.SubElement(
            drawing, f"{_SVG}rect", {**bar, "class": classes.replace("rate", "bar")}
        )
        move(filled, [f"transform:scaleX({gbps / rate:.2f})" for gbps in run["flows"][entity]])
    for element in drawing.iter():
        for name in [name for name in element.attrib if name.startswith("data-")]:
            del element.attrib[name]
        element.tag = element.tag.removeprefix(_SVG)
    _, _, width, height = drawing.get("viewBox", "").split()
    drawing.attrib = {
        "x": f"{place * SIDE}", "y": f"{TOP}", "width": f"{SIDE - 20}", "height": "300",
        "viewBox": f"0 0 {float(width) + 30:g} {height}",
    }  # fmt: skip
    at = still - moments.start
    stills = "".join(f".{name}{{{values[at]}}}" for values, name in motions.items())
    css = "".join(keyframes(name, values) for values, name in motions.items())
    return ElementTree.tostring(drawing, encoding="unicode"), stills, css


def picture(runs: Sequence[Result]) -> str:
    """Returns the SVG."""
    times = replay.data([runs[0]])["times"]
    first = next(place for place, ms in enumerate(times) if ms >= FROM_MS)
    last = max(place for place, ms in enumerate(times) if ms <= TO_MS) + 1
    links = [link["held"] for link in replay.data([runs[0]])["runs"][0]["links"].values()]
    held = [sum(at) for at in zip(*links, strict=True)]
    still, count = held.index(max(held)), last - first
    halves = [half(place, run, slice(first, last), still) for place, run in enumerate(runs)]
    texts = []
    for place, run in enumerate(runs):
        gbps = run.outcome.numbers["f0_burst_bps"] or 0.0
        ideal, most = ideal_bps(run.plan)[0], attainable_bps(run.plan)[0]
        of = f"{most / 1e9:.3g}" if most == ideal else f"its limiter's {most / 1e9:.3g}"
        story = f"F0, which never goes to r1, gets {gbps / 1e9:.1f} of {of} Gbit/s"
        texts += [
            f'<text class="title" x="{place * SIDE + 20}" y="32">{label(run.plan.scheme)}</text>',
            f'<text class="story" x="{place * SIDE + 20}" y="60">{story}</text>',
        ]
    long = 2 * SIDE - 200
    now = [f"transform:scaleX({(place + 1) / count:.3f})" for place in range(count)]
    burst = f"the bursts need {burst_s(runs[0].plan) * 1e3:.2f} ms of r1's link"
    wide, high = 2 * SIDE, TOP + 356
    names = "--of: var(--flow{0}); fill: var(--flow{0})"
    colours = "".join(f".flow{index} {{ {names.format(index)} }}" for index in range(3))
    light, dark = (f"{theme.css()} --page: {theme.background};" for theme in (LIGHT, DARK))
    stills, moving = ("".join(css) for css in list(zip(*halves, strict=True))[1:])
    moving += keyframes("now", now)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img">'
        "<title>The congestion tree under PFC alone and under PCN</title>"
        f"<style>:root {{ {light} --stop: #b3261e; --long: {count * FRAME_S:g}s; }}"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} --stop: #ff8a80; }} }}"
        f"{_STYLE}{colours}{stills}"
        f"@media (prefers-reduced-motion: no-preference) {{{moving}}}</style>"
        f"{''.join(texts)}{''.join(drawn for drawn, _, _ in halves)}"
        f'<rect class="rail" x="100" y="{high - 36}" width="{long}" height="8"/>'
        f'<rect class="past now" x="100" y="{high - 36}" width="{long}" height="8" '
        f'style="{now[still - first]}"/>'
        f'<text class="note" x="{wide / 2:g}" y="{high - 8}">from {times[first]:g} to '
        f"{times[last - 1]:g} ms; {burst}; red: held by PAUSE frames; bars: what each flow gets"
        "</text></svg>\n"
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(results()), encoding="utf-8")
