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
