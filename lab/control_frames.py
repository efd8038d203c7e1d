"""Whether every PAUSE, RESUME and CNP came to where it was sent: a network that loses one behaves
as if it had none.

for one in lost(lab):
    print(one)                   # 1 of 37 RESUMEs on s1->s0 was lost

Who sends counts, and who receives counts: switches by their programs' counters, agents by their
own. Frames may be on the way, so missing frames are counted again until they have come, or for a
second and the time of the longest path. Where a link is busy, frames that came meanwhile make up
for some that didn't: the numbers are lower bounds until it is quiet. Frames of `pcn.lab.pause` have
no sender among the nodes, and count only at the receiver.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pcn.base.errors import LabError
from pcn.controller.constants import ROCE_CLASS, index
from pcn.lab.running import Running

if TYPE_CHECKING:
    from pcn.hosts.stats import AgentStats

_SETTLE_S, _POLL_S = 1.0, 0.02  # real
_PFC = ("pause", "resume")


@dataclass(frozen=True)
class ControlLoss:
    """Frames of a kind ("PAUSE", "RESUME", "CNP") that were sent and didn't come: on a direction of
    a link ("s1->s0"), or of a flow."""

    kind: str
    where: str
    sent: int
    lost: int

    def __str__(self) -> str:
        return (
            f"{self.lost} of {self.sent} {self.kind}s {self.where} "
            f"{'was' if self.lost == 1 else 'were'} lost"
        )


_Key = tuple[str, str]


def lost(lab: Running) -> list[ControlLoss]:
    """Returns what was sent by now and hasn't come. Nothing is known of a switch or host that
    doesn't answer."""
    sent = _sent(lab)
    end = time.monotonic() + _SETTLE_S + lab.topology.max_rtt_s() * lab.record.dilation
    while True:
        came = _received(lab)
        missing = {
            key: number - came[key]
            for key, number in sent.items()
            if key in came and number > came[key]
        }
        if not missing or time.monotonic() > end:
            return [
                ControlLoss(kind, where, sent[kind, where], number)
                for (kind, where), number in missing.items()
            ]
        # what is under way arrives; counters report no change by themselves
        time.sleep(_POLL_S)


def _sent(lab: Running) -> dict[_Key, int]:
    counter: Counter[_Key] = Counter()
    for node, by_port in _switches(lab, "sent").items():
        for port, counts in by_port.items():
            for kind, number in counts.items():
                counter[kind.upper(), f"on {lab.topology.link_name(node, port)}"] += number
    for host, stats in _agents(lab).items():
        for flow in stats.received:
            counter["CNP", _of_flow(flow.flow, host)] += flow.cnps
    return dict(counter)


def _received(lab: Running) -> dict[_Key, int]:
    """Returns the control frames that arrived, by kind and place: of every link and flow whose
    receiver answers."""
    received: dict[_Key, int] = {}
    for node, by_port in _switches(lab, "received").items():
        for port, counts in by_port.items():
            peer = lab.topology.peer(node, port)
            for kind, number in counts.items():
                received[kind.upper(), f"on {lab.topology.link_name(peer.node, peer.port)}"] = (
                    number
                )
    names = {host.ip: host.name for host in lab.topology.hosts}
    for host, stats in _agents(lab).items():
        for port in lab.topology.ports(host):
            peer = lab.topology.peer(host, port)
            pauses = [
                pause
                for pause in stats.pauses
                if pause.priority == ROCE_CLASS and pause.port == port
            ]
            for kind in _PFC:
                link = f"on {lab.topology.link_name(peer.node, peer.port)}"
                received[kind.upper(), link] = sum(getattr(pause, kind) for pause in pauses)
        for flow in stats.sent:
            received["CNP", _of_flow(flow.flow, names.get(flow.dst_ip, flow.dst_ip))] = flow.cnps
    return received


def _of_flow(number: int, receiver: str) -> str:
    return f"of flow {number} from {receiver}"


def _switches(lab: Running, direction: str) -> dict[str, dict[int, dict[str, int]]]:
    """Returns PFC frames that switches have `sent` or `received`, by switch, port and kind; of
    those that answer."""
    by_switch: dict[str, dict[int, dict[str, int]]] = {}
    for switch in lab.topology.switches:
        cells = {port: index(port) for port in lab.topology.ports(switch.name)}
        try:
            client = lab.switches[switch.name]
            read = {
                kind: client.read_counters(f"{kind}_{direction}", list(cells.values()))
                for kind in _PFC
                if f"{kind}_{direction}" in client.counters()
            }
        except LabError:
            continue
        by_switch[switch.name] = {
            port: {kind: counts[cell].packets for kind, counts in read.items()}
            for port, cell in cells.items()
        }
    return by_switch


def _agents(lab: Running) -> Mapping[str, AgentStats]:
    from pcn.hosts.client import AgentError

    agent_stats = {}
    for name in lab.agents:
        try:
            agent_stats[name] = lab.agents[name].stats()
        except (LabError, AgentError):
            continue
    return agent_stats
