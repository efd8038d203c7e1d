"""Arguments of entries, and of a default action: however many, wherever they stand, whatever else
an entry keeps."""

import errno
import random
from dataclasses import dataclass

import pytest
from tables import (
    CONST,
    EXACT1,
    EXACT2,
    EXACT3,
    EXACT4,
    EXACT6,
    EXAMPLES,
    LPM,
    TERNARY,
    Call,
    table,
)

COUNTER, IDLE, METER = 4, 8, 16  # enum in pipeline.h
KEEPS = {
    "nothing": 0,
    "counter": COUNTER,
    "idle": IDLE,
    "meter": METER,
    "all": COUNTER | IDLE | METER,
}


@dataclass
class Held:
    """What an entry should hold."""

    handle: int
    call: Call
    packets: int = 0
    bytes: int = 0
    used_us: int = 0


@pytest.mark.parametrize("flags", KEEPS.values(), ids=KEEPS)
@pytest.mark.parametrize(
    ("number", "width"),
    [(EXACT1, 1), (EXACT2, 2), (EXACT3, 3), (EXACT4, 4), (EXACT6, 6), (LPM, 4), (TERNARY, 4)],
)
def test_arguments_of_any_number(number, width, flags):
    """They stand in the entry, or beside it where it has no room for them. However entries and the
    default action change, they are what was written last, and what the table keeps of an entry is
    what it counted."""
    draw = random.Random(f"{number} {flags}")
    keys = [bytes(i ^ at for at in range(width)) for i in range(12)]
    if number == TERNARY:  # its last field has eight bits, its second four
        keys = [bytes((3, i, i, 0)) for i in range(12)]
    entries: dict[bytes, Held] = {}
    default: Call = ()

    def call() -> Call:
        return tuple(
            draw.choice((0, 2**64 - 1, draw.getrandbits(64))) for _ in range(draw.randint(0, 8))
        )

    with table(number, flags) as under_test:
        for now in range(1, 60 * EXAMPLES):
            key, new = draw.choice(keys), call()
            held = entries.get(key)
            match draw.randrange(8):
                case 0 if held is not None:
                    assert under_test.remove(entries.pop(key).handle) == 0
                case 1 if held is not None:
                    assert under_test.change(held.handle, new) == 0
                    held.call = new
                case 2:
                    default = draw.choice(((), new))
                    assert under_test.default(default or draw.choice((None, ()))) == 0
                case 3 | 4 if held is None:
                    handle = under_test.insert(
                        key, b"\xff" * width, 32 if number == LPM else 0, 5, new
                    )
                    assert handle >= 0
                    entries[key] = Held(handle, new)
            for some in draw.sample(keys, 3):
                length, hit = draw.randint(60, 1500), entries.get(some)
                assert under_test.apply(some, length, now) == (default if hit is None else hit.call)
                if hit is not None:
                    hit.packets, hit.bytes, hit.used_us = hit.packets + 1, hit.bytes + length, now
            for entry in entries.values():
                counted = [entry.packets, entry.bytes] if flags & COUNTER else [0, 0]
                assert under_test.usage(entry.handle) == [
                    *counted,
                    entry.used_us if flags & IDLE else 0,
                ]


@pytest.mark.parametrize("flags", KEEPS.values(), ids=KEEPS)
@pytest.mark.parametrize(("width", "number"), list(enumerate(CONST, start=1)))
def test_const_entries_and_a_default_action_with_arguments(number, width, flags):
    """The table's size is 1: all const entries are there nevertheless, and no more."""
    with table(number, flags) as under_test:
        for first in range(256):
            key = bytes((first, 0xF0, 0xFF, 0xFF))[:width]
            length = first if first in (0, 1, 2, 3, 6, 7) else 8
            assert under_test.apply(key) == tuple(range(1, length + 1))
        assert under_test.insert(bytes((8, 0xF0, 0xFF, 0xFF))[:width]) == -errno.ENOSPC
        assert under_test.default((9,)) == 0
        assert under_test.apply(b"\xff" * width) == (9,)
        assert under_test.default(None) == 0
        assert under_test.apply(b"\xff" * width) == tuple(range(1, 9))
