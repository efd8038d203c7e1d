"""HPCC's flow.txt: a count, then SRC DST PG DPORT SIZE START."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pcn.experiments.traffic.flow_files.base import MOST_FLOWS, FlowFile, FlowFormat
from pcn.topologies.formats import ns3_units
from pcn.topologies.formats.source import Line, Source
from pcn.topologies.model import FlowSpec

_WORDS = ("SRC", "DST", "PG", "DPORT", "SIZE", "START")
_FLOW = f"a flow is {' '.join(_WORDS)}, as 2 1 3 100 200000000 2"


def _read(file: FlowFile) -> Iterator[FlowSpec]:
    source = file.text
    lines = source.lines()
    head = next(lines)
    count, flows = int(head.words[0]), list[FlowSpec]()
    for line in lines:
        if len(flows) == count:
            break
        flows.append(file.checked(_flow(source, line, len(flows)), line.number))
    if len(flows) < count:
        raise source.error(head.number, f"{len(flows)} flows: the first line counts {count}")
    first_s = min((flow.start_s for flow in flows), default=0.0)
    yield from (replace(flow, start_s=flow.start_s - first_s) for flow in flows)


def _flow(source: Source, line: Line, number: int) -> FlowSpec:
    if len(line.words) != 6:
        raise source.error(line.number, f"{len(line.words)} words: {_FLOW}")
    for name, word in zip(_WORDS, line.words[:5], strict=False):
        if not (word.isascii() and word.isdigit() and len(word) < 20):
            raise source.error(line.number, f"{name} {word!r} is no whole number: {_FLOW}")
    src, dst, group, _, size = map(int, line.words[:5])
    try:
        start_s = ns3_units.time(line.words[5])
    except ValueError as error:
        raise source.error(line.number, str(error)) from None
    return FlowSpec(number, f"h{src}", f"h{dst}", start_s, size, traffic_class=group)


def _recognises(file: FlowFile) -> bool:
    head = next(file.text.lines(), None)
    return (
        head is not None
        and len(head.words) == 1
        and head.words[0].isdigit()
        and int(head.words[0]) <= MOST_FLOWS
    )


HPCC = FlowFormat(
    name="flow-txt",
    recognises=_recognises,
    read=_read,
    fields={
        "first line": "count of flows; what follows them is left out",
        "`SRC`, `DST`": "the hosts `h2`, `h1`, as the reader of topology.txt names them",
        "`PG`": (
            "the traffic class, 0 to 6; PFC protects class 3 unless `lossless_classes` has more"
        ),
        "`DPORT`": "left out",
        "`SIZE`": "payload in bytes",
        "`START`": "in seconds, counted from the first flow's start",
    },
)
