"""The studies of fairness: what their variants change, and what they read from runs."""

import pytest

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import FlowRecord, Recording
from pcn.experiments.data.series import Series
from pcn.experiments.define.experiment import Variant
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.pcn.plans import dumbbell_plan
from pcn.experiments.papers.pcn.studies.fairness import (
    FairnessRules,
    FairnessSweep,
    MarkingPoint,
    increases_by_packets,
    numbers,
)
from pcn.experiments.papers.pcn.variants import (
    AllMarked,
    BytesOverT,
    FirstWindowInFull,
    PresentRate,
    RoundedDown,
    WholeGaps,
)
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.hosts.algorithms import Cnp, Mark, NotificationPoint, Window
from pcn.hosts.algorithms.pcn import PcnParameters
from pcn.hosts.algorithms.pcn_x import PcnXParameters

T = 500e-6
FRAME = 1058
PCN, PCN_X = PcnParameters(period_s=T), PcnXParameters(w_min=0.025, period_s=T)


def window(packets: int, marked: int, first_s: float, last_s: float) -> Window:
    return Window(packets, marked, 0, packets * FRAME, first_s, last_s)


def cnp(np: NotificationPoint, of: Window) -> Cnp:
    notification = np.on_window(of)
    assert notification is not None
    return notification


def test_the_first_window_in_full():
    np = FirstWindowInFull(PCN)
    # Three packets, 50 us apart: 169 Mbit/s, though they came at the end of a period.
    assert cnp(np, window(3, 0, 400e-6, 500e-6)).rec_rate_bps == pytest.approx(FRAME * 8 / 50e-6)
    assert cnp(np, window(3, 0, 600e-6, 700e-6)).rec_rate_bps == pytest.approx(
        3 * FRAME * 8 / T, rel=0.01
    )


def test_whole_gaps_and_bytes_over_t_exchange_the_rates():
    windows = [window(2, 1, 100e-6, 300e-6), window(2, 2, 500e-6, 700e-6)]
    gaps = [cnp(np, window) for np in [WholeGaps(PCN)] for window in windows]
    over_t = [cnp(np, window) for np in [BytesOverT(PCN_X)] for window in windows]
    assert gaps[1].rec_rate_bps == pytest.approx(2 * FRAME * 8 / 400e-6, abs=1e6)
    assert over_t[1].rec_rate_bps == pytest.approx(2 * FRAME * 8 / T, abs=0.5e6)
    assert [gap.mark for gap in gaps] == [Mark.NONE, Mark.CE]  # PCN's decision
    assert [notification.mark for notification in over_t] == [
        Mark.NONE,
        Mark.CE,
    ]  # a credit of 0.5, then 1.5


def test_all_marked_decides_as_pcn_does():
    np = AllMarked(PCN_X)
    shares = [(9, 10), (9, 10), (10, 10), (19, 20), (0, 10)]
    decisions = [
        cnp(np, window(n, marked, k * T, (k + 0.9) * T)).mark is Mark.CE
        for k, (marked, n) in enumerate(shares)
    ]
    assert decisions == [False, False, True, True, False]


def test_rounded_down_is_at_most_what_arrived():
    np = RoundedDown(PCN_X)
    rate = cnp(np, window(5, 0, 100e-6, 400e-6)).rec_rate_bps
    assert 5 * FRAME * 8 / T - 1e6 < rate <= 5 * FRAME * 8 / T


def test_the_present_rate_takes_an_increase_back():
    rp = PresentRate(10e9, PCN_X)
    rp.on_cnp(Cnp(Mark.CE, 1e9), 0)
    before = rp.rate_bps
    rp.on_cnp(Cnp(Mark.NONE, before), 0)
    rp.on_cnp(Cnp(Mark.CE, before), 0)
    assert rp.rate_bps == pytest.approx(before * 0.975)


def test_increases_by_packets_counts_periods_of_the_measured_part():
    series = Series()
    for k in range(4000):
        packets, marked = (3, 3 if k % 4 else 2) if k % 2 == 0 else (20, 19)
        series.add(0.2, "flow 1", "window_packets", packets)
        series.add(0.2, "flow 1", "window_marked", marked)
    series.add(0.1, "flow 1", "window_packets", 3)
    series.add(0.1, "flow 1", "window_marked", 0)
    flow = FlowRecord(1, "h0", "r0", 0.0, 0, 0, 0, 0, 0)
    recording = Recording(series, (flow,), {}, {}, {}, 1.0, 0.3, 1.0)
    packets, shares = increases_by_packets(recording)
    assert (packets, shares) == ([3.0, 20.0], [0.5, 0.0])  # 19 of 20 are 95%


def test_increases_are_means_over_seeds_with_each_seed():
    curves = {
        1: ([1.0, 2.0, 3.0], [0.0, 0.2, 0.4]),
        2: ([2.0, 3.0], [0.4, 0.8]),
        3: ([2.0, 9.0], [0.6, 0.0]),
    }
    runs = [
        Outcome(
            {"setting": "pcn", "flows": 64, "seed": seed},
            {"packets": 1, "jain": 1},
            {"increases": of},
        )
        for seed, of in curves.items()
    ]
    increases = FairnessSweep().charts(Outcomes(runs))[0]
    assert [line.label for line in increases.lines] == ["64 flows"]
    (line,) = increases.lines
    assert line.x.tolist() == [2, 3]  # what half of the seeds have
    assert line.y.tolist() == pytest.approx([0.4, 0.6])
    assert line.seeds == [[0.2, 0.4, 0.6], [0.4, 0.8]]


def test_a_variant_changes_the_run_and_nothing_else_does():
    plan = dumbbell_plan("pcn", 1, 20e-3, {"flows": 16}, 1e-3)
    in_step = dumbbell_plan("pcn", 1, 20e-3, {"flows": 16, "phase_spread": 0.0}, 1e-3)

    def received(variant: Variant | None, plan: Plan = plan) -> list[int]:
        return [flow.received_packets for flow in run_virtual(plan, Silent(), variant).flows]

    plain = received(None)
    assert received(Variant()) == plain
    assert received(Variant(program="pcn_native")) == plain
    assert received(Variant(program="pcn_left_behind_native")) != plain
    assert received(Variant(program="pcn_waited_native")) != plain
    assert received(None, in_step) != plain


def test_studies_name_every_setting_they_run():
    for study, key in (
        (MarkingPoint(), "reading"),
        (FairnessSweep(), "setting"),
        (FairnessRules(), "setting"),
    ):
        runs = list(study.runs(("pcn", "pcn-x")))
        names = study.readings if isinstance(study, MarkingPoint) else study.settings
        assert {run.keys[key] for run in runs} == set(names)
        assert {run.keys["flows"] for run in runs} == set(study.flows)


def test_w_min_follows_the_number_of_flows():
    study = FairnessSweep()
    runs = {(run.keys["setting"], run.keys["flows"]): run for run in study.runs(("pcn",))}

    def plan(setting: str, flows: int) -> Plan:
        run = runs[setting, flows]
        return study.plan(run.scheme, run.seed, run.arguments)

    assert plan("w*4", 64).scheme_parameters["w_min"] == pytest.approx(0.4 / 64)
    assert plan("pcn", 64).scheme_parameters["w_min"] == pytest.approx(0.1 / 64)
    assert plan("w128", 64).scheme_parameters["w_min"] == pytest.approx(1 / 128)
    assert plan("rtt/5", 16).scheme_parameters["period_s"] == pytest.approx(100e-6)
    assert plan("rtt/5", 16).topology.max_rtt_s() == pytest.approx(100e-6)


def test_outcome_has_the_packets_of_a_fair_share_in_a_period():
    plan = dumbbell_plan("pcn", 1, 0.3, {}, 1e-3)
    measures = numbers(plan, run_virtual(plan, Silent()))
    assert measures["packets"] == pytest.approx(10e9 * T / 8 / FRAME / 4)
    assert measures["jain"] == pytest.approx(0.99, abs=0.02)
