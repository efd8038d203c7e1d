"""softswitch/README.md: its commands start a switch unchanged, and its options are the existing
ones."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from p4rt_client import WAIT_S
from p4rt_process import Process

from pcn.base.priority import REFUSED

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "softswitch/README.md").read_text()
COMMANDS = re.findall(r"^    (\w.*)$", TEXT, re.MULTILINE)
SETUP = [line for line in COMMANDS if line.startswith("ip link add ")]
HOSTS = [line for line in COMMANDS if line.startswith(("ip netns add ", "ip -n "))]
(CONTROLLER,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
# Either end of a transfer, in a host.
TRANSFER = """
import socket, sys
data = bytes(range(251)) * 4000
if sys.argv[1] == "serve":
    with socket.create_server(("10.0.0.2", 7000)) as server, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("10.0.0.2", 7000))
        print("ready", flush=True)
        connection, _ = server.accept()
        with connection, connection.makefile("rb") as stream:
            assert stream.read() == data
            connection.sendall(b"all of it")
        print(len(datagrams.recv(9000)), flush=True)
else:
    with socket.create_connection(("10.0.0.2", 7000)) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b"all of it"
    with socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        datagrams.sendto(data[:4000], ("10.0.0.2", 7000))
"""  # noqa: E501
# The one with TLS needs certificates, as test_p4rt_tls.py makes them.
STARTS = [
    line.partition(" ")[2]
    for line in COMMANDS
    if line.startswith("softswitch ") and "-ssl" not in line
]


@pytest.mark.root
@pytest.mark.parametrize("arguments", STARTS)
def test_its_commands_start_a_switch(arguments, monkeypatch):
    """In a separate network namespace, whose interfaces are those that the page makes."""
    monkeypatch.chdir(ROOT)
    script = " && ".join(["ip link set lo up", *SETUP, 'exec "$@"'])
    process = Process(
        *shlex.split(arguments), prefix=("unshare", "--net", "bash", "-c", script, "bash")
    )
    assert process.end() == 0
    lines = [line for line in process.lines if REFUSED not in line]
    assert not [line for line in lines if "listening" not in line]


@pytest.mark.root
def test_hosts_of_the_page_speak_through_the_switch(monkeypatch):
    """TCP and UDP, with the offloads that the interfaces came with."""
    monkeypatch.chdir(ROOT)
    # `ip netns` keeps names in a folder of the machine: here it is one of the test's own.
    mounts = ["mkdir -p /run/netns", "mount -t tmpfs none /run/netns"]
    script = " && ".join(["ip link set lo up", *mounts, *SETUP, *HOSTS, 'exec "$@"'])
    # The last address that is named counts: the page's, not any free one.
    words = [*shlex.split(STARTS[0]), "--grpc-server-addr", "127.0.0.1:9559"]
    process = Process(*words, prefix=("unshare", "--net", "--mount", "bash", "-c", script, "bash"))
    inside = ["nsenter", "--net", "--mount", "--target", str(process.process.pid)]
    hosts = {name: [*inside, "ip", "netns", "exec", name] for name in ("h1", "h2")}
    try:
        subprocess.run([*inside, sys.executable, "-c", CONTROLLER], check=True, timeout=WAIT_S)
        serve = [*hosts["h2"], sys.executable, "-c", TRANSFER, "serve"]
        with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout.readline() == "ready\n"
                subprocess.run(
                    [*hosts["h1"], sys.executable, "-c", TRANSFER, "send"],
                    check=True,
                    timeout=WAIT_S,
                )
                assert server.stdout.readline() == "4000\n"
                assert server.wait(WAIT_S) == 0
            finally:
                server.kill()
    finally:
        process.end(signal.SIGKILL)


def test_it_has_commands():
    assert len(STARTS) == 4
    assert len(SETUP) == 2
    assert len(HOSTS) == 4


def test_its_options_are_those_of_the_command(capsys, monkeypatch):
    from pcn.softswitch.options import parse

    monkeypatch.setitem(os.environ, "COLUMNS", "200")
    with pytest.raises(SystemExit):
        parse(["--help"])
    known = set(re.findall(r"--\w[\w-]*", capsys.readouterr().out))
    section = TEXT[TEXT.index("## Options") : TEXT.index("## The manual clock")]
    assert set(re.findall(r"--\w[\w-]*", section)) <= known | {"--help"}
