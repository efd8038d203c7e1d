"""What becomes of the flows: completion times, slowdown over the empty network, PAUSE."""

import numpy as np
import pytest

from pcn.experiments.data import parquet
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.recording_numbers import EmptyPath, EmptyPaths
from pcn.experiments.run import flow_counts
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.traffic import flows, page, sizes
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import TrafficSpec
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.paths import Paths
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.clos import clos
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import FlowSpec


@pytest.mark.parametrize("dst", ["h1", "h20", "h40"])
def test_in_the_empty_network_the_slowdown_is_one(dst):
    """Links of 10 and 40 Gbit/s, by one, three or five of them; one flow after the other."""
    topology, apart_s = clos(pods=2), 1e-3
    sizes = (1, 999, 1000, 1001, 25_000, 25_003)
    with VirtualNetwork(topology, find_scheme("pfc").configure()) as network:
        flows = [
            network.add_flow(FlowSpec(i, "h0", dst, i * apart_s, size))
            for i, size in enumerate(sizes)
        ]
        network.run(until_s=len(sizes) * apart_s)
        complete_s = [flow.stats().complete_s for flow in flows]
    path = EmptyPath.of(topology, "h0", dst)
    assert complete_s == pytest.approx(
        [i * apart_s + path.fct_s(size, 1000) for i, size in enumerate(sizes)], abs=1e-11
    )


@pytest.mark.parametrize(
    ("topology", "dst"), [(clos(pods=2), "h40"), (fat_tree(k=4), "h15"), (fat_tree(k=4), "h1")]
)
def test_in_the_empty_network_no_sprayed_flow_is_faster_than_possible(topology, dst):
    """A short last packet takes another path than the one before it, and arrives first: along one
    path it would wait behind it. Never less than the least, and not much more."""
    apart_s = 1e-3
    sizes = (1, 1000, 1001, 1100, 1500, 2001, 3001, 4100, 25_003)
    lossless = {3: Reliability(Repeats.SELECTIVE, 10e-3, 1.0)}
    scheme = find_scheme("pfc").configure()
    with VirtualNetwork(
        topology, scheme, paths=Paths("packet", 16), reliability=lossless
    ) as network:
        flows = [
            network.add_flow(FlowSpec(i, "h0", dst, i * apart_s, size))
            for i, size in enumerate(sizes)
        ]
        network.run(until_s=len(sizes) * apart_s)
        fcts_s = [(flow.stats().complete_s or 0.0) - i * apart_s for i, flow in enumerate(flows)]
    spread = EmptyPaths(topology, spread=True).between("h0", dst)
    slowdowns = np.array(fcts_s) / spread.fcts_s(np.array(sizes), 1000)
    assert slowdowns.min() > 1 - 1e-6
    assert slowdowns.max() < 1.02
    single = np.array(fcts_s) / EmptyPath.of(topology, "h0", dst).fcts_s(np.array(sizes), 1000)
    assert (single.min() < 1 - 1e-4) == (dst != "h1")


def test_slowdown_of_a_spraying_scheme_is_over_all_paths():
    for scheme, spread in (("nscc", True), ("dctcp", False)):
        plan = Traffic(TrafficSpec("fat-tree", "W1", "permutation")).plan(
            scheme, 2, {"k": 4, "count": 200}
        )
        assert recording_numbers.sprays(plan) == spread
        if spread:
            recording = run_virtual(plan, Silent())
            assert np.nanmin(flows.ended(plan, recording).slowdown) >= 1 - 1e-6


def test_what_becomes_of_the_flows():
    traffic = Traffic(TrafficSpec("clos", "W1", "incast", options="lossless_classes=3,4"))
    plan = traffic.plan(
        "pfc", 2, {"pods": 1, "spines": 0, "count": 300, "xoff_bytes": 50_000, "load": 0.8}
    )
    recording = run_virtual(plan, Silent())
    numbers = flows.numbers(plan, recording)
    assert numbers["unfinished all"] == 0
    assert (
        sum(numbers[f"flows {size}"] or 0 for size, _ in sizes.SIZES)
        == numbers["flows all"]
        == len(recording.flows)
    )
    slowest = numbers["p99_slowdown all"] or 0
    assert 1 <= (numbers["p50_slowdown all"] or 0) <= (numbers["p95_slowdown all"] or 0) <= slowest
    assert np.nanmin(flows.ended(plan, recording).slowdown) == pytest.approx(1, abs=1e-3)
    tiers = flows.pause_by_tier(recording)
    assert set(tiers) == {"l", "t"}
    assert tiers["t"] > 0
    assert sum(tiers.values()) == numbers["pause_frames"] == numbers["pause_frames class 3"]
    assert numbers["pause_frames class 4"] == 0
    assert traffic.settled(plan, recording)[0].verdict == "met"


def short_run() -> tuple[Traffic, Plan, Recording]:
    """Which ends before some of its long flows have arrived."""
    traffic = Traffic(TrafficSpec("clos", "W1", "incast"))
    plan = traffic.plan("pfc", 2, {"pods": 1, "spines": 0, "count": 300, "duration": 1e-3})
    return traffic, plan, run_virtual(plan, Silent())


def test_table_of_flows_is_equal_in_one_group_and_in_many(tmp_path, monkeypatch):
    """Records made in many parts, too; groups in which no flow has arrived have the same types."""
    tables = []
    for rows in (1, 2**16):
        monkeypatch.setattr(flows, "_GROUP_ROWS", rows)
        monkeypatch.setattr(flow_counts, "_AT_ONCE", rows)
        _, plan, recording = short_run()
        groups = list(flows.table(plan, recording))
        assert len(groups) == -(-len(recording.flows) // rows)
        if rows == 1:
            assert any(not group["finished"].any() for group in groups)
        path = tmp_path / f"{rows}.parquet"
        with path.open("wb") as file:
            parquet.write_groups(file, flows.table(plan, recording))
        tables.append((parquet.read(path), recording.flows))
    assert tables[0] == tables[1]
    assert tables[0][0]["id"] == [flow.id for flow in plan.topology.flows]


def test_run_that_ends_early_has_no_mean_of_those_that_arrived():
    traffic, plan, recording = short_run()
    numbers = flows.numbers(plan, recording)
    for size in ("all", *(name for name, _ in sizes.SIZES)):
        arrived = (numbers[f"flows {size}"] or 0) - (numbers[f"unfinished {size}"] or 0)
        for statistic, least in (
            ("mean", 1),
            ("p50", 2),
            ("p95", 20),
            ("p99", 100),
            ("p99.9", 1000),
        ):
            none = bool(numbers[f"unfinished {size}"]) or arrived < least
            assert all(
                (numbers[f"{statistic}_{unit} {size}"] is None) == none
                for unit in ("ms", "slowdown")
            )
    assert numbers["unfinished all"]
    check = traffic.settled(plan, recording)[-1]
    assert (check.verdict, check.measured) == ("not met", numbers["unfinished all"])
    (table,) = flows.table(plan, recording)
    missing = (~table["finished"]).sum(), table["fct_s"].to_pylist().count(None)
    assert missing == (numbers["unfinished all"],) * 2
    assert len(table["fct_s"]) == numbers["flows all"]
    chart = page.slowdown(plan, recording)
    assert min(float(line.y[-1]) for line in chart.lines) < 100 - 1e-9
    texts = " ".join(text for _, text in page.story(plan, recording, None))
    assert (
        f"{numbers['unfinished all']:.0f} of {numbers['flows all']:.0f} flows unfinished, so "
        "no mean" in texts
    )
    tile = page.headlines(plan, recording, None)[0]
    assert (tile.value, "unfinished" in tile.beside) == ("–", True)


@pytest.mark.parametrize("link", ["Tor->s0", "Tor:1->s0", "Tor12->s0", "Tor12:1->s0"])
def test_tier_is_the_name_without_number_and_port(link):
    assert flows.tier_of(link) == "Tor"
