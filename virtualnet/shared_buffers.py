"""Shared buffers of switches: who has which share, and what they have counted."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from pcn.topologies.buffers import SharedBuffer
from pcn.topologies.lossless import CONTROL_CLASS
from pcn.virtualnet import native
from pcn.virtualnet.counts import BufferStats, counted
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.network_part import NetworkPart


class SharedBuffers(NetworkPart):
    """The part of a TimedNetwork that gives switches shared buffers."""

    def share_buffer(self, switch: str, buffer: SharedBuffer, lossless: Sequence[int]) -> None:
        """Gives a switch a buffer that its ports share, behind `protect` of the lossless classes,
        before the run."""
        self._check(
            self._library.vn_set_shared_buffer(
                self._changing(), self._nodes[switch], round(buffer.size_bytes)
            )
        )
        for port in self.topology.ports(switch):
            link = self._links[self.topology.peer(switch, port)]
            rate_bps = self.topology.link_at(switch, port).rate_bps
            for number in range(native.CLASSES):
                if number == CONTROL_CLASS:
                    continue
                share = buffer.share(port, rate_bps, number, number in lossless)
                config = native.ShareConfig(
                    round(share.fixed_bytes), round(share.headroom_bytes or 0),
                    round(share.alpha * 2**16),
                    round(share.reserve_bytes), round(share.resume_bytes),
                )  # fmt: skip
                try:
                    self._check(
                        self._library.vn_set_share(
                            self._changing(), link, number, ctypes.byref(config)
                        )
                    )
                except VirtualError as error:
                    raise VirtualError(f"{switch}:{port}: class {number}: {error}") from None

    def buffer_stats(self, switch: str) -> BufferStats:
        """Returns the statistics of a switch's shared buffer. Raises VirtualError where it has
        none."""
        raw = native.SharedBufferStats()
        if self._library.vn_buffer_stats(self._alive(), self._nodes[switch], ctypes.byref(raw)) < 0:
            raise VirtualError(f"{switch} has no shared buffer")
        return counted(BufferStats, raw)
