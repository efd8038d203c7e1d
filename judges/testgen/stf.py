"""The part of STF, the format of p4c's simple tests, that p4testgen writes; and its entries as
P4Runtime's.

A line is a statement, `#` begins a comment:

    add TABLE [PRIORITY] KEY:VALUE ... ACTION(PARAMETER:VALUE, ...)
    setdefault TABLE ACTION(PARAMETER:VALUE, ...)
    mirroring_add SESSION PORT
    packet PORT HEX
    expect PORT [HEX with * for digits that don't count, and $ where the frame ends]

Names may be quoted; a value is 0x..., 0b... or decimal, with * for bits of no account, BASE/LENGTH
or LOW->HIGH.
"""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from pcn.base.p4rt import p4i, p4r


class StfError(Exception):
    """A statement that isn't understood, or that means nothing in the program; the message names
    it."""


class Packet(NamedTuple):
    """A frame that comes in."""

    port: int
    data: bytes


class Expect(NamedTuple):
    """A frame that has to leave: lower-case hex digits and '*'. `exact`: it ends where the pattern
    does."""

    port: int
    pattern: str
    exact: bool

    def fits(self, frame: bytes) -> bool:
        """Whether a frame is what is meant."""
        got = frame.hex()
        if len(got) < len(self.pattern) or (self.exact and len(got) != len(self.pattern)):
            return False
        return all(want in ("*", digit) for want, digit in zip(self.pattern, got, strict=False))


@dataclass(frozen=True)
class Entry:
    """An entry, or a table's default action (`default`)."""

    table: str
    priority: int
    keys: dict[str, str]
    action: str
    args: dict[str, str]
    default: bool


class Mirror(NamedTuple):
    """A clone session with one copy."""

    session: int
    port: int


Step = Packet | Expect | Entry | Mirror

_NAME = r'"[^"]+"|[^\s":(]+'
_ACTION = re.compile(rf"({_NAME})\s*\((.*)\)$")
_KEY = re.compile(rf"({_NAME}):(\S+)\s*")
_ARGUMENT = re.compile(rf"({_NAME}):([^\s,]+)")


def parse(text: str) -> list[Step]:
    """The statements of a test, in order. Raises StfError."""
    steps: list[Step] = []
    for number, line in enumerate(text.splitlines(), 1):
        # A name may have a '#' in it, so a comment is what begins with one.
        if (line := line.strip()) and not line.startswith("#"):
            try:
                steps.append(_statement(*line.split(maxsplit=1)))
            except (ValueError, TypeError) as error:
                raise StfError(
                    f"line {number} isn't STF as p4testgen writes it: {line[:80]}"
                ) from error
    return steps


def _statement(word: str, rest: str) -> Step:
    if word == "packet":
        port, *data = rest.split()
        return Packet(int(port), bytes.fromhex("".join(data)))
    if word == "expect":
        port, *data = rest.split()
        pattern = "".join(data).lower()
        if not re.fullmatch(r"[0-9a-f*]*\$?", pattern):
            raise ValueError
        return Expect(int(port), pattern.removesuffix("$"), pattern.endswith("$"))
    if word == "mirroring_add":
        return Mirror(*map(int, rest.split()))
    if word not in ("add", "setdefault"):
        raise ValueError
    table, rest = _name(rest)
    priority = re.match(r"(\d+)\s+", rest)
    rest = rest[priority.end() :] if priority else rest
    keys = {}
    while match := _KEY.match(rest):
        keys[match[1].strip('"')] = match[2]
        rest = rest[match.end() :]
    action = _ACTION.match(rest)
    if not action:
        raise ValueError
    args = {name.strip('"'): value for name, value in _ARGUMENT.findall(action[2])}
    return Entry(
        table, int(priority[1]) if priority else 0, keys, action[1].strip('"'), args,
        word == "setdefault",
    )  # fmt: skip


def _name(text: str) -> tuple[str, str]:
    match = re.match(rf"({_NAME})\s*", text)
    if not match:
        raise ValueError
    return match[1].strip('"'), text[match.end() :]


def table_entry(stf: Entry, info: p4i.P4Info) -> p4r.TableEntry:
    """An entry as P4Runtime has it. In a table with an action profile or selector its action is a
    set of one.

    Raises StfError where the program has no such thing.
    """
    table = _find("table", stf.table, {table.preamble.name: table for table in info.tables})
    allowed = {reference.id for reference in table.action_refs}
    action = _find(
        "action", stf.action, {a.preamble.name: a for a in info.actions if a.preamble.id in allowed}
    )
    entry = p4r.TableEntry(table_id=table.preamble.id, is_default_action=stf.default)
    if table.implementation_id and not stf.default:
        message = entry.action.action_profile_action_set.action_profile_actions.add(weight=1).action
    else:
        message = entry.action.action
    message.action_id = action.preamble.id
    for param in action.params:
        if param.name not in stf.args:
            raise StfError(f"{stf.action} without its parameter {param.name}")
        message.params.add(
            param_id=param.id, value=_octets(_number(stf.args[param.name]), param.bitwidth)
        )
    if not stf.default:
        fields = {field.name: field for field in table.match_fields}
        keys = {
            _find("key", name if name in fields else _key_name(name), fields).id: text
            for name, text in stf.keys.items()
        }
        for field in table.match_fields:
            _add_match(entry, field, keys.get(field.id))
        if any(f.match_type in (f.TERNARY, f.RANGE, f.OPTIONAL) for f in table.match_fields):
            entry.priority = stf.priority + 1  # P4Runtime's begin at 1; in both the higher wins
    return entry


def _key_name(name: str) -> str:
    return re.sub(r"(^|\.)\$?valid\$?$", r"\1$valid$", re.sub(r"\$(\d+)", r"[\1]", name))


def _add_match(entry: p4r.TableEntry, field: p4i.MatchField, text: str | None):
    """A key that the entry doesn't name matches anything, or 0 where it has to be exact."""
    width, match = field.bitwidth, p4r.FieldMatch(field_id=field.id)
    if field.match_type == field.EXACT:
        match.exact.value = _octets(_number(text or "0"), width)
    elif text is None:
        return
    elif field.match_type == field.LPM:
        base, _, length = text.partition("/")
        value, mask = _ternary(base, width)
        prefix = int(length or mask.bit_count())
        if not prefix:
            return
        match.lpm.prefix_len, match.lpm.value = (
            prefix,
            _octets(value >> (width - prefix) << (width - prefix), width),
        )
    elif field.match_type == field.TERNARY:
        base, _, masked = text.partition("&&&")
        value, mask = _ternary(base, width)
        mask = _number(masked) if masked else mask
        if not mask:
            return
        match.ternary.value, match.ternary.mask = _octets(value & mask, width), _octets(mask, width)
    elif field.match_type == field.RANGE:
        low, _, high = text.partition("->")
        match.range.low, match.range.high = (
            _octets(_number(low), width),
            _octets(_number(high or low), width),
        )
        if _number(low) == 0 and _number(high or low) == (1 << width) - 1:
            return
    else:
        match.optional.value = _octets(_number(text), width)
    entry.match.append(match)


def _ternary(text: str, width: int) -> tuple[int, int]:
    """Value and mask of a number in which `*` hides a digit, as 0x12** or 0b1*."""
    bits = {"0x": 4, "0b": 1}.get(text[:2].lower(), 0)
    hidden = sum(
        ((1 << bits) - 1) << bits * i for i, digit in enumerate(reversed(text)) if digit == "*"
    )
    return _number(text.replace("*", "0")), ((1 << width) - 1) & ~hidden


def _number(text: str) -> int:
    return int(text, 10 if text.isdigit() else 0)


def _octets(value: int, width: int) -> bytes:
    """P4Runtime's canonical byte string."""
    if width and value >> width:
        raise StfError(f"{value:#x} doesn't fit in {width} bits")
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def _find(kind: str, name: str, candidates: dict[str, Any]):
    """What has this full name, or the only one that ends in it."""
    if name in candidates:
        return candidates[name]
    hits = [full for full in candidates if full.endswith("." + name)]
    if len(hits) != 1:
        raise StfError(f"{kind} {name} isn't one of {', '.join(candidates) or 'none'}")
    return candidates[hits[0]]
