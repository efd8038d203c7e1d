"""Captures of a network inside an engine: the engine writes them, with simulated time, into files
that the client has open; so what a stopped client doesn't read holds up nothing."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from pcn.base.errors import LabError
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab.inside.driven import CommandError
from pcn.lab.journal import Process
from pcn.topologies.model import Endpoint


@dataclass(frozen=True)
class _Capture:
    """Both directions of a port, for a client. `before`: how many frames had passed."""

    client: Process
    before: int


class Captures:
    """Of one network. Raises LabError."""

    def __init__(self, network: VirtualNetwork) -> None:
        self._network = network
        self._captures: dict[Endpoint, _Capture] = {}

    def capture(self, node: str, port: int, pid: int, out: int, into: int) -> float:
        """Begins one: what leaves the port is written to descriptor `out` of the process, what
        leaves its neighbour's to `into`. Returns the simulated time in s."""
        if not all(type(number) is int and number >= 0 for number in (port, pid, out, into)):
            raise CommandError("capture: port, pid, out and into are numbers")
        network, end = self._network, Endpoint(str(node), port)
        peer = network.topology.peer(end.node, end.port)
        with network.lock:
            if end in self._captures or peer in self._captures:
                raise CommandError(f"another command captures at {end} or {peer}")
            client = Process.of(pid)
            try:
                for place, descriptor in ((end, out), (peer, into)):
                    path = Path(f"/proc/{pid}/fd/{descriptor}")
                    network.capture_to(place.node, place.port, path, _opened(path))
            except LabError:
                for place in (end, peer):
                    with contextlib.suppress(LabError):
                        network.end_capture(place.node, place.port)
                raise
            self._captures[end] = _Capture(client, self._passed(end))
            return network.now_s

    def captured(self, node: str, port: int) -> list[float]:
        """Returns the simulated time in s, and how many frames have passed."""
        network, end = self._network, Endpoint(str(node), port)
        with network.lock:
            return [network.now_s, self._passed(end) - self._find(end).before]

    def uncapture(self, node: str, port: int) -> float:
        """Ends one. Returns the simulated time in s."""
        end = Endpoint(str(node), port)
        with self._network.lock:
            self._find(end)
            self._end(end)
            return self._network.now_s

    def clean(self) -> None:
        """Ends those of clients that have gone."""
        for end, capture in list(self._captures.items()):
            if not capture.client.alive():
                with self._network.lock, contextlib.suppress(LabError):
                    self._end(end)

    def _find(self, end: Endpoint) -> _Capture:
        if end not in self._captures:
            raise CommandError(f"no command captures at {end}")
        return self._captures[end]

    def _end(self, end: Endpoint) -> None:
        del self._captures[end]
        peer = self._network.topology.peer(end.node, end.port)
        try:
            self._network.end_capture(end.node, end.port)
        finally:
            self._network.end_capture(peer.node, peer.port)

    def _passed(self, end: Endpoint) -> int:
        peer = self._network.topology.peer(end.node, end.port)
        return sum(
            self._network.link_stats(place.node, place.port).packets for place in (end, peer)
        )


def _opened(path: Path) -> int:
    """Opens a file that a process has open, to write; one that can't hold the engine up, as a pipe
    would."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CommandError(f"{path}: not a file")
    return descriptor
