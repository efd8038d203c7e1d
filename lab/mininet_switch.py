"""Our switch for Mininet's own command: `mn --custom lab/mn.py` with `--switch pcn --controller
none`.

Each switch runs the compiled program of p4src, with routes and thresholds, in a separate namespace.
The hosts are Mininet's and use the kernel's network stack, so ping and iperf work, and no agent
runs. `pcn status`, `watch`, `counters`, `pcap` and the like find the network by its record.
Python's standard library and Mininet only: Debian's `mn` loads this with the system's Python. The
program itself runs in the environment that this file belongs to."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from mininet.node import Switch

from pcn.base.errors import LabError
from pcn.base.python_process import python_command
from pcn.lab import journal as records, pace

ROOT = Path(__file__).resolve().parent.parent
# What the kernel would merge or leave unfinished, the switch would see.
_OFFLOADS = " ".join(f"{feature} off" for feature in ("rx", "tx", "sg", "tso", "gso", "gro"))
_END_LIMIT_S = 5.0


class PcnSwitchError(LabError):
    """A switch didn't start; the text has its output."""


class _Network:
    """A network that this process holds, on record, from its first switch's start to its last one's
    end."""

    held: ClassVar[dict[str, _Network]] = {}

    def __init__(self, topology: dict[str, Any], dilation: float, target: str) -> None:
        self._topology = topology
        self._stack = contextlib.ExitStack()
        name = records.free_name(topology["name"])
        self.directory = self._stack.enter_context(records.owned(name))
        atexit.register(self.close)  # a start that fails leaves nothing behind
        board = pace.make_board(topology, records.BY_MININET)
        self._stack.callback(board.close)
        self.record = records.Record(
            name=name,
            owner=records.Process.of(os.getpid()),
            topology=topology,
            target=target,
            dilation=dilation,
            scheme="pcn",
            program="pcn",
            log_dir=str(self.directory),
            role=records.BY_MININET,
            board=str(board.path),
            features={
                "link_delay": "switches alone" if target != "bmv2" else records.DELAY_BY_NOBODY
            },
        )
        self.record.save()

    @classmethod
    def of(cls, spec: dict[str, Any]) -> _Network:
        name = spec["topology"]["name"]
        if name not in cls.held:
            cls.held[name] = cls(spec["topology"], spec["dilation"], spec["target"])
        return cls.held[name]

    def note(self, node: Any, program: subprocess.Popen[str] | None = None) -> None:
        """A node that is there; of a switch, with what runs in it."""
        node_record = records.NodeRecord(
            node.name,
            records.Process.of(node.pid),
            [str(interface) for interface in node.intfList()],
        )
        if program is not None:
            node_record.process = records.Process.of(program.pid)
            node_record.control, node_record.log = (
                f"unix:{self.directory / node.name}.grpc",
                str(self.directory / f"{node.name}.log"),
            )
        self.record.note(node_record)
        if all(switch["name"] in self.record.nodes for switch in self._topology["switches"]):
            self.record.state = "up"
            self.record.save()

    def forget(self, switch: str) -> None:
        if self.record.nodes.pop(switch, None) and not any(
            node.process for node in self.record.nodes.values()
        ):
            self.close()

    def close(self) -> None:
        _Network.held.pop(self._topology["name"], None)
        self._stack.close()


def _interpreter() -> str:
    """Returns the interpreter: that of the checkout's .venv, or of the environment in whose
    site-packages this is."""
    for environment in (ROOT / ".venv", *ROOT.parents[3:4]):
        python = environment / "bin" / "python"
        if (environment / "pyvenv.cfg").exists() and python.exists():
            return str(python)
    return sys.executable


@cache
def _chosen_k(topology: str, target: str) -> float:
    """Chooses k for a topology, prints it and the reason. Raises PcnSwitchError."""
    command = python_command("pcn.lab.calibrate", target, python=_interpreter())
    done = subprocess.run(
        command, input=topology, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        raise PcnSwitchError(
            f"k can't be chosen ({done.stderr.strip()}): give it, as --switch pcn,k=400"
        )
    choice = json.loads(done.stdout)
    print(f"*** k = {choice['k']:g}: {choice['why']}")
    if choice["warning"]:
        print(f"*** note: {choice['warning']}")
    return float(choice["k"])


class PcnSwitch(Switch):  # type: ignore[misc]
    """A switch of a topology that `pcn.topologies.mininet_topo` made. `--switch
    pcn,k=1000,target=bmv2` sets the stretch of time (rates / k, delays * k; by default what this
    machine carries when all hosts send) and what runs."""

    controlIntf = None  # noqa: N815  # what Mininet gives to switches outside a namespace

    def __init__(
        self, name: str, k: float | None = None, target: str = "softswitch", **params: Any
    ) -> None:
        topology = params.pop("topology")
        dilation = float(k) if k is not None else _chosen_k(json.dumps(topology), target)
        self._spec = {"topology": topology, "switch": name, "dilation": dilation, "target": target}
        self._process: subprocess.Popen[str] | None = None
        super().__init__(name, **{**params, "inNamespace": True})

    def start(self, _controllers: object) -> None:
        """Mininet's hook: prepares the links, and returns when the switch forwards. Raises
        PcnSwitchError."""
        network = _Network.of(self._spec)
        for mine, far in self._links():
            self.cmd(
                f"ethtool -K {mine} {_OFFLOADS}; sysctl -qw net.ipv6.conf.{mine}.disable_ipv6=1"
            )
            if far.node.name in self._addresses():
                self._prepare_host(far)
                network.note(far.node)
        place = f"{network.record.board}:{pace.slot_of(self._spec['topology'], self.name)}"
        spec = {**self._spec, "directory": str(network.directory), "place": place}
        words = python_command("pcn.lab.standalone", json.dumps(spec), python=_interpreter())
        self._process = self.popen(
            ["setpriv", "--pdeathsig", "TERM", *words],
            mncmd=["mnexec", "-a", str(self.pid)],
            start_new_session=True,  # a Ctrl-C at Mininet's prompt is for what runs there
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert self._process.stdout is not None
        output = self._process.stdout.readline()
        if output.strip() != "ready":
            output += self._process.stdout.read()
            raise PcnSwitchError(
                f"{self.name}: {output.strip() or 'its program ended'} (`make setup` installs it)"
            )
        network.note(self, self._process)

    def stop(self, deleteIntfs: bool = True) -> None:  # noqa: N803
        """Mininet's hook."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
            _Network.of(self._spec).forget(self.name)
        super().stop(deleteIntfs)

    def _links(self) -> Iterator[tuple[str, Any]]:
        """Yields the name of each port's interface, and the interface at the far end."""
        for interface in self.intfList():
            if interface.link is not None:
                ends = (interface.link.intf1, interface.link.intf2)
                yield interface.name, ends[1] if ends[0] is interface else ends[0]

    def _addresses(self) -> dict[str, tuple[str, str]]:
        return {host["name"]: (host["ip"], host["mac"]) for host in self._spec["topology"]["hosts"]}

    def _prepare_host(self, interface: Any) -> None:
        """The program forwards IPv4 alone: a host needs its neighbours' addresses, ARP wouldn't
        find them."""
        interface.node.cmd(f"ethtool -K {interface.name} {_OFFLOADS}")
        for name, (ip, mac) in self._addresses().items():
            if name != interface.node.name:
                interface.node.setARP(ip, mac)
