"""Two agents at the ends of a veth pair, each in its own network namespace."""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hosts.client import AgentClient

_COUNTER = itertools.count()
DILATION = 100.0
LINE_RATE = 1e9


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)


def wait_until(condition: Callable[[], bool], what: str, limit_s: float = 30.0) -> None:
    """Until a condition holds; fails the test after a time no working agent needs."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            pytest.fail(f"{what}: not within {limit_s} s")
        select.select([], [], [], 0.02)


class Pair:
    """Namespaces, addresses and agents of two hosts, a and b."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        tag = f"{os.getpid()}-{next(_COUNTER)}"
        self.namespaces = [f"pcnt{tag}{side}" for side in "ab"]
        self.interfaces = ["ha", "hb"]
        self.macs = ["02:00:00:00:00:0a", "02:00:00:00:00:0b"]
        self.ips = ["10.9.0.1", "10.9.0.2"]
        self.logs = [folder / "a.jsonl", folder / "b.jsonl"]
        self.processes: list[subprocess.Popen[str]] = []
        self.clients: list[AgentClient] = []

    def up(self) -> None:
        for namespace in self.namespaces:
            run("ip", "netns", "add", namespace)
            run("ip", "netns", "exec", namespace, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
            run("ip", "netns", "exec", namespace, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        a, b = self.namespaces
        run(*f"ip -n {a} link add ha type veth peer name hb netns {b}".split())
        for side in range(2):
            namespace, interface = self.namespaces[side], self.interfaces[side]
            run(*f"ip -n {namespace} link set {interface} address {self.macs[side]}".split())
            run(*f"ip -n {namespace} addr add {self.ips[side]}/24 dev {interface}".split())
            run(*f"ip -n {namespace} link set {interface} up".split())

    def command(self, side: int, *options: str) -> list[str]:
        """The command line of an agent, in its namespace; later options win."""
        return [
            *("ip", "netns", "exec", self.namespaces[side], sys.executable, "-m", "hosts.agent"),
            *("--name", "ab"[side], "--iface", self.interfaces[side], "--mac", self.macs[side], "--ip", self.ips[side]),
            *("--line-rate", str(LINE_RATE), "--dilation", str(DILATION), "--scheme", "pcn"),
            *("--control", str(self.folder / f"{'ab'[side]}.sock"), "--log", str(self.logs[side])),
            *options,
        ]

    def start_agents(self, *options: str) -> None:
        for side in range(2):
            read, write = os.pipe()
            command = self.command(side, "--ready-fd", str(write), *options)
            process = subprocess.Popen(command, pass_fds=(write,), stderr=subprocess.PIPE, text=True)
            os.close(write)
            self.processes.append(process)
            with open(read) as ready:
                assert ready.readline() == "ready\n", process.communicate()[1]
            self.clients.append(AgentClient(self.folder / f"{'ab'[side]}.sock"))

    def down(self) -> None:
        for client in self.clients:
            client.close()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=10)
            process.kill()
            process.wait()
        for namespace in self.namespaces:
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True, timeout=30)

    def start_flow(self, flow: int, side: int = 0, **limits: float) -> None:
        self.clients[side].start(flow, self.ips[1 - side], self.macs[1 - side], **limits)  # type: ignore[arg-type]


@pytest.fixture()
def bare_pair(tmp_path: Path) -> Iterator[Pair]:
    """Without agents yet."""
    pair = Pair(tmp_path)
    try:
        pair.up()
        yield pair
    finally:
        pair.down()


@pytest.fixture()
def pair(bare_pair: Pair) -> Pair:
    """With both agents: 1 Gb/s, a hundred times slower."""
    bare_pair.start_agents("--param", "period_s=1e-3")
    return bare_pair
