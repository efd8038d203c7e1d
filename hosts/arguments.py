"""The arguments of commands, as they come out of JSON: each is taken, checked, and named when it is
wrong."""

from __future__ import annotations

import sys
from typing import Any

from .control import CommandError

INTEGER: tuple[type, ...] = (int,)
NUMBER: tuple[type, ...] = (int, float)
TEXT: tuple[type, ...] = (str,)
_NAMES = {INTEGER: "a whole number", NUMBER: "a number", TEXT: "text"}

# Those of `start` that describe the flow: fields of `pcn.hosts.sender.FlowRequest`
START_FIELDS = {
    "flow": INTEGER,
    "dst_ip": TEXT,
    "dst_mac": TEXT,
    "size_bytes": INTEGER,
    "duration_s": NUMBER,
    "rate_bps": NUMBER,
    "payload_bytes": INTEGER,
    "dscp": INTEGER,
}


def take(arguments: dict[str, Any], name: str, kinds: tuple[type, ...]) -> Any:
    """Removes and returns an argument, None if it is missing. Raises CommandError if it is of no
    such kind."""
    value = arguments.pop(name, None)
    if value is None:
        return None
    right = isinstance(value, kinds) and not isinstance(value, bool)
    if right and kinds is NUMBER:
        right = abs(value) <= sys.float_info.max
        value = float(value) if right else value
    if not right:
        raise CommandError(f"{name} is {value!r:.100}: it must be {_NAMES[kinds]}")
    return value


def nothing_left(command: str, arguments: dict[str, Any]) -> None:
    """Raises CommandError if the command got unknown arguments."""
    if arguments:
        raise CommandError(f"{command} takes no {', '.join(map(repr, arguments))}")
