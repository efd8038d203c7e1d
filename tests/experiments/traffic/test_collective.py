"""Collective operations on a network: their times against closed forms, their parameters, what they
refuse."""

import json
import re

import pytest

from pcn.cli import run as pcn
from pcn.experiments.define.recording_numbers import EmptyPath
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.traffic import collective
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import from_reference, parse_spec

RATE_BPS, DELAY_S, FRAME = 10e9, 1e-6, 1058 / 1000


def times(workload: str, ranks: int, **values: float) -> dict[str, float | None]:
    """The numbers of a run on a star, with PFC alone: flows have line rate."""
    traffic = Traffic(parse_spec("star", workload))
    plan = traffic.plan(
        "pfc", 1, {"senders": ranks - 1, "rate_bps": RATE_BPS, "delay_s": DELAY_S, **values}
    )
    return collective.numbers(plan, run_virtual(plan, Silent()))


def alpha_beta_s(messages: int, size: float) -> float:
    """As many messages one after the other: a frame more than the message crosses the second link,
    and both delays."""
    return messages * ((size + 1000) * FRAME * 8 / RATE_BPS + 2 * DELAY_S)


@pytest.mark.parametrize(
    ("workload", "ranks", "size", "expected_s"),
    [
        ("allreduce:ring", 24, 24 * 100e3, alpha_beta_s(46, 100e3)),
        ("allgather:ring", 8, 8 * 200e3, alpha_beta_s(7, 200e3)),
        ("reducescatter:ring", 8, 8 * 200e3, alpha_beta_s(7, 200e3)),
        (
            "allreduce:halving-doubling",
            16,
            3.2e6,
            2 * sum(alpha_beta_s(1, 3.2e6 / 2**step) for step in range(1, 5)),
        ),
        ("alltoall:pairwise", 9, 9 * 200e3, alpha_beta_s(8, 200e3)),
        ("pipeline:forward", 5, 1e6, alpha_beta_s(4, 1e6)),
    ],
)
def test_collective_takes_the_alpha_beta_time(workload, ranks, size, expected_s):
    """On a network that nothing else uses, in which no two messages share a link."""
    measures = times(workload, ranks, size=size)
    assert measures["collective_ms"] == pytest.approx(expected_s * 1e3, rel=0.01)
    assert measures["collective_slowdown"] == pytest.approx(1, abs=0.01)


def test_chunks_of_a_tree_overlap():
    """Of 7 ranks, two levels: children share their parent's link. Whole messages need four levels
    of twice the size, up and down; of chunks both directions of all levels are busy at once."""
    whole, chunked = (times("allreduce:tree", 7, size=2e6, chunks=chunks) for chunks in (1, 20))
    level_s = 2 * alpha_beta_s(1, 2e6)
    assert whole["collective_ms"] == pytest.approx(4 * level_s * 1e3, rel=0.05)
    assert level_s * 1e3 <= (chunked["collective_ms"] or 0) <= 2 * level_s * 1e3


def test_wait_is_before_each_message_that_waits():
    plain, waiting = (times("allreduce:ring", 4, size=400e3, wait=wait) for wait in (0.0, 20e-6))
    assert (waiting["collective_ms"] or 0) - (plain["collective_ms"] or 0) == pytest.approx(
        5 * 20e-3, rel=1e-3
    )


def test_repetitions_have_a_mean_and_a_slowest():
    once, thrice = (times("allreduce:ring", 4, size=400e3, repeat=repeat) for repeat in (1, 3))
    assert thrice["collective_ms"] == pytest.approx(once["collective_ms"], rel=1e-3)
    assert thrice["collective_slowest_ms"] == pytest.approx(once["collective_ms"], rel=1e-2)
    assert once["bus_gbps"] == pytest.approx(
        1.5 * (once["algorithm_gbps"] or 0)
    )  # 2 (n - 1) / n, as NCCL's tests have it


def test_in_casts_slow_a_collective_down():
    """They come until its least time."""
    parameters = {
        "senders": 8, "size": 4e6, "incast_size": 300e3, "incast_period": 0.4e-3, "ranks": 8,
    }  # fmt: skip
    traffic = Traffic(parse_spec("star", "allreduce", incast="4"))
    plan = traffic.plan("pfc", 1, parameters)
    measures = collective.numbers(plan, run_virtual(plan, Silent()))
    last_s = max(flow.start_s for flow in plan.topology.flows if flow.group == "incast")
    assert 0 < last_s <= (measures["collective_least_ms"] or 0) / 1e3
    assert (measures["collective_slowdown"] or 0) > 1.1


def test_unfinished_collective_has_no_time():
    measures = times("allreduce:ring", 4, size=4e6, duration=1e-3)
    assert measures["collective_ms"] is None
    assert measures["collective_least_ms"]


def test_ranks_of_a_permutation_follow_the_seed():
    traffic = Traffic(parse_spec("star", "allreduce", "permutation"))
    plans = [traffic.plan("pfc", seed, {"senders": 7, "size": 8e3}) for seed in (1, 1, 2)]
    first, again, second_seed = (
        [(flow.src, flow.dst) for flow in plan.topology.flows] for plan in plans
    )
    assert first == again != second_seed
    assert Traffic(parse_spec("star", "allreduce")).draws == ""


def test_least_time_respects_the_busiest_link():
    """All send to all at once: each in the empty network takes an eighth of what a host's link
    needs."""
    traffic = Traffic(parse_spec("star", "alltoall"))
    plan = traffic.plan("pfc", 1, {"senders": 8, "size": 9 * 200e3})
    alone_s = EmptyPath.of(plan.topology, "h0", "h1").fct_s(200_000, 1000)
    assert collective.least_s(plan.topology.flows, plan.topology, 1000) == pytest.approx(
        8 * alone_s, rel=0.1
    )


def test_reference_of_a_collective_is_read_again():
    spec = parse_spec("star", "AllReduce")
    assert spec.reference == "traffic?topology=star&workload=allreduce%3Aring&pattern=uniform"
    assert from_reference(spec.reference) == spec


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--workload", "allreduce:ringg"], "collective operations are allreduce:ring,"),
        (
            ["--workload", "allreduce", "--pattern", "incast"],
            "ranks of allreduce:ring are in order",
        ),
        (
            ["--workload", "allreduce", "--arrivals", "onoff"],
            "messages of allreduce:ring start after others",
        ),
        (["--workload", "allreduce,ranks=9"], "ranks=9: the topology has 6 hosts"),
        (["--workload", "allreduce,rank=4"], "no parameter 'rank'; did you mean 'ranks'"),
        (["--workload", "allreduce", "--load", "0.5"], "no parameter 'load'"),
        (["--workload", "allreduce", "--clock", "live"], "flows that start after others|virtual"),
    ],
)
def test_wrong_options_of_a_collective_are_refused(options, reason, capsys):
    clock = [] if "--clock" in options else ["--clock", "virtual"]
    assert pcn(["run", "traffic", *clock, *options]) != 0
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    assert re.search(reason, error)


def test_command_takes_settings_in_the_name(tmp_path, capsys):
    line = (
        "run traffic --clock virtual --workload allreduce:ring,size=60KB,ranks=4 --scheme pfc,pcn"
    )
    assert pcn([*line.split(), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "collective operation" in printed
    assert "bus bandwidth" in printed
    summary = json.loads((tmp_path / "out" / "pfc" / "summary.json").read_text())
    assert summary["measures"]["collective_slowdown"] == pytest.approx(1, abs=0.1)
