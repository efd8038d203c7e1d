"""A run here as the files that HPCC's ns-3 simulation writes (SIGCOMM'19: alibaba-edu's repository,
simulation/scratch/third.cc), for its scripts. Nodes have the numbers of `pcn topology convert NET
hpcc:FILE`; times are whole ns.

    fct.txt    SIP DIP SPORT DPORT SIZE START FCT STANDALONE    a flow that has arrived, in the
                                                                order of the ends
    pfc.txt    TIME NODE TYPE PORT PAUSE                        a PFC frame at the port that it
                                                                stops; TYPE 1: a switch
    qlen.txt   time: TIME, then NODE PORT N0 N1 ...             samples so far with a queue of 0, 1,
                                                                ... KB
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from pcn.experiments.define.recording_numbers import EmptyPaths
from pcn.experiments.results.judged_run import Result
from pcn.topologies.formats.hpcc import numbered
from pcn.topologies.model import Endpoint, Topology

_FIRST_PORT, _NORMAL, _INCAST = 10000, 100, 200
"""Of a pair of hosts: the first flow's UDP source port. The destination ports by which the script
distinguishes flows."""
_DUMP_NS = 100_000_000
"""From one dump of qlen.txt to the next."""
_STOPS = {"paused": 1, "resumed": 0, "expired": 0}


def fct(result: Result) -> Iterator[str]:
    """Yields the lines of fct.txt. Standalone is the time in the empty network, by which slowdown
    is measured here: so FCT / STANDALONE is that of flows.parquet. ns-3 counts until the sender has
    the last ACK, here the last byte's arrival ends a flow."""
    plan, numbers = result.plan, numbered(result.plan.topology)
    paths = EmptyPaths.of(plan)
    pairs: Counter[tuple[str, str]] = Counter()
    lines = []
    for spec, flow in zip(plan.topology.flows, result.recording.flows, strict=True):
        ends = (spec.src, spec.dst)
        pairs[ends] += 1
        if flow.fct_s is None or spec.size_bytes is None:
            continue
        standalone_s = paths.between(*ends).fct_s(spec.size_bytes, plan.payload_bytes)
        addresses = " ".join(f"{_address(numbers[end]):08x}" for end in ends)
        port = _FIRST_PORT + pairs[ends] - 1
        times = f"{_ns(flow.start_s - plan.start_s)} {_ns(flow.fct_s)} {_ns(standalone_s)}"
        kind = _INCAST if spec.group == "incast" else _NORMAL
        lines.append(
            (flow.start_s + flow.fct_s, f"{addresses} {port} {kind} {spec.size_bytes} {times}\n")
        )
    yield from (line for _, line in sorted(lines))


def pfc(result: Result) -> Iterator[str]:
    from pcn.virtualnet.pfc_log import KINDS

    events = result.recording.recorded.events
    if events is None:
        return
    topology, numbers = result.plan.topology, numbered(result.plan.topology)
    ports = [
        f"{numbers[end.node]} {not topology.is_host(end.node):d} {_index(topology, end)}"
        for end in events.ports
    ]
    start_s = result.plan.start_s
    for time_s, port, kind in zip(events.times_s, events.which, events.kinds, strict=True):
        if (stops := _STOPS.get(KINDS[kind])) is not None:
            yield f"{_ns(time_s - start_s)} {ports[port]} {stops}\n"


def qlen(result: Result) -> Iterator[str]:
    queues = result.recording.recorded.queues
    if queues is None:
        return
    topology, numbers = result.plan.topology, numbered(result.plan.topology)
    names = [f"{numbers[end.node]} {_index(topology, end)}" for end in queues.ports]
    times_ns = np.round((queues.times_s - result.plan.start_s) * 1e9).astype(np.int64)
    kilobytes = (queues.values / 1000).astype(np.int64)
    ends = (
        [*np.flatnonzero(np.diff(-(-times_ns // _DUMP_NS))).tolist(), len(times_ns) - 1]
        if len(times_ns)
        else []
    )
    counts = [np.zeros(1, np.int64) for _ in names]
    last = -1
    for end in ends:
        yield f"time: {times_ns[end]}\n"
        for place, name in enumerate(names):
            new = np.bincount(kilobytes[last + 1 : end + 1, place], minlength=counts[place].size)
            new[: counts[place].size] += counts[place]
            counts[place] = new
            yield f"{name} {' '.join(map(str, new.tolist()))}\n"
        last = end


def _address(number: int) -> int:
    """Returns the IPv4 address of a node's number, as HPCC's node_id_to_ip computes it."""
    return 0x0B000001 + (number // 256 << 16) + (number % 256 << 8)


def _index(topology: Topology, end: Endpoint) -> int:
    """Returns the number of a node's interface. Numbers begin at 1."""
    return topology.ports(end.node).index(end.port) + 1


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
