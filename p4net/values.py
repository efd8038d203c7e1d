"""Values as files of entries spell them: numbers, IPv4, IPv6 and MAC addresses, by the width of a
field; and fields of a match."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from pcn.base.errors import nearest
from pcn.base.p4values import mask_of
from pcn.controller.entities import TableAction, TableActions
from pcn.controller.p4info import MatchField, MatchKind, Schema, Table

_MAC = re.compile(r"[0-9a-fA-F]{1,2}([:-][0-9a-fA-F]{1,2}){5}\Z")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+\Z")
_MOST_LETTERS = 2000
MOST_PRIORITY = 2**31 - 1
_Named = TypeVar("_Named")


@lru_cache(maxsize=4096)  # switches of a network have the same addresses in their entries
def number(text: str, width: int) -> int | str:
    """Returns the value of `text` in a field of `width` bits; the text itself where the program
    translates the field (width 0). Raises ValueError."""
    text = text.strip()
    if len(text) > _MOST_LETTERS:
        raise ValueError(f"a value of {len(text)} letters is too much")
    if width == 0:
        return text
    value = _address(text, width)
    if value is None:
        if not _NUMBER.match(text):
            raise ValueError(f"{text!r} is no value of {width} bits: {_forms(width)}")
        value = int(text, 0) if text[:1] != "0" or text[1:2] in "xXbB" else int(text)
    if value >= 1 << width:
        raise ValueError(f"{text!r} has more than {width} bits")
    return value


def whole(text: str, least: int = 0, most: int = 2**63 - 1) -> int:
    """Returns a whole number in these bounds. Raises ValueError."""
    value = number(text, 64)
    if not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{text!r}: a whole number from {least} to {most} is needed")
    return value


def _address(text: str, width: int) -> int | None:
    if width == 32 and "." in text:
        try:
            return int.from_bytes(socket.inet_pton(socket.AF_INET, text), "big")
        except (OSError, ValueError):
            return int(ipaddress.IPv4Address(text))  # raises, and says what is wrong
    if width == 128 and ":" in text:
        return int(ipaddress.IPv6Address(text))
    if width == 48 and _MAC.match(text):
        parts = text.replace("-", ":").split(":")
        return int("".join([part.zfill(2) for part in parts]), 16)
    return None


def _forms(width: int) -> str:
    address = {32: ", or 10.0.0.1", 48: ", or 08:00:00:00:01:11", 128: ", or 2001:db8::1"}.get(
        width, ""
    )
    return f"write it like 10 or 0x0a{address}"


def field(match: MatchField, parts: Sequence[str]) -> Any:
    """Returns a match field's value, as `TableMatch` takes it, of its one part or two: value
    and prefix length, value and mask, or the bounds of a range. None: the field matches all
    packets. Raises ValueError."""
    width = match.bitwidth
    kind = match.match_type
    if kind in (MatchKind.EXACT, MatchKind.OPTIONAL):
        if len(parts) != 1:
            raise ValueError(f"{match.name} matches exactly: one value is needed")
        return number(parts[0], width)
    if len(parts) != 2:
        raise ValueError(
            f"{match.name} needs {_SECOND.get(kind, 'a second part')} beside its value"
        )
    low, high = number(parts[0], width), number(parts[1], 16 if kind is MatchKind.LPM else width)
    if isinstance(low, str) or isinstance(high, str):
        raise ValueError(f"{match.name}: a translated field matches exactly")
    if kind is MatchKind.LPM:
        if high > width:
            raise ValueError(f"{match.name}: a prefix of {high} bits in a field of {width}")
        return (low, high) if high else None
    if kind is MatchKind.TERNARY:
        return (low & high, high) if high else None
    if kind is MatchKind.RANGE:
        if low > high:
            raise ValueError(f"{match.name}: the range {low} to {high} is empty")
        return None if (low, high) == (0, (1 << width) - 1) else (low, high)
    raise ValueError(f"{match.name} has the match kind {kind}, which P4Runtime lacks")


def shown(match: MatchField, value: Any) -> str:
    """Returns a match field's value for people, numbers in hex; `*`: it matches all packets."""
    if value is None:
        return "*"
    width, kind = match.bitwidth, match.match_type
    if not isinstance(value, tuple):
        return _shown(value)
    low, second = value
    if kind is MatchKind.RANGE:
        return f"{_shown(low)}...{_shown(second)}"
    prefix = second
    if kind is MatchKind.TERNARY:
        mask = int(second) if not isinstance(second, str) else number(second, width)
        assert isinstance(mask, int)
        prefix = mask.bit_count()
        if mask != mask_of(prefix, width):
            return f"{_shown(low)}/&{_shown(second)}"
    return _shown(low) if prefix == width else f"{_shown(low)}/{prefix}"


def _shown(value: Any) -> str:
    return hex(value) if isinstance(value, int) else str(value)


def shown_action(action: TableAction | TableActions | None) -> str:
    """Returns an action with its arguments, or the actions of a set with their weights, for
    people."""
    if isinstance(action, TableActions):
        return " ".join(
            f"{weight}*{shown_action(call)}" for weight, call in action.action_set or ()
        )
    if action is None:
        return "NoAction()"
    arguments = ", ".join(f"{name}={_shown(value)}" for name, value in action.args.items())
    return f"{action.name}({arguments})"


_SECOND: dict[Any, str] = {
    MatchKind.LPM: "a prefix length",
    MatchKind.TERNARY: "a mask",
    MatchKind.RANGE: "an upper bound",
}


def needs_priority(table: Table) -> bool:
    """Returns whether entries of a table have priorities."""
    kinds = {match.match_type for match in table.match_fields}
    return bool(kinds & {MatchKind.TERNARY, MatchKind.RANGE, MatchKind.OPTIONAL})


def find(kind: str, known: Any, name: str) -> Any:
    """Finds an object of a program by its name, or by a last part that one object alone has. Raises
    ValueError."""
    exact = known.get(name)
    if exact is not None:
        return exact
    fitting = [spec for spec in known if spec.name.endswith(f".{name}")]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ValueError(
            f"{kind} {name!r} is one of {', '.join(sorted(spec.name for spec in fitting))}: write "
            "which"
        )
    raise ValueError(f"no {kind} {name!r}; {nearest(name, [spec.alias for spec in known])}")


def arguments(
    schema: Schema, table: Table | None, action: str, values: Callable[[Any], Any]
) -> tuple[str, Any]:
    """Returns an action's whole name, and its arguments by name. `table`: whose action it must be;
    None: any. `values` gets the action, and returns texts by parameter. Raises ValueError."""
    p4_action = find_action(schema, table, action)
    texts = values(p4_action)
    return p4_action.name, {
        param.name: number(texts[param.name], param.bitwidth) for param in p4_action.params
    }


def find_action(schema: Schema, table: Table | None, name: str) -> Any:
    """Finds an action with its parameters, of a table's or of all. Raises ValueError."""
    return schema.actions[
        find("action", schema.actions if table is None else table.actions, name).id
    ]
