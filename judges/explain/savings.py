"""Blame and savings: does the port that `pcn explain` names as a root save most where it is fast?

    savings.py [--seeds 1:200]    ten minutes for 200; a line an in-cast, then the correlation

Each seed draws two in-casts and other flows on a fat-tree of 16 hosts with PFC alone. Of the flow
with the most PAUSE, each root with a twentieth of the blame or more is made ten times as fast, one
after the other, each in another run. Blame and saving are shares of the flow's completion time. The
rank correlation (Spearman's) is over all roots; its interval is the bootstrap's over in-casts.
"""

import argparse
import dataclasses
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pcn.experiments.data.plan import Plan, plan_of
from pcn.experiments.data.records import Records
from pcn.experiments.data.series_math import Array
from pcn.experiments.define import intervals
from pcn.experiments.explain.again import Change, KeptResult
from pcn.experiments.explain.answers import of_flows
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import Endpoint, FlowSpec

LINE_BPS, FASTER = 40e9, 10
LEAST_BLAME = 0.05
"""Of the time that PAUSE took: a root with less isn't made fast."""
_END_S = 50e-3


@dataclass(frozen=True)
class Root:
    """A port that a flow's PAUSE is traced to: its blame, and what the flow's completion time falls
    by where its link is ten times as fast, both as shares of that time."""

    port: str
    blame: float
    saving: float


class InMemory(KeptResult):
    """A run that no folder keeps."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.place = Path("run")
        self.digest = run_virtual(plan, Silent()).digest
        self._commit = ""


def plan(seed: int) -> Plan:
    """Returns two in-casts of 4 to 8 senders and 0.2 to 1 MB each, and ten flows of 20 to 500 KB,
    that start within 100 us."""
    random = np.random.default_rng([seed, 73])
    topology = fat_tree(4, LINE_BPS, 1e-6, xoff_bytes=100e3, xon_bytes=90e3)
    hosts = [host.name for host in topology.hosts]
    ends: list[tuple[str, str, int]] = []
    for _ in range(2):
        receiver, *senders = random.permutation(hosts)[: random.integers(5, 10)].tolist()
        size = int(random.integers(200_000, 1_000_000))
        ends += [(sender, receiver, size) for sender in senders]
    for _ in range(10):
        src, dst = random.permutation(hosts)[:2].tolist()
        ends.append((src, dst, int(random.integers(20_000, 500_000))))
    flows = tuple(
        FlowSpec(number, src, dst, float(random.uniform(0, 100e-6)), size)
        for number, (src, dst, size) in enumerate(ends)
    )
    drawn = plan_of(
        "savings", "pfc", seed, dataclasses.replace(topology, flows=flows), _END_S, {},
        [Endpoint("e0", 1)], _END_S,
    )  # fmt: skip
    return dataclasses.replace(drawn, records=Records(), until_complete=True)


def roots(seed: int) -> list[Root]:
    """Returns the roots of the flow that PAUSE took most from, the first that is blamed most."""
    original = InMemory(plan(seed))
    explained = dataclasses.replace(original.plan, records=Records(explain=True))
    parts = run_virtual(explained, Silent()).recorded.parts
    columns = [parts.names.index(name) for name in ("paused", "pause_backlog", "pause_idle")]
    place = int(parts.parts_ps[:, columns].sum(axis=1).argmax())
    flow = original.plan.topology.flows[place]
    (explanation,) = of_flows(original, [flow.id], None, Silent()).flows
    blamed = []
    for name, blame_ps in sorted(explanation.blame_ps.items(), key=lambda pair: -pair[1]):
        node, colon, port = name.partition(":")
        if not colon or " " in node or blame_ps < LEAST_BLAME * explanation.pause_ps:
            continue  # a circle is no port
        fast = Change(rates_bps={Endpoint(node, int(port)): FASTER * LINE_BPS})
        after_ps = original.changed(fast, Silent())[flow.id]
        assert after_ps is not None
        time_ps = explanation.time_ps
        blamed.append(Root(name, blame_ps / time_ps, 1 - after_ps / time_ps))
    return blamed


def ranks(values: Sequence[float]) -> Array:
    """Returns the rank of each value from 0, the mean of equal ones'."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts) - 1
    return np.asarray((last - (counts - 1) / 2)[inverse], float)


def correlation(of: Iterable[Sequence[Root]]) -> float:
    """Returns Spearman's rank correlation of blame with saving, over all roots."""
    all_roots = [root for seed_roots in of for root in seed_roots]
    blame, saving = (
        ranks([getattr(root, name) for root in all_roots]) for name in ("blame", "saving")
    )
    return float(np.corrcoef(blame, saving)[0, 1])


def first_saves_most(of: Iterable[Sequence[Root]]) -> tuple[int, int]:
    """Returns in how many in-casts of several roots the one that is blamed most saves most, and how
    many these are."""
    several = [seed_roots for seed_roots in of if len(seed_roots) > 1]
    most = [
        max(seed_roots, key=lambda root: root.saving) is seed_roots[0] for seed_roots in several
    ]
    return sum(most), len(several)


def lines(seeds: Iterable[int]) -> Iterator[str]:
    """Yields a line an in-cast, and the correlation over all."""
    drawn = []
    for seed in seeds:
        drawn.append(roots(seed))
        texts = (f"{root.port} {root.blame:.1%} saves {root.saving:.1%}" for root in drawn[-1])
        yield f"{seed}: {', '.join(texts) or 'no PAUSE'}"
    random = np.random.default_rng(1)
    draws = [
        correlation([drawn[place] for place in random.integers(0, len(drawn), len(drawn))])
        for _ in range(intervals.DRAWS)
    ]
    low, high = np.percentile(draws, (2.5, 97.5))
    most, several = first_saves_most(drawn)
    count = sum(map(len, drawn))
    yield (
        f"{len(drawn)} in-casts, {count} roots: rank correlation of blame with saving "
        f"{correlation(drawn):.2f} [{low:.2f}, {high:.2f}]; of {several} with several roots the "
        f"one that is blamed most saves most in {most}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", default="1:200", metavar="FIRST:LAST", help="(default: 1:200)")
    first, _, last = parser.parse_args(arguments).seeds.partition(":")
    for line in lines(range(int(first), int(last or first) + 1)):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
