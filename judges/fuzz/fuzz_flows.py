"""Files of flows, of their sizes and of their paths, changed with regard to their structure: each
is read, or refused by a line.

    python judges/fuzz/fuzz_flows.py SECONDS [--seed N]

Every case is written to a file and read as a user's is, by what it contains. A reader may raise
ExperimentError (of sizes ValueError, of paths VirtualError) and nothing else, ends within
`LIMIT_S`, and in the memory of `MOST_BYTES`. What is read can be run: sizes, starts and classes are
possible, and no flow waits in vain. Paths are written, and read again equal. fuzz_traces.py has
Chakra's traces.
"""

import contextlib
import io
import math
import random
import struct
import sys
import tempfile
from pathlib import Path

from fuzz_formats import of_lines, run

from pcn.base.pcapng import PcapngWriter
from pcn.experiments.data import parquet
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.define.flow_sizes import read_cdf
from pcn.experiments.traffic.flow_files import LONGEST_S
from pcn.experiments.traffic.flow_files.reading import read_flows
from pcn.hosts import wire
from pcn.hosts.virtual.paths import path_lines, read_paths
from pcn.topologies.flow_order import in_order
from pcn.topologies.formats import Source
from pcn.topologies.formats.known import FORMATS
from pcn.topologies.lossless import CONTROL_CLASS
from pcn.topologies.model import FlowSpec, Topology
from pcn.virtualnet.errors import VirtualError

CSV = """id,src,dst,start_us,size,class,rate,after
0,h0,r0,0,64KB,3,5G,
1,h1,r0,12.5,2MB,4,,0
2,r0,h1,1us,9B,,,0 1
7,h2,h0,0,1000B,0,,2
"""
HPCC = "3\n2 1 3 100 200000000 2.000001\n3 1 1 100 1500 2\n0 1 0 200 9 2.5\n"
CM = """Nodes 8
Connections 4
Triggers 2
0->1 id 1 start 0 size 2000 send_done_trigger 1
1->2 id 2 trigger 1 size 2000 recv_done_trigger 2
3->2 id 3 start 1000 size 50 recv_done_trigger 2 prio 3
2->0 id 4 trigger 2 size 7
trigger id 1 oneshot
trigger id 2 barrier count 2
"""
CDF = "# bytes percent\n0 0\n100 1.5\n10KB 50\n10KB 60\n1e6, 97.5\n30000000 100%\n"

PATHS = "flow,switch,next\n0,s0,s1:2\n0,s1,h1\n1,s0,s1:3\n1,s1,h1\n12,s1,s0:2\n"
NETWORK = """{"name": "two", "hosts": ["h0", "h1"], "switches": ["s0", "s1"], "links": [
    {"a": "h0", "b": "s0"}, {"a": "h1", "b": "s1"}, {"a": "s0:2", "b": "s1:2"}, {"a": "s0:3", "b": "s1:3"}],
    "defaults": {"rate": "10G", "delay": "1us"}}"""  # noqa: E501


def _frames() -> list[tuple[int, bytes]]:
    ends = wire.Ends(b"\x02" * 6, b"\x04" * 6, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    return [
        (1000 * psn, wire.data_headers(ends, 5 + psn % 2, 64,
        psn=psn) + bytes(64 + 4)) for psn in range(6)
    ]  # fmt: skip


def _pcap() -> bytes:
    capture = struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    for time_ns, frame in _frames():
        capture += struct.pack("<IIII", 0, time_ns, len(frame), len(frame)) + frame
    return capture


def _pcapng() -> bytes:
    file = io.BytesIO()
    writer = PcapngWriter(file, "eth0", "a port", "")
    for time_ns, frame in _frames():
        writer.write(time_ns, frame, incoming=True)
    return file.getvalue()


def _parquet() -> bytes:
    file = io.BytesIO()
    columns = {
        "src": ["h0", "h1"], "dst": ["r0", "r0"], "start_s": [0.0, 1e-3], "size_bytes": [5, 70_000],
        (
            "class"
        ): [3, 4],
        "id": [0, 9], "fct_s": [None, 1e-3],
    }  # fmt: skip
    parquet.write(file, columns)
    return file.getvalue()


SAMPLES = {
    "flows.csv": CSV.encode,
    "flow.txt": HPCC.encode,
    "flows.cm": CM.encode,
    "sizes.txt": CDF.encode,
    "paths.csv": PATHS.encode,
    "frames.pcap": _pcap,
    "frames.pcapng": _pcapng,
    "flows.parquet": _parquet,
}
_SEPARATED = {"flows.csv": ",", "paths.csv": ","}
_NUMBERS = (0, 1, 2, 7, 0x7F, 0xFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)


def cases(name: str, draw: random.Random) -> bytes:
    sample = SAMPLES[name]()
    if name.startswith("frames") or name.endswith("parquet"):
        return of_bytes(sample, draw)
    return of_lines(sample.decode(), draw, _SEPARATED.get(name, " ")).encode(
        "utf-8", "surrogatepass"
    )


def of_bytes(data: bytes, draw: random.Random) -> bytes:
    """Bytes, changed in some places."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        at = draw.randrange(len(changed) or 1)
        length = draw.choice((1, 2, 4, 8))
        match draw.randrange(6):
            case 0:
                changed = changed[:at]
            case 1:
                number = draw.choice(_NUMBERS) % 2 ** (8 * length)
                changed[at : at + length] = number.to_bytes(length, draw.choice(("little", "big")))
            case 2:
                part = changed[at : at + draw.choice((1, 4, 16, 70, 200))]
                changed[at:at] = part * draw.choice((1, 1, 3, 50))
            case 3:
                del changed[at : at + draw.choice((1, 2, 4, 16, 90))]
            case 4:
                changed[at : at + length] = draw.randbytes(length)
            case _:
                source = draw.randrange(len(changed) or 1)
                changed[at : at + length] = changed[source : source + length]
    return bytes(changed)


def judge(name: str, data: bytes) -> str:
    """`read`, or `refused`. Anything else that a reader raises goes through, and so does
    TimeoutError."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        if name == "sizes.txt":
            return _sizes(path)
        return _paths(path) if name == "paths.csv" else flows_of(path)


def flows_of(path: Path) -> str:
    """As `judge`, of a file of flows."""
    try:
        flows = read_flows(path)
    except ExperimentError as error:
        _one_line(str(error), path.parent)
        return "refused"
    assert all(_possible(flow) for flow in flows)
    assert len(in_order(flows)) == len(flows)
    with contextlib.suppress(ExperimentError):  # whose hosts are others, most often
        read_flows(path, _network())
    return "read"


def _network() -> Topology:
    return FORMATS["pcn"].read(Source(Path("two.json"), NETWORK))


def _sizes(path: Path) -> str:
    try:
        cdf = read_cdf(path)
    except (ValueError, OSError) as error:
        _one_line(str(error), path)
        return "refused"
    assert 0 <= cdf.mean_bytes < math.inf
    return "read"


def _paths(path: Path) -> str:
    topology = _network()
    try:
        paths = read_paths(path, topology)
    except VirtualError as error:
        _one_line(str(error), path)
        return "refused"
    path.write_text(path_lines(topology, paths))
    assert read_paths(path, topology) == paths
    return "read"


def _one_line(text: str, path: Path):
    assert text.startswith(str(path)), text
    assert len(text.splitlines()) == 1, text


def _possible(flow: FlowSpec) -> bool:
    size, rate_bps = flow.size_bytes or 0, flow.rate_bps
    return (
        0 < size < 2**63
        and 0 <= flow.start_s <= LONGEST_S
        and 0 <= flow.traffic_class < CONTROL_CLASS
        and (rate_bps is None or rate_bps > 0)
    )


if __name__ == "__main__":
    sys.exit(run(__doc__, SAMPLES, cases, judge))
