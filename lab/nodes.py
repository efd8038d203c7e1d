"""Mininet's nodes and links for us: each node in its own network namespace, quiet veths, no
shaping, no controller.

A switch in a separate namespace has interface names that can't collide, receives no stray
broadcast, and all that it holds goes when its processes end, even after SIGKILL. Its P4Runtime
server listens on a Unix socket, which namespaces don't cut off.
"""

from __future__ import annotations

import select
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from pcn.base.errors import LabError
from pcn.lab.process import end_children
from pcn.topologies.mininet_topo import mininet_topo
from pcn.topologies.model import Topology


@contextmanager
def _without_setuptools() -> Iterator[None]:
    """Has distutils stand in for setuptools. Mininet compares a version of Open vSwitch by
    distutils. That is setuptools' today, which would take as long to load as all else that holds a
    network."""
    name = "distutils.version"
    if name not in sys.modules:
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name])["StrictVersion"] = _strict_version
        try:
            yield
        finally:
            del sys.modules[name]
    else:
        yield


def _strict_version(text: str) -> Any:
    return import_module("distutils.version").StrictVersion(text)


with _without_setuptools():
    from mininet.link import Link as MininetLink
    from mininet.log import setLogLevel
    from mininet.net import Mininet
    from mininet.node import Node

TX_QUEUE_LENGTH = 10_000
# Whatever makes the kernel merge, split, strip or leave unfinished what our programs see.
_NO_IPV6 = (
    "[ ! -d /proc/sys/net/ipv6 ] || for i in all default; do echo 1 > "
    "/proc/sys/net/ipv6/conf/$i/disable_ipv6; done"
)
_LOOK_MS = 100
_OFFLOADS = ("rx", "tx", "sg", "tso", "gso", "gro", "rxvlan", "txvlan")


class NodeError(LabError):
    """A node's set-up failed: the command and its message."""


class LabNode(Node):  # type: ignore[misc]
    """A namespace and its shell. It dies with the process that made it: the kernel sees to that
    (PR_SET_PDEATHSIG).

    Whatever is started goes into `children`, so that a node that failed half-way can be undone too.
    """

    def __init__(self, name: str, children: list[subprocess.Popen[Any]], **params: Any) -> None:
        self.children = children
        # Mininet would put its switches into the root namespace.
        super().__init__(name, **{**params, "inNamespace": True})
        # Before the first interface is there: none may send even its first IPv6 message.
        self.run(["sh", "-c", f"{_NO_IPV6}; ip link set lo up"])

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802
        # Without mnexec's -d: `_popen` makes the session, earlier than mnexec could, so that a
        # Ctrl-C at the terminal can't hit a shell that is about to start.
        super().startShell("-c")

    def read(self, size: int = 1024) -> str:
        """Reads as Mininet does, of a shell that runs: from one that has ended nothing comes any
        more, not even an end, as Mininet holds both ends of its terminal. A signal to the group can
        end one before it has a session. Raises NodeError."""
        poller = select.poll()
        poller.register(self.stdout, select.POLLIN)
        while len(self.readbuf) < size and not poller.poll(_LOOK_MS):
            if self.shell.poll() is not None:
                raise NodeError(f"{self.name}: its shell has ended ({self.shell.returncode})")
        text: str = super().read(size)
        return text

    def _popen(self, cmd: Sequence[str], **params: Any) -> subprocess.Popen[bytes]:
        guarded = ["setpriv", "--pdeathsig", "KILL", *cmd]
        popen: subprocess.Popen[bytes] = super()._popen(guarded, start_new_session=True, **params)
        self.children.append(popen)
        return popen

    def spawn(self, command: Sequence[str], **params: Any) -> subprocess.Popen[bytes]:
        """Starts a program in the namespace; Popen's arguments. Its pid is the program's own."""
        popen: subprocess.Popen[bytes] = self.popen(
            list(command), mncmd=["mnexec", "-a", str(self.pid)], **params
        )
        return popen

    def spawn_outside(self, command: Sequence[str], **params: Any) -> subprocess.Popen[bytes]:
        """Starts a program in the namespace of this process: one that opens the node's interfaces
        itself."""
        return self._popen(list(command), **params)

    def run(self, command: Sequence[str], stdin: str = "") -> str:
        """Runs a short command in the namespace; its output. Raises NodeError if it fails."""
        process = self.spawn(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = process.communicate(stdin.encode(), timeout=20)
        self.children.remove(process)
        if process.returncode:
            raise NodeError(
                f"{self.name}: `{' '.join(command)}` failed: "
                f"{err.decode().strip() or process.returncode}"
            )
        return out.decode()

    def prepare_interfaces(
        self, interfaces: Sequence[str], addresses: Sequence[str | None], mtu: int
    ) -> None:
        """MTU, MAC, no ARP, no offloads; up. No IP address: the kernel must not answer for the
        agent."""
        lines = []
        for name, address in zip(interfaces, addresses, strict=True):
            mac = f" address {address}" if address else ""
            lines.append(f"link set dev {name} mtu {mtu} txqueuelen {TX_QUEUE_LENGTH} arp off{mac}")
            lines.append(f"link set dev {name} up")
        offloads = " ".join(f"{feature} off" for feature in _OFFLOADS)
        self.run(["ip", "-batch", "-"], "\n".join(lines) + "\n")
        self.run(
            [
                "sh",
                "-ec",
                "\n".join(f"ethtool -K {name} {offloads} >/dev/null" for name in interfaces),
            ]
        )

    def configure_kernel(
        self, interfaces: Sequence[str], mac: str, address: str, mtu: int
    ) -> list[str]:
        """Returns the names eth0, eth1 ... that the host's interfaces get beside their own. The
        kernel speaks for the host: interfaces have its MAC, ARP, and no offloads of what they send,
        which would leave checksums unfinished; they may merge what they receive. The first has its
        address (IP/LENGTH). What comes by another is taken, too, also where this machine's
        namespaces begin with a filter that would drop it (rp_filter)."""
        names = [f"eth{number}" for number in range(len(interfaces))]
        lines = []
        for name, interface in zip(names, interfaces, strict=True):
            lines += [
                f"link set dev {interface} down",
                f"link set dev {interface} name {name} address {mac} mtu {mtu} arp on",
                f"link property add dev {name} altname {interface}",
            ]
        lines.append(f"addr add {address} dev {names[0]}")
        lines += [f"link set dev {name} up" for name in names]
        self.run(["ip", "-batch", "-"], "\n".join(lines) + "\n")
        settings = [f"ethtool -K {name} rx off tx off sg off gro on >/dev/null" for name in names]
        if len(names) > 1:
            settings += [
                f"echo 0 > /proc/sys/net/ipv4/conf/{name}/rp_filter" for name in ("all", *names)
            ]
        self.run(["sh", "-ec", "\n".join(settings)])
        return names


class LabSwitch(LabNode):
    """A P4 switch's place in Mininet; `pcn.lab.network` starts the program."""

    portBase = 1  # noqa: N815

    def start(self, _controllers: object) -> None:
        """Mininet's hook to hand out controllers: ours connect by P4Runtime."""


class LabHost(LabNode):
    def config(self, **_params: object) -> dict[str, str]:
        """Gives no addresses for the kernel: the agent speaks for the host (see
        `prepare_interfaces`)."""
        return {}


class LabLink(MininetLink):  # type: ignore[misc]
    """A veth pair, made inside the two namespaces at once: its names never show in the root
    namespace."""


class LabNet(Mininet):  # type: ignore[misc]
    """Mininet with our classes. `topology`'s names, port numbers and interface names are kept."""

    def __init__(self, topology: Topology) -> None:
        setLogLevel("critical")
        # Its initialisation raises kernel limits of the whole machine, for good; networks of this
        # size don't need that.
        Mininet.inited = True
        self.children: list[subprocess.Popen[Any]] = []
        super().__init__(
            topo=mininet_topo(topology),
            switch=partial(LabSwitch, children=self.children),
            host=partial(LabHost, children=self.children),
            link=LabLink,
            controller=None,
            build=False,
        )

    def configHosts(self) -> None:  # noqa: N802
        """Ours are configured in one go, by `prepare_interfaces`."""

    def lab_nodes(self) -> dict[str, LabNode]:
        return dict(self.nameToNode)

    def close(self) -> None:
        """Ends every process that was started in it, in whatever state, and with them the
        namespaces and veths."""
        shells = [node.shell for node in self.nameToNode.values()]
        end_children([child for child in self.children if child not in shells])
        end_children(self.children, grace_s=0)  # an interactive shell ignores SIGTERM
        for node in self.nameToNode.values():
            node.cleanup()


def root_interfaces() -> set[str]:
    """Returns the names of the interfaces in the namespace that this process is in."""
    return {name for _, name in socket.if_nameindex()}
