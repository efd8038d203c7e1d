"""`pcn explain`: why the flows of a run were slow, by the parts of their time."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from explained_runs import BURSTS, explained, kept_run

from pcn.cli import run as pcn
from pcn.experiments.data.parts import Logs
from pcn.experiments.explain import answers, words
from pcn.experiments.explain.again import KeptResult
from pcn.experiments.explain.explanation import CONTRIBUTOR, CULPRIT, VICTIM
from pcn.experiments.explain.lines import Lines
from pcn.experiments.run.progress import Silent
from pcn.topologies.model import Endpoint


@pytest.mark.parametrize("scheme", ["pfc", "dcqcn"])
def test_the_victim_is_one_of_the_port_to_r1(victim: Path, scheme):
    """docs/victim.md's tree: F0 shares s0:3 with F1, whose receiver the bursts overwhelm."""
    first, second = explained(victim / scheme, 0, 1, span_s=BURSTS)
    assert sum(first.parts_ps.values()) == first.time_ps
    assert first.parts_ps["paused"] > 0.7 * first.time_ps
    assert (first.origins[0].port, first.origins[0].crossed, first.origins[0].role) == (
        "s1:2",
        False,
        VICTIM,
    )
    assert first.origins[0].share > 0.99
    assert sum(share for flow, share in first.origins[0].filled.items() if flow >= 1000) > 0.85
    assert first.role == VICTIM
    assert (second.origins[0].port, second.origins[0].crossed) == ("s1:2", True)
    assert second.origins[0].role == (
        CULPRIT
        if second.origins[0].queue_share > 1.1 / len(second.origins[0].filled)
        else CONTRIBUTOR
    )
    assert [row["port"] for row in first.tree] == ["h0:0", "s0:3"]


def test_own_limiter_of_a_flow_is_no_loss(victim: Path):
    """With PFC alone F0 sends at 20 Gbit/s at most, each frame as long again as on its line: all
    that it lost is PAUSE's."""
    held, free = (explained(victim / scheme, 0, span_s=BURSTS)[0] for scheme in ("pfc", "dcqcn"))
    assert held.limit_ps == pytest.approx(held.parts_ps["own"], rel=0.05)
    assert held.why.startswith("PAUSE (100% of what it lost)")
    assert words.part_text(held, "rate").endswith("by its own limiter, which doesn't count as lost")
    assert free.limit_ps == 0
    assert free.why.startswith("PAUSE (85% of what it lost)")


def test_flow_of_a_host_whose_nic_is_not_port_0_is_explained(tmp_path):
    """A user's file numbers ports as it likes; the limiter counts against the NIC's own line."""
    lines = ["{a: 'h0:3', b: s0, rate: 5G}", "{a: h1, b: s0}", "{a: h2, b: s0}"]
    network = ["switches: [s0]", "hosts: [h0, h1, h2]", "defaults: {rate: 10G, delay: 1us}"]
    (tmp_path / "net.yaml").write_text("\n".join([*network, f"links: [{', '.join(lines)}]"]))
    (tmp_path / "flows.csv").write_text(
        "src,dst,start,size,rate\nh0,h2,0us,50KB,1G\nh1,h2,0us,50KB,\n"
    )
    words = ["--topology", str(tmp_path / "net.yaml"), "--flows", str(tmp_path / "flows.csv")]
    for scheme in ("pfc", "pcn"):
        (result, _) = explained(
            kept_run(tmp_path / scheme, "traffic", *words, "--scheme", scheme), 0, 1
        )
        assert result.limit_ps == pytest.approx(4 * result.parts_ps["own"], rel=0.05)
        assert result.path[0] == "h0:3"


def test_with_pcn_the_victim_was_not_slow(victim: Path):
    (result,) = explained(victim / "pcn", 0, span_s=BURSTS)
    assert result.pause_ps == 0
    assert result.why == "it wasn't slow"
    assert 8e3 * result.sent_bytes / result.time_ps > 35


@pytest.mark.parametrize("scheme", ["pfc", "pcn"])
def test_explanations_add_up(mixed: Path, scheme):
    kept_result = KeptResult(mixed / scheme)
    numbers = kept_result.slowest(6, Silent())
    table = {row["id"]: row for row in pq.read_table(mixed / scheme / "flows.parquet").to_pylist()}
    assert list(numbers) == sorted(numbers, key=lambda number: -table[number]["slowdown"])
    for result in explained(mixed / scheme, *numbers):
        assert sum(result.parts_ps.values()) == result.time_ps
        assert sum(result.window_ps.values()) == result.parts_ps["window"]
        assert abs(result.time_ps - table[result.id]["fct_s"] * 1e12) < 2e3
        waits = ("contention", "pause_backlog", "pause_idle", "overtaken")
        assert sum(hop.wait_ps for hop in result.hops) == sum(
            result.parts_ps[name] for name in waits
        )
        for hop in result.hops:
            assert sum(hop.by_flow.values()) + hop.idle_ps == hop.wait_ps
            assert hop.idle_ps == hop.pause_idle_ps  # by the line, and by the account of PAUSE
        caused = sum(result.parts_ps[name] for name in ("paused", "pause_backlog", "pause_idle"))
        assert result.pause_ps == pytest.approx(caused, abs=len(result.hops) + 2)
        assert sum(result.blame_ps.values()) == pytest.approx(result.pause_ps, rel=1e-9)
        assert sum(result.rate_set_by.values()) == pytest.approx(1 if result.rate_set_by else 0)
    if scheme == "pfc":
        # Alone, too: PAUSEs behind those of a flow are older than it
        (late,) = explained(mixed / scheme, numbers[0])
        assert late in explained(mixed / scheme, *range(80))
        assert sum(result.pause_ps for result in explained(mixed / scheme, *numbers)) > 0


@pytest.mark.parametrize("scheme", ["dctcp", "swift", "hpcc"])
def test_windows_of_schemes_whose_rules_follow_the_network_add_up(scheme, tmp_path):
    """Their parameters follow from the network, and aren't all whole numbers where those of a user
    have to be."""
    command = ["--topology", "fat-tree", "--load", "0.8", "--set", "count=30", "--scheme", scheme]
    place = kept_run(tmp_path / "run", "traffic", *command)
    flows = KeptResult(place).plan.topology.flows
    largest = max(flows, key=lambda flow: flow.size_bytes or 0).id
    (result,) = explained(place, largest)
    assert sum(result.window_ps.values()) == result.parts_ps["window"] > 0
    (line,) = (
        line
        for line in words.lines_of(answers.Answer("flow", flows=(result,)))
        if "serialisation and propagation" in line and line.startswith(" " * 25)
    )
    assert words.us(result.window_ps["wire"]) in line


def test_explanation_of_flows_without_an_end_has_their_first(tmp_path, capsys):
    """Where no flow has ended there is no largest slowdown."""
    place = kept_run(tmp_path, "dumbbell", "--set", "duration=2ms", "--scheme", "pcn")
    capsys.readouterr()
    assert pcn(["explain", str(place)]) == 0
    assert "flow 1" in capsys.readouterr().out


def test_least_time_is_that_of_the_slowdown(mixed: Path):
    table = pq.read_table(mixed / "pcn" / "flows.parquet").to_pydict()
    flows = explained(mixed / "pcn", *table["id"][:20])
    slowdowns = dict(zip(table["id"], table["slowdown"], strict=True))
    for flow in flows:
        assert flow.time_ps / flow.least_ps == pytest.approx(slowdowns[flow.id], rel=1e-6)


def test_flow_alone_is_not_slow_behind_its_own_packets(tmp_path):
    flows = tmp_path / "flows.csv"
    flows.write_text("src,dst,start_s,size_bytes\nh0,h31,0.00001,1052\n")
    place = kept_run(
        tmp_path / "run", "traffic", "--topology", "leaf-spine", "--flows", str(flows),
        "--scheme", "dcqcn",
    )  # fmt: skip
    (flow,) = explained(place, 0)
    assert sum(hop.by_flow[0] for hop in flow.hops) > 0  # its last packet catches up
    assert flow.time_ps == pytest.approx(flow.least_ps, rel=1e-6)
    assert (flow.why, flow.reason) == ("it wasn't slow", "")


def test_reason_names_the_ports_of_all_long_waits(mixed: Path):
    numbers = KeptResult(mixed / "pcn").slowest(20, Silent())
    flows = explained(mixed / "pcn", *numbers)
    queued = [flow for flow in flows if flow.reason == "queue"]
    assert queued
    for flow in queued:
        queued_ps = sum(hop.wait_ps - hop.pause_idle_ps - hop.backlog_ps for hop in flow.hops)
        assert queued_ps == flow.parts_ps["contention"] + flow.parts_ps.get("overtaken", 0)
        waits = {
            hop.port: hop.wait_ps - hop.pause_idle_ps - hop.backlog_ps - hop.by_flow.get(flow.id, 0)
            for hop in flow.hops
        }
        assert flow.reason_port == max(waits, key=lambda port: waits[port])
        for port, wait in waits.items():
            if wait > 0.4 * sum(waits.values()):
                assert port in flow.why.partition("lost)")[2]


def test_several_flows_are_counted_by_reason_and_port(mixed: Path):
    numbers = KeptResult(mixed / "pfc").slowest(10, Silent())
    flows = explained(mixed / "pfc", *numbers)
    first, *lines = words.together(flows)
    assert first == "10 flows, by what each lost most to:"
    assert sum(int(line.split()[0]) for line in lines) == 10
    for line in lines:
        count, _, rest = line.strip().partition("  ")
        reason, _, ports = rest.partition(": ")
        items = [flow for flow in flows if words.REASONS[flow.reason] == reason]
        assert len(items) == int(count)
        for text in ports.split(", ") if ports else ():
            number, _, port = text.partition(" at ")
            if port:
                assert sum(flow.reason_port == port for flow in items) == int(number)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--flow", "7777"], "no flow 7777: flows are numbered"),
        (["--at", "s9:1"], "--at s9:1: "),
        (["--at", "s9"], "--at s9: write it as NODE:PORT"),
        (["--pause", "99999"], "no PAUSE 99999: PAUSEs are numbered 0 to "),
        (["--flow", "0", "--from", "8ms"], "flow 0 sent nothing in that time"),
    ],
)
def test_what_is_not_there_is_one_line(victim: Path, capsys, arguments, line):
    assert pcn(["explain", str(victim / "pfc"), *arguments, "-q"]) == 1
    (error,) = capsys.readouterr().err.strip().splitlines()
    assert line in error


def test_fair_shares_are_those_of_flows_under_way():
    run = _lines([(0, 100, 1), (100, 100, 2), (200, 100, 1), (300, 100, 2), (400, 200, 2)])
    assert run.fair(0, 600) == {1: 100 + 100, 2: 100 + 300}
    assert run.by_flow(50, 350) == {1: 150, 2: 150}
    assert run.work_of(100, 150) == {2: 100, 1: 100}


def _lines(frames: list[tuple[int, int, int]]):
    """A port at 8 Tbit/s: a byte takes a ps. Frames: start, bytes, flow."""
    import numpy as np

    from pcn.hosts.explain_log import ExplainCause, ExplainHop, ExplainLine, ExplainSent
    from pcn.topologies.star import star

    topology = star(1, rate_bps=8e12)
    rows = np.array(
        [(start, 0, flow, size, 0) for start, size, flow in frames], np.dtype(ExplainLine)
    )
    empty = [np.zeros(0, np.dtype(kind)) for kind in (ExplainSent, ExplainHop, ExplainCause)]
    return Lines(topology, Logs(empty[0], empty[1], rows, empty[2], (Endpoint("h0", 0),))).at(0)
