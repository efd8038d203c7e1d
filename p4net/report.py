"""What a run in virtual time came to: by host, and by port of a switch. Values for tables and
JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pcn.p4net.virtual import VirtualP4
from pcn.virtualnet.native import CLASSES


class Queues:
    """Samples of the queues of all ports of switches, every `every_s` from now on until
    `until_s`: not while the network empties, which may take longer than the run."""

    def __init__(self, network: VirtualP4, every_s: float, until_s: float) -> None:
        self._ports = [
            (switch.name, port)
            for switch in network.topology.switches
            for port in network.topology.ports(switch.name)
        ]
        sources = [
            network.queue_packets(*port, queue) for port in self._ports for queue in range(CLASSES)
        ]
        self._samples = network.sample(every_s, sources, until_s=until_s)

    def by_port(self) -> dict[tuple[str, int], dict[str, float]]:
        """Returns the mean and most packets that waited, of all queues of a port together."""
        values = self._samples.values
        packets = values.reshape(len(values), len(self._ports), CLASSES).sum(axis=2)
        means, most = (
            (packets.mean(axis=0), packets.max(axis=0))
            if len(packets)
            else (packets.sum(axis=0),) * 2
        )
        return {
            port: {"queue_mean_packets": float(means[i]), "queue_most_packets": int(most[i])}
            for i, port in enumerate(self._ports)
        }


def by_host(network: VirtualP4) -> list[dict[str, Any]]:
    """Returns the frames that were sent and have arrived, those of IPv4 that are marked CE, and
    delays in seconds: means over all that hosts sent."""
    rows = []
    for host in network.topology.hosts:
        arrivals = network.arrivals(host.name)
        rows.append(
            {
                "host": host.name,
                "sent_frames": sum(
                    network.link_stats(host.name, port).packets
                    for port in network.topology.ports(host.name)
                ),
                "received_frames": arrivals.frames,
                "received_bytes": arrivals.bytes,
                "marked_ce_frames": arrivals.marked_ce_frames,
                "mean_delay_s": arrivals.mean_delay_s if arrivals.timed_frames else None,
                "longest_delay_s": arrivals.longest_delay_s if arrivals.timed_frames else None,
            }
        )
    return rows


def by_port(network: VirtualP4, queues: Queues | None = None) -> list[dict[str, Any]]:
    """Returns the frames that have left each port of a switch, those that its queues refused, and
    what waited in them where that was sampled."""
    rows, sampled = [], queues.by_port() if queues is not None else {}
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
                    **sampled.get((switch.name, port), {}),
                }
            )
    return rows


def whole(network: VirtualP4, queues: Queues | None = None) -> Mapping[str, Any]:
    """Returns all of it. `digest` is of all events: equal runs have equal ones."""
    totals = network.totals()
    return {
        "simulated_s": totals.now_s,
        "traversals": totals.traversals,
        "dropped_by_programs": totals.dropped - totals.unlinked - totals.ungrouped,
        "for_ports_without_link": totals.unlinked,
        "for_unknown_groups": totals.ungrouped,
        "inside": totals.packets,
        "digest": f"{totals.digest:016x}",
        "hosts": by_host(network),
        "ports": by_port(network, queues),
        "tcp": [connection.summary() for connection in network.connections],
        "pings": [ping.summary() for ping in network.pings],
        "arp_unanswered": [
            {"host": host, "address": address} for host, address in network.arp.unanswered()
        ],
        "entries_read": {
            name: outcome.lines for name, outcome in network.written.items() if outcome.lines
        },
        "commands": sum(outcome.commands for outcome in network.written.values()),
        "commands_failed": sum(len(outcome.complaints) for outcome in network.written.values()),
        "complaints": {
            name: outcome.complaints
            for name, outcome in network.written.items()
            if outcome.complaints
        },
    }
