"""When an agent was too late for the run to be a result, and which k is chosen."""

import dataclasses

import pytest

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.run import calibrate
from pcn.experiments.run.live import agent_errors, check_flows
from pcn.experiments.run.pace import TooFastError, how_it_fell_behind
from pcn.hosts.client import AgentError
from pcn.hosts.stats import AgentStats, SentFlow

PLAN = SCENARIOS["victim"].plan("pfc", 1, {"before": 1e-3, "duration": 9e-3})
K = 1000.0
PUNCTUAL = AgentStats(
    **{
        "name": "h0", "scheme": "pfc", "parameters": {}, "dilation": K, "line_rate_bps": 40e9,
        "now_s": 0.0,
    },
    **{
        "sent": (), "received": (), "pauses": (), "unknown_cnps": 0, "other_frames": 0,
        "bad_frames": 0,
    },
    **{
        "unusable_cnps": 0, "forgotten_sent": 0, "forgotten_received": 0, "control_drops": 0,
        "socket_drops": 0,
    },
    **{
        "send_retries": 0, "log_errno": 0, "log_lost": 0, "kept_pace": True, "worst_pace": 1.0,
        "lag_real_s": 0.0,
    },
    **{"late_real_s": 0.0, "cpu_s": 1.0, "realtime": True, "elapsed_real_s": 9.0},
)  # fmt: skip


def how(**changes: float) -> str | None:
    return how_it_fell_behind("h0", dataclasses.replace(PUNCTUAL, **changes), PLAN, K)


def test_lateness_is_judged_in_nominal_time():
    # 0.15 ms at k = 1000 are 0.15 s: of a second's window, or of one frame; a hundredth of the
    # run's 10 s in all
    assert how() is None
    assert how(worst_pace=0.86, late_real_s=0.14, lag_real_s=0.09) is None
    assert (
        how(worst_pace=0.84)
        == "the agent of h0 sent 84% of what it should have in its worst second"
    )
    assert how(late_real_s=0.16) == "a frame left the agent of h0 160 ms (real) late"
    assert how(lag_real_s=0.11) == "the agent of h0 fell 110 ms (real) behind"


def test_k_follows_from_the_load_within_the_plan_s_limits():
    packets_per_s = PLAN.live.load_bps / (8 * PLAN.frame_bytes)
    rounds = packets_per_s * calibrate.COST["softswitch"] / calibrate.USABLE / 1490

    def stretch(factor: float) -> float:
        return calibrate.stretch(PLAN, "softswitch", [rounds * factor / 2] * 2)

    assert stretch(1) == 1500
    assert stretch(100) == PLAN.live.least_k
    assert stretch(1 / 2) == PLAN.live.most_k


def test_k_is_beyond_these_limits_where_a_switch_could_not_take_all_that_comes_at_once():
    # s1 of the victim scenario: 16 hosts and s0, 40 Gbit/s each
    packets_per_s = 17 * 40e9 / (8 * PLAN.frame_bytes)
    rounds = packets_per_s * calibrate.ARRIVAL_COST["bmv2"] / 5990
    assert calibrate.stretch(PLAN, "bmv2", [rounds, rounds * 2]) == 6000 > PLAN.live.most_k


def test_the_next_k_is_larger():
    error = TooFastError(1000, "a host")
    assert error.suggestion == 1600
    assert TooFastError(1, "a host").suggestion == 10
    assert "can't carry k=1000: a host" in str(error)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_every_plan_has_the_load_of_live_time(name):
    scenario = SCENARIOS[name]
    live = scenario.plan(scenario.schemes[0], 1, {}).live
    assert 0 < live.least_k < live.most_k
    assert 0 < live.stall_s < 1e-3
    assert live.load_bps > 0


SENT = SentFlow(
    7, "10.0.0.2", "failed", 1, 1000, 900, 1e9, None, {}, 1, 0.0, 0.5,
    "its RP raised ValueError: own",
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sent": (SENT,)}, "flow 7 failed at h0: its RP raised ValueError: own"),
        ({"forgotten_sent": 1}, "h0 has more flows than the 4096 that a host keeps: take fewer"),
        (
            {"forgotten_received": 1},
            "h0 has more flows than the 4096 that a host keeps: take fewer",
        ),
    ],
)
def test_run_ends_where_a_flow_failed_or_was_forgotten(changes, message):
    check_flows(PUNCTUAL)
    with pytest.raises(ExperimentError, match=f"^{message}$"):
        check_flows(dataclasses.replace(PUNCTUAL, **changes))


def test_host_reports_what_it_dropped_and_forgot():
    names = (
        "bad_frames", "unusable_cnps", "socket_drops", "control_drops", "forgotten_sent",
        "forgotten_received",
    )  # fmt: skip
    assert list(PUNCTUAL.refused()) == []
    for number, name in enumerate(names, 1):
        (line,) = dataclasses.replace(PUNCTUAL, **{name: number}).refused()
        assert line.startswith("h0 ")
        assert f" {number} " in line
    (line,) = dataclasses.replace(PUNCTUAL, log_errno=27, log_lost=3).refused()
    assert line == "h0's log lacks 3 lines: File too large"


def test_end_of_an_agent_is_reported_by_host(tmp_path):
    logs = {name: tmp_path / f"{name}.log" for name in ("h0", "h1", "r0")}
    logs["h0"].write_text("Traceback (most recent call last):\nValueError: rate_bps is nan\n")
    logs["h1"].write_text("")
    with (
        pytest.raises(
            ExperimentError, match=r"^no answer from r0 \(h0: ValueError: rate_bps is nan\)$"
        ),
        agent_errors(logs),
    ):
        raise AgentError("no answer from r0")
