"""Chakra's execution traces (MLCommons), as ASTRA-sim has them: a file a rank, PREFIX.0.et,
PREFIX.1.et ..., each a graph of computations and messages.

A flow starts when what its node waits for is over: arrivals of other flows, each with the
computations between it and the flow, and computations since time 0.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pcn.experiments.define import collectives
from pcn.experiments.traffic.flow_files.base import (
    MOST_FLOWS,
    MOST_WAITS,
    FlowFile,
    FlowFormat,
)
from pcn.experiments.traffic.flow_files.chakra_nodes import (
    COLLECTIVE,
    RECEIVE,
    SEND,
    Node,
    read_nodes,
)
from pcn.topologies.model import FlowSpec

_NAME = re.compile(r"(.+)\.(0|[1-9][0-9]{0,6})\.et\Z")
_MOST_BYTES, _MOST_ARRIVALS = 2**30, 2**26
"""Of all ranks' files; that a rank's nodes wait for, all together."""
_COLLECTIVES = {
    0: "allreduce:ring",
    2: "allgather:ring",
    6: "alltoall:direct",
    7: "reducescatter:ring",
}
_NAMES = (
    "all-reduce",
    "reduce",
    "all-gather",
    "gather",
    "scatter",
    "broadcast",
    "all-to-all",
    "reduce-scatter",
)
_US = 1e-6


class _Ready(NamedTuple):
    """When a node is ready, or over: not before `us`, and these times after the arrivals of
    flows."""

    us: int = 0
    after: Mapping[int, int] = {}

    def later(self, us: int) -> _Ready:
        return (
            _Ready(self.us + us, {flow: delay + us for flow, delay in self.after.items()})
            if us
            else self
        )


def _latest(readies: Sequence[_Ready]) -> _Ready:
    """Returns the time when all of these are over."""
    if len(readies) == 1:
        return readies[0]
    after: dict[int, int] = {}
    for ready in readies:
        for flow, us in ready.after.items():
            after[flow] = max(after.get(flow, 0), us)
    return _Ready(max((ready.us for ready in readies), default=0), after)


@dataclass
class _Operation:
    """A collective operation of `ranks`, which is the same node in each. `last`: by place in
    `ranks`, the messages that end it there; `ready`: by rank."""

    name: str
    size: int
    ranks: tuple[int, ...]
    first: int
    messages: list[collectives.Message]
    last: Mapping[int, Sequence[int]]
    where: str
    ready: dict[int, _Ready] = field(default_factory=dict)


@dataclass
class _Trace:
    file: FlowFile
    ranks: list[list[Node]] = field(default_factory=list)
    """Each behind those that it waits for."""
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    flows: int = 0
    waits: int = 0
    arrivals: int = 0
    arrived: dict[tuple[int, int, int], list[int]] = field(default_factory=dict)
    """Flows by source, destination and tag, in the sender's order."""
    operations: dict[tuple[str, int], _Operation] = field(default_factory=dict)
    """By group, and how many the group has had."""
    place: dict[int, _Operation] = field(default_factory=dict)
    """By first flow."""

    def number(self) -> None:
        """Gives all messages and operations their flows' ids."""
        for rank, nodes in enumerate(self.ranks):
            seen: dict[str, int] = {}
            for node in nodes:
                if node.kind == SEND:
                    node.flow = self._more(1)
                    key = (rank, self._peer(rank, node, "comm_dst"), node.values.get("comm_tag", 0))
                    self.arrived.setdefault(key, []).append(node.flow)
                elif node.kind == COLLECTIVE:
                    seen[node.group] = seen.get(node.group, -1) + 1
                    node.flow = self._operation(rank, node, seen[node.group])

    def _more(self, count: int) -> int:
        first, self.flows = self.flows, self.flows + count
        if self.flows > MOST_FLOWS:
            raise self.file.error(f"more than {MOST_FLOWS:,} flows")
        return first

    def _peer(self, rank: int, node: Node, end: str) -> int:
        peer = node.values.get(end, -1)
        if not 0 <= peer < len(self.ranks) or peer == rank:
            raise self.error(
                rank, node, f"{end} {peer}: another of the {len(self.ranks)} ranks is needed"
            )
        return peer

    def _operation(self, rank: int, node: Node, turn: int) -> int:
        kind, size = node.values.get("comm_type", 0), node.values.get("comm_size", 0)
        ranks = self.groups.get(node.group)
        if ranks is None or rank not in ranks:
            lacks = "a file PREFIX.json beside it" if ranks is None else "it among its ranks"
            raise self.error(
                rank, node, f"group {node.group!r} lacks {lacks}, as {{{node.group!r}: [0, 1]}}"
            )
        if kind not in _COLLECTIVES:
            named = _NAMES[kind] if 0 <= kind < len(_NAMES) else f"operation {kind}"
            raise self.error(
                rank,
                node,
                (
                    f"{named}: {', '.join(_NAMES[collective] for collective in _COLLECTIVES)} are "
                    "known"
                ),
            )
        name = _COLLECTIVES[kind]
        size *= len(ranks) if name.startswith("allgather") else 1  # there it is a rank's part
        operation = self.operations.get((node.group, turn))
        if operation is None:
            messages: list[collectives.Message] = []
            if len(ranks) > 1:
                if len(ranks) * (len(ranks) - 1) > MOST_FLOWS:  # in any of them
                    raise self.error(rank, node, f"{name}: more than {MOST_FLOWS:,} flows")
                try:
                    messages = collectives.messages(name, len(ranks), size)
                except ValueError as error:
                    raise self.error(rank, node, str(error)) from None
            where = f"rank {rank}, node {node.number}"
            first, last = self._more(max(len(messages), 1)), collectives.ends(messages)
            operation = _Operation(name, size, ranks, first, messages, last, where)
            self.operations[node.group, turn] = self.place[operation.first] = operation
        elif (operation.name, operation.size) != (name, size):
            text = (
                f"{name} of {size} bytes, where {operation.where} has {operation.name} of "
                f"{operation.size}"
            )
            raise self.error(rank, node, text)
        return operation.first

    def flow_specs(self) -> Iterator[FlowSpec]:
        """Yields the flows, by rank, then those of operations."""
        self.number()
        for rank, nodes in enumerate(self.ranks):
            over: dict[int, _Ready] = {}
            self.arrivals = 0
            taken: dict[tuple[int, int, int], int] = {}
            for node in nodes:
                if len(node.before) > 1 or node.us:
                    self._hold(sum(len(over[earlier].after) for earlier in node.before))
                ready = _latest([over[earlier] for earlier in node.before])
                over[node.number] = ready.later(node.us)
                if node.kind == SEND:
                    size = node.values.get("comm_size", 0)
                    where = f"rank {rank}, node {node.number}: "
                    yield self._flow(node.flow, rank, node.values["comm_dst"], size, ready, where)
                    over[node.number] = _Ready(0, {node.flow: 0})
                elif node.kind == RECEIVE:
                    key = (self._peer(rank, node, "comm_src"), rank, node.values.get("comm_tag", 0))
                    taken[key] = taken.get(key, -1) + 1
                    sent = self.arrived.get(key, ())
                    if taken[key] >= len(sent):
                        text = (
                            f"rank {key[0]} sends it {len(sent)} messages with the tag {key[2]}, "
                            "and it waits for more"
                        )
                        raise self.error(rank, node, text)
                    over[node.number] = _latest([ready, _Ready(0, {sent[taken[key]]: 0})])
                elif node.kind == COLLECTIVE:
                    of = self.place[node.flow]
                    of.ready[rank] = ready
                    flows = of.last.get(of.ranks.index(rank), ())
                    over[node.number] = (
                        _Ready(0, {of.first + flow: 0 for flow in flows}) if flows else ready
                    )
        for of in self.operations.values():
            yield from self._messages(of)

    def _hold(self, arrivals: int) -> None:
        """Counts what a node waits for, which is kept while its rank is read."""
        self.arrivals += arrivals
        if self.arrivals > _MOST_ARRIVALS:
            raise self.file.error(f"nodes wait for more than {_MOST_ARRIVALS:,} arrivals")

    def _messages(self, of: _Operation) -> Iterator[FlowSpec]:
        if missing := [rank for rank in of.ranks if rank not in of.ready]:
            raise self.file.error(f"{of.where}: {of.name}, which rank {missing[0]} hasn't")
        for number, message in enumerate(of.messages):
            readies = (
                [_Ready(0, {of.first + earlier: 0 for earlier in message.after})]
                if message.after
                else []
            )
            # its rank has to be there
            if not any(of.messages[earlier].src == message.src for earlier in message.after):
                readies.append(of.ready[of.ranks[message.src]])
            src, dst = of.ranks[message.src], of.ranks[message.dst]
            yield self._flow(
                of.first + number, src, dst, message.size, _latest(readies), f"{of.where}: "
            )

    def _flow(
        self, number: int, src: int, dst: int, size: int, ready: _Ready, where: str
    ) -> FlowSpec:
        self.waits += len(ready.after)
        if self.waits > MOST_WAITS:
            raise self.file.error(f"flows wait for more than {MOST_WAITS:,} others")
        after, delays = tuple(ready.after), tuple(us * _US for us in ready.after.values())
        start_s = 0.0 if any(us >= ready.us for us in ready.after.values()) else ready.us * _US
        if len(set(delays)) == 1 and not start_s:  # a start behind all of them
            start_s, delays = delays[0], ()
        ends = self.file.host(src), self.file.host(dst)
        return self.file.checked(
            FlowSpec(number, *ends, start_s, size, after=after, after_s=delays), where=where
        )

    def error(self, rank: int, node: Node, text: str) -> Exception:
        return self.file.error(f"rank {rank}, node {node.number}: {text}")


def _files(path: Path) -> list[Path]:
    """Returns the files of all ranks, in order, the first missing one among them, and that of
    groups where there is one."""
    match = _NAME.match(path.name)
    if match is None:
        return []
    names = [_NAME.match(file.name) for file in path.parent.glob("*.et")]
    ranks = {int(name[2]) for name in names if name and name[1] == match[1]}
    missing = next(rank for rank in itertools.count() if rank not in ranks)
    wanted = sorted(ranks | {missing}) if ranks and missing < max(ranks) else sorted(ranks)
    groups = path.with_name(f"{match[1]}.json")
    return [
        *(path.with_name(f"{match[1]}.{rank}.et") for rank in wanted),
        *([groups] * groups.is_file()),
    ]


def _read(file: FlowFile) -> Iterator[FlowSpec]:
    paths = _files(file.path)
    ranks = [path for path in paths if path.suffix == ".et"]
    if missing := [path.name for path in ranks if not path.is_file()]:
        last = ranks[-1].suffixes[-2][1:]
        raise file.error(f"{missing[0]} is missing: each rank has a file, from 0 to {last}")
    if sum(path.stat().st_size for path in ranks) > _MOST_BYTES:
        raise file.error(f"more than {_MOST_BYTES // 2**20} MiB in all ranks' files")
    trace = _Trace(file)
    everyone = tuple(range(len(ranks)))
    trace.groups = {
        "": everyone,
        "0": everyone,
        **(_groups(paths[-1], len(ranks)) if paths[-1] != ranks[-1] else {}),
    }
    for path in ranks:
        trace.ranks.append(read_nodes(FlowFile(path)))
    yield from trace.flow_specs()


def _groups(path: Path, ranks: int) -> dict[str, tuple[int, ...]]:
    """Returns ranks by the names of groups, of ASTRA-sim's file of communicator groups."""
    file = FlowFile(path)
    try:
        raw = json.loads(file.text.text)
    except (ValueError, RecursionError) as error:
        raise file.error(f"no JSON: {error}") from None
    whole = isinstance(raw, dict) and all(isinstance(group, list) for group in raw.values())
    if not whole or not all(
        type(rank) is int and 0 <= rank < ranks for group in raw.values() for rank in group
    ):
        raise file.error(
            f'groups of ranks are needed, as {{"1": [0, 1]}}, of ranks 0 to {ranks - 1}'
        )
    if again := next(
        (name for name, group in raw.items() if len(set(group)) < len(group) or not group), None
    ):
        raise file.error(f"group {again!r}: a rank stands there twice, or none")
    return {name: tuple(group) for name, group in raw.items()}


CHAKRA = FlowFormat(
    name="chakra",
    recognises=lambda file: _NAME.match(file.path.name) is not None,
    read=_read,
    beside=_files,
    fields={
        "`PREFIX.RANK.et`": "a rank's graph; the files of all ranks are read, whichever is given. "
        "Rank N is the "
        "topology's Nth host, from 0",
        "`COMM_SEND_NODE`": (
            "a flow of `comm_size` bytes to `comm_dst`, which is over when it has arrived"
        ),
        "`COMM_RECV_NODE`": "over when the message of `comm_src` with its `comm_tag` has arrived, "
        "the first one for "
        "the first",
        "`COMM_COLL_NODE`": "the messages of an all-reduce, all-gather or reduce-scatter in a "
        "ring, or of an "
        "all-to-all all at once; `comm_size` of an all-gather is a rank's part. Others are refused",
        "`pg_name`": (
            "the ranks, of `PREFIX.json`, ASTRA-sim's communicator groups; without it, or `0`, all "
            "of them"
        ),
        (
            "other nodes"
        ): "last `duration_micros`; ASTRA-sim's models of memory and of rooflines aren't here",
        (
            "`ctrl_deps`, `data_deps`"
        ): "what a node waits for; a rank begins all that is ready, where ASTRA-sim begins "
        "one computation and one message at a time",
        "`involved_dim`": "refused where it isn't all dimensions",
        "types above 7": "refused",
        "names, tensors, other attributes": "left out",
    },
)
