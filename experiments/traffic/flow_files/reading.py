"""Reads flows of a file in any of the formats."""

from __future__ import annotations

from pathlib import Path

from pcn.base.errors import TopologyError
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.traffic.flow_files.base import MOST_FLOWS, FlowFile, FlowFormat
from pcn.experiments.traffic.flow_files.capture import CAPTURE
from pcn.experiments.traffic.flow_files.chakra import CHAKRA
from pcn.experiments.traffic.flow_files.csv_file import CSV
from pcn.experiments.traffic.flow_files.ends import Ends
from pcn.experiments.traffic.flow_files.hpcc import HPCC
from pcn.experiments.traffic.flow_files.htsim import CM
from pcn.experiments.traffic.flow_files.parquet_file import PARQUET
from pcn.topologies import entry_points
from pcn.topologies.flow_order import in_order
from pcn.topologies.model import FlowSpec, Topology

_OURS = (HPCC, CM, PARQUET, CAPTURE, CHAKRA)
"""They are tried from the last on: those that aren't text come behind the others, which read it.
What is none of them is CSV."""
FLOW_FORMATS: dict[str, FlowFormat] = {form.name: form for form in (CSV, *_OURS)}
KIND = "flow-format"
"""Of entry points of installed packages, each a `FlowFormat` of its name."""


def _form(file: FlowFile) -> FlowFormat:
    """Returns the format of a file. Installed packages' are tried where none of ours will do but
    CSV, which recognises all."""
    forms = (form for form in reversed(_OURS) if form.recognises(file))
    if form := next(forms, None):
        return form
    for point in entry_points.installed(KIND):
        form = entry_points.loaded(KIND, point, FlowFormat, ExperimentError)
        if form.recognises(file):
            return form
    return CSV


_notes: dict[Path, tuple[str, ...]] = {}
"""Of the latest reading of each file."""


def notes(path: Path) -> tuple[str, ...]:
    """Returns what the flows that `read_flows` returned last have otherwise than those that the
    file is of."""
    return _notes.get(path.absolute(), ())


def files_of(path: Path) -> list[Path]:
    """Returns all files that are read where this one is given."""
    return CHAKRA.beside(path) or [path]


def read_flows(path: Path, topology: Topology | None = None) -> list[FlowSpec]:
    """Returns the flows of a file, whose format its content decides, between the topology's hosts,
    or by the file's own names. Raises ExperimentError that names the file, and the line where one
    is at fault."""
    file = FlowFile(path, Ends(topology) if topology else None)
    flow_specs: list[FlowSpec] = []
    ids: set[int] = set()
    try:
        for flow in _form(file).read(file):
            flow_specs.append(flow)
            if flow.id in ids:
                raise ExperimentError(f"{path}: flow id {flow.id} is used twice")
            ids.add(flow.id)
            if len(flow_specs) > MOST_FLOWS:
                raise ExperimentError(f"{path}: more than {MOST_FLOWS:,} flows")
    except TopologyError as error:
        raise ExperimentError(str(error)) from None
    if not flow_specs:
        raise ExperimentError(f"{path} has no flow")
    try:
        in_order(flow_specs)
    except TopologyError as error:
        raise ExperimentError(f"{path}: {error}") from None
    _notes[path.absolute()] = tuple(file.notes)
    return flow_specs
