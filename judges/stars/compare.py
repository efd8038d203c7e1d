"""Schemes on the six stars of `pcn scheme check --stars`, beside their authors' programs: 1, 2 and
16 flows that last on one link, by the same parameters.

    compare.py --ns3 FOLDER SCHEME...      FOLDER: `simulation` of HPCC's repository, with third
                                           built (judges/hpcc/README.md): dcqcn-ns3, hpcc,
                                           timely-hpcc, dctcp
    compare.py --htsim FOLDER SCHEME...    FOLDER: htsim/sim/datacenter of uet-htsim, with
                                           htsim_uec built (judges/htsim): nscc, rccc
    compare.py ... --star 3 --flows 16     some of them
    compare.py ... --keep                  theirs into hosts/virtual/stars.json, which `pcn scheme
                                           check --stars` prints beside ours

Neither program is changed. HPCC's writes each packet's event at the switch into a pipe, from which
come bytes, flows and the queue; uet-htsim's logs have them by samples. Parameters are those of our
rules; what the other program derives by itself (HPCC's T and window of payload, frames' bytes) is
set here instead. uet-htsim has no network of one switch: there both run 16 hosts, a switch, a
second, a third, and the receiver, with a quarter of a star's delay on each of four links.

Bounds: utilisation within 0.03, Jain's index at least 0.95 of theirs, the mean queue within a
factor of 1.5 or two frames. Exit code 1: a line is beyond one.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE.parent), str(HERE.parents[1])) if path not in sys.path]

from htsim.compare import ULTRA_ETHERNET  # noqa: E402

from pcn.base.errors import LabError  # noqa: E402
from pcn.experiments.data.series_math import jain  # noqa: E402
from pcn.experiments.results.atomic_folder import replacing  # noqa: E402
from pcn.hosts import wire  # noqa: E402
from pcn.hosts.algorithms import find_scheme  # noqa: E402
from pcn.hosts.recommended import network_facts, recommended  # noqa: E402
from pcn.hosts.virtual.stars import (  # noqa: E402
    AUTHORS,
    FLOWS,
    STARS,
    XOFF_BYTES,
    Authors,
    Measured,
    Star,
    length_s,
    measure,
    read_authors,
)
from pcn.topologies.clos import clos  # noqa: E402
from pcn.topologies.model import FlowSpec, Topology  # noqa: E402

UTILISATION_BOUND, JAIN_BOUND, QUEUE_BOUND, QUEUE_FRAMES = 0.03, 0.95, 1.5, 2
START_S = 2.0
"""Of ns-3's runs: its link failures and monitors count from then."""
FLOW_BYTES = 4_000_000_000
"""Of ns-3's flows, which 32 bits count: none ends."""
HTSIM_BYTES = 2_000_000_000
"""Of uet-htsim's, which 31 bits count."""
BUFFER_MB = 4000
"""Of ns-3's switch, nearly what 32 bits count, so that no PAUSE comes."""
NS3_TICK_S = 1e-9
"""What ns-3's frames take is whole nanoseconds, cut off: 1% less than 83.84 at 100 Gbit/s."""
TELEMETRY_RATES = (25e9, 50e9, 100e9, 200e9, 400e9)
"""What HPCC's telemetry has types of links for."""
EVENT = np.dtype(
    {
        "names": ["time", "node", "port", "queue", "waiting", "src", "bytes", "protocol", "event"],
        "formats": ["<u8", "<u2", "u1", "u1", "<u4", "<u4", "<u2", "u1", "u1"],
        "offsets": [0, 8, 10, 11, 12, 16, 24, 26, 27],
        "itemsize": 56,
    }
)
"""A record of ns-3's trace. `waiting`: the queue's bytes before a packet joins it, and after one
leaves."""
ENQUEUED, DEQUEUED, UDP = 1, 2, 0x11
LOG = np.dtype(
    [("time", "<f8"), ("type", "<u4"), ("id", "<u4"), ("event", "<u4"), ("values", "<f8", 3)]
)
"""A record of uet-htsim's log."""
QUEUE_RANGE, SINK_RATE = (5, 500), (47, 4700)
SAMPLES = 2000
"""Of uet-htsim's log, in all."""


@dataclass(frozen=True)
class Line(Star):
    """A star whose flows pass three switches in a row, the first of which is the bottleneck."""

    def topology(self, flows: int) -> Topology:
        hosts = max(FLOWS)
        bare = clos(
            1, 2, 1, hosts, self.rate_bps, self.rate_bps, self.rtt_s / 8, strands=1, spines=0,
            mtu_bytes=wire.data_bytes(self.payload_bytes),
            xoff_bytes=XOFF_BYTES,
        )  # fmt: skip
        specs = (
            FlowSpec(n + 1, f"h{n}", f"h{hosts}", start_s=n * self.rtt_s / flows)
            for n in range(flows)
        )
        parameters = {**bare.parameters, "bottleneck": f"t0:{hosts + 1}"}
        return replace(bare, flows=tuple(specs), parameters=parameters)


class Side(NamedTuple):
    """A program's part in a run: the scheme's parameters that ours takes from it, its settings, and
    variables of its environment."""

    ours: Mapping[str, float]
    settings: Mapping[str, object]
    environment: Mapping[str, str] = {}


def _rate(rate_bps: float) -> str:
    return f"{rate_bps / 1e6:.6f}Mb/s"


def _dcqcn(of, place: Star) -> Side:
    return Side(
        {},
        {
            "CC_MODE": 1,
            "RATE_AI": _rate(of.r_ai_bps),
            "RATE_HAI": _rate(of.r_hai_bps),
            "MIN_RATE": _rate(of.min_rate_bps),
            "KMIN_MAP": f"1 {place.rate_bps:.0f} {of.k_min_bytes / 1e3:.0f}",
            "KMAX_MAP": f"1 {place.rate_bps:.0f} {of.k_max_bytes / 1e3:.0f}",
            "PMAX_MAP": f"1 {place.rate_bps:.0f} {of.p_max}",
            "ACK_HIGH_PRIO": 1,
        },
    )


def _hpcc(of, place: Star) -> Side:
    """Its T has no headers and no acknowledgement, and its window counts payload."""
    rtt_s = place.rtt_s + 2 * place.payload_bytes * 8 / place.rate_bps
    least_bps = min(1e9, place.rate_bps / 100)
    return Side(
        {
            "base_rtt_s": rtt_s,
            "first_rtt": 1,
            "frame_per_payload": wire.data_bytes(place.payload_bytes, True) / place.payload_bytes,
            "min_rate_bps": least_bps,
        },
        {
            "CC_MODE": 3, "RATE_AI": _rate(of.w_ai_bytes * 8 / rtt_s),
            "RATE_HAI": _rate(of.w_ai_bytes * 8 / rtt_s), "MIN_RATE": _rate(least_bps),
            "U_TARGET": of.eta, "MI_THRESH": int(of.max_stage),
            "INT_MULTI": max(int(place.rate_bps / 25e9), 1),
            "HAS_WIN": 1,
            "VAR_WIN": 1,
            "FAST_REACT": 1,
        },
    )  # fmt: skip


def _timely(of, place: Star) -> Side:
    """Its thresholds aren't in config.txt: they are attributes of ns-3."""
    times = (("TLow", of.t_low_s), ("THigh", of.t_high_s), ("MinRtt", of.min_rtt_s))
    return Side(
        {},
        {
            "CC_MODE": 7,
            "RATE_AI": _rate(of.delta_bps),
            "RATE_HAI": _rate(of.hai_factor * of.delta_bps),
            "MIN_RATE": _rate(of.min_rate_bps),
            "ACK_HIGH_PRIO": 1,
        },
        {
            "NS_ATTRIBUTE_DEFAULT": ";".join(
                f"ns3::RdmaHw::Timely{name}={time_s * 1e9:.0f}" for name, time_s in times
            )
        },
    )


def _dctcp(of, place: Star) -> Side:
    """A rate and a window in proportion to it, where ours has a window; a packet a round trip."""
    rtt_s = place.rtt_s + 2 * place.payload_bytes * 8 / place.rate_bps
    return Side(
        {},
        {
            "CC_MODE": 8,
            "EWMA_GAIN": of.g,
            "DCTCP_RATE_AI": _rate(place.payload_bytes * 8 / rtt_s),
            "MIN_RATE": _rate(min(1e9, place.rate_bps / 100)),
            "KMIN_MAP": f"1 {place.rate_bps:.0f} {of.k_bytes / 1e3:.0f}",
            "KMAX_MAP": f"1 {place.rate_bps:.0f} {of.k_bytes / 1e3:.0f}",
            "HAS_WIN": 1,
            "VAR_WIN": 1,
        },
    )


NS3 = {"dcqcn-ns3": _dcqcn, "hpcc": _hpcc, "timely-hpcc": _timely, "dctcp": _dctcp}
SETTINGS = {
    "ENABLE_QCN": 1, "USE_DYNAMIC_PFC_THRESHOLD": 1, "ALPHA_RESUME_INTERVAL": 1,
    "RATE_DECREASE_INTERVAL": 4, "CLAMP_TARGET_RATE": 0, "RP_TIMER": 300, "EWMA_GAIN": 0.00390625,
    "FAST_RECOVERY_TIMES": 1, "DCTCP_RATE_AI": "1000Mb/s", "ERROR_RATE_PER_LINK": 0,
    "L2_CHUNK_SIZE": 4000, "L2_ACK_INTERVAL": 1, "L2_BACK_TO_ZERO": 0, "HAS_WIN": 0,
    "GLOBAL_T": 1, "VAR_WIN": 0, "FAST_REACT": 0, "U_TARGET": 0.95, "MI_THRESH": 0,
    "INT_MULTI": 1, "MULTI_RATE": 0, "SAMPLE_FEEDBACK": 0, "RATE_BOUND": 1, "ACK_HIGH_PRIO": 0,
    "LINK_DOWN": "0 0 0", "ENABLE_TRACE": 1, "BUFFER_SIZE": BUFFER_MB,
}  # fmt: skip
"""run.py's, where a scheme has no other."""


def write_ns3(
    folder: Path,
    place: Star,
    topology: Topology,
    settings: Mapping[str, object],
    ends_s: float,
    trace: str,
) -> Path:
    """Writes a run's files, of which the trace's is `trace`; returns its config.txt. Hosts are
    numbered as in the topology, the switch comes last."""
    names = [host.name for host in topology.hosts]
    switch, delay_ns = len(names), place.rtt_s / 4 * 1e9
    link = f"{place.rate_bps / 1e9:g}Gbps {delay_ns:.0f}ns 0"
    links = [f"{host} {switch} {link}" for host in range(switch)]
    flows = [
        f"{names.index(flow.src)} {names.index(flow.dst)} 3 100 {FLOW_BYTES} "
        f"{START_S + flow.start_s:.9f}"
        for flow in topology.flows
    ]
    files = {
        "TOPOLOGY_FILE": [f"{switch + 1} 1 {len(links)}", str(switch), *links],
        "FLOW_FILE": [str(len(flows)), *flows],
        "TRACE_FILE": ["1", str(switch)],
    }
    for key, lines in files.items():
        (folder / key.lower()).write_text("\n".join([*lines, ""]))
    rate = f"1 {place.rate_bps:.0f}"
    chosen = {
        "KMIN_MAP": f"{rate} {BUFFER_MB * 1000}",
        "KMAX_MAP": f"{rate} {BUFFER_MB * 1000}",
        "PMAX_MAP": f"{rate} 1",
        **SETTINGS,
        **settings,
        "PACKET_PAYLOAD_SIZE": place.payload_bytes,
        "SIMULATOR_STOP_TIME": f"{START_S + ends_s:.9f}",
        # its samples of queues, each 100 ns, begin after the end
        "QLEN_MON_START": round((START_S + ends_s + 1) * 1e9),
        "QLEN_MON_END": round((START_S + ends_s + 1) * 1e9),
        **{key: folder / key.lower() for key in files},
        "TRACE_OUTPUT_FILE": trace,
        "FCT_OUTPUT_FILE": folder / "fct.txt",
        "PFC_OUTPUT_FILE": folder / "pfc.txt",
        "QLEN_MON_FILE": folder / "qlen.txt",
    }
    config = folder / "config.txt"
    config.write_text("".join(f"{key} {value}\n" for key, value in chosen.items()))
    return config


def trace_events(trace: BinaryIO, port: int) -> Iterator[NDArray[Any]]:
    """Yields a port's data packets, as they join its queue and leave it, from ns-3's trace: its
    head has the ports' rates."""
    ports = int.from_bytes(trace.read(4), "little")
    trace.read(ports * 11 + 4)
    rest = b""
    while chunk := trace.read(1 << 20):
        text = rest + chunk
        whole = len(text) // EVENT.itemsize * EVENT.itemsize
        events, rest = np.frombuffer(text[:whole], EVENT), text[whole:]
        moved = (events["event"] == ENQUEUED) | (events["event"] == DEQUEUED)
        chosen = events[moved & (events["protocol"] == UDP) & (events["port"] == port)]
        if chosen.size:
            yield chosen


def of_trace(
    chunks: Iterable[NDArray[Any]], rate_bps: float, flows: int, begins_s: float, ends_s: float
) -> Measured:
    """Returns what ns-3's events between two times come to."""
    begins, ends = round(begins_s * 1e9), round(ends_s * 1e9)
    carried: dict[int, int] = {}
    waiting, at, area = 0, begins, 0
    for events in chunks:
        joins = events["event"] == ENQUEUED
        queues = events["waiting"].astype(np.int64) + np.where(joins, events["bytes"], 0)
        times = np.clip(events["time"].astype(np.int64), begins, ends)
        before = np.concatenate(([waiting], queues[:-1]))
        area += int((before * np.diff(times, prepend=at)).sum())
        waiting, at = int(queues[-1]), int(times[-1])
        left = events[~joins & (events["time"] >= begins) & (events["time"] < ends)]
        for src in np.unique(left["src"]).tolist():
            frames = left["bytes"][left["src"] == src]
            carried[src] = carried.get(src, 0) + int(frames.sum(dtype=np.int64))
    area += waiting * (ends - at)
    shares = [*carried.values(), *[0] * (flows - len(carried))]
    seconds = ends_s - begins_s
    return Measured(
        8 * sum(shares) / seconds / rate_bps,
        area / (ends - begins),
        jain([float(share) for share in shares]),
    )


def ns3(folder: Path, place: Star, topology: Topology, side: Side, ends_s: float) -> Measured:
    """Runs HPCC's simulation."""
    with tempfile.TemporaryDirectory() as scratch, (Path(scratch) / "output").open("w+") as output:
        reader, writer = os.pipe()
        trace = f"/dev/fd/{writer}"
        config = write_ns3(Path(scratch), place, topology, side.settings, ends_s, trace)
        libraries = os.environ.get("LD_LIBRARY_PATH", "")
        child = subprocess.Popen(
            [str((folder / "build/scratch/third").resolve()), str(config)],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=scratch,
            env={
                **os.environ,
                **side.environment,
                "LD_LIBRARY_PATH": f"{(folder / 'build').resolve()}:{libraries}",
            },
            pass_fds=(writer,),
        )
        os.close(writer)
        with os.fdopen(reader, "rb") as events:
            result = of_trace(
                trace_events(events, len(topology.hosts)), place.rate_bps, len(topology.flows),
                START_S + ends_s / 2, START_S + ends_s,
            )  # fmt: skip
        if child.wait() != 0:
            output.seek(0)
            raise SystemExit(f"third ended with {child.returncode}:\n{output.read()[-2000:]}")
    return result


def _topo(place: Star) -> str:
    """uet-htsim's file of a `Line`."""
    hosts, gbps, delay_ns = max(FLOWS), place.rate_bps / 1e9, place.rtt_s / 8 * 1e9
    tiers = [f"Radix_Down {hosts}\nRadix_Up 1\nOversubscribed {hosts}", "Radix_Down 2"]
    head = f"Nodes {2 * hosts}\nTiers 2\nPodsize {2 * hosts}\n"
    return head + "".join(
        f"Tier {tier}\nDownlink_speed_Gbps {gbps:.0f}\n{text}\n"
        f"Downlink_Latency_ns {delay_ns:.0f}\nSwitch_Latency_ns 0\n"
        for tier, text in enumerate(tiers)
    )


def _matrix(topology: Topology) -> str:
    """uet-htsim's file of the flows: starts are whole microseconds."""
    lines = [
        f"{flow.src[1:]}->{flow.dst[1:]} start {flow.start_s * 1e6:.0f} size {HTSIM_BYTES}"
        for flow in topology.flows
    ]
    nodes = len(topology.hosts)
    return "\n".join([f"Nodes {nodes}", f"Connections {len(lines)}", *lines, ""])


def of_log(text: bytes, rate_bps: float, flows: int, begins_s: float) -> Measured:
    """Returns what uet-htsim's log after a time comes to. Its queues are numbered as they are made:
    the last four that packets passed are the second switch's to the first, the first one's to it,
    and those of the third."""
    marker = b"# TRACE\n"
    records = np.frombuffer(text[text.index(marker) + len(marker) :], LOG)
    records = records[records["time"] > begins_s]
    queues, sinks = (
        records[(records["type"] == kind) & (records["event"] == event)]
        for kind, event in (QUEUE_RANGE, SINK_RATE)
    )
    numbers = np.unique(queues["id"])
    if len(numbers) < 4 or not sinks.size:
        raise SystemExit(f"uet-htsim's log has {len(numbers)} queues and {sinks.size} rates")
    waiting = queues["values"][queues["id"] == numbers[-3], 0]
    rates = [
        float(sinks["values"][sinks["id"] == sink, 2].mean()) for sink in np.unique(sinks["id"])
    ]
    shares = [*rates, *[0.0] * (flows - len(rates))]
    return Measured(8 * sum(shares) / rate_bps, float(waiting.mean()), jain(shares))


def htsim(folder: Path, scheme: str, place: Star, topology: Topology, ends_s: float) -> Measured:
    """Runs htsim_uec without trimming, with queues that no packet finds full."""
    frame = wire.data_bytes(place.payload_bytes)
    with tempfile.TemporaryDirectory() as scratch:
        files = {"tm": _matrix(topology), "topo": _topo(place)}
        for name, text in files.items():
            (Path(scratch) / name).write_text(text)
        log = Path(scratch) / "log"
        command = [str((folder / "htsim_uec").resolve()), "-disable_trim", "-o", str(log)]
        for name in files:
            command += [f"-{name}", str(Path(scratch) / name)]
        command += ["-linkspeed", f"{place.rate_bps / 1e6:.0f}", "-mtu", str(frame), "-seed", "1"]
        command += ["-q", str(int(50e6 * max(FLOWS) / frame)), "-end", f"{ends_s * 1e6:.0f}"]
        command += ["-log", "sink", "-log", "tor_upqueue"]
        command += ["-logtime_us", f"{ends_s * 1e6 / SAMPLES:.6f}", *ULTRA_ETHERNET[scheme]]
        ended = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            raise SystemExit(f"htsim_uec ended with {ended.returncode}:\n{ended.stdout[-2000:]}")
        return of_log(log.read_bytes(), place.rate_bps, len(topology.flows), ends_s / 2)


class Row(NamedTuple):
    """A scheme on a star: theirs and ours, and the bounds that ours is beyond."""

    star: str
    flows: int
    theirs: Measured
    ours: Measured
    bdp_bytes: float
    beyond: list[str]

    def __str__(self) -> str:
        cells = [
            f"{side.utilisation:.3f} {side.queue_bytes / self.bdp_bytes:8.3g} {side.jain:.3f}"
            for side in (self.theirs, self.ours)
        ]
        return f"{self.star:26} {self.flows:3}  {'   '.join(cells)}  {', '.join(self.beyond)}"


def beyond(theirs: Measured, ours: Measured, frame_bytes: float) -> list[str]:
    """Returns the names of the bounds that ours is beyond."""
    names = []
    if abs(ours.utilisation - theirs.utilisation) > UTILISATION_BOUND:
        names.append("utilisation")
    if ours.jain < JAIN_BOUND * theirs.jain:
        names.append("Jain")
    low, high = sorted((ours.queue_bytes, theirs.queue_bytes))
    if high > QUEUE_BOUND * low and high - low > QUEUE_FRAMES * frame_bytes:
        names.append("queue")
    return names


def row(name: str, place: Star, flows: int, ns3_folder: Path | None, htsim_folder: Path) -> Row:
    """Runs a scheme with a number of flows on a star, in both programs."""
    scheme = find_scheme(name)
    if ns3_folder is None:
        place = Line(place.rate_bps, place.rtt_s, place.payload_bytes)
    topology = place.topology(flows)
    values = recommended(topology, scheme, place.payload_bytes)
    configured = scheme.configure(values)
    ends_s = length_s(configured, place)
    if ns3_folder is None:
        # no flow of theirs may end
        ends_s = min(ends_s, 0.9 * HTSIM_BYTES * 8 / place.rate_bps)
        theirs = htsim(htsim_folder, name, place, topology, ends_s)
    else:
        side = NS3[name](configured.parameters, place)
        configured = scheme.configure({**values, **side.ours})
        theirs = ns3(ns3_folder, place, topology, side, ends_s)
    facts = network_facts(topology, scheme, place.payload_bytes)
    tick_s = 0.0 if ns3_folder is None else NS3_TICK_S
    ours = measure(configured, topology, place, ends_s, tick_s=tick_s)
    return Row(
        place.name, flows, theirs, ours, facts.bdp_bytes, beyond(theirs, ours, facts.frame_bytes)
    )


PROGRAMS = {
    "HPCC's ns-3": (
        "https://github.com/alibaba-edu/High-Precision-Congestion-Control",
        "the same star",
    ),
    "uet-htsim": ("https://github.com/ultraethernet/uet-htsim", "three switches in a row"),
    "uet-htsim's Swift": (
        "https://github.com/ultraethernet/uet-htsim",
        "the same star, of its library",
    ),
}
"""Where they are, and what they run. Swift isn't this judge's: `htsim_swift` takes no topology."""


def keep(file: Path, scheme: str, program: str, commit: str, rows: Iterable[Row]):
    """Writes what a program came to into the file, in place of what it had of the same scheme, star
    and number of flows."""
    programs, known = read_authors(file) if file.exists() else ({}, [])
    repository, network = PROGRAMS[program]
    programs[program] = {"repository": repository, "commit": commit, "network": network}
    lines = {(line.scheme, line.star, line.flows): line for line in known}
    for row in rows:
        lines[scheme, row.star, row.flows] = Authors(
            program,
            scheme,
            row.star,
            row.flows,
            round(row.theirs.utilisation, 4),
            round(row.theirs.queue_bytes / row.bdp_bytes, 4),
            round(row.theirs.jain, 4),
        )
    stars = [place.name for place in STARS]
    order = sorted(lines, key=lambda key: (key[0], stars.index(key[1]), key[2]))
    texts = [
        f'  "programs": {json.dumps(programs)}',
        '  "lines": [\n' + ",\n".join(f"    {json.dumps(lines[key])}" for key in order) + "\n  ]",
    ]
    with replacing(file) as written:
        written.write(("{\n" + ",\n".join(texts) + "\n}\n").encode())


def commit_of(folder: Path) -> str:
    """Returns the commit of the clone that a folder is in."""
    ended = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        raise SystemExit(f"--keep states the program's commit, and {folder} is in no clone")
    return ended.stdout.strip()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("schemes", nargs="+", choices=[*NS3, *ULTRA_ETHERNET])
    parser.add_argument("--ns3", type=Path, metavar="FOLDER")
    parser.add_argument("--htsim", type=Path, metavar="FOLDER")
    parser.add_argument("--star", type=int, action="append", choices=range(1, len(STARS) + 1))
    parser.add_argument("--flows", type=int, action="append", choices=FLOWS)
    parser.add_argument("--keep", action="store_true", help=f"theirs into {AUTHORS.name}")
    of = parser.parse_args(arguments)
    failed = False
    for name in of.schemes:
        folder = of.ns3 if name in NS3 else of.htsim
        if folder is None:
            parser.error(f"{name}: give --{'ns3' if name in NS3 else 'htsim'}")
        print(f"{name}: utilisation, queue in BDPs, Jain of theirs; of ours; bounds", flush=True)
        for number in of.star or range(1, len(STARS) + 1):
            place = STARS[number - 1]
            if name == "hpcc" and place.rate_bps not in TELEMETRY_RATES:
                print(f"{place.name:26} its telemetry has no such link")
                continue
            for flows in of.flows or FLOWS:
                try:
                    result = row(name, place, flows, folder if name in NS3 else None, folder)
                except (LabError, OSError) as error:
                    print(error, file=sys.stderr)
                    return 1
                failed |= bool(result.beyond)
                print(result, flush=True)
                if of.keep:
                    program = "HPCC's ns-3" if name in NS3 else "uet-htsim"
                    keep(AUTHORS, name, program, commit_of(folder), [result])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
