"""Fig. 21: the pod, its flows, and that runs that stand still are counted and not taken for
losses."""

import functools

import pytest

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.pcn.claims import PCN, PFC
from pcn.experiments.papers.pcn.figures.fig21 import DCQCN, READINGS, TIMELY, Fig21
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.sweep.figures import judge

pytestmark = pytest.mark.long


@functools.cache
def pod() -> tuple[Plan, Recording]:
    """Without two pairs of links, under load, with PFC alone."""
    plan = Fig21().plan(PFC, 1, {"strands": 1, "load": 0.5, "duration": 50e-3})
    return plan, run_virtual(plan, Silent())


def test_a_pod_without_two_pairs_of_links_has_a_cycle_under_load():
    """PFC alone stands still within a tenth of the paper's time; the circle goes by both leaves and
    T1, T2."""
    plan, recording = pod()
    assert {switch.name for switch in plan.topology.switches} == {
        "t0", "t1", "t2", "t3", "l0", "l1",
    }  # fmt: skip
    assert (
        plan.topology.flows
        == Fig21().plan(TIMELY, 1, {"strands": 1, "load": 0.5, "duration": 50e-3}).topology.flows
    )
    deadlock = recording.deadlock
    assert 0 < deadlock.since_s < 50e-3
    assert {name.split("->")[0] for name, _ in deadlock.circle} <= {
        "t0", "t1", "t2", "t3", "l0", "l1",
    }  # fmt: skip
    assert any(name.startswith("l0") for name, _ in deadlock.circle)
    assert any(name.startswith("l1") for name, _ in deadlock.circle)
    outcome = Fig21().measure(next(Fig21().runs([PFC])), plan, recording)
    assert outcome.numbers["stands_still"] == 1
    assert outcome.numbers["since_ms"] == deadlock.since_s * 1e3


def test_what_is_on_its_way_when_flows_stop_may_end_in_a_deadlock_too():
    """The same flows, stopped shortly before they would have closed the circle: what they had sent
    closes it."""
    deadlock = pod()[1].deadlock
    plan = Fig21().plan(PFC, 1, {"strands": 1, "load": 0.5, "duration": deadlock.since_s - 100e-6})
    recording = run_virtual(plan, Silent())
    assert recording.deadlock.since_s > plan.duration_s
    assert str(recording.deadlock) in recording.notes


def outcomes(shares: dict[str, float]) -> list[Outcome]:
    """Ten runs each; those that stand still have frames on their way."""
    runs = []
    for reading in READINGS:
        for scheme, share in shares.items():
            for seed in range(10):
                stuck = seed < 10 * share
                numbers = {"stands_still": float(stuck), "lost": 500.0 * stuck, "inside": 0.0}
                if stuck:
                    numbers["deadlock_s"] = 0.1
                runs.append(Outcome({"reading": reading, "scheme": scheme, "seed": seed}, numbers))
    return runs


def test_verdicts_come_from_the_shares():
    good = judge(Fig21(), outcomes({PFC: 1.0, PCN: 0.0, DCQCN: 0.1, TIMELY: 0.9}))
    assert {check.verdict for check in good.checks} == {"met"}
    assert "packets lost, the 40 runs that end" in [check.what for check in good.checks]
    bad = Fig21().checks(Outcomes(outcomes({PFC: 0.5, PCN: 0.5, DCQCN: 0.3, TIMELY: 0.2})))
    assert {check.verdict for check in bad} == {"not met", "trend"}
    assert len([check for check in bad if check.verdict == "trend"]) == 1
