"""Files of what leaves a network's ports, and its log of PFC frames."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from pcn.base import owner_only
from pcn.topologies.model import Endpoint
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.network_part import NetworkPart
from pcn.virtualnet.pfc_log import PfcLog


class Captures(NetworkPart):
    """The part of a TimedNetwork that captures frames."""

    _captures: dict[int, Path]
    _only_in_one: Callable[[str], None]

    def capture(self, node: str, port: int, path: Path) -> None:
        """Writes every frame that leaves `node` by `port` to a pcap file, from now until the
        network is closed; the time stamps, in nanoseconds, are simulated time. `close` fails if the
        file can't be written. Raises VirtualError."""
        self._only_in_one("a capture is one process's file")
        try:
            descriptor = owner_only.output(path)
        except (OSError, owner_only.NotPrivateError) as error:
            raise VirtualError(f"{path}: {getattr(error, 'strerror', error)}") from None
        self.capture_to(node, port, path, descriptor)

    def capture_to(self, node: str, port: int, path: Path, descriptor: int) -> None:
        """As `capture`, to a file that is open; the engine closes it. Raises VirtualError, also
        where a capture of the port goes on."""
        self._only_in_one("a capture is one process's file")
        link = self._links[Endpoint(node, port)]
        code = self._library.vn_capture(self._alive(), link, descriptor)
        if code < 0:
            raise VirtualError(
                f"{node}:{port} is captured already"
                if code == -errno.EEXIST
                else f"{path}: {os.strerror(-code)}"
            )
        self._captures[link] = path

    def end_capture(self, node: str, port: int) -> None:
        """Ends the capture of what leaves `node` by `port`, if there is one. Raises VirtualError
        where it isn't whole."""
        link = self._links[Endpoint(node, port)]
        if code := self._library.vn_capture_stop(self._alive(), link):
            raise VirtualError(
                f"{self._captures[link]}: {os.strerror(-code)}: the capture isn't whole"
            )

    def log_pfc(self) -> PfcLog:
        """Logs each PFC frame from now on."""
        self._only_in_one("the log of PFC frames is in the order of all nodes")
        self._check(self._library.vn_log_pfc(self._changing()))
        return PfcLog(self._library, self._alive(), tuple(self._links))
