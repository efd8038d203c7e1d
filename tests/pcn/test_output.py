"""What commands print, and where: results on stdout, progress and notes on stderr; --json, --quiet,
-v, --debug."""

import json
import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from pcn import cli
from pcn.cli import run as pcn
from pcn.controller.tofino.lab_file import SAMPLE
from pcn.diagnosis import VARIABLE

ROOT = Path(__file__).resolve().parents[2]
ROUTER = str(ROOT / "examples/router")
NO_TABLES = {
    "completion": "a script for a shell",
    "exec": "what the command in the namespace prints",
    "help": "a text for people",
    "p4 exec": "as exec",
}
"""Commands without --json and --quiet: all that they print is that."""


def leaves(
    words: str = "", command: click.Command = cli.pcn
) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield words.strip(), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from leaves(f"{words} {name}", inner)


COMMANDS = dict(leaves())


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - NO_TABLES.keys()))
def test_command_that_prints_has_json_and_quiet(name):
    options = {option for param in COMMANDS[name].params for option in param.opts}
    assert {"--json", "--quiet", "-q", "--debug", "-v"} <= options


def test_commands_without_json_are_there():
    assert NO_TABLES.keys() <= COMMANDS.keys()


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Has a result, which some commands take."""
    folder = tmp_path_factory.mktemp("output")
    command = [
        "run", "dumbbell", "--clock", "virtual", "--set", "duration=1ms", "-q", "--out",
        str(folder / "kept"),
    ]  # fmt: skip
    assert pcn(command) == 0
    return folder


VIRTUAL = ("--clock", "virtual", "--set", "duration=1ms")
LINES = [
    ("run", "dumbbell", *VIRTUAL, "--out", "mine"),
    ("run", "dumbbell", "--list"),
    (
        "sweep", "dumbbell", "--scheme", "pcn", "--seeds", "1", "--set", "duration=1ms", "--jobs",
        "1", "--out", "sweep",
    ),
    ("figure", "fig10", "--out", "figures"),
    ("deploy", "--ports", "ports.yaml", "--check"),
    ("compare", "kept"), ("compare", "kept", "--out", "compared"),
    ("view", "kept", "--save", "page.html"), ("topology", "list"), ("topology", "check", "star"),
    ("topology", "convert", "star", "star.json"), ("topology", "draw", "star", "star.svg"),
    ("topology", "formats"), ("scheme", "list"), ("scheme", "check", "pfc"), ("workload", "list"),
    ("workload", "show", "W1"), ("workload", "flows", "flows.csv"),
    ("p4", "run", ROUTER, "--clock", "virtual", "--for", "1ms", "--send", "h1,h3"),
    ("p4", "trace", ROUTER, "--for", "1ms", "--send", "h1,h3"),
]  # fmt: skip


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_quiet_and_json_leave_what_they_name(place: Path, monkeypatch, capsys, words):
    monkeypatch.chdir(place)
    Path("flows.csv").write_text("src,dst,size\nh0,h1,9B\n")
    shutil.copyfile(SAMPLE, "ports.yaml")
    capsys.readouterr()
    assert pcn([*words]) == 0
    plain = capsys.readouterr()
    assert plain.out
    assert pcn([*words, "-q"]) == 0
    quiet = capsys.readouterr()
    assert quiet.out == ""
    assert all(line.startswith("note: ") for line in quiet.err.splitlines())
    assert pcn([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert pcn([*words, "--json", "--quiet"]) == 0
    both = capsys.readouterr()
    assert json.loads(both.out)
    assert all(line.startswith("note: ") for line in both.err.splitlines())


def test_progress_goes_to_stderr_and_tables_to_stdout(tmp_path, capsys):
    assert pcn(["run", "dumbbell", *VIRTUAL, "--out", str(tmp_path / "mine")]) == 0
    printed = capsys.readouterr()
    assert "Figures and report" in printed.err
    assert "Figures and report" not in printed.out
    assert f"Report: {tmp_path}/mine/report.html" in printed.out
    assert "checks" in printed.out


def test_json_of_sweep_has_all_numbers(tmp_path, capsys):
    words = [
        "sweep", "dumbbell", "--scheme", "pcn", "--seeds", "1:2", "--jobs", "1", "--set",
        "duration=1ms",
    ]  # fmt: skip
    assert pcn([*words, "--out", str(tmp_path / "sweep"), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["folder"] == str(tmp_path / "sweep")
    (group,) = printed["runs"]
    assert group["values"]["scheme"] == "pcn"
    assert group["means"]["utilisation"]["seeds"] == 2
    assert len(group["means"]) > 6  # more than the table has


def test_watch_and_view_refuse_quiet_that_leaves_nothing(tmp_path, capsys):
    assert pcn(["watch", "-q"]) == 2
    assert "--quiet leaves nothing to see: add --json or --prometheus" in capsys.readouterr().err
    assert pcn(["view", str(tmp_path), "-q"]) == 2
    assert "--quiet hides the page's address: add --json, or --save FILE" in capsys.readouterr().err


def steps_of(
    *words: str, capsys: pytest.CaptureFixture[str]
) -> tuple[list[dict[str, object]], str]:
    assert pcn(["p4", "trace", *words, "--for", "1ms", "--send", "h1,h3"]) == 0
    printed = capsys.readouterr()
    return [json.loads(line) for line in printed.out.splitlines()], printed.err


def test_steps_of_a_trace_go_to_a_file(tmp_path, capsys):
    steps, errors = steps_of(ROUTER, "--steps", "-", capsys=capsys)
    assert errors == ""
    assert {"switch", "packet", "time_ns", "step"} <= steps[0].keys()
    assert steps_of(ROUTER, "--steps", str(tmp_path / "steps"), capsys=capsys) == ([], "")
    assert [json.loads(line) for line in (tmp_path / "steps").read_text().splitlines()] == steps
    # as until 0.1, with a line that names the new form
    old, errors = steps_of(ROUTER, "--json", "-", capsys=capsys)
    assert old == steps
    assert errors == "note: --json FILE is called --steps FILE from 0.2.0 on: write --steps -\n"


def test_json_of_a_trace_has_the_ways(capsys):
    texts = []
    for words in ([ROUTER, "--json"], ["--json", ROUTER]):
        assert pcn(["p4", "trace", *words, "--for", "1ms", "--send", "h1,h3"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    (way,) = json.loads(texts[0])
    assert way["from"] == "h1"
    assert [hop["switch"] for hop in way["hops"]] == ["s1", "s2", "s3"][: len(way["hops"])]
    assert way["hops"][-1]["departures"][0]["to"] == "h3"
    assert way["hops"][0]["tables"][0]["action"].endswith("forward")


def test_trace_prints_all_steps_also_before_its_folder(capsys):
    texts = []
    for words in ([ROUTER, "--steps"], ["--steps", ROUTER]):
        assert pcn(["p4", "trace", *words, "--for", "1ms", "--send", "h1,h3"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert "Transmitting packet of size" in texts[0]
    assert pcn(["p4", "trace", "--steps"]) == 2
    assert "Missing argument" in capsys.readouterr().err


BROKEN = """
from pcn import find_scheme
from pcn.hosts.algorithms.pcn import PcnReactionPoint
from dataclasses import replace


class Broken(PcnReactionPoint):
    in_c = None

    def on_cnp(self, cnp, now_s):
        return deep({})


def deep(values):
    return values["x"]


pcn = find_scheme("pcn")
BROKEN = replace(pcn, name="broken", reaction_point=Broken)
"""


def test_debug_shows_the_stack_behind_the_line_of_an_rp(tmp_path, capsys):
    (tmp_path / "broken.py").write_text(BROKEN)
    words = [
        "run", "dumbbell", *VIRTUAL, "--scheme", f"{tmp_path}/broken.py:BROKEN", "--out",
        str(tmp_path / "mine"),
    ]  # fmt: skip
    for debug in (True, False):
        assert pcn([*words, *["--debug"] * debug]) == 1
        errors = capsys.readouterr().err
        assert "KeyError: 'x' (broken.py, line 15)" in errors.splitlines()[-1]
        assert ("in deep" in errors) == debug


@pytest.mark.parametrize(
    "words", [["--debug", "topology", "check", "nope"], ["topology", "check", "nope", "--debug"]]
)
def test_debug_prints_the_traceback_before_the_line(words, capsys):
    assert pcn(words) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1].startswith("pcn: no topology 'nope'")
    assert VARIABLE not in os.environ
    assert pcn(["topology", "check", "nope"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_pcn_debug_shows_the_traceback_behind_a_wrong_command_line_too(monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, "1")
    assert pcn(["run", "dumbbell", "--port", "80"]) == 2
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv(VARIABLE, "0")
    assert pcn(["run", "dumbbell", "--port", "80"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_verbose_prints_the_log_of_pcn_alone(capsys, monkeypatch):
    from pcn.topologies import lookup

    def names() -> list[str]:
        logging.getLogger("pcn.topologies").info("looking")
        logging.getLogger("pcn.topologies").debug("deeper")
        logging.getLogger("others").info("not ours")
        return []

    monkeypatch.setattr(lookup, "names", names)
    for words, lines in (
        (["topology", "list"], []),
        (["-v", "topology", "list"], ["pcn.topologies: looking"]),
        (["topology", "list", "-v"], ["pcn.topologies: looking"]),
        (
            ["topology", "list", "-v", "--debug"],
            ["pcn.topologies: looking", "pcn.topologies: deeper"],
        ),
        (["topology", "list"], []),
    ):
        assert pcn(words) == 0
        assert capsys.readouterr().err.splitlines() == lines


def test_help_prints_what_the_option_does(capsys):
    for words in ([], ["run"], ["p4", "trace"], ["set"]):
        assert pcn(["help", *words]) == 0
        text = capsys.readouterr().out
        assert pcn([*words, "--help"]) == 0
        assert capsys.readouterr().out == text
    assert pcn(["help", "rum"]) == 2
    assert "no command 'rum'; did you mean 'run' or 'resume'?" in capsys.readouterr().err
    assert pcn(["help", "run", "dumbbell"]) == 2
    assert "pcn run has no commands" in capsys.readouterr().err


def test_short_version_is_the_long_one(capsys):
    assert pcn(["-V"]) == 0
    short = capsys.readouterr().out
    assert pcn(["--version"]) == 0
    assert capsys.readouterr().out == short


@pytest.mark.parametrize(
    ("words", "begun", "offered"),
    [(["help"], "fi", ["figure"]), (["help", "p4"], "tr", ["trace"]), (["help", "run"], "", [])],
)
def test_help_completes_names_of_commands(words, begun, offered):
    complete = ShellComplete(cli.pcn, {}, "pcn", "_PCN_COMPLETE")
    assert [completion.value for completion in complete.get_completions(words, begun)] == offered
