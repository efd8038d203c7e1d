"""The live page in a real Chromium: it shows what the server sent, replays it, and fits its
window."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import forks
import needs
import numpy as np
import pytest
from browser import Browser
from held import held
from pages import COUNT, command, drawn, go, load, load_saved, rows
from small_lab import TOGETHER
from waiting import wait_until

from pcn.controller.constants import index
from pcn.experiments.data.frames import Frame
from pcn.experiments.data.records import Records
from pcn.experiments.data.series import Series
from pcn.experiments.results.stored_run import read_run
from pcn.experiments.runner import run
from pcn.lab import flows
from pcn.lab.lab import Lab
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import Topology
from pcn.topologies.picture.load import STEPS
from pcn.web.history import History
from pcn.web.recorded import described, one_file, recorded as recorded_page
from pcn.web.server import serving

LINES = """
JSON.stringify($$('#network path.line').map(path => {
    const ports = [...path.dataset.a.split(' '), ...path.dataset.b.split(' ')];
    const bars = $$('#network .bars')
        .filter(element => getComputedStyle(element).visibility === 'visible')
        .map(element => element.textContent.split(': ')[1].split(', '));
    return {ports, held: bars.flat().filter(port => ports.includes(port)), paused: path.classList.contains('paused'),
        stroke: path.getAttribute('stroke'), width: Number(path.getAttribute('stroke-width'))};
}))
"""  # noqa: E501
UNNAMED = """
$$('button, input, select')
    .filter(element => element.offsetParent && !(element.textContent.trim() || element.ariaLabel || element.labels?.length)).length
"""  # noqa: E501
OVERLAPS = """
(all => all.filter((a, i) => all.some((b, j) => j > i && a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length)({boxes})
"""  # noqa: E501


@pytest.fixture(scope="module")
def recorded_place(tmp_path_factory) -> Path:
    """A run with PAUSE."""
    place = tmp_path_factory.mktemp("kept") / "victim"
    settings = ["duration=4ms", "before=500us"]
    run(
        "victim", scheme="pfc", clock="virtual", settings=settings, out=place,
        records=Records(queues_s=50e-6),
    )  # fmt: skip
    return place


@pytest.fixture(scope="module")
def recorded(recorded_place: Path) -> Iterator[tuple[str, list[Frame]]]:
    """That run on the page, and its frames."""
    run, history = read_run(recorded_place), History()
    history.begin(described(run.topology, title="victim", network=None, live=False, control=False))
    frames = list(run.frames())
    for frame in frames:
        history.add(frame)
    history.over("the end")
    with serving(history) as served:
        yield served.url, frames


def test_page_shows_values_of_every_frame(chromium: Browser, recorded: tuple[str, list[Frame]]):
    url, frames = recorded
    load(chromium, url, len(frames))
    for number in range(0, len(frames), max(len(frames) // 4, 1)):
        go(chromium, number)
        shown, ports = (
            rows(chromium, "ports"),
            {frame["port"]: frame for frame in frames[number]["ports"]},
        )
        assert {
            name
            for name, port in ports.items()
            if port["rate_bps"] or port["queue_bytes"] or port["paused"]
        } <= shown.keys()
        for name, row in shown.items():
            assert row == {field: ports[name][field] for field in row}
        for flow in frames[number]["flows"]:
            row = rows(chromium, "flows").get(str(flow["id"]))
            assert (row is None) == (flow["state"] == "ended")
            assert row is None or {"sent_bps", "rate_bps", "goodput_bps"} <= row.keys()
            for field in (
                "sent_bps",
                "rate_bps",
                "goodput_bps",
                "window_bytes",
                "marked_share",
                "state",
            ):
                assert row is None or field not in row or row[field] == flow[field]
        paused = sum(frame["paused"] or frame["pausing"] for frame in frames[number]["ports"])
        assert (chromium.ask("$$('#network .line.paused').length") > 0) == (paused > 0)
    assert any(port["paused"] for frame in frames for port in frame["ports"])
    assert chromium.complaints == []
    assert all(address.startswith((url, "data:")) for address in chromium.addresses)


def held_ports(series: Series, topology: Topology, time_s: float) -> set[str]:
    """Returns the ports that may not send, of switches and hosts, by what the run recorded."""
    held = set[str]()
    for link in topology.links:
        for port, back in ((link.a, link.b), (link.b, link.a)):
            xoff = topology.link_name(back.node, back.port), "xoff"
            tx_paused = (str(port), "tx_paused")
            times, values = series.get(*(tx_paused if tx_paused in series else xoff))
            if (
                times.size
                and values[max(int(np.searchsorted(times, time_s + 1e-12, "right")) - 1, 0)]
            ):
                held.add(str(port))
    return held


def used_shares(series: Series, topology: Topology, frame: Frame) -> dict[str, tuple[float, float]]:
    """Returns for each port the share of its link that frames took which began to leave meanwhile,
    and one frame's."""
    shares = {}
    for link in topology.links:
        for port in (link.a, link.b):
            metric = "sent_bytes" if topology.is_host(port.node) else "transmitted_bytes"
            then, now = np.interp(
                [frame["time_s"] - frame["over_s"], frame["time_s"]], *series.get(str(port), metric)
            )
            most = frame["over_s"] * link.rate_bps / 8
            shares[str(port)] = ((now - then) / most, 1058 / most)
    return shares


def test_drawing_has_each_link_as_it_was_recorded(
    chromium: Browser, recorded_place: Path, tmp_path
):
    """Who may not send, and how much of each link is used: by series.parquet alone."""
    page = tmp_path / "page.html"
    run = read_run(recorded_place)
    page.write_text(one_file(recorded_page(recorded_place)))
    load_saved(chromium, page)
    frames, topology, series = (
        list(run.frames()),
        run.topology,
        Series.read(recorded_place / "series.parquet"),
    )
    held = [held_ports(series, topology, frame["time_s"]) for frame in frames]
    opened = held[int(chromium.ask("$('#slider').value"))]
    assert len(opened) == max(map(len, held)) >= 17, "it opens where most is held"
    assert {"s0:3", "h0:0", "h1:0", "h2:0", "h15:0"} <= opened
    for number in range(0, len(frames), max(len(frames) // 16, 1)):
        go(chromium, number)
        shares = used_shares(series, topology, frames[number])
        lines = json.loads(chromium.ask(LINES))
        assert {port for line in lines for port in line["ports"]} == set(shares)
        assert {port for line in lines for port in line["held"]} == held[number]
        for line in lines:
            assert line["paused"] == (not held[number].isdisjoint(line["ports"]))
            used, frame = max(shares[port] for port in line["ports"])
            drawn_used = (line["width"] - 1.2) / 2.8
            assert drawn_used == pytest.approx(min(used, 1.0), abs=0.02 + frame)
            within = [step[1] for step in STEPS if step[0] > used - frame - 1e-9]
            assert line["stroke"] in within[:2]
        for port in frames[number]["ports"]:
            assert port["utilisation"] <= 1 + 1e-9
            assert port["utilisation"] == pytest.approx(
                shares[port["port"]][0], abs=shares[port["port"]][1] + 1e-9
            )


def test_saved_page_shows_the_run_without_a_server(
    chromium: Browser, recorded_place: Path, tmp_path
):
    """Names in it are texts, whatever they are."""
    place, page = recorded_place, tmp_path / "page.html"
    done = forks.run("pcn", "view", str(place), "--save", str(page))
    assert (done.returncode, done.stderr) == (0, "")
    run = read_run(place)
    frames = list(run.frames())
    load_saved(chromium, page)
    assert chromium.ask(COUNT) == str(len(frames) - 1)
    go(chromium, len(frames) // 2)
    shown = rows(chromium, "ports")
    assert shown
    for frame in frames[len(frames) // 2]["ports"]:
        if frame["port"] in shown:
            row = shown[frame["port"]]
            for field, value in row.items():
                expected = frame[field]
                if isinstance(expected, (int, float)):
                    expected = pytest.approx(expected, abs=1e-4, rel=1e-6)
                assert value == expected, field
    state = "$('#state').textContent"
    assert chromium.ask(state) == f"frame {len(frames) // 2 + 1} of {len(frames)}"
    go(chromium, len(frames) - 1)
    assert chromium.ask(state) == "the end of the recording"
    assert chromium.complaints == []
    assert chromium.addresses == [page.as_uri(), "data:,"] or chromium.addresses == [page.as_uri()]
    history = History()
    history.begin(
        described(
            run.topology,
            title="</script><script>window.bad = 1</script>",
            network=None,
            control=False,
        )
    )
    page.write_text(one_file(history))
    chromium.open(page, 1400)
    title = "$('#title').textContent"
    wait_until(lambda: chromium.ask(title) != "PCN Lab", "the title")
    assert chromium.ask(title).startswith("</script>")
    assert chromium.ask("window.bad") is None


@pytest.mark.parametrize(
    "words", [("view", "{run}", "--save"), ("topology", "convert", "dumbbell")]
)
def test_command_names_the_file_that_it_cannot_write(recorded_place: Path, tmp_path, words):
    done = forks.run(
        "pcn", *(word.format(run=recorded_place) for word in words), "no/x.json", cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (1, "pcn: no/x.json: No such file or directory\n")


def test_page_steps_plays_and_shows_series(chromium: Browser, recorded: tuple[str, list[Frame]]):
    url, frames = recorded
    load(chromium, url, len(frames))
    at = "Number($('#slider').value)"
    go(chromium, 5)
    chromium.key("ArrowLeft")
    chromium.key("ArrowLeft")
    chromium.key("ArrowRight")
    assert chromium.ask("document.activeElement === document.body")
    drawn(chromium)
    assert chromium.ask(at) == 4
    chromium.ask("$('#speed').value = '60'; $('#play').click()")
    wait_until(lambda: chromium.ask(at) == len(frames) - 1, "the end of the recording")
    assert chromium.ask("$('#play').getAttribute('aria-label')") == "play"
    go(chromium, len(frames) // 2)
    chromium.ask("$('#ports tbody button').click()")
    drawn(chromium)
    # rate and queue: nobody sends PAUSE to this port, nor does it
    assert chromium.ask("$$('#plots canvas').length") == 2
    assert chromium.ask("$('#ports tr[aria-selected=true]').dataset.id + ', '") in chromium.ask(
        "$('#series-title').textContent"
    )
    chromium.ask("$('#network .hit').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    drawn(chromium)
    assert chromium.ask("$('#network .chosen').getAttribute('visibility')") == "visible"
    chromium.ask("$('#flows tbody button').click()")
    drawn(chromium)
    assert chromium.ask("$('#series-title').textContent").startswith("Flow ")
    assert chromium.complaints == []


@pytest.mark.parametrize(("width", "dark"), [(400, True), (1920, False)])
def test_page_fits_its_window(chromium: Browser, recorded: tuple[str, list[Frame]], width, dark):
    url, frames = recorded
    load(chromium, url, len(frames), width, dark)
    chromium.ask("$('#ports tbody button').click()")
    drawn(chromium)
    assert chromium.ask("document.documentElement.scrollWidth") <= width
    assert chromium.ask(UNNAMED) == 0
    background = chromium.ask("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 200) == dark
    assert chromium.complaints == []


def test_page_draws_forty_switches_in_tiers(chromium: Browser):
    topology, history = find_topology("clos").build(), History()
    history.begin(described(topology, title="clos", network=None, live=False, control=False))
    history.add({"time_s": 0.0, "over_s": 1.0, "ports": [], "flows": [], "overload": None})
    with serving(history) as served:
        load(chromium, served.url, 1, 1920)
        boxes = "$$('#network g[data-node]').map(group => group.getBoundingClientRect())"
        assert len(topology.switches) >= 40
        assert chromium.ask(f"{boxes}.length") >= len(topology.switches)
        assert chromium.ask(OVERLAPS.format(boxes=boxes)) == 0
        assert chromium.ask(f"Math.min(...{boxes}.map(element => element.height))") > 12
        assert chromium.complaints == []


@pytest.mark.parametrize("dcqcn_lab", [*needs.TARGETS[1:], TOGETHER], indirect=True)
@pytest.mark.root
def test_page_of_network_shows_registers_and_runs_commands(chromium: Browser, dcqcn_lab: Lab):
    """While a PAUSE holds s1:1, its queue stands still: page and register agree to the byte."""
    switch, cell, name = dcqcn_lab.switches["s1"], index(1), dcqcn_lab.network.name
    words = ["watch", "--web", "--control", "--every", "0.1s", "-n", name]
    with forks.begin("pcn", *words) as watch:
        chromium.open(watch.stdout.readline().strip(), 1400)
        try:
            with held(dcqcn_lab, "s1", 1):
                (number,) = flows.start(
                    dcqcn_lab.topology, dcqcn_lab.agents, "h0", "r0", size_bytes=100_000
                )
                wait_until(
                    lambda: switch.read_register("waiting_packets", cell) == 100,
                    "100 packets that wait",
                )
                waiting = switch.read_register("waiting_bytes", cell)
                wait_until(
                    lambda: rows(chromium, "ports").get("s1:1", {}).get("queue_bytes") == waiting,
                    "the queue",
                )
                assert rows(chromium, "ports")["s1:1"]["paused"]
            wait_until(lambda: not switch.read_register("waiting_packets", cell), "the drain")
            wait_until(
                lambda: not rows(chromium, "ports").get("s1:1", {}).get("queue_bytes"),
                "an empty queue",
            )
            command(chromium, "set s1 2 xoff=128KB")
            wait_until(
                lambda: "128" in chromium.ask("$('#log').textContent"),
                "the command's answer",
            )
            command(chromium, "flow stop 999")
            wait_until(
                lambda: "pcn: no flow '999'" in chromium.ask("$('#log').textContent"),
                "a refusal",
            )
            complaints = [text for text in chromium.complaints if "400 (Bad Request)" not in text]
            assert complaints == []
            flows.stop(dcqcn_lab.agents, [number])
        finally:
            os.kill(watch.pid, signal.SIGINT)
            assert watch.wait() == 0
    wait_until(
        lambda: "disconnected" in chromium.ask("$('#state').textContent"),
        "the page notices",
    )


def test_watching_needs_virtual_time_or_a_network(tmp_path):
    for words, text in (
        (["run", "dumbbell", "--web"], "add --clock virtual"),
        (["run", "dumbbell", "--port", "1"], "add --web"),
        (["watch", "--control"], "add --web"),
        (["watch", "--web", "--once"], "--once: not beside --web"),
    ):
        done = forks.run("pcn", *words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert text in done.stderr
        assert len(done.stderr.splitlines()) == 1
