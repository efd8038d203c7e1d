"""Files of flows beyond a line a flow: flows that wait for others, Parquet, captures."""

import io
import struct
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pcn import cli
from pcn.base.captures import CaptureError, frames
from pcn.base.pcapng import PcapngWriter
from pcn.experiments import runner
from pcn.experiments.data import parquet
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.flow_files import LONGEST_S, csv_file
from pcn.experiments.traffic.flow_files.reading import notes, read_flows
from pcn.experiments.traffic.spec import parse_spec
from pcn.hosts import wire
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.compact import compact
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import FlowSpec

AFTER = "id,src,dst,start_us,size,after\n0,h0,r0,0,100KB,\n1,r0,h1,5,20KB,0\n2,h1,h2,0,20KB,0 1\n"


def written(folder: Path, text: str | bytes, name: str = "flows") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_column_after_names_flows_that_arrive_before(tmp_path):
    assert [(flow.id, flow.start_s, flow.after) for flow in read_flows(written(tmp_path,
    AFTER))] == [
        (0, 0.0, ()), (1, 5e-6, (0,)), (2, 0.0, (0, 1)),
    ]  # fmt: skip


def test_run_starts_flows_after_others(tmp_path):
    path = written(tmp_path, AFTER)
    spec = parse_spec("compact", flows=str(path))
    out = runner.run(spec.reference, scheme="pcn", clock="virtual", out=tmp_path / "out")
    table = parquet.read(out / "flows.parquet")
    ends = [start + time for start, time in zip(table["start_s"], table["fct_s"], strict=True)]
    assert table["start_s"][1:] == pytest.approx([ends[0] + 5e-6, max(ends[:2])], abs=1e-12)
    replayed = read_flows(out / "flows.parquet")
    assert [(flow.src, flow.dst, flow.size_bytes, flow.start_s) for flow in replayed] == list(
        zip(table["src"], table["dst"], table["size_bytes"], table["start_s"], strict=True)
    )


def test_live_run_refuses_flows_after_others(tmp_path, capsys):
    path = written(tmp_path, AFTER)
    assert cli.run(["run", "traffic", "--topology", "compact", "--flows", str(path)]) == 1
    assert (
        "flow 1 starts after others: in virtual time alone; give --clock virtual"
        in capsys.readouterr().err
    )


NAMES = st.from_regex(r"[A-Za-z0-9_-]{1,8}", fullmatch=True)
FLOWS = st.lists(
    st.builds(
        FlowSpec, st.integers(0, 2**24), NAMES, NAMES, st.floats(0, LONGEST_S),
        st.integers(1, 2**63 - 1), st.none() | st.floats(1e-3, 1e15),
        traffic_class=st.integers(0, 6),
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda flow: flow.id,
)  # fmt: skip


@given(FLOWS)
def test_flows_written_as_csv_are_read_equal(flows):
    chained = [
        flows[0],
        *(
            replace(flow, after=(previous.id,), acknowledged=(previous.id,) * (flow.size_bytes % 2))
            for previous, flow in pairwise(flows)
        ),
    ]
    chained = [
        replace(flow, colour="yellow") if 0 < flow.traffic_class < 3 else flow for flow in chained
    ]
    with tempfile.TemporaryDirectory() as folder:
        assert read_flows(written(Path(folder), "".join(csv_file.written(chained)))) == chained


def test_flows_of_any_format_are_printed_as_csv(tmp_path, capsys):
    text = (
        "0->1 id 3 start 5 size 9 send_done_trigger 1\n1->2 trigger 1 size 7\ntrigger id 1 oneshot"
    )
    path = written(tmp_path, CM + text)
    assert cli.run(["workload", "flows", str(path)]) == 0
    assert read_flows(written(tmp_path, capsys.readouterr().out, "flows.csv")) == read_flows(path)


CM = "Nodes 4\n\n"


TRIGGERS = """\
0->1 id 1 start 0 size 9 send_done_trigger 1
0->2 id 2 trigger 1 size 9
trigger id 1 oneshot
=> [(), (1,)]

trigger id 7 oneshot
0->2 id 2 trigger 7 size 9
0->1 start 0 size 9 recv_done_trigger 7
=> [(0,), ()]

0->1 start 0 size 9 send_done_trigger 1
1->2 start 5 size 9 recv_done_trigger 1
2->3 trigger 1 size 9
3->0 trigger 1 size 9
trigger id 1 barrier count 2
=> [(), (), (0, 1), (0, 1)]

0->1 start 0 size 9 send_done_trigger 1
0->2 trigger 1 size 9
trigger id 1 multishot
=> [(), (0,)]
"""


@pytest.mark.parametrize("case", TRIGGERS.split("\n\n"))
def test_triggers_of_htsim_become_flows_after_others(tmp_path, case):
    text, _, after = case.partition("=> ")
    flows = read_flows(written(tmp_path, CM + text))
    assert str([flow.after for flow in flows]) == after.strip()


def test_matrix_in_picoseconds_is_noted(tmp_path):
    for start, noted in (("15", False), ("15000000", True)):
        path = written(tmp_path, f"Nodes 2\n0->1 start 0 size 9\n1->0 start {start} size 9\n")
        assert [flow.start_s for flow in read_flows(path)] == [0, float(start) / 1e6]
        assert ["divide by 1,000,000" in note for note in notes(path)] == [True] * noted


def test_flow_behind_a_sent_one_waits_for_its_last_acknowledgement(tmp_path):
    text = (
        "0->1 id 1 start 0 size 9 send_done_trigger 1\n1->0 id 2 start 0 size 9 recv_done_trigger "
        "1\n"
        "0->1 id 3 trigger 1 size 9 recv_done_trigger 2\n2->1 id 4 trigger 2 size 9\n"
        "trigger id 1 barrier count 2\ntrigger id 2 oneshot\n"
    )
    flows = {flow.id: flow for flow in read_flows(written(tmp_path, text), fat_tree(4, 10e9, 1e-6))}
    assert (flows[3].after, flows[3].after_s, flows[3].acknowledged) == ((1, 2), (), (1,))
    assert (flows[4].after, flows[4].after_s, flows[4].acknowledged) == ((3,), (), ())


def test_matrix_keeps_its_ids_and_fills_free_ones(tmp_path):
    text = "0->1 id 3 start 0 size 9\n1->2 start 0 size 9\n2->3 id 1 start 0 size 9\n"
    text += "3->0 start 1 size 9"
    assert [flow.id for flow in read_flows(written(tmp_path, CM + text))] == [3, 0, 1, 2]


@pytest.mark.parametrize("count", [3, 5])
def test_matrix_of_other_hosts_than_the_topology_s_is_refused(tmp_path, count):
    topology = written(
        tmp_path, "5 1 4\n4\n" + "".join(f"{host} 4 10Gbps 1us 0\n" for host in range(4)), "net.txt"
    )
    path = written(tmp_path, f"Nodes {count}\n0->1 start 0 size 9\n")
    traffic = Traffic(parse_spec(str(topology), flows=str(path)))
    with pytest.raises(
        ExperimentError, match=f"flows:1: Nodes {count}, but the topology has 4 hosts: htsim"
    ):
        traffic.plan("pcn", 1, {})
    path.write_text("Nodes 4\n0->1 start 0 size 9\n")
    assert (
        len(Traffic(parse_spec(str(topology), flows=str(path))).plan("pcn", 1, {}).topology.flows)
        == 1
    )


def test_parquet_needs_its_columns_in_their_types(tmp_path):
    path = tmp_path / "flows.parquet"

    def table(**columns: Sequence[object]):
        with path.open("wb") as file:
            parquet.write(file, columns)

    table(
        src=["h0"], dst=["r0"], size_bytes=[5], start_s=[1e-3], rate_bps=[1e9], id=[4],
        colour=["red"], **{"class": [5]},
    )  # fmt: skip
    assert read_flows(path) == [FlowSpec(4, "h0", "r0", 1e-3, 5, 1e9, traffic_class=5)]
    table(src=["h0"], dst=["r0"])
    with pytest.raises(ExperimentError, match="no column size_bytes"):
        read_flows(path)
    for wrong, message in (
        ({"size_bytes": [2.5]}, "2.5 is no whole number"),
        ({"size_bytes": [None]}, "None is no number"),
        ({"src": [7]}, "7 is no host's name"),
        ({"start_s": [float("nan")]}, "nan is no number"),
        ({"start_s": [-1.0]}, "start -1 s: flows start within"),
    ):
        table(**({"src": ["h0"], "dst": ["r0"], "size_bytes": [5]} | wrong))
        with pytest.raises(ExperimentError, match=f"row 0: {message}"):
            read_flows(path)


def pcap(
    records: Sequence[tuple[int, bytes]],
    order: str = "<",
    magic: int = 0xA1B23C4D,
    cut: int = 65535,
) -> bytes:
    unit = 1 if magic == 0xA1B23C4D else 1000
    capture = struct.pack(f"{order}IHHIIII", magic, 2, 4, 0, 0, cut, 1)
    for time_ns, frame in records:
        captured = frame[:cut]
        head = (*divmod(time_ns, 10**9), len(captured), len(frame))
        capture += struct.pack(f"{order}IIII", head[0], head[1] // unit, *head[2:]) + captured
    return capture


def pcapng(records: Sequence[tuple[int, bytes]]) -> bytes:
    file = io.BytesIO()
    writer = PcapngWriter(file, "eth0", "", "")
    for time_ns, frame in records:
        writer.write(time_ns, frame, incoming=True)
    return file.getvalue()


SHAPES = [
    pcap,
    pcapng,
    lambda records: pcap(records, ">", 0xA1B2C3D4),
    lambda records: pcap(records, cut=96),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_capture_s_flows_are_those_that_were_sent(tmp_path, shape):
    """A network's own capture, at a switch that two flows pass: of what comes back are CNPs and
    ACKs."""
    topology, sent = (
        compact(),
        [
            FlowSpec(1, "h0", "r0", 0.0, 70_001),
            FlowSpec(2, "h1", "r0", 7e-6, 30_000, traffic_class=4),
        ],
    )
    ends = [
        (hop.node, hop.port) for hop in topology.path("h0", "r0") if not topology.is_host(hop.node)
    ]
    forward = tmp_path / "own.pcap"
    with VirtualNetwork(topology, find_scheme("timely").configure()) as network:
        network.capture(*ends[-1], forward)
        network.capture(
            *[(hop.node, hop.port) for hop in topology.path("r0", "h0")][-1], tmp_path / "back.pcap"
        )
        for flow in sent:
            network.add_flow(flow)
        assert network.run(until_s=1.0, finish=True)
    with forward.open("rb") as file:
        records = [(frame.time_ns, frame.data) for frame in frames(file)]
    assert len(records) == 71 + 30
    # a link that repeats: nothing counts twice
    again = [records[0], *records, records[3], records[-1]]
    path = written(tmp_path, shape(again), "capture")
    flows = read_flows(path)
    assert [(flow.src, flow.dst, flow.size_bytes, flow.traffic_class) for flow in flows] == [
        (
            topology.host(flow.src).ip,
            topology.host(flow.dst).ip,
            flow.size_bytes,
            flow.traffic_class,
        )
        for flow in sent
    ]
    assert [flow.start_s for flow in flows] == pytest.approx([0, 7e-6], abs=2e-6)
    plan = Traffic(parse_spec("compact", flows=str(path))).plan("pcn", 1, {})
    assert [(flow.src, flow.dst) for flow in plan.topology.flows] == [("h0", "r0"), ("h1", "r0")]
    if (back := tmp_path / "back.pcap").stat().st_size > 24:
        with pytest.raises(ExperimentError, match="no RoCEv2 data over IPv4 is in it"):
            read_flows(back)


def test_capture_counts_payload_of_other_operations(tmp_path):
    """RDMA WRITE of a NIC: the RETH of its first packet, padding and ICRC are no payload; nor is a
    VLAN's tag."""
    ends = wire.Ends(b"\x02" * 6, b"\x04" * 6, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))

    def frame(opcode: int, psn: int, extended: int, payload: int, vlan: bool = False) -> bytes:
        head = bytearray(wire.data_headers(ends, 17, payload + extended, psn=psn))
        head[42] = opcode
        if vlan:
            head[12:12] = b"\x81\x00\x60\x05"
        return bytes(head) + bytes(payload + extended + -payload % 4 + 4)

    records = [
        (1_000, frame(0x06, 2**24 - 1, 16, 1024)), (2_000, frame(0x07, 0, 0, 1024)),
        (3_000, frame(0x08, 1, 0, 13, vlan=True)), (4_000, frame(0x11, 2, 4, 0)), (5_000,
        frame(0x0C, 3, 16, 0)),
    ]  # fmt: skip
    [flow] = read_flows(written(tmp_path, pcap(records)))
    assert (flow.size_bytes, flow.src, flow.dst) == (1024 + 1024 + 13, "10.0.0.1", "10.0.0.2")


def send(psn: int, payload: int = 1000, opcode: int = 0x04) -> bytes:
    ends = wire.Ends(b"\x02" * 6, b"\x04" * 6, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    head = bytearray(wire.data_headers(ends, 17, payload, psn=psn))
    head[42] = opcode
    return bytes(head) + bytes(payload + -payload % 4 + 4)


@given(
    first=st.integers(0, 2**24 - 1),
    late=st.lists(st.integers(0, 30), min_size=40, max_size=40),
    again=st.lists(st.integers(0, 39), max_size=30),
    lost=st.sets(st.integers(1, 38), max_size=5),
)
def test_capture_counts_each_psn_once_in_any_order(tmp_path_factory, first, late, again, lost):
    """Packets overtake each other, come again, or never; PSNs wrap."""
    order = sorted(range(40), key=lambda number: number + late[number])
    sent = [number for number in (*order, *again) if number not in lost]
    records = [
        (1000 * at, send((first + number) % 2**24, 500 + number)) for at, number in enumerate(sent)
    ]
    path = written(tmp_path_factory.mktemp("capture"), pcap(records))
    [flow] = read_flows(path)
    assert flow.size_bytes == sum(500 + number for number in range(40) if number not in lost)
    missing = [f"of 1 of 1 flows {len(lost)} packets between"] if lost else []
    assert len(notes(path)) == len(missing)
    assert all(text in note for text, note in zip(missing, notes(path), strict=True))


def test_capture_of_requests_has_no_note_of_missing_packets(tmp_path):
    """RDMA READ: its request takes the PSNs of its answers, which come the other way."""
    records = [(0, send(5)), (1, send(6, 16, opcode=0x0C)), (2, send(10)), (3, send(11))]
    path = written(tmp_path, pcap(records))
    [flow] = read_flows(path)
    assert (flow.size_bytes, notes(path)) == (3000, ())


@pytest.mark.parametrize(
    ("name", "settings"),
    [("dctcp", {"paths": 16}), ("nscc", {}), ("hpcc", {}), ("rccc", {}), ("pcn", {})],
)
def test_capture_of_a_scheme_has_the_sizes_that_were_sent(tmp_path, name, settings):
    """Sprayed packets overtake each other; HPCC's have telemetry, RCCC's a demand before their
    payload."""
    topology = fat_tree(k=4)
    [leaf] = topology.host_links("h15")
    end = leaf.far_end("h15")
    with VirtualNetwork(topology, find_scheme(name).configure(settings)) as network:
        network.capture(end.node, end.port, tmp_path / "own.pcap")
        for number in range(8):
            network.add_flow(FlowSpec(number, f"h{number}", "h15", size_bytes=100_001))
        assert network.run(until_s=1.0, finish=True)
        overtaken = sum(flow.stats().out_of_order for flow in network.flows.values())
    assert (overtaken > 0) == (name in ("dctcp", "nscc", "rccc"))
    assert [flow.size_bytes for flow in read_flows(tmp_path / "own.pcap")] == [100_001] * 8
    assert notes(tmp_path / "own.pcap") == ()


@given(st.data(), st.sampled_from(SHAPES))
def test_capture_reader_ends_in_frames_or_one_line(data, shape):
    whole = bytearray(shape([(5, bytes(range(60))), (10**9 + 7, b"\x02" * 70)]))
    for _ in range(data.draw(st.integers(0, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    try:
        parsed = list(frames(io.BytesIO(bytes(whole[:cut]))))
    except CaptureError as error:
        message = str(error)
        assert len(message.splitlines()) == 1
        return
    assert len(parsed) <= 2 + len(whole) // 12
    assert all(len(frame.data) <= len(whole) for frame in parsed)


def test_parquet_that_ends_its_reader_is_refused(tmp_path, monkeypatch):
    """One byte that is wrong in a page can: arro3 aborts."""
    path = tmp_path / "flows.parquet"
    with path.open("wb") as file:
        parquet.write(file, {"src": ["h0"], "dst": ["r0"], "size_bytes": [5]})
    assert len(read_flows(path)) == 1
    abort = [*parquet.python_command("timeit", "-n1", "-r1", "import os; os.abort()")]
    monkeypatch.setattr(parquet, "python_command", lambda *_: abort)
    with pytest.raises(ExperimentError, match="this can't be read as Parquet"):
        read_flows(path)


def test_barrier_of_many_before_many_is_refused(tmp_path, monkeypatch):
    """Each flow behind it waits for each before it: a megabyte of lines made 10^9 waits."""
    file = tmp_path / "flows.cm"
    file.write_text(
        3 * "0->1 start 0 size 9 recv_done_trigger 1\n"
        + 4 * "0->1 trigger 1 size 9\n"
        + "trigger id 1 barrier count 3\n"
    )
    for most, message in ((12, ""), (11, "cm:7: flows wait for more than 11 others")):
        monkeypatch.setattr("pcn.experiments.traffic.flow_files.htsim.MOST_WAITS", most)
        if not message:
            assert sum(len(flow.after) for flow in read_flows(file)) == most
        else:
            with pytest.raises(ExperimentError, match=message):
                read_flows(file)
