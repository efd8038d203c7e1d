"""Explanations as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pcn.experiments.data.parts import PART_TEXTS
from pcn.experiments.explain.answers import Answer
from pcn.experiments.explain.explanation import Explanation, Origin
from pcn.experiments.explain.job import Job, slowest
from pcn.experiments.explain.lines import CONTROL

WINDOW_PARTS = {
    **{name: PART_TEXTS[name] for name in list(PART_TEXTS)[6:]},
    "timer": "no ACK opened it: a timer or a grant did",
}
REASONS = {
    "queue": "queues",
    "pause": "PAUSE",
    "rate": "its scheme's rate",
    "window": "its scheme's window",
    "nic": "other flows of its host",
    "recover": "losses",
    "": "nothing: it wasn't slow",
}
"""What an explanation's `reason` is."""
_OF_MARK = {
    "here": "marked here",
    "empty": "unmarked: its queue was empty",
    "held": "unmarked: a PAUSE held it up",
}
_MOST = 5
"""Flows, roots and rows of a tree that are named."""
_LEAST_SHARE = 0.001


def lines_of(answer: Answer) -> Iterator[str]:
    """Yields the text, line by line."""
    if answer.kind == "port":
        yield from _port(answer.result or {})
    elif answer.kind == "pause":
        yield from _pause(answer.result or {})
    elif answer.kind == "marks":
        yield from _run_marks(answer.result or {})
    elif answer.job is not None:
        yield from _job(answer.job)
    if len(answer.flows) > 1:
        yield from together(answer.flows)
        yield ""
    for place, item in enumerate(answer.flows):
        yield from [""] * bool(place)
        yield from _flow(item)
        if answer.change:
            fct_ps = answer.changed_ps[item.id]
            then = (
                "it wouldn't have arrived"
                if fct_ps is None
                else f"{us(fct_ps)}, {_saved(item.time_ps, fct_ps)}"
            )
            yield f"  INSTEAD, {answer.change}: {then}."


def together(flows: Sequence[Explanation]) -> Iterator[str]:
    """Yields how many of several flows have each reason, the commonest first, and its ports."""
    yield f"{len(flows)} flows, by what each lost most to:"
    by_reason: dict[str, list[Explanation]] = {}
    for item in flows:
        by_reason.setdefault(item.reason, []).append(item)
    for reason, items in sorted(by_reason.items(), key=lambda row: -len(row[1])):
        ports = Counter(item.reason_port for item in items if item.reason_port)
        roles = Counter(item.role for item in items if item.role)
        texts = [f"{n} at {port}" for port, n in ports.most_common(_MOST)]
        texts += [f"{len(ports) - _MOST} more ports"] * (len(ports) > _MOST)
        texts += [f"{n} {role}{'s' * (n != 1)}" for role, n in roles.most_common()]
        tail = f": {', '.join(texts)}" if texts else ""
        yield f"    {len(items):>4}  {REASONS[reason]}{tail}"


def _saved(before_ps: int, after_ps: int) -> str:
    return (
        f"{abs(before_ps - after_ps) / before_ps:.0%} {'less' if after_ps <= before_ps else 'more'}"
    )


def us(ps: float) -> str:
    return f"{ps / 1e6:,.1f} us"


def _flow(item: Explanation) -> Iterator[str]:
    size = "" if item.size_bytes is None else f"  {item.size_bytes:,} B"
    yield f"flow {item.id}  {item.src} > {item.dst}{size}  class {item.traffic_class}" + (
        f"  {item.group}" if item.group else ""
    )
    if item.complete:
        times = (
            f" = {item.time_ps / item.least_ps:.1f} x {us(item.least_ps)}, the least"
            if item.least_ps
            else ""
        )
        yield f"  completion {us(item.time_ps)}{times}; from {us(item.from_ps)} on"
    else:
        rate = 8e3 * item.sent_bytes / item.time_ps if item.time_ps else 0.0
        since = f"{us(item.time_ps)} from {us(item.from_ps)} on"
        yield f"  {since}: it sent {rate:.2f} Gbit/s"
    for name in PART_TEXTS:
        if ps := item.parts_ps.get(name, 0):
            yield f"    {us(ps):>14} {ps / item.time_ps:6.1%}  {part_text(item, name)}"
            yield from _window(item) if name == "window" else ()
    yield f"    {us(sum(item.parts_ps.values())):>14}         sum"
    if item.hops:
        yield "  hops of the packet that completed it:"
    for hop in item.hops:
        yield f"    {hop.port:8} {hop_text(item, hop)}"
    yield from _shared(item)
    yield from _marks(item)
    yield from _roots(item)
    yield f"  WHY: {item.why}{f' ({item.role.upper()})' if item.role else ''}."


def part_text(item: Explanation, name: str) -> str:
    """Returns what a part of its time is, with what of it no network could have spared."""
    if name != "rate" or not item.limit_ps:
        return PART_TEXTS[name]
    limiter = f"{us(item.limit_ps)} of it by its own limiter, which doesn't count as lost"
    return f"{PART_TEXTS[name]}, {limiter}"


def _window(item: Explanation) -> Iterator[str]:
    yield f"{'':25}as the ACKs that opened it, and packets that made them, went their ways:"
    for name, text in WINDOW_PARTS.items():
        if ps := item.window_ps[name]:
            yield f"{'':25}{us(ps):>14} {ps / item.parts_ps['window']:6.1%}  {text}"


def hop_text(item: Explanation, hop: Any) -> str:
    """Returns what a packet waited for at a port, and behind whose frames."""
    by_flow: Mapping[int, int] = hop.by_flow
    others = [(flow, ps) for flow, ps in by_flow.items() if flow != item.id]
    texts = [f"{us(hop.wait_ps)}, {hop.queue_bytes / 1e3:.1f} KB ahead"]
    texts += [f"PAUSEd {us(hop.pause_idle_ps)}"] * bool(hop.pause_idle_ps)
    texts += [f"behind what PAUSE had left {us(hop.backlog_ps)}"] * bool(hop.backlog_ps)
    texts += [f"own packets {us(ps)}" for flow, ps in by_flow.items() if flow == item.id]
    texts += [f"{_name(item, flow)} {us(ps)}" for flow, ps in others[:_MOST]]
    texts += [f"{len(others) - _MOST} more {us(sum(ps for _, ps in others[_MOST:]))}"] * (
        len(others) > _MOST
    )
    texts += [_OF_MARK[mark] for mark in (hop.mark,) if mark in _OF_MARK]
    return "; ".join(texts)


def _name(item: Explanation, flow: int) -> str:
    if flow == CONTROL:
        return "control frames"
    return f"flow {flow} {item.names[flow]}"


def _shared(item: Explanation) -> Iterator[str]:
    port = item.bottleneck
    if port is None:
        return
    others = ", ".join(
        f"{_name(item, flow)} {share:.1%}" for flow, share in list(port.by_flow.items())[:_MOST]
    )
    yield (
        f"  the busiest port of its path, {port.port} (to {item.ends[port.port]}), in that time: "
        f"own frames {port.got:.1%}, "
        f"{len(port.by_flow)} other{'s' * (len(port.by_flow) != 1)} "
        f"{sum(port.by_flow.values()):.1%}, nothing "
        f"{port.idle:.1%}" + (f" (PAUSEd {port.paused:.1%})" if port.paused else "")
    )
    if others:
        yield f"    {others}"
    above = ", ".join(
        f"{_name(item, flow)} {got:.1%} of {due:.1%}"
        for flow, (got, due) in list(port.above.items())[:3]
    )
    tail = f"; {len(port.above)} above theirs by a tenth and more: {above}" if port.above else ""
    yield f"    a fair share, 1/n(t), would have been {port.fair:.1%}{tail}"


def _marks(item: Explanation) -> Iterator[str]:
    if item.marked:
        ports = ", ".join(
            f"{port} {n:,}" for port, n in sorted(item.marked.items(), key=lambda item: -item[1])
        )
        n = sum(item.marked.values())
        times = "once" if n == 1 else f"{n:,} times"
        yield f"  marked {times} on {item.packets:,} packet{'s' * (item.packets != 1)}: {ports}"
    if decided := _decided(item.decisions) if item.decisions else "":
        yield f"    judged by each port's queue without PAUSE: {decided}"
    if item.rate_set_by:
        ports = ", ".join(
            f"{port} {share:.1%}" for port, share in list(item.rate_set_by.items())[:_MOST]
        )
        yield f"    while its rate held it, that had been set by marks of {ports}"
    yield from received_rates(item)


def received_rates(item: Explanation) -> Iterator[str]:
    """Yields what PAUSE did to the rates by which a PCN sender slowed down."""
    of = item.received_rate
    if of is None or not of.decreases:
        return
    times = "once" if of.decreases == 1 else f"{of.decreases:,} times"
    changed = of.longer.n + of.shorter.n
    share = f"{changed:,} of these:" if changed else "none of these"
    yield f"  slowed down to the receiving rate {times}; PAUSE had changed {share}"
    for shift, text in (
        (of.longer, "in all {time} longer between packets that PAUSE kept back"),
        (of.shorter, "in all {time} shorter between packets that came in a burst behind it"),
    ):
        if shift.n:
            roots = ", ".join(
                f"{port} {share:.1%}"
                for port, share in list(shift.roots.items())[:_MOST]
                if share >= _LEAST_SHARE
            )
            rates = (
                f"{shift.reported_bps / 1e9:.2f} Gbit/s on average, "
                f"{shift.without_bps / 1e9:.2f} without"
            )
            yield f"    {shift.n:,} {text.format(time=us(abs(shift.ps)))}: {rates}"
            yield f"      by root: {roots}"


def _job(job: Job) -> Iterator[str]:
    among = f", of {job.jobs} the one that takes longest" if job.jobs > 1 else ""
    yield f"job of {job.flows:,} flows that wait for each other{among}"
    chain = f"a chain of {len(job.chain)} flows"
    yield f"  makespan {us(job.time_ps)}, from {us(job.from_ps)} on: {chain}"
    for name, text in {"between": "between an arrival and the next start", **PART_TEXTS}.items():
        if ps := job.parts_ps[name]:
            yield f"    {us(ps):>14} {ps / job.time_ps:6.1%}  {text}"
    yield f"    {us(sum(job.parts_ps.values())):>14}         sum"
    yield "  the longest of the chain:"
    for item in slowest(job, _MOST):
        largest = sorted(item.parts_ps.items(), key=lambda part: -part[1])[:3]
        parts = ", ".join(f"{name} {us(ps)}" for name, ps in largest if ps)
        yield f"    flow {item.id} {item.src} > {item.dst}  {us(item.time_ps)}: {parts}"


def _decided(of: Mapping[str, int]) -> str:
    """Returns how many of the decisions that a PAUSE may have changed the queue without PAUSE
    confirms; empty where there are none."""
    texts = []
    for decision, n, confirmed in (
        ("marked", of["marked"], of["marked_still"]),
        (
            "left unmarked for a PAUSE",
            of.get("held", 0),
            of.get("held", 0) - of.get("held_marked", 0),
        ),
    ):
        if n:
            texts.append(f"{decision} {n:,}, {confirmed / n:.0%} confirmed")
    return "; ".join(texts)


def _run_marks(result: dict[str, Any]) -> Iterator[str]:
    sums = {reason: sum(row.values()) for reason, row in result["packets"].items()}
    total = sum(sums.values())
    yield f"{total:,} times a packet of data left a switch" + (
        "" if sums["here"] else ", and none was marked"
    )
    for reason, text in (
        ("before", "it had come with a mark"),
        ("here", "it was marked there"),
        ("empty", "unmarked: its queue was empty when it came"),
        ("held", "unmarked: it waited when a PAUSE ended"),
        ("other", "unmarked: neither, as the marking point isn't NP-ECN"),
    ):
        if sums[reason]:
            yield f"    {sums[reason]:>14,} {sums[reason] / total:6.1%}  {text}"
    if any(row["unknown"] for row in result["packets"].values()):
        yield "  ports that don't serve in order: nothing is known of their queues without PAUSE"
    if sums["here"] and (decided := _decided(result)):
        yield f"  by the queues without PAUSE: {decided}"
    if result.get("decisions"):
        share = result["confirmed"] / result["decisions"]
        yield (
            f"  NP-ECN in the queues without PAUSE would have taken {share:.1%} of "
            f"{result['decisions']:,} alike"
        )
    busy = {name: decided for name, port in result["ports"].items() if (decided := _decided(port))}
    yield from (f"    {name:8} {decided}" for name, decided in list(busy.items())[: 2 * _MOST])
    if len(busy) > 2 * _MOST:
        yield f"    and {len(busy) - 2 * _MOST} more ports"


def _roots(item: Explanation) -> Iterator[str]:
    if not item.pause_ps:
        return
    yield f"  PAUSE, and queues that it built, {us(item.pause_ps)}, by root:"
    for origin in item.origins[:3]:
        if origin.kind:
            reason = (
                "stopped by credits, or by no PAUSE of a switch"
                if origin.kind == "unknown"
                else "in a circle of PAUSEs"
            )
            yield f"    {origin.share:6.1%}  {origin.port}, {reason}"
            continue
        crossing = (
            f"the flow crosses it, {origin.queue_share:.1%} of its queue"
            if origin.crossed
            else "the flow does NOT cross it"
        )
        name = f"{origin.port} (to {item.ends[origin.port]})"
        yield f"    {origin.share:6.1%}  {name}, congested while not PAUSEd; {crossing}"
        texts = [f"{name} {share:.1%}" for name, share in filled(item, origin)]
        if texts:
            yield f"            its queue at those PAUSEs: {', '.join(texts)}"
    if len(item.origins) > 3:
        share = sum(origin.share for origin in item.origins[3:])
        left = len(item.origins) - 3
        yield f"    {share:6.1%}  {left} other port{'s' * (left != 1)}"
    yield from _tree(item.tree)


def filled(item: Explanation, origin: Origin) -> list[tuple[str, float]]:
    """Returns who filled a root's queue, groups or flows, with their shares, the largest first."""
    groups: dict[str, list[float]] = {}
    for flow, share in origin.filled.items():
        groups.setdefault(item.groups[flow] or _name(item, flow), []).append(share)
    ordered = sorted(groups.items(), key=lambda item: -sum(item[1]))[:_MOST]
    return [
        (f"{name}{f' ({len(shares)} flows)' if len(shares) > 1 else ''}", sum(shares))
        for name, shares in ordered
    ]


def _tree(rows: list[dict[str, Any]]) -> Iterator[str]:
    if rows:
        yield "    PAUSEd ports, and what the bytes behind each PAUSE waited for:"
    for row in rows[: 2 * _MOST]:
        shares = ", ".join(f"{port} {share:.0%}" for port, share in list(row["shares"].items())[:3])
        times = "once" if row["pauses"] == 1 else f"{row['pauses']} times"
        yield f"    {'  ' * row['depth']}  {row['port']} PAUSEd {times}, for {shares}"
    if len(rows) > 2 * _MOST:
        yield f"      and {len(rows) - 2 * _MOST} more ports"


def _port(result: dict[str, Any]) -> Iterator[str]:
    span = f"{us(result['time_ps'])} from {us(result['from_ps'])} on"
    yield f"port {result['port']}, {span}: nothing sent for {result['idle']:.1%}"
    for row in result["flows"][: 2 * _MOST]:
        many = f" ({row['flows']} flows)" if row["flows"] > 1 else ""
        yield f"    {row['share']:6.1%}  {row['name']}{many}; fair {row['fair']:.1%}"
    if len(result["flows"]) > 2 * _MOST:
        yield f"            and {len(result['flows']) - 2 * _MOST} more"
    if result["largest"]:
        largest = ", ".join(f"{row['name']} {row['share']:.1%}" for row in result["largest"])
        yield f"    of these the largest: {largest}"
    for traffic_class, stopped in result["paused"].items():
        yield f"  class {traffic_class} PAUSEd for {us(stopped['paused_ps'])}, by root:"
        yield from (
            f"    {share:6.1%}  {root}" for root, share in list(stopped["roots"].items())[:_MOST]
        )
    if result["caused_ps"]:
        yield "  it is a root of PAUSEs of:"
        yield from (
            f"    {us(ps):>14}  {port}"
            for port, ps in list(result["caused_ps"].items())[: 2 * _MOST]
        )
        if len(result["caused_ps"]) > 2 * _MOST:
            left = list(result["caused_ps"].values())[2 * _MOST :]
            yield f"    {us(sum(left)):>14}  {len(left)} more ports"


def _pause(result: dict[str, Any]) -> Iterator[str]:
    yield (
        f"PAUSE {result['number']}: {result['port']} stopped in class {result['class']} for "
        f"{us(result['time_ps'])}, from {us(result['from_ps'])} on"
    )
    allowed = f"{result['used_bytes']:,} of {result['threshold_bytes']:,} allowed"
    yield f"  {result['held_bytes']:,} B inside of what it sent; {allowed}"
    for row in result["waiting"]:
        filled = ", ".join(
            f"{name} {share:.1%}" for name, share in list(row["filled"].items())[:_MOST]
        )
        alone = f"{row['without_pause']:.0%} of its queue without any PAUSE of it"
        yield f"    {row['share']:6.1%} of these waited for {row['port']}, {alone}"
        if filled:
            yield f"            its queue: {filled}"
    yield "  by root:"
    yield from (
        f"    {share:6.1%}  {root}" for root, share in list(result["roots"].items())[:_MOST]
    )
    yield from _tree(result["tree"])
