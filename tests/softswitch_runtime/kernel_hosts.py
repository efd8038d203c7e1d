"""Hosts as the kernel makes them: a network namespace each, with an interface whose offloads are as
they come, on."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from links import HANG_S

from pcn.base.namespaces import in_namespace

VLAN = 5
_Result = TypeVar("_Result")


class KernelHost:
    """One end of a veth pair in a separate namespace, IPv4 and IPv6; `near` is the switch's end.
    A context manager; all of it is gone on exit."""

    def __init__(self, number: int, mtu: int = 1500):
        self.number = number
        self.near, self._far = (f"kh{os.getpid()}{end}{number}" for end in "nf")
        self._holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        try:
            self._set_up(mtu)
        except BaseException:
            self.__exit__()
            raise

    def _set_up(self, mtu: int):
        while Path(f"/proc/{self._holder.pid}/ns/net").samefile("/proc/self/ns/net"):
            assert self._holder.poll() is None
        run(
            "ip", "link", "add", self.near, "mtu", str(mtu), "type", "veth", "peer", "name",
            self._far,
        )  # fmt: skip
        run(
            "ip", "link", "set", self._far, "netns", str(self._holder.pid), "name", "eth0", "mtu",
            str(mtu),
        )  # fmt: skip
        run("sysctl", "-qw", f"net.ipv6.conf.{self.near}.disable_ipv6=1")
        run("ip", "link", "set", self.near, "up")
        self.run("ip", "link", "set", "eth0", "up")
        self._address("eth0", tagged=False)

    def add_vlan(self):
        """The host's addresses in the VLAN."""
        self.run(
            "ip", "link", "add", "link", "eth0", "name", "tagged", "up", "type", "vlan", "id",
            str(VLAN),
        )  # fmt: skip
        self._address("tagged", tagged=True)

    def add_tunnel(self, peer: KernelHost) -> bool:
        """The interface `tunnel`, VXLAN to another host. False: this kernel has none."""
        words = (
            "ip link add tunnel type vxlan id 7 dstport 4789 dev eth0 local "
            f"{self.address(4, False)}"
        ).split()
        try:
            self.run(*words, "remote", peer.address(4, False))
        except AssertionError:
            return False
        self.run("ip", "link", "set", "tunnel", "up")
        self.run("ip", "address", "add", f"10.9.9.{self.number}/24", "dev", "tunnel")
        return True

    def tunnel_socket(self) -> socket.socket:
        """TCP, bound to the host's address in the tunnel."""
        return self._bound(socket.AF_INET, socket.SOCK_STREAM, f"10.9.9.{self.number}")

    def _address(self, device: str, *, tagged: bool):
        self.run("ip", "address", "add", f"{self.address(4, tagged)}/24", "dev", device)
        self.run("ip", "address", "add", f"{self.address(6, tagged)}/64", "dev", device, "nodad")

    def address(self, version: int, tagged: bool) -> str:
        """Of this host."""
        net = VLAN if tagged else 0
        return f"10.9.{net}.{self.number}" if version == 4 else f"fd00:9:{net}::{self.number}"

    def run(self, *command: str) -> str:
        """A command in the host."""
        return run("nsenter", "--target", str(self._holder.pid), "--net", *command)

    def inside(self, make: Callable[[], _Result]) -> _Result:
        return in_namespace(self._holder.pid, make)

    def socket(self, kind: socket.SocketKind, version: int, tagged: bool) -> socket.socket:
        """Bound to the host's address and a free port."""

        return self._bound(
            socket.AF_INET if version == 4 else socket.AF_INET6, kind, self.address(version, tagged)
        )

    def _bound(
        self, family: socket.AddressFamily, kind: socket.SocketKind, address: str
    ) -> socket.socket:
        def make() -> socket.socket:
            sock = socket.socket(family, kind)
            sock.settimeout(HANG_S)
            sock.bind((address, 0))
            return sock

        return self.inside(make)

    def frames_sent(self) -> int:
        """As the interface counts them: one that the switch cuts is one."""
        return int(Path(f"/sys/class/net/{self.near}/statistics/rx_packets").read_text())

    def __enter__(self) -> KernelHost:
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "link", "delete", self.near], check=False, capture_output=True)
        self._holder.kill()
        self._holder.wait()


def has_vlan_devices() -> bool:
    """Whether this kernel has VLAN interfaces (8021q)."""
    device = f"kh{os.getpid()}v"
    words = f"link add {device} link lo type vlan id 1".split()
    process = subprocess.run(["unshare", "--net", "ip", *words], check=False, capture_output=True)
    return process.returncode == 0


def run(*command: str) -> str:
    """A command's output; if it fails, the error has its message."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip()}"
    return done.stdout
