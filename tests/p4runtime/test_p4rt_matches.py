"""Match keys: packing, its inverse, and everything that the specification forbids."""

import pytest
from hypothesis import given, strategies as st

from pcn.base.p4rt import p4r
from pcn.softswitch.p4runtime import matches
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, RpcError
from pcn.softswitch.p4runtime.schema import KeyField, Kind, Match, Table


def table(kind: Kind, *fields: tuple[Match, int]) -> Table:
    """A table with these fields, ids from 1."""
    keys = tuple(
        KeyField(i, f"key{i}", match, width, (width + 7) // 8)
        for i, (match, width) in enumerate(fields, 1)
    )
    return Table(1, "t", 0, kind, keys, {}, {}, 16, False, False, None, (), ())


MIXED = table(
    Kind.MASKED,
    (Match.EXACT, 9),
    (Match.TERNARY, 48),
    (Match.LPM, 32),
    (Match.RANGE, 16),
    (Match.OPTIONAL, 3),
)


def field(number: int, **kind: dict[str, bytes | int]) -> p4r.FieldMatch:
    return p4r.FieldMatch(field_id=number, **kind)


def test_layout_of_an_lpm_key():
    lpm = table(Kind.LPM, (Match.EXACT, 9), (Match.LPM, 32))
    sent = [
        field(2, lpm={"value": b"\x0a\0\0\0", "prefix_len": 8}),
        field(1, exact={"value": b"\x01\x02"}),
    ]
    key = matches.pack(lpm, sent, 0)
    assert key == matches.Key(b"\x01\x02\x0a\0\0\0", None, 8, 0)
    assert matches.unpack(lpm, key) == [sent[1], sent[0]]
    everything = matches.pack(lpm, [sent[1]], 0)
    assert (everything.prefix, everything.key) == (0, b"\x01\x02\0\0\0\0")
    assert matches.unpack(lpm, everything) == [sent[1]]


def test_layout_of_a_masked_key():
    key = matches.pack(MIXED, [field(1, exact={"value": b"\x07"})], 5)
    assert key.key == bytes.fromhex("0007 000000000000 00000000 0000 00")
    assert key.mask == bytes.fromhex("01ff 000000000000 00000000 ffff 00")
    assert key.priority == 5


@given(
    st.integers(0, 2**9 - 1),
    st.tuples(st.integers(0, 2**48 - 1), st.integers(1, 2**48 - 1)) | st.none(),
    st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 32)) | st.none(),
    st.tuples(st.integers(0, 2**16 - 1), st.integers(0, 2**16 - 1)) | st.none(),
    st.integers(0, 7) | st.none(),
    st.integers(1, 2**31 - 1),
    st.booleans(),
)
def test_round_trip(exact, ternary, lpm, bounds, optional, priority, padded):
    def octets(value: int) -> bytes:
        return bytes(2 if padded else 0) + value.to_bytes(
            max(1, (value.bit_length() + 7) // 8), "big"
        )

    sent = [field(1, exact={"value": octets(exact)})]
    if ternary:
        sent.append(
            field(2, ternary={"value": octets(ternary[0] & ternary[1]), "mask": octets(ternary[1])})
        )
    if lpm:
        value = lpm[0] & matches.prefix_mask(32, lpm[1])
        sent.append(field(3, lpm={"value": octets(value), "prefix_len": lpm[1]}))
    if bounds and sorted(bounds) != [0, 2**16 - 1]:
        sent.append(field(4, range={"low": octets(min(bounds)), "high": octets(max(bounds))}))
    if optional is not None:
        sent.append(field(5, optional={"value": octets(optional)}))
    key = matches.pack(MIXED, sent, priority)
    assert len(key.key) == len(key.mask or b"") == 15
    back = matches.unpack(MIXED, key)
    assert matches.pack(MIXED, back, priority) == key
    if not padded:
        assert back == sent


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ([], "key1 is missing"),
        ([field(1, exact={"value": b"\x02\0"})], "does not fit"),
        ([field(1, exact={"value": b""})], "empty"),
        ([field(1, exact={"value": b"\1"})] * 2, "twice"),
        ([field(1)], "empty match"),
        ([field(1, ternary={"value": b"\1", "mask": b"\1"})], "takes exact"),
        ([field(9, exact={"value": b"\1"})], "key1 is missing"),
        ([field(1, exact={"value": b"\1"}), field(9, exact={"value": b"\1"})], "no match field 9"),
        ([field(2, ternary={"value": b"\3", "mask": b"\1"})], "outside its mask"),
        ([field(2, ternary={"value": b"\0", "mask": b"\0"})], "leave the field out"),
        ([field(3, lpm={"value": b"\x0a\0\0\1", "prefix_len": 8})], "beyond its prefix"),
        ([field(3, lpm={"value": b"\0", "prefix_len": 0})], "prefix length 0"),
        ([field(3, lpm={"value": b"\1", "prefix_len": 33})], "prefix length 33"),
        ([field(4, range={"low": b"\5", "high": b"\4"})], "above its high bound"),
        ([field(4, range={"low": b"\0", "high": b"\xff\xff"})], "all values"),
        ([field(5, optional={"value": b"\x08"})], "does not fit"),
    ],
)
def test_what_is_refused(bad, why):
    if bad and bad[0].field_id not in (1, 9):
        bad = [field(1, exact={"value": b"\1"}), *bad]
    with pytest.raises(RpcError, match=why) as refusal:
        matches.pack(MIXED, bad, 1)
    assert refusal.value.code == INVALID_ARGUMENT


def test_range_of_the_low_byte():
    """A range like any other. BMv2's server refuses it: it takes 0xff for the greatest value of any
    width."""
    key = matches.pack(
        MIXED,
        [field(1, exact={"value": b"\x07"}), field(4, range={"low": b"\0", "high": b"\xff"})],
        1,
    )
    assert field(4, range={"low": b"\0", "high": b"\xff"}) in matches.unpack(MIXED, key)


def test_priorities():
    exact = table(Kind.EXACT, (Match.EXACT, 8))
    with pytest.raises(RpcError, match="must be 0"):
        matches.pack(exact, [field(1, exact={"value": b"\1"})], 3)
    with pytest.raises(RpcError, match="above 0"):
        matches.pack(MIXED, [field(1, exact={"value": b"\1"})], 0)
