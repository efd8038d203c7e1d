"""Byte strings by the specification's section 8.3, written anew: the oracle shares no code with
what it judges."""


def shortest(value: int) -> bytes:
    """The canonical string of an unsigned number."""
    size = 1
    while value >= 256**size:
        size += 1
    return value.to_bytes(size, "big")


def stripped(data: bytes) -> bytes:
    """The canonical string of the unsigned number that a string holds."""
    return data.lstrip(b"\0") or b"\0"


def number(data: bytes) -> int:
    """The unsigned number that a string holds."""
    return int.from_bytes(data, "big")


def fits(data: bytes, width: int) -> bool:
    """Whether a string holds a `bit<width>`; an empty one never does."""
    return bool(data) and number(data) < 2**width


def shortest_signed(value: int) -> bytes:
    """The canonical string of a signed number, in two's complement."""
    size = 1
    while not -(2 ** (8 * size - 1)) <= value < 2 ** (8 * size - 1):
        size += 1
    return value.to_bytes(size, "big", signed=True)


def fits_signed(data: bytes, width: int) -> bool:
    """Whether a string holds an `int<width>`; an empty one never does."""
    return bool(data) and -(2 ** (width - 1)) <= int.from_bytes(data, "big", signed=True) < 2 ** (
        width - 1
    )


def stripped_signed(data: bytes) -> bytes:
    """The canonical string of the signed number that a string holds."""
    return shortest_signed(int.from_bytes(data, "big", signed=True))
