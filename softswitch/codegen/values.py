"""Values of the generated C: their kinds, their ranges, and conversions between kinds.

BMv2 computes with integers of any size. The generator tracks the range of each value, so it picks
the smallest kind that holds every value exactly: u64, i64, i128, or `wide`, two's complement in as
many limbs as the program needs. Where only the low bits matter, it computes modulo 2^64 (u64),
2^128 (u128) or in wide.
"""

from __future__ import annotations

from dataclasses import dataclass

Range = tuple[int, int]


@dataclass(frozen=True)
class Value:
    """A C expression of kind u64, i64, u128, i128 or wide, and the range of what it can be."""

    text: str
    kind: str
    range: Range


class Limbs:
    """How many limbs `wide` needs in a program; 0 while nothing is wide."""

    def __init__(self) -> None:
        self.count = 0

    def need(self, bits: int) -> None:
        """Makes room for a signed value of `bits` bits."""
        self.count = max(self.count, 3, (bits + 63) // 64)


def signed_bits(r: Range) -> int:
    """Returns the bits of the smallest two's complement that holds every value of a range."""
    return max((r[0] + 1).bit_length() if r[0] < 0 else r[0].bit_length(), r[1].bit_length()) + 1


def kind_for(r: Range, limbs: Limbs) -> str:
    """Returns the smallest kind that holds a range exactly."""
    if r[0] >= 0 and r[1] < 1 << 64:
        return "u64"
    bits = signed_bits(r)
    if bits <= 64:
        return "i64"
    if bits <= 128:
        return "i128"
    limbs.need(bits)
    return "wide"


def modular_kind(width: int, limbs: Limbs) -> str:
    """Returns the kind in which arithmetic modulo 2^width is done."""
    if width <= 64:
        return "u64"
    if width <= 128:
        return "u128"
    limbs.need(width)
    return "wide"


C_TYPES = {
    "u64": "uint64_t",
    "i64": "int64_t",
    "u128": "sw_u128",
    "i128": "sw_i128",
    "wide": "sw_wide",
}


def constant(value: int, kind: str, limbs: Limbs) -> str:
    """Returns a C constant of a kind; `value` is taken modulo the kind's size."""
    if kind == "u64":
        return f"UINT64_C({hex(value & (2**64 - 1)) if abs(value) > 9 else value & (2**64 - 1)})"
    if kind == "i64":
        return (
            f"(int64_t)UINT64_C({hex(value & (2**64 - 1))})" if value < 0 else f"INT64_C({value})"
        )
    if kind in ("u128", "i128"):
        low, high = value & (2**64 - 1), value >> 64 & (2**64 - 1)
        return f"({C_TYPES[kind]})((sw_u128)UINT64_C({hex(high)}) << 64 | UINT64_C({hex(low)}))"
    limbs.need(value.bit_length() + 1)
    return f"SW_CONST({value:#x})"


def wide_constant(value: int, count: int) -> str:
    """Returns a wide constant, once the number of limbs is known."""
    words = [f"UINT64_C({hex(value >> (64 * i) & (2**64 - 1))})" for i in range(count)]
    return f"((sw_wide){{{{{', '.join(words)}}}}})"


def convert(value: Value, kind: str, limbs: Limbs) -> str:
    """Returns the value as another kind: exactly where it fits, else modulo the kind's size."""
    if value.kind == kind:
        return value.text
    if kind == "wide":
        limbs.need(3 * 64)
        return f"sw_wide_from_{value.kind}({value.text})"
    if value.kind == "wide":
        if kind in ("u64", "i64"):
            return f"({C_TYPES[kind]})({value.text}).w[0]"
        return f"({C_TYPES[kind]})sw_wide_low128({value.text})"
    return f"({C_TYPES[kind]})({value.text})"


def unsigned_range(width: int) -> Range:
    return 0, (1 << width) - 1


def signed_range(width: int) -> Range:
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


def within(r: Range, outer: Range) -> bool:
    return outer[0] <= r[0] and r[1] <= outer[1]


def union(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])
