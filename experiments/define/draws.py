"""What the seed of a run decides. Where it decides nothing, runs with several seeds are one run,
and have no spread."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pcn.controller.programs import Program
from pcn.experiments.data.plan import Plan
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.outcomes import Outcome
from pcn.hosts.algorithms import find_scheme

NOTHING = "nothing"


def draws(experiment: Experiment, run: Run, plan: Plan) -> str:
    """Returns what is drawn by the seed, in virtual time: by the plan, by the scheme's ends, by the
    program in the switches; NOTHING where nothing is. Raises LabError."""
    variant = experiment.variant(run)
    scheme = variant.scheme or find_scheme(plan.scheme)
    drawn = [experiment.draws] if experiment.draws else []
    np = scheme.configure(plan.scheme_parameters).new_np()
    if np.period_s is not None and np.phase_spread > 0:
        drawn.append("when receivers' windows begin")
    program = (
        Program.compiled(variant.program)
        if variant.program
        else Program.find(scheme.program, native=True)
    )
    if program.draws:
        drawn.append(f"what the program {program.name.removesuffix('_native')} draws in switches")
    return ", ".join(drawn) or NOTHING


def spreads(outcomes: Sequence[Outcome], decided: str = "") -> bool:
    """Returns whether runs that differ by their seed are a sample, which has a spread: the seed
    decides something (`decided`), and it made each of them another run."""
    return decided != NOTHING and distinct(outcomes) == len(outcomes)


def distinct(outcomes: Sequence[Outcome]) -> int:
    """Returns how many of the runs differ in any number or curve."""
    return len({json.dumps([dict(outcome.numbers), dict(outcome.curves)]) for outcome in outcomes})
