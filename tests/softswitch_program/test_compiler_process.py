"""The C compiler as a child: it goes with the process that started it, within limits, and leaves
nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from program_json import Builder, assign, field, op, value

from pcn.softswitch.cache import compiler_process
from pcn.softswitch.cache.objects import SCRATCH, build
from pcn.softswitch.codegen.build import BuildError, build_program, build_runtime
from pcn.softswitch.program.errors import UnsupportedProgram

ROOT = Path(__file__).resolve().parents[2]
HANG_S = 120  # only a hang takes so long


def program() -> str:
    return json.dumps(
        Builder().header("h", [["a", 8]]).run([assign(field("h", "a"), value(1))]).json()
    )


@pytest.fixture(scope="module")
def runtime() -> Path:
    """In this user's cache."""
    return build_runtime()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "pcn-lab"


@pytest.fixture
def endless(tmp_path, monkeypatch) -> Iterator[Path]:
    """A compiler whose own child never ends; the file has the child's process id once it runs."""
    pids = tmp_path / "pids"
    script = tmp_path / "endless"
    script.write_text("#!/bin/sh\n[ \"$1\" = --version ] && exec echo endless\nsleep 1000000 & "
                      f"echo $! > {pids}.new\n"
                      f"mv {pids}.new {pids}\nwait\n")  # fmt: skip
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    yield pids
    if pids.exists() and is_alive(int(pids.read_text())):
        os.kill(int(pids.read_text()), signal.SIGKILL)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + HANG_S
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


BUILD = (
    "import sys; from pcn.softswitch.codegen.build import build_program; build_program(sys.argv[1])"
)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_compiler_ends_with_the_process_that_started_it(number, endless: Path, cache: Path):
    """With all that it has started; the next build removes what was left."""
    builder = subprocess.Popen(
        [sys.executable, "-c", BUILD, program()], cwd=ROOT, stderr=subprocess.DEVNULL
    )
    assert wait(endless.exists)
    compiler = int(endless.read_text())
    builder.send_signal(number)
    builder.wait(HANG_S)
    assert wait(lambda: not is_alive(compiler))
    os.environ["CC"] = "cc"
    build_program(program())
    assert not list(cache.glob(f"{SCRATCH}*"))


def test_build_keeps_what_another_build_works_in(endless: Path, cache: Path):
    builder = subprocess.Popen(
        [sys.executable, "-c", BUILD, program()], cwd=ROOT, stderr=subprocess.DEVNULL
    )
    try:
        assert wait(endless.exists)
        (scratch,) = cache.glob(f"{SCRATCH}*")
        os.environ["CC"] = "cc"
        build_program(program())
        assert list(cache.glob(f"{SCRATCH}*")) == [scratch]
        assert (scratch / "program.c").exists()
    finally:
        builder.kill()
        builder.wait(HANG_S)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_switch_that_compiles_ends_at_a_signal(number, runtime: Path, endless: Path, tmp_path):
    """In order, with status 0 and without a word of the compiler, whose end is no news then."""
    (tmp_path / "program.json").write_text(program())
    words = [sys.executable, "-c", SWITCH, str(runtime), str(tmp_path / "program.json")]
    switch = subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        assert wait(endless.exists)
        switch.send_signal(number)
        errors = switch.communicate(timeout=HANG_S)[1]
    finally:
        switch.kill()
    assert (switch.returncode, errors) == (0, "")
    assert wait(lambda: not is_alive(int(endless.read_text())))


# A switch whose runtime is there already, since its own compiler makes none.
SWITCH = """
import sys
from pathlib import Path
import pcn.softswitch.serve
from pcn.softswitch.cli import main
pcn.softswitch.serve.build_runtime = lambda: Path(sys.argv[1])
sys.exit(main([sys.argv[2], "--clock", "manual", "--", "--grpc-server-addr", "127.0.0.1:0"]))
"""


def long() -> str:
    """A program that takes a compiler a while."""
    square = op("*", field("h", "w"), field("h", "w"))
    builder = Builder().header("h", [["a", 8], ["w", 4000]])
    return json.dumps(builder.run([assign(field("h", "w"), square)] * 4000).json())


@pytest.mark.parametrize(
    ("limit", "most", "message"),
    [
        ("SECONDS", 1, "cc needs more than 1 s of processor time, or 4194304 KiB of memory"),
        (
            "MEMORY_BYTES",
            100 << 20,
            "cc needs more than 300 s of processor time, or 102400 KiB of memory",
        ),
    ],
)
def test_compiler_beyond_a_limit_is_ended(limit, most, message, monkeypatch, cache: Path):
    """The error names the largest part of the program, and nothing is left."""
    monkeypatch.setattr(compiler_process, limit, most)
    with pytest.raises(UnsupportedProgram) as caught:
        build_program(long())
    assert str(caught.value) == (
        f"action ingress_step0_action: {message}; of the program this is the largest part: "
        "make it smaller"
    )
    assert not list(cache.iterdir())


def test_limits_above_this_process_s_own_are_lowered():
    """Where its limits are lower than the compiler's would be, they stay."""
    words = [
        "sh",
        "-c",
        f"ulimit -t 250; ulimit -v 3000000; exec {sys.executable} -c '{BUILD}' \"$1\"",
        "sh",
        program(),
    ]
    subprocess.run(words, cwd=ROOT, check=True)


def test_number_that_c_would_cut_is_an_error():
    """gcc only warns of it by itself."""
    text = '#include "pipeline.h"\nconst uint32_t cut = {};\n'
    headers = ROOT / "softswitch" / "csrc"
    from pcn.softswitch.codegen.build import PROGRAM_FLAGS

    build("number", [text.format("0xffffffff")], "fits", PROGRAM_FLAGS, headers)
    with pytest.raises(BuildError, match="overflow"):
        build("number", [text.format("0x100000000")], "cut", PROGRAM_FLAGS, headers)
