"""The dumbbell's plan, checks and story, on a recording made by the paper's fluid model."""

import dataclasses

import numpy as np
import pytest
from fluid import fluid

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.series import Series
from pcn.experiments.data.steady_state import aggregate_rate, steady_state
from pcn.experiments.define import scheme_parameters
from pcn.experiments.define.checks import Check, at_least, at_most, near
from pcn.experiments.papers import SCENARIOS
from pcn.hosts.algorithms import schemes
from pcn.hosts.algorithms.pcn import PcnParameters
from pcn.hosts.recommended import round_trip_s

DUMBBELL = SCENARIOS["dumbbell"]


def plan(*settings: str, scheme: str = "pcn") -> Plan:
    return DUMBBELL.plan(
        scheme, 1, scheme_parameters.settings(DUMBBELL, [scheme], settings)[scheme]
    )


def checks(run_plan: Plan, **changes) -> dict[str, Check]:
    recording = dataclasses.replace(fluid(run_plan), **changes)
    return {
        check.what.split(",")[0].split(" (")[0]: check
        for check in DUMBBELL.settled(run_plan, recording)
    }


def test_the_defaults_are_those_of_section_7_1():
    run_plan = plan()
    assert len(run_plan.topology.flows) == 4
    assert [flow.src for flow in run_plan.topology.flows] == ["h0", "h0", "h1", "h2"]
    assert str(run_plan.bottleneck) == "s0:4"
    assert run_plan.capacity_bps == 10e9
    assert run_plan.topology.max_rtt_s() == pytest.approx(500e-6)
    period_s = round_trip_s(run_plan.topology)
    assert period_s == pytest.approx(500e-6, rel=6e-3)
    assert run_plan.scheme_parameters == dataclasses.asdict(
        PcnParameters(w_min=0.025, period_s=float(f"{period_s:.12g}"))
    )
    assert run_plan.values["xoff"] == 512_000
    assert run_plan.values["xon"] == 512_000 - 2 * 1058
    assert run_plan.steady_from_s == pytest.approx(run_plan.duration_s * 2 / 3)


def test_derived_parameters_follow_those_they_come_from():
    run_plan = plan("pairs=7", "rtt=100us", "xoff=100KB", "payload=500B")
    assert run_plan.values["w_min"] == pytest.approx(0.1 / 8)
    assert run_plan.values["T"] == pytest.approx(round_trip_s(run_plan.topology, 500))
    assert run_plan.values["xon"] == 100_000 - 2 * 558
    assert str(run_plan.bottleneck) == "s0:8"
    assert run_plan.topology.parameters["xoff_bytes"] == 100_000


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("xon=600KB",), "xon must be below xoff"),
        (("w_min=0.5", "w_max=0.1"), "pcn: w_min = 0.5 and w_max = 0.1: w_min <= w_max must hold"),
    ],
)
def test_parameters_that_do_not_go_together(settings, message):
    with pytest.raises(ExperimentError, match=message):
        plan(*settings)


def test_schemes_without_parameters_get_none():
    assert plan(scheme="pfc").scheme_parameters == {}


def test_the_fluid_model_reaches_capacity_in_about_one_loop_and_fills_the_link():
    rows = checks(plan())
    capacity = rows["sum of the sending rates first at capacity"]
    assert capacity.verdict == "met"
    assert capacity.measured is not None
    assert 0.5 <= capacity.measured <= 2
    assert rows["mean sum of the rates from then until the queue is drained"].verdict == "met"
    assert rows["bottleneck utilisation"].verdict == "met"
    assert rows["packets lost"].verdict == "met"


def test_a_drain_that_takes_the_theory_s_time_misses_the_paper_s():
    drain = checks(plan("T=500us"))["initial queue down to five packets"]
    assert drain.paper == 7.5
    assert drain.theory == pytest.approx(40.5)
    assert drain.measured == pytest.approx(37, abs=5)
    assert drain.verdict == "not met"


def test_lost_packets_and_full_registers_are_not_met():
    run_plan = plan()
    flows = tuple(
        flow._replace(received_packets=flow.sent_packets - 1) for flow in fluid(run_plan).flows
    )
    rows = checks(run_plan, flows=flows, left_inside={"s0:4 class 3 pn": 2})
    assert rows["packets lost"].measured == 4
    assert rows["packets lost"].verdict == "not met"
    assert rows["switch registers not back at 0 after the drain"].verdict == "not met"


def test_packets_received_twice_are_no_result_either():
    run_plan = plan()
    flows = tuple(
        flow._replace(received_packets=flow.sent_packets + 1) for flow in fluid(run_plan).flows
    )
    assert checks(run_plan, flows=flows)["packets lost"].verdict == "not met"


def test_a_run_too_short_to_drain_is_not_comparable():
    rows = checks(plan("duration=5ms"))
    assert rows["initial queue down to five packets"].verdict == "not comparable"


def test_flows_of_one_host_count_up_to_its_nic():
    run_plan = plan()
    times, total = aggregate_rate(fluid(run_plan), run_plan.topology)
    assert times[0] == 0
    assert total[0] == pytest.approx(30e9)


@pytest.mark.parametrize("scheme", sorted(schemes))
def test_story_names_every_figure(scheme):
    recording = fluid(plan())
    run_plan = plan(scheme=scheme)
    steady = steady_state(
        recording, run_plan.bottleneck, run_plan.capacity_bps, run_plan.steady_from_s
    )
    texts = [*DUMBBELL.page.about(run_plan), *DUMBBELL.page.story(run_plan, recording, steady)]
    charts = {draw(run_plan, recording).name for draw in DUMBBELL.page.charts}
    assert {place for place, _ in texts} == {"topology", "checks"} | charts


def test_the_text_has_the_sum_that_was_measured():
    """As the model has it in the fluid recording; well below it where the flows send less."""
    run_plan = plan()
    recording = fluid(run_plan)
    for share, words in (
        (1.0, "In this run it is 9.75 Gbit/s on average"),
        (0.5, "is 4.88 Gbit/s on average"),
    ):
        slower = dataclasses.replace(recording, series=with_lower_rates(recording.series, share))
        steady = steady_state(
            slower, run_plan.bottleneck, run_plan.capacity_bps, run_plan.steady_from_s
        )
        story = " ".join(
            text
            for place, text in DUMBBELL.page.story(run_plan, slower, steady)
            if place == "rates"
        )
        assert words in story
        assert ("counts a part of a period" in story) == (share < 1)


def with_lower_rates(series: Series, share: float) -> Series:
    """All sending rates after 1 ms, multiplied by a factor."""
    lowered = Series()
    for entity, metric in series:
        times, values = series.get(entity, metric)
        lower = np.where(times >= 0.5e-3, share, 1.0) if metric == "rate_bps" else 1.0
        lowered.extend(times, entity, metric, values * lower)
    return lowered


def test_verdicts():
    assert [at_most(2, 40)(value) for value in (2, 2.1, 40, None)] == [
        "met",
        "trend",
        "not met",
        "not comparable",
    ]
    assert [at_least(0.97, 0.9)(value) for value in (0.97, 0.96, 0.9)] == [
        "met",
        "trend",
        "not met",
    ]
    assert [near(10, 0.05)(value) for value in (10.5, 10.6, 19, 21)] == [
        "met",
        "trend",
        "trend",
        "not met",
    ]
    assert [near(10, 0.05)(value) for value in (9.5, 9.4, 5, 4.9)] == [
        "met",
        "trend",
        "trend",
        "not met",
    ]
    assert [near(10, 0.05)(None), at_least(1)(None)] == ["not comparable"] * 2
