"""Flows of a network that is up: started, stopped, and seen from the sending and the receiving host
at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pcn.base.errors import LabError
from pcn.controller.errors import UnknownNameError
from pcn.hosts.lossy_classes import without_signal
from pcn.hosts.wire import data_dscp
from pcn.topologies.lossless import DATA_CLASS
from pcn.topologies.model import Topology

if TYPE_CHECKING:
    from pcn.hosts.algorithms import Scheme
    from pcn.hosts.client import AgentClient
    from pcn.hosts.stats import AgentStats, ReceivedFlow, SentFlow

MAX_FLOW = 2**24 - 1  # it travels in the BTH's destination QP


class FlowError(LabError):
    """A flow can't be started."""


def sender_name(src: str, src_port: int | None) -> str:
    """Returns the sending host, and of several NICs the one: "h0", "h0:1"."""
    return src if src_port is None else f"{src}:{src_port}"


@dataclass(frozen=True)
class Flow:
    """A flow as both ends see it. Nominal units; goodput is of payload, at the receiver, from first
    to last arrival.

    `missing`: of a flow that has ended, all packets that were sent and haven't come; of one that
    sends, those that are missing between others that came. `cnps` came to the sender, of
    `cnps_sent`. `error`: what its RP raised, which ends it, or its NP, which then sends no CNPs;
    else None. `window_bytes`, `in_flight_bytes`: as in `stats.SentFlow`. `src_port`: of a sender
    with several NICs the one by which it leaves, else None.
    """

    id: int
    src: str
    dst: str
    state: str
    rate_bps: float
    sent_packets: int
    sent_bytes: int
    cnps: int
    cnps_sent: int
    received_packets: int
    received_bytes: int
    received_payload_bytes: int
    marked: int
    marked_ue: int
    missing: int
    goodput_bps: float | None
    fct_s: float | None
    error: str | None
    window_bytes: float | None = None
    in_flight_bytes: int = 0
    src_port: int | None = None

    @property
    def sender(self) -> str:
        """As `sender_name`."""
        return sender_name(self.src, self.src_port)

    @property
    def marked_fraction(self) -> float | None:
        return self.marked / self.received_packets if self.received_packets else None

    @property
    def marked_ue_fraction(self) -> float | None:
        return self.marked_ue / self.received_packets if self.received_packets else None


def start(
    topology: Topology,
    agents: Mapping[str, AgentClient],
    src: str,
    dst: str,
    *,
    count: int = 1,
    size_bytes: int | None = None,
    rate_bps: float | None = None,
    duration_s: float | None = None,
    at: float | None = None,
    traffic_class: int = DATA_CLASS,
    scheme: Scheme | None = None,
) -> list[int]:
    """Starts `count` flows with the next free numbers; these. `scheme`: the network's. Raises
    UnknownNameError, FlowError or AgentError."""
    names = [host.name for host in topology.hosts]
    for name in (src, dst):
        if name not in names:
            raise UnknownNameError("host", name, names)
    if src not in list(agents):
        raise FlowError(
            f"{src} has no agent, its kernel sends: `pcn p4 exec {src} iperf ...`, or iperf in "
            "Mininet's prompt"
        )
    if src == dst:
        raise FlowError(f"a flow from {src} to itself: name two hosts")
    line_bps = max(topology.link_at(src, port).rate_bps for port in topology.ports(src))
    if rate_bps is not None and rate_bps > line_bps:
        raise FlowError(
            f"a rate of {rate_bps / 1e9:g} Gbit/s: the link of {src} has {line_bps / 1e9:g} Gbit/s"
        )
    if scheme is not None and (why := without_signal(topology, scheme, traffic_class)):
        raise FlowError(why)
    used = [flow.flow for sent in _sent(agents).values() for flow in sent]
    first = max(used, default=0) + 1
    if first + count - 1 > MAX_FLOW:
        raise FlowError(f"flow numbers end at {MAX_FLOW}")
    to = topology.host(dst)
    numbers = list(range(first, first + count))
    for number in numbers:
        agents[src].start(
            number, to.ip, to.mac, size_bytes=size_bytes, rate_bps=rate_bps, duration_s=duration_s,
            dscp=data_dscp(traffic_class), at=at,
        )  # fmt: skip
    return numbers


def stop(agents: Mapping[str, AgentClient], numbers: Iterable[int] | None = None) -> list[int]:
    """Stops flows by number, or all; returns those that were sending. Raises UnknownNameError."""
    sent = {
        flow.flow: (agents[name], flow.state)
        for name, host_flows in _sent(agents).items()
        for flow in host_flows
    }
    wanted = list(sent) if numbers is None else list(numbers)
    for number in wanted:
        if number not in sent:
            raise UnknownNameError("flow", str(number), [str(flow) for flow in sorted(sent)])
    stopped = []
    for number in wanted:
        agent, state = sent[number]
        if state in ("waiting", "sending"):
            agent.stop(number)
            stopped.append(number)
    return stopped


def _sent(agents: Mapping[str, AgentClient]) -> dict[str, tuple[SentFlow, ...]]:
    """Returns each agent's own flows, requested of all before the first answers."""
    for agent in agents.values():
        agent.ahead("list")
    return {name: agent.flows() for name, agent in agents.items()}


def ask(agents: Mapping[str, AgentClient]) -> dict[str, AgentStats]:
    """Reads every agent's counts; the sent ones last, so that each arrived packet is among the sent
    ones. Raises AgentError."""
    stats = at_once(agents)
    senders = {name: agents[name] for name, stat in stats.items() if stat.sent}
    for agent in senders.values():
        agent.ahead("list")
    return {
        **stats,
        **{name: replace(stats[name], sent=agent.flows()) for name, agent in senders.items()},
    }


def at_once(agents: Mapping[str, AgentClient]) -> dict[str, AgentStats]:
    """Reads every agent's counts, once: packets may be among the arrived ones alone. Raises
    AgentError."""
    for agent in agents.values():
        agent.ahead("stats")
    return {name: agent.stats() for name, agent in agents.items()}


def flows(topology: Topology, stats: Mapping[str, AgentStats]) -> list[Flow]:
    """Returns every flow that a host sent or sends, by number. `stats`: of `ask`, or of `at_once`
    where no packet that arrived is compared with those that were sent."""
    by_ip = {host.ip: host.name for host in topology.hosts}
    received = {(flow.flow, flow.src_ip): flow for host in stats.values() for flow in host.received}
    listed = [
        _flow(
            flow,
            src,
            by_ip.get(flow.dst_ip, flow.dst_ip),
            received.get((flow.flow, topology.host(src).ip)),
            len(topology.ports(src)) > 1,
        )
        for src, host in stats.items()
        for flow in host.sent
    ]
    return sorted(listed, key=lambda flow: flow.id)


def remarks(stats: Mapping[str, AgentStats]) -> list[str]:
    """Returns what beside its flows concerns a host: what failed, was dropped, or forgotten."""
    return [line for stat in stats.values() for line in (*stat.failed(), *stat.refused())]


def _flow(sent: SentFlow, src: str, dst: str, got: ReceivedFlow | None, several: bool) -> Flow:
    lasted = got.last_s - got.first_s if got else 0.0
    unlike = got.packets - got.duplicates if got else 0
    ended = sent.state not in ("waiting", "sending")
    return Flow(
        id=sent.flow,
        src=src,
        dst=dst,
        state=sent.state,
        rate_bps=min(sent.rate_bps, sent.limit_bps or sent.rate_bps),
        sent_packets=sent.packets,
        sent_bytes=sent.bytes,
        cnps=sent.cnps,
        cnps_sent=got.cnps if got else 0,
        received_packets=got.packets if got else 0,
        received_bytes=got.bytes if got else 0,
        received_payload_bytes=got.payload_bytes if got else 0,
        marked=got.marked_ce if got else 0,
        marked_ue=got.marked_ue if got else 0,
        missing=sent.packets - unlike if ended else got.gaps if got else 0,
        goodput_bps=got.payload_bytes * 8 / lasted if got and lasted > 0 else None,
        window_bytes=sent.window_bytes,
        in_flight_bytes=sent.in_flight_bytes,
        src_port=sent.port if several else None,
        fct_s=got.complete_s - sent.start_s if got and got.complete_s is not None else None,
        error=sent.error or (got.error if got else None),
    )
