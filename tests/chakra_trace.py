"""Writes Chakra's execution traces: protobuf's encoding, by hand."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7
ALL_REDUCE, BROADCAST, ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER = 0, 5, 2, 6, 7


def varint(value: int) -> bytes:
    value %= 1 << 64
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])


def whole(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def block(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name: str, value: int | str) -> bytes:
    """As an int64, or a string."""
    payload = block(29, value.encode()) if isinstance(value, str) else whole(9, value)
    return block(10, block(1, name.encode()) + payload)


@dataclass
class Node:
    number: int
    kind: int
    before: Sequence[int] = ()
    us: int = 0
    values: Mapping[str, int | str] = field(default_factory=dict)
    packed: bool = True

    def encoded(self) -> bytes:
        fields = [
            whole(1, self.number), block(2, b"a name"), whole(3, self.kind), whole(7, self.us),
        ]  # fmt: skip
        fields += [block(5, b"".join(map(varint, self.before)))] * self.packed
        fields += [] if self.packed else [whole(4, predecessor) for predecessor in self.before]
        fields += [attribute(name, value) for name, value in self.values.items()]
        fields += [block(10, block(1, b"is_cpu_op") + whole(27, 0)), block(8, block(1, b"[1, 2]"))]
        return b"".join(fields)


def trace(
    folder: Path,
    ranks: Sequence[Iterable[Node]],
    groups: Mapping[str, list[int]] | None = None,
    name: str = "made",
) -> Path:
    """Writes a trace; returns a rank's file."""
    for rank, nodes in enumerate(ranks):
        messages = [block(1, b"0.0.4"), *(node.encoded() for node in nodes)]
        (folder / f"{name}.{rank}.et").write_bytes(
            b"".join(varint(len(message)) + message for message in messages)
        )
    if groups is not None:
        (folder / f"{name}.json").write_text(json.dumps(groups))
    return folder / f"{name}.{len(ranks) - 1}.et"
