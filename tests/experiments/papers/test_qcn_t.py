"""QCN-T's figure, and the model of what ends a cycle: against its closed forms, and against
packets."""

import dataclasses
import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from short_plans import until

from pcn.experiments.data.series_math import jain
from pcn.experiments.define.experiment import Run
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.qcn_t.claims import QCN, QCN_T
from pcn.experiments.papers.qcn_t.convergence import Convergence
from pcn.experiments.papers.qcn_t.margin import EMPTY, Margin, margin_us
from pcn.experiments.papers.qcn_t.model import BYTES, TIME, slope
from pcn.experiments.sweep.run_task import outcome_of
from pcn.hosts.algorithms import ReactionPoint, find_scheme
from pcn.hosts.algorithms.qcn import QcnReactionPoint
from pcn.hosts.algorithms.qcn_t import QcnTReactionPoint
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.star import star

LINE_BPS = 1e9


def test_a_timer_alone_is_faster_and_calmer():
    by_scheme = {}
    for scheme in (QCN, QCN_T):
        run = Run({"scheme": scheme, "seed": 1}, scheme, 1, {"flows": 8})
        by_scheme[scheme] = outcome_of(until(Convergence(), 7.0), run).numbers
    for number, factor in (("fair_s", 0.5), ("queue_sd_kb", 0.8)):
        its, ours = by_scheme[QCN][number], by_scheme[QCN_T][number]
        assert its is not None
        assert ours is not None
        assert ours <= factor * its


def test_verdicts_follow_the_numbers():
    def outcome(scheme: str, flows: int, fair_s: float, deviation_kb: float) -> Outcome:
        numbers = {"fair_s": fair_s, "queue_sd_kb": deviation_kb, "jain": 0.99}
        return Outcome({"scheme": scheme, "flows": flows, "seed": 1}, numbers)

    outcomes = [outcome(QCN, 8, 4.0, 10.0), outcome(QCN_T, 8, 3.0, 7.0), outcome(QCN, 2, 1.0, 2.0)]
    checks = Convergence().checks(Outcomes([*outcomes, outcome(QCN_T, 2, 1.0, 4.0)]))
    assert [check.verdict for check in checks] == [
        "trend", "met", "not met", *["not comparable"] * 3, "met",
    ]  # fmt: skip


@pytest.mark.parametrize("by", [BYTES, TIME])
def test_shares_stay_shares_and_fairness_stays(by):
    assert np.allclose(slope(np.full(4, 0.25), 1.0, by), 0)
    assert math.isclose(slope(np.array([0.7, 0.2, 0.1]), 1.0, by).sum(), 0, abs_tol=1e-12)


@pytest.mark.parametrize(("by", "times"), [(BYTES, 1), (TIME, 2)])
def test_small_differences_fall_twice_as_fast_by_time(by, times):
    """As exp(-g N t), and exp(-2 g N t)."""
    difference = np.array([1e-6, -1e-6, 0, 0])
    assert np.allclose(slope(0.25 + difference, 0.3, by), -times * 0.3 * 4 * difference, atol=1e-11)


@pytest.mark.parametrize(("by", "gain"), [(BYTES, 4.0), (TIME, 1 / 1e-3)])
def test_a_flow_with_little_grows_in_proportion_to_it_by_bytes_alone(by, gain):
    """At g N of itself a second; and at g / s_i by time, 250 times as much here."""
    shares = np.array([0.333, 0.333, 0.333, 1e-3])
    assert slope(shares, 1.0, by)[-1] / shares[-1] == pytest.approx(gain, rel=0.02)


def packets_to_jain(
    scheme: str, start: list[float], index: float, seed: int, **fields: float
) -> float:
    """Seconds of simulated time, by packets and the schemes' own RPs: flows begin at these shares
    of the line, as if just notified. Jain's index is that of what arrives in 0.1 s."""
    rates = iter(start)
    its = find_scheme(scheme)

    def started(line_bps: float, parameters) -> ReactionPoint:
        rp = its.reaction_point(line_bps, parameters)
        assert isinstance(rp, QcnReactionPoint | QcnTReactionPoint)
        rp.rate_bps = rp.target_bps = next(rates) * line_bps
        rp.timer_s = parameters.timer_s
        if isinstance(rp, QcnReactionPoint):
            rp.due_bytes = int(parameters.byte_counter_bytes)
        return rp

    configured = dataclasses.replace(its, reaction_point=started).configure(fields)
    topology = star(len(start), 1, LINE_BPS, 5e-6)
    with VirtualNetwork(topology, configured, seed=seed) as network:
        for flow in topology.flows:
            network.add_flow(flow)
        before = [0] * len(start)
        while network.now_s < 20:
            network.run(until_s=network.now_s + 0.1)
            arrived = [flow.stats().received_payload for flow in network.flows.values()]
            if jain([now - then for now, then in zip(arrived, before, strict=True)]) >= index:
                break
            before = arrived
        return network.now_s


def time_to_jain(start: Sequence[float], index: float, gain: float, by: str) -> float:
    """How long it takes from these shares, of sum 1, to Jain's index; s. Fourth-order Runge-Kutta,
    of steps in which nothing changes by more than some hundredth."""
    shares, elapsed_s = np.array(start, float), 0.0
    step_s = 0.01 / (gain * shares.size)
    while jain(shares) < index:
        k1 = slope(shares, gain, by)
        k2 = slope(shares + k1 * step_s / 2, gain, by)
        k3 = slope(shares + k2 * step_s / 2, gain, by)
        k4 = slope(shares + k3 * step_s, gain, by)
        shares = shares + (k1 + 2 * k2 + 2 * k3 + k4) * step_s / 6
        elapsed_s += step_s
    return elapsed_s


@pytest.mark.parametrize("start", [[0.9, 0.1], [0.55, 0.15, 0.15, 0.15]])
def test_packets_even_out_faster_by_time_as_in_the_model(start):
    """Within a factor of 1.8: seeds differ by as much. All steps are of 0.5 Mbit/s, as the model
    has equal and small ones; the timer is as long as the byte counter's cycle at the fair share, so
    that g is the same."""
    model = [time_to_jain(start, 0.9, 1.0, by) for by in (BYTES, TIME)]
    fields = {"r_ai_bps": 0.5e6, "adaptive": 0.0, "keep_target": 0.0}
    timer = {"timer_s": 150e3 * 8 / (LINE_BPS / len(start))}
    seeds = (1, 2)
    by_bytes = statistics.fmean(
        packets_to_jain(QCN, start, 0.9, seed, r_hai_bps=0.5e6, **fields) for seed in seeds
    )
    by_time = statistics.fmean(
        packets_to_jain(QCN_T, start, 0.9, seed, **fields, **timer) for seed in seeds
    )
    assert model[0] / model[1] / 1.8 < by_bytes / by_time < model[0] / model[1] * 1.8
    assert by_bytes > 1.2 * by_time


def test_longer_delays_empty_qcn_s_queue_first():
    empty = {}
    for scheme in (QCN, QCN_T):
        run = Run({"scheme": scheme, "seed": 1}, scheme, 1, {"flows": 8, "delay_us": 600})
        numbers = outcome_of(Margin(), run).numbers
        empty[scheme] = numbers["empty"] or 0.0
        assert (numbers["utilisation"] or 0) > 0.9
    assert empty[QCN] > 2 * EMPTY
    assert empty[QCN_T] < EMPTY


def test_the_margin_ends_where_the_queue_first_runs_empty():
    def outcomes(shares: dict[int, float]) -> Outcomes:
        return Outcomes(
            Outcome({"scheme": QCN, "flows": 8, "delay_us": delay, "seed": 1}, {"empty": share})
            for delay, share in shares.items()
        )

    assert (
        margin_us(outcomes({50: 0.0, 100: 0.01, 150: 0.02, 200: 0.0}), scheme=QCN, flows=8) == 100
    )
    assert margin_us(outcomes({50: 0.5}), scheme=QCN, flows=8) is None
    assert margin_us(outcomes({}), scheme=QCN, flows=8) is None
