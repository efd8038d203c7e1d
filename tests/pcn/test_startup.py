"""The start of the three commands: a terminal's encoding, streams that are closed, a folder that is
gone, Ctrl-C."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from distributions import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
AGENT = (
    "--name", "h", "--iface", "none", "--mac", "x", "--ip", "10.0.0.1", "--line-rate", "1e9",
    "--control", "s",
)  # fmt: skip
RUN = (
    "run", "dumbbell", "--clock", "virtual", "--set", "pairs=1", "--set", "duration=1ms", "--out",
    "out",
)  # fmt: skip
LIMIT_S = 120
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
ENCODINGS = {
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "C": C_LOCALE,
    "latin-1": {"PYTHONIOENCODING": "iso8859-1"},
}


def call(
    folder: Path,
    module: str,
    *words: str,
    shell: str = '"$@"',
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """`shell`: what a shell does with the command, "$@"."""
    return subprocess.run(
        ["bash", "-c", shell, "bash", sys.executable, "-m", module, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **(environment or {})},
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_run_replaces_what_the_terminal_lacks(encoding, tmp_path):
    """Files are in UTF-8 in any case."""
    done = call(tmp_path, "pcn", *RUN, environment=ENCODINGS[encoding])
    text = (done.stdout + done.stderr).decode("latin-1" if encoding == "latin-1" else "ascii")
    assert done.returncode == 0, text
    assert "?" in text
    assert "\u2013" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("module", "words", "line"),
    [
        ("pcn", ("run", "dumbbell", "--list"), ""),
        ("pcn", ("--help",), ""),
        ("pcn", ("topology", "check", "\u00e4\u2013\u6f22.yaml"), "pcn: "),
        ("pcn", ("\u00e4",), "pcn: "),
        ("pcn.softswitch", ("\u00e4.json",), "softswitch: cannot read "),
        ("pcn.softswitch", ("--x\u00e4",), "softswitch: "),
        ("pcn.hosts.agent", (*AGENT, "--scheme", "\u00e4"), "agent h: "),
    ],
)
@pytest.mark.parametrize("encoding", ["ascii", "C"])
def test_commands_replace_what_the_terminal_lacks(module, words, line, encoding, tmp_path):
    done = call(tmp_path, module, *words, environment=ENCODINGS[encoding])
    assert (done.stdout + done.stderr).isascii()
    assert done.stderr.startswith(line.encode())
    assert len(done.stderr.splitlines()) == bool(line)


@pytest.mark.parametrize(
    ("name", "environment"), [(b"\xe9t\xe9", {}), ("\u00e9".encode(), C_LOCALE)]
)
def test_name_that_no_page_can_have_is_refused(name, environment, tmp_path):
    """Before there is a result without its report."""
    done = call(tmp_path, "pcn", *RUN[:-1], os.fsdecode(name), environment=environment)
    assert done.returncode == 2
    assert b": PCN Lab needs names in UTF-8" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_chosen_errors_stay(tmp_path):
    """Python's own switch for them."""
    environment = {"PYTHONIOENCODING": "ascii:backslashreplace"}
    done = call(tmp_path, "pcn", "topology", "check", "\u00e4.yaml", environment=environment)
    assert b"\\xe4.yaml: " in done.stderr


def test_product_names_the_encoding_of_each_file():
    """Otherwise it is the locale's."""
    without = []
    for package in (*PACKAGES, "pcn", "p4src"):
        for path in (ROOT / package).rglob("*.py"):
            if path.resolve() == path:  # not by a link of pcn/
                tree = ast.parse(path.read_text(encoding="utf-8"))
                calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
                without += [
                    f"{path.relative_to(ROOT)}:{call.lineno}" for call in calls if _by_locale(call)
                ]
    assert without == []


def _by_locale(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or "encoding" in {
        keyword.arg for keyword in call.keywords
    }:
        return False
    if call.func.attr in ("read_text", "write_text"):
        return len(call.args) < (1 if call.func.attr == "read_text" else 2)
    return call.func.attr == "open" and not call.args and not call.keywords


@pytest.mark.parametrize("closed", [">&-", "2>&-"])
@pytest.mark.parametrize(
    ("module", "words", "code"),
    [
        ("pcn", ("topology", "list"), 0),
        ("pcn", ("run", "dumbbell", "--list"), 0),
        ("pcn", ("nosuch",), 2),
        ("pcn.softswitch", ("--version",), 0),
        ("pcn.softswitch", ("none.json",), 1),
        ("pcn.hosts.agent", ("--help",), 0),
        ("pcn.hosts.agent", AGENT, 1),
    ],
)
def test_closed_streams_take_what_is_printed(module, words, code, closed, tmp_path):
    done = call(tmp_path, module, *words, shell=f'"$@" {closed}')
    assert done.returncode == code
    assert b"Traceback" not in done.stdout + done.stderr


def test_closed_streams_are_no_files_of_a_run(tmp_path):
    """A file that a run opens would have the number of a closed stream, and what is printed there
    in it."""
    done = call(tmp_path, "pcn", *RUN, shell='"$@" <&- >&- 2>&-')
    assert done.returncode == 0
    assert (tmp_path / "out" / "summary.json").read_bytes().startswith(b"{")


@pytest.mark.parametrize(
    ("module", "words", "line"),
    [
        (
            "pcn",
            (*RUN[:-1], "/tmp/never"),
            "pcn: the current folder was deleted: change to another one",
        ),
        ("pcn", RUN, "pcn: the current folder was deleted: change to another one"),
        (
            "pcn",
            ("scheme", "check", "x.py:Y"),
            "pcn: the current folder was deleted: change to another one",
        ),
        ("pcn", ("topology", "convert", "dumbbell", "x.json"), "pcn: x.json: No such file"),
        ("pcn.softswitch", ("x.json",), "softswitch: cannot read x.json: No such file"),
        (
            "pcn.softswitch",
            ("--no-p4", "--grpc-server-addr", "unix:s"),
            "softswitch: cannot listen on unix:s: its",
        ),
        (
            "pcn.softswitch",
            ("--no-p4", "--log-file", "s.log"),
            "softswitch: cannot write s.log: No such file",
        ),
        ("pcn.hosts.agent", AGENT, "agent h: "),
    ],
)
def test_deleted_folder_is_reported_in_a_line(module, words, line, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    done = call(gone, module, *words, shell='rmdir "$PWD" && "$@"')
    (error,) = done.stderr.decode().splitlines()
    assert error.startswith(line)
    assert done.returncode in (1, 2)


@pytest.mark.parametrize(
    ("module", "imported"),
    [("pcn", "click"), ("pcn.softswitch", "argparse"), ("pcn.hosts.agent", "argparse")],
)
def test_interrupted_import_prints_nothing(module, imported, tmp_path):
    """In the place of a module that the command imports is one that interrupts it, within the
    import."""
    (tmp_path / f"{imported}.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(600)\n"
    )
    path = f"{tmp_path}:{ROOT / 'src'}"
    done = call(tmp_path, module, *AGENT, environment={"PYTHONPATH": path})
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, b"", b"")


def test_console_scripts_begin_before_they_import():
    text = (ROOT / "pyproject.toml").read_text()
    assert 'pcn = "pcn.__main__:main"' in text
    assert 'softswitch = "pcn.switch_command:main"' in text


def test_source_tree_that_is_not_installed_runs(tmp_path):
    """As by PYTHONPATH: there is no distribution, whose version results have; doctor reports that
    it is missing."""
    (tmp_path / "sitecustomize.py").write_text(
        "from importlib import metadata\n"
        "find = metadata.Distribution.from_name\n"
        "def without(name):\n"
        "    if name == 'pcn-lab':\n"
        "        raise metadata.PackageNotFoundError(name)\n"
        "    return find(name)\n"
        "metadata.Distribution.from_name = without\n"
    )
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"}
    (version,) = re.findall(
        r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )
    done = call(tmp_path, "pcn", "--version", environment=environment)
    assert done.stdout.decode().startswith(f"pcn {version}"), done.stderr
    done = call(tmp_path, "pcn", *RUN, environment=environment)
    assert done.returncode == 0, done.stderr
    assert (
        json.loads((tmp_path / "out" / "summary.json").read_text())["versions"]["pcn-lab"]
        == version
    )
    done = call(tmp_path, "pcn", "doctor", environment=environment)
    assert b"Traceback" not in done.stderr
    assert "to get pcn-lab: make setup" in done.stdout.decode().splitlines()
