"""Switches in this project's own format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pcn.topologies.buffers import Share, SharedBuffer
from pcn.topologies.ecn import COLOURS, GREEN, EcnThresholds
from pcn.topologies.formats.pcn_values import count, exact, one_of, quantity_of, text
from pcn.topologies.model import FIFO, ROUND_ROBIN, OutputBuffer, Switch, TopologyError
from pcn.topologies.schedules import Schedule
from pcn.topologies.tree import Field, Node, needed, optional
from pcn.topologies.watchdog import ACTIONS, Watchdog

OUTPUT: dict[str, Field] = {
    "size": optional(quantity_of("size"), OutputBuffer.size_bytes),
    "speed_up": optional(quantity_of("number"), OutputBuffer.speed_up),
    "latency": optional(quantity_of("time"), OutputBuffer.latency_s),
    "reliable": optional(lambda node: one_of("true", "false")(node) == "true", False),
}
SHARE: dict[str, Field] = {
    "alpha": optional(quantity_of("number"), Share.alpha),
    "fixed": optional(quantity_of("size"), Share.fixed_bytes),
    "reserve": optional(quantity_of("size"), Share.reserve_bytes),
    "headroom": optional(quantity_of("size")),
    "resume": optional(quantity_of("size"), Share.resume_bytes),
    "rate": optional(quantity_of("rate")),
    "class": optional(count),
    "port": optional(count),
}
BUFFER: dict[str, Field] = {
    "size": needed(quantity_of("size")),
    "shares": optional(lambda node: tuple(node.elements(_share)), (Share(),)),
}
ECN: dict[str, Field] = {
    "k_min": needed(quantity_of("size")),
    "k_max": needed(quantity_of("size")),
    "p_max": needed(quantity_of("number")),
    "rate": optional(quantity_of("rate")),
    "port": optional(count),
    "colour": optional(one_of(*COLOURS), GREEN),
}
SCHEDULE: dict[str, Field] = {
    "weights": needed(lambda node: tuple(node.elements(count))),
    "port": optional(count),
}
WATCHDOG: dict[str, Field] = {
    "action": optional(one_of(*ACTIONS), Watchdog.action),
    "detection": optional(quantity_of("time"), Watchdog.detection_s),
    "restoration": optional(quantity_of("time"), Watchdog.restoration_s),
    "poll": optional(quantity_of("time"), Watchdog.poll_s),
    "ports": optional(lambda node: tuple(node.elements(count)), Watchdog.ports),
    "classes": optional(lambda node: tuple(node.elements(count)), Watchdog.classes),
}
SWITCH: dict[str, Field] = {
    "name": needed(text),
    "id": optional(count),
    "arbitration": optional(one_of(FIFO, ROUND_ROBIN), FIFO),
    "output": optional(lambda node: _output(node.fields(OUTPUT))),
    "buffer": optional(lambda node: _buffer(node)),
    "ecn": optional(lambda node: tuple(node.elements(_ecn)), ()),
    "schedules": optional(lambda node: tuple(node.elements(_schedule)), ()),
    "watchdog": optional(lambda node: _watchdog(node)),
    "latency": optional(quantity_of("time"), 0.0),
    "cut_through": optional(lambda node: one_of("true", "false")(node) == "true", False),
}


def _output(found: Mapping[str, Any]) -> OutputBuffer:
    return OutputBuffer(found["size"], found["speed_up"], found["latency"], found["reliable"])


def _share(node: Node) -> Share:
    found = node.fields(SHARE)
    try:
        return Share(*(found[name] for name in SHARE))
    except TopologyError as error:
        raise node.fail(str(error)) from None


def _ecn(node: Node) -> EcnThresholds:
    found = node.fields(ECN)
    try:
        return EcnThresholds(*(found[name] for name in ECN))
    except TopologyError as error:
        raise node.fail(str(error)) from None


def _schedule(node: Node) -> Schedule:
    found = node.fields(SCHEDULE)
    try:
        return Schedule(found["weights"], found["port"])
    except TopologyError as error:
        raise node.fail(str(error)) from None


def _watchdog(node: Node) -> Watchdog:
    found = node.fields(WATCHDOG)
    try:
        return Watchdog(*(found[name] for name in WATCHDOG))
    except TopologyError as error:
        raise node.fail(str(error)) from None


def _buffer(node: Node) -> SharedBuffer:
    found = node.fields(BUFFER)
    try:
        return SharedBuffer(found["size"], found["shares"])
    except TopologyError as error:
        raise node.fail(str(error)) from None


def switch_settings(found: Mapping[str, Any]) -> Switch:
    """Returns a switch in all but name and id."""
    return Switch(
        "",
        0,
        found["arbitration"],
        found["output"],
        found["buffer"],
        found["ecn"],
        found["schedules"],
        found["watchdog"],
        found["latency"],
        found["cut_through"],
    )


def switch_fields(one: Switch) -> dict[str, Any]:
    made: dict[str, Any] = {"name": one.name, "id": one.device_id}
    if one.arbitration != FIFO:
        made["arbitration"] = one.arbitration
    if one.output is not None:
        made["output"] = {
            "size": exact("size", one.output.size_bytes),
            "speed_up": one.output.speed_up,
            "latency": exact("time", one.output.latency_s),
            "reliable": one.output.reliable,
        }
    if one.buffer is not None:
        shares = [_share_fields(share) for share in one.buffer.shares]
        made["buffer"] = {"size": exact("size", one.buffer.size_bytes), "shares": shares}
    if one.ecn:
        made["ecn"] = [_ecn_fields(thresholds) for thresholds in one.ecn]
    if one.schedules:
        made["schedules"] = [
            {
                "weights": list(schedule.weights),
                **({} if schedule.port is None else {"port": schedule.port}),
            }
            for schedule in one.schedules
        ]
    if one.watchdog is not None:
        watch = one.watchdog
        times = {
            "detection": watch.detection_s,
            "restoration": watch.restoration_s,
            "poll": watch.poll_s,
        }
        lists = {"ports": watch.ports, "classes": watch.classes}
        made["watchdog"] = {
            "action": watch.action,
            **{name: exact("time", time) for name, time in times.items()},
            **{name: list(numbers) for name, numbers in lists.items() if numbers},
        }
    if one.latency_s:
        made["latency"] = exact("time", one.latency_s)
    if one.cut_through:
        made["cut_through"] = True
    return made


def _ecn_fields(one: EcnThresholds) -> dict[str, Any]:
    made = {
        "k_min": exact("size", one.k_min_bytes),
        "k_max": exact("size", one.k_max_bytes),
        "p_max": one.p_max,
        "rate": None if one.rate_bps is None else exact("rate", one.rate_bps),
        "port": one.port,
        "colour": None if one.colour == GREEN else one.colour,
    }
    return {key: value for key, value in made.items() if value is not None}


def _share_fields(one: Share) -> dict[str, Any]:
    sizes = {"fixed": one.fixed_bytes, "reserve": one.reserve_bytes, "resume": one.resume_bytes}
    made = {
        "alpha": one.alpha,
        **{name: exact("size", value) for name, value in sizes.items()},
        "headroom": None if one.headroom_bytes is None else exact("size", one.headroom_bytes),
        "rate": None if one.rate_bps is None else exact("rate", one.rate_bps),
        "class": one.traffic_class,
        "port": one.port,
    }
    return {key: value for key, value in made.items() if value is not None}
