"""PFC frames of our own at a port, as if its neighbour had sent them: PAUSE for a time, RESUME.

pause(lab, "s1", 3, duration_s=2e-3)     # returns when it is over
resume(lab, "s1", 3)

The frames are put on the link at the neighbour's end and arrive at once. A PAUSE lasts 65,535
quanta of 512 bit times at most (IEEE 802.1Qbb; 3.4 ms at 10 Gbit/s), so it is sent again at half of
its time. The last frame has the exact rest: a program that is killed leaves the port paused for at
most the time of its last frame."""

from __future__ import annotations

import contextlib
import errno
import math
import select
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from pcn.base.errors import LabError
from pcn.base.namespaces import in_namespace, listen_to_all
from pcn.controller.constants import MAX_QUANTA, ROCE_CLASS
from pcn.hosts import wire
from pcn.lab.inside.client import request
from pcn.lab.running import Running, endpoint, namespace_pid
from pcn.topologies.model import Endpoint

# Their source: nobody else's, so that a capture tells them from the neighbour's own frames.
SOURCE_MAC = bytes.fromhex("0650434e0000")
_LOOK_S = 0.05
# Of an interface that is down, or has no carrier, where the frame meets no queueing discipline.
_LINK_DOWN = (errno.ENETDOWN, errno.ENOBUFS)
_PACKET_QDISC_BYPASS, _PACKET_IGNORE_OUTGOING = 20, 23
_SOL_PACKET = 263


class PauseError(LabError):
    """A pause that can't be."""


@dataclass(frozen=True)
class Pause:
    """What was sent to a port. `paused_s` is nominal, from the first PAUSE to the RESUME;
    `resumed`: another caller's `resume` ended it before its time."""

    port: str
    traffic_class: int
    frames: int
    paused_s: float
    resumed: bool


def pause(
    lab: Running,
    node: str,
    port: int | None = None,
    *,
    duration_s: float | None = None,
    traffic_class: int = ROCE_CLASS,
) -> Pause:
    """Pauses a class of a port, of a switch or a host, for a nominal time, or until `resume`
    (None). Returns when the port may send again; an exception meanwhile, Ctrl-C included, resumes
    it too.

    Raises UnknownNameError, TopologyError, PauseError or NamespaceError.
    """
    _check_class(traffic_class)
    if duration_s is not None and not (duration_s > 0 and math.isfinite(duration_s)):
        raise PauseError(f"a pause of {duration_s:g} s: it must be above 0")
    end = endpoint(lab.topology, node, port)
    dilation = lab.record.dilation
    quantum_s = wire.QUANTUM_BITS / lab.topology.link_at(end.node, end.port).rate_bps
    with _link_down_is_named(end), _way(lab, end) as way:
        left_s = math.inf if duration_s is None else duration_s
        frames, resumed, began, until = 0, False, math.nan, math.nan
        try:
            while not resumed and left_s > 0:
                quanta, wait_s = _next(left_s, quantum_s)
                way.send(traffic_class, quanta)
                sent = time.monotonic()
                if frames == 0:
                    began, until = sent, sent + left_s * dilation
                frames += 1
                resumed = way.resumed(traffic_class, sent + wait_s * dilation)
                left_s = (until - time.monotonic()) / dilation
        finally:
            way.send(traffic_class, 0)
        return Pause(
            str(end), traffic_class, frames + 1, (time.monotonic() - began) / dilation, resumed
        )


def resume(
    lab: Running, node: str, port: int | None = None, *, traffic_class: int = ROCE_CLASS
) -> str:
    """Lets a class of a port send again, and ends a `pause` of it that goes on elsewhere; the
    port's name.

    Raises as `pause`.
    """
    _check_class(traffic_class)
    end = endpoint(lab.topology, node, port)
    with _link_down_is_named(end), _way(lab, end) as way:
        way.send(traffic_class, 0)
    return str(end)


def _next(left_s: float, quantum_s: float) -> tuple[int, float]:
    """Returns the quanta of the next PAUSE, for the rest of the pause, and the wait after it
    (nominal)."""
    quanta = math.ceil(min(MAX_QUANTA, left_s / quantum_s))
    return quanta, quanta * quantum_s / (1 if quanta < MAX_QUANTA else 2)


def _check_class(traffic_class: int) -> None:
    if not 0 <= traffic_class < wire.CLASSES:
        raise PauseError(f"class {traffic_class}: 0 to {wire.CLASSES - 1} are possible")


def _frame(traffic_class: int, quanta: int) -> bytes:
    return wire.encode_pfc(wire.PfcFrame(SOURCE_MAC, {traffic_class: quanta}))


@contextlib.contextmanager
def _link_down_is_named(end: Endpoint) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _LINK_DOWN:
            raise
        raise PauseError(
            f"{end}: its link is down: no PAUSE or RESUME arrives; a PAUSE that came before ends "
            "by itself"
        ) from None


@contextlib.contextmanager
def _neighbour(lab: Running, end: Endpoint) -> Iterator[socket.socket]:
    """Yields where the port's neighbour sends: what is sent here arrives at the port."""
    peer = lab.topology.peer(end.node, end.port)

    def make() -> socket.socket:
        connection = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        # Else whoever listens at that end would see the frame too: BMv2 takes it for one that came
        # in.
        connection.setsockopt(_SOL_PACKET, _PACKET_QDISC_BYPASS, 1)
        connection.bind((peer.interface, 0))
        return connection

    with in_namespace(namespace_pid(lab, peer.node), make) as connection:
        yield connection


@contextlib.contextmanager
def _arriving(lab: Running, end: Endpoint) -> Iterator[socket.socket]:
    """Yields the PFC frames that arrive at the port."""

    def make() -> socket.socket:
        connection = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        connection.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        listen_to_all(connection, end.interface)
        connection.bind((end.interface, wire.ETHERTYPE_FLOW_CONTROL))
        return connection

    with in_namespace(namespace_pid(lab, end.node), make) as connection:
        yield connection


class _Way(Protocol):
    """How PFC frames come to a port."""

    def send(self, traffic_class: int, quanta: int) -> None:
        """A frame arrives at the port. Raises LabError, OSError."""
        ...

    def resumed(self, traffic_class: int, until: float) -> bool:
        """Waits until a time, or until a RESUME arrives. Whether it was `resume` that sent it; the
        neighbour's own means that the port has to be paused again, now."""
        ...


@contextlib.contextmanager
def _way(lab: Running, end: Endpoint) -> Iterator[_Way]:
    if lab.record.is_inside:
        yield _Inside(lab, end)
        return
    with _neighbour(lab, end) as neighbour, _arriving(lab, end) as arriving:
        yield _Wire(neighbour, arriving)


class _Wire:
    """By interfaces: what `neighbour` sends arrives."""

    def __init__(self, neighbour: socket.socket, arriving: socket.socket) -> None:
        self._neighbour = neighbour
        self._arriving = arriving

    def send(self, traffic_class: int, quanta: int) -> None:
        self._neighbour.send(_frame(traffic_class, quanta))

    def resumed(self, traffic_class: int, until: float) -> bool:
        while (left := until - time.monotonic()) > 0:
            if not select.select([self._arriving], [], [], left)[0]:
                continue
            frame = self._arriving.recv(wire.MAX_FRAME)
            with contextlib.suppress(wire.WireError):
                if wire.decode_pfc_quanta(frame).get(traffic_class) == 0:
                    return frame[6:12] == SOURCE_MAC
        return False


class _Inside:
    """In an engine, by its socket. A neighbour's RESUME ends the pause there until the next PAUSE
    is due."""

    def __init__(self, lab: Running, end: Endpoint) -> None:
        self._record = lab.record
        self._end = end
        self._before = self._resumes()

    def send(self, traffic_class: int, quanta: int) -> None:
        request(
            self._record, "pfc", node=self._end.node, port=self._end.port,
            traffic_class=traffic_class, quanta=quanta,
        )  # fmt: skip

    def resumed(self, traffic_class: int, until: float) -> bool:
        while (left := until - time.monotonic()) > 0:
            # the engine counts RESUME; it reports none by itself
            time.sleep(min(left, _LOOK_S))
            if self._resumes().get(traffic_class, 0) > self._before.get(traffic_class, 0):
                return True
        return False

    def _resumes(self) -> dict[int, int]:
        """Returns how many RESUMEs commands have sent to the port, by class."""
        return {
            traffic_class: number
            for end, traffic_class, number in request(self._record, "resumes")
            if end == str(self._end)
        }
