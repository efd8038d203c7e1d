"""What `pcn run` does: an experiment with its progress, then its tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from experiments import scheme_parameters, terminal
from experiments.failures import IncompleteError
from experiments.output import SUMMARY
from experiments.parameters import UNITS, format_value
from experiments.progress import ConsoleProgress, Notes
from experiments.runner import K, parameters, run
from pcn.commands.common import print_json, print_table


def run_command(
    scenario: str,
    scheme: str | None,
    clock: str,
    target: str,
    seed: int,
    settings: Iterable[str],
    dilation: str,
    out: Path | None,
    quiet: bool = False,
    as_json: bool = False,
    pictures: bool = True,
) -> list[str]:
    """Runs and prints; the claims and names of the checks that aren't met. `dilation` is `auto` or k. Raises LabError.

    `quiet`: prints notes alone, on stderr. `as_json`: the summary on stdout, the rest on stderr.
    """
    errors = Console(stderr=True)
    console = errors if as_json else terminal.stdout()

    def tell(place: Path) -> list[str]:
        path = place / SUMMARY
        if not path.exists():
            return []
        summary = json.loads(path.read_text())
        if as_json:
            print_json(summary)
        elif not quiet:
            terminal.show(place, console)
        return terminal.unmet(summary)

    try:
        with Notes(errors) if quiet else ConsoleProgress(console) as progress:
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
                pictures=pictures,
            )
    except IncompleteError as error:
        tell(error.place)
        raise
    return tell(place)


def list_command(scenario: str, scheme: str | None, as_json: bool = False) -> None:
    """Prints the parameters of a scenario; with `scheme` those that runs of these schemes have. Raises LabError."""
    rows = [(one, scheme_parameters.owners(one.name)) for one in parameters(scenario, scheme)]
    if as_json:
        most = {one.name: one.maximum if math.isfinite(one.maximum) else None for one, _ in rows}
        print_json([{**asdict(one), "maximum": most[one.name], "schemes": schemes} for one, schemes in rows])
        return
    print_table(
        f"{scenario}: parameters, for --set NAME=VALUE",
        ("name", "unit", "default", "least", "most", "schemes", "meaning"),
        [
            (
                one.name,
                UNITS[one.kind],
                one.derived or format_value(one.kind, one.default),
                format_value(one.kind, one.minimum),
                format_value(one.kind, one.maximum) if math.isfinite(one.maximum) else "–",
                ", ".join(schemes) or "all",
                one.what,
            )
            for one, schemes in rows
        ],
    )
