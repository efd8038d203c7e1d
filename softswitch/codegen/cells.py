"""Where the cells of counters and registers lie: those with one index together, in one or two cache lines.

A program keeps what belongs to a port and class in many arrays of one size and reads them all with one index. Side by
side they would be a cache miss each; here the arrays of one size are one array of records (`struct sw_place`).
"""

from __future__ import annotations

from dataclasses import dataclass

from softswitch.program.model import Program

COUNTER_BYTES, COUNTER_ALIGNMENT = 16, 8
LINE = 64


@dataclass(frozen=True)
class Place:
    """Cell i is at i * stride + offset of a block. Stride 0: an array of its own, cell after cell."""

    block: int = 0
    offset: int = 0
    stride: int = 0


@dataclass(frozen=True)
class Cells:
    """Places by index."""

    registers: tuple[Place, ...]
    counters: tuple[Place, ...]


def cell_bytes(width: int) -> int:
    """Bytes of a register's cell of up to 128 bits."""
    return next(size for size in (1, 2, 4, 8, 16) if width <= 8 * size)


def cells(program: Program) -> Cells:
    """The places of a program's registers and counters. Cells of more than 128 bits stay apart."""
    registers = [Place() for _ in program.registers]
    counters = [Place() for _ in program.counters]
    sizes = sorted({r.size for r in program.registers} | {c.size for c in program.counters})
    for block, size in enumerate(sizes):
        mine = [i for i, r in enumerate(program.registers) if r.size == size and r.width <= 128]
        mine.sort(key=lambda i: -cell_bytes(program.registers[i].width))
        counted = [i for i, c in enumerate(program.counters) if c.size == size]
        end = 0
        offsets: list[int] = []
        for i in mine:
            offsets.append(end)
            end += cell_bytes(program.registers[i].width)
        if counted:
            end = -(-end // COUNTER_ALIGNMENT) * COUNTER_ALIGNMENT
        first_counter = end
        end += COUNTER_BYTES * len(counted)
        stride = _stride(end)
        for i, offset in zip(mine, offsets, strict=True):
            registers[i] = Place(block, offset, stride)
        for number, i in enumerate(counted):
            counters[i] = Place(block, first_counter + COUNTER_BYTES * number, stride)
    return Cells(tuple(registers), tuple(counters))


def _stride(size: int) -> int:
    """Records don't straddle cache lines without need."""
    if size > LINE:
        return -(-size // LINE) * LINE
    return 1 << (size - 1).bit_length() if size else 1
