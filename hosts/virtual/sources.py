"""What of switches and flows can be sampled: each method names one value, for
VirtualNetwork.sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from pcn.hosts.virtual import native as rdma
from pcn.hosts.virtual.flows import VirtualFlows
from pcn.softswitch.embed.switch import Array, Register
from pcn.topologies.model import Topology
from pcn.virtualnet import native
from pcn.virtualnet.samples import Source


class _Cells(Protocol):
    """Finds the layout of a program's registers and counters by name."""

    def register(self, name: str) -> Register: ...

    def counter(self, name: str) -> Array: ...


class Sources:
    """The part of a VirtualNetwork that finds the engine's numbers for what Python calls by
    name."""

    topology: Topology
    flows: VirtualFlows
    _groups: dict[str, int]
    switches: Mapping[str, _Cells]
    _nodes: dict[str, int]
    layout: Callable[[str], _Cells]

    def register(self, switch: str, name: str, index: int) -> Source:
        """Returns a cell of a register of the program."""
        number = self._switch(switch).register(name).c_index
        return Source(
            f"{switch} {name}[{index}]", native.REGISTER, self._nodes[switch], number, index
        )

    def counter_packets(self, switch: str, name: str, index: int) -> Source:
        """Returns the packets in a cell of a counter of the program."""
        number = self._switch(switch).counter(name).c_index
        return Source(
            f"{switch} {name}[{index}] packets",
            native.COUNTER_PACKETS,
            self._nodes[switch],
            number,
            index,
        )

    def counter_bytes(self, switch: str, name: str, index: int) -> Source:
        """Returns the bytes in a cell of a counter of the program."""
        number = self._switch(switch).counter(name).c_index
        return Source(
            f"{switch} {name}[{index}] bytes",
            native.COUNTER_BYTES,
            self._nodes[switch],
            number,
            index,
        )

    def flow_rate(self, flow: int) -> Source:
        """Returns what the NIC paces the flow at, bit/s of frames; 0 once it has ended."""
        return Source(f"flow {flow} rate", rdma.FLOW_RATE, self.flows.place(flow))

    def flow_sent(self, flow: int) -> Source:
        """Returns the bytes of the flow's frames that have started to leave."""
        return Source(f"flow {flow} sent", rdma.FLOW_SENT_BYTES, self.flows.place(flow))

    def flow_window(self, flow: int) -> Source:
        """Returns the flow's window, bytes of frames; infinite if it has none."""
        return Source(f"flow {flow} window", rdma.FLOW_WINDOW, self.flows.place(flow))

    def flow_in_flight(self, flow: int) -> Source:
        """Returns the bytes of the flow's frames that have started and aren't acknowledged; 0 where
        no packet requests it."""
        return Source(f"flow {flow} in flight", rdma.FLOW_IN_FLIGHT, self.flows.place(flow))

    def flow_received(self, flow: int) -> Source:
        """Returns the payload of the flow that has arrived."""
        return Source(f"flow {flow} received", rdma.FLOW_RECEIVED_PAYLOAD, self.flows.place(flow))

    def flow_received_packets(self, flow: int) -> Source:
        return Source(f"flow {flow} packets", rdma.FLOW_RECEIVED_PACKETS, self.flows.place(flow))

    def flow_marked_packets(self, flow: int) -> Source:
        """Returns the packets of the flow that have arrived marked CE."""
        return Source(f"flow {flow} marked", rdma.FLOW_MARKED_PACKETS, self.flows.place(flow))

    def flow_marked_ue_packets(self, flow: int) -> Source:
        """Returns the packets of the flow that have arrived marked UE."""
        return Source(f"flow {flow} marked UE", rdma.FLOW_MARKED_UE_PACKETS, self.flows.place(flow))

    def of_group(self, source: Source, group: str) -> Source:
        """Returns the sum of a source over all flows of a group: of bytes sent, or of what is
        received."""
        return source._replace(
            name=f"{source.name} of {group}",
            object=self._groups[group],
            number=rdma.OF_GROUP,
        )

    def _switch(self, name: str) -> _Cells:
        self.topology.switch(name)
        return self.layout(name)
