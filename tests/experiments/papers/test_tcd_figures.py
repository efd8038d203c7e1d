"""TCD's figures: what short runs show, and that verdicts come from the numbers."""

import numpy as np
import pytest
from short_plans import until

from pcn.experiments.define import recording_numbers
from pcn.experiments.define.experiment import Run
from pcn.experiments.define.flows_by_size import FLOWS
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.define.samples import RunSamples, Samples
from pcn.experiments.papers.tcd.claims import DCQCN, DCQCN_TCD, IBCC, IBCC_TCD, RED, TCD
from pcn.experiments.papers.tcd.fig11 import Fig11
from pcn.experiments.papers.tcd.fig12 import CONGESTION, SEVERAL, SINGLE, Fig12
from pcn.experiments.papers.tcd.fig15b import BURSTS, Fig15b
from pcn.experiments.papers.tcd.fig16 import HADOOP_EVEN, Fig16
from pcn.experiments.papers.tcd.infiniband import Table3InfiniBand
from pcn.experiments.papers.tcd.plans import (
    ARRIVALS_S,
    BURSTING,
    LINE_BPS,
    SENDER_BPS,
    victims_plan,
)
from pcn.experiments.papers.tcd.table3 import Table3
from pcn.experiments.papers.tcd.undetermined import Undetermined
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.sweep.run_task import outcome_of
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import EVEN, POLARISED, FlowSpec


@pytest.mark.parametrize("experiment", [Fig11(), Fig12()])
def test_states_and_marks_are_the_paper_s(experiment):
    """Whole figures, which are short: every row is met."""
    outcomes = Outcomes([outcome_of(experiment, run) for run in experiment.runs((TCD, RED))])
    checks = experiment.checks(outcomes)
    assert len(checks) > 4
    assert {check.verdict for check in checks} == {"met"}


@pytest.mark.parametrize(("rate", "verdict"), [(10e9, "met"), (1e9, "not comparable")])
def test_a_run_too_short_for_its_links_settles_nothing(rate, verdict):
    """Queues of 320 KB take ten times as long to fill."""
    plan = Undetermined().plan(TCD, 1, {"rate": rate})
    checks = Undetermined().settled(plan, run_virtual(plan, Silent()))
    assert {check.verdict for check in checks if check.claim} == {verdict}


@pytest.mark.parametrize("points", [SINGLE, SEVERAL])
def test_with_more_looks_than_there_is_time_for_nothing_is_congested(points):
    """Not even where it is to be."""
    arguments = {"several": points == SEVERAL, "looks": 255}
    numbers = outcome_of(Fig12(), Run({"points": points}, TCD, arguments=arguments)).numbers
    assert str(CONGESTION) not in f"{numbers['P2 order']:.0f}"


def test_victims_aren_t_taken_for_congested():
    by_scheme = {}
    for scheme, alpha in ((DCQCN, 0.5), (DCQCN_TCD, 1.2)):
        run = Run({"scheme": scheme}, scheme, 1, {"bursts_load": 0.5, "initial_alpha": alpha})
        by_scheme[scheme] = outcome_of(until(Table3(), 60e-3), run).numbers
    marked, spared = (by_scheme[scheme]["ce_share"] or 0.0 for scheme in (DCQCN, DCQCN_TCD))
    assert marked > 0.1
    assert spared < 0.01
    assert (by_scheme[DCQCN_TCD]["ue_share"] or 0.0) > 0.05
    assert (by_scheme[DCQCN_TCD]["mean_us"] or 1e9) < (by_scheme[DCQCN]["mean_us"] or 0)
    assert by_scheme[DCQCN]["lost"] == by_scheme[DCQCN_TCD]["lost"] == 0


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("load", [0.3, 0.65])
def test_what_is_offered_is_the_load(seed, load):
    plan = victims_plan("x", DCQCN, seed, {"bursts_load": load})
    for hosts, offered in (
        (("s0",), 0.6 * SENDER_BPS),
        (("s1",), 0.6 * SENDER_BPS),
        (BURSTING, load * LINE_BPS),
    ):
        sizes = [flow.size_bytes or 0 for flow in plan.topology.flows if flow.src in hosts]
        assert sum(sizes) * 1.058 * 8 / ARRIVALS_S == pytest.approx(offered, rel=0.051)
    starts: dict[float, set[int]] = {}
    for flow in plan.topology.flows:
        if flow.src in BURSTING:
            starts.setdefault(flow.start_s, set()).add(flow.size_bytes or 0)
    assert all(len(sizes) == 1 for sizes in starts.values())


def test_table_3_follows_its_numbers():
    def outcomes(dcqcn: float, tcd: float) -> Outcomes:
        keys = {"load": 0.5, "seed": 1}
        return Outcomes([
            Outcome({"scheme": DCQCN, **keys}, {"ce_share": dcqcn}),
            Outcome({"scheme": DCQCN_TCD, **keys}, {"ce_share": tcd}),
        ])  # fmt: skip

    def verdicts(dcqcn: float, tcd: float) -> list[str]:
        return [
            check.verdict for check in Table3().checks(outcomes(dcqcn, tcd)) if "0.5" in check.what
        ]

    assert verdicts(0.27, 0.0) == ["met", "met"]
    assert verdicts(0.15, 0.005) == ["trend", "trend"]
    assert verdicts(0.05, 0.05) == ["not met", "not met"]


@pytest.mark.parametrize("size_bytes", [1, 999, 1000, 1001, 2500, 40_000])
@pytest.mark.parametrize(("src", "dst"), [("h0", "h1"), ("h0", "h2"), ("h0", "h15")])
def test_in_the_empty_network_slowdown_is_1(src, dst, size_bytes):
    topology = fat_tree(4, 40e9, 4e-6)
    with VirtualNetwork(topology, find_scheme("pfc").configure(), payload_bytes=1000) as network:
        flow = network.add_flow(FlowSpec(1, src, dst, size_bytes=size_bytes), 0.0)
        assert network.run(until_s=0.01, finish=True)
        complete_s = flow.stats().complete_s
    assert complete_s == pytest.approx(
        recording_numbers.empty_fct_s(topology, src, dst, size_bytes, 1000), rel=1e-6
    )


def test_polarised_switches_choose_what_those_before_them_chose():
    """Flows that an edge switch sends to one of two aggregation switches are spread over that one's
    cores, or not."""
    used = {}
    for ecmp in (EVEN, POLARISED):
        with VirtualNetwork(
            fat_tree(4, ecmp=ecmp), find_scheme("pfc").configure(), payload_bytes=1000
        ) as network:
            for number in range(64):
                network.add_flow(FlowSpec(number, "h0", "h15", size_bytes=1000), 0.0)
            assert network.run(until_s=0.01, finish=True)
            cores = [network.link_stats(f"a{i}", port).packets for i in (0, 1) for port in (3, 4)]
        used[ecmp] = sum(packets > 0 for packets in cores)
    assert used == {EVEN: 4, POLARISED: 2}


def test_credits_victims_aren_t_taken_for_congested_either():
    by_scheme = {}
    for scheme in (IBCC, IBCC_TCD):
        run = Run({"scheme": scheme}, scheme, 1, {"bursts_load": 0.3})
        by_scheme[scheme] = outcome_of(until(Table3InfiniBand(), 60e-3), run).numbers
    marked, spared = (by_scheme[scheme]["ce_share"] or 0.0 for scheme in (IBCC, IBCC_TCD))
    assert marked > 0.05
    assert spared < 0.02
    assert (by_scheme[IBCC]["io_us"] or 0) > 2 * (by_scheme[IBCC_TCD]["io_us"] or 1e9)
    assert by_scheme[IBCC]["lost"] == by_scheme[IBCC_TCD]["lost"] == 0


def test_with_credits_marked_victims_pass_a_port_that_has_exactly_what_it_can_take():
    """S0's and S1's 20 + 20 Gbit/s do that, at times for longer than looks last; 19 + 19 don't."""
    marked = {}
    for sender_bps in (20e9, 19e9):
        run = Run({}, IBCC_TCD, 4, {"bursts_load": 0.3, "sender_bps": sender_bps})
        marked[sender_bps] = outcome_of(Table3InfiniBand(), run).numbers["ce_share"]
    assert 0.0 < (marked[20e9] or 0.0) < 0.01
    assert marked[19e9] == 0.0


def test_fig_15b_s_rows_and_story_follow_its_numbers():
    def outcomes(*gains: float) -> Outcomes:
        shares = {"ce_share": 0.0, "ue_share": 1.0}
        return Outcomes([
            Outcome({"scheme": scheme, "burst": size / 1e3, "seed": seed}, {"mean_us": mean_us,
            **shares})
            for size in BURSTS
            for seed, gain in enumerate(gains)
            for scheme, mean_us in ((DCQCN, 100.0 * gain), (DCQCN_TCD, 100.0))
        ])  # fmt: skip

    def slower(runs: Outcomes) -> list[str]:
        return [
            check.verdict
            for check in Fig15b().checks(runs)
            if "over" in check.what and "overload" not in check.what
        ]

    assert slower(outcomes(1.0, 1.1)) == ["met", "trend", "met", "met", "met"]
    assert slower(outcomes(1.3, 1.3)) == ["met"] * 5
    assert slower(outcomes(0.97, 0.97)) == ["trend"] * 5
    assert slower(outcomes(0.9, 0.9)) == ["not met"] * 5
    assert "1.2 to 1.4 times" in Fig15b().story(outcomes(1.4, 1.2))[0]


def test_fat_tree_figure_draws_all_seeds():
    """The 99% is that of both seeds' flows, and its ends are the least and the largest seed's."""

    def outcome(seed: int, slowdown: float) -> Outcome:
        sizes = np.full(200, 1e3)
        units = {unit: np.full(200, slowdown) for unit in ("ms", "slowdown")}
        samples = RunSamples("", {FLOWS: Samples.of([1e3], sizes, units)})
        keys = {"traffic": HADOOP_EVEN, "scheme": DCQCN, "alpha": 0.5, "seed": seed}
        return Outcome(keys, {}, samples=samples.to_json())

    (chart,) = Fig16().charts(Outcomes([outcome(1, 2.0), outcome(2, 6.0)]))
    (line,) = chart.lines
    assert line.counts == [400]
    assert (line.low.tolist(), line.y.tolist(), line.high.tolist()) == ([2.0], [6.0], [6.0])
