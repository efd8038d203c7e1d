"""A run from its plan to its recording: the one way in which runs are carried out, on each
clock."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.records import FlowChoice, Records
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.experiment import Variant
from pcn.experiments.run import processes
from pcn.experiments.run.pace import TooFastError
from pcn.experiments.run.progress import RunProgress, Watcher
from pcn.hosts import wire
from pcn.topologies.model import Topology

_ATTEMPTS = 3


_HOP_S = 1e-6
"""CPU time of the engine for a packet's hop through a switch: measured .1 to .55 us, so that what
is left of it is for others on this machine."""


def paced_k(topology: Topology, frame_bytes: int) -> float:
    """Returns the least k, a whole number, at which a paced run is on time if all ports of all
    switches send at line rate, frames of this length, and a hop takes _HOP_S on one core."""
    rate_bps = sum(
        topology.link_at(switch.name, port).rate_bps
        for switch in topology.switches
        for port in topology.ports(switch.name)
    )
    return max(1.0, float(math.ceil(rate_bps / 8 / frame_bytes * _HOP_S)))


@dataclass(frozen=True)
class Paced:
    """A run in virtual time at the pace of real time divided by k (None: `paced_k`)."""

    k: float | None


@dataclass(frozen=True)
class Live:
    """A run on Mininet: its switches, how far time is stretched (None: as this machine can carry),
    its logs' folder."""

    target: str
    k: float | None
    logs: Path


def execute(
    plan: Plan,
    progress: RunProgress,
    on: Live | Paced | None = None,
    *,
    variant: Variant | None = None,
    folder: Path | None = None,
    watcher: Watcher | None = None,
) -> tuple[Plan, Recording]:
    """Carries out a run, in virtual time unless `on` has another clock. Returns its plan, with the
    time that it took, and what was recorded; captures of virtual time go into `folder`, and a
    `watcher` sees it go on. Raises LabError."""
    if processes.transport() is not None:
        for wanted, reason in (
            (isinstance(on, Live), "a live network is on one machine: --clock virtual has parts"),
            (isinstance(on, Paced), "a pace is of one process's clock: --clock virtual has parts"),
            (watcher is not None, "the page and the view show one process's run"),
        ):
            if wanted:
                raise ExperimentError(f"{reason}; without mpirun it runs in one process")
    recording = (
        _live(plan, on, progress)
        if isinstance(on, Live)
        else _virtual(plan, progress, variant, folder, watcher, on)
    )
    return replace(plan, duration_s=recording.duration_s), recording


def _virtual(
    plan: Plan,
    progress: RunProgress,
    variant: Variant | None,
    folder: Path | None,
    watcher: Watcher | None,
    paced: Paced | None,
) -> Recording:
    from pcn.experiments.run.virtual import run_virtual  # only here: a live run loads no engine

    k = None
    if paced is not None:
        frame_bytes = wire.data_bytes(plan.payload_bytes, False, False)
        k = paced_k(plan.topology, frame_bytes) if paced.k is None else paced.k
    records = plan.records
    if not records.flows.worst:
        return run_virtual(plan, progress, variant, folder, watcher, k)
    # Only the end shows which flows are the worst: the same run again, equal to the bit, records
    # these alone.
    first = run_virtual(replace(plan, records=Records()), progress, variant)
    chosen = FlowChoice(ids=recording_numbers.slowest(plan, first.flows, records.flows.worst))
    progress.stage(f"The same run again, with series of flows {', '.join(map(str, chosen.ids))}")
    return run_virtual(
        replace(plan, records=replace(records, flows=chosen)),
        progress,
        variant,
        folder,
        watcher,
        k,
    )


def _live(plan: Plan, on: Live, progress: RunProgress) -> Recording:
    from pcn.experiments.run import calibrate  # only here: a virtual run needs no gRPC
    from pcn.experiments.run.live import run_live

    if on.k is not None:
        return run_live(plan, on.target, on.k, on.logs, progress)
    progress.stage("Calibration: how fast is this machine now?")
    k = calibrate.choose(plan, on.target)
    for _ in range(_ATTEMPTS - 1):
        try:
            return run_live(plan, on.target, k, on.logs, progress)
        except TooFastError as error:
            progress.stage(f"Again with k={error.suggestion:g}: {error.cause}")
            k = error.suggestion
    return run_live(plan, on.target, k, on.logs, progress)
