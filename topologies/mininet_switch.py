"""Our switch for Mininet's own command: `mn --custom topologies/dumbbell.py` with `--switch pcn --controller none`.

Each switch runs the compiled program of p4src, with routes and thresholds, in a namespace of its own. The hosts are
Mininet's: the kernel speaks for them, so ping and iperf work, and no agent runs. Python's standard library and Mininet
only: Debian's `mn` loads this with the system's Python. The program itself runs in the checkout's .venv.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mininet.node import Switch

from topologies.errors import LabError

ROOT = Path(__file__).resolve().parent.parent
# What the kernel would merge or leave unfinished, the switch would see.
_OFFLOADS = " ".join(f"{feature} off" for feature in ("rx", "tx", "sg", "tso", "gso", "gro"))
_END_LIMIT_S = 5.0


class PcnSwitchError(LabError):
    """A switch didn't start; says what it wrote."""


class PcnSwitch(Switch):  # type: ignore[misc]
    """A switch of a topology that `topologies.mininet_topo` made. `--switch pcn,k=1000,target=bmv2` sets the stretch of
    time (rates / k, delays * k; 400 unless given) and what runs."""

    controlIntf = None  # noqa: N815  # what Mininet gives to switches outside a namespace

    def __init__(self, name: str, k: float = 400, target: str = "softswitch", **params: Any) -> None:
        self._spec = {"topology": params.pop("topology"), "switch": name, "dilation": float(k), "target": target}
        self._process: subprocess.Popen[str] | None = None
        super().__init__(name, **{**params, "inNamespace": True})

    def start(self, _controllers: object) -> None:
        """Mininet's hook: prepares the links, and returns when the switch forwards. Raises PcnSwitchError."""
        for mine, far in self._links():
            self.cmd(f"ethtool -K {mine} {_OFFLOADS}; sysctl -qw net.ipv6.conf.{mine}.disable_ipv6=1")
            if far.node.name in self._addresses():
                self._prepare_host(far)
        python = ROOT / ".venv" / "bin" / "python"
        interpreter = str(python) if python.exists() else sys.executable
        self._process = self.popen(
            ["setpriv", "--pdeathsig", "TERM", interpreter, "-m", "controller.standalone", json.dumps(self._spec)],
            mncmd=["mnexec", "-a", str(self.pid)],
            start_new_session=True,  # a Ctrl-C at Mininet's prompt is for what runs there
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if said.strip() != "ready":
            said += self._process.stdout.read()
            raise PcnSwitchError(f"{self.name}: {said.strip() or 'its program ended'} (`make setup` installs it)")

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
        super().stop(deleteIntfs)

    def _links(self) -> Iterator[tuple[str, Any]]:
        """Name of each port's interface, and the interface at the far end."""
        for interface in self.intfList():
            if interface.link is not None:
                ends = (interface.link.intf1, interface.link.intf2)
                yield interface.name, ends[1] if ends[0] is interface else ends[0]

    def _addresses(self) -> dict[str, tuple[str, str]]:
        return {host["name"]: (host["ip"], host["mac"]) for host in self._spec["topology"]["hosts"]}

    def _prepare_host(self, interface: Any) -> None:
        """The program forwards IPv4 alone: a host needs its neighbours' addresses, ARP wouldn't find them."""
        interface.node.cmd(f"ethtool -K {interface.name} {_OFFLOADS}")
        for name, (ip, mac) in self._addresses().items():
            if name != interface.node.name:
                interface.node.setARP(ip, mac)
