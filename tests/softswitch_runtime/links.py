"""veth pairs for tests, and sockets on their far ends."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import time
from pathlib import Path

HANG_S = 60  # only what never happens takes so long

_numbers = itertools.count()


class Link:
    """A veth pair: `near` is for the switch, the far end is a raw socket of the test. Removed on
    exit."""

    def __init__(self, mtu: int = 1500):
        number = next(_numbers)
        self.near, self.far = f"sr{os.getpid()}n{number}", f"sr{os.getpid()}f{number}"
        _ip("link", "add", self.near, "type", "veth", "peer", "name", self.far)
        try:
            for name in (self.near, self.far):
                disable = Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6")
                if disable.exists():
                    disable.write_text("1")
                _ip("link", "set", name, "up")
            self.set_mtu(mtu)
            # Without a protocol until it is bound: it would hear all interfaces.
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.socket.setsockopt(263, 23, 1)  # SOL_PACKET, PACKET_IGNORE_OUTGOING
            self.socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
            self.socket.bind((self.far, 3))  # ETH_P_ALL
        except BaseException:
            self.remove()
            raise

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.remove()

    def remove(self):
        subprocess.run(["ip", "link", "del", self.near], check=False, capture_output=True)

    def set_mtu(self, mtu: int):
        for name in (self.near, self.far):
            _ip("link", "set", name, "mtu", str(mtu))

    def send(self, *frames: bytes):
        for frame in frames:
            self.socket.send(frame)

    def receive(self, n: int, timeout_s: float = HANG_S) -> list[bytes]:
        """n frames, or as many as came in time."""
        return [frame for _, frame in self.receive_timed(n, timeout_s)]

    def receive_timed(self, n: int, timeout_s: float = HANG_S) -> list[tuple[float, bytes]]:
        """n frames with their arrival, seconds."""
        frames: list[tuple[float, bytes]] = []
        end = time.monotonic() + timeout_s
        while len(frames) < n and (rest := end - time.monotonic()) > 0:
            self.socket.settimeout(rest)
            try:
                frame = self.socket.recv(65536)
            except TimeoutError:
                break
            frames.append((time.monotonic(), frame))
        return frames

    def silent(self, for_s: float = 0.05) -> bool:
        """Whether nothing comes for a while."""
        return self.receive(1, for_s) == []


def _ip(*args: str):
    done = subprocess.run(["ip", *args], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(args)}: {done.stderr.strip()}")
