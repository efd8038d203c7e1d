"""Files that were given to the wrong option: what they are."""

from __future__ import annotations

from pathlib import Path

from pcn.base.errors import LabError
from pcn.experiments.define.flow_sizes import read_cdf
from pcn.experiments.traffic.flow_files.base import FlowFile
from pcn.experiments.traffic.flow_files.reading import FLOW_FORMATS
from pcn.topologies.formats import Source
from pcn.topologies.formats.known import FORMATS


def other_kind(path: Path, option: str) -> str:
    """Returns what a file that `option` can't read is, and the option that reads it; empty: neither
    is known."""
    kinds = {"topology": _topology, "flows": _flows, "workload": _sizes}
    for kind, name in kinds.items():
        if kind != option and (description := name(path)):
            return f"this is {description}: give it as --{kind}"
    return ""


def _topology(path: Path) -> str:
    try:
        source = Source.of(path)
        formats = [format_.name for format_ in FORMATS.values() if format_.recognises(source)]
    except LabError:
        return ""
    return f"a topology ({' or '.join(formats)})" if formats else ""


def _flows(path: Path) -> str:
    file = FlowFile(path)
    try:
        formats = [
            name for name, form in FLOW_FORMATS.items() if name != "csv" and form.recognises(file)
        ]
        if not formats and "src," in file.text.text.partition("\n")[0]:
            formats = ["csv"]
    except LabError:
        return ""
    return f"a file of flows ({formats[0]})" if formats else ""


def _sizes(path: Path) -> str:
    try:
        read_cdf(path)
    except (OSError, UnicodeDecodeError, ValueError):
        return ""
    return "a file of flow sizes"
