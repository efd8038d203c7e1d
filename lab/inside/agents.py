"""A host inside an engine as its agent's clients see it: the same commands at the same socket
(`pcn.hosts.agent`), the same statistics (`pcn.hosts.stats`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pcn.hosts.recommended import PAYLOAD_BYTES
from pcn.hosts.stats import MOST_FLOWS, AgentStats, Pauses, ReceivedFlow, SentFlow
from pcn.hosts.virtual import VirtualFlow
from pcn.hosts.virtual.flows import FlowStats
from pcn.lab.inside.driven import CommandError, Driven
from pcn.topologies.lossless import CLASSES

_TOGETHER = 64
_FIELDS = {
    "flow", "dst_ip", "dst_mac", "size_bytes", "duration_s", "rate_bps", "payload_bytes", "dscp",
}  # fmt: skip


def answer(driven: Driven, host: str, request: Mapping[str, Any]) -> Any:
    """Returns the result of a request to a host's agent. Raises LabError, or ValueError."""
    command = request.get("cmd")
    if command == "stats":
        return agent_stats(driven, host).as_json()
    if command == "list":
        return [vars(flow) for flow in _sent(driven, host)]
    if command == "start":
        return _start(driven, host, {key: v for key, v in request.items() if key != "cmd"})
    if command == "stop":
        number = request.get("flow")
        if number not in [flow.spec.id for flow in driven.sent[host]]:
            raise CommandError(f"{host} sends no flow {number}")
        driven.carry_out({"do": "stop", "id": number})
        return None
    raise CommandError(
        f"no command {command!r} for a host inside an engine; choose from start, stop, list, stats"
    )


def _start(driven: Driven, host: str, request: Mapping[str, Any]) -> None:
    if unknown := request.keys() - _FIELDS:
        raise CommandError(f"start: no field {', '.join(sorted(unknown))} inside an engine")
    if request.get("payload_bytes", PAYLOAD_BYTES) != PAYLOAD_BYTES:
        raise CommandError(f"start: packets inside an engine have {PAYLOAD_BYTES} bytes")
    hosts = {peer.ip: peer.name for peer in driven.network.topology.hosts}
    if request.get("dst_ip") not in hosts:
        raise CommandError(f"start: no host has the address {request.get('dst_ip')}")
    command = {
        "do": "flow",
        "id": request.get("flow"),
        "src": host,
        "dst": hosts[request["dst_ip"]],
        **{
            name: request[name]
            for name in ("size_bytes", "rate_bps", "duration_s")
            if request.get(name) is not None
        },
    }
    dscp = request.get("dscp")
    if dscp is not None:
        if not isinstance(dscp, int) or not 0 <= dscp < 64:
            raise CommandError(f"start: a DSCP of {dscp}: 0 to 63 are possible")
        command["traffic_class"] = dscp >> 3  # as switches take it
    driven.carry_out(command)


def agent_stats(driven: Driven, host: str) -> AgentStats:
    """Returns all that an agent would count; what only machines do, as being late, is 0."""
    network = driven.network
    received = tuple(_received(driven, host))  # first: what has arrived has been sent
    sent = tuple(_sent(driven, host))
    with network.lock:
        totals, configured = network.totals(), network.scheme
        ports = network.topology.ports(host)
        return AgentStats(
            name=host,
            scheme=configured.scheme.name,
            parameters=dict(vars(configured.parameters)),
            dilation=1.0,
            line_rate_bps=max(network.topology.link_at(host, port).rate_bps for port in ports),
            now_s=network.now_s,
            sent=sent,
            received=received,
            pauses=tuple(pauses for port in ports for pauses in _pauses(driven, host, port)),
            unknown_cnps=0,
            unusable_cnps=0,
            forgotten_sent=max(0, len(driven.sent[host]) - MOST_FLOWS),
            forgotten_received=max(0, len(driven.received[host]) - MOST_FLOWS),
            control_drops=0,
            other_frames=0,
            bad_frames=0,
            socket_drops=0,
            send_retries=0,
            log_errno=0,
            log_lost=0,
            kept_pace=True,
            worst_pace=1.0,
            lag_real_s=0.0,
            late_real_s=0.0,
            cpu_s=0.0,
            realtime=False,
            elapsed_real_s=totals.now_s,
        )


def _latest(
    driven: Driven, flows: list[VirtualFlow]
) -> Iterator[tuple[VirtualFlow, FlowStats, dict[str, float]]]:
    """Yields the latest flows with their counts and their RPs' variables: some at a time with the
    engine's lock, as a look at thousands would keep it from all others."""
    latest = flows[-MOST_FLOWS:]
    for first in range(0, len(latest), _TOGETHER):
        with driven.network.lock:
            read = [
                (flow, flow.stats(), flow.rp.state()) for flow in latest[first : first + _TOGETHER]
            ]
        yield from read


def _sent(driven: Driven, host: str) -> list[SentFlow]:
    topology, listed = driven.network.topology, []
    for flow, stats, state_of_rp in _latest(driven, driven.sent[host]):
        spec = flow.spec
        error = driven.network.failures.get((spec.id, "RP"))
        if error is not None:
            state = "failed"
        elif spec.id in driven.stopped:
            state = "stopped"
        elif stats.ended_s is not None:
            state = "done"
        else:
            state = "waiting" if stats.start_s is None else "sending"
        listed.append(
            SentFlow(
                flow=spec.id,
                dst_ip=topology.host(spec.dst).ip,
                state=state,
                packets=stats.sent_packets,
                bytes=stats.sent_bytes,
                payload_bytes=stats.sent_payload,
                rate_bps=stats.rate_bps,
                limit_bps=spec.rate_bps,
                rp=state_of_rp,
                cnps=stats.cnps_received,
                start_s=spec.start_s if stats.start_s is None else stats.start_s,
                end_s=stats.ended_s,
                error=None if error is None else f"its RP raised {error}",
                window_bytes=stats.window_bytes if math.isfinite(stats.window_bytes) else None,
                in_flight_bytes=stats.in_flight_bytes,
                repeated_packets=stats.repeated_packets,
                timeouts=stats.timeouts,
                port=flow.port,
            )
        )
    return listed


def _received(driven: Driven, host: str) -> list[ReceivedFlow]:
    topology, listed = driven.network.topology, []
    for flow, stats, _ in _latest(driven, driven.received[host]):
        if stats.first_s is None or stats.last_s is None:
            continue
        error = driven.network.failures.get((flow.spec.id, "NP"))
        listed.append(
            ReceivedFlow(
                flow=flow.spec.id,
                src_ip=topology.host(flow.spec.src).ip,
                packets=stats.received_packets + stats.duplicate_packets,
                bytes=stats.received_bytes,
                payload_bytes=stats.received_payload,
                marked_ce=stats.marked_ce,
                marked_ue=stats.marked_ue,
                gaps=stats.lost_packets,
                duplicates=stats.duplicate_packets,
                reordered=stats.out_of_order,
                cnps=stats.cnps_sent,
                first_s=stats.first_s,
                last_s=stats.last_s,
                complete_s=stats.complete_s,
                error=None if error is None else f"its NP raised {error}",
            )
        )
    return listed


def _pauses(driven: Driven, host: str, port: int) -> list[Pauses]:
    """Returns what came of the far end's PAUSE and RESUME frames; of classes one by one it is known
    of PAUSE alone."""
    network = driven.network
    peer = network.topology.peer(host, port)
    far, near = network.link_stats(peer.node, peer.port), network.link_stats(host, port)
    return [
        Pauses(number, far.pause_by_class[number], far.resume, near.expired, far.paused_s, port)
        for number in range(CLASSES)
        if far.pause_by_class[number]
    ]
