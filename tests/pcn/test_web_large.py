"""The live page with 568 nodes: fit and zoom, orders, search, the heat map, the log; what a step
touches is counted."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Browser
from pages import drawn, go, load_saved

from pcn.experiments.data.frames import FrameColumns
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import Topology
from pcn.web.history import History, port_in_use
from pcn.web.packed import packed
from pcn.web.recorded import described, one_file

FRAMES = 40
MOST_ROWS = 80
WATCH = """
window.touched = new Map();
window.watcher = new MutationObserver(all => all.forEach(element => window.touched.set(element.target, element.type)));
window.watcher.observe(document.querySelector('{of}'),
    {{subtree: true, attributes: true, childList: true, characterData: true}});
"""  # noqa: E501
TOUCHED = """
window.watcher.takeRecords().forEach(element => window.touched.set(element.target, element.type));
[...window.touched.keys()].length
"""
IDS = "JSON.stringify($$('#{table} tbody tr').map(row => row.dataset.id))"
BOX = """
(box => JSON.stringify([box.left, box.top, box.width, box.height]))(
    $('{of}').getBoundingClientRect())
"""
SET = """
(field => {{ field.value = {value!r}; field.dispatchEvent(new Event({event!r})); }})(document.getElementById({of!r}))
"""  # noqa: E501
PIXELS = """
(canvas => {
    const {width, height} = canvas, {data} = canvas.getContext('2d').getImageData(0, 0, width, height);
    return JSON.stringify([width, height, [...data].filter((_, at) => at % 4 === 0)]);
})($('#heat canvas'))
"""  # noqa: E501
COUNT_PAINTINGS = """
window.painted = 0;
(paint => {
    CanvasRenderingContext2D.prototype.putImageData = function (...all) {
        window.painted += 1;
        return paint.apply(this, all);
    };
})(CanvasRenderingContext2D.prototype.putImageData)
"""
STARTS = """
JSON.stringify($$('#facts li').filter(line => line.textContent.startsWith('It starts'))
    .map(element => element.querySelector('button').textContent))
"""
CLICK = "$('{of}').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"
NODES = (
    "[...window.touched.keys()]"
    ".some(element => element.matches?.('g[data-node], g[data-node] *, svg'))"
)
VIEW = "$('#network svg').getAttribute('viewBox')"


def busy(topology: Topology, frames: int, seed: int) -> FrameColumns:
    """Returns a recording in which two ports of five are busy, with numbers that don't repeat."""
    random = np.random.default_rng(seed)
    columns: list[dict[str, Any]] = []
    for switch in topology.switches:
        for port in topology.ports(switch.name):
            works = random.random() < 0.42
            end, rate_bps = f"{switch.name}:{port}", topology.link_at(switch.name, port).rate_bps
            share = random.random(frames) * works * (random.random(frames) < 0.9)
            queue = np.maximum(random.normal(0, 4e5, frames).cumsum(), 0).astype(int) * works
            paused = (random.random(frames) < 0.1) & works
            columns.append(
                {
                    "port": [end] * frames,
                    "link": [topology.link_name(switch.name, port)] * frames,
                    "queue_packets": (queue // 1058).tolist(), "queue_bytes": queue.tolist(),
                    "held_bytes": [None] * frames, "pn": [None] * frames,
                    "paused": paused.tolist(),
                    "pausing": ((random.random(frames) < 0.1) & works).tolist(),
                    "rate_bps": (share * rate_bps).tolist(),
                    "utilisation": share.tolist(),
                    "marked_share": [value or None for value in (share / 3).tolist()],
                    "marked_ue_share": [None] * frames,
                    "pauses_sent_per_s": [0.0] * frames,
                    "pauses_received_per_s": (paused * 1e4).tolist(),
                    "up": [True] * frames,
                    "lost": [None] * frames,
                    "kept_pace": [True] * frames,
                }
            )  # fmt: skip
    flow = {
        "id": [7] * frames,
        "src": ["h0"] * frames,
        "dst": ["h511"] * frames,
        "state": ["sending"] * frames,
        "rate_bps": [10e9] * frames,
        "sent_bps": np.linspace(1e9, 10e9, frames).tolist(),
        "goodput_bps": np.linspace(1e9, 9e9, frames).tolist(),
        **dict.fromkeys(
            ("marked_share", "marked_ue_share", "window_bytes", "in_flight_bytes"), [None] * frames
        ),
        "kept_pace": [True] * frames,
    }
    near = {**flow, "id": [8] * frames, "dst": ["h1"] * frames}
    times = np.linspace(1e-4, 1e-4 * frames, frames)
    return FrameColumns(times.tolist(), [1e-4] * frames, columns, [flow, near], [])


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> tuple[Path, FrameColumns]:
    topology, history = find_topology("clos").build(), History()
    assert len(topology.hosts) + len(topology.switches) == 568
    columns = busy(topology, FRAMES, 1)
    history.begin(described(topology, title="clos", network=None, live=False, control=False))
    history.add_packed(packed(columns))
    history.over("the end")
    page = tmp_path_factory.mktemp("large") / "page.html"
    page.write_text(one_file(history))
    return page, columns


@pytest.fixture
def shown(chromium: Browser, large: tuple[Path, FrameColumns]) -> Iterator[FrameColumns]:
    page, columns = large
    load_saved(chromium, page, 1280)
    yield columns
    assert chromium.complaints == []


def at(columns: FrameColumns, frame: int) -> dict[str, dict[str, Any]]:
    """Returns the ports of a frame by their names."""
    return {
        port["port"][0]: {field: values[frame] for field, values in port.items()}
        for port in columns.ports
    }


def box(chromium: Browser, of: str) -> tuple[float, float, float, float]:
    left, top, width, height = json.loads(chromium.ask(BOX.format(of=of)))
    return left, top, width, height


def ids(chromium: Browser, table: str) -> list[str]:
    return json.loads(chromium.ask(IDS.format(table=table)))


def test_drawing_fits_and_zooms_by_one_attribute(chromium: Browser, shown: FrameColumns):
    chromium.ask("window.scrollTo(0, 0)")
    left, top, width, height = box(chromium, "#network svg")
    assert left >= 0
    assert left + width <= 1280
    whole = [float(part) for part in chromium.ask(VIEW).split()]
    assert whole[2] > width, "the network is wider than its place"
    chromium.ask(WATCH.format(of="#network"))
    chromium.wheel(left + width / 4, top + height / 2, -100)
    drawn(chromium)
    assert chromium.ask(TOUCHED) == 1
    assert chromium.ask("[...window.touched.keys()][0].tagName") == "svg"
    closer = [float(part) for part in chromium.ask(VIEW).split()]
    assert closer[2] == pytest.approx(whole[2] / 1.25, abs=0.01)
    # the point under the pointer stays there
    assert closer[0] + closer[2] / 4 == pytest.approx(whole[2] / 4, abs=0.5)
    chromium.ask("$('#network').focus()")
    for name, change in (("+", 1 / 1.25), ("ArrowRight", 1), ("-", 1.25)):
        before = float(chromium.ask(VIEW).split()[2])
        chromium.key(name)
        assert float(chromium.ask(VIEW).split()[2]) == pytest.approx(before * change, abs=0.02)
    chromium.key("0")
    assert [float(part) for part in chromium.ask(VIEW).split()] == whole
    scrolled = chromium.ask("window.scrollY")
    for _ in range(30):
        chromium.key("+")
    assert float(chromium.ask(VIEW).split()[2]) == 160
    chromium.key("0")
    assert chromium.ask(TOUCHED) == 1
    assert chromium.ask("window.scrollY") == scrolled


def test_step_of_the_slider_touches_what_changes_alone(chromium: Browser, shown: FrameColumns):
    """Of the drawing the lines that look different; no element is made or laid out anew; the heat
    map isn't painted again."""
    go(chromium, 20)
    chromium.ask(COUNT_PAINTINGS)
    nodes = chromium.ask("$$('#network *').length")
    chromium.ask(WATCH.format(of="#network"))
    go(chromium, 20)
    assert chromium.ask(TOUCHED) == 0, "nothing changed"
    go(chromium, 21)
    touched = chromium.ask(TOUCHED)
    # of a line: itself, and at each end a group, a circle, bars, and the texts of both
    lines = chromium.ask("$$('#network path.line').length")
    assert 0 < touched < 11 * lines
    assert not chromium.ask(NODES)
    assert chromium.ask("$$('#network *').length") == nodes
    chromium.ask("window.watcher.disconnect()")
    chromium.ask(WATCH.format(of="#heat"))
    go(chromium, 22)
    assert chromium.ask(TOUCHED) == 1, "the line of the moment"
    assert chromium.ask("window.painted") == 0
    assert chromium.ask("$$('#ports tbody tr').length") == MOST_ROWS
    assert chromium.ask("$$('#log li').length") <= 100


@pytest.mark.parametrize("field", ["queue_bytes", "pauses_received_per_s", "utilisation", "paused"])
def test_head_of_a_column_orders_ports(chromium: Browser, shown: FrameColumns, field):
    go(chromium, 10)
    header = f"#ports th[data-field={field}]"
    if field != "queue_bytes":  # which is the order at first
        chromium.ask(f"$('{header} button').click()")
        drawn(chromium)
    assert chromium.ask(f"$('{header}').getAttribute('aria-sort')") == "descending"
    ports = at(shown, 10)
    read = (
        (lambda port: 2 * port["paused"] + port["pausing"])
        if field == "paused"
        else lambda port: port[field]
    )
    names = ids(chromium, "ports")
    values = [read(ports[name]) for name in names]
    assert len(names) == MOST_ROWS
    assert values == sorted(values, reverse=True)
    rest = [read(port) for name, port in ports.items() if name not in names]
    assert min(values) >= max(rest) - 1e-4
    chromium.ask(f"$('{header} button').click()")
    drawn(chromium)
    least = [read(ports[name]) for name in ids(chromium, "ports")]
    assert least == sorted(least)


def test_search_finds_nodes_ports_and_flows(chromium: Browser, shown: FrameColumns):
    def search(text: str):
        chromium.ask(SET.format(of="search", value=text, event="input"))
        drawn(chromium)

    go(chromium, 10)
    search("t1")
    links = {port["port"][0]: port["link"][0] for port in shown.ports}
    used = {name for name, port in at(shown, 10).items() if port_in_use(port)}
    ends = {name: {_end(name)[0], _end(links[name].partition("->")[2])[0]} for name in used}
    assert set(ids(chromium, "ports")) == {name for name in used if "t1" in ends[name]}
    search("h511")
    assert ids(chromium, "flows") == ["7"]
    chromium.ask("$('#search').focus()")
    chromium.key("Enter")
    drawn(chromium)
    assert chromium.ask("$('#series-title').textContent") == "h511"
    search("")
    assert ids(chromium, "flows") == ["7", "8"]


def test_flow_has_its_path_and_what_limits_it(chromium: Browser, shown: FrameColumns):
    go(chromium, FRAMES - 1)
    facts = "$('#facts').textContent"
    chromium.ask("$('#flows tr[data-id=\"8\"] button').click()")
    drawn(chromium)
    text = chromium.ask(facts)
    queue = at(shown, FRAMES - 1)["t0:2"]["queue_bytes"] / 1e3
    assert f"Its path: t0:2 ({queue:,.1f} KB" in text
    # by what the frames have of h0: a PAUSE of t0:1, or its scheme, as it sends all that it may
    held = at(shown, FRAMES - 1)["t0:1"]["pausing"]
    assert ("PAUSE limits it" if held else "Its scheme limits it") in text
    assert chromium.ask("$$('#network .lit').length") == 1
    chromium.ask("$('#flows tr[data-id=\"7\"] button').click()")
    drawn(chromium)
    # up to a leaf by 2 x 2 links, to one of 8 spines, down by as many
    assert "128 shortest paths" in chromium.ask(facts)


def test_card_names_where_pause_starts(chromium: Browser, shown: FrameColumns):
    go(chromium, 5)
    ports = at(shown, 5)
    holds = {name.split(":")[0] for name, port in ports.items() if port["pausing"]}
    held = {name.split(":")[0] for name, port in ports.items() if port["paused"]}
    starts = json.loads(chromium.ask(STARTS))
    assert len(starts) == min(len(holds - held), 3)
    assert set(starts) <= holds - held
    chromium.ask(CLICK.format(of="#network g[data-node=t3]"))
    drawn(chromium)
    assert ids(chromium, "facts-table") == [f"t3:{port}" for port in range(1, 21)]


@pytest.mark.parametrize("of", ["queue", "pause", "share"])
def test_heat_map_has_each_port_at_each_time(chromium: Browser, shown: FrameColumns, of):
    chromium.ask(SET.format(of="heat-of", value=of, event="change"))
    # few enough for a row each
    chromium.ask(SET.format(of="search", value="l3", event="input"))
    drawn(chromium)
    pixels = json.loads(chromium.ask(PIXELS))
    width, height = pixels[:2]
    red = np.array(pixels[2], dtype=float).reshape(height, width)
    field = {"queue": "queue_bytes", "pause": "paused", "share": "utilisation"}[of]
    ends = {port["port"][0]: port for port in shown.ports}
    topology = find_topology("clos").build()
    mine = [
        name
        for name in ends
        if "l3" in (name.split(":")[0], topology.peer(*_end(name)).node) and any(ends[name][field])
    ]
    assert (width, height) == (FRAMES, len(mine))
    values = np.array([ends[name][field] for name in mine], dtype=float)
    most = values.max() if of == "queue" else 1.0
    shade = np.ceil(64 * np.sqrt(values / most)) / 64
    full = red[np.unravel_index(shade.argmax(), shade.shape)]
    expected = 255 + (full - 255) * shade / shade.max()
    assert np.abs(red - expected).max() <= 4
    left, top, wide, high = box(chromium, "#heat canvas")
    chromium.ask(f"window.scrollTo(0, {top})")
    left, top, wide, high = box(chromium, "#heat canvas")
    row = len(mine) // 2
    chromium.click(left + (12.5) / FRAMES * wide, top + (row + 0.5) / len(mine) * high)
    drawn(chromium)
    assert chromium.ask("Number($('#slider').value)") == 12
    assert chromium.ask("$('#series-title').textContent").startswith(f"{mine[row]}, ")


def _end(name: str) -> tuple[str, int]:
    node, _, port = name.partition(":")
    return node, int(port or 0)


def test_log_and_slider_go_together(chromium: Browser, shown: FrameColumns):
    last = "$$('#log li').at(-1).textContent"
    for frame in (30, 3):
        go(chromium, frame)
        assert chromium.ask(last).startswith(f"{shown.time_s[frame] * 1e3:.3f} ms")
    first = "$('#log li').textContent"
    moment = chromium.ask(first).split(" ")[0]
    chromium.ask("$('#log li button').click()")
    drawn(chromium)
    assert chromium.ask("$('#time').textContent") == f"{moment} ms"


@pytest.mark.parametrize("dark", [False, True])
def test_phone_needs_no_sideways_scroll(chromium: Browser, large: tuple[Path, FrameColumns], dark):
    load_saved(chromium, large[0], 390, 800, dark)
    chromium.ask("$('#ports tbody button').click()")
    drawn(chromium)
    assert chromium.ask("document.documentElement.scrollWidth") <= 390
    assert chromium.complaints == []
