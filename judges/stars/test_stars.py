"""The judge's own parts: the other programs' records, and a run beside a program that writes ns-3's
trace."""

import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from stars import compare

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual.stars import Measured, Star, length_s, measure, read_authors

SHORT = Star(25e9, 20e-6)
HEAD = (1).to_bytes(4, "little") + bytes(11 + 4)


def trace(events: list[tuple[int, int, int, int, int]]) -> bytes:
    """ns-3's: time in ns, event, port, source, waiting bytes; frames have 1,000."""
    records = np.zeros(len(events), compare.EVENT)
    for name, column in zip(
        ("time", "event", "port", "src", "waiting"), zip(*events, strict=True), strict=True
    ):
        records[name] = column
    records["bytes"], records["protocol"] = 1000, compare.UDP
    return HEAD + records.tobytes()


def test_trace_has_utilisation_queue_and_shares():
    """Two flows in 10 us at 1 Gbit/s: one sends 500 bytes' worth of the line thrice, the other
    once; the queue has 1,000 bytes for 4 us, 2,000 for 2 us."""
    events = [
        (0, compare.ENQUEUED, 3, 1, 0),
        (1_000, compare.DEQUEUED, 3, 1, 0),
        (2_000, compare.ENQUEUED, 3, 1, 0),
        (4_000, compare.ENQUEUED, 3, 2, 1000),
        (4_500, compare.ENQUEUED, 1, 2, 9000),  # another port
        (6_000, compare.DEQUEUED, 3, 1, 1000),
        (8_000, compare.DEQUEUED, 3, 2, 0),
    ]
    chunks = compare.trace_events(BytesIO(trace(events)), 3)
    measured = compare.of_trace(chunks, 1e9, 2, 0.0, 10e-6)
    assert measured.utilisation == pytest.approx(3 * 8000 / 10_000)
    assert measured.queue_bytes == pytest.approx((1000 * 5 + 2000 * 2) / 10)
    assert measured.jain == pytest.approx(9 / (2 * 5))


@pytest.mark.parametrize("flows", [1, 2])
def test_flow_that_carries_nothing_counts(flows):
    events = [(0, compare.ENQUEUED, 3, 1, 0), (1_000, compare.DEQUEUED, 3, 1, 0)]
    chunks = compare.trace_events(BytesIO(trace(events)), 3)
    assert compare.of_trace(chunks, 1e9, flows, 0.0, 10e-6).jain == pytest.approx(1 / flows)


def test_trace_is_read_in_pieces(monkeypatch):
    """A pipe ends where it likes: in the middle of a record."""
    events = [(1_000 * n, compare.ENQUEUED, 3, 1, 0) for n in range(9)]
    text = trace(events)

    class Pieces(BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or 0, 37))

    chunks = list(compare.trace_events(Pieces(text), 3))
    assert len(chunks) > 1
    assert np.concatenate(chunks)["time"].tolist() == [event[0] for event in events]


def log(records: list[tuple[float, tuple[int, int], int, tuple[float, float, float]]]) -> bytes:
    rows = [(at, kind[0], number, kind[1], values) for at, kind, number, values in records]
    return b": name=1\n# TRACE\n" + np.array(rows, compare.LOG).tobytes()


def test_log_has_utilisation_queue_and_shares():
    """The bottleneck is the third of the last queues from the end; what came before doesn't
    count."""
    queues = [
        (at, compare.QUEUE_RANGE, number, (float(number), 0.0, 0.0))
        for at in (1.0, 3.0, 4.0)
        for number in (5, 60, 61, 62, 63)
    ]
    sinks = [
        (at, compare.SINK_RATE, number, (0.0, 0.0, rate))
        for at, number, rate in ((1.0, 9, 0.0), (3.0, 9, 6e7), (4.0, 9, 4e7), (4.0, 8, 5e7))
    ]
    measured = compare.of_log(log([*queues, *sinks]), 1e9, 2, 2.0)
    assert measured == Measured(pytest.approx(0.8), 61.0, pytest.approx(1.0))


@pytest.mark.parametrize(
    ("ours", "names"),
    [
        (Measured(0.98, 3000.0, 0.96), []),
        (Measured(0.96, 3000.0, 1.0), ["utilisation"]),
        (Measured(1.0, 3000.0, 0.9), ["Jain"]),
        (Measured(1.0, 9000.0, 1.0), ["queue"]),
        (Measured(1.0, 100.0, 1.0), ["queue"]),
        (Measured(1.0, 4900.0, 1.0), []),
    ],
)
def test_bound_names_what_is_beyond_it(ours, names):
    """Two frames of queue are within it, whatever the factor."""
    assert compare.beyond(Measured(1.0, 3000.0, 1.0), ours, 1000) == names


def test_line_of_switches_has_the_queue_at_the_first():
    place = compare.Line(25e9, 20e-6)
    scheme = find_scheme("dctcp").configure()
    topology = place.topology(2)
    assert sum(topology.link_at(end.node, end.port).delay_s for end in topology.path("h0", "h16"))
    measured = measure(scheme, topology, place, length_s(scheme, place))
    assert measured.utilisation > 0.99
    assert measured.queue_bytes > 1000
    assert measured.jain > 0.95


THIRD = """#!{python}
import sys
settings = dict(line.split(" ", 1) for line in open(sys.argv[1]).read().splitlines())
assert settings["CC_MODE"] == "1" and settings["PACKET_PAYLOAD_SIZE"] == "1000", settings
assert settings["KMIN_MAP"] == "1 25000000000 100", settings
assert settings["RATE_AI"] == "5.000000Mb/s", settings  # ns-3 reads no Mbit/s
hosts = int(open(settings["TOPOLOGY_FILE"]).readline().split()[0]) - 1
with open(settings["TRACE_OUTPUT_FILE"], "wb") as trace:
    trace.write({trace!r})
sys.exit({code})
"""


def third(folder: Path, events: list[tuple[int, int, int, int, int]], code: int = 0) -> Path:
    program = folder / "build/scratch/third"
    program.parent.mkdir(parents=True)
    program.write_text(THIRD.format(python=sys.executable, trace=trace(events), code=code))
    program.chmod(0o755)
    return folder


def test_row_has_both_sides(tmp_path):
    """A program that carries a packet in the second half, to the last host: its line is idle."""
    half_ns = 2_010_000_000
    events = [(half_ns + 1, compare.ENQUEUED, 2, 1, 0), (half_ns + 9, compare.DEQUEUED, 2, 1, 0)]
    row = compare.row("dcqcn-ns3", SHORT, 1, third(tmp_path, events), tmp_path)
    assert 0 < row.theirs.utilisation < 1e-3
    assert row.ours.utilisation > 0.95
    assert row.beyond[0] == "utilisation"
    assert "25 Gbit/s, 20 us" in str(row)


def test_program_that_fails_ends_the_judge(tmp_path):
    with pytest.raises(SystemExit, match="third ended with 3"):
        compare.row("dcqcn-ns3", SHORT, 1, third(tmp_path, [(0, 0, 0, 0, 0)], 3), tmp_path)


def test_kept_figures_replace_those_of_the_same_line(tmp_path):
    """Others stay, in the order of stars and numbers of flows."""
    file = tmp_path / "stars.json"

    def row(star: str, flows: int, queue_bytes: float) -> compare.Row:
        theirs = Measured(0.9, queue_bytes, 1.0)
        return compare.Row(star, flows, theirs, theirs, 1000.0, [])

    slow, fast = "10 Gbit/s, 60 us", "40 Gbit/s, 60 us"
    rows = [row(fast, 1, 500.0), row(slow, 16, 100.0), row(slow, 2, 200.0)]
    compare.keep(file, "hpcc", "HPCC's ns-3", "a" * 40, rows)
    compare.keep(file, "hpcc", "HPCC's ns-3", "b" * 40, [row(slow, 16, 300.0)])
    programs, lines = read_authors(file)
    assert programs["HPCC's ns-3"]["commit"] == "b" * 40
    assert [(line.star, line.flows, line.queue_bdp) for line in lines] == [
        (slow, 2, 0.2),
        (slow, 16, 0.3),
        (fast, 1, 0.5),
    ]


def test_commit_of_no_clone_ends_the_judge(tmp_path):
    with pytest.raises(SystemExit, match="in no clone"):
        compare.commit_of(tmp_path)
