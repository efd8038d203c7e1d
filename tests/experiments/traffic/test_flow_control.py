"""A result of traffic has the flow control that its switches had."""

import json

import pytest

from pcn.cli import run as pcn
from pcn.controller import pfc
from pcn.experiments.papers import find_experiment
from pcn.topologies.star import star

RUN = ["run", "traffic", "--clock", "virtual", "--topology", "star"]
MORE = ["--set", "count=10", "--scheme", "pfc", "-q"]


@pytest.mark.parametrize(
    "assignments",
    [(), ("xoff_bytes=20KB",), ("xoff_bytes=20KB", "xon_bytes=10KB", "pause_quanta=900")],
)
def test_result_has_the_thresholds_of_the_switches(assignments, tmp_path):
    settings = [word for assignment in assignments for word in ("--set", assignment)]
    assert pcn([*RUN, *MORE, *settings, "--out", str(tmp_path / "run")]) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    plan = find_experiment(summary["reference"]).plan("pfc", 1, summary["parameters"])
    port = pfc.configure(plan.topology, "s0", 1, 1.0)
    assert summary["flow_control"] == {
        "kind": "pfc", "lossless_classes": [3], "xoff_bytes": port.xoff_bytes,
        "xon_bytes": port.xon_bytes, "pause_quanta": port.quanta, "buffer_bytes": None,
        "credit_interval_s": None,
    }  # fmt: skip
    assert (
        summary["parameters"]["xoff_bytes"] == port.xoff_bytes == (20e3 if assignments else 512e3)
    )
    assert summary["parameters"]["xon_bytes"] == port.xon_bytes
    page = (tmp_path / "run" / "report.html").read_text()
    assert f"pfc, classes 3: xoff {port.xoff_bytes // 1000} KB, xon " in page


def test_list_has_what_follows_from_the_topology(capsys):
    network = star()
    assert pcn(["run", "traffic", "--topology", "star", "--list", "--scheme", "dcqcn"]) == 0
    title, *rows = capsys.readouterr().out.splitlines()
    assert title.startswith("traffic: parameters")
    (xon,) = (row for row in rows if row.split()[:1] == ["xon_bytes"])
    assert f"the topology's own: {network.number('xon_bytes') / 1e3:g} KB" in xon
    (duration,) = (row for row in rows if row.split()[:1] == ["duration"])
    assert "all flows have arrived  " in duration
