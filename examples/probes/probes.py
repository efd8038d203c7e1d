"""Probes of p4lang/tutorials' link_monitor: one a second from h1 through all links. Each prints
rates since the last.

    pcn p4 run TUTORIALS/exercises/link_monitor --clock virtual --for 5s \\
        --script examples/probes/probes.py

docs/p4.md has the whole command, and what it prints.
"""

from __future__ import annotations

import struct

from pcn.p4net.virtual import VirtualP4
from pcn.virtualnet import Arrived

TYPE_PROBE = 0x0812
WAY = (4, 1, 4, 1, 3, 2, 3, 2, 1)
# last hop and switch, port, bytes since the last probe, its time, this one's time (us)
HOP = struct.Struct(">BBI6s6s")


def start(network: VirtualP4) -> None:
    """Sends five probes, and prints each that comes back."""
    source = bytes.fromhex(network.topology.host("h1").mac.replace(":", ""))
    probe = b"\xff" * 6 + source + struct.pack(">HB", TYPE_PROBE, 0) + bytes(WAY)
    network.send_all("h1", [0.001 + number for number in range(5)], [probe])
    network.react("h1", show)


def show(frame: Arrived) -> None:
    """Prints the rate of each link that a probe has crossed, in its order."""
    if frame.start[12:14] != struct.pack(">H", TYPE_PROBE):
        return
    for number in reversed(range(frame.start[14])):
        switch, port, count, last, now = HOP.unpack_from(frame.start, 15 + HOP.size * number)
        before, after = (int.from_bytes(time, "big") for time in (last, now))
        if before:
            print(
                f"{frame.time_s:9.6f} s  s{switch & 0x7F}:{port}  "
                f"{8 * count / (after - before):9.6f} Mbit/s"
            )
