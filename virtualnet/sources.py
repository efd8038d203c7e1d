"""What of links can be sampled: each method names one value, for TimedNetwork.sample."""

from __future__ import annotations

from pcn.topologies.model import Endpoint
from pcn.virtualnet import native
from pcn.virtualnet.network_part import NetworkPart
from pcn.virtualnet.samples import Source

ROCE_CLASS = 3


class LinkSources(NetworkPart):
    """The part of a TimedNetwork that finds the engine's numbers for what Python calls by name."""

    def queue_bytes(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """Returns what waits to leave by a switch's port."""
        return self._of_link("queue bytes", native.QUEUE_BYTES, node, port, traffic_class)

    def queue_packets(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """Returns what waits to leave by a switch's port."""
        return self._of_link("queue packets", native.QUEUE_PACKETS, node, port, traffic_class)

    def output_bytes(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """Returns what is in a port's output buffer, or on its way there through the fabric."""
        return self._of_link("output bytes", native.OUTPUT_BYTES, node, port, traffic_class)

    def held_bytes(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """Returns what came in by a switch's port and is inside: what XOFF is compared with."""
        peer = self.topology.peer(node, port)
        return self._of_link("held bytes", native.HELD_BYTES, peer.node, peer.port, traffic_class)

    def xoff_sent(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """Returns 1 while the flow control that `node` sends out of `port` stops its neighbour."""
        return self._of_link("xoff", native.XOFF_SENT, node, port, traffic_class)

    def pause_sent(self, node: str, port: int) -> Source:
        """Returns PAUSE frames sent out of a port."""
        return self._of_link("pause", native.PAUSE_SENT, node, port, 0)

    def resume_sent(self, node: str, port: int) -> Source:
        """Returns RESUME frames sent out of a port."""
        return self._of_link("resume", native.RESUME_SENT, node, port, 0)

    def link_bytes(self, node: str, port: int) -> Source:
        """Returns the bytes of all frames that have started to leave by a port."""
        return self._of_link("bytes", native.LINK_BYTES, node, port, 0)

    def pool_used(self, switch: str) -> Source:
        """Returns what of the pool of a switch's shared buffer is used."""
        self.topology.switch(switch)
        return Source(f"{switch} pool", native.POOL_USED, self._nodes[switch])

    def threshold(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """Returns how much of the pool of its switch's shared buffer the class of a port may use
        now."""
        peer = self.topology.peer(node, port)
        return self._of_link("threshold", native.THRESHOLD, peer.node, peer.port, traffic_class)

    def headroom_bytes(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """Returns what came in by a switch's port and is in its headroom."""
        peer = self.topology.peer(node, port)
        return self._of_link("headroom", native.HEADROOM_BYTES, peer.node, peer.port, traffic_class)

    def _of_link(
        self, metric: str, source: int, node: str, port: int, traffic_class: int
    ) -> Source:
        self.topology.link_at(node, port)
        return Source(
            f"{node}:{port} {metric}", source, self._links[Endpoint(node, port)], 0, traffic_class
        )
