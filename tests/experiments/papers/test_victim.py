"""The victim scenario: its plan against the paper's Fig. 1, and what it shows, in virtual time."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series import Series
from pcn.experiments.define import scheme_parameters, theory
from pcn.experiments.define.experiment import Run
from pcn.experiments.define.outcomes import Outcomes
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.papers.pcn.scenarios.victim_measures import Measures, measure, paused_s
from pcn.experiments.papers.pcn.scenarios.victim_setting import attainable_bps, burst_s, ideal_bps
from pcn.experiments.papers.pcn.scenarios.victim_story import headlines
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.hosts.algorithms.pcn import PcnParameters

VICTIM = SCENARIOS["victim"]
Runs = Callable[[str], tuple[Plan, Recording]]


def plan(scheme: str = "pcn", *settings: str) -> Plan:
    return VICTIM.plan(scheme, 1, scheme_parameters.settings(VICTIM, [scheme], settings)[scheme])


@pytest.fixture(scope="module")
def runs() -> Runs:
    """A scheme's run in virtual time, made once."""
    by_scheme: dict[str, tuple[Plan, Recording]] = {}

    def run(scheme: str) -> tuple[Plan, Recording]:
        if scheme not in by_scheme:
            its = plan(scheme)
            by_scheme[scheme] = its, run_virtual(its, Silent())
        return by_scheme[scheme]

    return run


def verdicts(plan: Plan, recording: Recording) -> dict[str, str]:
    return {
        check.what.split(" (met")[0]: check.verdict for check in VICTIM.settled(plan, recording)
    }


def test_the_plan_is_figure_1():
    run_plan = plan()
    long = [flow for flow in run_plan.topology.flows if not flow.group]
    bursts = [flow for flow in run_plan.topology.flows if flow.group]
    assert [(flow.id, flow.src, flow.dst, flow.start_s) for flow in long] == [
        (0, "h0", "r0", run_plan.start_s),
        (1, "h1", "r1", run_plan.start_s),
    ]
    assert run_plan.start_s < 0
    assert len(bursts) == 14 * 16
    assert {(flow.dst, flow.start_s, flow.size_bytes, flow.rate_bps) for flow in bursts} == {
        ("r1", 0, 64_000, None)
    }
    assert {flow.src for flow in bursts} == {f"h{index}" for index in range(2, 16)}
    assert str(run_plan.bottleneck) == "s0:3"
    assert run_plan.values["xoff"] == 512_000
    assert run_plan.scheme_parameters == dataclasses.asdict(
        PcnParameters(w_min=0.05, phase_spread=0.0)
    )


def test_the_bursts_and_the_ideal_are_those_of_the_claims():
    run_plan = plan()
    payload_only = burst_s(run_plan) * run_plan.payload_bytes / run_plan.frame_bytes
    assert payload_only * 14 / 15 == pytest.approx(2.867e-3, rel=1e-3)  # 0.18
    # 0.19
    assert [rate / 1e9 for rate in ideal_bps(run_plan)] == pytest.approx([37.333, 2.667], abs=1e-3)
    assert theory.incast_duration(14, 14 * 16 * 64e3, 40e9, others=0) == pytest.approx(
        2.867e-3, rel=1e-3
    )


def test_with_pfc_alone_a_limiter_gives_each_its_fair_share():
    assert {flow.rate_bps for flow in plan("pfc").topology.flows if not flow.group} == {20e9}
    assert {flow.rate_bps for flow in plan("dcqcn").topology.flows} == {None}
    assert {flow.rate_bps for flow in plan("pcn", "limit=5G").topology.flows if not flow.group} == {
        5e9
    }


def test_dcqcn_s_tuning_is_the_usual_one_and_can_be_set_by_name():
    defaults = plan("dcqcn").scheme_parameters
    expected = {
        **{
            "k_min_bytes": 5e3, "k_max_bytes": 200e3, "p_max": 0.01, "g": 1 / 256, "f": 5,
            "initial_alpha": 1.0,
        },
        **{"r_ai_bps": 40e6, "r_hai_bps": 200e6, "rate_timer_s": 55e-6, "alpha_timer_s": 55e-6},
        **{"byte_counter_bytes": 10e6, "cnp_interval_s": 50e-6, "min_rate_bps": 1e6},
    }  # fmt: skip
    assert defaults == expected
    assert plan("dcqcn", "K_max=400KB", "R_AI=80M").scheme_parameters == {
        **expected,
        "k_max_bytes": 400e3,
        "r_ai_bps": 80e6,
    }


def test_parameters_that_do_not_go_together_are_refused():
    with pytest.raises(ExperimentError, match="xon must be below xoff"):
        plan("pcn", "xon=600KB")
    with pytest.raises(ExperimentError, match=r"w_min = 0.5 and w_max = 0.1: w_min <= w_max"):
        plan("pcn", "w_min=0.5", "w_max=0.1")
    with pytest.raises(
        ExperimentError, match=r"^duration=2 ms: the bursts alone take 3.2\d? ms: give a longer one"
    ):
        plan("pfc", "duration=2ms")


def test_pfc_alone_builds_the_tree_for_as_long_as_the_bursts_last(runs: Runs):
    plan, recording = runs("pfc")
    assert set(verdicts(plan, recording).values()) == {"met"}
    measures = measure(plan, recording)
    assert measures.tree_s == pytest.approx(3.1e-3, abs=0.15e-3)
    assert measures.f0_burst_bps < 4e9
    assert measures.f0_lost_burst_bytes == pytest.approx(
        (20e9 - measures.f0_burst_bps) * 3.25e-3 / 8, rel=0.01
    )
    assert measures.burst_fct_max_s == pytest.approx(burst_s(plan), rel=0.03)
    # after it, two limiters of 20 Gbit/s fill the link
    assert measures.trunk_after > 0.99


def test_loss_counts_against_what_a_limiter_allows(runs: Runs):
    """No network gives F0 more than its own limiter does: PFC alone holds it at 20 Gbit/s."""
    assert [rate / 1e9 for rate in attainable_bps(plan("pfc"))] == pytest.approx(
        [20, 2.667], abs=1e-3
    )
    assert attainable_bps(plan("pcn")) == ideal_bps(plan("pcn"))
    lines = headlines(*runs("pfc"), None)
    shown = {line.label: (line.value, line.beside) for line in lines}
    assert shown["F0 during the bursts"][1] == "its limiter: 20 Gbit/s"
    assert shown["F0 lost, of what it could have had"] == ("6.7 MB", "its limiter: 20 Gbit/s")
    lines = headlines(*runs("pcn"), None)
    (beside,) = (line.beside for line in lines if line.label.startswith("F0 lost"))
    assert beside == "ideal: 37.3 Gbit/s", "each row has what its loss counts against"


def test_pcn_builds_none_and_f0_fills_the_link(runs: Runs):
    plan, recording = runs("pcn")
    measures = measure(plan, recording)
    assert (measures.pause_trunk, measures.pause_senders, measures.tree_s) == (0, 0, 0)
    assert measures.f0_burst_bps > 0.9 * 37.333e9
    assert measures.f0_last_third_bps > 0.95 * 37.333e9
    assert measures.trunk_after > 0.95
    assert measures.half_life_s == pytest.approx(0.66e-3, rel=0.3)
    assert measures.full_s is not None
    assert measures.full_s < 1e-3
    assert "not met" not in verdicts(plan, recording).values()


def test_dcqcn_marks_and_cuts_the_innocent_and_is_long_in_mending_it(runs: Runs):
    plan, recording = runs("dcqcn")
    measures = measure(plan, recording)
    assert measures.f0_marked_burst
    assert measures.f0_rate_least_bps < 0.8 * measures.f0_rate_before_bps
    assert 0 < measures.tree_s < measure(*runs("pfc")).tree_s
    assert measures.full_s is not None
    assert 10e-3 < measures.full_s < 40e-3
    assert "not met" not in verdicts(plan, recording).values()


def test_the_schemes_are_ordered_as_in_the_paper(runs: Runs):
    def compared(*schemes: str) -> list[str]:
        outcomes = [
            VICTIM.measure(Run({"scheme": scheme}, scheme), *runs(scheme)) for scheme in schemes
        ]
        return [check.verdict for check in VICTIM.checks(Outcomes(outcomes))]

    assert compared("pfc", "dcqcn", "pcn") == ["met"] * 5
    assert compared("pcn") == []


def test_before_the_bursts_all_is_in_the_steady_state(runs: Runs):
    for scheme in ("pcn", "dcqcn"):
        plan, recording = runs(scheme)
        for entity in ("flow 0", "flow 1"):
            times, packets = recording.series.get(entity, "received_packets")
            first, last = np.interp([-2e-3, 0], times, packets)
            assert (last - first) * plan.frame_bytes * 8 / 2e-3 == pytest.approx(20e9, rel=0.12), (
                scheme,
                entity,
            )
    times, alpha = runs("dcqcn")[1].series.get("flow 0", "alpha")
    late, early = (
        alpha[(times > -2e-3) & (times < 0)].mean(),
        alpha[(times > -8e-3) & (times < -6e-3)].mean(),
    )
    assert late == pytest.approx(early, rel=0.15)
    assert 0.08 < late < 0.15


def test_story_names_every_figure_and_every_measure_is_a_number(runs: Runs):
    for scheme in ("pfc", "dcqcn", "pcn"):
        plan, recording = runs(scheme)
        places = {
            place
            for place, _ in [*VICTIM.page.about(plan), *VICTIM.page.story(plan, recording, None)]
        }
        charts = {draw(plan, recording).name for draw in VICTIM.page.charts}
        assert places <= charts | {"topology", "checks"}
        assert charts - {"queues"} <= places
        numbers = VICTIM.measure(Run({"scheme": scheme}, scheme), plan, recording).numbers
        assert set(numbers) == {field.name for field in dataclasses.fields(Measures)}


def test_a_link_counts_as_paused_in_each_bin_with_a_pause_or_a_held_link():
    series = Series()
    for time_s, pauses, held in (
        (0.0, 0, 0),
        (0.1e-3, 2, 0),
        (0.2e-3, 2, 1),
        (0.3e-3, 2, 0),
        (12e-3, 2, 0),
    ):
        series.add(time_s, "s1->s0", "pause", pauses)
        series.add(time_s, "s1->s0", "xoff", held)
    recording = Recording(series, (), {}, {}, {}, k=1, duration_s=12e-3, wall_s=0)
    assert paused_s(plan(), recording, ("s1->s0",)) == pytest.approx(0.2e-3)
