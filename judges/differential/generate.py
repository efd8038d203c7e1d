"""Programs' entries and packets, from a seed. Each packet is a port and bytes; each entry is in
plain values."""

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

PORTS = (1, 2, 3, 4)
# Where the interesting values are.
EDGES = (0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 63, 64, 65, 127, 128, 129, 200, 254, 255)


@dataclass(frozen=True)
class Entry:
    """A table entry. Keys as p4rt_client.Names.match has them; a key that is absent doesn't
    matter."""

    table: str
    keys: dict[str, Any]
    action: str
    params: dict[str, int]
    priority: int = 0
    meter: list[int] | None = None  # bursts: committed, peak


@dataclass(frozen=True)
class Setup:
    """What the control plane does before the packets."""

    entries: list[Entry] = field(default_factory=list)
    defaults: list[Entry] = field(default_factory=list)
    # number: port and instance of each copy
    groups: dict[str, list[list[int]]] = field(default_factory=dict)
    clones: dict[str, list[list[int]]] = field(default_factory=dict)
    # name, index, committed burst, peak burst
    meters: list[list[Any]] = field(default_factory=list)
    digest: str = ""
    # after half of the packets: modify or delete, entry, params
    changes: list[list[Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Packet:
    port: int
    frame: bytes


Case = tuple[Setup, list[Packet]]


def generate(program: str, seed: int, packets: int) -> Case:
    """A program's case; the same for the same seed."""
    rng = random.Random(f"{program} {seed}")
    setup, frames = _GENERATORS[program](rng)
    sent = []
    for _ in range(packets):
        frame = next(frames)
        if rng.random() < 0.06:  # a frame that ends early; below 14 bytes no interface takes it
            frame = frame[: rng.randint(14, max(14, len(frame) - 1))]
        sent.append(Packet(rng.choice(PORTS), frame))
    return setup, sent


def _ethernet(rng: random.Random, kind: int) -> bytes:
    return rng.randbytes(12) + struct.pack("!H", kind)


def _octet(rng: random.Random) -> int:
    return rng.choice(EDGES) if rng.random() < 0.6 else rng.randrange(256)


def _number(rng: random.Random, width: int) -> int:
    """Of `width` bits; often near zero, the greatest or the sign's edge."""
    top, draw = 1 << width, rng.random()
    if draw < 0.5:
        return rng.randrange(top)
    return (rng.choice((0, top, top >> 1)) + rng.randint(-2, 2)) % top


def _headers(rng: random.Random) -> tuple[Setup, Iterator[bytes]]:
    def frames() -> Iterator[bytes]:
        while True:
            kind = rng.choice(
                (0x1000, 0x1000, 0x2000, 0x2000, 0x2003, 0x3000, 0x4000, 0x5000, 0x6000, 0x9999)
            )
            version = 15 if rng.random() < 0.05 else rng.randrange(15)
            head = bytes(
                (
                    version << 4 | rng.randrange(16),
                    rng.choice((0, 1, 2, 3, 7, 8, 9, 0x15, rng.randrange(64))),
                )
            )
            body = rng.randbytes(rng.randint(0, 40))
            if kind == 0x1000:
                depth = rng.randint(1, 4)
                labels = [rng.randrange(1 << 32) & ~0x100 for _ in range(depth)]
                labels[-1] |= 0x100
                body = b"".join(struct.pack("!I", label) for label in labels) + body
            elif kind == 0x2000:
                count = rng.randint(0, 10)
                body = bytes((rng.randrange(256), count)) + rng.randbytes(count) + body
            elif kind == 0x3000:
                body = bytes((rng.choice((0, 50, 99, 100, 150, 199, 200, 255)),)) + body
            elif kind == 0x6000:
                many = [
                    rng.choice((bytes((9,)) + rng.randbytes(1), bytes((109,)) + rng.randbytes(5)))
                    for _ in range(3)
                ]
                body = (
                    b"".join(many[: rng.randint(0, 3)]) + bytes((rng.choice((0, 100, 255)),)) + body
                )
            yield _ethernet(rng, kind) + head + body

    return Setup(), frames()


def _expressions(rng: random.Random) -> tuple[Setup, Iterator[bytes]]:
    widths = (48, 48, 16, 8, 8, 8, 8, 16, 13, 11, 64, 64, 64, 64, 128, 128, 128, 128, 512, 512)

    def frames() -> Iterator[bytes]:
        while True:
            value = 0
            for number, width in enumerate(widths):
                part = _octet(rng) if number == 7 else _number(rng, width)
                value = value << width | part
            yield value.to_bytes(sum(widths) // 8, "big") + rng.randbytes(rng.randint(0, 9))

    return Setup(), frames()


ADDRESSES = (0, 0x0A000001, 0x0A000002, 0x0A0000FF, 0x0A010203, 0x0AFFFFFF, 0x80000000, 0xFFFFFFFF)
NUMBERS = (0, 1, 9, 10, 11, 100, 255, 256, 1000, 65535)
SMALL = (0, 1, 2, 3, 5, 255)
SIXTEEN = (0, 0x0010, 0x0011, 0x001F, 0x0110, 0x01FF, 0x1234, 0xFFFF)
WIDE = (0, 1, 1 << 64, (1 << 128) - 1, 0x0123456789ABCDEF << 64 | 0xFEDCBA9876543210)


COUNTED = ("exact_keys", "masks", "ranges")


def _lookups(rng: random.Random) -> tuple[Setup, Iterator[bytes]]:
    entries: dict[tuple[Any, ...], Entry] = {}

    def add(table: str, keys: dict[str, Any], action: str, priority: int = 0, **params: int):
        # An entry with no key that matters must have a match on some targets' tables; and the same
        # twice is an error.
        entries.setdefault(
            (table, repr(sorted(keys.items())), priority),
            Entry(table, keys, action, params, priority),
        )

    def value() -> int:
        return rng.randrange(1, 1 << 16)

    def some(**keys) -> dict[str, Any]:
        return {name: key for name, key in keys.items() if rng.random() < 0.7}

    def masked(choices: tuple[int, ...], width: int) -> list[int] | None:
        mask = rng.choice(((1 << width) - 1, _number(rng, width), 0xF0 % (1 << width)))
        return [rng.choice(choices) & mask, mask] if mask else None

    def prefix(width: int = 32) -> list[int]:
        length = rng.choice((1, 7, 8, 16, 24, 25, 31, 32))
        return [rng.choice(ADDRESSES) >> (width - length) << (width - length), length]

    def interval(choices: tuple[int, ...], top: int) -> list[int] | None:
        low, high = sorted((rng.choice(choices), rng.choice(choices)))
        # Unlike the switch, BMv2 takes 0 .. 255 of any width for all values, and refuses it.
        return None if low == 0 and high in (255, top) else [low, high]

    def specified(keys: dict[str, Any]) -> dict[str, Any]:
        return {name: key for name, key in keys.items() if key is not None}

    for _ in range(14):
        keys = {
            "a": rng.choice(SMALL),
            "b": rng.choice(SIXTEEN) >> 4 & 0xFF,
            "valid": rng.random() < 0.9,
        }
        keys["valid"] = int(keys["valid"])
        if rng.random() < 0.5:
            add("exact_keys", keys, "set_exact", value=value())
        else:
            add("exact_keys", keys, "add_exact", value=value(), shift=rng.randrange(8))
        keys = {"c": rng.choice(SMALL)} | some(address=prefix())
        if rng.random() < 0.8:
            add("prefixes", keys, "set_lpm", value=value())
        else:
            add("prefixes", keys, "out_of", port=rng.choice(PORTS))
        keys = specified(
            some(b=masked(SIXTEEN, 16), address=prefix(), odd=masked((0, 16, 17, 31, 127), 7))
        )
        action = rng.choice(("set_ternary", "set_ternary", "out_of", "drop", "swap"))
        params = {
            "set_ternary": {"value": value()},
            "out_of": {"port": 3},
            "drop": {},
            "swap": {"with": 2},
        }[action]
        add("masks", keys, action, rng.randint(1, 6), **params)
        keys = specified(
            some(number=interval(NUMBERS, 65535), a=masked(SMALL, 8), c=interval(SMALL, 255))
        )
        add("ranges", keys, "set_range", rng.randint(1, 9), value=value())
        keys = some(a=rng.choice(SMALL), number=rng.choice(NUMBERS))
        if rng.random() < 0.85:
            add("options", keys, "set_optional", rng.randint(1, 4), value=value())
        else:
            add("options", keys, "leave", rng.randint(1, 4))
        keys = specified({"wide": masked(WIDE, 128)})
        add("wides", keys, "set_wide", rng.randint(1, 5), value=_number(rng, 128))
    for wide in WIDE[:3]:
        add("wide_exact", {"wide": wide}, "set_wide", value=_number(rng, 128))
    defaults = [
        Entry("exact_keys", {}, "set_exact", {"value": value()}),
        Entry("prefixes", {}, "set_lpm", {"value": value()}),
        Entry("always", {}, "set_keyless", {"value": value(), "number": rng.randrange(1 << 15)}),
    ]

    def frames() -> Iterator[bytes]:
        while True:
            a, c = rng.choice(SMALL), rng.choice(SMALL)
            b, number = rng.choice(SIXTEEN), rng.choice(NUMBERS)
            address = rng.choice(ADDRESSES) ^ (1 << rng.randrange(32) if rng.random() < 0.3 else 0)
            wide = rng.choice(WIDE) ^ (1 << rng.randrange(128) if rng.random() < 0.2 else 0)
            keys = struct.pack("!BHIHB", a, b, address, number, c) + wide.to_bytes(16, "big")
            yield _ethernet(rng, 0x0900) + keys + rng.randbytes(rng.randint(0, 30))

    entry_list = list(entries.values())
    changes: list[list[Any]] = []
    for number, entry in enumerate(entry_list):
        draw = rng.random()
        if draw < 0.1 and entry.table not in COUNTED:  # a counter is read at the end, by its entry
            changes.append(["delete", number, {}])
        elif draw < 0.3:
            changes.append(
                ["modify", number, {name: value & 0x7F for name, value in entry.params.items()}]
            )
    return Setup(entry_list, defaults, changes=changes), frames()


def _state(rng: random.Random) -> tuple[Setup, Iterator[bytes]]:
    entries = [Entry("policing", {"a": a}, "police", {}, 0, [3 + a, 8 + a]) for a in (1, 2)]
    entries += [Entry("policing", {"a": 3}, "police", {})]
    meters = [["limits", 1, 4, 9], ["limits", 2, 1, 1], ["byte_limits", 0, 300, 900]]
    meters += [["byte_limits", 3, 50, 2000]]

    def frames() -> Iterator[bytes]:
        while True:
            kind = rng.choice((0x0800, 0x0800, 0x0801, 0x9999))
            fields = bytes((_octet(rng), rng.choice((0, 1, 2, 3, 9, 10, rng.randrange(256)))))
            fields += (
                rng.randbytes(10)
                + _number(rng, 128).to_bytes(16, "big")
                + _number(rng, 16).to_bytes(2, "big")
            )
            fields += _number(rng, 16).to_bytes(2, "big")
            body = rng.randbytes(rng.randint(0, 50))
            if kind == 0x0800:
                count = rng.choice((0, 2, 4, 8, 8, 9))
                ip = bytes((rng.choice((0x40, 0x50)) | count, 0)) + rng.randbytes(2)
                options = rng.randbytes(count)
                total = sum(
                    struct.unpack(f"!{(4 + count) // 2}H", (ip + options)[: (4 + count) // 2 * 2])
                )
                total = (total & 0xFFFF) + (total >> 16)
                total = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
                if rng.random() < 0.3:
                    total ^= 1 << rng.randrange(16)
                body = ip + struct.pack("!H", total) + options + body
            yield _ethernet(rng, kind) + fields + body

    return Setup(entries, meters=meters), frames()


def _paths(rng: random.Random) -> tuple[Setup, Iterator[bytes]]:
    groups = {"1": [[2, 1], [3, 2]], "2": [[1, 0], [1, 2], [4, 7]], "3": [[4, 65535]]}
    # Session 3 has two copies; 9 has none at all.
    clones = {"1": [[4, 0]], "2": [[3, 5]], "3": [[1, 1], [4, 2]], "5": [[2, 9]], "6": [[3, 9]]}
    serial = 0

    def bits(*likely: int) -> int:
        value = 0
        for bit in likely:
            if rng.random() < 0.25:
                value |= 1 << bit
        return value

    def frames() -> Iterator[bytes]:
        nonlocal serial
        while True:
            serial += 1
            ingress, egress = bits(0, 1, 2, 3, 5, 6, 7), bits(0, 1, 2, 3, 4, 5, 6)
            if rng.random() < 0.08:
                ingress |= 16
            port = rng.choice((*PORTS, *PORTS, 511, 77))
            rounds = rng.randint(0, 2)
            packed = port << 7 | rng.randrange(8) << 4 | rounds
            frame = struct.pack(
                "!BBHHH", ingress, egress, packed, rng.choice((1, 2, 3, 9)),
                rng.choice((14, 20, 60, 500)),
            )  # fmt: skip
            yield (
                _ethernet(rng, 0x0900)
                + frame
                + struct.pack("!I", serial)
                + rng.randbytes(rng.randint(0, 60))
            )

    return Setup(groups=groups, clones=clones, digest="learned_t"), frames()


_GENERATORS = {
    "headers": _headers,
    "expressions": _expressions,
    "lookups": _lookups,
    "state": _state,
    "paths": _paths,
}
PROGRAMS = tuple(_GENERATORS)
