"""A process that holds a network is killed at random moments: nothing may be left, or `pcn down`
removes it."""

import os
import random
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import forks
import pytest
from waiting import LIMIT_S, wait_until

from pcn.lab import journal as records

pytestmark = [pytest.mark.root, pytest.mark.long]
SCRIPT = """
import os
import sys
from pathlib import Path
from pcn.base import signals
from pcn.topologies.dumbbell import dumbbell
from pcn.lab.network import Network
print("started", flush=True)
os.environ["PCN_TEST_MARK"] = sys.argv[2]
try:
    with Network(dumbbell(pairs=1), log_dir=Path(sys.argv[1]), name=sys.argv[2]):
        print("up", flush=True)
        signals.wait()
except (KeyboardInterrupt, signals.Terminated):
    sys.exit(7)
"""
LIFE_S = 1.0  # until the network is up, about, and some more


@pytest.fixture
def name() -> Iterator[str]:
    name = f"k{os.getpid()}-{uuid.uuid4().hex[:8]}"
    yield name
    assert not (records.RUN_DIR / name).exists()
    assert not (records.RUN_DIR / f"{name}.lock").exists()


Start = Callable[[], forks.Forked]


@pytest.fixture
def start(name: str, tmp_path) -> Iterator[Start]:
    """Starts SCRIPT. What a failed test leaves of it ends with the test."""
    started: list[forks.Forked] = []
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def run() -> forks.Forked:
        process = forks.begin(str(script), str(tmp_path), name)
        started.append(process)
        # What a signal does to Python's own start and to imports isn't ours: some of them swallow
        # it.
        assert process.stdout.readline() == "started\n"
        return process

    yield run
    for process in started:
        with process:
            if process.returncode is None:
                os.kill(process.pid, signal.SIGTERM)
                process.wait()


def left_processes(name: str) -> list[str]:
    commands = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"PCN_TEST_MARK={name}".encode() in (path / "environ").read_bytes():
                commands.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return commands


@pytest.mark.parametrize(("part", "number"), [*enumerate([signal.SIGINT, signal.SIGTERM] * 2)])
def test_killed_at_a_random_moment(name: str, start: Start, number, part):
    """A moment in each quarter of the start. The whole group gets it, as Ctrl-C at a terminal
    does."""
    moment = random.Random().uniform(part, part + 1) / 4 * LIFE_S
    process = start()
    time.sleep(moment)
    os.killpg(process.pid, number)
    assert process.wait() != 0, f"{number.name} after {moment:.3f} s"
    wait_until(
        lambda: not left_processes(name), f"the end of all, after {number.name} at {moment:.3f} s"
    )


def test_sigkill_leaves_only_a_record_that_down_removes(name: str, start: Start):
    process = start()
    assert process.stdout.readline() == "up\n"
    record = records.load(name)
    assert record is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    records.wait_gone(record.processes(), LIMIT_S)  # the kernel ends them with their parent
    wait_until(lambda: not left_processes(name), "the end of all")
    assert not records.is_held(name)
    removed = records.remove_leftovers(name)
    assert str(records.directory(name)) in removed
    assert records.remove_leftovers(name) == []


def test_a_new_network_takes_over_a_dead_one_s_name(name: str, start: Start):
    for number in (signal.SIGKILL, signal.SIGTERM):
        process = start()
        assert process.stdout.readline() == "up\n"
        os.kill(process.pid, number)
        process.wait()
    wait_until(lambda: not left_processes(name), "the end of all")
