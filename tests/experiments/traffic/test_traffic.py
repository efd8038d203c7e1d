"""Traffic of many flows on any network: what it is made of, what becomes of the flows, and both
commands."""

import json
import re
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from pcn.cli import run as pcn
from pcn.experiments.data import parquet
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.recording_numbers import EmptyPath, EmptyPaths
from pcn.experiments.papers import find_experiment
from pcn.experiments.run import flow_counts
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.sweep.run_task import task_of
from pcn.experiments.traffic import flows, page, sizes
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.flow_files import LONGEST_S
from pcn.experiments.traffic.flow_files.reading import FLOW_FORMATS, read_flows
from pcn.experiments.traffic.spec import (
    PATTERNS,
    WORKLOADS,
    TrafficSpec,
    draw,
    from_reference,
    parse_spec,
)
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.paths import Paths
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.clos import clos
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import FlowSpec

CSV = "src,dst,start_s,size_bytes\nh0,r0,0,64000\nh1,r1,1e-5,2000000\nh0,r1,2e-5,1\n"


def test_reference_names_its_parts(tmp_path):
    spec = parse_spec("clos", "W1", "incast")
    assert spec.reference == "traffic?topology=clos&workload=W1&pattern=incast"
    assert from_reference(spec.reference) == spec
    file = tmp_path / "my flows & more.csv"
    file.write_text(CSV)
    file_spec = parse_spec("compact", flows=str(file))
    again = from_reference(file_spec.reference)
    assert (again.flows, again.digest) == (str(file), file_spec.digest)
    experiment = find_experiment(file_spec.reference)
    assert isinstance(experiment, Traffic)
    assert len(experiment.plan("pcn", 1, {}).topology.flows) == 3
    file.write_text(CSV + "h0,r0,1,1\n")
    assert parse_spec("compact", flows=str(file)).digest != file_spec.digest
    with pytest.raises(ExperimentError, match="isn't what it was when these runs were declared"):
        from_reference(file_spec.reference)


def test_spec_holds_digest_of_topology_s_file(tmp_path):
    file, flows = tmp_path / "mine.py", tmp_path / "flows.csv"
    file.write_text("from pcn.topologies.star import star\nMINE = star(3)\n")
    flows.write_text("src,dst,start_s,size_bytes\nh0,r0,0,1000\n")
    spec = parse_spec(f"{file}:MINE", flows=str(flows))
    assert from_reference(spec.reference) == spec
    experiment = find_experiment(spec.reference)
    assert len(experiment.plan("pcn", 1, {"xoff_bytes": 100e3}).topology.hosts) == 4
    file.write_text("from pcn.topologies.star import star\nMINE = star(4)\n")
    with pytest.raises(ExperimentError, match=r"mine.py or .*flows.csv isn't what it was"):
        from_reference(spec.reference)


def test_traffic_keeps_what_the_topology_s_file_has():
    """The largest frame alone follows from the payload."""
    traffic = Traffic(parse_spec(str(Path(__file__).parents[2] / "topologies/files/racks.yaml")))
    assert traffic.plan("pcn", 1, {}).topology.number("xoff_bytes") == 256e3
    assert traffic.plan("pcn", 1, {}).topology.lossless_classes == (3, 4)
    assert (
        traffic.plan("pcn", 1, {"xoff_bytes": 100e3, "payload": 500}).topology.number("xoff_bytes")
        == 100e3
    )
    assert traffic.plan("pcn", 1, {"payload": 500}).topology.number("mtu_bytes") == 558
    assert Traffic(parse_spec("star")).plan("pcn", 1, {}).topology.number("xoff_bytes") == 512e3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nosuch",), "no topology 'nosuch'"),
        (
            ("", "W3"),
            ("no file W3. Workloads are W1, W2, Hadoop, WebSearch, FbHdp, .*, or a file of lines"),
        ),
        (("", "", "all"), "no pattern 'all'"),
        (("", "W1", "", "flows.csv"), "leave out --workload$"),
        (
            ("", "W1", "incast", "flows.csv", "onoff", "5"),
            "out --workload and --pattern and --arrivals and --incast$",
        ),
        (("", "", "", "", "never"), "never.*poisson, lognormal, onoff"),
        (("", "", "incast", "", "onoff"), "of the patterns uniform and permutation"),
        (("", "", "", "", "", "0"), "--incast 0: a number of senders, from 1"),
        (("", "", "", "/nosuch.csv"), "no file /nosuch.csv"),
    ],
)
def test_words_that_mean_nothing(words, message):
    with pytest.raises(ExperimentError, match=message):
        parse_spec(*words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "",
            "src, dst, size missing: the first line has the columns, as src,dst,start_s,size_bytes",
        ),
        ("src,dst,start_s,size_bytes\n", "has no flow"),
        (CSV + "h0,r0,-1,5\n", ":5: start: '-1': must not be negative"),
        (CSV + "h0,r0,1,2.5\n", ":5: size: '2.5': must be whole bytes"),
        (CSV + "h0,r0,1,0\n", ":5: size 0: from 1 B to 2^63 - 1 B are possible"),
        (CSV + "h0,r0\n", ":5: 2 columns, not the 4 of the first line"),
        (CSV + "h0,r0,1,5,3\n", ":5: 5 columns, not the 4 of the first line"),
        (CSV + "\n\nh0,r0,1,5,\n", ":7: 5 columns"),
        (
            "src,dst,size,shade\nh0,r0,5B,3\n",
            ":1: no column 'shade'; choose from src, dst, start, size",
        ),
        ("src,dst,size,start_m\nh0,r0,5B,3\n", ":1: column 'start_m': 'm' is no unit of a time"),
        ("src,dst,size,after\nh0,r0,5B,3\n", "flow 0 waits for flow 3, which is missing"),
        ("src,dst,size,size_bytes\nh0,r0,5B,3\n", ":1: a column stands there twice"),
        ("src,dst,size\nh0,r0,5\n", ":2: size: '5' has no unit: write 5KB, 5MB or 5B"),
        ("src,dst,size,class\nh0,r0,5B,7\n", ":2: class 7: flows have 0 to 6"),
        ("src,dst,size,rate\nh0,r0,5B,0\n", ":2: a rate must be above 0"),
        ("2\n0 1 3 100 1000 2\n", ":1: 1 flows: the first line counts 2"),
        (
            "1\n0 1 3 100 1000\n",
            ":2: 5 words: a flow is SRC DST PG DPORT SIZE START, as 2 1 3 100 200000000 2",
        ),
        ("1\n0 1 3 100 200KB 2\n", ":2: SIZE '200KB' is no whole number: a flow is SRC DST PG"),
        ("1\n0 1 3 2.5 100 1000\n", ":2: DPORT '2.5' is no whole number: a flow is SRC DST PG"),
        (
            "Nodes 2\n0->1 start 10us size 5\n",
            ":2: start '10us': a number of us, without a unit, as start 10",
        ),
        (
            "Nodes 2\n0->1 start 0 size 1KB\n",
            ":2: size '1KB': a number of bytes, without a unit, as size 1000",
        ),
        (
            "Nodes 2\n0->1 start x size 1KB\n",
            ":2: start 'x': a number of us, without a unit, as start 1000",
        ),
        ("1\n0 1 7 100 1000 2\n", ":2: class 7: flows have 0 to 6"),
        ("Nodes 2\nConnections 1\n0->1 start 0\n", ":3: size is missing"),
        ("Nodes 2\n0->1 id 1 trigger 1 size 5\n", ":2: trigger 1: a connection names it"),
        ("Nodes 2\nFailures 3\n", ":2: Failures: links don't fail here"),
        (
            "Nodes 2\n0->1 startt 0 size 5\n",
            ":2: no word 'startt' of a connection; did you mean 'start'",
        ),
        (CSV + "h0,r0,inf,5\n", ":5: start: 'inf' is no time: write it like 500us"),
        (CSV + "h0,r0,nan,5\n", ":5: start: 'nan' is no time"),
        (CSV + "h0,r0,1e400,5\n", ":5: start: '1e400' is too much"),
        (CSV + "h0,r0,1e15,5\n", ":5: start 1e+15 s: flows start within 1,000,000 s"),
        (CSV + "h0,r0,18446744.0738,5\n", ":5: start 1.84467e+07 s: flows start within"),
        (CSV + f"h0,r0,0,{2**63}\n", f":5: size {2**63}: from 1 B"),
        (CSV + "h0,r0,0,1" + 5000 * "0" + "\n", ":5: "),
        (CSV + "h0,r0,0,64QB\n", ":5: size: '64QB' is no size in bytes: write it like 64KB"),
        (CSV + 'h0,"r0,0,5\n', "unexpected end of data"),
    ],
)
def test_files_of_flows_that_are_none(tmp_path, text, message):
    path = tmp_path / "flows.csv"
    path.write_text(text)
    with pytest.raises(ExperimentError, match=re.escape(message)) as caught:
        read_flows(path)
    assert len(str(caught.value).splitlines()) == 1


def test_files_of_flows_have_units_or_those_of_their_columns(tmp_path):
    path = tmp_path / "flows.csv"
    path.write_text(
        "src,dst,start_s,size_bytes\nh0,r0, 10us, 64KB\n\nh0,r0,1e-5,64000\n"
        + f"h0,r0,0,{2**63 - 1}\n"
    )
    first, second, longest = read_flows(path)
    assert (first.start_s, first.size_bytes) == (second.start_s, second.size_bytes) == (1e-5, 64000)
    assert longest.size_bytes == 2**63 - 1
    with pytest.raises(
        ExperimentError, match=r"hosts' links need 3.* s .* Give --set duration=10s"
    ):
        Traffic(parse_spec("compact", flows=str(path))).plan("pcn", 1, {})


def test_columns_of_flows_have_any_order_and_units(tmp_path):
    path = tmp_path / "flows.csv"
    path.write_text(
        "size_KB,class,dst,src,rate_Gbps,start_us,id\n64,5,r0,h0,2.5,10,7\n1MB,,r0,h1,,1ms,8\n"
    )
    assert read_flows(path) == [
        FlowSpec(7, "h0", "r0", 10e-6, 64_000, 2.5e9, traffic_class=5),
        FlowSpec(8, "h1", "r0", 1e-3, 1_000_000),
    ]
    path.write_text("src,dst,size\nh0,r0,64KB\n")
    assert read_flows(path) == [FlowSpec(0, "h0", "r0", 0.0, 64_000)]


def test_file_of_flows_begins_with_a_byte_order_mark_or_without(tmp_path):
    """Spreadsheets write one."""
    of_files = []
    for mark in (b"", b"\xef\xbb\xbf"):
        (tmp_path / "flows.csv").write_bytes(mark + b"src,dst,size\r\nh0,r0,5KB\r\n")
        of_files.append(read_flows(tmp_path / "flows.csv"))
    assert of_files == [[FlowSpec(0, "h0", "r0", 0.0, 5000)]] * 2


def test_flows_of_hpcc_start_with_the_first(tmp_path):
    path = tmp_path / "flow.txt"
    path.write_text(
        "2\n2 1 3 100 200000000 2.000001\n3 1 1 100 1500 2\n\nSRC DST PG DPORT SIZE START\n"
    )
    first, second = read_flows(path)
    assert second == FlowSpec(1, "h3", "h1", 0.0, 1500, traffic_class=1)
    assert (first.src, first.size_bytes, first.start_s) == ("h2", 200_000_000, pytest.approx(1e-6))


def test_flows_of_htsim_start_in_microseconds(tmp_path):
    path = tmp_path / "incast.cm"
    path.write_text(
        "Nodes 16\nConnections 2\nTriggers 0\n0->15 start 0 size 2000000\n3->15 id 9 start 5 size "
        "100\n"
    )
    assert read_flows(path) == [
        FlowSpec(0, "h0", "h15", 0.0, 2_000_000),
        FlowSpec(9, "h3", "h15", 5e-6, 100),
    ]


CELL = st.one_of(
    st.sampled_from(
        [
            "h0", "r0", "0", "1us", "64KB", "inf", "1e30", '"', "", "1e400s", "0->1", "start",
            "size", "99",
        ]
    ),
    st.text(max_size=6),
)  # fmt: skip


@given(
    st.sampled_from([("src,dst,start_s,size_bytes", ","), ("2", " "), ("Nodes 4", " "), ("", " ")]),
    st.lists(st.lists(CELL, max_size=6), max_size=4),
)
def test_reader_of_flows_ends_in_flows_or_one_line(head, rows):
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", errors="surrogatepass", newline=""
    ) as file:
        file.write(f"{head[0]}\n" + "".join(head[1].join(row) + "\n" for row in rows))
        file.flush()
        try:
            flows_of_file = read_flows(Path(file.name))
        except ExperimentError as error:
            problem = str(error)
            assert problem.startswith(file.name)  # either is right
            return
    assert all(
        0 <= flow.start_s <= LONGEST_S and 0 < (flow.size_bytes or 0) < 2**63
        for flow in flows_of_file
    )


@pytest.mark.parametrize("line", ["h0,h99,0,1", "h0,h0,0,1"])
def test_flows_need_existing_hosts(tmp_path, line):
    path = tmp_path / "flows.csv"
    path.write_text(CSV + line + "\n")
    with pytest.raises(
        ExperimentError, match=r"has no host 'h99'; did you mean 'h9'\?|a flow from h0 to itself"
    ):
        Traffic(parse_spec("compact", flows=str(path))).plan("pcn", 1, {})


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(pattern):
    topology = clos(pods=1, spines=0)
    drawn = draw(TrafficSpec("clos", "W1", pattern), topology, 3, 0.5, 2000, 1000)
    assert drawn == draw(TrafficSpec("clos", "W1", pattern), topology, 3, 0.5, 2000, 1000)
    assert len(drawn) >= 2000
    assert all(flow.src != flow.dst for flow in drawn)
    ends: dict[str, set[str]] = {}
    for flow in drawn:
        ends.setdefault(flow.src, set()).add(flow.dst)
    if pattern == "permutation":
        assert all(len(others) == 1 for others in ends.values())
        assert len(set.union(*ends.values())) == len(ends) == len(topology.hosts)
    else:
        assert max(map(len, ends.values())) > 10
    expected = 0.5 * 10e9 * 1000 / 1058 / 8 / WORKLOADS["W1"].mean_bytes * len(topology.hosts)
    assert len(drawn) / max(flow.start_s for flow in drawn) == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("dst", ["h1", "h20", "h40"])
def test_in_the_empty_network_the_slowdown_is_one(dst):
    """Links of 10 and 40 Gbit/s, by one, three or five of them; one flow after the other."""
    topology, apart_s = clos(pods=2), 1e-3
    sizes = (1, 999, 1000, 1001, 25_000, 25_003)
    with VirtualNetwork(topology, find_scheme("pfc").configure()) as network:
        flows = [
            network.add_flow(FlowSpec(i, "h0", dst, i * apart_s, size))
            for i, size in enumerate(sizes)
        ]
        network.run(until_s=len(sizes) * apart_s)
        complete_s = [flow.stats().complete_s for flow in flows]
    path = EmptyPath.of(topology, "h0", dst)
    assert complete_s == pytest.approx(
        [i * apart_s + path.fct_s(size, 1000) for i, size in enumerate(sizes)], abs=1e-11
    )


@pytest.mark.parametrize(
    ("topology", "dst"), [(clos(pods=2), "h40"), (fat_tree(k=4), "h15"), (fat_tree(k=4), "h1")]
)
def test_in_the_empty_network_no_sprayed_flow_is_faster_than_possible(topology, dst):
    """A short last packet takes another path than the one before it, and arrives first: along one
    path it would wait behind it. Never less than the least, and not much more."""
    apart_s = 1e-3
    sizes = (1, 1000, 1001, 1100, 1500, 2001, 3001, 4100, 25_003)
    lossless = {3: Reliability(Repeats.SELECTIVE, 10e-3, 1.0)}
    scheme = find_scheme("pfc").configure()
    with VirtualNetwork(
        topology, scheme, paths=Paths("packet", 16), reliability=lossless
    ) as network:
        flows = [
            network.add_flow(FlowSpec(i, "h0", dst, i * apart_s, size))
            for i, size in enumerate(sizes)
        ]
        network.run(until_s=len(sizes) * apart_s)
        fcts_s = [(flow.stats().complete_s or 0.0) - i * apart_s for i, flow in enumerate(flows)]
    spread = EmptyPaths(topology, spread=True).between("h0", dst)
    slowdowns = np.array(fcts_s) / spread.fcts_s(np.array(sizes), 1000)
    assert slowdowns.min() > 1 - 1e-6
    assert slowdowns.max() < 1.02
    single = np.array(fcts_s) / EmptyPath.of(topology, "h0", dst).fcts_s(np.array(sizes), 1000)
    assert (single.min() < 1 - 1e-4) == (dst != "h1")


def test_slowdown_of_a_spraying_scheme_is_over_all_paths():
    for scheme, spread in (("nscc", True), ("dctcp", False)):
        plan = Traffic(TrafficSpec("fat-tree", "W1", "permutation")).plan(
            scheme, 2, {"k": 4, "count": 200}
        )
        assert recording_numbers.sprays(plan) == spread
        if spread:
            recording = run_virtual(plan, Silent())
            assert np.nanmin(flows.ended(plan, recording).slowdown) >= 1 - 1e-6


def test_what_becomes_of_the_flows():
    traffic = Traffic(TrafficSpec("clos", "W1", "incast", options="lossless_classes=3,4"))
    plan = traffic.plan(
        "pfc", 2, {"pods": 1, "spines": 0, "count": 300, "xoff_bytes": 50_000, "load": 0.8}
    )
    recording = run_virtual(plan, Silent())
    numbers = flows.numbers(plan, recording)
    assert numbers["unfinished all"] == 0
    assert (
        sum(numbers[f"flows {size}"] or 0 for size, _ in sizes.SIZES)
        == numbers["flows all"]
        == len(recording.flows)
    )
    slowest = numbers["p99_slowdown all"] or 0
    assert 1 <= (numbers["p50_slowdown all"] or 0) <= (numbers["p95_slowdown all"] or 0) <= slowest
    assert np.nanmin(flows.ended(plan, recording).slowdown) == pytest.approx(1, abs=1e-3)
    tiers = flows.pause_by_tier(recording)
    assert set(tiers) == {"l", "t"}
    assert tiers["t"] > 0
    assert sum(tiers.values()) == numbers["pause_frames"] == numbers["pause_frames class 3"]
    assert numbers["pause_frames class 4"] == 0
    assert traffic.settled(plan, recording)[0].verdict == "met"


def short_run() -> tuple[Traffic, Plan, Recording]:
    """Which ends before some of its long flows have arrived."""
    traffic = Traffic(TrafficSpec("clos", "W1", "incast"))
    plan = traffic.plan("pfc", 2, {"pods": 1, "spines": 0, "count": 300, "duration": 1e-3})
    return traffic, plan, run_virtual(plan, Silent())


def test_table_of_flows_is_equal_in_one_group_and_in_many(tmp_path, monkeypatch):
    """Records made in many parts, too; groups in which no flow has arrived have the same types."""
    tables = []
    for rows in (1, 2**16):
        monkeypatch.setattr(flows, "_GROUP_ROWS", rows)
        monkeypatch.setattr(flow_counts, "_AT_ONCE", rows)
        _, plan, recording = short_run()
        groups = list(flows.table(plan, recording))
        assert len(groups) == -(-len(recording.flows) // rows)
        if rows == 1:
            assert any(not group["finished"].any() for group in groups)
        path = tmp_path / f"{rows}.parquet"
        with path.open("wb") as file:
            parquet.write_groups(file, flows.table(plan, recording))
        tables.append((parquet.read(path), recording.flows))
    assert tables[0] == tables[1]
    assert tables[0][0]["id"] == [flow.id for flow in plan.topology.flows]


def test_run_that_ends_early_has_no_mean_of_those_that_arrived():
    traffic, plan, recording = short_run()
    numbers = flows.numbers(plan, recording)
    for size in ("all", *(name for name, _ in sizes.SIZES)):
        arrived = (numbers[f"flows {size}"] or 0) - (numbers[f"unfinished {size}"] or 0)
        for statistic, least in (
            ("mean", 1),
            ("p50", 2),
            ("p95", 20),
            ("p99", 100),
            ("p99.9", 1000),
        ):
            none = bool(numbers[f"unfinished {size}"]) or arrived < least
            assert all(
                (numbers[f"{statistic}_{unit} {size}"] is None) == none
                for unit in ("ms", "slowdown")
            )
    assert numbers["unfinished all"]
    check = traffic.settled(plan, recording)[-1]
    assert (check.verdict, check.measured) == ("not met", numbers["unfinished all"])
    (table,) = flows.table(plan, recording)
    missing = (~table["finished"]).sum(), table["fct_s"].to_pylist().count(None)
    assert missing == (numbers["unfinished all"],) * 2
    assert len(table["fct_s"]) == numbers["flows all"]
    chart = page.slowdown(plan, recording)
    assert min(float(line.y[-1]) for line in chart.lines) < 100 - 1e-9
    texts = " ".join(text for _, text in page.story(plan, recording, None))
    assert (
        f"{numbers['unfinished all']:.0f} of {numbers['flows all']:.0f} flows unfinished, so "
        "no mean" in texts
    )
    tile = page.headlines(plan, recording, None)[0]
    assert (tile.value, "unfinished" in tile.beside) == ("–", True)


SCHEME = """
from pcn.hosts.algorithms import ReactionPoint, Scheme
from pcn.hosts.algorithms.parameters import Parameters

class Slow(ReactionPoint):
    def __init__(self, line_bps, parameters):
        self.rate_bps = {rate}

SLOW = Scheme("{name}", "one rate", "pcn", Parameters, Slow)
"""


@pytest.mark.parametrize(("rate", "unfinished"), [("line_bps / 50", 0), ("1.0", 2)])
def test_run_goes_on_until_all_flows_have_arrived_or_nothing_moves(tmp_path, rate, unfinished):
    name = f"slow{unfinished}"
    (tmp_path / "slow.py").write_text(SCHEME.format(rate=rate, name=name))
    file = tmp_path / "flows.csv"
    file.write_text(CSV)
    scheme = find_scheme(f"{tmp_path / 'slow.py'}:SLOW").name
    traffic = Traffic(parse_spec("compact", flows=str(file)))
    plan = traffic.plan(scheme, 1, {})
    assert plan.until_complete
    recording = run_virtual(plan, Silent())
    assert sum(flow.fct_s is None for flow in recording.flows) == unfinished
    ends = [flow.start_s + flow.fct_s for flow in recording.flows if flow.fct_s is not None]
    assert recording.duration_s > plan.duration_s
    assert unfinished or recording.duration_s == pytest.approx(max(ends))
    limited = run_virtual(traffic.plan(scheme, 1, {"duration": plan.duration_s}), Silent())
    assert limited.duration_s == plan.duration_s
    assert sum(flow.fct_s is None for flow in limited.flows) > 0


def test_its_parameters_are_the_topologys_too():
    experiment = find_experiment("traffic?topology=clos&workload=W2&pattern=uniform")
    names = {parameter.name for parameter in experiment.parameters("pcn")}
    assert {"load", "count", "pods", "host_bps", "T"} <= names
    assert not names & {"lossless_classes", "mtu_bytes"}
    plan = Traffic(TrafficSpec("compact")).plan("timely", 1, {"payload": 4000, "count": 5})
    assert plan.topology.number("mtu_bytes") == 4058
    with pytest.raises(ExperimentError, match="k = 3 must be even"):
        Traffic(TrafficSpec("fat-tree")).plan("pcn", 1, {"k": 3})
    with pytest.raises(ExperimentError, match="rate_bps=0 bit/s: must be 1 bit/s to 100000 Gbit/s"):
        Traffic(TrafficSpec("star")).plan("pcn", 1, {"rate_bps": 0.0})


def test_k_of_a_fat_tree_is_a_parameter_and_no_dilation(tmp_path, capsys):
    command = ["run", "traffic", "--clock", "virtual", "--topology", "fat-tree", "--workload", "W1"]
    out = ["--json", "--out", str(tmp_path / "out")]
    assert pcn([*command, "--set", "k=2", "--set", "count=1", *out]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["parameters"]["k"], summary["k"]) == (2, 1)
    assert pcn([*command, "--dilation", "6", *out]) == 1
    assert "--dilation 6: virtual time isn't stretched" in capsys.readouterr().err


def test_a_run_of_two_schemes(tmp_path, capsys):
    file, out = tmp_path / "flows.csv", tmp_path / "out"
    file.write_text(CSV)
    command = [
        "run", "traffic", "--clock", "virtual", "--topology", "compact", "--flows", str(file),
    ]  # fmt: skip
    assert pcn([*command, "--scheme", "pcn,pfc", "--out", str(out)]) == 0
    rows = pq.read_table(out / "pcn" / "flows.parquet").to_pylist()
    assert [(row["src"], row["dst"], row["size_bytes"], row["size"]) for row in rows] == [
        ("h0", "r0", 64000, "M"),
        ("h1", "r1", 2000000, "XL"),
        ("h0", "r1", 1, "S"),
    ]
    assert all(row["slowdown"] >= 0.999 for row in rows)
    summary = json.loads((out / "pcn" / "summary.json").read_text())
    assert summary["steady"]["jain"] is None
    assert summary["measures"]["flows all"] == 3
    assert summary["parameters"]["duration"] is None
    text = (out / "report.html").read_text()
    assert "99% slowdown" in text
    assert 'id="play"' not in text, "nothing is replayed of many flows"
    assert "the run ends when all have arrived" in text
    assert "1: decides when receivers&#39; windows begin" in text
    assert "1: decides nothing" in text, "of PFC's run"


def test_check_s_exit_code_counts_unfinished_flows(tmp_path, capsys):
    file, out = tmp_path / "flows.csv", tmp_path / "out"
    file.write_text(CSV)
    command = [
        "run", "traffic", "--clock", "virtual", "--topology", "compact", "--flows", str(file),
        "--check",
    ]  # fmt: skip
    assert pcn([*command, "--set", "duration=100us", "--out", str(out)]) == 3
    assert "pcn: not met: flows unfinished at the run's end" in capsys.readouterr().err
    rows = pq.read_table(out / "flows.parquet").to_pylist()
    assert [(row["finished"], row["fct_s"] is None) for row in rows] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    text = (out / "report.html").read_text()
    assert "1 of 3 flows unfinished" in text
    assert pcn([*command, "--out", str(tmp_path / "whole")]) == 0


def test_a_sweep_over_the_load(tmp_path, capsys):
    out = tmp_path / "out"
    command = [
        "sweep", "traffic", "--topology", "star", "--workload", "W1", "--load", "0.3,0.6",
        "--set", "count=50",
    ]  # fmt: skip
    assert pcn([*command, "--jobs", "1", "--show", "p99_slowdown all", "--out", str(out)]) == 0
    rows = pq.read_table(out / "runs.parquet").to_pylist()
    assert [row["load"] for row in rows] == [0.3, 0.6]
    assert all(row["lost"] == 0 and row["flows all"] == 50 for row in rows)
    traffic = Traffic(TrafficSpec("star", "W2"))
    run = next(iter(Traffic(TrafficSpec("star", "W1")).runs(("pcn",))))
    assert (
        task_of(traffic, run).identity != task_of(Traffic(TrafficSpec("star", "W1")), run).identity
    )


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_its_options_are_its_own(command, capsys):
    assert pcn([command, "dumbbell", "--topology", "clos", "--load", "0.5"]) == 2
    assert "--topology, --load: for traffic alone, not for dumbbell" in capsys.readouterr().err


def test_tables_of_formats_md_are_those_of_flows():
    text = (Path(__file__).parents[3] / "docs/formats.md").read_text()
    part = text[text.index("## Files of flows") : text.index("## HPCC's config.txt")]
    sections = dict(re.findall(r"^### `([\w-]+)`.*?\n(.*?)(?=^###|\Z)", part, re.M | re.S))
    assert list(sections) == list(FLOW_FORMATS)
    for name, section in sections.items():
        rows = dict(re.findall(r"^\| (.+?) \| (.+) \|$", section, re.M))
        assert {
            key: value for key, value in rows.items() if key not in ("in the file", "---")
        } == FLOW_FORMATS[name].fields
