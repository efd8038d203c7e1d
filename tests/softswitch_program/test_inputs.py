"""Files to read that others may have made: pipes and devices hold up no one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pcn.base import inputs

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 120


def test_files_and_pipes_of_a_shell_are_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes("ä\r\nb\r".encode())
    assert inputs.read_bytes(path) == "ä\r\nb\r".encode()
    assert inputs.read_text(path) == path.read_text(encoding="utf-8")
    code = "from pathlib import Path; from pcn.base import inputs; "
    code += (
        "print(inputs.read_text(Path('/dev/stdin')), inputs.read_text(Path('/proc/self/fd/0')) == "
        "'')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input="text", capture_output=True, text=True, check=True
    )
    assert done.stdout == "text True\n"


KINDS = {
    "pipe": "not a file",
    "device": "not a file",
    "folder": "Is a directory",
    "missing": "No such file",
}


def test_bound_takes_no_memory_and_one_more_byte_is_refused(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(3 << 20))
    assert len(inputs.read_bytes(path, 1 << 50)) == 3 << 20  # which no machine can reserve
    assert len(inputs.read_bytes(path, 3 << 20)) == 3 << 20
    with pytest.raises(OSError, match="has more than 3,145,727 bytes"):
        inputs.read_bytes(path, (3 << 20) - 1)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_refused(tmp_path, kind):
    path = tmp_path / "it"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    with pytest.raises(OSError, match=KINDS[kind]):
        inputs.read_bytes(path)


@pytest.mark.parametrize("name", ["s1-runtime.json", "s2-commands.txt"])
def test_pipe_in_an_exercise_is_one_line(tmp_path, name):
    folder = tmp_path / "exercise"
    shutil.copytree(ROOT / "examples/router", folder)
    place = next(folder.rglob(name))
    place.unlink()
    os.mkfifo(place)
    command = [
        str(Path(sys.executable).parent / "pcn"), "p4", "run", str(folder), "--clock", "virtual",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "not a file" in done.stderr


@pytest.mark.parametrize("kind", ["pipe", "no text"])
def test_pictures_are_drawn_without_the_folder_s_matplotlibrc(tmp_path, kind):
    if kind == "pipe":
        os.mkfifo(tmp_path / "matplotlibrc")
    else:
        (tmp_path / "matplotlibrc").write_bytes(b"figure.dpi: \xff\xfe")
    code = "import os; from pcn.experiments.draw import pictures; print(os.getcwd())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
        timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}\n"), done.stderr


def test_opened_file_that_is_interrupted_passes_the_interrupt_on(tmp_path, monkeypatch):
    """Ctrl-C as the file has its descriptor: this is closed once."""
    (tmp_path / "file").write_text("text")
    fdopen = os.fdopen

    def interrupted(descriptor: int, mode: str):
        fdopen(descriptor, mode).close()
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fdopen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        inputs.opened(tmp_path / "file")
