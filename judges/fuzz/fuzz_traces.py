"""Chakra's execution traces, changed with regard to their structure: each is read, or refused by a
line.

    python judges/fuzz/fuzz_traces.py SECONDS [--seed N]

A case is the nodes of a rank with other numbers, kinds, waits and attributes, or the bytes of its
file, or the file of groups; the others' files stand beside it. fuzz_flows.py has the rules.
"""

import json
import random
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from fuzz_flows import flows_of, of_bytes
from fuzz_formats import of_tree, run

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from chakra_trace import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    COLLECTIVE,
    COMPUTE,
    RECEIVE,
    REDUCE_SCATTER,
    SEND,
    Node,
    block,
    varint,
    whole,
)

SAMPLES = ("trace.0.et", "trace.1.et", "trace.json")
GROUPS = {"1": [0, 1], "pair": [1, 0], "one": [0]}
RANKS = (
    (
        Node(0, COMPUTE, (), 7),
        Node(1, SEND, (0,), 0, {"comm_dst": 1, "comm_size": 4096, "comm_tag": 3}),
        Node(2, COLLECTIVE, (1,), 0, {"comm_type": ALL_REDUCE, "comm_size": 900, "pg_name": "1"}),
        Node(3, COLLECTIVE, (2,), 0, {"comm_type": ALL_TO_ALL, "comm_size": 900}),
        Node(
            4, COLLECTIVE, (2, 3), 0,
            {"comm_type": ALL_GATHER, "comm_size": 900, "pg_name": "pair"},
            packed=False,
        ),
        Node(
            5, COLLECTIVE, (2, 3), 0,
            {"comm_type": REDUCE_SCATTER, "comm_size": 70, "pg_name": "one"},
        ),
    ),
    (
        Node(10, RECEIVE, (), 0, {"comm_src": 0, "comm_size": 4096, "comm_tag": 3}),
        Node(11, COMPUTE, (10,), 2_000_000),
        Node(
            12, COLLECTIVE, (11,), 0,
            {"comm_type": ALL_REDUCE, "comm_size": 900, "pg_name": "1"},
            packed=False,
        ),
        Node(13, COLLECTIVE, (12,), 0, {"comm_type": ALL_TO_ALL, "comm_size": 900}),
        Node(
            14, COLLECTIVE, (12, 13), 0,
            {"comm_type": ALL_GATHER, "comm_size": 900, "pg_name": "pair"},
        ),
    ),
)  # fmt: skip
_NUMBERS = (
    0, 1, 2, 3, 4, 5, 11, 12, 2**21, 2**22, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1,
)  # fmt: skip
_KINDS = (*range(9), COMPUTE, SEND, RECEIVE, COLLECTIVE, COLLECTIVE, 2**31, -1)
_OPERATIONS = (ALL_REDUCE, BROADCAST, ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER, 8, -1)
_NAMES = (
    "comm_dst",
    "comm_src",
    "comm_size",
    "comm_tag",
    "comm_type",
    "pg_name",
    "involved_dim",
    "other",
)


@dataclass
class _Changed:
    """A node, with fields behind its own: of the same numbers (the last of a number holds), or of
    wrong kinds."""

    number: int
    kind: int
    before: list[int]
    us: int
    values: dict[str, int | str]
    packed: bool
    more: list[bytes] = field(default_factory=list)

    def encoded(self) -> bytes:
        node = Node(self.number, self.kind, self.before, self.us, self.values, self.packed)
        return node.encoded() + b"".join(self.more)


def cases(name: str, draw: random.Random) -> bytes:
    if name.endswith("json"):
        return of_tree(json.loads(json.dumps(GROUPS)), draw, as_json=True).encode(
            "utf-8", "surrogatepass"
        )
    rank = int(name.split(".")[1])
    nodes = [
        _Changed(node.number, node.kind, list(node.before), node.us, dict(node.values), node.packed)
        for node in RANKS[rank]
    ]
    kind = draw.random()
    if kind < 0.8:
        for _ in range(draw.choice((1, 1, 1, 2, 4))):
            _change(nodes, draw)
    trace = _file(nodes)
    return of_bytes(trace, draw) if kind > 0.7 else trace


def _change(nodes: list[_Changed], draw: random.Random):
    """In place, somewhere inside."""
    if not nodes:
        return
    at = draw.randrange(len(nodes))
    node = nodes[at]
    match draw.randrange(9):
        case 0:
            del nodes[at]
        case 1:
            nodes.insert(draw.randint(0, len(nodes)), node)
        case 2:
            node.number = draw.choice(_NUMBERS)
        case 3:
            node.kind = draw.choice(_KINDS)
        case 4:
            node.before = draw.choice(
                (node.before * 3, [], [draw.choice(_NUMBERS)], [node.number for node in nodes])
            )
        case 5:
            node.us = draw.choice(_NUMBERS)
        case 6:
            name = draw.choice((*_NAMES, *node.values))
            node.values[name] = draw.choice(
                (*_NUMBERS, *_OPERATIONS, "", "0", "1", "pair", "ä\n", "x" * 999)
            )
        case 7:
            node.values.pop(draw.choice((*_NAMES, *node.values)), None)
        case _:
            inner = draw.choice(
                (b"", draw.randbytes(9), b"\x0a" * 40, block(1, b"\xff"), whole(9, 2**64 - 1))
            )
            number = draw.choice((*range(11), 28, 2**28))
            node.more.append(
                draw.choice((block(number, inner), whole(number, draw.choice(_NUMBERS))))
            )


def _file(nodes: list[_Changed]) -> bytes:
    messages = [block(1, b"0.0.4"), *(node.encoded() for node in nodes)]
    return b"".join(varint(len(message)) + message for message in messages)


def judge(name: str, data: bytes) -> str:
    """`read`, or `refused`. Anything else that a reader raises goes through, and so does
    TimeoutError."""
    with tempfile.TemporaryDirectory() as folder:
        for rank, nodes in enumerate(RANKS):
            Path(folder, f"trace.{rank}.et").write_bytes(_file(list(nodes)))
        Path(folder, "trace.json").write_text(json.dumps(GROUPS))
        Path(folder, name).write_bytes(data)
        return flows_of(Path(folder, "trace.0.et"))


if __name__ == "__main__":
    sys.exit(run(__doc__, SAMPLES, cases, judge))
