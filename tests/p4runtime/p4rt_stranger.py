"""Clients of a P4Runtime address that keep to no rule but HTTP/2's: they send what a test makes of
frames."""

from __future__ import annotations

import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 8, 9
END_STREAM, END_HEADERS, PADDED = 1, 4, 8
WINDOW = 65535


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return (
        struct.pack("!I", len(payload))[1:]
        + bytes([kind, flags])
        + struct.pack("!I", stream)
        + payload
    )


def headers(method: str) -> bytes:
    """A call's block of headers, none of which is kept in a table."""
    texts = {
        ":path": f"/p4.v1.P4Runtime/{method}" if "/" not in method else method,
        ":authority": "x",
    }
    texts |= {"te": "trailers", "content-type": "application/grpc"}
    return b"\x83\x86" + b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in texts.items()
    )


class Stranger:
    """A connection, and what flow control lets it send. `ended`: its calls that have."""

    def __init__(self, port: int, *, begin: bool = True):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.closed = False
        self.ended: dict[int, str] = {}
        self._next, self._begun, self._buffer = 1, begin, b""
        self._room, self._first_window, self._rooms = WINDOW, WINDOW, dict[int, int]()
        if begin:
            self.send(PREFACE + frame(SETTINGS, 0, 0))

    def __enter__(self) -> Stranger:
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data: bytes):
        try:
            self.socket.sendall(data)
        except OSError:
            self.closed = True

    def call(self, method: str, flags: int = END_HEADERS) -> int:
        """Begins a call; gives its stream's number."""
        number, self._next = self._next, self._next + 2
        self._rooms[number] = self._first_window
        self.send(frame(HEADERS, flags, number, headers(method)))
        return number

    def give(self, number: int, data: bytes) -> int:
        """Sends what of `data` may be sent of a call's now; gives its length."""
        self.listen()
        sent = 0
        while sent < len(data) and not self.closed and number not in self.ended:
            length = min(len(data) - sent, self._room, self._rooms[number], 16384)
            if length <= 0:
                break
            self.send(frame(DATA, 0, number, data[sent : sent + length]))
            self._room -= length
            self._rooms[number] -= length
            sent += length
        return sent

    def listen(self):
        """Takes what has come."""
        self.socket.setblocking(False)
        try:
            while data := self.socket.recv(1 << 20):
                self._buffer += data
            self.closed = True
        except BlockingIOError:
            pass
        except OSError:
            self.closed = True
        finally:
            self.socket.setblocking(True)
        while len(self._buffer) >= 9:
            length = int.from_bytes(self._buffer[:3], "big")
            if len(self._buffer) < 9 + length:
                break
            kind, flags = self._buffer[3], self._buffer[4]
            number = int.from_bytes(self._buffer[5:9], "big") & 0x7FFFFFFF
            payload, self._buffer = self._buffer[9 : 9 + length], self._buffer[9 + length :]
            self._hear(kind, flags, number, payload)

    def _hear(self, kind: int, flags: int, number: int, payload: bytes):
        if kind == WINDOW_UPDATE and number == 0:
            self._room += int.from_bytes(payload, "big")
        elif kind == WINDOW_UPDATE and number in self._rooms:
            self._rooms[number] += int.from_bytes(payload, "big")
        elif kind == SETTINGS and not flags & 1:
            for at in range(0, len(payload), 6):
                name, value = struct.unpack("!HI", payload[at : at + 6])
                if name == 4:
                    self._rooms = {
                        stream: room + value - self._first_window
                        for stream, room in self._rooms.items()
                    }
                    self._first_window = value
            self.send(frame(SETTINGS, 1, 0))
        elif kind == PING and not flags & 1:
            self.send(frame(PING, 1, 0, payload))
        elif kind == RST_STREAM:
            code = int.from_bytes(payload, "big")
            if code or number not in self.ended:  # an answer before the request's end: NO_ERROR
                self.ended[number] = f"reset {code}"
        elif kind in (DATA, HEADERS) and flags & END_STREAM:
            self.ended.setdefault(number, "answered")
