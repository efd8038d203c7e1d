"""`pcn run`'s options: what goes to which stream, exit codes, parameters that are listed, what is
refused."""

import json
import os
import re
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete
from summary_shape import mismatches

from pcn import cli
from pcn.cli import run as pcn
from pcn.experiments import runner
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.define.checks import Check
from pcn.experiments.papers import FIGURES, SCENARIOS
from pcn.hosts.algorithms import schemes
from pcn.topologies import extras

SHORT = ("run", "dumbbell", "--clock", "virtual", "--set", "duration=3ms")


def verdict(monkeypatch: pytest.MonkeyPatch, *verdicts: str):
    checks = [
        Check("0.1", f"row {n} (met: 1)", 1, None, 2, "", verdict)
        for n, verdict in enumerate(verdicts)
    ]
    monkeypatch.setattr(type(SCENARIOS["dumbbell"]), "settled", lambda *_: checks)


def test_json_is_all_that_comes_to_stdout(tmp_path, capsys):
    assert pcn([*SHORT, "--json", "--out", str(tmp_path / "one")]) == 0
    output = capsys.readouterr()
    summary = json.loads(output.out)
    assert mismatches(summary) == []
    assert summary == json.loads((tmp_path / "one/summary.json").read_text())
    assert "Figures and report" in output.err
    assert (
        pcn([*SHORT, "--scheme", "pfc,pcn", "--json", "--quiet", "--out", str(tmp_path / "two")])
        == 0
    )
    output = capsys.readouterr()
    assert list(json.loads(output.out)["runs"]) == ["pfc", "pcn"]
    assert output.err == ""


def test_summary_has_the_digest_of_all_events(tmp_path, capsys):
    digests = []
    for number, words in enumerate([(), (), ("--seed", "2")]):
        assert pcn([*SHORT, *words, "--json", "--quiet", "--out", str(tmp_path / str(number))]) == 0
        digests.append(json.loads(capsys.readouterr().out)["digest"])
    assert digests[0] == digests[1] != digests[2]
    assert re.fullmatch("[0-9a-f]{16}", digests[0])
    assert (
        pcn([*SHORT, "--scheme", "pfc,pcn", "--json", "--quiet", "--out", str(tmp_path / "both")])
        == 0
    )
    both = json.loads(capsys.readouterr().out)["runs"]
    assert both["pcn"]["digest"] == digests[0] != both["pfc"]["digest"]


def test_quiet_prints_nothing(tmp_path, capsys):
    assert pcn([*SHORT, "--quiet", "--out", str(tmp_path / "one")]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [(("met", "trend", "not comparable"), 0), (("met", "not met", "not met"), 3), ((), 0)],
)
def test_check_sets_the_exit_code(verdicts, code, tmp_path, monkeypatch, capsys):
    verdict(monkeypatch, *verdicts)
    assert pcn([*SHORT, "--check", "--quiet", "--out", str(tmp_path / "one")]) == code
    assert capsys.readouterr().err == ("pcn: not met: 0.1 row 1; 0.1 row 2\n" if code else "")
    assert pcn([*SHORT, "--quiet", "--out", str(tmp_path / "one")]) == 0


def test_check_looks_at_every_run(tmp_path, monkeypatch, capsys):
    verdict(monkeypatch, "not met")
    assert (
        pcn([*SHORT, "--scheme", "pfc,pcn", "--check", "-q", "--out", str(tmp_path / "two")]) == 3
    )
    assert capsys.readouterr().err == "pcn: not met: pfc: 0.1 row 0; pcn: 0.1 row 0\n"


def test_list_ignores_how_the_run_would_be(capsys):
    assert pcn(["run", "dumbbell", "--list"]) == 0
    printed = capsys.readouterr().out
    assert pcn(["run", "dumbbell", "--list", "--clock", "virtual", "--seed", "3"]) == 0
    assert capsys.readouterr().out == printed


def test_live_run_without_mininet_names_virtual_time(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(extras, "installed", lambda extra: extra != "live")
    with pytest.raises(
        ExperimentError,
        match=r"pcn-lab\[live\].* installs it; --clock virtual runs without live networks",
    ):
        runner.run("dumbbell", clock="live")


def test_parameters_are_listed_with_unit_default_and_meaning(capsys):
    for name, scenario in SCENARIOS.items():
        assert pcn(["run", name, "--list"]) == 0
        table = capsys.readouterr().out
        offered = {parameter for scheme in schemes for parameter in scenario.parameters(scheme)}
        for parameter in offered:
            rows = [line for line in table.splitlines() if line.split()[:1] == [parameter.name]]
            assert any(parameter.meaning in row for row in rows)
            assert len(rows) == sum(candidate.name == parameter.name for candidate in offered)
    assert pcn(["run", "dumbbell", "--scheme", "dcqcn", "--list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["rate"]["default"] == 10e9
    assert rows["K_max"]["schemes"] == [
        "dcqcn", "dcqcn-tcd", "red", "tcd", "tcd-time", "timely-tcd",
    ]  # fmt: skip
    assert rows["xon"]["derived"] == "xoff less two frames"
    assert rows["xon"]["in_effect"] == 512e3 - 2 * 1058
    assert "pairs" in rows
    assert "k" not in rows
    assert not {"w_min", "T_low"} & rows.keys()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "pairs=2", "--set", "pairs=3"), "pcn: pairs is given twice: give one\n"),
        (
            ("--set", "par=2"),
            (
                "pcn: no parameter 'par'; did you mean 'pairs'? (`pcn run dumbbell --list` lists "
                "them)\n"
            ),
        ),
        (("--set", "k=400"), "pcn: no parameter 'k': --dilation K stretches live time\n"),
    ],
)
def test_what_cannot_be_set_is_refused(arguments, message, tmp_path, capsys):
    assert pcn([*SHORT, *arguments, "--out", str(tmp_path / "one")]) == 1
    assert capsys.readouterr().err == message
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_printed_of_nothing(tmp_path, capsys):
    """The dumbbell has no checks across its schemes."""
    assert pcn([*SHORT, "--scheme", "pfc,pcn", "--out", str(tmp_path / "two")]) == 0
    printed = capsys.readouterr().out
    assert "dumbbell: checks" in printed
    assert "across the runs" not in printed


def test_page_names_the_existing_files(tmp_path, capsys):
    assert pcn([*SHORT, "--out", str(tmp_path / "one")]) == 0
    page = (tmp_path / "one/report.html").read_text()
    (line,) = [line for line in page.splitlines() if "Beside this page" in line]
    assert "logs" not in line
    assert "figures" not in line
    files = {"summary.json", "series.parquet", "report.html", "topology.json"}
    assert {path.name for path in (tmp_path / "one").iterdir()} == files
    assert "took 0 s" not in capsys.readouterr().out
    assert "<dd>0 s</dd>" not in page


def completed(*words: str) -> list[str]:
    environment = {
        **os.environ,
        "_PCN_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("pcn", *words)),
    }
    environment["COMP_CWORD"] = str(len(words))
    command = [sys.executable, "-c", "from pcn.cli import main; main()"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.split()]


def test_completion_offers_parameters_and_figures():
    def offered(*words: str) -> list[str]:
        shell = ShellComplete(cli.pcn, {}, "pcn", "_PCN_COMPLETE")
        return [
            completion.value for completion in shell.get_completions(list(words[:-1]), words[-1])
        ]

    assert completed("run", "dumbbell", "--set", "w_m") == ["w_min=", "w_max="]
    assert offered("run", "dumbbell", "--scheme", "dcqcn", "--set", "w_m") == []
    assert offered("run", "--set", "bur") == []
    assert offered("figure", "fig1") == [
        "fig10", "fig11", "fig12", "fig13", "fig14", "fig17", "fig18", "fig19",
    ]  # fmt: skip


def test_help_names_scenarios_and_figures(capsys):
    for command, names in (("run", SCENARIOS), ("figure", FIGURES)):
        assert pcn([command, "--help"]) == 0
        printed = capsys.readouterr().out
        for name in names:
            assert f"\n  {name} " in printed
