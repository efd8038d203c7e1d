"""DCTCP's, HPCC's and Swift's figures in runs of this tree: orders and bounds, not digits."""

from __future__ import annotations

import functools

import pytest

from experiments.define.experiment import Experiment
from experiments.define.outcomes import Key, Outcome, Outcomes
from experiments.papers.dctcp.fig13 import Fig13
from experiments.papers.dctcp.fig14 import LEAST_K, Fig14
from experiments.papers.dctcp.fig17 import GROUPS, Fig17, network
from experiments.papers.hpcc.eta import Eta
from experiments.papers.swift.target import EMPTY_S, Target, target_s
from experiments.run.progress import Silent
from experiments.run.virtual import run_virtual

pytestmark = pytest.mark.long


@functools.cache
def outcome(kind: type[Experiment], **keys: Key) -> Outcome:
    """Of the figure's run with these keys."""
    figure = kind()
    (run,) = (
        run for run in figure.runs(figure.schemes) if all(run.keys.get(name) == value for name, value in keys.items())
    )
    plan = figure.plan(run.scheme, run.seed, run.arguments)
    return figure.measure(run, plan, run_virtual(plan, Silent()))


def number(of: Outcome, name: str) -> float:
    value = of.numbers[name]
    assert value is not None
    return value


def test_dctcp_queue_of_two_flows_stays_at_k() -> None:
    of = outcome(Fig13)
    rows = Fig13().checks(Outcomes([of]))
    assert [row.verdict for row in rows] == ["met"] * 3
    assert 14 < number(of, "p5_packets") < number(of, "p50_packets") < number(of, "p95_packets") <= 23


def test_dctcp_loses_throughput_below_a_seventh_of_a_bandwidth_delay_product_alone() -> None:
    below, above = (number(outcome(Fig14, k=k), "utilisation") for k in (2, 13))
    assert 2 < LEAST_K < 13
    assert below < 0.99 < 0.999 < above


def test_dctcp_shares_two_bottlenecks_as_the_paper_orders_them() -> None:
    """S1 passes both, and has the least."""
    of = outcome(Fig17)
    first, second, third = (number(of, f"{group}_mbps") for group in GROUPS)
    assert first < 50 < third
    assert first + third == pytest.approx(100, rel=0.01)
    assert second == pytest.approx(475, rel=0.05)
    assert min(number(of, f"{group}_jain") for group in GROUPS) > 0.99


def test_network_of_two_bottlenecks_has_k_by_rate() -> None:
    topology = network()
    at = {(one.rate_bps, one.k_min_bytes) for switch in topology.switches for one in switch.ecn}
    assert at == {(1e9, 30e3), (10e9, 97.5e3)}
    assert {flow.dst for flow in topology.flows if flow.group != "S2"} == {"r0"}


def test_hpcc_carries_eta_with_steps_of_none_and_less_with_five() -> None:
    """Where a round trip has 12 ticks of the switches' clock."""
    none, five = (number(outcome(Eta, line=100.0, stage=stage, flows=8), "utilisation") for stage in (0, 5))
    assert none == pytest.approx(0.95, abs=0.01)
    assert five < none - 0.005


def test_swift_holds_the_round_trip_at_its_target() -> None:
    of = outcome(Target, ai=1.0, flows=16)
    assert number(of, "distance") < 0.02
    assert number(of, "rtt_us") > 2 * EMPTY_S * 1e6
    assert target_s(100) < target_s(10) < target_s(0.1) == pytest.approx(75e-6)
