"""What a run in virtual time came to: by host, and by port of a switch. Values for tables and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from p4net.virtual import VirtualP4


def by_host(network: VirtualP4) -> list[dict[str, Any]]:
    """Frames that were sent and have arrived, and their delays in seconds: means over all that hosts sent."""
    rows = []
    for host in network.topology.hosts:
        found = network.arrivals(host.name)
        rows.append(
            {
                "host": host.name,
                "sent_frames": network.link_stats(host.name, 0).packets,
                "received_frames": found.frames,
                "received_bytes": found.bytes,
                "mean_delay_s": found.mean_delay_s if found.timed_frames else None,
                "longest_delay_s": found.longest_delay_s if found.timed_frames else None,
            }
        )
    return rows


def by_port(network: VirtualP4) -> list[dict[str, Any]]:
    """Frames that have left each port of a switch, and those that its queues refused."""
    rows = []
    for switch in network.topology.switches:
        for port in network.topology.ports(switch.name):
            stats = network.link_stats(switch.name, port)
            rows.append(
                {
                    "port": f"{switch.name}:{port}",
                    "to": network.topology.peer(switch.name, port).node,
                    "sent_frames": stats.packets,
                    "sent_bytes": stats.bytes,
                    "tail_drops": stats.refused,
                    "tail_drops_by_queue": list(stats.refused_by_class),
                }
            )
    return rows


def whole(network: VirtualP4) -> Mapping[str, Any]:
    """All of it. `digest` is of all events: equal runs have equal ones."""
    totals = network.totals()
    return {
        "simulated_s": totals.now_s,
        "traversals": totals.traversals,
        "dropped_by_programs": totals.dropped,
        "inside": totals.packets,
        "digest": f"{totals.digest:016x}",
        "hosts": by_host(network),
        "ports": by_port(network),
        "entries_read": {name: lines for name, lines in network.lines.items() if lines},
    }
