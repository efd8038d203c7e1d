"""P4Runtime's byte strings: big endian, shortest form out, any length in.

Source: P4Runtime specification, "Bytestrings". A `bit<W>` is unsigned, an `int<W>` two's
complement.
"""

from __future__ import annotations

from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, OUT_OF_RANGE, RpcError

SHOWN_BYTES = 64  # of a value that an error quotes


def encode(value: int) -> bytes:
    """Returns the canonical string of an unsigned number: no leading zero bytes, b"\\0" for 0."""
    return value.to_bytes((value.bit_length() + 7) // 8 or 1, "big")


def decode(data: bytes, width: int, label: str, code: int = INVALID_ARGUMENT) -> int:
    """Returns the unsigned number in `data`. Raises RpcError `code` if it is empty or exceeds
    `width` bits.

    The specification requires OUT_OF_RANGE in general, and for INVALID_ARGUMENT in matches and
    action parameters.
    """
    if not data:
        raise RpcError(code, f"{label}: the value is an empty byte string")
    value = int.from_bytes(data, "big")
    if value >> width:
        raise RpcError(code, f"{label}: {_shown(value, data)} does not fit into {width} bits")
    return value


def encode_signed(value: int) -> bytes:
    """Returns the canonical string of a signed number: the shortest two's complement."""
    bits = (value if value >= 0 else ~value).bit_length() + 1
    return value.to_bytes((bits + 7) // 8, "big", signed=True)


def decode_signed(data: bytes, width: int, label: str) -> int:
    """Returns the signed number in `data`. Raises RpcError OUT_OF_RANGE if it is empty or exceeds
    `width` bits."""
    if not data:
        raise RpcError(OUT_OF_RANGE, f"{label}: the value is an empty byte string")
    value = int.from_bytes(data, "big", signed=True)
    if not -(1 << (width - 1)) <= value < 1 << (width - 1):
        raise RpcError(
            OUT_OF_RANGE, f"{label}: {_shown(value, data)} does not fit into {width} signed bits"
        )
    return value


def _shown(value: int, data: bytes) -> str:
    return f"{value:#x}" if len(data) <= SHOWN_BYTES else f"a value of {len(data)} bytes"
