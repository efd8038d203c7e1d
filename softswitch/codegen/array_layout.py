"""Where the cells of counters and registers lie: those with one index together, in one or two cache
lines.

A program keeps what belongs to a port and class in many arrays of one size and reads them all with
one index. Side by side they would be a cache miss each; here the arrays of one size are one array
of records (`struct sw_place`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from pcn.softswitch.program.model import ActionNode, Program, TableNode
from pcn.softswitch.program.statements import Count, RegisterRead, RegisterWrite

COUNTER_BYTES, COUNTER_ALIGNMENT = 16, 8
LINE = 64


@dataclass(frozen=True)
class Place:
    """Cell i is at i * stride + offset of a block. Stride 0: a separate array, cell after cell."""

    block: int = 0
    offset: int = 0
    stride: int = 0


@dataclass(frozen=True)
class Cells:
    """Places by index."""

    registers: tuple[Place, ...]
    counters: tuple[Place, ...]


def cell_bytes(width: int) -> int:
    """Returns the bytes of a register's cell of up to 128 bits."""
    return next(size for size in (1, 2, 4, 8, 16) if width <= 8 * size)


def cells(program: Program) -> Cells:
    """Returns the places of a program's registers and counters. Cells of more than 128 bits stay
    apart.

    What egress uses stands first in a record: it is used for each packet that leaves, the rest
    often for few.
    """
    registers = [Place() for _ in program.registers]
    counters = [Place() for _ in program.counters]
    used_registers, used_counters = _used_by_egress(program)
    registers_of, counters_of = defaultdict(list), defaultdict(list)  # by size
    for i, register in enumerate(program.registers):
        registers_of[register.size].append((i, register.width))
    for i, counter in enumerate(program.counters):
        counters_of[counter.size].append(i)
    for block, size in enumerate(sorted({*registers_of, *counters_of})):
        # (whether it stands later, alignment, bytes, where its place goes), registers before
        # counters
        arrays = [
            (i not in used_registers, cell_bytes(width), cell_bytes(width), registers, i)
            for i, width in registers_of[size]
            if width <= 128
        ]
        arrays.sort(key=lambda array: -array[1])
        arrays += [
            (i not in used_counters, COUNTER_ALIGNMENT, COUNTER_BYTES, counters, i)
            for i in counters_of[size]
        ]
        arrays.sort(key=lambda array: array[0])
        end = 0
        offsets: list[int] = []
        for _, alignment, length, _, _ in arrays:
            offsets.append(-(-end // alignment) * alignment)
            end = offsets[-1] + length
        stride = _stride(end)
        for (_, _, _, places, i), offset in zip(arrays, offsets, strict=True):
            places[i] = Place(block, offset, stride)
    return Cells(tuple(registers), tuple(counters))


def _used_by_egress(program: Program) -> tuple[set[int], set[int]]:
    """Returns the numbers of registers and counters."""
    registers, counters = set(), set()
    for node in program.egress.nodes:
        match node:
            case ActionNode():
                actions = [node.action]
            case TableNode(_, table):
                actions = list(program.tables[table].actions)
            case _:
                actions = []
        for statement in (s for action in actions for s in program.actions[action].statements):
            match statement.operation:
                case RegisterRead() | RegisterWrite() as operation:
                    registers.add(operation.register)
                case Count(counter):
                    counters.add(counter)
    return registers, counters


def _stride(size: int) -> int:
    """Records don't straddle cache lines without need."""
    if size > LINE:
        return -(-size // LINE) * LINE
    return 1 << (size - 1).bit_length() if size else 1
