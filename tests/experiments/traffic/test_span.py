"""Flows that start until a time, in place of a number of flows."""

import math

import pytest

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.define.flows_by_size import INCAST
from pcn.experiments.papers import find_experiment
from pcn.experiments.traffic.spec import PATTERNS, draw, parse_spec, sizes as sizes_of
from pcn.topologies.star import star

SPAN_S = 20e-3
MORE = {
    "sigma": 1.0,
    "on": 1e-4,
    "off": 1e-4,
    "incast_size": 1e5,
    "incast_load": 0.1,
    "incast_period": None,
}


@pytest.mark.parametrize(
    ("pattern", "arrivals"),
    [
        *((pattern, "") for pattern in PATTERNS),
        ("uniform", "lognormal"),
        ("uniform", "onoff"),
        ("permutation", "onoff"),
    ],
)
def test_flows_start_until_the_span_with_the_load(pattern, arrivals):
    spec, network = parse_spec("star", "W1", pattern, arrivals=arrivals), star(senders=8)
    rate_bps = network.link_at("h0", 0).rate_bps
    per_s = 0.5 * rate_bps * len(network.hosts) / (8 * sizes_of(spec).mean_bytes * 1058 / 1000)
    counts = []
    for seed in range(1, 5):
        flows = draw(spec, network, seed, 0.5, 1000, 1000, {**MORE, "span": SPAN_S})
        assert flows == draw(spec, network, seed, 0.5, 7, 1000, {**MORE, "span": SPAN_S}), (
            "whatever count is"
        )
        assert max(flow.start_s for flow in flows) < SPAN_S
        assert max(flow.start_s for flow in flows) > 0.9 * SPAN_S
        counts.append(len(flows))
    expected = per_s * SPAN_S
    assert sum(counts) / len(counts) == pytest.approx(expected, abs=12 * math.sqrt(expected))


def test_in_casts_come_until_the_span():
    spec = parse_spec("star", "W1", incast="3")
    for count in (0, 1000):
        flows = draw(
            spec, star(senders=8), 1, 0.2, count, 1000,
            {**MORE, "incast_period": 1e-3, "span": 10.5e-3},
        )  # fmt: skip
        starts = {flow.start_s for flow in flows if flow.group == INCAST}
        assert sorted(starts) == pytest.approx([number * 1e-3 for number in range(11)])
        assert any(flow.group != INCAST for flow in flows) == bool(count)


def test_plan_has_the_number_of_flows_that_start():
    traffic = find_experiment("traffic?topology=star&workload=W1&pattern=uniform")
    plan = traffic.plan("pcn", 1, {"span": 2e-3, "load": 0.4})
    assert plan.values["count"] == len(plan.topology.flows)
    assert traffic.plan("pcn", 1, plan.values).topology.flows == plan.topology.flows
    with pytest.raises(ExperimentError, match=r"flows start within 1e\+06 s: more than 4,194,304"):
        traffic.plan("pcn", 1, {"span": 1e6})
