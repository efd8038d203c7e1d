"""The pcn command without a network: help, errors, units, doctor."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import click
import forks
import pytest
from click.testing import CliRunner
from distributions import required

from lint import prose
from pcn import cli, doctor
from pcn.base import packed
from pcn.base.packed import pack
from pcn.commands.common import assignments
from pcn.controller.texts import dilated_text
from pcn.lab import journal as records
from pcn.p4src import manifest
from pcn.p4src.manifest import ROOT
from pcn.topologies import extras


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.run(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(autouse=True)
def _own_run_dir(tmp_path, monkeypatch):
    """Networks of this machine's other users don't show."""
    monkeypatch.setattr(records, "RUN_DIR", tmp_path / "run")


def commands() -> list[tuple[str, ...]]:
    """Every command and subcommand."""
    all_commands = [()]
    context = click.Context(cli.pcn)
    for name in cli.pcn.list_commands(context):
        all_commands.append((name,))
        command = cli.pcn.get_command(context, name)
        if isinstance(command, click.Group):
            all_commands += [(name, sub) for sub in command.list_commands(context)]
    return all_commands


@pytest.mark.parametrize("command", commands(), ids=lambda words: " ".join(words) or "pcn")
def test_every_command_has_help_with_examples(command, capsys):
    code, out, _ = run(capsys, *command, "--help")
    assert code == 0
    assert "Usage: pcn " in out
    assert "Examples:" in out


@pytest.mark.parametrize("command", commands(), ids=lambda words: " ".join(words) or "pcn")
def test_help_has_plain_words(command, capsys):
    """Software reports, sends and detects; a default stands as "(default: X)"."""
    _, out, _ = run(capsys, *command, "--help")
    assert [
        match for word in prose.words() for match in word.pattern.findall(" ".join(out.split()))
    ] == []


@pytest.mark.parametrize("command", commands(), ids=lambda words: " ".join(words) or "pcn")
def test_examples_name_real_commands_and_options(command, capsys):
    """Each example line parses: up to the point where it would do something."""
    _, out, _ = run(capsys, *command, "--help")
    lines = [line for line in map(str.strip, out.splitlines()) if line.startswith("pcn ")]
    examples = [re.split(r"  | [|>] ", line)[0].split() for line in lines]
    assert examples
    for words in examples:
        context = cli.pcn.make_context("pcn", words[1:])
        while isinstance(context.command, click.Group):
            name, sub, rest = context.command.resolve_command(
                context, [*context._protected_args, *context.args]
            )
            context = sub.make_context(name, rest, parent=context)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["tabels", "s0"], 2, "did you mean 'tables'?"),
        (["xyzzy"], 2, "no command 'xyzzy'; none of "),
        (["tables", "s0"], 1, "no network is up: start one with `pcn up dumbbell`"),
        (["counters", "s0", "-n", "lab"], 1, "no network 'lab' is up; none exists"),
        (["flow", "start", "h0", "r0", "--size", "64QB"], 2, "write it like 64KB"),
        (["flow", "start", "h0", "r0", "--rate", "-5G"], 2, "must not be negative"),
        (["flow", "start", "h0", "r0", "--size", "1.5B"], 2, "'1.5B': must be whole bytes"),
        (["flow", "start", "h0", "r0", "--size", "64000"], 2, "'64000' has no unit: write 64KB"),
        (["flow", "start", "h0", "r0", "--rate", "0"], 2, "'0': must be above 0"),
        (["sweep", "dumbbell", "--limit", "10"], 2, "'10' has no unit: write 10s, 10ms or 10us"),
        (
            ["up", "dumbbell", "--set", "rate_bps=25e9"],
            1,
            "rate_bps=25e9: '25e9' has no unit: write 25G",
        ),
        (
            ["up", "dumbbell", "--param", "period_s=5e-4"],
            1,
            "period_s=5e-4: '5e-4' has no unit: write 500us",
        ),
        (
            ["up", "dumbbell", "--param", "w_min=1", "--param", "w_min=2"],
            2,
            "w_min is given twice: give one",
        ),
        (
            ["flow", "start", "h0", "r0", "--duration", "3"],
            2,
            "'3' has no unit: write 3s, 3ms or 3us",
        ),
        (["pause", "s1", "3", "--for", "3"], 2, "'3' has no unit: write 3s, 3ms or 3us"),
        (["pcap", "s1", "3", "--for", "3"], 2, "'3' has no unit: write 3s, 3ms or 3us"),
        (["host", "--iface", "eth2", "--for", "3"], 2, "'3' has no unit: write 3s, 3ms or 3us"),
        (["flow", "stop"], 2, "name the flows to stop, or --all"),
        (["flow", "stop", "1", "--all"], 2, "name the flows to stop, or --all"),
        (["up", "dumbell"], 1, "did you mean 'dumbbell'?"),
        (["up", "dumbbell", "--set", "pears=2"], 1, "did you mean 'pairs'?"),
        (["up", "dumbbell", "--set", "pairs"], 2, "write it as name=value"),
        (["up", "dumbbell", "--set", "pairs=0"], 1, "at least 1"),
        (["up", "dumbbell", "--scheme", "foo"], 1, "'foo'"),
        (["up", "dumbbell", "--scheme", "dcqn"], 1, "did you mean 'dcqcn'?"),
        (["up", "dumbbell", "--param", "w_mox=1"], 1, "did you mean 'w_max'?"),
        (["up", "dumbbell", "--target", "bmv3"], 1, "choose from softswitch, engine, bmv2"),
        (
            ["up", "dumbbell", "--set", "pairs=two"],
            1,
            "pairs=two: 'two' is no whole number: write it like 3",
        ),
        (["run", "traffic", "--set", "count=2,3"], 1, "`pcn sweep` takes several values"),
        (["up", "dumbbell", "--dilation", "0"], 2, "'0': must be above 0"),
        (["up"], 2, "Missing argument 'TOPOLOGY'. (`pcn up --help`)"),
        (
            ["completion", "ksh"],
            2,
            "'ksh' is not one of 'bash', 'zsh', 'fish'. (`pcn completion --help`)",
        ),
        (["down", "dumbbell"], 1, "no network 'dumbbell'; none exists"),
        (["down", "-n", "dumbbell"], 1, "no network 'dumbbell'; none exists"),
        (["down", "a", "-n", "b"], 2, "a and --network b: name one network"),
        (["down", "a", "--all"], 2, "a and --all: name one network, or end all"),
        (["status", "dumbbell"], 1, "no network 'dumbbell'; none exists"),
        (["status", "a", "--network", "b"], 2, "a and --network b: name one network"),
        (
            ["run", "dumbbell", "--set", "k=400"],
            1,
            "no parameter 'k': --dilation K stretches live time",
        ),
        (["run", "dumbbell", "--set", "rate=25e9"], 1, "rate=25e9: '25e9' has no unit: write 25G"),
        (
            ["run", "dumbbell", "--set", "duration=10"],
            1,
            "duration=10: '10' has no unit: write 10s, 10ms or 10us",
        ),
        (["figure", "fig19", "--redraw", "--seeds", "1:3"], 2, "--seeds: --redraw runs nothing"),
        (
            ["sweep", "dumbbell", "--scheduler", "tcp://x:1", "--jobs", "2"],
            2,
            "--jobs: for processes of this machine",
        ),
        (["deploy", "--sample", "--check"], 2, "--check: --sample does nothing but print"),
        (["watch", "--every", "1"], 2, "'1' has no unit: write 1s, 1ms or 1us"),
        (["watch", "--every", "1ms"], 2, "--every: from 0.1s to 3600s are possible"),
        (["down", "../etc"], 1, "network name '../etc'"),
    ],
)
def test_errors_are_one_line_with_the_way_out(arguments, code, message, capsys):
    got, out, err = run(capsys, *arguments)
    assert (got, out) == (code, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_down_and_status_with_nothing_there(tmp_path, monkeypatch, capsys):
    # this user's real one may name a run that was killed
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert run(capsys, "down") == (0, "nothing to remove\n", "")
    assert run(capsys, "status") == (0, "no network is up\n", "")
    assert run(capsys, "status", "--json") == (0, "[]\n", "")


def test_down_with_a_home_that_cannot_be_written(monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    line = (
        "pcn: cannot write the cache directory /proc/pcn-lab: No such file or directory; set "
        "XDG_CACHE_HOME\n"
    )
    assert run(capsys, "down") == (1, "", line)


def test_without_root(tmp_path):
    """As a user who may not make namespaces; `nobody` reads the checkout through its file
    descriptors only."""
    program = (
        "import os, sys; from pcn import cli; from pcn.lab import network, supervisor;"
        "os.geteuid = lambda: 1000; sys.exit(cli.run(['up', 'dumbbell']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert (
        done.stderr == "pcn: making network namespaces needs root: run it with sudo, or as root\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_without_a_compiler(tmp_path):
    """Virtual time needs one, unless the cache has what it would make."""
    environment = {"CC": "nosuchcc", "XDG_CACHE_HOME": str(tmp_path)}
    words = ("run", "dumbbell", "--clock", "virtual", "--out", str(tmp_path / "out"))
    done = forks.run("pcn", *words, environment=environment)
    assert done.returncode == 1
    *progress, error = done.stderr.splitlines()
    assert error.startswith("pcn: cannot run the C compiler 'nosuchcc'")
    assert not any("pcn: " in line for line in progress)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("seconds", "dilation", "text"),
    [
        (3, 400, "3 s nominal, 1200 s real"),
        (2e-3, 400, "2 ms nominal, 800 ms real"),
        (2.5e-4, 1000, "250 us nominal, 250 ms real"),
        (30, 1000, "30 s nominal, 30000 s real"),
        (5e-9, 1, "5 ns nominal, 5 ns real"),
    ],
)
def test_how_long_a_nominal_time_is(seconds, dilation, text):
    assert dilated_text(seconds, dilation) == text


def test_assignments_keep_the_text():
    assert assignments(["rate_bps=25G", "w_min=1/128"], "pairs=2") == {
        "rate_bps": "25G",
        "w_min": "1/128",
    }


@pytest.fixture
def without_tools(monkeypatch):
    """Without the versions of other programs, on which most of doctor's time goes."""
    monkeypatch.setattr(doctor, "_tools", lambda: ())


class TestDoctor:
    @pytest.mark.parametrize("module", ["numpy", "google.protobuf"])
    def test_doctor_reports_a_package_that_is_missing(self, module):
        lines = (
            f"import sys; sys.modules[{module!r}] = None; from pcn.cli import run; "
            "sys.exit(run(sys.argv[1:]))"
        )
        command = [sys.executable, "-c", lines, "doctor", "--json"]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        assert process.returncode == 1
        (check,) = (check for check in json.loads(process.stdout) if check["name"] == "C libraries")
        assert not check["present"]
        assert "Error" in check["found"]
        assert "Traceback" not in process.stderr

    def test_doctor_lists_present_software(self):
        result = CliRunner().invoke(cli.pcn, ["doctor", "--json"])
        checks = {check["name"]: check for check in json.loads(result.output)}
        assert checks["Python"]["present"]
        assert checks["grpcio"]["found"] == metadata.version("grpcio")
        assert checks["Linux"]["found"] == os.uname().release
        assert checks["P4 programs"]["found"].split(",")[0].isdecimal()
        assert all(check["remedy"] for check in checks.values() if not check["present"])

    def test_fails_for_what_is_needed_and_names_the_command(self, monkeypatch):
        monkeypatch.setenv("PATH", "/nonexistent")
        result = CliRunner().invoke(cli.pcn, ["doctor"])
        assert result.exit_code == 1
        assert "to get mnexec: apt-get install mininet" in result.output.splitlines()
        assert "mnexec" in result.output.splitlines()[-1]

    @pytest.mark.usefixtures("without_tools")
    def test_without_root_virtual_time_is_all_there_is(self, monkeypatch):
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        result = CliRunner().invoke(cli.pcn, ["doctor"])
        assert result.exit_code == 0
        last = result.output.splitlines()[-1]
        assert last.startswith("virtual time has all that it needs; live networks need root")
        assert "to get root: run it with sudo" in result.output

    @pytest.mark.parametrize(("extra", "needed"), [("live", True), ("figures", False)])
    def test_doctor_reports_a_missing_extra(self, extra, needed, monkeypatch):
        """As needed where live networks are, and by the command that installs it where there is no
        checkout."""
        monkeypatch.setattr(doctor, "_CHECKOUT", False)
        (gone,) = (name for name, _, requirement_extra in required() if requirement_extra == extra)
        version = metadata.version

        def without(name: str) -> str:
            if name == gone:
                raise metadata.PackageNotFoundError(name)
            return version(name)

        monkeypatch.setattr(metadata, "version", without)
        check = {check.name: check for check in doctor._packages()}[gone]
        assert (check.present, check.needed, check.live) == (False, needed, needed)
        assert (check.what_for, check.remedy) == (
            f"extra {extra}",
            f"pip install 'pcn-lab[{extra}]'",
        )
        assert (gone in doctor.missing([check])) == (needed and os.geteuid() == 0)

    def test_doctor_needs_nothing_live_without_its_extra(self, monkeypatch):
        monkeypatch.setattr(extras, "installed", lambda extra: extra != "live")
        gone = doctor.Check("mininet", "extra live", True, False, "not found", live=True)
        assert doctor.missing([gone, replace(gone, name="cc", live=False)]) == ["cc"]
        monkeypatch.setattr(extras, "installed", lambda _: True)
        assert doctor.missing([gone]) == ["mininet"] * (os.geteuid() == 0)

    @pytest.mark.usefixtures("without_tools")
    def test_without_root_a_compiler_is_needed_all_the_same(self, monkeypatch):
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        monkeypatch.setenv("CC", "nosuchcc")
        result = CliRunner().invoke(cli.pcn, ["doctor"], standalone_mode=False)
        assert str(result.exception) == "missing: nosuchcc"

    def test_a_compiler_without_headers(self, monkeypatch):
        """As where gcc was installed without libc6-dev."""
        monkeypatch.setenv("CC", "cc -nostdinc")
        (check,) = [check for check in doctor._machine() if check.name == "cc"]
        assert (check.needed, check.present) == (True, False)
        assert "stdio.h" in check.found
        assert "libc6-dev" in check.remedy

    def test_a_cache_that_cannot_be_written(self, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
        checks = {check.name: check for check in doctor._machine()}
        assert (checks["cache"].needed, checks["cache"].present) == (True, False)
        assert checks["cache"].found.startswith("cannot write the cache directory /proc/pcn-lab")
        assert "XDG_CACHE_HOME" in checks["cache"].remedy
        assert "C libraries" not in checks

    @pytest.mark.usefixtures("without_tools")
    def test_a_copy_without_data(self, tmp_path, monkeypatch):
        for module in (doctor, manifest):
            monkeypatch.setattr(module, "ROOT", tmp_path)
        checks = {check.name: check for check in doctor.checks()}
        assert doctor.missing(checks.values()) == ["C libraries", "files", "P4 programs"]
        assert checks["files"].found.endswith("and 2 more")

    def test_a_compiled_program_that_is_gone(self, tmp_path, monkeypatch):
        shutil.copytree(ROOT / "p4src", tmp_path / "p4src")
        archive = tmp_path / "p4src/compiled" / packed.ARCHIVE
        names = ("pcn.p4info.txtpb", "pcn_native.p4info.txtpb", "pcn_native.json")
        contents = {name: packed.read_bytes(archive.with_name(name)) for name in names}
        archive.write_bytes(pack(contents))
        for module in (doctor, manifest):
            monkeypatch.setattr(module, "ROOT", tmp_path)
        check = doctor._programs()
        assert (check.present, check.found) == (
            False,
            "not found: p4src/compiled/dcqcn.json, p4src/compiled/dcqcn.p4info.txtpb, "
            "p4src/compiled/dcqcn_native.json and 50 more",
        )
        assert "p4src/compiled/pcn_native.json" not in check.found

    def test_what_is_optional_does_not_fail_it(self, monkeypatch):
        optional = doctor.Check(
            "p4c", "changing P4", needed=False, present=False, found="not found", remedy="build it"
        )
        monkeypatch.setattr(doctor, "checks", lambda: [optional])
        result = CliRunner().invoke(cli.pcn, ["doctor"])
        assert result.exit_code == 0
        assert "optional" in result.output


@pytest.mark.parametrize("command", [["scheme", "list"], ["--help"], ["completion", "bash"]])
def test_output_that_has_no_room_is_one_line(command):
    script = "import sys; from pcn.cli import run; sys.exit(run(sys.argv[1:]))"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", script, *command], stdout=full, stderr=subprocess.PIPE,
            text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1,
        "pcn: can't write the output: No space left on device\n",
    )
