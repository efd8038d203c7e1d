"""Sockets by which others could reach a process."""

import contextlib
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_LISTENING, _ACCEPTS = "0A", 0x10000  # TCP_LISTEN; __SO_ACCEPTCON


class Door(NamedTuple):
    kind: str
    """tcp, tcp6, udp, udp6 or unix"""
    address: str
    port: int


def doors(pids: Iterable[int]) -> list[Door]:
    """What these processes listen on, in the network namespace of the first."""
    pids = list(pids)
    theirs = {inode for pid in pids for inode in _inodes(pid)}
    return sorted({door for inode, door in _all(pids[0]) if inode in theirs})


def _inodes(pid: int) -> Iterator[str]:
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # it's closed
            target = str(descriptor.readlink())
            if target.startswith("socket:["):
                yield target[8:-1]


def _all(pid: int) -> Iterator[tuple[str, Door]]:
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        for line in _lines(pid, kind):
            fields = line.split()
            address, port = fields[1].split(":")
            # A UDP socket takes from everybody unless it is connected.
            if (
                fields[3] == _LISTENING
                if kind.startswith("tcp")
                else int(fields[2].split(":")[1], 16) == 0
            ):
                yield fields[9], Door(kind, _address(address), int(port, 16))
    for line in _lines(pid, "unix"):
        fields = line.split()
        if int(fields[3], 16) & _ACCEPTS or len(fields) > 7:
            yield fields[6], Door("unix", " ".join(fields[7:]), 0)


def _lines(pid: int, kind: str) -> list[str]:
    return Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:]


def _address(text: str) -> str:
    words = b"".join(bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8))
    return socket.inet_ntop(socket.AF_INET if len(words) == 4 else socket.AF_INET6, words)
