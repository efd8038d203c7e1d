"""A host of a lab: the live agent on a NIC of this machine, in real time.

with NicHost(HostSettings(nic=find_nic("eth2"), line_rate_bps=1e9)) as host:
    host.agent.start(1, "10.0.0.2", NEXT_HOP)
    host.agent.stats()

It runs like a network's agents in namespaces and stretched time, with k = 1. docs/tofino.md has the
possible rates, and the requirements on the NIC.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import socket
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from pcn.base import signals
from pcn.base.errors import LabError, nearest
from pcn.base.python_process import python_command
from pcn.hosts.algorithms import SchemeError, find_scheme
from pcn.hosts.client import AgentClient
from pcn.lab import journal as records
from pcn.lab.network import connects
from pcn.lab.process import end_children

# About what one core sends in packets of 1000 B payload: docs/tofino.md.
USUAL_RATE_BPS = 1e9
# An agent wakes up each 150 to 300 us, so CNPs can't follow each other much faster, nor is a round
# trip shorter.
USUAL_PERIOD_S = 1e-3
# The program of p4src takes a frame with any destination, and writes the next hop's. These are its
# own ports'.
NEXT_HOP = "02:50:43:4e:00:00"
_SIOCGIFADDR, _SIOCGIFHWADDR, _SIOCETHTOOL = 0x8915, 0x8927, 0x8946
_ARPHRD_ETHER = 1
_ETHTOOL_GSET = 1


class NicError(LabError):
    """An interface that can't be a host's: the text has the reason, and the way out."""


@dataclass(frozen=True)
class Nic:
    """An interface. `ip` None: the kernel has none there; `speed_bps` None: it has none."""

    interface: str
    mac: str
    ip: str | None
    speed_bps: float | None


@dataclass(frozen=True)
class HostSettings:
    """Real units. `parameters`: of the scheme, by name, as `Scheme.configure` has them."""

    nic: Nic
    ip: str
    line_rate_bps: float
    scheme: str = "pcn"
    parameters: Mapping[str, str | float] = field(default_factory=dict)
    log: Path | None = None


def find_nic(interface: str) -> Nic:
    """Returns an interface of this network namespace. Raises NicError."""
    there = sorted(name for _, name in socket.if_nameindex())
    if interface not in there:
        raise NicError(f"no interface {interface!r}; {nearest(interface, there)}")
    mac = _mac(interface)
    if mac is None:
        others = ", ".join(name for name in there if _mac(name)) or "none"
        raise NicError(f"{interface} is no Ethernet interface; of those this machine has {others}")
    return Nic(interface, mac, _ip(interface), _speed_bps(interface))


def settings(
    nic: Nic,
    ip: str | None = None,
    line_rate_bps: float | None = None,
    scheme: str = "pcn",
    parameters: Mapping[str, str | float] | None = None,
    log: Path | None = None,
) -> HostSettings:
    """Returns a host's settings with defaults filled in: the interface's address, its speed up to
    what a raw socket carries, and a T that an agent can keep. Raises NicError or SchemeError."""
    address = ip or nic.ip
    if address is None:
        raise NicError(
            f"{nic.interface} has no IPv4 address: give the host's, which the switch's route has, "
            "with --ip 10.0.0.1"
        )
    chosen: dict[str, str | float] = dict(parameters or {})
    loaded_scheme = find_scheme(scheme)
    if any(field.name == "period_s" for field in fields(loaded_scheme.parameters)):
        chosen.setdefault("period_s", USUAL_PERIOD_S)
    loaded_scheme.configure(chosen)
    rate = line_rate_bps or min(USUAL_RATE_BPS, nic.speed_bps or USUAL_RATE_BPS)
    if nic.speed_bps is not None and rate > nic.speed_bps:
        raise NicError(
            f"{nic.interface} has {nic.speed_bps / 1e9:g} Gbit/s: {rate / 1e9:g} Gbit/s can't be "
            "its line rate"
        )
    return HostSettings(nic, address, rate, loaded_scheme.reference, chosen, log)


class NicHost:
    """A context manager: the agent runs while it lasts, in a separate process, and executes the
    requests of `agent`."""

    def __init__(self, host: HostSettings) -> None:
        self.settings = host
        self._stack = contextlib.ExitStack()
        # no network's: it has dots
        self._name = f"host.{Path('/proc/self/ns/net').stat().st_ino}.{host.nic.interface}"
        # The agent removes it when it ends; and it ends when this process does, however that does.
        control = records.RUN_DIR / f"{self._name}.sock"
        self.agent = self._stack.enter_context(contextlib.closing(AgentClient(control)))
        self._output = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  # the stack does
        self._ended = -1  # a descriptor that can be read when the agent has ended

    def __enter__(self) -> NicHost:
        """Raises LabError with the agent's message."""
        try:
            with signals.deferred():
                self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with signals.deferred():
            self._stack.close()

    def wait(self, limit_s: float) -> None:
        """Waits for the time; raises NicError if the agent ends before."""
        poller = select.poll()
        poller.register(self._ended, select.POLLIN)
        if poller.poll(1000 * limit_s):
            raise NicError(f"the agent ended: {self._last_words()}")

    def _start(self) -> None:
        """An interface has one agent, as two would both answer: that whose socket listens, or the
        one that starts."""
        interface = self.settings.nic.interface
        taken = NicError(
            f"{interface} has an agent already, of another `pcn host`: end that one first"
        )
        with records.claimed(self._name, lambda: taken):
            if connects(str(self.agent.path)):
                raise taken
            self._start_agent()

    def _start_agent(self) -> None:
        host = self.settings
        parameters = [
            part
            for name, value in host.parameters.items()
            for part in ("--param", f"{name}={value}")
        ]
        command = [
            *("setpriv", "--pdeathsig", "TERM", *python_command("pcn.hosts.agent")),
            *(
                "--name",
                host.nic.interface,
                "--iface",
                host.nic.interface,
                "--mac",
                host.nic.mac,
                "--ip",
                host.ip,
            ),
            *(
                "--line-rate",
                repr(host.line_rate_bps),
                "--dilation",
                "1",
                "--scheme",
                host.scheme,
                *parameters,
            ),
            *("--control", str(self.agent.path)),
            *(("--log", str(host.log.absolute())) if host.log else ()),
        ]
        ready, write = os.pipe()
        with os.fdopen(ready, "rb") as waiting:
            try:
                process = subprocess.Popen(
                    [*command, "--ready-fd", str(write)],
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=subprocess.STDOUT,
                    pass_fds=(write,),
                    start_new_session=True,
                )
            finally:
                os.close(write)
            self._stack.callback(end_children, [process])
            # It ends, or says that it is ready: a line, or the pipe's end.
            if waiting.readline() != b"ready\n":
                raise NicError(self._last_words())
        self._ended = os.pidfd_open(process.pid)
        self._stack.callback(os.close, self._ended)

    def _last_words(self) -> str:
        self._output.seek(0)
        lines = self._output.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it printed nothing"


def _ask(interface: str, request: int, space: bytes = b"") -> bytes | None:
    """Returns the kernel's answer to one of netdevice(7)'s requests; None if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            return fcntl.ioctl(
                any_socket, request, struct.pack("16s24s", interface.encode(), space)
            )
        except OSError:
            return None


def _mac(interface: str) -> str | None:
    """Returns an address; None: it is no Ethernet interface."""
    answer = _ask(interface, _SIOCGIFHWADDR)
    if answer is None or struct.unpack_from("H", answer, 16) != (_ARPHRD_ETHER,):
        return None
    return answer[18:24].hex(":")


def _ip(interface: str) -> str | None:
    """Returns the first IPv4 address that the kernel has there."""
    answer = _ask(interface, _SIOCGIFADDR)
    return None if answer is None else socket.inet_ntoa(answer[20:24])


def _speed_bps(interface: str) -> float | None:
    """Returns the driver's value, in ethtool's older form: 16 bits of Mbit/s, and 16 more further
    on."""
    command = (ctypes.c_uint32 * 11)(_ETHTOOL_GSET)
    if _ask(interface, _SIOCETHTOOL, struct.pack("P", ctypes.addressof(command))) is None:
        return None
    raw = bytes(command)
    low, high = struct.unpack_from("H", raw, 12)[0], struct.unpack_from("H", raw, 28)[0]
    mbps = high << 16 | low
    return None if mbps in (0, 0xFFFF, 0xFFFFFFFF) else mbps * 1e6


__all__ = [
    "NEXT_HOP",
    "HostSettings",
    "Nic",
    "NicError",
    "NicHost",
    "SchemeError",
    "find_nic",
    "settings",
]
