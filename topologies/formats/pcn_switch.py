"""Switches in this project's own format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pcn.topologies import order
from pcn.topologies.buffers import Share, SharedBuffer
from pcn.topologies.ecn import COLOURS, GREEN, EcnThresholds
from pcn.topologies.formats.pcn_values import count, exact, one_of, quantity_of, text
from pcn.topologies.model import FIFO, OutputBuffer, Switch, TopologyError
from pcn.topologies.schedules import Schedule
from pcn.topologies.switch import ARBITRATIONS, is_arbitration
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
    "caps": optional(lambda node: tuple(node.elements(quantity_of("rate"))), ()),
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
    "arbitration": optional(lambda node: _arbitration(node), FIFO),
    "output": optional(lambda node: _output(node.fields(OUTPUT))),
    "buffer": optional(lambda node: _buffer(node)),
    "ecn": optional(lambda node: tuple(node.elements(_ecn)), ()),
    "schedules": optional(lambda node: tuple(node.elements(_schedule)), ()),
    "watchdog": optional(lambda node: _watchdog(node)),
    "latency": optional(quantity_of("time"), 0.0),
    "cut_through": optional(lambda node: one_of("true", "false")(node) == "true", False),
}


def _arbitration(node: Node) -> str:
    name = text(node)
    if (code := order.shown(name)) is not None:
        return code
    return name if is_arbitration(name) else one_of(*ARBITRATIONS)(node)


def _output(fields: Mapping[str, Any]) -> OutputBuffer:
    return OutputBuffer(fields["size"], fields["speed_up"], fields["latency"], fields["reliable"])


def _share(node: Node) -> Share:
    fields = node.fields(SHARE)
    try:
        return Share(*(fields[name] for name in SHARE))
    except TopologyError as error:
        raise node.fail(str(error)) from None


def _ecn(node: Node) -> EcnThresholds:
    fields = node.fields(ECN)
    try:
        return EcnThresholds(*(fields[name] for name in ECN))
    except TopologyError as error:
        raise node.fail(str(error)) from None


def _schedule(node: Node) -> Schedule:
    fields = node.fields(SCHEDULE)
    try:
        return Schedule(fields["weights"], fields["port"], fields["caps"])
    except TopologyError as error:
        raise node.fail(str(error)) from None


def _watchdog(node: Node) -> Watchdog:
    fields = node.fields(WATCHDOG)
    try:
        return Watchdog(*(fields[name] for name in WATCHDOG))
    except TopologyError as error:
        raise node.fail(str(error)) from None


def _buffer(node: Node) -> SharedBuffer:
    fields = node.fields(BUFFER)
    try:
        return SharedBuffer(fields["size"], fields["shares"])
    except TopologyError as error:
        raise node.fail(str(error)) from None


def switch_settings(fields: Mapping[str, Any]) -> Switch:
    """Returns a switch in all but name and id."""
    return Switch(
        "",
        0,
        fields["arbitration"],
        fields["output"],
        fields["buffer"],
        fields["ecn"],
        fields["schedules"],
        fields["watchdog"],
        fields["latency"],
        fields["cut_through"],
    )


def switch_fields(switch: Switch) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": switch.name, "id": switch.device_id}
    if switch.arbitration != FIFO:
        fields["arbitration"] = order.stored(switch.arbitration)
    if switch.output is not None:
        fields["output"] = {
            "size": exact("size", switch.output.size_bytes),
            "speed_up": switch.output.speed_up,
            "latency": exact("time", switch.output.latency_s),
            "reliable": switch.output.reliable,
        }
    if switch.buffer is not None:
        shares = [_share_fields(share) for share in switch.buffer.shares]
        fields["buffer"] = {"size": exact("size", switch.buffer.size_bytes), "shares": shares}
    if switch.ecn:
        fields["ecn"] = [_ecn_fields(thresholds) for thresholds in switch.ecn]
    if switch.schedules:
        fields["schedules"] = [
            {
                "weights": list(schedule.weights),
                **({} if schedule.port is None else {"port": schedule.port}),
                **(
                    {"caps": [exact("rate", cap_bps) for cap_bps in schedule.caps_bps]}
                    if schedule.caps_bps
                    else {}
                ),
            }
            for schedule in switch.schedules
        ]
    if switch.watchdog is not None:
        watch = switch.watchdog
        times = {
            "detection": watch.detection_s,
            "restoration": watch.restoration_s,
            "poll": watch.poll_s,
        }
        lists = {"ports": watch.ports, "classes": watch.classes}
        fields["watchdog"] = {
            "action": watch.action,
            **{name: exact("time", time) for name, time in times.items()},
            **{name: list(numbers) for name, numbers in lists.items() if numbers},
        }
    if switch.latency_s:
        fields["latency"] = exact("time", switch.latency_s)
    if switch.cut_through:
        fields["cut_through"] = True
    return fields


def _ecn_fields(thresholds: EcnThresholds) -> dict[str, Any]:
    fields = {
        "k_min": exact("size", thresholds.k_min_bytes),
        "k_max": exact("size", thresholds.k_max_bytes),
        "p_max": thresholds.p_max,
        "rate": None if thresholds.rate_bps is None else exact("rate", thresholds.rate_bps),
        "port": thresholds.port,
        "colour": None if thresholds.colour == GREEN else thresholds.colour,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _share_fields(share: Share) -> dict[str, Any]:
    sizes = {
        "fixed": share.fixed_bytes,
        "reserve": share.reserve_bytes,
        "resume": share.resume_bytes,
    }
    fields = {
        "alpha": share.alpha,
        **{name: exact("size", value) for name, value in sizes.items()},
        "headroom": None if share.headroom_bytes is None else exact("size", share.headroom_bytes),
        "rate": None if share.rate_bps is None else exact("rate", share.rate_bps),
        "class": share.traffic_class,
        "port": share.port,
    }
    return {key: value for key, value in fields.items() if value is not None}
