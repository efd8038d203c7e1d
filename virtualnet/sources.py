"""What of a network can be sampled: each method names one value, for VirtualNetwork.sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from softswitch.p4runtime.schema import Array, Register
from topologies.model import Endpoint, Topology
from virtualnet import native
from virtualnet.flows import VirtualFlow
from virtualnet.samples import Source

ROCE_CLASS = 3


class _Cells(Protocol):
    """Finds the layout of a program's registers and counters by name."""

    def register(self, name: str) -> Register: ...

    def counter(self, name: str) -> Array: ...


class Sources:
    """The part of a VirtualNetwork that finds the engine's numbers for what Python calls by name."""

    topology: Topology
    flows: dict[int, VirtualFlow]
    switches: Mapping[str, _Cells]
    _nodes: dict[str, int]
    _links: dict[Endpoint, int]

    def register(self, switch: str, name: str, index: int) -> Source:
        """A cell of a register of the program."""
        number = self._switch(switch).register(name).index
        return Source(f"{switch} {name}[{index}]", native.REGISTER, self._nodes[switch], number, index)

    def counter_packets(self, switch: str, name: str, index: int) -> Source:
        """Packets in a cell of a counter of the program."""
        number = self._switch(switch).counter(name).index
        return Source(f"{switch} {name}[{index}] packets", native.COUNTER_PACKETS, self._nodes[switch], number, index)

    def counter_bytes(self, switch: str, name: str, index: int) -> Source:
        """Bytes in a cell of a counter of the program."""
        number = self._switch(switch).counter(name).index
        return Source(f"{switch} {name}[{index}] bytes", native.COUNTER_BYTES, self._nodes[switch], number, index)

    def queue_bytes(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """What waits to leave by a switch's port."""
        return self._of_link("queue bytes", native.QUEUE_BYTES, node, port, traffic_class)

    def queue_packets(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """What waits to leave by a switch's port."""
        return self._of_link("queue packets", native.QUEUE_PACKETS, node, port, traffic_class)

    def output_bytes(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """What is in a port's output buffer, or on its way there through the fabric."""
        return self._of_link("output bytes", native.OUTPUT_BYTES, node, port, traffic_class)

    def held_bytes(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """What came in by a switch's port and is inside: what XOFF is compared with."""
        peer = self.topology.peer(node, port)
        return self._of_link("held bytes", native.HELD_BYTES, peer.node, peer.port, traffic_class)

    def xoff_sent(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """1 while what `node` sends out of `port` says stop."""
        return self._of_link("xoff", native.XOFF_SENT, node, port, traffic_class)

    def pause_sent(self, node: str, port: int) -> Source:
        """PAUSE frames sent out of a port."""
        return self._of_link("pause", native.PAUSE_SENT, node, port, 0)

    def resume_sent(self, node: str, port: int) -> Source:
        """RESUME frames sent out of a port."""
        return self._of_link("resume", native.RESUME_SENT, node, port, 0)

    def link_bytes(self, node: str, port: int) -> Source:
        """Bytes of all frames that have started to leave by a port."""
        return self._of_link("bytes", native.LINK_BYTES, node, port, 0)

    def flow_rate(self, flow: int) -> Source:
        """What the NIC paces the flow at, bit/s of frames; 0 once it has ended."""
        return Source(f"flow {flow} rate", native.FLOW_RATE, self.flows[flow].index)

    def flow_sent(self, flow: int) -> Source:
        """Bytes of the flow's frames that have started to leave."""
        return Source(f"flow {flow} sent", native.FLOW_SENT_BYTES, self.flows[flow].index)

    def flow_received(self, flow: int) -> Source:
        """Payload of the flow that has arrived."""
        return Source(f"flow {flow} received", native.FLOW_RECEIVED_PAYLOAD, self.flows[flow].index)

    def flow_received_packets(self, flow: int) -> Source:
        return Source(f"flow {flow} packets", native.FLOW_RECEIVED_PACKETS, self.flows[flow].index)

    def flow_marked_packets(self, flow: int) -> Source:
        """Packets of the flow that have arrived marked CE."""
        return Source(f"flow {flow} marked", native.FLOW_MARKED_PACKETS, self.flows[flow].index)

    def flow_marked_ue_packets(self, flow: int) -> Source:
        """Likewise marked UE."""
        return Source(f"flow {flow} marked UE", native.FLOW_MARKED_UE_PACKETS, self.flows[flow].index)

    def _switch(self, name: str) -> _Cells:
        self.topology.switch(name)
        return self.switches[name]

    def _of_link(self, what: str, source: int, node: str, port: int, traffic_class: int) -> Source:
        self.topology.link_at(node, port)
        return Source(f"{node}:{port} {what}", source, self._links[Endpoint(node, port)], 0, traffic_class)
