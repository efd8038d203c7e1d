"""A run from its plan to its recording: the one way in which runs are carried out, on either clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from experiments.data.plan import Plan
from experiments.data.recording import Recording
from experiments.define.experiment import Variant
from experiments.run.pace import TooFastError
from experiments.run.progress import RunProgress

_ATTEMPTS = 3


@dataclass(frozen=True)
class Live:
    """A run on Mininet: its switches, how far time is stretched (None: as this machine can carry), its logs' folder."""

    target: str
    k: float | None
    logs: Path


def execute(
    plan: Plan, progress: RunProgress, *, live: Live | None = None, variant: Variant | None = None
) -> tuple[Plan, Recording]:
    """Carries out a run, in virtual time or `live`. Returns its plan, with the time that it took, and what was
    recorded. Raises LabError."""
    if live is None:
        from experiments.run.virtual import run_virtual  # only here: a live run loads no engine

        recording = run_virtual(plan, progress, variant)
    else:
        recording = _live(plan, live, progress)
    return replace(plan, duration_s=recording.duration_s), recording


def _live(plan: Plan, on: Live, progress: RunProgress) -> Recording:
    from experiments.run import calibrate  # only here: a virtual run needs no gRPC
    from experiments.run.live import run_live

    if on.k is not None:
        return run_live(plan, on.target, on.k, on.logs, progress)
    progress.stage("Calibration: how fast is this machine now?")
    k = calibrate.choose(plan, on.target)
    for _ in range(_ATTEMPTS - 1):
        try:
            return run_live(plan, on.target, k, on.logs, progress)
        except TooFastError as error:
            progress.stage(f"Again with k={error.suggestion:g}: {error.who}")
            k = error.suggestion
    return run_live(plan, on.target, k, on.logs, progress)
