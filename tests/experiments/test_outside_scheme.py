"""`pcn run` with a user's scheme: in a file, or one of ours with another program."""

import json
import shutil
from pathlib import Path

import pytest

from pcn.base import packed
from pcn.cli import run as pcn
from pcn.experiments.run.versions import outside
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.recommended import round_trip_s
from pcn.topologies.dumbbell import dumbbell

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "aimd"
AIMD = f"{EXAMPLE}/aimd.py:AIMD"
SHORT = ["--clock", "virtual", "--set", "duration=20ms"]


def test_beside_ours_by_its_own_name_without_claims_of_a_paper(tmp_path):
    out = tmp_path / "both"
    command = [
        "run", "dumbbell", "--scheme", f"pcn,{AIMD}", *SHORT, "--set", "step=200M", "--out",
        str(out),
    ]  # fmt: skip
    assert pcn(command) == 0
    runs = json.loads((out / "comparison.json").read_text())["runs"]
    assert list(runs) == ["pcn", "aimd"]
    assert runs["aimd"]["parameters"]["step"] == 200e6
    assert "step" not in runs["pcn"]["parameters"]
    assert {check["claim"] for check in runs["aimd"]["checks"]} == {""}
    assert runs["aimd"]["checks"][0]["measured"] == 0  # packets lost
    versions = json.loads((out / "aimd" / "summary.json").read_text())["versions"]
    assert {"aimd.py", "step_ecn.py", "step_ecn.json"} <= versions.keys()
    assert "aimd: additive increase, multiplicative decrease" in (out / "report.html").read_text()


def test_figure_runs_a_user_s_scheme_in_separate_processes(tmp_path):
    assert (
        pcn(
            [
                "figure", "fig11", "--schemes", AIMD, "--jobs", "2", "--out",
                str(tmp_path / "figures"),
            ]
        )
        == 0
    )  # fmt: skip
    runs = json.loads((tmp_path / "figures/fig11/figure.json").read_text())["runs"]
    assert [run["keys"] for run in runs] == [{"scheme": "aimd", "seed": seed} for seed in (1, 2, 3)]
    assert all(run["numbers"]["utilisation"] > 0 and run["numbers"]["lost"] == 0 for run in runs)


def test_run_names_the_file_of_an_rp_in_c_and_is_another_with_another_file(tmp_path):
    shutil.copytree(EXAMPLE.parent, tmp_path / "examples")
    scheme = find_scheme(f"{tmp_path}/examples/aimd_window/aimd_window.py:AIMD_WINDOW")
    before = outside(scheme)
    assert {"aimd_window.py", "aimd_window.c", "step_ecn.json"} <= before.keys()
    with (tmp_path / "examples/aimd_window/aimd_window.c").open("a") as file:
        file.write("/* changed */\n")
    assert {name for name, value in outside(scheme).items() if before[name] != value} == {
        "aimd_window.c"
    }


def test_its_parameters_are_listed(capsys):
    assert pcn(["run", "dumbbell", "--scheme", AIMD, "--list", "--json"]) == 0
    listed = {scheme["name"]: scheme for scheme in json.loads(capsys.readouterr().out)}
    assert listed["cut"]["schemes"] == ["aimd"]
    assert listed["cut"]["default"] == 0.1


def test_name_that_another_scheme_has_is_the_schemes_own(tmp_path, capsys):
    text = WRONG.format(rate="1e9", program="pcn", marking="()").replace(
        "Parameters, Rp", "Own, Rp"
    )
    field = "    t_s: float = parameter(1e-3, 'time', 'a time', name='T')"
    definition = f"\n@dataclass(frozen=True)\nclass Own(Parameters):\n{field}\n"
    file = tmp_path / "wrong.py"
    head = "from dataclasses import dataclass\nfrom pcn import parameter\n"
    file.write_text(head + text.replace("\nWRONG =", f"{definition}\nWRONG ="))
    command = [
        "run", "dumbbell", "--scheme", f"{file}:WRONG,pcn", *SHORT, "--out",
        str(tmp_path / "out"),
    ]  # fmt: skip
    assert pcn([*command, "--set", "T=2ms"]) == 1
    assert capsys.readouterr().err == "pcn: T differs by scheme: give wrong.T or pcn.T\n"
    assert pcn([*command, "--set", "wrong.T=2ms"]) == 0
    for scheme, period_s in (("wrong", 2e-3), ("pcn", pytest.approx(round_trip_s(dumbbell())))):
        assert (
            json.loads((tmp_path / "out" / scheme / "summary.json").read_text())["parameters"]["T"]
            == period_s
        )


def test_another_program_is_another_scheme(tmp_path):
    program, out = EXAMPLE / "step_ecn.json", tmp_path / "out"
    command = [
        "run", "dumbbell", "--scheme", "pcn", "--program", str(program), *SHORT, "--out",
        str(out),
    ]  # fmt: skip
    assert pcn(command) == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["scheme"] == "pcn@step_ecn"
    assert {check["claim"] for check in summary["checks"]} == {""}


@pytest.mark.parametrize(
    ("scheme", "program", "message"),
    [
        (
            "dcqcn",
            "step_ecn.json",
            "has no table red_config, which dcqcn@step_ecn sets (as red_ecn)",
        ),
        ("pcn", "nosuch.json", "no program "),
        ("pcn", "aimd.py", "a program is a .p4 file, or the .json that p4c made of one"),
        (AIMD[:-1], "step_ecn.json", "has no scheme 'AIM'; did you mean 'AIMD'?"),
    ],
)
def test_what_does_not_fit_is_one_line(scheme, program, message, tmp_path, capsys):
    command = ["run", "dumbbell", "--scheme", scheme, "--program", str(EXAMPLE / program), *SHORT]
    assert pcn([*command, "--out", str(tmp_path / "out")]) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("pcn: ")]
    assert message in line
    assert not (tmp_path / "out").exists()


WRONG = """
from pcn import Cnp, Mark, NotificationPoint, Parameters, ReactionPoint, Scheme

class Rp(ReactionPoint):
    def __init__(self, line_rate_bps, parameters):
        self.rate_bps = line_rate_bps

    def on_cnp(self, cnp, now_s):
        self.rate_bps = {rate}

class Np(NotificationPoint):
    period_s = 100e-6

    def __init__(self, parameters):
        pass

    def on_window(self, window):
        return Cnp(Mark.CE)

WRONG = Scheme("wrong", "does {rate}", "{program}", Parameters, Rp, Np, marking={marking})
"""


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rate": "float('nan')"}, "rate_bps is nan: a rate is finite, and above 0"),
        ({"rate": "0.0"}, "rate_bps is 0: a rate is finite, and above 0"),
        ({"rate": "float('inf')"}, "rate_bps is inf: a rate is finite, and above 0"),
        (
            {"program": "dcqcn", "marking": '("red_ecn",)'},
            (
                "wrong: table red_config is set from a parameter k_min_bytes, which Parameters "
                "doesn't have"
            ),
        ),
    ],
)
def test_a_scheme_that_goes_wrong_in_a_run_is_one_line(fields, message, tmp_path, capsys):
    file = tmp_path / "wrong.py"
    file.write_text(WRONG.format(**{"rate": "1e9", "program": "pcn", "marking": "()", **fields}))
    assert (
        pcn(
            ["run", "dumbbell", "--scheme", f"{file}:WRONG", *SHORT, "--out", str(tmp_path / "out")]
        )
        == 1
    )
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("pcn: ")]
    assert message in line
    assert not (tmp_path / "out").exists()


@pytest.fixture
def few_events(monkeypatch):
    """Of those that RPs and NPs are driven by, where switches are what is checked."""
    monkeypatch.setattr("pcn.hosts.algorithms.check_events.EVENTS", 100)


@pytest.mark.usefixtures("few_events")
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"program": "dcqcn"}, "nothing sets red_config: name its marking point, marking=(...)"),
        (
            {"program": "dcqcn", "marking": '("qcn_cp",)'},
            "has no table qcn_config, which wrong sets (as qcn_cp)",
        ),
    ],
)
def test_check_tries_the_switches_too(fields, message, tmp_path, capsys):
    file = tmp_path / "wrong.py"
    file.write_text(WRONG.format(**{"rate": "1e9", "program": "pcn", "marking": "()", **fields}))
    assert pcn(["scheme", "check", f"{file}:WRONG", "--json"]) == 1
    findings = [
        scheme
        for scheme in json.loads(capsys.readouterr().out)
        if scheme["rule"] != "a call is short"
    ]
    (seen,) = [finding["seen"] for finding in findings if not finding["kept"]]
    assert message in seen


@pytest.mark.usefixtures("few_events")
@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('return {"k":', 'return {"q":', "show has q, SETTINGS k"),
        ('round(new["k"])', 'round(show(arguments)["k"])', "changed to k="),
        (
            'arguments["k_bytes"]}',
            'arguments["k"]}',
            "marking point of table step_config: KeyError",
        ),
        ('arguments["k_bytes"]}', 'arguments["k_bytes"] / 0}', "ZeroDivisionError"),
        ("def change(", "def changed(", "SETTINGS need show and change"),
        (
            "def change(",
            "def change(*_):\n    raise ValueError\n\n\ndef unused(",
            "as it shows, is refused",
        ),
        (
            "return [TableEntry(TABLE, match=TableMatch(port=self.port), action=action)]",
            "return []",
            "no port has",
        ),
    ],
)
def test_check_tries_the_settings_too(right, wrong, message, tmp_path, capsys, monkeypatch):
    # or other tests would find the broken module
    monkeypatch.setattr("pcn.controller.marking._from_files", {})
    shutil.copytree(EXAMPLE, tmp_path / "aimd")
    file = tmp_path / "aimd" / "step_ecn.py"
    file.write_text(file.read_text().replace(right, wrong))
    assert pcn(["scheme", "check", f"{tmp_path}/aimd/aimd.py:AIMD", "--json"]) == 1
    findings = [
        scheme
        for scheme in json.loads(capsys.readouterr().out)
        if scheme["rule"] != "a call is short"
    ]
    (seen,) = [finding["seen"] for finding in findings if not finding["kept"]]
    assert message in seen


def test_figure_without_runs_of_the_scheme_is_refused(tmp_path, capsys):
    assert pcn(["figure", "fig13", "--schemes", AIMD, "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "pcn: fig13: no runs of aimd\n"


def test_program_without_its_native_version_names_the_way_out(tmp_path, capsys):
    for name in ("step_ecn.json", "step_ecn.p4info.txtpb"):
        (tmp_path / name).write_bytes(packed.read_bytes(EXAMPLE / name))
    program = tmp_path / "step_ecn.json"
    assert (
        pcn(["run", "dumbbell", "--program", str(program), *SHORT, "--out", str(tmp_path / "out")])
        == 1
    )
    error = capsys.readouterr().err
    assert f"beside {program} there must be step_ecn_native.json" in error
    assert "-DNATIVE_PFC" in error
