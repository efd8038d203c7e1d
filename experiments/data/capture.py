"""What passed a port in virtual time, both ways, as `pcn pcap` has it of a live network."""

from __future__ import annotations

import errno
import heapq
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pcn.base.pcapng import PcapngWriter
from pcn.topologies.model import Endpoint, Topology

_HEADER, _RECORD = 24, struct.Struct("=IIII")
"""Of a pcap file."""


@dataclass(frozen=True)
class Capture:
    """`ways`: the engine's pcap files of what came in (True) and went out. `delay_ns`: of the link;
    frames that come in are stamped where they left."""

    name: str
    interface: str
    description: str
    delay_ns: int
    ways: Mapping[bool, Path]

    @classmethod
    def of(cls, port: Endpoint, topology: Topology, folder: Path) -> Capture:
        """Returns the capture of a port, with files in this folder."""
        link, name = topology.link_at(port.node, port.port), f"{port.node}-{port.port}.pcapng"
        description = (
            f"{port} to {link.far_end(port.node)} in {topology.name}, "
            f"{link.rate_bps / 1e9:g} Gbit/s"
        )
        ways = {incoming: folder / f".{name}.{incoming:d}" for incoming in (False, True)}
        return cls(name, port.interface, description, round(link.delay_s * 1e9), ways)

    def write(self, file: IO[bytes]) -> None:
        """Writes pcapng, once the engine has closed its files. Raises OSError, where these had no
        room, too."""
        writer = PcapngWriter(
            file, self.interface, self.description, "virtual time, from the run's start"
        )
        with ExitStack() as stack:
            ways = [
                _frames(stack.enter_context(path.open("rb")), incoming, self.delay_ns * incoming)
                for incoming, path in self.ways.items()
            ]
            for at_ns, incoming, frame in heapq.merge(*ways):
                writer.write(at_ns, frame, incoming)

    def discard(self) -> None:
        """Removes the engine's files."""
        for path in self.ways.values():
            path.unlink(missing_ok=True)


def _frames(file: IO[bytes], incoming: bool, delay_ns: int) -> Iterator[tuple[int, bool, bytes]]:
    file.seek(_HEADER)
    while head := file.read(_RECORD.size):
        seconds, ns, length, _ = _RECORD.unpack(head) if len(head) == _RECORD.size else (0, 0, 1, 0)
        frame = file.read(length)
        if len(frame) < length:  # the engine found no room for all of it
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield seconds * 10**9 + ns + delay_ns, incoming, frame
