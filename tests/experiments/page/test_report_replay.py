"""The replay of a report: the slider's moment, links, queues, rates and lines of it, and play."""

import json
from pathlib import Path

import numpy as np
import pytest
from browser import Browser
from report_pages import open_report

from pcn.experiments.data.records import parse_port
from pcn.experiments.data.series import Series
from pcn.experiments.runner import run
from pcn.topologies.lookup import find_topology
from pcn.topologies.picture import load


def held(run: int) -> str:
    return f"$$('.replay')[{run}].querySelectorAll('.link.held').length"


def test_the_slider_replays_the_tree(chromium: Browser, pages: dict[str, Path]):
    open_report(chromium, pages["both"], 1400)
    load_text = chromium.ask("$('.load').textContent")
    assert load_text.startswith("Colours of links that aren't red stay, whatever the moment")
    assert chromium.ask("$$('.load .swatch').length") == len(load.STEPS)
    # the page opens at the moment with most pauses: S1 stops S0 and all bursting hosts, S0 stops H0
    # and H1
    assert chromium.ask(held(0)) >= 15
    names = "[...$$('.replay')[0].querySelectorAll('.held')].map(l => l.dataset.a + l.dataset.b)"
    assert "s0s1" in chromium.ask(names)
    opened = chromium.ask("$('#now').textContent")

    chromium.ask("$('#time').focus()")
    before = float(chromium.ask("$('#time').value"))
    chromium.key("ArrowRight")
    assert float(chromium.ask("$('#time').value")) == before + 1
    assert chromium.ask("$('#now').textContent") != opened

    at = "$$('.replay')[{}].querySelector('[data-flow=\"flow 0\"]').textContent"
    chromium.key("Home")
    assert chromium.ask(held(0)) == chromium.ask(held(1)) == 0
    assert chromium.ask(at.format(0)) == "F0 20.0"
    chromium.key("End")
    assert chromium.ask("$('#time').value") == chromium.ask("$('#time').max")
    assert chromium.ask(held(0)) == 0
    assert chromium.complaints == []


MOMENT = """
(replay => JSON.stringify({
    now: $('#now').textContent,
    drawn: $('#drawn').textContent,
    held: [...replay.querySelectorAll('.link.held')].map(link => `${link.dataset.a} ${link.dataset.b}`),
    paused: [...replay.querySelectorAll('.link.paused')].map(link => `${link.dataset.a} ${link.dataset.b}`),
    queues: Object.fromEntries([...replay.querySelectorAll('.gauge')]
        .map(port => [port.dataset.port, port.querySelector('.note').textContent])),
    ways: [...replay.querySelectorAll('[data-way]')].filter(arrow => arrow.getAttribute('visibility') === 'visible')
        .map(arrow => arrow.dataset.way),
    rings: [...replay.querySelectorAll('[data-root]')].filter(ring => ring.getAttribute('visibility') === 'visible')
        .map(ring => ring.dataset.root),
    named: [...replay.querySelectorAll('.gauge .root')].map(name => name.textContent),
    rates: Object.fromEntries([...replay.querySelectorAll('text.rate')]
        .map(flow => [flow.dataset.flow, flow.textContent])),
    lines: $$('.plot').filter(plot => plot.now)
        .map(plot => plot.scale.start + (plot.now.getAttribute('x1') - plot.scale.inner.left)
            / (plot.scale.inner.right - plot.scale.inner.left) * (plot.scale.end - plot.scale.start)),
}))($('.replay'))
"""  # noqa: E501


ARROWS = """
$$('.replay [data-way]').map(arrow => {
    const { matrix } = arrow.transform.baseVal.consolidate(), to = arrow.dataset.way.split('->')[1];
    const name = [...arrow.closest('.replay').querySelectorAll('.name')].find(text => text.textContent === to);
    const far = x => { const at = new DOMPoint(x, 0).matrixTransform(matrix);
        return Math.hypot(at.x - name.getAttribute('x'), at.y - name.getAttribute('y')); };
    return far(9) < far(-7);
})
"""  # noqa: E501
"""Whether each arrow's tip is nearer than its end to the node that its way goes to."""
ROOTS = {"dumbbell": "s0:4", "victim": "s1:2"}


@pytest.mark.parametrize(
    ("scenario", "settings"),
    [("dumbbell", ["duration=20ms"]), ("victim", ["duration=4ms", "before=500us"])],
)
def test_replay_shows_one_moment_of_what_was_recorded(
    chromium: Browser, tmp_path, scenario, settings
):
    """By series.parquet alone: links, queues, rates and the plots' lines are of the time that the
    page names."""
    place = tmp_path / "run"
    run(scenario, scheme="pfc", clock="virtual", settings=settings, out=place)
    series = Series.read(place / "series.parquet")
    topology = find_topology(f"pcn-json:{place / 'topology.json'}").build()
    open_report(chromium, place / "report.html", 1400)
    count = int(chromium.ask("$('#time').max")) + 1
    first = json.loads(chromium.ask(MOMENT))
    peers = {
        str(port): topology.peer(port.node, port.port).node
        for port in map(parse_port, first["queues"])
    }
    ways = [
        topology.link_name(end.node, end.port)
        for link in topology.links
        for end in (link.a, link.b)
    ]
    assert first["held"] or first["paused"], "it opens where PAUSE is"

    def read(entity: str, metric: str, time_s: float) -> float:
        times, values = series.get(entity, metric)
        return (
            float(values[max(int(np.searchsorted(times, time_s + 1e-9, "right")) - 1, 0)])
            if times.size
            else 0.0
        )

    assert set(chromium.ask(ARROWS)) == {True}, "each points to whom it stops"
    before: float | None = None
    most, roots = 0.0, set[str]()
    largest = (0, "", [])
    for number in range(count):
        chromium.ask(
            f"(s => {{ s.value = {number}; s.dispatchEvent(new Event('input')); }})($('#time'))"
        )
        shown = json.loads(chromium.ask(MOMENT))
        now = float(shown["now"].removesuffix(" ms")) / 1e3
        assert shown["drawn"] == shown["now"]
        for place_ms in shown["lines"]:
            assert place_ms / 1e3 == pytest.approx(now, abs=2e-5)
        for port, text in shown["queues"].items():
            waiting = read(port, "waiting_bytes", now)
            assert text == (
                f"{waiting / 1e6:.1f} MB" if waiting >= 1e6 else f"{waiting / 1e3 + 1e-9:.0f} KB"
            )
            most = max(most, waiting)
        root = [
            port
            for port, peer in peers.items()
            if read(port, "waiting_bytes", now)
            and not read(f"{peer}->{(node := port.partition(':')[0])}", "xoff", now)
            and any(read(way, "xoff", now) for way in ways if way.startswith(f"{node}->"))
        ]
        assert shown["rings"] == root
        assert shown["named"] == [f"root {port}" for port in root]
        roots |= set(root)
        stopped = sum(read(way, "xoff", now) > 0 for way in ways)
        if stopped > largest[0]:
            largest = (stopped, shown["now"], root)
        held, paused = set[str](), set[str]()
        for link in topology.links:
            both = [topology.link_name(end.node, end.port) for end in (link.a, link.b)]
            name = f"{link.a.node} {link.b.node}"
            if any(read(way, "xoff", now) for way in both):
                held.add(name)
            elif before is not None and any(
                read(way, "pause", now) - read(way, "pause", before) for way in both
            ):
                paused.add(name)
        assert set(shown["held"]) == held
        if before is not None:
            assert set(shown["paused"]) == paused
            moved = {
                way
                for way in ways
                if read(way, "xoff", now) or read(way, "pause", now) - read(way, "pause", before)
            }
            assert set(shown["ways"]) == moved
            for flow, text in shown["rates"].items():
                packets = read(flow, "received_packets", now) - read(
                    flow, "received_packets", before
                )
                assert float(text.split()[-1]) == pytest.approx(
                    packets * 1058 * 8e-9 / (now - before), abs=0.06
                )
        before = now
    assert most > 0
    assert ROOTS[scenario] in roots
    stopped, when, root = largest
    assert first["now"] == when, "the page opens where the tree is largest"
    words = chromium.ask("$('#drawn').parentElement.textContent")
    assert f"The congestion tree is largest at {when}: PAUSE holds {stopped} link" in words
    assert [f"{port}, where" in words for port in root] == [True] * len(root)


def test_tree_in_words_is_that_of_the_drawing(chromium: Browser, pages: dict[str, Path]):
    """With PCN the victim's tree ends at the bursting hosts: the page calls neither it nor the
    drawing's rings none."""
    open_report(chromium, pages["both"], 1400)
    words = chromium.ask("$('#drawn').parentElement.textContent")
    text = chromium.ask("$('#pause').textContent")
    opened = chromium.ask("$('#now').textContent")
    for place, name in enumerate(("PFC alone", "PCN")):
        sentence = words.partition(f"{name}: the congestion tree is largest at ")[2]
        when, count = sentence.partition(" ms")[0], sentence.partition("holds ")[2].split()[0]
        chromium.ask(
            f"(slider => {{ slider.value = charts.data.replay.times.findIndex("
            f"at => at.toFixed(2) === '{when}'); slider.dispatchEvent(new Event('input')); "
            f"}})($('#time'))"
        )
        assert chromium.ask("$('#now').textContent") == f"{when} ms"
        assert chromium.ask(held(place)) == int(count)
        assert place or opened == f"{when} ms", "PFC's is the larger one"
    assert "the tree ends at the bursting hosts, to which S1 sent " in text


def test_play_runs_to_the_end_by_itself(chromium: Browser, pages: dict[str, Path]):
    open_report(chromium, pages["one"], 1000)
    chromium.ask("$('#time').focus()")
    chromium.key("End")
    chromium.key("ArrowLeft")
    chromium.ask("$('#play').click()")
    done = (
        "new Promise(done => { const watch = setInterval(() => { const time = "
        "document.getElementById('time');"
        "if (time.value === time.max) { clearInterval(watch); done(true); } }, 20); })"
    )
    answer = chromium.call(
        "Runtime.evaluate", expression=done, awaitPromise=True, returnByValue=True
    )
    assert answer["result"]["value"] is True
