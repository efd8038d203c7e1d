"""Byte strings: the specification's tables of examples, and round trips."""

import pytest
from hypothesis import given, strategies as st

from pcn.softswitch.p4runtime import bytestring
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, OUT_OF_RANGE, RpcError


@pytest.mark.parametrize(
    ("width", "data", "value"),
    [
        (8, "63", 99),
        (16, "0063", 99),
        (16, "63", 99),
        (16, "3064", 12388),
        (16, "003064", 12388),
        (12, "0063", 99),
        (12, "000063", 99),
        (1, "00000001", 1),
    ],
)
def test_valid_unsigned(width, data, value):
    assert bytestring.decode(bytes.fromhex(data), width, "x") == value


@pytest.mark.parametrize(
    ("width", "data"),
    [(8, "0163"), (8, ""), (16, "010063"), (12, "1063"), (12, "010063"), (12, "004063")],
)
def test_invalid_unsigned(width, data):
    with pytest.raises(RpcError) as refusal:
        bytestring.decode(bytes.fromhex(data), width, "key dst")
    assert refusal.value.code == INVALID_ARGUMENT
    assert "key dst" in refusal.value.message


@pytest.mark.parametrize(
    ("width", "data", "value"),
    [
        (8, "63", 99),
        (8, "9d", -99),
        (8, "ff9d", -99),
        (12, "fd1d", -739),
        (16, "0000", 0),
        (16, "00", 0),
    ],
)
def test_valid_signed(width, data, value):
    assert bytestring.decode_signed(bytes.fromhex(data), width, "x") == value


@pytest.mark.parametrize(("width", "data"), [(8, "009d"), (12, "8d1d"), (16, "")])
def test_invalid_signed(width, data):
    with pytest.raises(RpcError) as refusal:
        bytestring.decode_signed(bytes.fromhex(data), width, "x")
    assert refusal.value.code == OUT_OF_RANGE


@given(st.integers(0, 2**200), st.integers(0, 5))
def test_unsigned_round_trip(value, padding):
    encoded = bytestring.encode(value)
    assert len(encoded) == max(1, (value.bit_length() + 7) // 8)
    assert bytestring.decode(bytes(padding) + encoded, max(1, value.bit_length()), "x") == value
    if value:
        with pytest.raises(RpcError):
            bytestring.decode(encoded, value.bit_length() - 1, "x")


@given(st.integers(-(2**200), 2**200), st.integers(0, 5))
def test_signed_round_trip(value, padding):
    encoded = bytestring.encode_signed(value)
    width = (value if value >= 0 else ~value).bit_length() + 1
    assert len(encoded) == (width + 7) // 8
    extension = (b"\xff" if value < 0 else b"\0") * padding
    assert bytestring.decode_signed(extension + encoded, width, "x") == value


@given(st.binary(max_size=40), st.integers(1, 300))
def test_any_bytes_decode_or_are_refused(data, width):
    try:
        value = bytestring.decode(data, width, "x")
    except RpcError:
        assert not data or int.from_bytes(data, "big") >= 1 << width
    else:
        assert value == int.from_bytes(data, "big")
