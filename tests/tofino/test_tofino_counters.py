"""Bytes: what a counter adds to a frame follows from the program, path by path."""

import re

import pytest

from pcn.controller.control_plane import Counter
from pcn.controller.programs import COMPILED
from pcn.controller.tofino.counters import of_frames
from pcn.controller.tofino.package import Package

_FRAME = 1058
_FCS = 4


def header_bytes(name: str) -> int:
    """Of a header of metadata.p4."""
    text = (COMPILED.parent / "tna" / "metadata.p4").read_text()
    match = re.search(rf"header {name} {{(.*?)\n}}", text, re.DOTALL)
    assert match
    widths = {"time_ns_t": 32, "kind_t": 8, "port_t": 9}
    fields = re.findall(r"^\s*(?:@padding )?(bit<(\d+)>|\w+)\s+\w+;", match.group(1), re.MULTILINE)
    return sum(int(width) if width else widths[kind] for kind, width in fields) // 8


@pytest.mark.parametrize("program", ["pcn", "tcd", "qcn", "qcn_in"])
def test_counters_report_frames_without_what_their_path_adds(program):
    bridged = header_bytes("bridge_t") + (
        header_bytes("origin_t") if program.startswith("qcn") else 0
    )
    schema = Package.compiled(program).schema
    assert [counter.alias for counter in schema.counters]
    for counter in schema.counters:
        added = _FCS + (0 if counter.alias == "dropped" else bridged)
        counted = of_frames(counter.name, Counter(3, 3 * (_FRAME + added)))
        assert counted == Counter(3, None if counter.alias == "notified" else 3 * _FRAME), (
            counter.name
        )


def test_counters_of_unknown_programs_have_no_bytes():
    assert of_frames("OtherEgress.sent", Counter(3, 300)) == Counter(3, None)
    assert of_frames("PcnEgress.sent", Counter(3, None)) == Counter(3, None)
