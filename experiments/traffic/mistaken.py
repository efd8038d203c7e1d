"""Files that were given to the wrong option: what they are."""

from __future__ import annotations

from pathlib import Path

from pcn.experiments.define.workloads import read_cdf
from pcn.experiments.traffic.flow_files import FLOW_FORMATS
from pcn.experiments.traffic.flow_files.base import FlowFile
from pcn.topologies.errors import LabError
from pcn.topologies.formats import FORMATS, Source


def other_kind(path: Path, option: str) -> str:
    """Returns what a file that `option` can't read is, and the option that reads it; empty: neither
    is known."""
    kinds = {"topology": _topology, "flows": _flows, "workload": _sizes}
    for other, name in kinds.items():
        if other != option and (found := name(path)):
            return f"this is {found}: give it as --{other}"
    return ""


def _topology(path: Path) -> str:
    try:
        source = Source.of(path)
        found = [format_.name for format_ in FORMATS.values() if format_.recognises(source)]
    except LabError:
        return ""
    return f"a topology ({' or '.join(found)})" if found else ""


def _flows(path: Path) -> str:
    file = FlowFile(path)
    try:
        found = [
            name for name, one in FLOW_FORMATS.items() if name != "csv" and one.recognises(file)
        ]
        if not found and "src," in file.text.text.partition("\n")[0]:
            found = ["csv"]
    except LabError:
        return ""
    return f"a file of flows ({found[0]})" if found else ""


def _sizes(path: Path) -> str:
    try:
        read_cdf(path)
    except (OSError, UnicodeDecodeError, ValueError):
        return ""
    return "a file of flow sizes"
