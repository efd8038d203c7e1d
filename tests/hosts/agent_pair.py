"""Two agents at the ends of a veth pair, each in its own network namespace."""

import contextlib
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from waiting import LIMIT_S

from pcn.hosts.client import AgentClient

_COUNTER = itertools.count()
DILATION = 100.0
LINE_RATE = 1e9


def run(*command: str):
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S)


class Pair:
    """Namespaces, addresses and agents of two hosts, a and b."""

    def __init__(self, folder: Path):
        self.folder = folder
        tag = f"{os.getpid()}-{next(_COUNTER)}"
        self.namespaces = [f"pcnt{tag}{side}" for side in "ab"]
        self.interfaces = ["ha", "hb"]
        self.macs = ["02:00:00:00:00:0a", "02:00:00:00:00:0b"]
        self.ips = ["10.9.0.1", "10.9.0.2"]
        self.logs = [folder / "a.jsonl", folder / "b.jsonl"]
        self.processes: list[subprocess.Popen[str]] = []
        self.clients: list[AgentClient] = []

    def up(self):
        for namespace in self.namespaces:
            run("ip", "netns", "add", namespace)
            run(
                "ip", "netns", "exec", namespace, "sysctl", "-qw",
                "net.ipv6.conf.all.disable_ipv6=1",
            )  # fmt: skip
            run(
                "ip", "netns", "exec", namespace, "sysctl", "-qw",
                "net.ipv6.conf.default.disable_ipv6=1",
            )  # fmt: skip
        a, b = self.namespaces
        run(*f"ip -n {a} link add ha type veth peer name hb netns {b}".split())
        for side in range(2):
            namespace, interface = self.namespaces[side], self.interfaces[side]
            run(*f"ip -n {namespace} link set {interface} address {self.macs[side]}".split())
            run(*f"ip -n {namespace} addr add {self.ips[side]}/24 dev {interface}".split())
            run(*f"ip -n {namespace} link set {interface} up".split())

    def command(self, side: int, *options: str) -> list[str]:
        """The command line of an agent, in its namespace; `options` take the place of defaults."""
        defaults = {"--line-rate": str(LINE_RATE), "--dilation": str(DILATION), "--scheme": "pcn"}
        return [
            *(
                "ip", "netns", "exec", self.namespaces[side], sys.executable, "-m",
                "pcn.hosts.agent",
            ),
            *(
                "--name", "ab"[side], "--iface", self.interfaces[side], "--mac", self.macs[side],
                "--ip", self.ips[side],
            ),
            *(
                word
                for name, text in defaults.items()
                if name not in options
                for word in (name, text)
            ),
            *("--control", str(self.folder / f"{'ab'[side]}.sock"), "--log", str(self.logs[side])),
            *options,
        ]  # fmt: skip

    def start_agents(self, *options: str):
        for side in range(2):
            read, write = os.pipe()
            command = self.command(side, "--ready-fd", str(write), *options)
            process = subprocess.Popen(
                command, pass_fds=(write,), stderr=subprocess.PIPE, text=True
            )
            os.close(write)
            self.processes.append(process)
            with os.fdopen(read) as ready:
                assert ready.readline() == "ready\n", process.communicate()[1]
            self.clients.append(AgentClient(self.folder / f"{'ab'[side]}.sock"))

    def inject(self, side: int, *frames: bytes):
        """Send frames from this side's interface, past its agent."""
        program = (
            "import socket, sys; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); "
            "s.bind((sys.argv[1], 0))\n"
            "for frame in sys.argv[2:]: s.send(bytes.fromhex(frame))"
        )
        arguments = [self.interfaces[side], *(frame.hex() for frame in frames)]
        run("ip", "netns", "exec", self.namespaces[side], sys.executable, "-c", program, *arguments)

    def events(self, side: int, kind: str) -> list[dict[str, Any]]:
        """What an agent has logged of one kind."""
        self.clients[side].stats()  # flushes the log
        lines = self.logs[side].read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["ev"] == kind]

    def down(self):
        for client in self.clients:
            client.close()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=LIMIT_S)
            process.kill()
            process.wait()
        for namespace in self.namespaces:
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True, timeout=LIMIT_S)

    def start_flow(self, flow: int, side: int = 0, **limits: float):
        self.clients[side].start(flow, self.ips[1 - side], self.macs[1 - side], **limits)
