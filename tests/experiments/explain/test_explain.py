"""`pcn explain`: the run again, with the same digest, and why its flows were slow."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pcn.cli import run as pcn
from pcn.experiments.data import marks
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parts import PARTS, Logs
from pcn.experiments.data.pauses import Followed, Pauses, Root
from pcn.experiments.data.records import LogChoice, Records
from pcn.experiments.explain import again, answers, keep, words
from pcn.experiments.explain.again import NAMES, KeptResult
from pcn.experiments.explain.flow import CONTRIBUTOR, CULPRIT, VICTIM, Explanation
from pcn.experiments.explain.lines import Lines
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.traffic import pause_roots, slowest
from pcn.topologies.model import Endpoint

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
BURSTS = (0.0, 3.25e-3)
SHORT = {
    "dumbbell": ["--set", "duration=1ms"],
    "tcd": [],
    "unbiased": [],
    "fig5": [],
    "traffic": ["--topology", "star", "--set", "count=20"],
}


def kept_run(out: Path, *command: str) -> Path:
    assert pcn(["run", *command, "--clock", "virtual", "-q", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kept_run(
        tmp_path_factory.mktemp("victim") / "run", "victim", "--scheme", "pfc,dcqcn,pcn"
    )


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = [
        "traffic",
        "--topology",
        "fat-tree",
        "--workload",
        "websearch",
        "--set",
        "count=80",
        "--set",
        "xoff_bytes=60KB",
    ]
    return kept_run(tmp_path_factory.mktemp("mixed") / "run", *words, "--scheme", "pfc,pcn")


def explained(place: Path, *numbers: int, span_s: answers.Span | None = None) -> list[Explanation]:
    return list(answers.of_flows(KeptResult(place), numbers, span_s, Silent()).flows)


def test_folder_of_a_single_run_stands_for_it(mixed: Path, tmp_path: Path) -> None:
    shutil.copytree(mixed / "pfc", tmp_path / "traffic" / "pfc")
    assert KeptResult(tmp_path / "traffic").place == tmp_path / "traffic" / "pfc"
    shutil.copytree(mixed / "pcn", tmp_path / "traffic" / "pcn")
    with pytest.raises(ExperimentError, match="name the run: "):
        KeptResult(tmp_path / "traffic")


def test_roots_of_a_report_are_those_that_explain_names(mixed: Path) -> None:
    """All time in which ports were stopped has a root, and a slow flow that PAUSE held has in the
    report's table the root that `pcn explain` finds by its packets."""
    original = KeptResult(mixed / "pfc")
    plan = replace(original.plan, records=Records(explain=True))
    recording = run_virtual(plan, Silent())
    roots = pause_roots.of(plan, recording)
    assert roots is not None
    stopped_s = sum(link.paused_s for link in recording.links.values())
    # PFC's counter begins when a PAUSE comes; the gate closes behind a frame that leaves then
    assert sum(roots.stopped_ps.values()) / 1e12 == pytest.approx(stopped_s, rel=1e-3)
    assert sum(roots.stopped_ps.values()) / 1e12 < stopped_s
    table, slow = slowest.stand_out(plan, recording)
    assert [float(row[1]) for row in table.rows] == sorted(
        (float(row[1]) for row in table.rows), reverse=True
    )
    assert float(table.rows[0][2]) == pytest.approx(
        100 * max(roots.stopped_ps.values()) / sum(roots.stopped_ps.values()), abs=0.05
    )
    shown = {int(row[0].partition(":")[0]): row[4] for row in slow.rows}
    items = {item.id: item for item in explained(mixed / "pfc", *shown)}
    held = [item for item in items.values() if item.reason == "pause"]
    assert len(held) > 2
    named = {item.id: shown[item.id].split(" to ")[0] for item in held}
    same = [item for item in held if named[item.id] == item.origins[0].port]
    # The report has no packets of flows: near ties may fall to the next root
    assert len(same) > 0.85 * len(held)
    assert all(named[item.id] in {of.port for of in item.origins[:3]} for item in held)
    places = {flow.id: place for place, flow in enumerate(plan.topology.flows)}
    for item in same:
        assert (places[item.id] in roots.victims) is not item.origins[0].crossed


@pytest.mark.parametrize("scheme", ["pfc", "dcqcn"])
def test_the_victim_is_one_of_the_port_to_r1(victim: Path, scheme: str) -> None:
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


def test_own_limiter_of_a_flow_is_no_loss(victim: Path) -> None:
    """With PFC alone F0 sends at 20 Gbit/s at most, each frame as long again as on its line: all
    that it lost is PAUSE's."""
    held, free = (explained(victim / scheme, 0, span_s=BURSTS)[0] for scheme in ("pfc", "dcqcn"))
    assert held.limit_ps == pytest.approx(held.parts_ps["own"], rel=0.05)
    assert held.why.startswith("PAUSE (100% of what it lost)")
    assert words.part_text(held, "rate").endswith("by its own limiter, which doesn't count as lost")
    assert free.limit_ps == 0
    assert free.why.startswith("PAUSE (85% of what it lost)")


def test_flow_of_a_host_whose_nic_is_not_port_0_is_explained(tmp_path: Path) -> None:
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


def test_with_pcn_the_victim_was_not_slow(victim: Path) -> None:
    (result,) = explained(victim / "pcn", 0, span_s=BURSTS)
    assert result.pause_ps == 0
    assert result.why == "it wasn't slow"
    assert 8e3 * result.sent_bytes / result.time_ps > 35


@pytest.mark.parametrize("scheme", ["pfc", "pcn"])
def test_explanations_add_up(mixed: Path, scheme: str) -> None:
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
        assert sum(result.pause_ps for result in explained(mixed / scheme, *numbers)) > 0


def test_weights_of_every_pause_sum_to_one(mixed: Path) -> None:
    run = KeptResult(mixed / "pfc").run(LogChoice(), Silent())
    pauses = Pauses(run.logs, 10**12)
    assert len(pauses.all) > 20
    ports = {root.port for pause in pauses.all for root in pauses.roots(pause)}
    assert len(ports) > 1
    for pause in pauses.all:
        assert sum(pauses.roots(pause).values()) == pytest.approx(1, rel=1e-9)
        followed = pauses.follow(pause)
        # no more is rooted at a port than comes to it, and all of it comes to one first
        assert all(
            weight <= followed.through[root.port] + 1e-9 for root, weight in followed.roots.items()
        )
        first = sum(share for _, share in pauses.outputs(pause))
        assert first == pytest.approx(1)
        assert sum(followed.through.values()) > 1 - 1e-9
        assert sum(item.bytes for item in pause.waiting) == pause.held_bytes > pause.threshold_bytes


@pytest.mark.parametrize("scenario", sorted(SHORT))
def test_every_scenario_is_run_again_with_its_digest(scenario: str, tmp_path: Path) -> None:
    out = kept_run(
        tmp_path / "out",
        scenario,
        "--scheme",
        "pfc" if scenario == "fig5" else "pcn",
        *SHORT[scenario],
    )
    assert {*SHORT, "victim"} == set(SCENARIOS)
    KeptResult(out).run(LogChoice(causes=False), Silent())  # raises where it differs


@pytest.mark.parametrize("scheme", ["dctcp", "swift", "hpcc"])
def test_windows_of_schemes_whose_rules_follow_the_network_add_up(
    scheme: str, tmp_path: Path
) -> None:
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


def test_explanation_of_flows_without_an_end_has_their_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no flow has ended there is no largest slowdown."""
    place = kept_run(tmp_path, "dumbbell", "--set", "duration=2ms", "--scheme", "pcn")
    capsys.readouterr()
    assert pcn(["explain", str(place)]) == 0
    assert "flow 1" in capsys.readouterr().out


def test_explanation_is_kept_whole_and_printed(
    mixed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = mixed / "pfc"
    assert pcn(["explain", str(place), "--worst", "2", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    folder = place / keep.FOLDER
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [keep.JSON, keep.TEXT, keep.TABLE, keep.PAGE]
    )
    assert json.loads((folder / keep.JSON).read_text()) == printed
    rows = pq.read_table(folder / keep.TABLE).to_pylist()
    assert len(rows) == 80
    assert all(sum(row[f"{name}_ps"] for name in PARTS) == row["fct_ps"] for row in rows)
    first = printed["flows"][0]["id"]
    assert pcn(["explain", str(place), "--flow", str(first)]) == 0
    text = capsys.readouterr().out
    assert text == (folder / keep.TEXT).read_text()
    assert text.splitlines()[0].startswith(f"flow {first} ")
    assert text.splitlines()[-1].startswith("  WHY: ")


def test_least_time_is_that_of_the_slowdown(mixed: Path) -> None:
    table = pq.read_table(mixed / "pcn" / "flows.parquet").to_pydict()
    flows = explained(mixed / "pcn", *table["id"][:20])
    slowdowns = dict(zip(table["id"], table["slowdown"], strict=True))
    for flow in flows:
        assert flow.time_ps / flow.least_ps == pytest.approx(slowdowns[flow.id], rel=1e-6)


def test_flow_alone_is_not_slow_behind_its_own_packets(tmp_path: Path) -> None:
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


def test_run_whose_queues_were_read_is_run_again_with_its_digest(tmp_path: Path) -> None:
    short = ["traffic", *SHORT["traffic"], "--scheme", "dctcp"]
    plain = kept_run(tmp_path / "plain", *short)
    read = kept_run(tmp_path / "read", *short, "--queues", "5us")
    digests = {KeptResult(place).digest for place in (plain, read)}
    assert len(digests) == 1
    assert pcn(["explain", str(read), "-q"]) == 0


def test_reason_names_the_ports_of_all_long_waits(mixed: Path) -> None:
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


def test_several_flows_are_counted_by_reason_and_port(mixed: Path) -> None:
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


def test_a_result_that_cannot_be_written_is_explained_alone(
    mixed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> object:
        raise PermissionError(13, "Permission denied")

    before = sorted((mixed / "pcn").rglob("*"))
    monkeypatch.setattr(keep.owner_only, "scratch", refuse)
    assert pcn(["explain", str(mixed / "pcn"), "--flow", "3"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("flow 3 ")
    assert "can't be written: Permission denied. The explanation is here alone" in shown.err
    assert sorted((mixed / "pcn").rglob("*")) == before


def test_an_explanation_leaves_files_of_others_and_names_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = kept_run(tmp_path / "out", "dumbbell", "--set", "duration=1ms", "--scheme", "pcn")
    (place / keep.FOLDER).mkdir()
    (place / keep.FOLDER / "mine.txt").write_text("mine")
    assert pcn(["explain", str(place), "--flow", "1", "-q"]) == 0
    assert f"{place / keep.FOLDER} has other files, as mine.txt" in capsys.readouterr().err
    assert [path.name for path in (place / keep.FOLDER).iterdir()] == ["mine.txt"]


def test_an_explanation_that_fails_leaves_the_earlier_one(
    mixed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pcn(["explain", str(mixed / "pcn"), "--flow", "3", "-q"]) == 0
    before = (mixed / "pcn" / keep.FOLDER / keep.TEXT).read_bytes()

    def full(*_: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(keep, "whole", full)
    assert pcn(["explain", str(mixed / "pcn"), "--flow", "4", "-q"]) == 0
    assert (mixed / "pcn" / keep.FOLDER / keep.TEXT).read_bytes() == before
    assert not [path for path in (mixed / "pcn").iterdir() if path.name.startswith(".")]


def test_a_port_and_a_pause_are_explained(victim: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = victim / "pfc"
    assert pcn(["explain", str(place), "--at", "s0:3", "--json"]) == 0
    port = json.loads(capsys.readouterr().out)["port"]
    assert sum(row["share"] for row in port["flows"]) + port["idle"] == pytest.approx(1)
    assert next(iter(port["paused"]["3"]["roots"])) == "s1:2"
    assert pcn(["explain", str(place), "--at", "s1:2", "--json"]) == 0
    port = json.loads(capsys.readouterr().out)["port"]
    assert "s0:3" in port["caused_ps"]
    bursts = next(row for row in port["flows"] if row["name"] == "bursts")
    shares = [row["share"] for row in port["largest"]]
    assert 0 < sum(shares) <= bursts["share"]
    assert shares == sorted(shares, reverse=True)
    assert pcn(["explain", str(place), "--pause", "0", "--json"]) == 0
    pause = json.loads(capsys.readouterr().out)["pause"]
    assert pause["used_bytes"] > pause["threshold_bytes"]
    assert sum(pause["roots"].values()) == pytest.approx(1)
    assert sum(row["share"] for row in pause["waiting"]) == pytest.approx(1)
    assert pcn(["explain", str(place), "--pause", "0"]) == 0
    assert capsys.readouterr().out.startswith("PAUSE 0: ")


def test_marks_of_a_run_are_those_of_its_packets(
    mixed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the engine counts is what the log of all packets has."""
    place = mixed / "pcn"
    assert pcn(["explain", str(place), "--marks", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["marks"]
    kept_result = KeptResult(place)
    run = kept_result.run(
        LogChoice(tuple(flow.id for flow in kept_result.plan.topology.flows), marks=True), Silent()
    )
    counts = marks.of_hops(run.plan.topology, run.logs, run.logs.hops)
    assert marks.by_reason(counts) == result["packets"]
    assert run.logs.marks is not None
    assert counts.tolist() == run.logs.marks.sum(axis=0).tolist()
    of = marks.decisions(counts, np_ecn=True)
    assert {name: result[name] for name in of} == of
    assert sum(result["packets"]["other"].values()) == 0
    assert sum(port["marked"] for port in result["ports"].values()) == result["marked"] > 0
    assert result["held"] > 0
    assert pcn(["explain", str(place), "--marks"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{counts.sum():,} times a packet of data left a switch")
    assert "unmarked: it waited when a PAUSE ended" in text


def test_marks_of_a_flow_have_the_reasons_of_its_hops(mixed: Path) -> None:
    reasons = set()
    for result in explained(mixed / "pcn", *KeptResult(mixed / "pcn").slowest(12, Silent())):
        assert sum(result.marked.values()) == result.decisions["marked"]
        assert 0 <= result.decisions["marked_still"] <= result.decisions["marked"]
        assert result.decisions["held_marked"] <= result.decisions["held"]
        reasons |= {hop.mark for hop in result.hops}
    assert {"here", "empty"} <= reasons <= {"before", "here", "empty", "held"}


def test_of_other_marking_points_marks_alone_are_judged(
    victim: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """RED leaves packets unmarked by a rule that isn't NP-ECN's."""
    assert pcn(["explain", str(victim / "dcqcn"), "--marks", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["marks"]
    assert 0 < result["marked_still"] < result["marked"]
    assert "held" not in result
    assert "confirmed" not in result
    assert pcn(["explain", str(victim / "dcqcn"), "--marks"]) == 0
    assert "left unmarked for a PAUSE" not in capsys.readouterr().out
    (flow,) = explained(victim / "dcqcn", 2000)
    assert {hop.mark for hop in flow.hops} <= {"", "before", "here"}


def test_marks_of_switches_that_mark_nothing_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = kept_run(
        tmp_path / "out", "traffic", "--topology", "star", "--set", "count=5", "--scheme", "timely"
    )
    assert pcn(["explain", str(out), "--marks"]) == 0
    text = capsys.readouterr().out
    assert ", and none was marked" in text
    assert "confirmed" not in text


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
def test_what_is_not_there_is_one_line(
    victim: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    assert pcn(["explain", str(victim / "pfc"), *arguments, "-q"]) == 1
    (error,) = capsys.readouterr().err.strip().splitlines()
    assert line in error


def test_without_its_root_a_flow_is_faster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four to h0; h9's flow to the neighbour shares links with them, and crosses another last
    port."""
    flows = tmp_path / "flows.csv"
    pairs = [*((f"h{number}", "h0") for number in (4, 6, 8, 10)), ("h9", "h1")]
    flows.write_text(
        "src,dst,start,size\n" + "".join(f"{src},{dst},0us,200KB\n" for src, dst in pairs)
    )
    words_ = [
        "traffic",
        "--topology",
        "fat-tree",
        "--flows",
        str(flows),
        "--scheme",
        "pfc",
        "--set",
        "xoff_bytes=40KB",
    ]
    place = kept_run(tmp_path / "out", *words_)

    def explanation(*more: str) -> dict[str, Any]:
        capsys.readouterr()
        assert pcn(["explain", str(place), "--flow", "4", *more, "--json"]) == 0
        result: dict[str, Any] = json.loads(capsys.readouterr().out)
        return result

    before = explanation()
    assert "instead" not in before
    (flow,) = before["flows"]
    assert flow["role"] == VICTIM
    root = flow["origins"][0]["port"]
    for more in (["--what-if", f"{root}=400G"], ["--without-flows", "0", "--without-flows", "1"]):
        after = explanation(*more)
        assert after["flows"] == before["flows"]
        assert after["instead"]["fct_ps"]["4"] < flow["time_ps"]
    assert pcn(["explain", str(place), "--flow", "4", "--what-if", f"{root}=400G"]) == 0
    assert (
        capsys.readouterr()
        .out.splitlines()[-1]
        .startswith(f"  INSTEAD, with {root} at 400 Gbit/s: ")
    )


def test_another_scheme_gives_the_times_of_its_run(
    mixed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (number,) = KeptResult(mixed / "pfc").slowest(1, Silent())
    words = ["explain", str(mixed / "pfc"), "--flow", str(number), "--scheme", "pcn", "--json"]
    assert pcn(words) == 0
    instead = json.loads(capsys.readouterr().out)["instead"]
    assert instead["change"] == "with the scheme pcn"
    table = pq.read_table(mixed / "pcn" / "flows.parquet").to_pydict()
    fct_s = dict(zip(table["id"], table["fct_s"], strict=True))[number]
    assert instead["fct_ps"][str(number)] == pytest.approx(fct_s * 1e12, abs=1)


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["--scheme", "nothing"], 1, "--scheme nothing: there is no scheme"),
        (["--what-if", "s9:1=1G"], 1, "--what-if s9:1: there is no such port"),
        (["--what-if", "s0:1"], 2, "--what-if s0:1"),
        (
            ["--without-flows", "nothing"],
            1,
            "--without-flows nothing: there is no such flow or group",
        ),
        (
            ["--flow", "2003", "--without-flows", "bursts"],
            1,
            "flow 2003 is among those that are left out",
        ),
        (
            ["--flow", "0", "--what-if", "s1:2=400G"],
            1,
            "flow 0: a change is seen in completion times",
        ),
    ],
)
def test_changes_that_cannot_be_are_one_line(
    victim: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, line: str
) -> None:
    assert pcn(["explain", str(victim / "pfc"), *arguments, "-q"]) == code
    assert line in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--flow", "0", "--at", "s0:3"], ["--worst", "2", "--from", "1us"]]
)
def test_options_that_exclude_each_other_are_refused(victim: Path, arguments: list[str]) -> None:
    assert pcn(["explain", str(victim / "pfc"), *arguments]) == 2


def changed(place: Path, **entries: Any) -> None:
    file = place / "summary.json"
    result = {
        name: value
        for name, value in {**json.loads(file.read_text()), **entries}.items()
        if value is not None
    }
    file.write_text(json.dumps(result))


def line_of(place: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert pcn(["explain", str(place), "--flow", "0", "-q"]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert not (place / keep.FOLDER).exists()
    return line


def test_results_that_cannot_be_repeated_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flows = tmp_path / "flows.csv"
    flows.write_text("src,dst,start,size\nh0,r0,0us,20KB\nh1,r0,0us,20KB\n")
    out = kept_run(tmp_path / "out", "traffic", "--topology", "star", "--flows", str(flows))
    summary = json.loads((out / "summary.json").read_text())
    assert list(summary["files"]) == [str(flows)]
    text = flows.read_text()
    flows.write_text(text.replace("20KB", "30KB"))
    assert "flows.csv, which" in line_of(out, capsys)
    flows.unlink()
    assert "is missing" in line_of(out, capsys)
    flows.write_text(text)
    changed(out, digest="0" * 16)
    assert "it was made by another version of PCN Lab" in line_of(out, capsys)
    changed(out, files=None, digest=summary["digest"])
    assert "is of an older version, which kept no files" in line_of(out, capsys)
    changed(out, files={}, clock="live")
    assert "runs in virtual time alone" in line_of(out, capsys)
    (out / "summary.json").write_text("[]")
    assert "no result that can be read" in line_of(out, capsys)
    assert f"{out}/summary.json" in line_of(tmp_path, capsys), "a folder of one run stands for it"
    shutil.copytree(out, tmp_path / "second")
    assert f"has no summary.json: name the run: {out}, " in line_of(tmp_path, capsys)


def test_scheme_of_a_file_is_found_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("aimd", "aimd_window"):
        shutil.copytree(
            EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    copy = tmp_path / "aimd_window"
    scheme = f"{copy}/aimd_window.py:AIMD_WINDOW"
    out = kept_run(
        tmp_path / "out", "traffic", "--topology", "star", "--set", "count=5", "--scheme", scheme
    )
    assert pcn(["explain", str(out), "--flow", "0", "-q"]) == 0
    (copy / "aimd_window.py").write_text((copy / "aimd_window.py").read_text() + "\n")
    capsys.readouterr()
    assert pcn(["explain", str(out), "--flow", "0", "-q"]) == 1
    assert "aimd_window.py, which" in capsys.readouterr().err


def test_result_runs_no_code_that_it_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A result may be another user's."""
    out = kept_run(
        tmp_path / "out", "traffic", "--topology", "star", "--set", "count=5", "--scheme", "pcn"
    )
    planted = tmp_path / "planted.py"
    planted.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (tmp_path / "planted.c").write_text("#error it was compiled\n")
    reference = json.loads((out / "summary.json").read_text())["reference"]
    assert "star" in reference
    of_topology = reference.replace("star", f"{tmp_path}/planted%2Epy:star", 1)
    for names in (
        {"scheme_reference": f"{planted}:SCHEME"},
        {"scheme_reference": f"{tmp_path}/planted.c"},
        {"scheme_reference": "pcn", "reference": of_topology},
        {"scheme_reference": "pcn", "reference": of_topology.replace("%2E", ".")},
    ):
        changed(out, **names)
        assert pcn(["explain", str(out), "-q"]) == 1
        line = capsys.readouterr().err
        assert len(line.splitlines()) == 1
        assert not (tmp_path / "ran").exists()
        assert "--allow-code runs it" in line or "%2Epy" in line
    changed(out, scheme_reference=f"{planted}:SCHEME", reference=reference)
    assert pcn(["explain", str(out), "-q", "--allow-code"]) == 1
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "files",
    [{"x.py": "0" * 12}, {"/dev/zero": ""}, {"/proc/self/mem": "x"}, {"a\0": "x"}, [[1, 2]], 1],
)
def test_result_names_no_file_that_ends_with_traceback(
    files: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = dict.fromkeys(NAMES) | {"clock": "virtual", "provenance": {}, "files": files}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert pcn(["explain", str(tmp_path), "-q"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_table_of_others_has_rows_for_flows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compressed rows need no room: 300 KB have 20,000,000."""
    out = kept_run(
        tmp_path / "out", "traffic", "--topology", "star", "--set", "count=5", "--scheme", "pcn"
    )
    result = KeptResult(out)
    columns = {"slowdown": [3.0, 2.0], "start_s": [0.0, 0.0], "id": [1, 0]}
    for repeats, numbers in ((1, (1, 0)), (3, None)):
        table = {name: values * repeats for name, values in columns.items()}
        pq.write_table(pa.table(table), out / "flows.parquet")
        assert result._of_table(2) == numbers


def test_fair_shares_are_those_of_flows_under_way() -> None:
    run = _lines([(0, 100, 1), (100, 100, 2), (200, 100, 1), (300, 100, 2), (400, 200, 2)])
    assert run.fair(0, 600) == {1: 100 + 100, 2: 100 + 300}
    assert run.by_flow(50, 350) == {1: 150, 2: 150}
    assert run.work_of(100, 150) == {2: 100, 1: 100}


def _lines(frames: list[tuple[int, int, int]]) -> Any:
    """A port at 8 Tbit/s: a byte takes a ps. Frames: start, bytes, flow."""
    import numpy as np

    from pcn.hosts.virtual.native import ExplainCause, ExplainHop, ExplainLine, ExplainSent
    from pcn.topologies.star import star

    topology = star(1, rate_bps=8e12)
    rows = np.array(
        [(start, 0, flow, size, 0) for start, size, flow in frames], np.dtype(ExplainLine)
    )
    empty = [np.zeros(0, np.dtype(kind)) for kind in (ExplainSent, ExplainHop, ExplainCause)]
    return Lines(topology, Logs(empty[0], empty[1], rows, empty[2], (Endpoint("h0", 0),))).at(0)


def test_pauses_that_cause_each_other_are_a_circle() -> None:
    """Two ports, each PAUSEd while all that it brings waits for the other."""
    import numpy as np

    from pcn.hosts.virtual.native import (
        CLOSES,
        WAITS,
        XOFF,
        ExplainCause,
        ExplainHop,
        ExplainLine,
        ExplainSent,
    )

    rows = []
    for time, link, awaited in ((10, 0, 1), (20, 1, 0)):
        rows += [(time, link, 0, XOFF), (time, link, awaited, WAITS), (time, link, 0, CLOSES)]
    causes = np.zeros(len(rows), np.dtype(ExplainCause))
    for place, (time, link, out, kind) in enumerate(rows):
        causes[place] = (time, 8, 0, 0, 1000, 1000, 500, link, out, 3, kind)
    empty = [np.zeros(0, np.dtype(kind)) for kind in (ExplainSent, ExplainHop, ExplainLine)]
    ports = (Endpoint("h0", 0), Endpoint("s0", 1))
    pauses = Pauses(Logs(empty[0], empty[1], empty[2], causes, ports), 10_000)
    roots = pauses.roots(pauses.all[1])
    assert sum(roots.values()) == pytest.approx(1)
    assert max(roots, key=lambda root: roots[root]).kind == "circle"


def test_gates_that_no_switch_closed_are_unknown_roots() -> None:
    import numpy as np

    from pcn.hosts.virtual.native import (
        CLOSES,
        OPENS,
        ExplainCause,
        ExplainHop,
        ExplainLine,
        ExplainSent,
    )

    causes = np.zeros(2, np.dtype(ExplainCause))
    causes["time_ps"], causes["what"], causes["class"] = [10, 30], [CLOSES, OPENS], 3
    empty = [np.zeros(0, np.dtype(kind)) for kind in (ExplainSent, ExplainHop, ExplainLine)]
    pauses = Pauses(Logs(empty[0], empty[1], empty[2], causes, (Endpoint("h0", 0),)), 100)
    assert pauses.blame((0, 3), [(0, 25)]) == (Followed({Root(0, "unknown"): 15.0}, {}), {})
    assert again.NAMES[0] == "reference"
