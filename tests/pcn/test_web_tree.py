"""The card of the congestion tree and groups that unfold, in a real browser: each is what the run's
own files have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import forks
import numpy as np
import pytest
from browser import Browser
from pages import drawn, go, load_saved, rows

from pcn.experiments.data import parquet
from pcn.experiments.results.stored_run import read_run
from pcn.experiments.runner import run
from pcn.web.members import MOST_FLOWS, members
from pcn.web.recorded import one_file, recorded

FACTS = "document.getElementById('facts').innerText"


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tree") / "pfc"
    run("victim", scheme="pfc", clock="virtual", settings=["duration=4ms"], out=place)
    return place


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("groups") / "pcn"
    words = "--scheme pcn --clock virtual --topology fat-tree --workload W1 --set count=400 -q"
    done = forks.run("pcn", "run", "traffic", *words.split(), "--out", str(place))
    assert (done.returncode, done.stderr) == (0, "")
    return place


@pytest.fixture
def page(chromium: Browser) -> Iterator[Browser]:
    yield chromium
    assert chromium.complaints == []


def shown(page: Browser, place: Path) -> None:
    file = place.parent / "page.html"
    file.write_text(one_file(recorded(place)), encoding="utf-8")
    load_saved(page, file, 1280)


def test_card_has_root_order_depth_and_victims_of_the_tree(page: Browser, victim: Path) -> None:
    shown(page, victim)
    frames = list(read_run(victim).frames())
    most = max(
        range(len(frames)),
        key=lambda at: sum(port["pausing"] + port["paused"] for port in frames[at]["ports"]),
    )
    go(page, most)
    text = page.ask(FACTS)
    ports = {port["port"]: port for port in frames[most]["ports"]}
    holds = {name.split(":")[0] for name, port in ports.items() if port["pausing"]}
    held = {name.split(":")[0] for name, port in ports.items() if port["paused"]}
    assert holds - held == {"s1"}
    assert "It starts at s1" in text
    assert "The tree of s1 is 2 links deep" in text
    order = re.findall(r"(h\d+|s0:\d+) since ([\d.]+) ms", text)
    assert {"h0", "h1"} < {name for name, _ in order}
    topology = read_run(victim).topology
    for name, since in order:
        node, _, number = name.partition(":")
        mine = topology.peer(node, int(number or 0))
        at = most
        while at and {port["port"]: port for port in frames[at - 1]["ports"]}[str(mine)]["pausing"]:
            at -= 1
        assert float(since) == pytest.approx(frames[at]["time_s"] * 1e3, abs=1e-3)
    # F0 crosses s1 as the bursts do, by another port, which has no queue
    assert "Victims, which it stops though they cross no long queue of s1: flow 0" in text


def test_group_unfolds_into_its_slowest_flows(page: Browser, traffic: Path) -> None:
    shown(page, traffic)
    table = parquet.read(traffic / "flows.parquet")
    sizes, slowdowns = np.array(table["size"]), np.array(table["slowdown"])
    go(page, 1)
    name = page.ask("document.querySelector('#flows tbody tr').dataset.id")
    page.ask("document.querySelector('#flows tbody button').click()")
    drawn(page)
    mine = np.flatnonzero(sizes == name)
    order = mine[np.argsort(-slowdowns[mine], kind="stable")][:MOST_FLOWS]
    unfolded = rows(page, "facts-table")
    ids = "[...document.querySelectorAll('#facts-table tbody tr')].map(row => row.dataset.id)"
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
    page.ask("document.querySelector('#facts-table tbody button').click()")
    drawn(page)
    slowest = order[0]
    text = page.ask(FACTS)
    assert f"From {table['src'][slowest]} to {table['dst'][slowest]}" in text
    assert f"{slowdowns[slowest]:.2f} times what the empty network takes" in text


def test_banner_of_the_end_is_at_the_last_frame_alone(page: Browser, victim: Path) -> None:
    shown(page, victim)
    state = "document.getElementById('state').textContent"
    last = int(page.ask("document.getElementById('slider').max"))
    for frame in (0, last, last - 1):
        go(page, frame)
        expected = (
            "the end of the recording" if frame == last else f"frame {frame + 1} of {last + 1}"
        )
        assert page.ask(state) == expected


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 100])
def test_flows_that_no_run_wrote_are_left_out(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "flows.parquet").write_bytes(content)
    assert members(tmp_path, frozenset({"h0"})) == {}


def test_flows_between_foreign_nodes_are_left_out(traffic: Path) -> None:
    assert members(traffic, frozenset()) == {}
    groups = members(traffic, frozenset(f"h{number}" for number in range(16)))
    assert sum(group["count"] for group in groups.values()) == 400
    assert json.loads(json.dumps(groups)) == groups
