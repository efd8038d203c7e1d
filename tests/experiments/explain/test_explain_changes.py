"""`pcn explain` with a change: without a root, with another scheme."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from explained_runs import kept_run

from pcn.cli import run as pcn
from pcn.experiments.explain.again import KeptResult
from pcn.experiments.explain.explanation import VICTIM
from pcn.experiments.run.progress import Silent


def test_without_its_root_a_flow_is_faster(tmp_path, capsys):
    """Four to h0; h9's flow to the neighbour shares links with them, and crosses another last
    port."""
    flows = tmp_path / "flows.csv"
    pairs = [*((f"h{number}", "h0") for number in (4, 6, 8, 10)), ("h9", "h1")]
    flows.write_text(
        "src,dst,start,size\n" + "".join(f"{src},{dst},0us,200KB\n" for src, dst in pairs)
    )
    words_ = [
        "traffic", "--topology", "fat-tree", "--flows", str(flows), "--scheme", "pfc", "--set",
        "xoff_bytes=40KB",
    ]  # fmt: skip
    place = kept_run(tmp_path / "out", *words_)

    def explanation(*more: str) -> dict[str, Any]:
        capsys.readouterr()
        assert pcn(["explain", str(place), "--flow", "4", *more, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

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


def test_another_scheme_gives_the_times_of_its_run(mixed: Path, capsys):
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
        (["--scheme", "nothing"], 1, "--scheme nothing: no scheme"),
        (["--what-if", "s9:1=1G"], 1, "--what-if s9:1: no such port"),
        (["--what-if", "s0:1"], 2, "--what-if s0:1"),
        (["--without-flows", "nothing"], 1, "--without-flows nothing: no such flow or group"),
        (
            ["--without-flows", "bursts,0,1"],
            1,
            "--without-flows bursts,0,1: no flow is left",
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
def test_changes_that_cannot_be_are_one_line(victim: Path, capsys, arguments, code, line):
    assert pcn(["explain", str(victim / "pfc"), *arguments, "-q"]) == code
    assert line in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--flow", "0", "--at", "s0:3"],
        ["--worst", "2", "--from", "1us"],
        ["--at", "s0:3", "--from", "5ms", "--to", "1ms"],
    ],
)
def test_options_that_exclude_each_other_are_refused(victim: Path, arguments):
    assert pcn(["explain", str(victim / "pfc"), *arguments]) == 2
