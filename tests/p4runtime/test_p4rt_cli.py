"""The `softswitch` command as a process, in a separate network namespace."""

import os
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing

import needs
import pytest
from p4rt_client import Client
from p4rt_process import COMMAND, Process
from p4rt_switch import PROGRAMS, Program

from pcn.base import packed
from pcn.base.p4rt import p4r
from pcn.base.priority import REFUSED
from pcn.softswitch.codegen.build import build_program
from pcn.softswitch.options import Generator, OptionError, Shape, parse


@pytest.fixture
def switch_process(request) -> Iterator[Process]:
    process = Process(*getattr(request, "param", ["--no-p4", "--device-id", "1"]))
    yield process
    process.end(signal.SIGKILL)


def fails(*arguments: str, prefix: tuple[str, ...] = ()) -> tuple[int, str]:
    """Runs a command that has to fail; returns its status and the only line that it wrote."""
    done = subprocess.run(
        [*prefix, *COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == ""
    (line,) = (line for line in done.stderr.splitlines(keepends=True) if REFUSED not in line)
    assert line.startswith("softswitch: ")
    return done.returncode, line


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serves_and_ends(switch_process: Process, program: Program, number):
    with Client(switch_process.port) as client:
        client.arbitrate()
        client.set_pipeline(program.info, program.json)
        assert len(client.read(p4r.TableEntry())) == 4, "the program's own"
        assert switch_process.end(number) == 0
    assert switch_process.lines == [
        f"softswitch: device 1 listening on 127.0.0.1:{switch_process.port}, ports: none\n"
    ]


def test_a_second_switch_on_the_same_address(switch_process: Process):
    status, line = fails("--no-p4", "--", "--grpc-server-addr", f"127.0.0.1:{switch_process.port}")
    assert status == 1
    assert str(switch_process.port) in line
    assert "in use" in line


def test_an_address_that_something_else_uses():
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        status, line = fails(
            "--no-p4", "--grpc-server-addr", f"127.0.0.1:{server.getsockname()[1]}"
        )
    assert status == 1
    assert "in use" in line


def test_bmv2_options_before_and_after_the_dashes():
    process = Process(
        "--no-p4", "--nanolog", "ipc:///x", "-L", "error", "--", "--disable-swap", "--disable-swap"
    )
    assert process.end() == 0
    assert "device 0 listening" in process.lines[-1]
    assert [line.split(": ")[:3] for line in process.lines[:-1]] == [
        ["softswitch", "warning", option] for option in ("--nanolog", "--disable-swap")
    ]


@pytest.mark.parametrize(
    ("words", "instead", "level"),
    [
        (["--log-console"], "with -L debug or -L trace", "warn"),
        (["--debugger"], "no meaning here", "off"),
    ],
)
def test_terminal_shows_that_an_option_does_nothing(words, instead, level, tmp_path):
    """Whatever the log's level and place."""
    process = Process("--no-p4", "-L", level, "--log-file", str(tmp_path / "log"), *words)
    assert process.end() == 0
    warning, _ready = process.lines
    assert warning.startswith(f"softswitch: warning: {' '.join(words)}: ")
    assert instead in warning


@pytest.mark.root
def test_switch_has_descriptors_for_many_ports():
    """Two a port, of which the system grants a process few at first."""
    links = " && ".join(
        f"ip link add name v{i} up type veth peer name w{i} && ip link set w{i} up"
        for i in range(10)
    )
    ports = [word for i in range(10) for word in ("-i", f"{i}@v{i}", "-i", f"{i + 10}@w{i}")]
    script = f'ip link set lo up && {links} && ulimit -S -n 40 && exec "$@"'
    process = Process("--no-p4", *ports, prefix=("unshare", "--net", "bash", "-c", script, "bash"))
    assert process.end() == 0


def test_a_program_from_the_command_line(switch_process: Process, tmp_path):
    log = tmp_path / "switch.log"
    process = Process(str(PROGRAMS / "bench.json"), "--log-file", str(log), "-L", "info")
    assert process.end() == 0
    assert "listening" in log.read_text()
    status, line = fails(str(tmp_path / "none.json"))
    assert status == 1
    assert "none.json" in line
    (tmp_path / "bad.json").write_text('{"program": 1')
    status, line = fails(str(tmp_path / "bad.json"))
    assert status == 1
    assert "bad.json" in line
    status, line = fails("--no-p4", "--log-file", str(tmp_path / "no" / "file"))
    assert status == 1
    assert "cannot write" in line


@needs.own_queues("the engine's package loads more")
def test_what_a_start_leaves_out(monkeypatch):
    """With a program that the cache has: what takes long to import, and a client's program needs,
    or nothing does."""
    build_program(packed.read_text(PROGRAMS / "bench.json"))
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    process = Process(str(PROGRAMS / "bench.json"))
    assert process.end() == 0
    imported = {line.rpartition("|")[2].strip() for line in process.lines}
    later = {
        "pcn.softswitch.program.load",
        "pcn.softswitch.p4runtime.binding",
        "pcn.softswitch.p4runtime.entities",
    }
    never = {"pcn.softswitch.codegen.generate", "finsy", "p4", "grpc", "ssl"}
    assert {"pcn.softswitch.p4runtime.server", "pcn.base.p4rt"} < imported
    assert not (later | never) & imported, (later | never) & imported


@pytest.mark.root
def test_interfaces_of_a_namespace(library):
    name = f"p4rtcli{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        inside = ("ip", "netns", "exec", name)
        for words in (
            "link set lo up",
            "link add sw type veth peer name host",
            "link set sw up",
            "link set host up",
        ):
            subprocess.run([*inside, "ip", *words.split()], check=True)
        process = Process("--no-p4", "-i", "1@sw", "--rate", "1=10M", prefix=inside)
        assert process.end() == 0
        assert "ports: 1@sw" in process.lines[-1]
        status, line = fails("--no-p4", "-i", "1@absent", prefix=inside)
        assert status == 1
        assert "port 1" in line
        assert "absent" in line
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


TLS = ["--grpc-server-ssl", "--grpc-server-cert", "c", "--grpc-server-key", "k"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "--no-p4"),
        (["--no-p4", "-i", "eth0"], "PORT@INTERFACE"),
        (["--no-p4", "-i", "1"], "as 1@veth0; ports without need --clock manual"),
        (["--no-p4", "--clock", "manual", "-i", "1", "-i", "1"], "port 1 is there already"),
        (["--no-p4", "--clock", "slow"], "'?live'?, '?manual'?"),
        (["--no-p4", "--reentry", "1us"], "--reentry needs --clock manual"),
        (["--no-p4", "--packet-generator", "508"], "PORT=PERIOD:ID,"),
        (["--no-p4", "--packet-generator", "512=1ms:1"], "0 to 511"),
        (["--no-p4", "--packet-generator", "508=1h:1"], "508=1h:1: '1h' is not a time"),
        (["--no-p4", "--packet-generator", "508=1ns:1"], "at least 1000 ns"),
        (["--no-p4", "--packet-generator", "508=1ms:65536"], "0 to 65535"),
        (["--no-p4", "--packet-generator", "7=1ms:1", "-i", "7@a"], "port 7 is one of -i"),
        (["--no-p4", "-i", "512@eth0"], "511"),
        (["--no-p4", "-i", "1@a", "-i", "1@b"], "has the interface a"),
        (["--no-p4", "-i", "1@a", "-i", "2@a"], "is a port already"),
        (["--no-p4", "-i", "7@a", "--cpu-port", "7"], "CPU port"),
        (["--no-p4", "--rate", "fast"], "write it like 10G"),
        (["--no-p4", "--rate", "10000000"], "has no unit: write 10M"),
        (["--no-p4", "--delay", "0.001"], "has no unit: write 1ms"),
        (["--no-p4", "--rate", "1M", "--rate", "2M"], "twice"),
        (["--no-p4", "--queue-depth", "0"], "'0' is not a number from 1 to"),
        (["--no-p4", "--queue-rate", "2/8=5"], "'8' is not a number from 0 to 7"),
        (["--no-p4", "--queue-rate", "512=5"], "'512' is not a number from 0 to 511"),
        (["--no-p4", "--priority-queues", "2", "--queue-rate", "1/2=5"], "queues are 0 to 1"),
        (["--no-p4", "--delay", "x=1ms"], "number from 0"),
        (["--no-p4", "--delay", "2h"], "at most a minute"),
        (["--no-p4", "--priority-queues", "9"], "1 to 8"),
        (["--no-p4", "--device-id", "-1"], "number"),
        (["--no-p4", "--no-such-option"], "no-such-option"),
        (["--no-p4", "--grpc-server-ssl"], "--grpc-server-cert"),
        (["--no-p4", "--grpc-server-key", "k"], "--grpc-server-ssl"),
        (["--no-p4", *TLS, "--grpc-server-cacert", "a"], "without it every client is accepted"),
        (["--no-p4", *TLS, "--grpc-server-with-client-auth"], "needs --grpc-server-cacert"),
        (["--no-p4", "mine.json"], "would ignore the program mine.json"),
        (["--no-p4", "--grpc-max-message-size", "4GB"], "1MB to 2147MB"),
        (["--no-p4", "--grpc-max-message-size=-1MB"], "must not be negative"),
    ],
)
def test_bad_arguments(arguments, why):
    with pytest.raises(OptionError, match=why):
        parse(arguments)


def test_switch_warns_of_an_address_that_others_reach(tmp_path):
    for address, lines in (("0.0.0.0:0", 2), ("127.0.0.1:0", 1), (f"unix:{tmp_path}/socket", 1)):
        words = [*COMMAND, "--no-p4", "--grpc-server-addr", address]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
            messages = [process.stderr.readline() for _ in range(lines)]
            process.terminate()
            assert process.stderr.read() == ""
        assert "listening" in messages[-1]
        assert (
            "no authentication: every client that reaches it programs the switch" in messages[0]
        ) is (lines == 2)


def test_unix_socket_is_for_its_user_alone(tmp_path):
    """Whatever the umask is that the switch was started with."""
    path = tmp_path / "socket"
    words = [*COMMAND, "--no-p4", "--grpc-server-addr", f"unix:{path}"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, umask=0) as process:
        assert "listening" in process.stderr.readline()
        mode = stat.S_IMODE(path.stat().st_mode)
        process.terminate()
    assert mode & 0o077 == 0


def test_shapes():
    words = [
        "--no-p4", "-i", "1@a", "-i", "2@b", "--rate", "1.5G", "--rate", "2=64k", "--delay",
        "2=5us", "--rate", "510=0",
    ]  # fmt: skip
    assert parse(words).shapes() == {1: Shape(1_500_000_000, 0), 2: Shape(64_000, 5_000)}


def test_the_packet_generator_s_option():
    words = ["--no-p4", "-i", "1@a", "--packet-generator", "508=120us:11,19,65535"]
    assert parse(words).generator == Generator(508, 120_000, (11, 19, 65535))
    assert parse(words[:3]).generator is None


def test_bad_arguments_exit_with_2():
    assert fails("--no-p4", "-i", "x")[0] == 2


def test_help():
    done = subprocess.run(
        [*COMMAND, "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    for option in ("--rate", "--delay", "--grpc-server-addr", "--cpu-port", "--device-id"):
        assert option in done.stdout
