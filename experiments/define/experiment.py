"""What an experiment is: its runs by their keys, a plan for one of them, what is kept of it, and
what that shows.

Runs are declared lazily, in JSON's terms, so that any process makes one of them from its
declaration alone. What is made of recordings and outcomes is made by pure functions: the same
verdicts come from outcomes that were kept.
"""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Parameter, Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.steady_state import Steady
from pcn.experiments.define.charts import Chart
from pcn.experiments.define.checks import Check
from pcn.experiments.define.number_texts import NumberText
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes
from pcn.experiments.define.tables import Measured, Table
from pcn.hosts.algorithms import Scheme

DRAWN_FLOWS = "sizes, starts and ends of the flows"
"""What many plans draw."""
MOST_SEED = 2**63 - 1
"""What an integer of Parquet holds."""


@dataclass(frozen=True)
class Variant:
    """What a study runs instead of what the plan's scheme has: None keeps it."""

    scheme: Scheme | None = None
    program: str | None = None


@dataclass(frozen=True)
class Run:
    """One run of an experiment. `keys` distinguish it from the others: scheme, seed, and what the
    experiment varies; the plan is made of `scheme`, `seed` and `arguments`, and runs as the variant
    of this name."""

    keys: Mapping[str, Key]
    scheme: str
    seed: int = 1
    arguments: Mapping[str, Value] = field(default_factory=dict)
    variant: str = ""

    def __post_init__(self) -> None:
        check_seed(self.seed)

    @property
    def label(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.keys.items())


def check_seed(seed: int) -> None:
    """Raises ExperimentError for a seed that no run takes."""
    if not 0 <= seed <= MOST_SEED:
        raise ExperimentError(f"seed {seed}: from 0 to 2^63 - 1 are possible")


@dataclass(frozen=True)
class Headline:
    """One number of a run, as text, and what it is to be seen beside: the paper's, the ideal."""

    label: str
    value: str
    beside: str = ""


@dataclass(frozen=True)
class RunPage:
    """What the report of a single run shows beside its checks. Texts are (figure that a text
    belongs to, `topology` or `checks`; a short paragraph)."""

    charts: Sequence[Callable[[Plan, Recording], Chart | None]]
    """The figures, each by itself, named as its chart is: the same ones, in the same order, for
    each scheme. None: this run has nothing to show there."""
    headlines: Callable[[Plan, Recording, Steady], list[Headline]]
    """What one looks at first: the same ones for each scheme."""
    about: Callable[[Plan], list[tuple[str, str]]]
    """What holds for each scheme's run."""
    story: Callable[[Plan, Recording, Steady], list[tuple[str, str]]]
    """What one sees in this run."""
    replay: bool = True
    """Whether the run is replayed in the drawing of the network: for few flows."""
    tables: Callable[[Mapping[str, Measured]], list[Table]] | None = None
    """What becomes of many flows, of one run or of several by their names; None: a row a flow is
    shown instead."""
    together: Callable[[Mapping[str, Measured]], list[Chart]] | None = None
    """Charts beside each other, of one run or of several by their names, each with lines of all of
    them."""
    flows: Callable[[Plan, Recording], Sequence[Table]] | None = None
    """Of one run: the few ports and flows that stand out; empty: there is nothing to show."""
    explain: str = ""
    """Options of `pcn explain` for its slow flows; empty: no command is named."""

    def explain_command(self, folder: str, files: Iterable[str]) -> str:
        """Returns the command for the run in this folder, which was made of these files: those of
        code need its user's leave."""
        leave = " --allow-code" if any(file.endswith((".py", ".c")) for file in files) else ""
        return f"pcn explain {shlex.quote(folder)} {self.explain}{leave}"


class Experiment:
    """A scenario, a figure of a paper, or a study of ours. One with a `page` runs by `pcn run`, on
    either clock if its plans have live limits, with a report of each run; the others by `pcn
    figure`, in virtual time."""

    name: str
    title: str
    source: str
    """Where its paper has it."""
    about: str = ""
    """What is run and measured, and what was chosen: for the reader of the results."""
    schemes: tuple[str, ...] = ()
    """Those that run by default."""
    swept: Mapping[str, Sequence[float]] = {}
    """Arguments that runs vary, by name, with their values: each value with each of the others, of
    each scheme."""
    seeds: Sequence[int] = (1,)
    """Of each of these."""
    many_flows: bool = False
    """Its flows are a table (`tables`): the summary has no entry of each."""
    deadlocks: bool = False
    """Whether it counts runs that end in a deadlock; elsewhere there may be none."""
    draws: str = ""
    """What its plans draw by the seed; empty: nothing. Scheme and program may draw, too
    (`define.draws`)."""
    texts: Mapping[str, str] = {}
    """Options of the whole command, beside parameters, that are texts: their values, by name."""
    variants: Mapping[str, Callable[[], Variant]] = {}
    """By the names that runs give: each makes one for one run."""
    number_texts: Mapping[str, NumberText] = {}
    """What the numbers of `measure` are called, by name; of a name with a group behind a blank, by
    what is before it. Without a text a number is called by the words of its name."""
    group_texts: Mapping[str, str] = {}
    """What these groups are called."""
    page: RunPage | None = None

    @property
    def reference(self) -> str:
        """What `pcn.experiments.papers.find_experiment` finds it by, in any process."""
        return self.name

    def files(self) -> Sequence[Path]:
        """Returns the files from outside the project that it is made of."""
        return ()

    def parameters(self, scheme: str) -> tuple[Parameter, ...]:
        """Returns what may be set in a run of this scheme."""
        return ()

    @property
    def elsewhere(self) -> Mapping[str, str]:
        """Of names that are no parameters where their values come from: what an error shows."""
        return {"k": "--dilation K stretches live time"}

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        """Yields the runs, of those of these schemes that the experiment is about. Equal for equal
        arguments."""
        for scheme in schemes:
            for values in itertools.product(*self.swept.values()):
                arguments = dict(zip(self.swept, values, strict=True))
                for seed in self.seeds:
                    yield Run(
                        {"scheme": scheme, **arguments, "seed": seed}, scheme, seed, arguments
                    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        """Returns the plan for these parameters, or for a run's arguments. Raises ExperimentError
        when they don't go together."""
        raise NotImplementedError(f"{self.name} has no runs")

    def variant(self, run: Run) -> Variant:
        return self.variants[run.variant]() if run.variant else Variant()

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        """Returns the numbers and curves that are kept of a run. Numbers by name with its unit at
        the end."""
        return Outcome(run.keys, {})

    def tables(
        self, plan: Plan, recording: Recording
    ) -> Mapping[str, Mapping[str, Any] | Iterator[Mapping[str, Any]]]:
        """Returns what a run's result has as Parquet beside its series: columns, lists or arrays,
        by the table's name; of many rows, groups of them, each made when it is written."""
        return {}

    def settled(self, plan: Plan, recording: Recording) -> list[Check]:
        """Returns the claims that one run settles by itself, each with its verdict."""
        return []

    def checks(self, outcomes: Outcomes) -> list[Check]:
        """Returns the claims that the runs settle together."""
        return []

    def story(self, outcomes: Outcomes) -> list[str]:
        """Returns what is to be seen, in paragraphs with the outcomes' own figures."""
        return []

    def page_tables(self, outcomes: Outcomes) -> list[Table]:
        """Returns the runs side by side, as the page of figures has them below the text."""
        return []

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        """Returns the picture, left to right."""
        return []


@dataclass(frozen=True)
class Paper:
    """A paper that is reproduced. `number` is that of its claims in docs/claims.md.

    `scenarios` have a page, so `pcn run` runs them; `figures` have none. Both are in the paper's
    order, by name: the class of an experiment as "module:Class", in the paper's `package`."""

    number: int
    title: str
    package: str
    scenarios: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, str] = field(default_factory=dict)
