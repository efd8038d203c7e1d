"""What goes wrong in a network while it runs: links, frames, switches that lose."""

from __future__ import annotations

import ctypes
import math
from typing import Literal

from pcn.topologies.model import MOST_RATE_BPS, Endpoint
from pcn.virtualnet import native
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.network_part import NetworkPart
from pcn.virtualnet.times import picoseconds


class Faults(NetworkPart):
    """The part of a TimedNetwork that disturbs it: links, frames, packets that are lost."""

    _rates: dict[int, tuple[float, bool]]

    def survive(self) -> None:
        """From now on a packet with which the run couldn't go on is lost and counted (`unable`),
        where it would be an error that ends the run: resubmitted without end, more parsed than
        virtual time stores, more headers than a frame has room for, beyond PFC's headroom or a
        lane's buffer (`LinkStats.overrun`). What an endpoint's code raises may be its own matter
        (`VirtualNetwork.failures`). Results of other runs are the same. Raises VirtualError."""
        self._check(self._library.vn_survive(self._changing()))

    def unable(self, node: str) -> int:
        """Returns how many such packets a node has lost."""
        return self._check(self._library.vn_unable(self._alive(), self._nodes[node]))

    def set_link(
        self, node: str, port: int, *, rate_bps: float | None = None, up: bool | None = None
    ) -> None:
        """Changes a link, both ways, from now on: its rate, or whether frames may start. Nothing is
        lost, unless a PAUSE couldn't start in time (`LinkStats.overrun`). Raises VirtualError."""
        for end in (Endpoint(node, port), self.topology.peer(node, port)):
            link = self._links[end]
            old_rate, old_up = self._rates[link]
            new = (old_rate if rate_bps is None else rate_bps, old_up if up is None else up)
            if not 1 <= new[0] <= MOST_RATE_BPS:
                raise VirtualError(
                    f"{end}: rate {new[0]:g} bit/s: 1 to {MOST_RATE_BPS:g} are possible"
                )
            self._check(self._library.vn_set_link(self._changing(), link, round(new[0]), new[1]))
            self._rates[link] = new

    def discard(self, node: str, port: int, discards: bool) -> None:
        """Whether a switch loses from now on what is to leave by a port, and what waits there.
        Raises VirtualError where output buffers keep it."""
        self._check(
            self._library.vn_discard(self._changing(), self._links[Endpoint(node, port)], discards)
        )

    def pfc_arrives(
        self, node: str, port: int, traffic_class: int, quanta: int, mac: bytes
    ) -> None:
        """A PFC frame from `mac` comes in now at a port, as if its neighbour had sent it; 0 quanta
        are a RESUME. Raises VirtualError."""
        link = self._links[self.topology.peer(node, port)]
        self._check(
            self._library.vn_pfc_arrives(self._changing(), link, mac, traffic_class, quanta)
        )

    def disturb(
        self,
        node: str,
        port: int,
        frames: Literal["flow control", "notifications", "data"],
        *,
        lose: int = 0,
        repeat: int = 0,
        late: int = 0,
        late_s: float = 0.0,
        p_lose: float = 0.0,
        seed: int = 1,
    ) -> None:
        """Faults of one kind of frames among those that `node` sends by `port`, from now on: of
        those that arrive, every `lose`th is lost, every `repeat`th comes twice, every `late`th
        takes effect `late_s` later, as does what follows it meanwhile; 0: none. Each is lost with
        the probability `p_lose` besides, by random numbers that `seed`, link and kind determine.
        Notifications are CNPs, CNMs and ACKs. Data are never late and come once; so do
        notifications where links have credits, which their senders have paid for. Raises
        VirtualError."""
        if frames not in native.FRAMES:
            raise VirtualError(
                f"frames {frames!r}: choose from flow control, notifications and data"
            )
        for name, every in (("lose", lose), ("repeat", repeat), ("late", late)):
            if every < 0:
                raise VirtualError(f"{name}: {every}: a number from 1, or 0")
        if not 0 <= late_s < math.inf:
            raise VirtualError(f"late_s: {late_s:g} s: some time after it comes")
        if not 0 <= p_lose <= 1:
            raise VirtualError(f"p_lose: {p_lose:g}: a probability, from 0 to 1")
        by = native.Disturbance(lose, repeat, late, picoseconds(late_s), seed, p_lose)
        link = self._links[Endpoint(node, port)]
        self._check(
            self._library.vn_disturb(
                self._changing(), link, native.FRAMES.index(frames), ctypes.byref(by)
            )
        )
