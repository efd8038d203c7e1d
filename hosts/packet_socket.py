"""The host's interface: raw Ethernet frames in and out, through a packet socket (packet(7))."""

from __future__ import annotations

import errno
import fcntl
import socket
import struct

from .wire import MAX_FRAME, ROCE_PORT

_ETH_P_ALL = 0x0003
_SOL_PACKET = 263
_PACKET_STATISTICS = 6
_PACKET_QDISC_BYPASS = 20
_PACKET_IGNORE_OUTGOING = 23
_SO_SNDBUFFORCE = 32
_SO_RCVBUFFORCE = 33
_SO_TIMESTAMPNS = 35
_SIOCGIFFLAGS = 0x8913
_SIOCGIFMTU = 0x8921
_ETHERNET_HEADER = 14
_IFF_UP = 1
_BUFFER_BYTES = 64 << 20


class PortError(Exception):
    """The interface can't be used: missing, down, not permitted, or gone."""


class Port:
    """A context manager. `pcn.hosts.loop` sends and receives through it; frames sent have at most
    `max_frame` bytes."""

    def __init__(self, interface: str) -> None:
        """Raises PortError."""
        self.interface = interface
        self._drops = 0
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except PermissionError as error:
            raise PortError(
                "raw sockets need root or CAP_NET_RAW: run the agent as root"
            ) from error
        try:
            self._prepare(interface)
        except OSError as error:
            self._socket.close()
            raise PortError(_explain(interface, error)) from error
        except PortError:
            self._socket.close()
            raise
        self._sink = _udp_sink()
        self.fileno = self._socket.fileno

    def __enter__(self) -> Port:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        if self._sink is not None:
            self._sink.close()

    def drops(self) -> int:
        """Returns the frames that the kernel dropped since the start because this process didn't
        take them."""
        counts = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        self._drops += struct.unpack("II", counts)[1]
        return self._drops

    def forget_drops(self) -> None:
        """Counts drops from now."""
        self.drops()
        self._drops = 0

    def failure(self, error: OSError) -> PortError:
        """Returns what to raise when sending or receiving failed so."""
        return PortError(_explain(self.interface, error))

    def _prepare(self, interface: str) -> None:
        request = struct.pack("40s", interface.encode()[:15])
        flags = struct.unpack("16sH22x", fcntl.ioctl(self._socket, _SIOCGIFFLAGS, request))[1]
        if not flags & _IFF_UP:
            raise PortError(f"interface {interface} is down: ip link set {interface} up")
        mtu = struct.unpack("16si20x", fcntl.ioctl(self._socket, _SIOCGIFMTU, request))[1]
        self.max_frame = min(_ETHERNET_HEADER + mtu, MAX_FRAME)
        self._socket.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        self._socket.setsockopt(_SOL_PACKET, _PACKET_QDISC_BYPASS, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        for forced, plain in (
            (_SO_RCVBUFFORCE, socket.SO_RCVBUF),
            (_SO_SNDBUFFORCE, socket.SO_SNDBUF),
        ):
            try:
                self._socket.setsockopt(socket.SOL_SOCKET, forced, _BUFFER_BYTES)
            except PermissionError:
                self._socket.setsockopt(socket.SOL_SOCKET, plain, _BUFFER_BYTES)
        self._socket.bind((interface, _ETH_P_ALL))
        self._socket.setblocking(False)


def _udp_sink() -> socket.socket | None:
    """Opens a UDP socket that is never read: with it, the kernel doesn't answer RoCEv2 packets by
    ICMP "port unreachable"."""
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    try:
        sink.bind(("0.0.0.0", ROCE_PORT))
    except OSError:
        # Somebody else has the port: the kernel doesn't answer then either
        sink.close()
        return None
    return sink


def _explain(interface: str, error: OSError) -> str:
    if error.errno in (errno.ENODEV, errno.ENXIO):
        names = [name for _, name in socket.if_nameindex()]
        return f"no interface {interface!r} here; choose from {', '.join(names)}"
    if error.errno == errno.ENETDOWN:
        return f"interface {interface} went down or was removed"
    return f"interface {interface}: {error.strerror or error}"
