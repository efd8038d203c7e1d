"""Addresses of P4Runtime servers and paths of Unix sockets: a proxy in the environment, paths that
are too long."""

import ast
import os
import subprocess
from pathlib import Path

import pytest
from distributions import PACKAGES
from p4rt_process import COMMAND, Process

from pcn import ManualClock, SwitchClient
from pcn.base.address import PATH_BYTES, AddressError, check, is_local
from pcn.controller.errors import SwitchError
from pcn.hosts.client import AgentClient, AgentError
from pcn.hosts.control import ControlError, ControlServer
from pcn.softswitch.clock import ClockError

ROOT = Path(__file__).resolve().parents[2]
TOO_LONG = (
    f"a path of {PATH_BYTES + 1} bytes; a Unix socket's has at most {PATH_BYTES}: give one that is "
    "shorter"
)


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1:9559", True),
        ("127.1.2.3:0", True),
        ("localhost:9559", True),
        ("[::1]:9559", True),
        ("ipv4:127.0.0.1:9559", True),
        ("ipv6:[::ffff:127.0.0.1]:9559", True),
        ("unix:/tmp/socket", True),
        ("unix-abstract:name", True),
        ("0.0.0.0:9559", False),
        ("[::]:9559", False),
        ("ipv6:[::]:9559", False),
        ("[fe80::1%eth0]:9559", False),
        ("10.0.0.1:9559", False),
        ("switch.example:9559", False),
        ("vsock:1:9559", False),
    ],
)
def test_address_is_local_or_not(address, local):
    assert is_local(address) is local


@pytest.fixture
def proxy(monkeypatch):
    """One where no process listens, as a company's shell has it."""
    for name in ("no_proxy", "no_grpc_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")


@pytest.mark.usefixtures("proxy")
def test_switch_of_this_machine_is_reached_without_the_proxy():
    process = Process("--no-p4", "--device-id", "1", "--clock", "manual", "-i", "1")
    try:
        for host in ("127.0.0.1", "localhost", "ipv4:127.0.0.1"):
            address = f"{host}:{process.port}"
            SwitchClient.connect("s1", address, 1).close()
            with ManualClock(address) as clock:
                assert clock.now_ns == 0
    finally:
        process.end()


def test_product_makes_channels_in_one_place():
    """Any other one would go by the proxy."""
    makers = set()
    for package in (*PACKAGES, "pcn"):
        for path in (ROOT / package).rglob("*.py"):
            calls = (
                node
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Attribute)
            )
            if any(node.attr in ("insecure_channel", "secure_channel") for node in calls):
                makers.add(str(path.resolve().relative_to(ROOT)))
    assert makers == {"base/address.py"}


def _long(folder: Path) -> Path:
    """A path that is a byte too long, in a folder that is there."""
    while len(os.fsencode(folder)) < PATH_BYTES - 60:
        folder /= "x" * 50
    folder.mkdir(parents=True, exist_ok=True)
    return folder / ("s" * (PATH_BYTES - len(os.fsencode(folder))))


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda path: SwitchClient.connect("s1", f"unix:{path}", 1), SwitchError),
        (lambda path: ManualClock(f"unix:{path}"), ClockError),
        (lambda path: AgentClient(path).stats(), AgentError),
        (lambda path: ControlServer(path, lambda _request: None), ControlError),
    ],
    ids=["switch", "clock", "agent's client", "agent"],
)
def test_path_that_is_too_long_is_refused_in_a_line(use, error, tmp_path):
    path = _long(tmp_path)
    with pytest.raises(error) as refused:
        use(path)
    assert f"{path}: {TOO_LONG}" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_longest_path_is_served(tmp_path):
    path = str(_long(tmp_path))[:-1]
    check(f"unix:{path}")
    with pytest.raises(AddressError):
        check(f"unix-abstract:{path}ss")
    with ControlServer(Path(path), lambda _request: {}):
        assert AgentClient(Path(path)).path.is_socket()


def test_switch_refuses_a_path_that_is_too_long_in_a_line(tmp_path):
    path = _long(tmp_path)
    words = [*COMMAND, "--no-p4", "--grpc-server-addr", f"unix:{path}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        f"softswitch: --grpc-server-addr {path}: {TOO_LONG}, or relative to the current folder\n"
    )


def test_switch_serves_a_relative_path_in_a_long_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(_long(tmp_path).parent)
    words = [*COMMAND, "--no-p4", "--device-id", "1", "--grpc-server-addr", "unix:s"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert "listening" in process.stderr.readline()
        SwitchClient.connect("s1", "unix:s", 1).close()
        process.terminate()
