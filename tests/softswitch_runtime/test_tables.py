"""Tables against a brute-force model: any order of insertions, changes and removals, any lookup."""

import errno
import random
from dataclasses import dataclass

import pytest
from tables import (
    EXACT,
    EXACT1,
    EXACT2,
    EXACT3,
    EXACT4,
    EXACT6,
    EXACT20,
    EXAMPLES,
    KEYLESS,
    LPM,
    LPM6,
    LPM_AFTER_EXACT,
    OPTIONAL,
    RANGE,
    RANGE51,
    SMALL,
    TERNARY,
    TERNARY18,
    TERNARY46,
    Table,
    table,
)  # fmt: skip

# number: [(kind, width in bits)] of programs/tables.c
FIELDS = {
    EXACT: [("exact", 12), ("exact", 48)],
    LPM: [("lpm", 32)],
    LPM_AFTER_EXACT: [("exact", 3), ("lpm", 13), ("exact", 8)],
    TERNARY: [("ternary", 16), ("exact", 4), ("bits", 8)],
    RANGE: [("range", 16), ("ternary", 8), ("range", 72)],
    OPTIONAL: [("optional", 16), ("optional", 9)],
    LPM6: [("lpm", 128)],
    EXACT1: [("exact", 8)],
    EXACT2: [("exact", 9)],
    EXACT3: [("exact", 1), ("exact", 16)],
    EXACT4: [("exact", 32)],
    EXACT6: [("exact", 48)],
    TERNARY18: [("optional", 16), ("ternary", 128)],
    TERNARY46: [("ternary", 368)],
    RANGE51: [("ternary", 300), ("range", 40), ("ternary", 64)],
    EXACT20: [("exact", 160)],
}


@dataclass
class Entry:
    """One field is (value, qualifier): a prefix length, a mask, an upper bound, or unused."""

    number: int
    fields: tuple[tuple[int, int], ...]
    rank: int

    def __post_init__(self):
        """The fields that have to agree with a key's in some bits, as one number, and the
        ranges."""
        self.value = self.mask = 0
        self.ranges = []
        for i, ((kind, width), (value, qualifier)) in enumerate(
            zip(FIELDS[self.number], self.fields, strict=True)
        ):
            top = (1 << width) - 1
            mask = {"exact": top, "lpm": top ^ (top >> qualifier), "range": 0}.get(kind, qualifier)
            self.value, self.mask = self.value << width | value & mask, self.mask << width | mask
            if kind == "range":
                self.ranges.append((i, value, qualifier))

    def in_ranges(self, key: tuple[int, ...]) -> bool:
        return all(low <= key[i] <= high for i, low, high in self.ranges)


def joined(number: int, key: tuple[int, ...]) -> int:
    """A key's fields as one number, as an entry's."""
    bits = 0
    for (_, width), value in zip(FIELDS[number], key, strict=True):
        bits = bits << width | value
    return bits


def canonical(number: int, entry: Entry):
    """Equal for entries that a table holds to be the same."""
    parts: list[tuple[int, int]] = []
    for (kind, width), (value, qualifier) in zip(FIELDS[number], entry.fields, strict=True):
        if kind == "lpm":
            parts.append((value >> (width - qualifier), qualifier))
        elif kind in ("ternary", "optional", "bits"):
            parts.append((value & qualifier, qualifier))
        else:
            parts.append((value, qualifier))
    return tuple(parts), entry.rank


def brute_force(number: int, entries: dict[int, Entry], key: tuple[int, ...]) -> int:
    bits = joined(number, key)
    hits = [
        handle
        for handle, entry in entries.items()
        if bits & entry.mask == entry.value and entry.in_ranges(key)
    ]
    if not hits:
        return -1
    lpm = [i for i, (kind, _) in enumerate(FIELDS[number]) if kind == "lpm"]
    if lpm:
        return max(hits, key=lambda handle: entries[handle].fields[lpm[0]][1])
    return min(hits, key=lambda handle: (entries[handle].rank, handle))


def packed(number: int, values: tuple[int, ...]) -> bytes:
    return b"".join(
        v.to_bytes((width + 7) // 8, "big")
        for (_, width), v in zip(FIELDS[number], values, strict=True)
    )


def drawn_value(draw: random.Random, width: int) -> int:
    """Few distinct values, so that entries meet; some anywhere."""
    top = (1 << width) - 1
    few = (0, 1, top, top >> 1, top ^ (top >> 3), 0xA5 & top, 0xA4 & top)
    return draw.choice(few) if draw.random() < 0.6 else draw.getrandbits(width)


def drawn_entry(draw: random.Random, number: int, entries: dict[int, Entry]) -> Entry:
    """Often with the values of one that is there: prefixes of a prefix, the same under another
    mask."""
    fields: list[tuple[int, int]] = []
    near = draw.choice(list(entries.values())) if entries and draw.random() < 0.3 else None
    for i, (kind, width) in enumerate(FIELDS[number]):
        top = (1 << width) - 1
        value = drawn_value(draw, width) if near is None else near.fields[i][0]
        qualifier = 0
        if kind == "lpm":
            # short ones often: several end in one node
            qualifier = draw.randint(0, draw.choice((width, 6)))
        elif kind == "bits":
            qualifier = top ^ (top >> draw.randint(0, width))
        elif kind == "ternary":
            qualifier = drawn_value(draw, width)
        elif kind == "optional":
            qualifier = draw.choice((0, top))
        elif kind == "range":
            value, qualifier = sorted((value, drawn_value(draw, width)))
        fields.append((value, qualifier))
    has_rank = FIELDS[number][0][0] in ("ternary", "range", "optional")
    return Entry(number, tuple(fields), draw.randint(0, 5) if has_rank else 0)


@pytest.mark.parametrize("number", sorted(FIELDS))
def test_agrees_with_brute_force(number):
    """Small tables first, so that the first that disagrees is easy to read."""
    draw = random.Random(number)
    for most in range(2 * EXAMPLES):
        entries: dict[int, Entry] = {}
        with table(number) as under_test:
            for _ in range(1 + 30 * most // (2 * EXAMPLES)):
                if entries and draw.random() < 0.25:
                    handle = draw.choice(list(entries))
                    assert under_test.remove(handle) == 0
                    del entries[handle]
                else:
                    add(under_test, number, entries, drawn_entry(draw, number, entries))
                key = tuple(drawn_value(draw, width) for _, width in FIELDS[number])
                assert under_test.find(packed(number, key)) == brute_force(number, entries, key)
            for entry in list(entries.values()):  # keys that are surely near entries
                key = tuple(value for value, _ in entry.fields)
                assert under_test.find(packed(number, key)) == brute_force(number, entries, key)
            assert under_test.count() == len(entries)


def add(under_test: Table, number: int, entries: dict[int, Entry], entry: Entry):
    values = packed(number, tuple(value for value, _ in entry.fields))
    lpm = [
        qualifier
        for (kind, _), (_, qualifier) in zip(FIELDS[number], entry.fields, strict=True)
        if kind == "lpm"
    ]
    all_exact = all(kind == "exact" for kind, _ in FIELDS[number])
    mask = (
        None
        if lpm or all_exact
        else packed(number, tuple(qualifier for _, qualifier in entry.fields))
    )
    handle = under_test.insert(values, mask, lpm[0] if lpm else 0, entry.rank)
    if any(canonical(number, entry) == canonical(number, held) for held in entries.values()):
        assert handle == -errno.EEXIST
    else:
        assert handle >= 0
        assert handle not in entries
        entries[handle] = entry


def crowded(draw: random.Random, number: int) -> Entry:
    """Prefixes of all lengths that share a long beginning, with few values in what follows."""
    width = next(width for kind, width in FIELDS[number] if kind == "lpm")
    shared = draw.choice((0, width // 2, width - 9, width - 5, width - 5))
    value = draw.choice((0x9D3A6C51F0E24B87 << 64 | 0x5A17C3E98D0246BF, 0)) >> (128 - width)
    value ^= draw.getrandbits(draw.choice((width - shared, min(width, 5))))
    length = draw.randint(max(shared - 1, 0), width)
    field = (value >> (width - length) << (width - length), length)
    if number == LPM_AFTER_EXACT:
        return Entry(number, ((draw.choice((1, 5)), 0), field, (draw.choice((0, 7)), 0)), 0)
    return Entry(number, (field,), 0)


@pytest.mark.parametrize("most", [25, 400])
@pytest.mark.parametrize("number", [LPM, LPM_AFTER_EXACT, LPM6])
def test_crowded_prefixes(number, most):
    """Lists overflow, paths form and are left, the root grows; then everything goes again."""
    draw = random.Random(number)
    steps = 15 * EXAMPLES
    entries: dict[int, Entry] = {}
    with table(number) as under_test:
        for step in range(2 * steps):
            if entries and draw.random() < (0.2 if step < steps else 0.9):
                handle = draw.choice(list(entries))
                assert under_test.remove(handle) == 0
                near = entries.pop(handle)
            else:
                near = crowded(draw, number)
                if len(entries) < most:
                    add(under_test, number, entries, near)
            for _ in range(2):
                key = tuple(
                    value ^ draw.getrandbits(draw.randint(0, width)) if kind == "lpm" else value
                    for (kind, width), (value, _) in zip(FIELDS[number], near.fields, strict=True)
                )
                assert under_test.find(packed(number, key)) == brute_force(number, entries, key)
        for handle in list(entries):
            assert under_test.remove(handle) == 0
        assert under_test.find(packed(number, key)) == -1


@pytest.mark.parametrize("others", [0, 6, 12, 24, 48, 96])
def test_prefixes_where_a_node_reaches_beyond_the_key(others):
    """Nodes have six bits of what follows the root, which grows with the table: so the last may
    reach beyond the key, where an entry has its prefix length."""
    base = 0x20010DB8 << 96
    entries: dict[int, Entry] = {}
    with table(LPM6) as under_test:
        for i in range(others):
            add(
                under_test,
                LPM6,
                entries,
                Entry(LPM6, ((i * 0x9E3779B97F4A7C15 << 64 & (1 << 128) - 1, 128),), 0),
            )
        for length in range(128, 121, -1):
            for i in range(1 << (length - 122)):
                add(
                    under_test,
                    LPM6,
                    entries,
                    Entry(LPM6, ((base | i << (128 - length), length),), 0),
                )
        for i in range(1 << 6):
            assert under_test.find(packed(LPM6, (base | i,))) == brute_force(
                LPM6, entries, (base | i,)
            )
        for handle in list(entries)[::2]:
            assert under_test.remove(handle) == 0
            del entries[handle]
        for i in range(1 << 6):
            assert under_test.find(packed(LPM6, (base | i,))) == brute_force(
                LPM6, entries, (base | i,)
            )


WIDTHS = [
    *((EXACT, 8), (EXACT2, 2), (EXACT3, 3), (EXACT4, 4), (EXACT6, 6), (EXACT20, 20)),
    *((LPM, 4), (LPM6, 16), (TERNARY, 4)),
]


@pytest.mark.parametrize(("number", "width"), WIDTHS)
def test_many_entries_in_and_out(number, width):
    """Growth, shrinkage and reuse of handles at size; each entry is found while it is there and not
    afterwards."""
    n = 124 * EXAMPLES
    step = (1 << min(60, 8 * width - 2)) // n
    keys = [(i * step).to_bytes(width, "big") for i in range(n)]
    if number == TERNARY:  # its second field has four bits, its third stays open
        keys = [(i * 2).to_bytes(2, "big") + bytes([i % 16, 0]) for i in range(n)]
    prefix = {LPM: 32, LPM6: 128}.get(number, 0)
    mask = b"\xff\xff\xff\x00" if number == TERNARY else None
    with table(number) as under_test:
        handles = [under_test.insert(key, mask, prefix, 5) for key in keys]
        assert sorted(handles) == list(range(n))
        assert [under_test.find(key) for key in keys] == handles
        for handle in handles[::2]:
            assert under_test.remove(handle) == 0
        assert [under_test.find(key) for key in keys[::2]] == [-1] * (n // 2)
        assert [under_test.find(key) for key in keys[1::2]] == handles[1::2]
        again = [under_test.insert(key, mask, prefix, 5) for key in keys[::2]]
        assert sorted(again) == sorted(handles[::2])
        assert [under_test.find(key) for key in keys[::2]] == again


def drawn_field(draw: random.Random, kind: str, width: int) -> tuple[int, int]:
    """Of a range, bounds that begin alike, or not, and now and then the wrong way round, where
    nothing matches."""
    top = (1 << width) - 1
    value = draw.choice((0, top, draw.getrandbits(width)))
    if kind == "exact":
        return value & 3, top
    if kind == "optional":
        return value, draw.choice((0, top))
    if kind == "range":
        qualifier = value ^ draw.getrandbits(draw.randint(0, width))
        return (
            (value, qualifier)
            if draw.random() < 0.05
            else (min(value, qualifier), max(value, qualifier))
        )
    masks = (
        0,
        top & (draw.getrandbits(width) | draw.getrandbits(width)),
        top ^ top >> draw.randint(width // 2, width),
    )
    return value, draw.choice((*masks, top ^ 1 << draw.randrange(width), top, top, top, top))


RANKS = {
    "in order": lambda draw, i: i,
    "against it": lambda draw, i: -i,
    "in any order": lambda draw, i: draw.randrange(1 << 40),
    "few": lambda draw, i: draw.randrange(3),
}


SIZES = [
    (TERNARY, 6000),
    (OPTIONAL, 200),
    (RANGE, 1500),
    (TERNARY18, 1500),
    (TERNARY46, 300),
    (RANGE51, 600),
]


@pytest.mark.parametrize("ranks", list(RANKS))
@pytest.mark.parametrize(("number", "n"), SIZES)
def test_many_ranked_entries(number, n, ranks):
    """Blocks of entries split and merge where entries come and go; of thousands the summary has
    more than a word."""
    draw = random.Random(f"{number} {ranks}")
    entries: dict[int, Entry] = {}
    there: dict[object, int] = {}

    def fill(under_test: Table, most: int):
        for i in range(most - len(entries)):
            fields = tuple(drawn_field(draw, kind, width) for kind, width in FIELDS[number])
            entry = Entry(number, fields, RANKS[ranks](draw, i))
            if entries and draw.random() < 0.02:  # again, or but for its rank
                entry = Entry(
                    number, draw.choice(list(entries.values())).fields, draw.choice((entry.rank, 1))
                )
            values, others = (packed(number, side) for side in zip(*entry.fields, strict=True))
            handle = under_test.insert(values, others, 0, entry.rank)
            same = canonical(number, entry)
            assert (handle == -errno.EEXIST) == (same in there)
            if handle >= 0:
                assert handle not in entries
                entries[handle] = entry
                there[same] = handle

    def empty(under_test: Table, handles: list[int]):
        for handle in handles:
            assert under_test.remove(handle) == 0
            del there[canonical(number, entries.pop(handle))]

    def check(under_test: Table):
        assert under_test.count() == len(entries)
        for entry in draw.sample(list(entries.values()), min(len(entries), EXAMPLES)):
            key = tuple(
                draw.randint(*sorted(field))
                if kind == "range"
                else field[0] ^ draw.getrandbits(width) & ~field[1]
                for (kind, width), field in zip(FIELDS[number], entry.fields, strict=True)
            )
            changed = draw.randrange(len(key))
            near = list(key)
            near[changed] ^= 1 << draw.randrange(FIELDS[number][changed][1])
            for some in (key, tuple(near)):
                assert under_test.find(packed(number, some)) == brute_force(number, entries, some)

    with table(number) as under_test:
        fill(under_test, n)
        check(under_test)
        empty(under_test, draw.sample(sorted(entries), len(entries) // 2))
        check(under_test)
        fill(under_test, n // 2 + n // 8)
        check(under_test)
        by_rank = sorted(entries, key=lambda handle: (entries[handle].rank, handle))
        empty(under_test, by_rank[n // 8 : n // 4])  # whole blocks, and their neighbours' ends
        check(under_test)
        empty(under_test, draw.sample(sorted(entries), len(entries) * 7 // 8))
        check(under_test)
        empty(under_test, list(entries))
        assert under_test.find(bytes(sum((width + 7) // 8 for _, width in FIELDS[number]))) == -1


@pytest.mark.parametrize(
    ("number", "width"), [(EXACT1, 1), (EXACT2, 2), (EXACT3, 3), (EXACT4, 4), (EXACT6, 6)]
)
def test_every_step_of_an_exact_tables_growth(number, width):
    """Until buckets are full and spill, and the map grows, or the array does; then until it is
    empty. After each step what is there is found, and what isn't, isn't: a free slot's tag is no
    key's, and an array ends somewhere."""
    draw = random.Random(3)
    edges = {
        0, 15, 16, 17, 31, 32, 255, 256, (1 << 8 * width - 1) - 1, 1 << 8 * width - 1,
        (1 << 8 * width) - 1,
    }  # fmt: skip
    some = {value for value in edges if value < 1 << 8 * width} | set(
        draw.sample(range(1 << 8 * width), 56)
    )
    keys = [value.to_bytes(width, "big") for value in sorted(some)]
    there: dict[bytes, int] = {}
    with table(number) as under_test:
        for step in [
            *keys,
            *draw.sample(keys, len(keys)),
            *draw.sample(keys, len(keys)),
            *draw.sample(keys, len(keys)),
        ]:
            if step in there:
                assert under_test.remove(there.pop(step)) == 0
            else:
                there[step] = under_test.insert(step)
            assert [under_test.find(key) for key in keys] == [there.get(key, -1) for key in keys]
        assert not there


def test_limits_and_errors():
    with table(SMALL) as small:
        assert [small.insert(bytes([i])) for i in range(3)] == [0, 1, 2]
        assert small.insert(b"\x09") == -errno.ENOSPC
        assert small.insert(b"\x01") == -errno.ENOSPC
        assert small.remove(1) == 0
        assert small.remove(1) == -errno.ENOENT
        assert small.remove(77) == -errno.ENOENT
        assert small.insert(b"\x02") == -errno.EEXIST
        assert small.insert(b"\x09") == 1
    with table(LPM) as lpm:
        assert lpm.insert(bytes(4), None, 33) == -errno.EINVAL
        assert lpm.insert(bytes(4), None, -1) == -errno.EINVAL
    with table(KEYLESS) as keyless:
        assert keyless.find(b"") == -1
        assert keyless.insert(b"") == 0
        assert keyless.find(b"") == 0
