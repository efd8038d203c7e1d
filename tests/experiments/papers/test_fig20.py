"""Fig. 20 and Table 3: flows by size into four priorities, and what that does to PAUSE and
completion times."""

from functools import cache

import pytest

from pcn.experiments.define.flow_sizes import W1, W2
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.pcn.figures.fig20 import Fig20
from pcn.experiments.papers.pcn.figures.realistic import (
    PRIORITIES,
    SIZES,
    TIERS,
    numbers,
    realistic_plan,
)
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual

pytestmark = pytest.mark.long

COUNT = 700


@cache
def run(scheme: str) -> dict[str, float | None]:
    """Some of W1's flows."""
    return numbers(run_virtual(Fig20().plan(scheme, 1, {"workload": 0, "count": COUNT}), Silent()))


def test_flows_are_sorted_by_table_1_s_classes():
    """The same flows for each scheme; each of Table 1's classes has a separate priority, the
    shortest the highest."""
    plan, timely_plan = (
        Fig20().plan(scheme, 2, {"workload": 1, "count": 500}) for scheme in ("pcn", "timely")
    )
    assert plan.topology.flows == timely_plan.topology.flows
    assert len(plan.topology.flows) >= 500
    ends = dict(zip(SIZES, (10e3, 100e3, 1e6, float("inf")), strict=True))
    for flow in plan.topology.flows:
        shortest = next(kind for kind, end in ends.items() if (flow.size_bytes or 0) <= end)
        assert (flow.group, flow.traffic_class) == (shortest, PRIORITIES[shortest])
    assert plan.topology.lossless_classes == (3, 4, 5, 6)
    alone = realistic_plan("x", "pcn", 2, W2, 500, by_priority=False)
    assert {flow.traffic_class for flow in alone.topology.flows} == {3}
    assert [flow.size_bytes for flow in alone.topology.flows] == [
        flow.size_bytes for flow in plan.topology.flows
    ]
    assert W1.classes[2].high == 1e6


def test_short_flows_are_kept_from_pauses_by_their_priority():
    for scheme in ("pcn", "dcqcn"):
        measures = run(scheme)
        assert measures["unfinished"] == 0
        assert (measures["pause S"], measures["pause M"]) == (0, 0)
        assert measures["pause"] == sum(measures[f"pause {tier}"] or 0 for tier in TIERS.values())
        assert measures["pause"] == sum(measures[f"pause {kind}"] or 0 for kind in SIZES)
        assert (measures["pause"] or 0) > 0
    assert run("pcn")["mean_ms S"] == pytest.approx(run("dcqcn")["mean_ms S"], rel=0.02)


def test_verdicts_come_from_the_numbers():
    def outcome(scheme: str, pause: float, time: float) -> Outcome:
        values = {f"pause {kind}": 0.0 for kind in ("S", "M")}
        values |= {
            "pause L": pause, "pause XL": pause, "mean_ms S": 0.04, "mean_ms all": time,
            "p99_ms all": time,
        }  # fmt: skip
        return Outcome({"workload": "W1", "scheme": scheme, "seed": 1}, values)

    good = [
        outcome("pcn", 10, 1),
        outcome("qcn", 1, 2),
        outcome("dcqcn", 20, 2),
        outcome("timely", 30, 3),
    ]
    assert {check.verdict for check in Fig20().checks(Outcomes(good))} == {"met"}
    bad = [outcome("pcn", 40, 4), *good[1:]]
    verdicts = {check.what: check.verdict for check in Fig20().checks(Outcomes(bad))}
    assert sorted(check for check, verdict in verdicts.items() if verdict == "met") == sorted(
        verdict
        for verdict in verdicts
        if " in S's" in verdict or " in M's" in verdict or verdict.startswith("W1: S's")
    )
