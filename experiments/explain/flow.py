"""Why a flow was slow: its parts, its last packet's hops, the port that it shared, marks, roots of
PAUSEs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from pcn.experiments.data import marks
from pcn.experiments.data.pauses import Pauses, Root
from pcn.experiments.data.recording import flow_entity
from pcn.experiments.explain.again import Again
from pcn.experiments.explain.explanation import (
    CONTRIBUTOR,
    CULPRIT,
    VICTIM,
    Bottleneck,
    Explanation,
    Hop,
    Origin,
)
from pcn.experiments.explain.flow_log import FlowLog, waits
from pcn.experiments.explain.lines import CONTROL, Line, Lines
from pcn.experiments.explain.over_time import over_time
from pcn.experiments.explain.received_rate import received_rate
from pcn.hosts.explain_log import MARK_REASONS, PARTS, SENDER_PARTS
from pcn.topologies.model import FlowSpec

CE = 3
_SLOW = 1.1
"""Times the least time, from which on a flow was slow."""
_ABOVE, _BELOW = 1.1, 0.9
"""Times its fair share: more than that is above it, less is below it."""
_IDLE = 0.5
"""Share of its life in which the busiest port of a flow's path sent nothing, above which nothing
there held it."""
_NOTED_IDLE = 0.1
"""Above this share, WHY states it: the flow's scheme left that unused."""
_PORTS, _LEAST_WAIT = 3, 0.05
"""Ports that a reason names, and the least share of the waits that one has."""
_ANY_POINTS = ("before", "here")
"""Reasons for a mark, whatever the marking point."""


def needed_lines(
    again: Again, pauses: Pauses, flows: list[int], span_ps: tuple[int, int] | None
) -> tuple[set[int], list[int]]:
    """Returns the ports of which an explanation of these flows needs the lines, of their paths and
    roots; and times, ps, from the first to the last of which: a PAUSE that is behind one of theirs
    may be older than they are, and what waited then leave after them."""
    ports: set[int] = set()
    times: list[int] = []
    for number in flows:
        log = FlowLog(again, number)
        if not log.sent.size:
            continue
        ports |= log.ports()
        times += log.hops["start_ps"].tolist() or log.sent["time_ps"].tolist()
        blame, _, by_pause, _ = _blame(pauses, log, span_ps)
        chains = _chains(pauses, by_pause, log.spec.traffic_class)
        for root in blame:
            ports.add(root.port)
            key = root.port, log.spec.traffic_class
            for at, work_ps in chains.get(root.port, {}).items():
                times += [at, pauses.gone_ps(key, at, work_ps)]
    return ports, times


def explain_flow(
    again: Again, lines: Lines, pauses: Pauses, number: int, span_ps: tuple[int, int] | None = None
) -> Explanation:
    """Returns why a flow took its time; with `span_ps` where the sender's time within it went."""
    log = FlowLog(again, number)
    start, end, parts, sent_bytes = log.times(span_ps)
    first, last = log.span(span_ps)
    whole = span_ps is None and log.complete
    names = [str(port) for port in again.logs.ports]
    least = _least_ps(again, log.spec) if whole else 0
    blame, through, by_pause, pause_ps = _blame(pauses, log, span_ps)
    origins = _origins(again, lines, pauses, log, blame, by_pause, names)
    used = log.hops[(log.hops["start_ps"] >= start) & (log.hops["start_ps"] <= end)]
    new = used[(used["ecn_after"] == CE) & (used["ecn_before"] != CE)]
    marked = {names[int(link)]: int((new["link"] == link).sum()) for link in np.unique(new["link"])}
    decisions = marks.decisions(marks.of_hops(again.plan.topology, again.logs, used), again.np_ecn)
    tree = [
        {
            "depth": depth,
            "port": names[port],
            "pauses": n,
            "shares": {names[item]: share for item, share in shares.items()},
        }
        for depth, port, n, shares in pauses.tree(by_pause)
    ]
    result = Explanation(
        id=number, src=log.spec.src, dst=log.spec.dst, group=log.spec.group,
        traffic_class=log.spec.traffic_class,
        size_bytes=None if log.spec.size_bytes is None else round(log.spec.size_bytes),
        complete=whole,
        from_ps=start - again.zero_ps, time_ps=end - start, least_ps=least, sent_bytes=sent_bytes,
        parts_ps=parts, limit_ps=_limit_ps(log, parts), window_ps=log.window(span_ps),
        hops=[_hop(again, lines, hop, names) for hop in log.of_packet(last)] if whole else [],
        bottleneck=_bottleneck(lines, pauses, log, first, last, names) if parts["rate"] + parts[(
            "window"
        )] else None,
        marked=marked, decisions=decisions if again.marks else {},
        packets=len(np.unique(used["serial"])),
        rate_set_by=_rate_set_by(again, log, first, last, names),
        received_rate=received_rate(again, pauses, log, (start, end), names),
        pause_ps=pause_ps, blame_ps=_by_name(blame, names),
        through={names[port]: ps / pause_ps for port, ps in through.items()},
        origins=origins, tree=tree,
        path=[names[log.nic], *(names[int(hop["link"])] for hop in log.of_packet(last))],
        over_time=over_time(log, pauses, (start, end), names),
    )  # fmt: skip
    result = _with_reason(replace(result, ends=_ends(again, result)))
    named = _named(again, result)
    names_of = {flow.id: f"{flow.src} > {flow.dst}" for flow in named}
    return replace(result, names=names_of, groups={flow.id: flow.group for flow in named})


def _least_ps(again: Again, spec: FlowSpec) -> int:
    """Returns the completion time in the empty network; 0 for a flow without a size."""
    if spec.size_bytes is None:
        return 0
    path = again.empty_paths.between(spec.src, spec.dst)
    return round(path.fct_s(round(spec.size_bytes), again.plan.payload_bytes) * 1e12)


def _limit_ps(log: FlowLog, parts_ps: dict[str, int]) -> int:
    """Returns how long the flow's own limiter holds its frames beyond their time on the line; no
    more than its rate held them at all, as a limiter runs on while a PAUSE does."""
    limit_bps = log.spec.rate_bps
    if limit_bps is None or limit_bps >= log.line_bps:
        return 0
    return min(round(parts_ps["own"] * (log.line_bps / limit_bps - 1)), parts_ps["rate"])


def _blame(
    pauses: Pauses, log: FlowLog, span_ps: tuple[int, int] | None
) -> tuple[dict[Root, float], dict[int, float], dict[int, float], int]:
    """Returns the time by PAUSE by root; by port where it passed, ps; by PAUSE; and all of it."""
    by_root: dict[Root, float] = defaultdict(float)
    through: dict[int, float] = defaultdict(float)
    by_pause: dict[int, float] = defaultdict(float)
    total = 0
    for port, span, amount in log.blamed(span_ps):
        followed, numbers = pauses.blame((port, log.spec.traffic_class), [span])
        result = sum(followed.roots.values())
        total += amount
        through[port] += amount
        if not result:
            by_root[Root(port, "unknown")] += amount
            continue
        for root, weight in followed.roots.items():
            by_root[root] += amount * weight / result
        for place, weight in followed.through.items():
            through[place] += amount * weight / result
        for number, ps in numbers.items():
            by_pause[number] += ps
    ordered = dict(sorted(by_root.items(), key=lambda item: -item[1]))
    return ordered, dict(through), dict(by_pause), total


def _by_name(blame: dict[Root, float], names: list[str]) -> dict[str, float]:
    return {f"{root.kind} {names[root.port]}".strip(): ps for root, ps in blame.items()}


def _origins(
    again: Again, lines: Lines, pauses: Pauses, log: FlowLog, blame: dict[Root, float],
    by_pause: dict[int, float],
    names: list[str],
) -> list[Origin]:  # fmt: skip
    total, crossed = sum(blame.values()), log.ports()
    chains = _chains(pauses, by_pause, log.spec.traffic_class)
    result = []
    for root, ps in blame.items():
        filled: dict[int, float] = defaultdict(float)
        for at, work in chains.get(root.port, {}).items():
            for flow, size in lines.at(root.port).work_of(at, work).items():
                filled[flow] += size
        everything = sum(filled.values())
        shares = {
            flow: size / everything
            for flow, size in sorted(filled.items(), key=lambda item: -item[1])
        }
        share, inside = shares.get(log.spec.id, 0.0), root.port in crossed
        fair = 1 / max(len(shares), 1)
        role = (
            ""
            if root.kind
            else VICTIM
            if not inside
            else CULPRIT
            if share > _ABOVE * fair
            else CONTRIBUTOR
        )
        result.append(
            Origin(names[root.port], root.kind, ps / total, inside, share, fair, shares, role)
        )
    return result


def _chains(
    pauses: Pauses, by_pause: dict[int, float], traffic_class: int
) -> dict[int, dict[int, int]]:
    """Returns the PAUSEs behind these at each port: what work waited there then, ps, by time."""
    result: dict[int, dict[int, int]] = defaultdict(dict)
    pending, seen = list(by_pause), set(by_pause)
    while pending:
        pause = pauses.all[pending.pop()]
        for waiting in pause.waiting:
            result[waiting.port][pause.from_ps] = waiting.work_ps
            key = waiting.port, traffic_class
            for start, _ in pauses.closed(key, waiting.busy_ps, pause.to_ps):
                behind = pauses.behind(key, start)
                if behind is not None and behind.number not in seen:
                    seen.add(behind.number)
                    pending.append(behind.number)
    return result


def _hop(again: Again, lines: Lines, hop: Any, names: list[str]) -> Hop:
    since, start = int(hop["since_ps"]), int(hop["start_ps"])
    by_flow = lines.at(int(hop["link"])).by_flow(since, start)
    mark = MARK_REASONS[int(hop["reason"])]
    mark = mark if again.np_ecn or (again.marks and mark in _ANY_POINTS) else ""
    idle = start - since - sum(by_flow.values())
    _, behind, without = waits(hop)
    ordered = dict(sorted(by_flow.items(), key=lambda item: -item[1]))
    return Hop(
        names[int(hop["link"])],
        start - since,
        int(hop["queue_bytes"]),
        int(hop["idle_ps"]),
        behind - without,
        idle,
        ordered,
        mark,
    )


def _bottleneck(
    lines: Lines, pauses: Pauses, log: FlowLog, first: int, last: int, names: list[str]
) -> Bottleneck | None:
    begin, left = int(log.sent["time_ps"][first]), int(log.sent["time_ps"][last])
    if first == 0:
        begin -= int(log.sent["parts_ps"][0].sum())
    if left <= begin:
        return None
    shifts = {
        log.nic: 0,
        **{int(hop["link"]): int(hop["since_ps"]) - left for hop in log.of_packet(last)},
    }
    result: tuple[int, int, int, dict[int, int], Line] | None = None
    for port, shift in shifts.items():
        line = lines.at(port)
        by_flow = line.by_flow(begin + shift, left + shift)
        idle = left - begin - sum(by_flow.values())
        if line.starts.size and (result is None or idle < result[1]):
            result = port, idle, shift, by_flow, line
    if result is None:
        return None
    port, idle, shift, by_flow, line = result
    span = left - begin
    fair = line.fair(begin + shift, left + shift)
    frames_ps = by_flow.pop(log.spec.id, 0)
    above = {
        flow: (ps / span, fair.get(flow, 0.0) / span)
        for flow, ps in by_flow.items()
        if flow != CONTROL and ps > _ABOVE * fair.get(flow, 0.0)
    }
    shares = {flow: ps / span for flow, ps in sorted(by_flow.items(), key=lambda item: -item[1])}
    stopped = sum(
        ps for _, ps in pauses.closed((port, log.spec.traffic_class), begin + shift, left + shift)
    )
    return Bottleneck(
        names[port], idle / span, min(stopped, idle) / span,
        frames_ps / span, fair.get(log.spec.id, 0.0) / span, shares,
        dict(sorted(above.items(), key=lambda item: item[1][1] - item[1][0])),
    )  # fmt: skip


def _rate_set_by(
    again: Again, log: FlowLog, first: int, last: int, names: list[str]
) -> dict[str, float]:
    """Returns shares by the latest window of the NP before it whose notification had a mark, and
    the marks in it."""
    rate = log.sent["parts_ps"][first : last + 1, SENDER_PARTS.index("rate")].astype(np.int64)
    times = log.sent["time_ps"][first : last + 1].astype(np.int64)
    ends, marks = again.series.get(flow_entity(log.spec.id), "window_marked")
    new = log.hops[(log.hops["ecn_after"] == CE) & (log.hops["ecn_before"] != CE)]
    if rate.size < 2 or rate[-1] == rate[0] or not ends.size or not new.size:
        return {}
    ends_ps = np.rint((ends - again.plan.start_s) * 1e12).astype(np.int64)
    back = int(log.parts_ps[PARTS.index("wire")])  # about as long as data take for the way
    came = new["start_ps"].astype(np.int64) + back // 2
    order = np.argsort(came)
    came, ports = came[order], new["link"][order]
    windows = []
    for place, end in enumerate(ends_ps.tolist()):
        begin = int(ends_ps[place - 1]) if place else 0
        inside = ports[np.searchsorted(came, begin) : np.searchsorted(came, end)]
        if marks[place] and inside.size:
            links, counts = np.unique(inside, return_counts=True)
            windows.append(
                (
                    end + back,
                    dict(zip(links.tolist(), (counts / inside.size).tolist(), strict=True)),
                )
            )
    known = np.array([time for time, _ in windows], np.int64)
    total: dict[str, float] = defaultdict(float)
    for time, held in zip(times[1:].tolist(), np.diff(rate).tolist(), strict=True):
        place = int(np.searchsorted(known, time - held // 2, "right")) - 1
        if held > 0 and place >= 0:
            for link, share in windows[place][1].items():
                total[names[link]] += held * share
    everything = sum(total.values())
    return {name: ps / everything for name, ps in sorted(total.items(), key=lambda item: -item[1])}


def _named(again: Again, result: Explanation) -> list[FlowSpec]:
    named = {flow for hop in result.hops for flow in hop.by_flow}
    named |= {flow for origin in result.origins for flow in origin.filled}
    named |= set(result.bottleneck.by_flow) if result.bottleneck else set()
    return [flow for flow in again.plan.topology.flows if flow.id in named or flow.id == result.id]


def _ends(again: Again, result: Explanation) -> dict[str, str]:
    topology, named = again.plan.topology, {origin.port for origin in result.origins}
    named |= {result.bottleneck.port} if result.bottleneck else set()
    return {
        str(port): topology.peer(port.node, port.port).node
        for port in again.logs.ports
        if str(port) in named
    }


def _with_reason(result: Explanation) -> Explanation:
    """Returns the explanation with the largest reason for what the flow took beyond its least time,
    in words too, and its role in it."""
    parts = result.parts_ps
    # Behind its own packets a packet waits in the empty network, too, where they catch up with one
    # another: that is in the least time.
    behind_own = sum(hop.by_flow.get(result.id, 0) for hop in result.hops)
    queued = max(parts.get("contention", 0) + parts.get("overtaken", 0) - behind_own, 0)
    reasons = {
        "rate": parts["rate"] - result.limit_ps,
        "window": parts["window"],
        "pause": result.pause_ps,
        "queue": queued,
        "nic": parts["nic"],
        "recover": parts["recover"],
    }
    # Of a span there is no least time: all but the flow's own frames is lost.
    least_ps = result.least_ps or parts["own"] + parts.get("wire", 0) + parts.get("inside", 0)
    least_ps += result.limit_ps
    lost_ps = result.time_ps - least_ps
    if lost_ps < (_SLOW - 1) * least_ps or not any(reasons.values()):
        return replace(result, why="it wasn't slow")
    held = reasons["rate"] + reasons["window"]
    largest = max(reasons, key=lambda name: reasons[name])
    if held >= reasons[largest]:
        largest = "rate" if reasons["rate"] >= reasons["window"] else "window"
    taken = held if largest in ("rate", "window") else reasons[largest]
    share = f"{min(taken / lost_ps, 1.0):.0%} of what it lost"
    port, role = "", ""
    if largest in ("rate", "window"):
        why, role, port = _held(result, largest, share)
    elif largest == "pause" and result.origins:
        why, role, port = _paused(result.origins[0], share)
    elif largest == "queue":
        places, port = _longest(result)
        why = f"queues of congested ports ({share}){places}"
    else:
        words = {
            "pause": "PAUSE",
            "nic": "other flows of its host",
            "recover": "losses, and how long it took to notice them",
        }
        why = f"{words[largest]} ({share})"
    return replace(result, why=why, role=role, reason=largest, reason_port=port)


def _paused(origin: Origin, share: str) -> tuple[str, str, str]:
    """Returns why a PAUSE stopped it, in words, its role, and the root."""
    if origin.kind:
        kind = "credits" if origin.kind == "unknown" else "a circle of PAUSEs"
        return f"{kind} at {origin.port} ({share})", "", origin.port
    shares = f"{origin.queue_share:.1%} where {origin.fair_share:.1%} were fair"
    words = {
        VICTIM: "it doesn't cross that port",
        CULPRIT: f"it filled more than its share of that queue, {shares}",
        CONTRIBUTOR: f"it filled no more than its share of that queue, {shares}",
    }
    why = f"PAUSE ({share}), most of it from {origin.port}: {words[origin.role]}"
    return why, origin.role, origin.port


def _longest(result: Explanation) -> tuple[str, str]:
    """Returns where it waited in queues, as long as without PAUSE, with shares of that; and the
    port of the longest such wait."""
    queued = {
        hop.port: hop.wait_ps - hop.pause_idle_ps - hop.backlog_ps - hop.by_flow.get(result.id, 0)
        for hop in result.hops
    }
    total = sum(wait for wait in queued.values() if wait > 0)
    ordered = sorted(queued, key=lambda port: -queued[port])
    named = [port for port in ordered[:_PORTS] if queued[port] > _LEAST_WAIT * total]
    if not named:
        return "", ""
    if len(named) == 1:
        return f": {named[0]}", named[0]
    shares = ", ".join(f"{queued[port] / total:.0%} at {port}" for port in named)
    return f": {shares}", named[0]


def _held(result: Explanation, limit: str, share: str) -> tuple[str, str, str]:
    """Returns why its scheme held it, in words, its role, and the port."""
    port, begin = result.bottleneck, f"its scheme's {limit} ({share})"
    if port is None:
        return begin, "", ""
    name = f"{port.port} of its NIC" if port.port == result.path[0] else port.port
    if port.idle > _IDLE:
        paused = f", and was PAUSEd for {port.paused:.0%}" if port.paused > 0.02 else ""
        return (
            (
                f"{begin}, for no reason in the network: the busiest port of its path, "
                f"{name.rstrip(',')}, sent nothing for {port.idle:.0%} of its life{paused}"
            ),
            "",
            port.port,
        )
    got = f"it got {port.got:.1%} where {port.fair:.1%} were fair"
    if port.idle > _NOTED_IDLE:
        got += f", and for {port.idle:.0%} of the time nothing was sent there"
    if port.got < _BELOW * port.fair and port.above:
        above = f"{len(port.above)} of them above their fair shares"
        why, role = f"{begin}: {name} was busy with others, {above}; {got}", VICTIM
    elif port.got > _ABOVE * port.fair:
        why, role = f"{begin}: {name} was busy, and {got}", CULPRIT
    elif port.got < _BELOW * port.fair:
        why = f"{begin}: no flow at {name} had more than a fair share; {got}"
        role = CONTRIBUTOR
    else:
        why, role = f"{begin}: {name} was shared about fairly; {got}", CONTRIBUTOR
    return why, role, port.port
