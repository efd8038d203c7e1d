"""Steps as JSON, a line each: {"switch": NAME, "packet": N, "time_ns": N, "step": KIND, ...}."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from pcn.softswitch.trace.decoder import KINDS, Step

_MOST: Final = 2**64
_HEXADECIMAL: Final = re.compile(r"0x[0-9a-f]+\Z")


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _whole(value: Any) -> bool:
    return type(value) is int and -_MOST < value < _MOST


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _or_none(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or test(value)


def _texts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_text, value.values()))


def _digits(value: Any) -> bool:
    return _texts(value) and all(map(_HEXADECIMAL.match, value.values()))


_Test = Callable[[Any], bool]
_AT: Final = {"source": _or_none(_text), "text": _or_none(_text)}
_FRAME: Final = {"port": _whole, "length": _whole, "frame": _text}
_QUEUED: Final = (
    "port",
    "queue",
    "enq_timestamp_us",
    "deq_timedelta_us",
    "enq_qdepth",
    "deq_qdepth",
    "egress_rid",
)
_FIELDS: Final[dict[str, Mapping[str, _Test]]] = {
    "received": {**_FRAME, "instance": _text},
    "state": {"parser": _text, "state": _text},
    "extracted": {"header": _text, "fields": _digits},
    "key": {"state": _text, "key": _or_none(_text), "bytes": _whole},
    "parsed": {"error": _text, "bytes": _whole},
    "checksum": {"checksum": _text, "result": _text},
    "stage": {"stage": _text, "name": _text, "begins": _truth},
    "condition": {"condition": _text, **_AT, "result": _truth},
    "table": {"table": _text, "key": _texts},
    "entry": {"table": _text, "hit": _truth, "handle": _or_none(_whole)},
    "action": {"action": _text, **_AT, "arguments": _digits},
    "primitive": {"action": _text, **_AT},
    "statement": {"state": _text, **_AT},
    "decided": {"pipeline": _text, "egress_spec": _whole, "length": _whole},
    "dequeued": {**dict.fromkeys(_QUEUED, _whole), "length": _whole, "instance": _text},
    "emitted": {"header": _text},
    "sent": _FRAME,
}
_MAY: Final[Mapping[str, _Test]] = {
    **dict.fromkeys(("resubmitted", "dropped", "recirculated"), _truth),
    **dict.fromkeys(("multicast_group", "clone_session"), _whole),
    "digest": _text,
}
"""What `decided` may have besides: `dropped`, or `resubmitted`."""


def line(switch: str, step: Step) -> str:
    """Returns a step's line, without its end."""
    head: dict[str, Any] = {
        "switch": switch,
        "packet": step.packet,
        "time_ns": step.time_ns,
        "step": step.kind,
    }
    return json.dumps({**head, **step.fields}, separators=(",", ":"))


def parse(text: str) -> tuple[str, Step]:
    """Returns a line's switch and step, with all fields that a step of its kind has. Raises
    ValueError."""
    try:
        fields = json.loads(text)
        switch, kind = fields.pop("switch"), fields.pop("step")
        packet, time_ns = fields.pop("packet"), fields.pop("time_ns")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError("no step") from None
    if not (_text(switch) and kind in KINDS and _whole(packet) and _whole(time_ns)):
        raise ValueError("no step")
    tests = {**(_MAY if kind == "decided" else {}), **_FIELDS[kind]}
    known = all(name in tests and tests[name](value) for name, value in fields.items())
    if not (known and fields.keys() >= _FIELDS[kind].keys()):
        raise ValueError(f"no step {kind}")
    if kind == "decided" and fields.keys().isdisjoint(("dropped", "resubmitted")):
        raise ValueError(f"no step {kind}")
    return switch, Step(packet, time_ns, kind, fields)
