"""The paper's dumbbell (7.1) in virtual time: the figures that the paper, theory and the packet
model of the agents' own code have for it, and a result directory that the runner writes without
root."""

import json

import numpy as np
import pytest
from networks import dumbbell_network

from pcn.experiments.data import series_math
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.runner import run

PORT = ("s0", 4)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_convergence_and_steady_state(seed):
    """docs/choices.md: capacity after 0.85 to 1.1 ms, queue drained after 2.6 to 5.2 ms, Jain 0.98
    to 1.00."""
    with dumbbell_network(seed) as network:
        rates = network.sample(10e-6, [network.flow_rate(flow) for flow in network.flows])
        queue = network.sample(10e-6, [network.queue_packets(*PORT), network.queue_bytes(*PORT)])
        network.run(until_s=100e-3)
        received = np.array([flow.stats().received_payload for flow in network.flows.values()])
        network.run(until_s=150e-3)
        goodputs = (
            np.array([flow.stats().received_payload for flow in network.flows.values()]) - received
        )
        pause = sum(network.link_stats("s0", port).pause for port in (1, 2, 3))
        assert not any(flow.stats().out_of_order for flow in network.flows.values())
    # h0 has two flows, and one NIC of 10 Gbit/s
    total = (
        np.minimum(rates.values[:, 0] + rates.values[:, 1], 10e9)
        + rates.values[:, 2]
        + rates.values[:, 3]
    )
    reached = rates.times_s[np.argmax(total <= 10e9)]
    assert 0.8e-3 <= reached <= 1.7e-3
    full = np.argmax(queue.values[:, 0] > 1000)
    drained = queue.times_s[full + np.argmax(queue.values[full:, 0] <= 5)]
    assert 2.5e-3 <= drained <= 9e-3
    assert goodputs.sum() * 8 / 50e-3 * 1058 / 1000 > 0.97 * 10e9
    assert series_math.jain(list(goodputs)) > 0.97
    steady = queue.values[queue.times_s >= 100e-3, 1]
    assert 50e3 < steady.mean() < 130e3
    assert pause <= 4  # at the start, of the NIC with two flows


def test_a_run_writes_what_a_live_one_does(tmp_path):
    settings = ["duration=20ms"]
    place = run("dumbbell", clock="virtual", seed=3, settings=settings, out=tmp_path / "out")
    summary = json.loads((place / "summary.json").read_text())
    assert (summary["clock"], summary["k"], summary["seed"]) == ("virtual", 1, 3)
    assert summary["packets"]["lost"] == 0
    assert summary["packets"]["sent"] > 20_000
    assert all(flow["fct_s"] is None and flow["goodput_bps"] > 1e9 for flow in summary["flows"])
    assert summary["ports"]["s0:4"]["marked"] > 1000
    assert (place / "report.html").read_text().count("<svg") >= 1


def test_equal_seeds_give_equal_recordings():
    plan = SCENARIOS["dumbbell"].plan("pcn", 5, {"duration": 5e-3})

    class Quiet:
        def stage(self, text: str): ...
        def advance(self, share: float, text: str): ...

    first, second = run_virtual(plan, Quiet()), run_virtual(plan, Quiet())
    assert first.flows == second.flows
    assert list(first.series) == list(second.series)
    for key in first.series:
        for left, right in zip(first.series.get(*key), second.series.get(*key), strict=True):
            assert (left == right).all()
    assert first.left_inside == {}
