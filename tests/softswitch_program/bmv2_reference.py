"""BMv2's arithmetic in Python, from its sources (Data and Field in bm_sim): integers of any size,
and what a field keeps of them. Written apart from the code generator, which tests compare with
it."""

from dataclasses import dataclass
from typing import Any


@dataclass
class Field:
    width: int
    signed: bool = False
    value: int = 0

    def set(self, value: int):
        """Field::export_bytes."""
        mask, top = (1 << self.width) - 1, (1 << (self.width - 1)) - 1
        if not self.signed:
            self.value = value & mask
        elif -top - 1 <= value <= mask:
            self.value = value
        else:
            value &= mask
            self.value = value - mask - 1 if value > top else value

    def extract(self, bits: int):
        """Field::sync_value."""
        self.value = bits - (1 << self.width) if self.signed and bits >> (self.width - 1) else bits

    @property
    def bits(self) -> int:
        return self.value & ((1 << self.width) - 1)


def evaluate(e: dict[str, Any], fields: dict[tuple[str, str], Field]):
    """Expression::eval. Quotients by zero or of negative numbers, where BMv2 has none, are zero."""
    kind, value = e["type"], e["value"]
    if kind == "hexstr":
        return int(value, 16)
    if kind == "bool":
        return value
    if kind == "field":
        return fields[tuple(value)].value
    op = value["op"]
    if op == "?":
        return evaluate(value["left" if evaluate(value["cond"], fields) else "right"], fields)
    right = evaluate(value["right"], fields)
    left = None if value["left"] is None else evaluate(value["left"], fields)
    return _apply(op, left, right)


def _apply(op: str, a, b):
    match op:
        case "+":
            return a + b
        case "-":
            return a - b if a is not None else -b
        case "*":
            return a * b
        case "/":
            return a // b if a >= 0 and b > 0 else 0
        case "%":
            return a % b if a >= 0 and b > 0 else 0
        case "<<":
            return a << b
        case ">>":
            return a >> b
        case "&":
            return a & b
        case "|":
            return a | b
        case "^":
            return a ^ b
        case "~":
            return ~b
        case "two_comp_mod":
            low = a & ((1 << b) - 1)
            return low - (1 << b) if low >> (b - 1) else low
        case "usat_cast":
            return min(max(a, 0), (1 << b) - 1)
        case "sat_cast":
            return min(max(a, -(1 << (b - 1))), (1 << (b - 1)) - 1)
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            order = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
            return order[op]
        case "and":
            return a and b
        case "or":
            return a or b
        case "not":
            return not b
        case "d2b":
            return b != 0
        case "b2d":
            return int(b)
    raise AssertionError(op)
