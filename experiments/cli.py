"""What `pcn run` does: an experiment with its progress, then its tables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from experiments.errors import ExperimentError
from experiments.progress import ConsoleProgress
from experiments.runner import K, run
from experiments.terminal import show, stdout


def run_command(
    scenario: str,
    scheme: str | None,
    clock: str,
    target: str,
    seed: int,
    parameters: Iterable[str],
    dilation: str,
    out: Path | None,
) -> None:
    """Runs and prints. `dilation` is `auto` or k. Raises LabError."""
    settings = list(parameters)
    if any(setting.partition("=")[0].strip() == "k" for setting in settings) and dilation != "auto":
        raise ExperimentError("k is given twice, by --dilation and by --set k: give one")
    console = stdout()
    with ConsoleProgress(console) as progress:
        place = run(
            scenario,
            scheme=scheme,
            clock=clock,
            target=target,
            seed=seed,
            settings=settings,
            k=K.parse(dilation),
            out=out,
            progress=progress,
        )
    show(place, console)
