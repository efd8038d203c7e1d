"""Chakra's execution traces: flows start when what their nodes wait for is over; what isn't known
is refused."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow.parquet as pq
import pytest
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
    trace,
    varint,
    whole,
)
from hypothesis import given, strategies as st

from pcn.cli import run as pcn
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.define import collectives
from pcn.experiments.traffic.flow_files.csv_file import written
from pcn.experiments.traffic.flow_files.reading import files_of, read_flows
from pcn.experiments.traffic.spec import from_reference, parse_spec
from pcn.topologies.model import FlowSpec
from pcn.topologies.star import star

NAMES = {
    ALL_REDUCE: "allreduce:ring",
    ALL_GATHER: "allgather:ring",
    ALL_TO_ALL: "alltoall:direct",
    REDUCE_SCATTER: "reducescatter:ring",
}


def starts(flows: Sequence[FlowSpec], lasts: Mapping[int, float]) -> dict[int, float]:
    """When each starts, if flows last for these times."""
    by_id, start_times = {flow.id: flow for flow in flows}, dict[int, float]()

    def start(number: int) -> float:
        if number not in start_times:
            flow = by_id[number]
            ends = [start(predecessor) + lasts[predecessor] for predecessor in flow.after]
            delays = flow.after_s or [flow.start_s] * len(ends)
            ready_times = [end + delay for end, delay in zip(ends, delays, strict=True)]
            start_times[number] = max(
                [*ready_times, *([flow.start_s] if flow.after_s or not ends else [])]
            )
        return start_times[number]

    for flow in flows:
        start(flow.id)
    return start_times


# ---- random traces, run node by node ----


@dataclass
class Random:
    """Of nodes by rank, in order; `sent` by (rank, node) is its flow's id."""

    ranks: list[list[Node]]
    arrivals: dict[tuple[int, int], tuple[int, int]]
    """By (rank, node) of a receive its (rank, node) that sends."""
    operations: list[tuple[tuple[int, ...], dict[int, int], int, int]]
    """Ranks, each rank's node, kind, size."""
    groups: dict[str, list[int]]


@st.composite
def random(draw: st.DrawFn) -> Random:
    count = draw(st.integers(2, 4))
    drawn = Random([[] for _ in range(count)], {}, [], {"1": [0, 1]})

    def node(
        rank: int, kind: int, us: int = 0, values: Mapping[str, int | str] | None = None
    ) -> Node:
        before = draw(st.lists(st.integers(0, len(drawn.ranks[rank]) - 1), unique=True,
        max_size=3)) if drawn.ranks[
            rank
        ] else []  # fmt: skip
        new_node = Node(len(drawn.ranks[rank]), kind, before, us, values or {}, draw(st.booleans()))
        drawn.ranks[rank].append(new_node)
        return new_node

    for _ in range(draw(st.integers(1, 14))):
        activity = draw(st.sampled_from(["compute", "compute", "message", "operation"]))
        if activity == "compute":
            node(
                draw(st.integers(0, count - 1)),
                draw(st.sampled_from([1, 2, 3, COMPUTE])),
                draw(st.integers(0, 9)),
            )
        elif activity == "message":
            src, step = draw(st.integers(0, count - 1)), draw(st.integers(1, count - 1))
            dst, tag = (src + step) % count, draw(st.integers(0, 1))
            send_node = node(
                src,
                SEND,
                0,
                {"comm_dst": dst, "comm_size": draw(st.integers(1, 99)), "comm_tag": tag},
            )
            receive_node = node(dst, RECEIVE, 0, {"comm_src": src, "comm_size": 5, "comm_tag": tag})
            drawn.arrivals[dst, receive_node.number] = src, send_node.number
        else:
            group = draw(st.sampled_from(["", "0", "1"]))
            ranks = (0, 1) if group == "1" else tuple(range(count))
            kind, size = draw(st.sampled_from(list(NAMES))), draw(st.integers(count, 99))
            values = {"comm_type": kind, "comm_size": size, **({"pg_name": group} if group else {})}
            by_rank = {rank: node(rank, COLLECTIVE, 0, values).number for rank in ranks}
            drawn.operations.append((ranks, by_rank, kind, size))
    return drawn


def by_node(of: Random, lasts: Mapping[int, float]) -> dict[int, float]:
    """When each flow starts, by the nodes' own rules: a second reading of the trace."""
    flows: dict[tuple[int, int], int] = {}
    first: dict[int, int] = {}
    number = 0
    messages = {}
    for place, (ranks, _, kind, size) in enumerate(of.operations):
        buffer = size * len(ranks) if kind == ALL_GATHER else size
        messages[place] = collectives.messages(NAMES[kind], len(ranks), buffer)
    # Groups "" and "0" are different names of all ranks: their operations are counted apart, by
    # name.
    for rank, nodes in enumerate(of.ranks):
        for node in nodes:
            if node.kind == SEND:
                flows[rank, node.number], number = number, number + 1
            elif node.kind == COLLECTIVE:
                place = next(
                    i
                    for i, operation in enumerate(of.operations)
                    if operation[1].get(rank) == node.number
                )
                if place not in first:
                    first[place], number = number, number + len(messages[place])
    over: dict[tuple[int, int], float] = {}
    start_times: dict[int, float] = {}
    # Every node comes behind those that it waits for, of all ranks, after a few rounds.
    while len(over) < sum(map(len, of.ranks)):
        before = len(over)
        for rank, nodes in enumerate(of.ranks):
            for node in nodes:
                key = rank, node.number
                if key in over or any(
                    (rank, predecessor) not in over for predecessor in node.before
                ):
                    continue
                ready = max((over[rank, predecessor] for predecessor in node.before), default=0.0)
                if node.kind == SEND:
                    start_times[flows[key]] = ready
                    over[key] = ready + lasts[flows[key]]
                elif node.kind == RECEIVE:
                    if of.arrivals[key] in over:
                        over[key] = max(ready, over[of.arrivals[key]])
                elif node.kind != COLLECTIVE:
                    over[key] = ready + node.us * 1e-6
        for place, (ranks, by_rank, _, _) in enumerate(of.operations):
            waits = [(rank, by_rank[rank]) for rank in ranks]
            nodes = {rank: of.ranks[rank][by_rank[rank]] for rank in ranks}
            if waits[0] in over or any(
                (rank, predecessor) not in over
                for rank in ranks
                for predecessor in nodes[rank].before
            ):
                continue
            ready_of = {
                rank: max((over[rank, predecessor] for predecessor in nodes[rank].before),
                default=0.0) for rank in ranks
            }  # fmt: skip
            ends: list[float] = []
            for i, message in enumerate(messages[place]):
                at = max(
                    [
                        ready_of[ranks[message.src]],
                        *(ends[predecessor] for predecessor in message.after),
                    ]
                )
                start_times[first[place] + i] = at
                ends.append(at + lasts[first[place] + i])
            for place_of, rank in enumerate(ranks):
                over[rank, by_rank[rank]] = max(
                    end
                    for end, message in zip(ends, messages[place], strict=True)
                    if place_of in message[:2]
                )
        assert len(over) > before
    return start_times


@given(random(), st.randoms(use_true_random=False))
def test_flows_start_when_their_nodes_are_ready(tmp_path_factory, of, any_):
    folder = tmp_path_factory.mktemp("chakra")
    file = trace(folder, of.ranks, of.groups)
    if not any(node.kind in (SEND, COLLECTIVE) for nodes in of.ranks for node in nodes):
        with pytest.raises(ExperimentError, match="has no flow"):
            read_flows(file)
        return
    flows = read_flows(file)
    lasts = {flow.id: any_.choice([1e-6, 3e-6, 50e-6]) for flow in flows}
    start_times = starts(flows, lasts)
    expected = by_node(of, lasts)
    assert start_times.keys() == expected.keys()
    for number, start in expected.items():
        assert start_times[number] == pytest.approx(start, abs=1e-12)
    csv = folder / "again.csv"
    csv.write_text("".join(written(flows)))
    assert read_flows(csv) == flows


@given(st.binary(max_size=60), st.integers(0, 3))
def test_hostile_bytes_are_refused_by_name(tmp_path_factory, data, keep):
    file = trace(
        tmp_path_factory.mktemp("hostile"),
        [[Node(1, SEND, (), 0, {"comm_dst": 0, "comm_size": 5})]],
    )
    good = file.read_bytes()
    file.write_bytes(good[: len(good) * keep // 3] + data)
    with pytest.raises(ExperimentError, match=r"made\.0\.et"):
        read_flows(file)


def test_read_numbers_of_any_integer_type_and_leave_the_rest_out(tmp_path):
    # of Node.attr
    values = (whole(7, 5), whole(9, 5), whole(11, 5), whole(13, 5), whole(15, 10), whole(17, 10))
    for value in values:
        size = block(10, block(1, b"comm_size") + value)
        extra = block(
            10, block(1, b"weight") + varint(3 << 3 | 1) + struct.pack("<d", 1.5)
        ) + block(11, b"")
        file = trace(tmp_path, [[], []])
        for rank in range(2):
            name = tmp_path / f"made.{rank}.et"
            node = Node(1, SEND, (), 0, {"comm_dst": 1}).encoded() + size + extra
            name.write_bytes(b"\0" + (varint(len(node)) + node if rank == 0 else b""))
        (flow,) = read_flows(file)
        assert (flow.src, flow.dst, flow.size_bytes) == ("h0", "h1", 5)


SENDS = {"comm_dst": 1, "comm_size": 9}


@pytest.mark.parametrize(
    ("ranks", "groups", "why"),
    [
        ([[Node(1, COLLECTIVE, (), 0, {"comm_type": BROADCAST, "comm_size": 9})], []], None,
        "node 1: broadcast"),
        ([[Node(1, COLLECTIVE, (), 0, {"comm_type": 0, "comm_size": 1})], []], None,
        "1 bytes make no 2 parts"),
        ([[Node(1, COLLECTIVE, (), 0, {"comm_size": 9, "pg_name": "7"})], []], None,
        "group '7' lacks a file"),
        ([[Node(1, COLLECTIVE, (), 0, {"comm_size": 9, "pg_name": "1"})], []], {"1": [1]},
        "lacks it among its ranks"),
        ([[Node(1, COLLECTIVE, (), 0, {"comm_size": 9})], []], None, "which rank 1 hasn't"),
        ([[Node(1, SEND, (), 0, SENDS)], []], {"1": [2]}, "made.json: groups of ranks are needed"),
        ([[Node(1, SEND, (), 0, SENDS)], []], {"1": [0, 0]},
        "group '1': a rank stands there twice"),
        ([[Node(1, SEND, (), 0, {"comm_dst": 2, "comm_size": 9})], []], None,
        "comm_dst 2: another of the 2 ranks"),
        ([[Node(1, SEND, (), 0, {"comm_dst": 0, "comm_size": 9})], []], None,
        "comm_dst 0: another of the 2 ranks"),
        ([[Node(1, SEND, (), 0, {"comm_dst": 1})], []], None, "rank 0, node 1: size 0"),
        ([[Node(1, RECEIVE, (), 0, {"comm_src": 1})], []], None,
        "rank 1 sends it 0 messages with the tag 0"),
        ([[Node(1, COMPUTE, (2,))], []], None,
        "made.0.et: node 1 waits for node 2, which is missing"),
        ([[Node(1, COMPUTE, (2,)), Node(2, COMPUTE, (1,))], []], None,
        "waits for itself, by way of others"),
        ([[Node(1, COMPUTE), Node(1, COMPUTE)], []], None, "two nodes have the same id"),
        ([[Node(1, 8)], []], None, "node 1: type 8: 0 to 7 are known"),
        ([[Node(1, COMPUTE, (), 2**60)], []], None, "too long"),
        (
            [
                [Node(1, RECEIVE, (), 0, {"comm_src": 1}), Node(2, SEND, (1,), 0, SENDS)],
                [Node(1, RECEIVE, (), 0, {"comm_src": 0}), Node(2, SEND, (1,), 0, {"comm_dst": 0, (
                    "comm_size"
                ): 9})],
            ],
            None,
            "flows wait for each other",
        ),
        (
            [
                [Node(1, COLLECTIVE, (), 0, {"comm_type": 0, "comm_size": 9})],
                [Node(1, COLLECTIVE, (), 0, {"comm_type": 6, "comm_size": 9})],
            ],
            None,
            (
                "rank 1, node 1: alltoall:direct of 9 bytes, where rank 0, node 1 has "
                "allreduce:ring of 9"
            ),
        ),
    ],
)  # fmt: skip
def test_reader_refuses_what_no_run_can_have(tmp_path, ranks, groups, why):
    with pytest.raises(ExperimentError) as refused:
        read_flows(trace(tmp_path, ranks, groups))
    assert why in str(refused.value)


def test_reader_refuses_some_dimensions_and_missing_ranks(tmp_path):
    some = block(10, block(1, b"involved_dim") + block(28, block(1, b"\1\0")))
    node = Node(1, COLLECTIVE, (), 0, {"comm_size": 9}).encoded() + some
    file = trace(tmp_path, [[], []])
    file.write_bytes(b"\0" + varint(len(node)) + node)
    with pytest.raises(ExperimentError, match="node 1: involved_dim of some dimensions"):
        read_flows(file)
    (tmp_path / "made.0.et").unlink()
    with pytest.raises(
        ExperimentError, match=r"made\.0\.et is missing: each rank has a file, from 0 to 1"
    ):
        read_flows(file)


def test_file_of_a_far_rank_costs_what_the_files_there_do(tmp_path):
    """Names alone decide how many ranks a trace has."""
    file = trace(tmp_path, [[], []])
    (tmp_path / "made.9999999.et").touch()
    assert [path.name for path in files_of(file)] == [
        f"made.{rank}.et" for rank in (0, 1, 2, 9999999)
    ]
    with pytest.raises(
        ExperimentError, match=r"made\.2\.et is missing: each rank has a file, from 0 to 9999999"
    ):
        read_flows(file)


def test_ranks_are_the_topology_s_hosts_in_their_order(tmp_path):
    file = trace(tmp_path, [[Node(1, SEND, (), 0, {"comm_dst": 2, "comm_size": 9})], [], []])
    assert [(flow.src, flow.dst) for flow in read_flows(file, star(2, 1))] == [("h0", "r0")]
    with pytest.raises(ExperimentError, match="3 ranks or more, and the topology has 2 hosts"):
        read_flows(file, star(1, 1))


def test_another_content_of_any_rank_is_another_experiment(tmp_path):
    file = trace(tmp_path, [[Node(1, SEND, (), 0, SENDS)], []])
    reference = parse_spec("star", flows=str(file)).reference
    from_reference(reference)
    trace(tmp_path, [[Node(1, SEND, (), 0, {"comm_dst": 1, "comm_size": 10})], []])
    with pytest.raises(ExperimentError, match="isn't what it was"):
        from_reference(reference)


def test_run_has_a_trace_s_computations_between_its_messages(tmp_path):
    """Rank 0 computes for 30 us, sends; rank 1 computes for 50 us when that is there, and for 500
    us in all."""
    first = [Node(1, COMPUTE, (), 30), Node(2, SEND, (1,), 0, SENDS)]
    second = [
        Node(1, RECEIVE, (), 0, {"comm_src": 0}),
        Node(2, COMPUTE, (1,), 50),
        Node(3, SEND, (2,), 0, {"comm_dst": 0, "comm_size": 9, "comm_tag": 1}),
        Node(4, COMPUTE, (), 500),
        Node(5, SEND, (2, 4), 0, {"comm_dst": 0, "comm_size": 9, "comm_tag": 2}),
    ]
    file = trace(tmp_path, [first, second])
    out = tmp_path / "out"
    command = [
        "run", "traffic", "--clock", "virtual", "--topology", "star", "--flows", str(file), "-q",
    ]  # fmt: skip
    assert pcn([*command, "--out", str(out)]) == 0
    rows = pq.read_table(out / "flows.parquet").to_pylist()
    arrived = rows[0]["start_s"] + rows[0]["fct_s"]
    assert [row["start_s"] for row in rows] == pytest.approx(
        [30e-6, arrived + 50e-6, 500e-6], abs=1e-11
    )


def test_graph_that_grows_with_each_node_is_refused(tmp_path, monkeypatch):
    """Each computation waits for one message more: of 50,000, 10^9 were kept."""
    sends = [Node(n, SEND, (), 0, {"comm_dst": 1, "comm_size": 5}) for n in range(100)]
    waits = [Node(n + 100, COMPUTE, (n, n + 99), 1) for n in range(1, 100)]
    file = trace(tmp_path, [[*sends, Node(100, COMPUTE, (0,), 1), *waits], []])
    assert len(read_flows(file)) == 100
    monkeypatch.setattr("pcn.experiments.traffic.flow_files.chakra._MOST_ARRIVALS", 1000)
    with pytest.raises(ExperimentError, match="nodes wait for more than 1,000 arrivals"):
        read_flows(file)


def test_operation_of_many_ranks_is_refused_before_its_messages_are_made(tmp_path, monkeypatch):
    node = Node(1, COLLECTIVE, (), 0, {"comm_type": ALL_TO_ALL, "comm_size": 4000})
    file = trace(tmp_path, [[node]] * 4)
    operations: list[str] = []
    monkeypatch.setattr(
        "pcn.experiments.define.collectives.messages", lambda name, *_: operations.append(name)
    )
    monkeypatch.setattr("pcn.experiments.traffic.flow_files.chakra.MOST_FLOWS", 11)
    with pytest.raises(ExperimentError, match="alltoall:direct: more than 11 flows"):
        read_flows(file)
    assert not operations
