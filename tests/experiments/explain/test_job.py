"""`pcn explain --job`: a chain of flows whose parts sum to the makespan."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pcn.cli import run as pcn
from pcn.hosts.explain_log import PARTS


def kept_run(out: Path, *command: str) -> Path:
    assert pcn(["run", "traffic", *command, "--clock", "virtual", "-q", "--out", str(out)]) == 0
    return out


def job_of(place: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert pcn(["explain", str(place), "--job", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["job"]
    assert sum(result["parts_ps"].values()) == result["time_ps"]
    for item in result["chain"]:
        assert sum(item["parts_ps"].values()) == item["time_ps"]
    assert (
        sum(item["time_ps"] + item["between_ps"] for item in result["chain"]) == result["time_ps"]
    )
    return result


@pytest.mark.parametrize("scheme", ["pfc", "pcn"])
def test_chain_of_a_collective_sums_to_its_makespan(scheme, tmp_path, capsys):
    """Two repetitions of a ring, with other work of 3 us behind each arrival."""
    words = [
        "--topology", "fat-tree", "--workload", "allreduce", "--set", "size=400KB", "--set",
        "xoff_bytes=20KB",
    ]  # fmt: skip
    place = kept_run(
        tmp_path / "out", *words, "--set", "repeat=2", "--set", "wait=3us", "--scheme", scheme
    )
    job = job_of(place, capsys)
    rows = {row["id"]: row for row in pq.read_table(place / "flows.parquet").to_pylist()}
    assert job["jobs"] == 1
    assert job["flows"] == len(rows) == 2 * 480
    ends_s = {number: row["start_s"] + row["fct_s"] for number, row in rows.items()}
    begin_s = min(row["start_s"] for row in rows.values())
    assert job["time_ps"] == pytest.approx((max(ends_s.values()) - begin_s) * 1e12, abs=2e3)
    assert job["parts_ps"]["between"] == (len(job["chain"]) - 1) * 3_000_000
    for earlier, later in zip(job["chain"], job["chain"][1:], strict=False):
        assert rows[later["id"]]["start_s"] == pytest.approx(ends_s[earlier["id"]] + 3e-6, abs=2e-9)
    assert pcn(["explain", str(place), "--job"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("job of 960 flows that wait for each other\n")
    assert f"a chain of {len(job['chain'])} flows" in text
    assert (place / "explain" / "explanation.txt").read_text() == text


def test_chain_beside_other_flows_has_what_they_cost(tmp_path, capsys):
    """A chain of three beside an in-cast to the host of its last flow, and a shorter job."""
    flows = tmp_path / "flows.csv"
    chain = "0,h0,h4,0us,100KB,\n1,h4,h8,5us,100KB,0\n2,h8,h1,0us,100KB,1\n"
    shorter = "3,h2,h3,0us,1KB,\n4,h3,h2,0us,1KB,3\n"
    incast = "".join(
        f"{5 + place},h{src},h1,{40 * place}us,300KB,\n" for place, src in enumerate((5, 9, 13, 7))
    )
    flows.write_text(f"id,src,dst,start,size,after\n{chain}{shorter}{incast}")
    words = [
        "--topology", "fat-tree", "--flows", str(flows), "--set", "xoff_bytes=20KB", "--scheme",
        "pfc",
    ]  # fmt: skip
    job = job_of(kept_run(tmp_path / "out", *words), capsys)
    assert (job["jobs"], job["flows"]) == (2, 3)
    assert [item["id"] for item in job["chain"]] == [0, 1, 2]
    assert [item["between_ps"] for item in job["chain"]] == [0, 5_000_000, 0]
    assert (
        sum(
            job["parts_ps"][name]
            for name in ("paused", "contention", "pause_backlog", "pause_idle")
        )
        > 0
    )
    assert {"between", *PARTS} == set(job["parts_ps"])


def test_flow_that_its_own_time_starts_begins_the_chain(tmp_path, capsys):
    flows = tmp_path / "flows.csv"
    flows.write_text("id,src,dst,start,size,after\n0,h0,r0,0us,10KB,\n1,h1,r1,900us,10KB,0+1us\n")
    job = job_of(kept_run(tmp_path / "out", "--topology", "compact", "--flows", str(flows)), capsys)
    assert [item["id"] for item in job["chain"]] == [1]
    assert job["parts_ps"]["between"] == 900_000_000


def test_runs_without_jobs_are_one_line(tmp_path, capsys):
    place = kept_run(tmp_path / "out", "--topology", "star", "--set", "count=5")
    assert pcn(["explain", str(place), "--job", "-q"]) == 1
    assert "no flow waits for others" in capsys.readouterr().err
    assert pcn(["explain", str(place), "--job", "--flow", "1"]) == 2
    assert pcn(["explain", str(place), "--job", "--what-if", "s0:1=1G"]) == 2


def test_chain_goes_on_behind_the_last_acknowledgement_of_a_flow(tmp_path, capsys):
    """What lies between is the ACK's way back: 62 bytes over two links of 1 us and
    10 Gbit/s."""
    flows = tmp_path / "flows.csv"
    flows.write_text(
        "id,src,dst,start,size,after,acknowledged\n0,h0,h4,0us,100KB,,\n1,h0,h5,0us,100KB,0,0\n"
    )
    words = ["--topology", "leaf-spine", "--flows", str(flows), "--scheme", "swift"]
    job = job_of(kept_run(tmp_path / "out", *words), capsys)
    assert [item["id"] for item in job["chain"]] == [0, 1]
    assert job["chain"][1]["between_ps"] == 2 * (1_000_000 + 62 * 8 * 100)
