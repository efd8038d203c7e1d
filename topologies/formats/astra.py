"""Networks of ASTRA-sim's analytical backend, network.yml: NPUs in dimensions, each a ring, a full
mesh or switches.

    topology: [Ring, FullyConnected, Switch]
    npus_count: [2, 8, 4]
    bandwidth: [200.0, 100.0, 50.0]     of each link and direction, in GB/s: 2^30 bytes there
    latency: [50.0, 500.0, 2000.0]      of each link, in ns

NPUs forward there. Here an NPU is a host behind a switch that has its links, except where a switch
alone connects all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from pcn.base.errors import nearest
from pcn.topologies.formats.draft import MOST_HOSTS, Draft, End
from pcn.topologies.formats.source import Format, Source
from pcn.topologies.model import MAX_PORT, Topology
from pcn.topologies.tree import Node, needed

_RING, _MESH, _SWITCH = _KINDS = ("Ring", "FullyConnected", "Switch")
_GB_BITS = 8 * 2**30
_INSIDE_S = 100e-9


class _Dimension(NamedTuple):
    kind: str
    npus: int
    rate_bps: float
    delay_s: float

    @property
    def links_of_npu(self) -> int:
        return {_RING: min(self.npus - 1, 2), _MESH: self.npus - 1, _SWITCH: 1}[self.kind]


def read(source: Source, delay_s: float | None = None) -> Topology:
    """Returns the topology of a file. `delay_s`: between an NPU and the switch that has its links.
    Raises FormatError."""

    def topology(node: Node) -> Topology:
        dimensions = _dimensions(node)
        count = math.prod(dimension.npus for dimension in dimensions)
        if count > MOST_HOSTS:
            raise node.fail(f"{count:,} NPUs: {MOST_HOSTS:,} hosts are possible")
        ports = sum(dimension.links_of_npu for dimension in dimensions)
        if ports >= MAX_PORT:
            raise node.fail(f"{ports:,} links of an NPU: a switch has {MAX_PORT} ports")
        draft = Draft(source, delay_s=delay_s)
        rate_bps = sum(dimension.rate_bps * dimension.links_of_npu for dimension in dimensions)
        for npu in range(count):
            draft.host(node.line, f"h{npu}")
        ends = [f"h{npu}" for npu in range(count)]
        if [dimension.kind for dimension in dimensions] != [_SWITCH]:
            ends = [f"n{npu}" for npu in range(count)]
            for npu, name in enumerate(ends):
                draft.switch(node.line, name)
                draft.link(
                    node.line,
                    End(f"h{npu}"),
                    End(name),
                    rate_bps,
                    _INSIDE_S if delay_s is None else None,
                )
        stride = 1
        for number, dimension in enumerate(dimensions, start=1):
            for place, members in enumerate(_groups(count, stride, dimension.npus)):
                _connect(
                    draft,
                    node.line,
                    f"d{number}s{place}",
                    [ends[npu] for npu in members],
                    dimension,
                )
            stride *= dimension.npus
        return draft.topology()

    return source.read(topology)


def _groups(count: int, stride: int, npus: int) -> Iterator[range]:
    """Yields the NPUs that differ in one dimension alone: `stride` is the product of those before
    it."""
    for first in range(0, count, stride * npus):
        for base in range(first, first + stride):
            yield range(base, base + stride * npus, stride)


def _connect(
    draft: Draft, line: int, switch: str, members: Sequence[str], dimension: _Dimension
) -> None:
    pairs: list[tuple[str, str]]
    if dimension.kind == _SWITCH:
        draft.switch(line, switch)
        pairs = [(name, switch) for name in members]
    elif dimension.kind == _MESH:
        pairs = list(combinations(members, 2))
    else:
        pairs = [*pairwise(members)]
        pairs += [(members[-1], members[0])] if len(members) > 2 else []
    for a, b in pairs:
        draft.link(line, End(a), End(b), dimension.rate_bps, dimension.delay_s)


def _dimensions(node: Node) -> list[_Dimension]:
    fields = node.fields(
        {
            "topology": needed(lambda kinds: kinds.elements(lambda kind: kind.value(_kind))),
            "npus_count": needed(lambda counts: counts.elements(lambda count: count.value(_count))),
            "bandwidth": needed(lambda rates: rates.elements(lambda rate: rate.value(_rate_bps))),
            "latency": needed(lambda delays: delays.elements(lambda delay: delay.value(_delay_s))),
        }
    )
    dimensions = len(fields["topology"])
    for name, values in fields.items():
        if len(values) != dimensions:
            list_ = node.get(name) or node
            raise list_.fail(
                f"{len(values)} values: topology has {dimensions} dimensions, with a value each"
            )
    kinds = [_Dimension(*values) for values in zip(*fields.values(), strict=True)]
    if any(kind.kind == _SWITCH and kind.npus > MAX_PORT for kind in kinds):
        raise node.fail(f"npus_count: a switch has {MAX_PORT} ports")
    return kinds


def _kind(text: str) -> str:
    if text not in _KINDS:
        raise ValueError(f"no building block {text!r}; {nearest(text, _KINDS)}")
    return text


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 1 and len(text) < 10):
        raise ValueError(f"{text!r}: a number of NPUs, from 2")
    return int(text)


def _rate_bps(text: str) -> float:
    rate_bps = _number(text, "GB/s") * _GB_BITS
    if not 0 < rate_bps < math.inf:
        raise ValueError(f"{text!r}: GB/s, above 0 and finite")
    return rate_bps


def _delay_s(text: str) -> float:
    delay = _number(text, "ns")
    if delay < 0:
        raise ValueError(f"{text!r}: ns, 0 or above")
    return delay / 1e9


def _number(text: str, unit: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{text!r}: a number, in {unit}") from None
    if not math.isfinite(number):
        raise ValueError(f"{text!r}: a finite number, in {unit}")
    return number


def _recognises(source: Source) -> bool:
    return isinstance(source.keys.get("topology"), list) and "npus_count" in source.keys


FORMAT = Format(
    name="astra",
    summary="network.yml of ASTRA-sim's analytical backend",
    read=read,
    recognises=_recognises,
    elsewhere={
        "rate_bps": "the file has each link's bandwidth, by dimension",
        "split_hosts": "an NPU is a host behind a switch that has its links",
    },
    fields={
        "`topology`": "a building block a dimension: `Ring` (both directions; of two NPUs it is "
        "one link), "
        "`FullyConnected`, `Switch`: switch 3 of dimension 2 is `d2s3`",
        "`npus_count`": (
            "NPUs of each dimension: the hosts `h0` ..., numbered as there, the first dimension "
            "first"
        ),
        (
            "an NPU"
        ): "the host `h5` behind the switch `n5`, which has the links and forwards; their own link "
        "is as fast "
        "as the others together. Hosts at a single `Switch` are linked to it",
        "the delay of that link": "assumed: `--set delay_s=100ns`; there it takes no time",
        "`bandwidth`": "each way, in GB/s; 1 GB is 2^30 bytes there",
        "`latency`": "one way, in ns",
        "routes": "shortest paths, by ECMP; there one dimension after the other",
        "addresses": "assumed: 10.0.0.1 and so on, in order; files have none",
    },
)
