"""A file with several switches of one process: what is read from it, and what is refused."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from waiting import LIMIT_S

from pcn.base.priority import REFUSED
from pcn.softswitch.options import Channel, OptionError
from pcn.softswitch.several_switches import parse_all, parse_file

TWO = """
# h0 - 1, 1:2 - 2:3
--no-p4 --device-id 1 -i 1@a1 -i 2@a2 --channel 2=2:3 --grpc-server-addr unix:/a
--no-p4 --device-id 2 -i 3@b3 --channel 3=1:2 --namespace 77 --log-file "/tmp/with space"   # the other
"""  # noqa: E501


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "switches"


def test_lines_are_switches(path: Path):
    path.write_text(TWO)
    first, second = parse_all(["--together", str(path)])
    assert (first.device_id, first.interfaces, first.grpc_address) == (
        1,
        ((1, "a1"), (2, "a2")),
        "unix:/a",
    )
    assert first.channels == (Channel(2, 2, 3),)
    assert (second.device_id, second.namespace, second.log_file) == (2, 77, Path("/tmp/with space"))
    assert second.channels == (Channel(3, 1, 2),)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("", "has 0 switches"),
        ("--no-p4 -i 1@a\n--no-p4 -i 2@b", "line 2: device id 0 is another line's"),
        ("--no-p4 --bogus", "line 1: .*--bogus"),
        ("--no-p4 'open", "line 1: No closing quotation"),
        ("--together x", "stands on the command line alone"),
        ("--no-p4 --clock manual", "line 1: switches of one process have the live clock"),
        ("--no-p4 -i 1@a --channel 2=1:1", "port 2 has no interface: add -i 2@INTERFACE"),
        ("--no-p4 -i 1@a --channel 1=9:1", "no line has device id 9"),
        ("--no-p4 -i 1@a --channel 1=0:1", "the other end needs --channel 1=0:1"),
        ("--no-p4 -i 1@a --channel 1=0:2", "the other end needs --channel 2=0:1"),
        ("--no-p4 -i 1@a --channel 1=2", "write PORT=DEVICE:PORT"),
        ("--no-p4 -i 1@a --channel 1=2:512", "ports up to 511"),
        ("--no-p4 -i 1@a --channel 1=0:1 --channel 1=0:2", "--channel is given twice for port 1"),
        ("--no-p4 -i 1@a --process-link 1=5:6", "write PORT=MEMORY:BELL:END"),
        ("--no-p4 -i 1@a --process-link 1=5:6:2", "an end, 0 or 1"),
        (
            "--no-p4 -i 1@a --process-link 2=5:6:0",
            "--process-link 2=.*: port 2 needs an interface, and no --channel",
        ),
        (
            "--no-p4 -i 1@a -i 2@b --channel 1=0:2 --channel 2=0:1 --process-link 1=5:6:1",
            "and no --channel",
        ),
        (
            "--no-p4 -i 1@a --process-link 1=5:6:0 --process-link 1=7:8:0",
            "--process-link is given twice for port 1",
        ),
        (
            "--no-p4 --device-id 1 -i 1@a --channel 1=2:1\n--no-p4 --device-id 2 -i 1@b",
            "device 1: --channel 1=2:1: the other end needs --channel 1=1:1",
        ),
    ],
)
def test_file_that_makes_no_sense_is_refused(path: Path, lines, why):
    path.write_text(lines)
    with pytest.raises(OptionError, match=why):
        parse_file(path)


def test_options_of_a_file_stand_in_one(path: Path):
    alone = (["--channel", "1=2:1"], ["--process-link", "1=5:6:0"], ["--namespace", "1"])
    for words in (["--no-p4", "-i", "1@a", *option] for option in alone):
        with pytest.raises(OptionError, match="--together"):
            parse_all(words)
    for words in (
        ["--together"],
        ["--together", str(path), "--no-p4"],
        ["--no-p4", "--together", str(path)],
    ):
        with pytest.raises(OptionError, match="stands alone"):
            parse_all(words)
    with pytest.raises(OptionError, match=r"cannot read .*No such file"):
        parse_all(["--together", str(path)])


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        switches = parse_file(path)
    except (OptionError, SystemExit):
        return
    assert len({switch.device_id for switch in switches}) == len(switches) > 0


@pytest.mark.parametrize("memory", ["closed", "of another kind"])
def test_descriptors_that_are_no_link_are_refused(path: Path, memory):
    """In one line, before any interface is looked for."""
    near, far = socket.socketpair()
    with near, far, open(os.devnull) as null:  # noqa: PTH123
        number = 2**20 if memory == "closed" else null.fileno()
        link = f"1={number}:{near.fileno()}:0"
        path.write_text(
            f"--no-p4 -i 1@none --process-link {link} --grpc-server-addr unix:{path}.grpc"
        )
        done = subprocess.run(
            [sys.executable, "-m", "pcn.softswitch", "--together", str(path)],
            pass_fds=(null.fileno(), near.fileno()), capture_output=True, text=True, check=False,
            timeout=LIMIT_S,
        )  # fmt: skip
    assert done.returncode == 1
    (line,) = (line for line in done.stderr.splitlines() if REFUSED not in line)
    assert f"port 1: --process-link {link}: " in line
