"""Why packets were marked, and by which port."""

import json
from pathlib import Path

from explained_runs import explained, kept_run

from pcn.cli import run as pcn
from pcn.experiments.data import marks
from pcn.experiments.data.records import LogChoice
from pcn.experiments.explain.again import KeptResult
from pcn.experiments.run.progress import Silent


def test_marks_of_a_run_are_those_of_its_packets(mixed: Path, capsys):
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


def test_marks_of_a_flow_have_the_reasons_of_its_hops(mixed: Path):
    reasons = set()
    for result in explained(mixed / "pcn", *KeptResult(mixed / "pcn").slowest(12, Silent())):
        assert sum(result.marked.values()) == result.decisions["marked"]
        assert 0 <= result.decisions["marked_still"] <= result.decisions["marked"]
        assert result.decisions["held_marked"] <= result.decisions["held"]
        reasons |= {hop.mark for hop in result.hops}
    assert {"here", "empty"} <= reasons <= {"before", "here", "empty", "held"}


def test_of_other_marking_points_marks_alone_are_judged(victim: Path, capsys):
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


def test_marks_of_switches_that_mark_nothing_are_none(tmp_path, capsys):
    out = kept_run(
        tmp_path / "out", "traffic", "--topology", "star", "--set", "count=5", "--scheme", "timely"
    )
    assert pcn(["explain", str(out), "--marks"]) == 0
    text = capsys.readouterr().out
    assert ", and none was marked" in text
    assert "confirmed" not in text
