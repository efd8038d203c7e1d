"""Values of fields as P4Runtime has them: bytes without leading zeros, of a width in bits. What a
program writes for one may be a number or an address.

    exact(10, 9), exact("0x0a", 9), exact("10.0.0.1", 32), exact("02:00:00:00:00:01", 48)
    lpm("10.0.0.0/8", 32), ternary("0x800/&0xff00", 16), between("1...5", 16)

Source: P4Runtime specification 1.5, 8.4 (Bytestrings) and 9.1.1 (Match Format).
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from pcn.base import ipv4

_MAC = re.compile(r"[0-9a-fA-F]{1,2}([:-])[0-9a-fA-F]{1,2}(\1[0-9a-fA-F]{1,2}){4}")
_MOST_LETTERS = 20_000
"""Of a number in text: Python reads a decimal one in the square of its length."""
_ADDRESSES: dict[type, int] = {IPv4Address: 32, IPv6Address: 128}
_NETWORKS: dict[type, int] = {IPv4Network: 32, IPv6Network: 128}


def exact(value: Any, width: int) -> bytes:
    """Returns P4Runtime's bytes of a value: a whole number, or its text (with 0x, 0o, 0b or
    decimal), or an address of the field's width, as IPv4Address, IPv6Address or text. Width 0: the
    program translates the field, and the value is a text. Raises ValueError."""
    if width == 0:
        if not isinstance(value, str):
            raise ValueError(f"invalid value for a translated field: {value!r} is no text")
        return value.encode()
    return canonical(integer(value, width), width)


def canonical(number: int, width: int) -> bytes:
    """Returns the bytes of a number that `width` bits hold, at least one."""
    return number.to_bytes((width + 7) // 8, "big").lstrip(b"\0") or b"\0"


def integer(value: Any, width: int) -> int:
    """Returns the number that a value is in a field of `width` bits. Raises ValueError."""
    if isinstance(value, int):
        number = int(value)
    elif isinstance(value, str):
        number = _read(value.strip(), width)
    elif _ADDRESSES.get(type(value)) == width:
        number = int(value)
    elif hasattr(value, "__index__"):
        number = value.__index__()
    else:
        raise _invalid("", width, value)
    if not 0 <= number < 1 << width:
        raise _invalid("", width, value)
    return number


def _read(text: str, width: int) -> int:
    if width == 32 and "." in text:
        return ipv4.number(text)
    if width == 128 and ":" in text:
        return int(IPv6Address(text))
    if width == 48 and _MAC.fullmatch(text):
        return int.from_bytes(bytes(int(part, 16) for part in re.split("[:-]", text)), "big")
    if len(text) <= _MOST_LETTERS:
        try:
            return int(text, base=0)
        except ValueError:
            pass
    raise _invalid("", width, text[:_MOST_LETTERS])


def lpm(value: Any, width: int) -> tuple[bytes, int]:
    """Returns bytes and the prefix's length: of a network, "VALUE/LENGTH" (LENGTH may be a mask of
    the address's form), (value, length), or a value that matches whole. Bits beyond the prefix are
    cleared. Raises ValueError."""
    if width == 0:
        raise _invalid(" LPM", width, value)
    if isinstance(value, str):
        start, slash, length = value.partition("/")
        prefix = _prefix(length.strip(), width) if slash else width
    elif isinstance(value, tuple):
        start, prefix = _pair(" LPM", width, value)
    elif type(value) in _NETWORKS:
        if _NETWORKS[type(value)] != width:
            raise _invalid(" LPM", width, value)
        start, prefix = value.network_address, value.prefixlen
    else:
        start, prefix = value, width
    if not isinstance(prefix, int) or not 0 <= prefix <= width:
        raise _invalid(" LPM", width, value)
    return canonical(integer(start, width) & mask_of(prefix, width), width), prefix


def _prefix(text: str, width: int) -> int:
    if any(sign in text for sign in ".:-"):
        ones = _read(text, width)
        length = ones.bit_count()
        return length if ones == mask_of(length, width) else -1
    return _read(text, width)


def mask_of(prefix: int, width: int) -> int:
    """Returns the mask of a prefix."""
    return (1 << width) - (1 << (width - prefix))


def ternary(value: Any, width: int) -> tuple[bytes, bytes]:
    """Returns the bytes of value and mask: of "VALUE/&MASK", (value, mask), what `lpm` takes as a
    text or a network, or a value that matches whole. Raises ValueError."""
    if isinstance(value, str):
        start, slash, ones = value.partition("/&")
        if slash:
            return exact(start, width), exact(ones, width)
        low, prefix = lpm(value, width)
        return low, canonical(mask_of(prefix, width), width)
    if isinstance(value, tuple):
        start, ones = _pair(" TERNARY", width, value)
        return exact(start, width), exact(ones, width)
    if type(value) in _NETWORKS:
        low, prefix = lpm(value, width)
        return low, canonical(mask_of(prefix, width), width)
    return exact(value, width), canonical((1 << width) - 1, width)


def between(value: Any, width: int) -> tuple[bytes, bytes]:
    """Returns the bytes of a range's bounds: of "LOW...HIGH" or (low, high). Raises ValueError."""
    if isinstance(value, str):
        low, dots, high = value.partition("...")
        if not dots:
            raise _invalid(" RANGE", width, value)
    else:
        low, high = _pair(" RANGE", width, value)
    return exact(low, width), exact(high, width)


def _pair(kind: str, width: int, value: Any) -> tuple[Any, Any]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise _invalid(kind, width, value)
    return value[0], value[1]


def signed(value: int, width: int) -> bytes:
    """Returns the bytes of a number of type int<width>, the fewest that keep its sign. Raises
    ValueError."""
    if not isinstance(value, int) or not -1 << (width - 1) <= value < 1 << (width - 1):
        raise _invalid(" signed", width, value)
    magnitude = value if value >= 0 else ~value
    return value.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def decoded(data: bytes, width: int, *, address: bool = False) -> Any:
    """Returns what bytes stand for: a number, or where the field is an `address` of 32, 48 or 128
    bits, IPv4Address, a text, IPv6Address; of width 0 a text. Raises ValueError."""
    if width == 0:
        return data.decode()
    number = int.from_bytes(data, "big")
    if not data or number >= 1 << width:
        raise _invalid("", width, data)
    if address and width == 32:
        return IPv4Address(number)
    if address and width == 128:
        return IPv6Address(number)
    if address and width == 48:
        return ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))
    return number


def decoded_lpm(data: bytes, prefix: int, width: int, *, address: bool = False) -> Any:
    """Returns (value, length), or where the field is an address of IPv4 or IPv6, its network.
    Raises ValueError."""
    value = decoded(data, width, address=address)
    if isinstance(value, IPv4Address):
        return IPv4Network((value, prefix))
    if isinstance(value, IPv6Address):
        return IPv6Network((value, prefix))
    return value, prefix


def _invalid(kind: str, width: int, value: Any) -> ValueError:
    return ValueError(f"invalid{kind} value for bitwidth {width}: {value!r:.200}")
