"""Collective operations as messages that wait for others: all-reduce, all-gather, reduce-scatter,
all-to-all, pipeline.

Ranks are numbered from 0. `size` is the operation's buffer in bytes, as MPI and NCCL count it: of
an all-gather what each rank has at the end, of a reduce-scatter and an all-to-all what each has
before. A rank sends a step's message when its message of the step before has arrived and it has
received that step's: a blocking send and receive.

Ring and halving-doubling: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective
Communication Operations in MPICH", 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pcn.topologies.model import FlowSpec

MOST_MESSAGES = 2**22
"""Of an operation and all its repetitions."""


class Message(NamedTuple):
    """From rank to rank. `after`: numbers of messages, places in their list, that arrive before it
    starts."""

    src: int
    dst: int
    size: int
    after: tuple[int, ...] = ()


@dataclass
class _Schedule:
    messages: list[Message] = field(default_factory=list)

    def send(self, src: int, dst: int, size: int, after: Iterable[int | None] = ()) -> int:
        """Adds a message after those that aren't None; returns its number. Raises ValueError for
        too many."""
        if len(self.messages) == MOST_MESSAGES:
            raise ValueError(f"more than {MOST_MESSAGES:,} messages: give fewer ranks or chunks")
        self.messages.append(
            Message(
                src,
                dst,
                size,
                tuple(sorted({predecessor for predecessor in after if predecessor is not None})),
            )
        )
        return len(self.messages) - 1


def _part(size: int, parts: int, number: int) -> int:
    """Returns the bytes of one of `parts` parts that differ by a byte at most."""
    return size // parts + (number % parts < size % parts)


def _ring(ranks: int, size: int, steps: int) -> list[Message]:
    """Returns the messages of a ring, in which rank r sends part r - step of the buffer to r +
    1."""
    schedule = _Schedule()
    last: list[int] | None = None
    for step in range(steps):
        last = [
            schedule.send(
                rank,
                (rank + 1) % ranks,
                _part(size, ranks, rank - step),
                () if last is None else (last[rank - 1], last[rank]),
            )
            for rank in range(ranks)
        ]
    return schedule.messages


def _exchanges(ranks: int, size: int, halving: bool, doubling: bool) -> list[Message]:
    """Exchanges with the rank whose number differs in one bit: halves of what a rank still has,
    from the highest bit down (reduce-scatter); then the same parts back, from the lowest bit up
    (all-gather)."""
    bits = ranks.bit_length() - 1
    schedule = _Schedule()
    last: list[int | None] = [None] * ranks
    spans = [[(0, size)] for _ in range(ranks)]
    for bit in reversed(range(bits)):
        for rank in range(ranks):
            low, high = spans[rank][-1]
            middle = low + (high - low + 1) // 2
            spans[rank].append((middle, high) if rank >> bit & 1 else (low, middle))
    steps = [(bit, True) for bit in reversed(range(bits))] * halving + [
        (bit, False) for bit in range(bits)
    ] * doubling
    before = 0  # the bit of the step before
    for bit, halves in steps:
        sent = []
        for rank in range(ranks):
            peer = rank ^ 1 << bit
            # the peer's half, or all that the rank has
            low, high = spans[peer if halves else rank][bits - bit]
            sent.append(
                schedule.send(rank, peer, high - low, (last[rank], last[rank ^ 1 << before]))
            )
        last, before = [*sent], bit
    return schedule.messages


def _tree(ranks: int, size: int, chunks: int) -> list[Message]:
    """Returns the messages up a binary tree in which rank r's parent is (r - 1) / 2, summed on the
    way, and down again; chunk by chunk."""
    schedule = _Schedule()
    up: list[int | None] = [None] * ranks
    down: list[int | None] = [None] * ranks
    for chunk in range(chunks):
        part = _part(size, chunks, chunk)
        above, up = up, [None] * ranks
        for rank in reversed(range(1, ranks)):
            children = [up[child] for child in (2 * rank + 1, 2 * rank + 2) if child < ranks]
            up[rank] = schedule.send(rank, (rank - 1) // 2, part, (*children, above[rank]))
        before, down = down, [None] * ranks
        for rank in range(1, ranks):
            parent = (rank - 1) // 2
            sources = [down[parent]] if parent else [up[child] for child in (1, 2) if child < ranks]
            down[rank] = schedule.send(parent, rank, part, (*sources, before[rank]))
    return schedule.messages


def _all_to_all(ranks: int, size: int) -> list[Message]:
    schedule = _Schedule()
    for step in range(1, ranks):
        for src in range(ranks):
            dst = (src + step) % ranks
            schedule.send(src, dst, _part(size, ranks, dst))
    return schedule.messages


def _pairwise(ranks: int, size: int) -> list[Message]:
    """Returns messages: in step s rank r sends to r + s and receives from r - s."""
    schedule = _Schedule()
    last: list[int | None] = [None] * ranks
    for step in range(1, ranks):
        last = [
            schedule.send(
                rank,
                (rank + step) % ranks,
                _part(size, ranks, rank + step),
                (last[rank], last[(rank - step + 1) % ranks] if step > 1 else None),
            )
            for rank in range(ranks)
        ]
    return schedule.messages


def _pipeline(ranks: int, size: int, chunks: int, back: bool) -> list[Message]:
    """Returns the messages of each chunk from stage to stage; then, with `back`, each from the last
    stage to the first, as GPipe trains."""
    schedule = _Schedule()
    before: list[int | None] = [None] * ranks
    first_back: int | None = None
    for chunk in range(chunks):
        arrived: int | None = None
        for rank in range(ranks - 1):
            before[rank] = arrived = schedule.send(
                rank, rank + 1, _part(size, chunks, chunk), (arrived, before[rank])
            )
        first_back = arrived
    if back:
        before = [None] * ranks
        for chunk in range(chunks):
            arrived = first_back
            for rank in reversed(range(1, ranks)):
                before[rank] = arrived = schedule.send(
                    rank, rank - 1, _part(size, chunks, chunk), (arrived, before[rank])
                )
    return schedule.messages


Build = Callable[[int, int, int], list[Message]]
"""Messages by ranks, size and chunks."""
COLLECTIVES: dict[str, dict[str, Build]] = {
    "allreduce": {
        "ring": lambda ranks, size, chunks: _ring(ranks, size, 2 * (ranks - 1)),
        "halving-doubling": lambda ranks, size, chunks: _exchanges(ranks, size, True, True),
        "tree": _tree,
    },
    "allgather": {
        "ring": lambda ranks, size, chunks: _ring(ranks, size, ranks - 1),
        "doubling": lambda ranks, size, chunks: _exchanges(ranks, size, False, True),
    },
    "reducescatter": {
        "ring": lambda ranks, size, chunks: _ring(ranks, size, ranks - 1),
        "halving": lambda ranks, size, chunks: _exchanges(ranks, size, True, False),
    },
    "alltoall": {
        "direct": lambda ranks, size, chunks: _all_to_all(ranks, size),
        "pairwise": lambda ranks, size, chunks: _pairwise(ranks, size),
    },
    "pipeline": {
        "forward": lambda ranks, size, chunks: _pipeline(ranks, size, chunks, False),
        "gpipe": lambda ranks, size, chunks: _pipeline(ranks, size, chunks, True),
    },
}
"""By operation and algorithm; the first algorithm of each is its default."""
CHUNKED = ("allreduce:tree", "pipeline:forward", "pipeline:gpipe")
_POWERS = ("halving-doubling", "doubling", "halving")


def names() -> list[str]:
    """Returns all names, as `OPERATION:ALGORITHM`."""
    return [
        f"{operation}:{algorithm}"
        for operation, algorithms in COLLECTIVES.items()
        for algorithm in algorithms
    ]


def collective(name: str) -> str:
    """Returns the full name of `OPERATION` or `OPERATION:ALGORITHM`, in any case; empty if it isn't
    one."""
    operation, _, algorithm = name.lower().partition(":")
    known = COLLECTIVES.get(operation, {})
    chosen = algorithm or next(iter(known), "")
    return f"{operation}:{chosen}" if chosen in known else ""


def messages(name: str, ranks: int, size: int, chunks: int = 1) -> list[Message]:
    """Returns the messages of a collective by its full name. Raises ValueError for ranks, sizes or
    chunks it can't have."""
    operation, _, algorithm = name.partition(":")
    if ranks < 2:
        raise ValueError(f"{name} needs at least 2 ranks, not {ranks}")
    if algorithm in _POWERS and ranks & (ranks - 1):
        near = 1 << (ranks.bit_length() - 1)
        raise ValueError(f"{name} needs a power of two ranks, not {ranks}: {near} or {2 * near}")
    if chunks > 1 and name not in CHUNKED:
        raise ValueError(f"{name} has no chunks; {', '.join(CHUNKED)} have")
    parts = chunks if name in CHUNKED else ranks
    if size < parts:
        raise ValueError(f"{name}: {size} bytes make no {parts} parts of at least a byte")
    return COLLECTIVES[operation][algorithm](ranks, size, chunks)


def repeated(once: Sequence[Message], times: int) -> list[Message]:
    """Returns the messages `times` times: a rank begins again when all that it sends and receives
    has arrived. Raises ValueError for too many."""
    if len(once) * times > MOST_MESSAGES:
        raise ValueError(f"{times:,} times {len(once):,} messages: more than {MOST_MESSAGES:,}")
    last = ends(once)
    messages: list[Message] = []
    for time in range(times):
        first = time * len(once)
        for message in once:
            if message.after:
                after = tuple(first + predecessor for predecessor in message.after)
            else:
                after = (
                    tuple(first - len(once) + predecessor for predecessor in last[message.src])
                    if time
                    else ()
                )
            messages.append(message._replace(after=after))
    return messages


def ends(once: Sequence[Message]) -> dict[int, list[int]]:
    """Returns by rank its messages that none of its others wait for."""
    awaited: dict[int, set[int]] = {}
    by_rank: dict[int, list[int]] = {}
    for number, message in enumerate(once):
        for rank in (message.src, message.dst):
            by_rank.setdefault(rank, []).append(number)
            for predecessor in message.after:
                if rank in once[predecessor][:2]:
                    awaited.setdefault(rank, set()).add(predecessor)
    return {
        rank: [number for number in numbers if number not in awaited.get(rank, ())]
        for rank, numbers in by_rank.items()
    }


def flows(
    messages: Sequence[Message],
    hosts: Sequence[str],
    group: str,
    wait_s: float = 0.0,
    first_id: int = 0,
) -> list[FlowSpec]:
    """Returns a flow for each message, between the ranks' hosts. `wait_s`: from what a message
    waits for to its start, for a sum or other work."""
    return [
        FlowSpec(
            first_id + number,
            hosts[message.src],
            hosts[message.dst],
            wait_s if message.after else 0.0,
            message.size,
            group=group,
            after=tuple(first_id + predecessor for predecessor in message.after),
        )
        for number, message in enumerate(messages)
    ]
