"""What is kept of an experiment's runs: numbers and curves by name, found by the runs' keys."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pcn.experiments.data.stored_values import stored_curve, stored_number
from pcn.experiments.define.charts import Line, curve
from pcn.experiments.define.checks import Check
from pcn.experiments.define.samples import RunSamples

Key = str | float | int
Curve = tuple[list[float], list[float]]
"""x and y, as long as each other."""


@dataclass(frozen=True)
class Outcome:
    """What is kept of a run: numbers (None: the run has none) and curves to draw, both by name,
    claims that one run settles, and its flows by size, as `pcn.experiments.define.samples` writes
    them."""

    keys: Mapping[str, Key]
    numbers: Mapping[str, float | None]
    curves: Mapping[str, Curve] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    wall_s: float = 0.0
    samples: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Outcome:
        """Reads what `dataclasses.asdict` made, from a file. Raises ValueError where it is
        something else."""
        try:
            curves = {name: stored_curve(*curve) for name, curve in document["curves"].items()}
            checks = tuple(Check(**check) for check in document["checks"])
            numbers = {
                name: None if value is None else stored_number(value)
                for name, value in document["numbers"].items()
            }
            if not all(isinstance(key, str | int | float) for key in document["keys"].values()):
                raise ValueError("keys are texts or numbers")
            samples = document.get("samples", {})
            RunSamples.from_json(samples)  # raises
            return cls(
                document["keys"],
                numbers,
                curves,
                checks,
                stored_number(document["wall_s"]),
                samples,
            )
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from None


class Outcomes:
    """An experiment's outcomes, found by their keys. Runs that differ by their seed alone are taken
    together."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self._outcomes = tuple(outcomes)

    def where(self, **keys: Key) -> list[Outcome]:
        return [
            outcome
            for outcome in self._outcomes
            if all(outcome.keys.get(name) == value for name, value in keys.items())
        ]

    def values(self, name: str) -> list[Key]:
        """Returns the different values of a key, in the order in which they came."""
        return list(
            dict.fromkeys(outcome.keys[name] for outcome in self._outcomes if name in outcome.keys)
        )

    def among(self, schemes: Sequence[str]) -> list[str]:
        """Returns those of these schemes that were run."""
        return [scheme for scheme in schemes if scheme in self.values("scheme")]

    def mean(self, number: str, **keys: Key) -> float | None:
        """Returns the mean of a number over the seeds. None if there is no such run, or one of them
        has no such number."""
        numbers = [outcome.numbers.get(number) for outcome in self.where(**keys)]
        known = [value for value in numbers if value is not None]
        return statistics.fmean(known) if known and len(known) == len(numbers) else None

    def median(self, number: str, **keys: Key) -> float | None:
        """Returns the median of a number over the seeds. None as `mean` has it."""
        return statistics.median(known) if (known := self.by_run(number, **keys)) else None

    def extreme(self, number: str, largest: bool, **keys: Key) -> float | None:
        """Returns the largest or smallest of a number over all runs with these keys. None as `mean`
        has it."""
        numbers = [outcome.numbers.get(number) for outcome in self.where(**keys)]
        known = [value for value in numbers if value is not None]
        if not known or len(known) < len(numbers):
            return None
        return max(known) if largest else min(known)

    def by_run(self, number: str, **keys: Key) -> list[float]:
        """Returns a number of each run, of each seed; none as `mean` has it."""
        numbers = [outcome.numbers.get(number) for outcome in self.where(**keys)]
        known = [value for value in numbers if value is not None]
        return known if len(known) == len(numbers) else []

    def seed_ratios(
        self, number: str, above: Mapping[str, Key], below: Mapping[str, Key]
    ) -> list[float]:
        """Returns a number of the runs with the keys `above` over that of those with `below`, for
        each seed that both have; none where one of them has no number, or 0 below."""
        tops, bottoms = (
            {run.keys["seed"]: run.numbers.get(number) for run in self.where(**keys)}
            for keys in (above, below)
        )
        ratios = [
            ratio(tops[seed], bottoms[seed])
            for seed in sorted(tops.keys() & bottoms.keys(), key=str)
        ]
        known = [value for value in ratios if value is not None]
        return known if len(known) == len(ratios) else []

    def samples(self, **keys: Key) -> list[RunSamples]:
        """Returns the flows by size of each run, of each seed."""
        return [RunSamples.from_json(outcome.samples) for outcome in self.where(**keys)]

    def line(self, label: str, x: str, number: str, look: str = "", **keys: Key) -> Line:
        """Returns the means of a number over the values of key `x`, where there are any, each with
        what it is the mean of. It looks as a scheme does: `look`, or that of the keys."""
        points = [
            (float(value), self.by_run(number, **{x: value}, **keys)) for value in self.values(x)
        ]
        known = [(value, seeds) for value, seeds in points if seeds]
        return curve(
            label,
            [value for value, _ in known],
            [statistics.fmean(seeds) for _, seeds in known],
            look or str(keys.get("scheme", "")),
            points=True,
            seeds=[seeds for _, seeds in known],
        )

    def by(self, x: str, number: str, **keys: Key) -> Curve:
        """Returns the means of a number over the values of key `x`, where there are any."""
        points = [(value, self.mean(number, **{x: value}, **keys)) for value in self.values(x)]
        known = [(float(value), mean) for value, mean in points if mean is not None]
        return [value for value, _ in known], [mean for _, mean in known]


def ratio(above: float | None, below: float | None) -> float | None:
    """Returns above / below, None if either is unknown or the ratio has no meaning."""
    return None if above is None or not below else above / below


def number_text(value: float | None, unit: str = "", digits: int = 3) -> str:
    """Formats a number with `digits` significant digits, large ones without an exponent; a dash for
    None."""
    if value is None:
        return "–"
    text = f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
    return f"{text}{unit and ' '}{unit}"


def percent(value: float | None) -> str:
    """Returns a share in a text."""
    return "–" if value is None else f"{value:.0%}"
