"""Files of flows, a line a flow: columns, units, other projects' words, what is refused."""

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.flow_files import LONGEST_S
from pcn.experiments.traffic.flow_files.reading import FLOW_FORMATS, read_flows
from pcn.experiments.traffic.spec import parse_spec
from pcn.topologies.model import FlowSpec

CSV = "src,dst,start_s,size_bytes\nh0,r0,0,64000\nh1,r1,1e-5,2000000\nh0,r1,2e-5,1\n"


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
