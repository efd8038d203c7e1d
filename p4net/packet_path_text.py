"""Packets' ways as text, and which of them are wanted."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from pcn.base import packed
from pcn.base.errors import nearest
from pcn.p4net.errors import P4NetError
from pcn.p4net.network import P4Network
from pcn.p4net.packet_paths import Departure, Hop
from pcn.p4net.waits import Wait, Waits, origin
from pcn.softswitch.trace.decoder import Step
from pcn.softswitch.trace.lines import Lines
from pcn.topologies.model import Topology

_ELEMENT = re.compile(r"\[\d+\]")
"""Of a header stack."""


@dataclass(frozen=True)
class Wanted:
    """Which ways: those with one of these numbers, that pass one of these ports (SWITCH,
    SWITCH:PORT), and in which a parser found all these values (HEADER.FIELD=VALUE). Empty: all."""

    packets: tuple[int, ...] = ()
    at: tuple[str, ...] = ()
    match: tuple[str, ...] = ()

    def require(self, network: P4Network) -> None:
        """Raises P4NetError for a port or a field that the network lacks: no packet would ever be
        found."""
        topology = network.topology
        places = {switch.name: set(topology.ports(switch.name)) for switch in topology.switches}
        for text in self.at:
            name, colon, port = text.partition(":")
            if name not in places:
                raise P4NetError(f"no switch {name!r} in {topology.name}; {nearest(name, places)}")
            if colon and port not in map(str, places[name]):
                raise P4NetError(
                    f"{text}: {name} has the ports {', '.join(map(str, sorted(places[name])))}"
                )
        known = {
            name for switch in network.switches.values() for name in _fields(switch.program.json)
        }
        for text in self.match:
            name = _ELEMENT.sub("", text.partition("=")[0])
            if "=" in text and name not in known:
                raise P4NetError(
                    f"no program has a header with the field {name!r}; "
                    f"{nearest(name, sorted(known))}"
                )

    def has(self, number: int, first: Hop) -> bool:
        """Returns whether a way is wanted. Raises P4NetError for a value that can't be read."""
        if self.packets and number not in self.packets:
            return False
        hops = list(first.later())
        places = {place for hop in hops for place in _places(hop)}
        if self.at and not places.intersection(self.at):
            return False
        values = [pair for hop in hops for pair in hop.fields()]
        return all(any(_equal(text, name, value) for name, value in values) for text in self.match)


def _fields(program: Path) -> Iterator[str]:
    """Yields HEADER.FIELD of a compiled program, of stacks without the element's number."""
    document = json.loads(packed.read_text(program))
    types = {header_type["name"]: header_type["fields"] for header_type in document["header_types"]}
    for header in document["headers"]:
        name = _ELEMENT.sub("", header["name"])
        yield from (f"{name}.{field[0]}" for field in types[header["header_type"]])


def _places(hop: Hop) -> Iterator[str]:
    yield hop.switch
    yield f"{hop.switch}:{hop.port}"
    yield from (f"{hop.switch}:{departure.port}" for departure in hop.departures)


def _equal(text: str, name: str, value: str) -> bool:
    wanted, equals, number = text.partition("=")
    if not equals:
        raise P4NetError(f"{text!r}: write HEADER.FIELD=VALUE, as ipv4.dstAddr=10.0.2.2")
    return name == wanted and int(value, 16) == _number(text, number)


def _number(text: str, value: str) -> int:
    """Returns a number, an address of IPv4, or a MAC."""
    try:
        if value.count(".") == 3:
            return int(IPv4Address(value))
        return int(value.replace(":", ""), 16) if ":" in value else int(value, 0)
    except ValueError:
        raise P4NetError(f"{text!r}: {value!r} is no number, address of IPv4 or MAC") from None


def lines(
    number: int, first: Hop, topology: Topology, *, steps: bool, waits: Waits | None = None
) -> Iterator[str]:
    """Yields a way's lines; `steps`: with all that the log of a switch has; `waits`: with what a
    packet waited behind."""
    yield f"packet {number}, from {origin(first, topology)} at {_seconds(first.received.time_ns)}"
    for hop in first.later():
        yield from _hop(hop, topology, steps, waits)


def as_json(
    number: int, first: Hop, topology: Topology, waits: Waits | None = None
) -> dict[str, Any]:
    """Returns a way for programs: what its lines have, times in seconds. Hops are in the order of
    the lines; a packet that a switch copied has several."""
    return {
        "packet": number,
        "from": origin(first, topology),
        "time_s": first.received.time_ns / 1e9,
        "hops": [_hop_json(hop, topology, waits) for hop in first.later()],
    }


def _hop_json(hop: Hop, topology: Topology, waits: Waits | None) -> dict[str, Any]:
    received = hop.received
    return {
        "switch": hop.switch,
        "port": hop.port,
        "time_s": received.time_ns / 1e9,
        "bytes": received.fields["length"],
        "instance": received.fields["instance"],
        "fields": dict(hop.fields()),
        "tables": [*_tables(hop.ingress_steps)],
        "dropped": any(step.fields.get("dropped", False) for step in hop.steps),
        "departures": [
            _departure_json(hop, departure, topology, waits) for departure in hop.departures
        ],
    }


def _departure_json(
    hop: Hop, departure: Departure, topology: Topology, waits: Waits | None
) -> dict[str, Any]:
    queue, sent = departure.queued, departure.sent
    assert hop.decided is not None  # what waits in a queue was put there
    return {
        "port": departure.port,
        "clone_of": departure.clone or None,
        "queue": queue.fields["queue"],
        "packets_ahead": queue.fields["enq_qdepth"],
        "waited_s": (queue.time_ns - hop.decided.time_ns) / 1e9,
        **({} if waits is None else _wait_json(waits.of(hop, departure))),
        "tables": [*_tables(departure.steps)],
        "to": None if sent is None else _to(hop, departure, topology),
        "bytes": None if sent is None else sent.fields["length"],
        "time_s": None if sent is None else sent.time_ns / 1e9,
    }


def _hop(hop: Hop, topology: Topology, steps: bool, waits: Waits | None) -> Iterator[str]:
    fields = hop.received.fields
    instance = "" if fields["instance"] == "normal" else f", {fields['instance']}"
    place = f"{hop.switch}:{hop.port} {_seconds(hop.received.time_ns)}"
    yield f"  {place}, {fields['length']} bytes{instance}"
    text = Lines(trace=True)
    if steps:
        yield from _logged(text, hop.steps)
    else:
        yield from _program(hop.ingress_steps)
        if hop.ingress_steps[-1].kind == "decided" and hop.ingress_steps[-1].fields.get("dropped"):
            yield "    dropped by the program"
    for departure in hop.departures:
        inner = ""
        if departure.clone:
            inner = "  "
            yield f"    clone of {departure.clone}"
        if steps:
            yield from _logged(text, departure.steps)
        else:
            parsed = hop.cloned if departure.clone == "ingress" else []
            yield from (f"{inner}{line}" for line in _program([*parsed, *departure.steps]))
        yield f"    {inner}{_left(hop, departure, topology)}"
        if waits is not None and (text_of_wait := _behind(waits.of(hop, departure))):
            yield f"    {inner}{text_of_wait}"
    decided: dict[str, Any] = next(
        (step.fields for step in reversed(hop.steps) if step.kind == "decided"), {}
    )
    if not hop.departures and not decided.get("dropped") and not decided.get("resubmitted"):
        group = decided.get("multicast_group")
        missing = f"multicast group {group} has no members, or " if group else ""
        yield f"    didn't come to egress: {missing}the queue was full, or it waits still"


def _logged(text: Lines, steps: Sequence[Step]) -> Iterator[str]:
    """Yields steps as lines of a switch's log."""
    yield from (
        f"    {line}"
        for step in steps
        for _, lines in text.of(step)
        for line in lines.splitlines()
        if line
    )


def _program(steps: Sequence[Step]) -> Iterator[str]:
    headers = [step.fields["header"] for step in steps if step.kind == "extracted"]
    if headers:
        yield f"    headers {' '.join(headers)}"
    for table in _tables(steps):
        entry = "no entry" if table["entry"] is None else f"entry {table['entry']}"
        values = " ".join(f"{name}={value}" for name, value in table["arguments"].items())
        words = (
            table["table"],
            " ".join(table["key"].values()),
            "->",
            f"{entry}:",
            table["action"],
            values,
        )
        yield f"    {' '.join(word for word in words if word)}"


def _tables(steps: Sequence[Step]) -> Iterator[dict[str, Any]]:
    """Yields the tables that were applied, without p4c's own: key, the entry's handle (None: none
    fits), action."""
    now: dict[str, Any] | None = None
    for step in steps:
        if step.kind == "table":
            table, key = step.fields["table"], step.fields["key"]
            now = {"table": table, "key": key} if key or not table.startswith("tbl_") else None
        elif step.kind == "entry" and now is not None:
            now["entry"] = step.fields["handle"] if step.fields["hit"] else None
        elif step.kind == "action" and now is not None and "entry" in now:
            yield {**now, "action": step.fields["action"], "arguments": step.fields["arguments"]}
            del now["entry"]


def _left(hop: Hop, departure: Departure, topology: Topology) -> str:
    queue = departure.queued
    assert hop.decided is not None  # what waits in a queue was put there
    waited = (
        f"port {departure.port}, queue {queue.fields['queue']}: {queue.fields['enq_qdepth']} "
        f"ahead, waited {(queue.time_ns - hop.decided.time_ns) / 1e3:.3f} us"
    )
    sent = departure.sent
    if sent is None:
        again = departure.next is not None
        return f"{waited}; {'recirculated' if again else 'dropped by the program'}"
    to = _to(hop, departure, topology)
    where = "by a port without a link" if to is None else f"for {to}"
    return f"{waited}; {sent.fields['length']} bytes left {where} at {_seconds(sent.time_ns)}"


def _behind(wait: Wait) -> str:
    """Returns whose frames a packet waited behind, by the nodes from which these came, the longest
    time first; empty: it didn't wait."""
    by_source: dict[str, list[int]] = defaultdict(list)
    for part in wait.behind:
        by_source[part.source].append(part.wait_ns)
    parts = [
        f"{len(times_ns)} of {source} {sum(times_ns) / 1e3:.3f} us"
        for source, times_ns in sorted(by_source.items(), key=lambda pair: -sum(pair[1]))
    ]
    idle = [f"an idle port {wait.idle_ns / 1e3:.3f} us"] * bool(wait.idle_ns)
    return f"waited behind {', '.join([*parts, *idle])}" if parts or idle else ""


def _wait_json(wait: Wait) -> dict[str, Any]:
    return {
        "behind": [
            {"packet": part.packet, "from": part.source, "wait_s": part.wait_ns / 1e9}
            for part in wait.behind
        ],
        "idle_s": wait.idle_ns / 1e9,
    }


def _to(hop: Hop, departure: Departure, topology: Topology) -> str | None:
    linked = departure.port in topology.ports(hop.switch)
    return topology.peer(hop.switch, departure.port).node if linked else None


def _seconds(time_ns: int) -> str:
    return f"{time_ns / 1e9:.9f} s"
