"""A swarm of faults in virtual time: scenarios drawn from seeds, each played three times, and what
of them can't be.

    swarm.py --seeds 1:100000 --jobs 2 --out results/swarm    a sweep: it goes on where it was
                                                              interrupted
    swarm.py --seed 4711                                      that scenario in words, and its
                                                              violations

What holds of each: in lossless classes nothing is lost but what a fault destroyed; each packet has
come, is lost, or is inside; when all has left, everything that counts what is inside is at 0; no
buffer had more than its limit; no gate stays closed: packets sent afterwards arrive; what doesn't
leave is a deadlock, which is found, doesn't dissolve, and is where buffers can wait for each other
in a circle; packets of a flow that has one path stay in order; RPs' rates are above 0, and the
line's at most; the second time, with another form of the program or another queue of events, is
equal to the bit, and so is the third, by several threads, where each flow's parts sum to its
completion time.

Exit code 1: there are violations. A line for each has the command that plays its scenario again.
"""

import argparse
import hashlib
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE), str(HERE.parents[1])) if path not in sys.path]

from play import violations  # noqa: E402
from scenario import Scenario, draw  # noqa: E402

from pcn.base import signals  # noqa: E402
from pcn.base.errors import LabError  # noqa: E402
from pcn.experiments.page.terminal import stdout  # noqa: E402
from pcn.experiments.run.progress import ConsoleProgress  # noqa: E402
from pcn.experiments.sweep.executor import Means, sweep  # noqa: E402
from pcn.experiments.sweep.store import Store  # noqa: E402
from pcn.experiments.sweep.task import Done, Task  # noqa: E402

BLOCK = 50
"""Scenarios of a task."""


def judged(scenario: Scenario) -> tuple[tuple[str, ...], dict[str, Any]]:
    """A scenario's violations, and what was in it. Whatever ends it is one."""
    try:
        return violations(scenario)
    except Exception as error:
        return (f"{type(error).__name__}: {error}",), {}


def block(first: int, last: int, sources: str) -> dict[str, Any]:
    """A sweep's task: the scenarios of these seeds. `sources` distinguishes it from those of other
    versions of the swarm."""
    del sources
    rows, facts = [], Counter[str]()
    for seed in range(first, last + 1):
        scenario = draw(seed)
        wrong, seen = judged(scenario)
        rows += [[seed, scenario.scheme.scheme.name, text] for text in wrong]
        facts.update({name: 1 for name, value in seen.items() if value})
        facts["events in all"] += seen.get("events", 0)
    return {"violations": rows, "facts": dict(facts)}


def tasks(first: int, last: int) -> list[Task]:
    digest = hashlib.sha256(
        b"".join(path.read_bytes() for path in sorted(HERE.glob("*.py")))
    ).hexdigest()[:16]
    blocks = [(begin, min(begin + BLOCK - 1, last)) for begin in range(first, last + 1, BLOCK)]
    return [
        Task("swarm:block", {"first": a, "last": b, "sources": digest}, {"seeds": f"{a} to {b}"})
        for a, b in blocks
    ]


def report(seeds: int, done: Sequence[Done]) -> bool:
    """Prints what was found; whether there was nothing wrong."""
    facts, wrong = Counter[str](), 0
    for outcome in done:
        if outcome.error:
            print(f"a block failed: {outcome.error}")
            wrong += 1
            continue
        facts.update(outcome.value["facts"])
        for seed, scheme, text in outcome.value["violations"]:
            print(f"python judges/swarm/swarm.py --seed {seed}  # {scheme}: {text}")
            wrong += 1
    events = facts.pop("events in all", 0)
    facts.pop("events", None)
    print(
        f"{seeds:,} scenarios, each three times, {events / 1e6:,.0f} million events once; with "
        + ", ".join(f"{name}: {number:,}" for name, number in sorted(facts.items()))
        + f". {wrong} violations."
    )
    return wrong == 0


def span(text: str) -> tuple[int, int]:
    first, _, last = text.partition(":")
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"{text!r}: write them as 1:300")
    return int(first), int(last)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, help="this one alone, in words")
    parser.add_argument("--seeds", type=span, default="1:300", metavar="FROM:TO")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--scheduler", help="Dask's; its workers need this folder in PYTHONPATH")
    parser.add_argument("--out", type=Path, default=Path("results/swarm"))
    arguments = parser.parse_args()
    if arguments.seed is not None:
        scenario = draw(arguments.seed)
        wrong, facts = judged(scenario)
        print(scenario, facts, *wrong, sep="\n")
        return bool(wrong)
    first, last = arguments.seeds
    signals.heed_interrupts()
    try:
        with signals.raising(), ConsoleProgress(stdout()) as progress:
            progress.stage(f"swarm: seeds {first} to {last}")
            means = Means(arguments.jobs, arguments.scheduler)
            done = sweep(tasks(first, last), Store(arguments.out), means, progress)
    except LabError as error:
        print(f"swarm: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, signals.Terminated):
        print("swarm: interrupted; the same command goes on", file=sys.stderr)
        return 130
    return not report(last - first + 1, done)


if __name__ == "__main__":
    sys.exit(main())
