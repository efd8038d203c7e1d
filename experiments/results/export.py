"""A run's results in formats of other projects: by the format's name its files, each a function
that yields lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pcn.experiments.results import export_hpcc, export_trace
from pcn.experiments.results.judged_run import Result

Writer = Callable[[Result], Iterator[str]]
EXPORTS: Mapping[str, Mapping[str, Writer]] = {
    "hpcc": {"fct.txt": export_hpcc.fct, "pfc.txt": export_hpcc.pfc, "qlen.txt": export_hpcc.qlen},
    "trace": {"trace.json": export_trace.trace},
}
EXPLAINED = ("trace",)
"""Formats that need the parts of flows, and the packets of those that have series."""
