"""Match keys: P4Runtime's FieldMatch messages to C's packed key, mask and prefix, and back.

Source: P4Runtime specification, "TableEntry: Match Format". Field values take (width + 7) / 8 bytes
each, big endian, in the key's order. The mask of a ternary or optional field holds bits, that of a
range its upper bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pcn.base.p4rt import p4r
from pcn.softswitch.p4runtime.bytestring import decode, encode
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, RpcError
from pcn.softswitch.p4runtime.schema import KeyField, Kind, Match, Table, ValueSet


class Key(NamedTuple):
    """An entry's identity, canonical: equal keys match the same packets with the same priority."""

    key: bytes
    mask: bytes | None
    prefix: int
    priority: int


def pack(
    table: Table, matches: Iterable[p4r.FieldMatch], priority: int, *, known: bool = False
) -> Key:
    """Returns the key of an entry. Raises RpcError INVALID_ARGUMENT where the specification forbids
    it, NOT_FOUND where the entry has to be `known` and can't be, since no entry has such a
    string."""
    keys, masks, prefix = pack_fields(table, matches, known=known)
    if table.prioritised and priority <= 0:
        raise _bad(
            table, f"priority must be above 0 (ternary, range or optional key), not {priority}"
        )
    if not table.prioritised and priority:
        raise _bad(table, f"priority must be 0 (exact or LPM key), not {priority}")
    masked = table.kind is Kind.MASKED
    return Key(keys, masks if masked else None, prefix if table.kind is Kind.LPM else 0, priority)


def pack_fields(
    owner: Table | ValueSet, matches: Iterable[p4r.FieldMatch], *, known: bool = False
) -> tuple[bytes, bytes, int]:
    """Returns the key, mask and prefix of what matches. Raises RpcError as `pack` does."""
    field_matches: dict[int, p4r.FieldMatch] = {}
    for match in matches:
        if match.field_id in field_matches:
            raise _bad(owner, f"match field {match.field_id} is given twice")
        field_matches[match.field_id] = match
    keys, masks, prefix = bytearray(), bytearray(), 0
    for field in owner.fields:
        field_match = field_matches.pop(field.id, None)
        low, high = _unpack_one(owner, field, field_match, known)
        keys += low.to_bytes(field.size, "big")
        masks += high.to_bytes(field.size, "big")
        if field.match is Match.LPM:
            prefix = high.bit_count()
    if field_matches:
        raise _bad(owner, f"no match field {next(iter(field_matches))}")
    return bytes(keys), bytes(masks), prefix


def unpack(owner: Table | ValueSet, key: Key) -> list[p4r.FieldMatch]:
    """Returns the canonical FieldMatch messages of a key: don't-care fields are left out."""
    matches = []
    offset = 0
    for field in owner.fields:
        part = slice(offset, offset + field.size)
        offset += field.size
        low = int.from_bytes(key.key[part], "big")
        if field.match is Match.EXACT:
            high = 0
        elif key.mask is None:  # the one LPM field of an LPM table
            high = prefix_mask(field.width, key.prefix)
        else:
            high = int.from_bytes(key.mask[part], "big")
        match = _pack_one(field, low, high)
        if match is not None:
            matches.append(match)
    return matches


def prefix_mask(width: int, length: int) -> int:
    """Returns the mask of a prefix of `length` bits in a field of `width` bits."""
    return ((1 << length) - 1) << (width - length)


def _unpack_one(
    owner: Table | ValueSet, field: KeyField, match: p4r.FieldMatch | None, known: bool
) -> tuple[int, int]:
    """Returns the value and mask (range: bounds) of one field; of an absent one, what matches
    anything."""
    full = (1 << field.width) - 1
    label = f"{owner.label}, key {field.name}"
    if match is None:
        if field.match is Match.EXACT:
            raise _bad(owner, f"exact match field {field.name} is missing")
        return (0, full) if field.match is Match.RANGE else (0, 0)
    kind = match.WhichOneof("field_match_type")
    if kind != field.match.value:
        raise _bad(
            owner,
            f"key {field.name} takes {field.match.value} matches, not {kind or 'an empty match'}",
        )
    if field.match in (Match.EXACT, Match.OPTIONAL):
        data = match.exact.value if field.match is Match.EXACT else match.optional.value
        if field.strings is not None:
            return field.strings.number(data, label, known=known), full
        return decode(data, field.width, label), full
    if field.match is Match.LPM:
        value, length = decode(match.lpm.value, field.width, label), match.lpm.prefix_len
        if not 0 < length <= field.width:
            raise _bad(
                owner,
                (
                    f"key {field.name}: prefix length {length} is not in 1..{field.width} (leave "
                    "/0 out)"
                ),
            )
        mask = prefix_mask(field.width, length)
        if value & ~mask:
            raise _bad(
                owner, f"key {field.name}: 0x{value:x} has bits beyond its prefix of {length}"
            )
        return value, mask
    if field.match is Match.TERNARY:
        value, mask = (
            decode(match.ternary.value, field.width, label),
            decode(match.ternary.mask, field.width, label),
        )
        if not mask:
            raise _bad(owner, f"key {field.name}: the mask is 0; leave the field out instead")
        if value & ~mask:
            raise _bad(owner, f"key {field.name}: 0x{value:x} has bits outside its mask 0x{mask:x}")
        return value, mask
    low, high = (
        decode(match.range.low, field.width, label),
        decode(match.range.high, field.width, label),
    )
    if low > high:
        raise _bad(
            owner,
            f"key {field.name}: the range's low bound 0x{low:x} is above its high bound 0x{high:x}",
        )
    if low == 0 and high == full:
        raise _bad(
            owner, f"key {field.name}: the range covers all values; leave the field out instead"
        )
    return low, high


def _pack_one(field: KeyField, low: int, high: int) -> p4r.FieldMatch | None:
    match = p4r.FieldMatch(field_id=field.id)
    if field.match is Match.EXACT:
        match.exact.value = encode(low) if field.strings is None else field.strings.text(low)
    elif field.match is Match.LPM:
        if not high:
            return None
        match.lpm.value, match.lpm.prefix_len = encode(low), high.bit_count()
    elif field.match is Match.TERNARY:
        if not high:
            return None
        match.ternary.value, match.ternary.mask = encode(low), encode(high)
    elif field.match is Match.OPTIONAL:
        if not high:
            return None
        match.optional.value = encode(low) if field.strings is None else field.strings.text(low)
    else:
        if low == 0 and high == (1 << field.width) - 1:
            return None
        match.range.low, match.range.high = encode(low), encode(high)
    return match


def _bad(owner: Table | ValueSet, message: str) -> RpcError:
    return RpcError(INVALID_ARGUMENT, f"{owner.label}: {message}")
