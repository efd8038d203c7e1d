"""The card of the congestion tree and groups that unfold, in a real browser: each is what the run's
own files have."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import forks
import numpy as np
import pytest
from browser import Browser
from pages import drawn, go, load_saved, rows

from pcn.experiments.data import parquet
from pcn.experiments.results.stored_run import KeptRun, read_run
from pcn.experiments.runner import run
from pcn.topologies.lookup import find_topology
from pcn.web.history import History
from pcn.web.members import MOST_FLOWS, members
from pcn.web.recorded import described, one_file, recorded

FACTS = "$('#facts').innerText"


@pytest.fixture(scope="module")
def victim(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("tree") / "pfc"
    run("victim", scheme="pfc", clock="virtual", settings=["duration=4ms"], out=place)
    return place


@pytest.fixture(scope="module")
def traffic(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("groups") / "pcn"
    words = "--scheme pcn --clock virtual --topology fat-tree --workload W1 --set count=400 -q"
    done = forks.run("pcn", "run", "traffic", *words.split(), "--out", str(place))
    assert (done.returncode, done.stderr) == (0, "")
    return place


@pytest.fixture
def page(chromium: Browser) -> Iterator[Browser]:
    yield chromium
    assert chromium.complaints == []


def shown(page: Browser, place: Path):
    file = place.parent / "page.html"
    file.write_text(one_file(recorded(place)), encoding="utf-8")
    load_saved(page, file, 1280)


def held_ends(run: KeptRun) -> dict[str, np.ndarray]:
    """Returns for each end that a PAUSE holds in some frame whether it does in each of them."""
    held: dict[str, list[bool]] = {}
    for frame in run.frames():
        for port in frame["ports"]:
            node, number = port["port"].split(":")
            peer = run.topology.peer(node, int(number))
            held.setdefault(port["port"], []).append(port["paused"])
            if run.topology.is_host(peer.node):
                held.setdefault(str(peer), []).append(port["pausing"])
    return {end: np.array(values) for end, values in held.items() if any(values)}


def since(held: np.ndarray, at: int) -> tuple[int, bool]:
    """Returns the frame from which an end is held, except in breaks of one frame, and whether there
    are such."""
    first = at
    while first > 0 and (held[first - 1] or (first > 1 and held[first - 2])):
        first -= 1
    return first, not held[first : at + 1].all()


def named_ends(step: str) -> Iterator[tuple[list[str], str]]:
    """Yields the ends that a step of the card names together, and since when."""
    for part in step.rstrip(".").split("; "):
        switch = re.search(r"(s\d+) \((s\d+:\d+)\) (.*)", part)
        if switch:
            yield [switch[2]], switch[3]
            continue
        numbers: list[int] = []
        match = re.fullmatch(r".*?((?:h\d+(?: to |, |,? ))+)(.*)", part)
        assert match, part
        names, when = match.groups()
        for first, last in re.findall(r"h(\d+)(?: to h(\d+))?", names):
            numbers += range(int(first), int(last or first) + 1)
        yield [f"h{number}:0" for number in numbers], when


def test_card_names_every_end_of_the_tree_since_when(page: Browser, victim: Path):
    """Also in frames in which a PAUSE has a break, or its RESUME is under way."""
    shown(page, victim)
    run = read_run(victim)
    frames, held = list(run.frames()), held_ends(run)
    ports = [{port["port"]: port for port in frame["ports"]} for frame in frames]
    under_way = [
        at
        for at, frame in enumerate(ports)
        if frame["s0:3"]["paused"] and not frame["s1:1"]["pausing"]
    ]
    assert under_way, "a RESUME that s0 doesn't have yet"
    times = [frame["time_s"] * 1e3 for frame in frames]
    breaks = 0
    for at in range(len(frames)):
        now = {end for end, values in held.items() if values[at]}
        if not now:
            continue
        go(page, at)
        text = page.ask(FACTS)
        if now != {"s0:3"} and not any(end.startswith("s0") for end in now):
            assert "is 1 link deep" in text
        assert "It starts at s1" in text
        steps = re.findall(r"^\d\. (.*)$", text, re.MULTILINE)
        assert "s0:3" not in now or steps[0].startswith("it holds s0 (s0:3) ")
        named: set[str] = set()
        for ends, when in (pair for step in steps for pair in named_ends(step)):
            assert named.isdisjoint(ends)
            named |= set(ends)
            spells = [since(held[end], at) for end in ends]
            assert f"since {times[min(first for first, _ in spells)]:.3f} ms" in when
            assert ("on and off" in when) == any(broken for _, broken in spells)
            breaks += any(broken for _, broken in spells)
            assert ends == sorted(ends, key=lambda end: int(end[1:].split(":")[0]))
            assert len(ends) == 1 or f"{len(ends)} hosts, " in text
        assert named == now
        # No child is older than what holds its switch
        if {"h0:0", "s0:3"} <= now:
            assert since(held["h0:0"], at)[0] >= since(held["s0:3"], at)[0]
            # F0 crosses s1 as the bursts do, by another port, which has no queue
            assert "Victims, which it stops though they cross no long queue of s1: flow 0" in text
    assert breaks > 3


def test_card_of_the_widest_tree_sums_up_hosts(page: Browser, victim: Path):
    shown(page, victim)
    text = page.ask(FACTS)
    assert "The tree of s1 is 2 links deep" in text
    assert "it holds s0 (s0:3) since 0.300 ms; 14 hosts, h2 to h15, since 0.200 ms" in text
    assert "then s0 holds 2 hosts, h0, h1, since 0.500 ms" in text
    state = page.ask("$('#state').textContent")
    assert state.endswith("where the page opens: most ends of links are held")
    go(page, 0)
    assert "where the page opens" not in page.ask("$('#state').textContent")


def crafted(page: Browser, place: Path, moments: Sequence[Mapping[str, Mapping[str, object]]]):
    """Shows frames of the compact topology, 0.1 ms apart: of each the ports that do something."""
    topology, history = find_topology("compact").build(), History()
    history.begin(described(topology, title="crafted", network=None, live=False, control=False))
    idle = {
        **dict.fromkeys(("queue_packets", "queue_bytes", "held_bytes", "pn", "lost"), 0),
        **dict.fromkeys(("rate_bps", "utilisation"), 0.0),
        **dict.fromkeys(("pauses_sent_per_s", "pauses_received_per_s"), 0.0),
        **dict.fromkeys(("paused", "pausing"), False),
        **dict.fromkeys(("up", "kept_pace"), True),
        **dict.fromkeys(("marked_share", "marked_ue_share")),
    }
    for number, ports in enumerate(moments, 1):
        rows = [{**idle, "port": name, **values} for name, values in ports.items()]
        moment = {"time_s": number * 1e-4, "over_s": 1e-4, "overload": None}
        history.add({**moment, "flows": [], "ports": rows})
    history.over("the end")
    (place / "page.html").write_text(one_file(history), encoding="utf-8")
    load_saved(page, place / "page.html", 1280)
    go(page, len(moments) - 1)


def test_card_names_the_port_that_built_a_tree_whose_queues_drained(page: Browser, tmp_path):
    full = {"s1:2": {"queue_bytes": 8_000_000}, "s1:1": {"pausing": True}}
    left = {"s0:3": {"paused": True, "queue_bytes": 500_000}, "s1:1": {"pausing": True}}
    lower = {"s1:2": {"queue_bytes": 7_500_000}}
    crafted(page, tmp_path, [full, {**left, **lower}, left])
    text = page.ask(FACTS)
    assert "It starts at s1" in text
    assert "this tree is left over: s1:2 built it, 8,000.0 KB at 0.100 ms" in text
    assert "it holds s0 (s0:3) since 0.200 ms" in text


def test_card_reports_a_circle_without_a_start(page: Browser, tmp_path):
    crafted(page, tmp_path, [{"s0:3": {"paused": True}, "s1:1": {"paused": True}}])
    text = page.ask(FACTS)
    assert "PAUSE holds 2 ends of links" in text
    assert "It goes in a circle: each node that holds others is held itself" in text


def test_card_starts_at_a_host_that_pauses_its_switch(page: Browser, tmp_path):
    crafted(page, tmp_path, [{"s1:2": {"paused": True, "queue_bytes": 500_000}}])
    text = page.ask(FACTS)
    assert "It starts at r1, which holds a neighbour" in text
    assert "no sample has a queue of it" in text
    assert "it holds s1 (s1:2) since 0.100 ms or before" in text


def test_group_unfolds_into_its_slowest_flows(page: Browser, traffic: Path):
    shown(page, traffic)
    table = parquet.read(traffic / "flows.parquet")
    sizes, slowdowns = np.array(table["size"]), np.array(table["slowdown"])
    go(page, 1)
    name = page.ask("$('#flows tbody tr').dataset.id")
    page.ask("$('#flows tbody button').click()")
    drawn(page)
    mine = np.flatnonzero(sizes == name)
    order = mine[np.argsort(-slowdowns[mine], kind="stable")][:MOST_FLOWS]
    unfolded = rows(page, "facts-table")
    ids = "$$('#facts-table tbody tr').map(row => row.dataset.id)"
    names = json.loads(page.ask(f"JSON.stringify({ids})"))
    assert names == [str(table["id"][place]) for place in order]
    for place, name in zip(order, names, strict=True):
        row = unfolded[name]
        assert (row["src"], row["dst"]) == (table["src"][place], table["dst"][place])
        assert row["slowdown"] == pytest.approx(slowdowns[place], rel=1e-5)
        assert row["fct_s"] == pytest.approx(table["fct_s"][place], rel=1e-5)
    text = page.ask(FACTS)
    assert f"{mine.size} flows" in text
    assert re.search(r"up to 10 KB|10 to 100 KB|100 KB to 1 MB|above 1 MB", text)
    page.ask("$('#facts-table tbody button').click()")
    drawn(page)
    slowest = order[0]
    text = page.ask(FACTS)
    assert f"From {table['src'][slowest]} to {table['dst'][slowest]}" in text
    assert f"{slowdowns[slowest]:.2f} times what the empty network takes" in text


def test_banner_of_the_end_is_at_the_last_frame_alone(page: Browser, victim: Path):
    shown(page, victim)
    state = "$('#state').textContent"
    last = int(page.ask("$('#slider').max"))
    for frame in (0, last, last - 1):
        go(page, frame)
        expected = (
            "the end of the recording" if frame == last else f"frame {frame + 1} of {last + 1}"
        )
        assert page.ask(state) == expected


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 100])
def test_flows_that_no_run_wrote_are_left_out(tmp_path, content):
    (tmp_path / "flows.parquet").write_bytes(content)
    assert members(tmp_path, frozenset({"h0"})) == {}


def test_flows_between_foreign_nodes_are_left_out(traffic: Path):
    assert members(traffic, frozenset()) == {}
    groups = members(traffic, frozenset(f"h{number}" for number in range(16)))
    assert sum(group["count"] for group in groups.values()) == 400
    assert json.loads(json.dumps(groups)) == groups
