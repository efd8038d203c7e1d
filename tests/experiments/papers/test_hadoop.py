"""Fig. 12's and 13's flows have the documented load, and the shares of R1's link follow from
counts."""

import numpy as np
import pytest

from pcn.experiments.data.recording import FlowRecord, Recording
from pcn.experiments.data.series import Series
from pcn.experiments.papers.pcn.figures import hadoop


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("bursts_load", [0.3, 0.5])
def test_each_group_brings_its_load(seed, bursts_load):
    flows = hadoop.hadoop_plan("pcn", seed, bursts_load=bursts_load).topology.flows
    assert [flow.id for flow in flows] == list(range(len(flows)))
    for group, load in (("h0", 0.3), ("h1", 0.3), ("bursts", bursts_load)):
        frames = sum((flow.size_bytes or 0) * 1.058 for flow in flows if flow.group == group)
        assert frames * 8 / hadoop.ARRIVALS_S / 40e9 == pytest.approx(load, rel=0.051)


def shared(h1_bps: float, bursts_bps: float) -> Recording:
    """One flow of H1's all the time, three of the bursts' from 100 to 300 ms; H1's has the link
    before and after."""
    series = Series()
    times = np.arange(0.0, hadoop.DURATION_S + 1e-9, 1e-3)
    both = (times >= 0.1) & (times < 0.3)
    for group, rates in (
        ("h1", np.where(both, h1_bps, 40e9)),
        ("bursts", np.where(both, bursts_bps, 0.0)),
    ):
        series.extend(
            times,
            group,
            "received_bytes",
            np.concatenate(([0.0], np.cumsum(rates[:-1]) * 1e-3 / 8)),
        )
    flows = [FlowRecord(0, "h1", "r1", 0.0, 0, 0, 0, 0, 0, "h1")]
    flows += [
        FlowRecord(n, f"h{n + 1}", "r1", 0.1, 0, 0, 0, 0, 0, "bursts", fct_s=0.2) for n in (1, 2, 3)
    ]
    return Recording(series, tuple(flows), {}, {}, {}, 1.0, hadoop.DURATION_S, 1.0)


@pytest.mark.parametrize(
    ("h1_bps", "bursts_bps", "share"), [(10e9, 30e9, 1.0), (5e9, 35e9, 0.5), (20e9, 20e9, 2.0)]
)
def test_a_fair_share_counts_flows_while_there_are_both(h1_bps, bursts_bps, share):
    # a bin at an end
    assert hadoop.h1_of_fair_share(shared(h1_bps, bursts_bps)) == pytest.approx(share, rel=0.05)


@pytest.mark.parametrize(("bursts_bps", "share"), [(2.9e9, 1.0), (3.1e9, 0.0)])
def test_slow_is_the_share_of_flows_time_below_a_gigabit_each(bursts_bps, share):
    assert hadoop.slow_share(shared(30e9, bursts_bps), "bursts") == pytest.approx(share, abs=0.01)


def test_without_bursts_there_is_nothing_to_share():
    alone = shared(10e9, 30e9)
    assert (
        hadoop.h1_of_fair_share(Recording(alone.series, alone.flows[:1], {}, {}, {}, 1.0, 1.0, 1.0))
        is None
    )
