"""Random small networks, each played by the live switch's own queues and by the engine in their
place (`softswitch --engine`): every frame that leaves a port, its nanosecond, its bytes, all that
programs say, every register, counter and port's count at the end. Those of hops.c in virtual time,
too, as far as they mean the same there (timed.py): frames at hosts, registers and counters.

    cosimulate.py --seeds 1:1000 --jobs 2    these networks; a line for each that differs
    cosimulate.py --seed 95                  that network without what its difference doesn't need,
                                             in values, and what differs

Exit code 1: a network differs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import zip_longest
from pathlib import Path
from pprint import pformat
from typing import NamedTuple

JUDGES = Path(__file__).resolve().parents[1]
sys.path[:0] = [path for path in (str(JUDGES), str(JUDGES.parent)) if path not in sys.path]

from cosimulation.network import HOPS, PLACE, Network, draw  # noqa: E402
from cosimulation.play import WAYS, Departure, Outcome, Told, play  # noqa: E402
from cosimulation.shrink import shrunk  # noqa: E402
from cosimulation.timed import at_hosts, exact, timed  # noqa: E402

from pcn.base import signals  # noqa: E402


class Judged(NamedTuple):
    """A network's frames that left, by queues, and the first that differs, if any does."""

    seed: int
    program: str
    switches: int
    frames: int
    difference: str


def differences(ours: Outcome, theirs: Outcome) -> Iterator[str]:
    """Yields what isn't equal, first things first."""
    for name in ("departures", "told"):
        for left, right in zip_longest(getattr(ours, name), getattr(theirs, name)):
            if left != right:
                yield f"{name}: {_text(left)} | {_text(right)}"
    for name in sorted({*ours.state, *theirs.state}):
        if ours.state.get(name) != theirs.state.get(name):
            yield f"{name}: {ours.state.get(name)} | {theirs.state.get(name)}"


def _text(event: Departure | Told | None) -> str:
    """Returns it in a line, without what all frames have in common."""
    if event is None:
        return "none"
    if isinstance(event, Told):
        return f"{event.at_ns} ns, s{event.switch}, kind {event.kind}: {event.data!r}"
    place, frame = event.place, event.frame
    start = frame[: PLACE + 170].hex()
    return f"{event.at_ns} ns, s{place.switch}:{place.port}, {len(frame)} bytes: {start}"


def compared(network: Network) -> tuple[int, list[str]]:
    """Returns how many frames left by queues, and what differs by the engine and in virtual time.
    Whatever ends a play is a difference."""
    try:
        ours, theirs = (play(network, way) for way in WAYS)
        different = list(differences(ours, theirs))
        if network.program == HOPS:
            same = exact(network, copies=False)
            by_queues = at_hosts(same, play(same, "queues"))
            different += [f"virtual time: {line}" for line in differences(by_queues, timed(same))]
    except Exception as error:
        return 0, [f"{type(error).__name__}: {error}"]
    return len(ours.departures), different


def judge(seed: int) -> Judged:
    """Judges the network of a seed."""
    network = draw(seed)
    frames, different = compared(network)
    return Judged(seed, network.program, len(network.ports), frames, next(iter(different), ""))


def show(seed: int) -> bool:
    """Prints a seed's network, shrunk if it differs; whether it doesn't."""
    network = draw(seed)
    frames, different = compared(network)
    if not different:
        print(pformat(network), f"{frames} frames: equal", sep="\n")
        return True
    network = shrunk(network, lambda smaller: bool(compared(smaller)[1]))
    print(pformat(network), *compared(network)[1], sep="\n")
    return False


def report(all_judged: Iterator[Judged]) -> bool:
    """Prints each network that differs, and sums; whether none does."""
    programs, frames, switches, wrong = Counter[str](), 0, 0, 0
    for judged in all_judged:
        programs[judged.program] += 1
        frames += judged.frames
        switches += judged.switches
        if judged.difference:
            wrong += 1
            print(
                f"python judges/cosimulation/cosimulate.py --seed {judged.seed}  "
                f"# {judged.program}: {judged.difference[:200]}",
                flush=True,
            )
    kinds = ", ".join(f"{name}: {n}" for name, n in programs.most_common())
    print(
        f"{programs.total():,} networks of {switches:,} switches ({kinds}), {frames:,} frames that "
        f"left, {wrong} networks differ"
    )
    return wrong == 0


def span(text: str) -> tuple[int, int]:
    first, _, last = text.partition(":")
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"{text!r}: write them as 1:1000")
    return int(first), int(last)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, help="this one alone, in values")
    parser.add_argument("--seeds", type=span, default="1:1000", metavar="FROM:TO")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.seed is not None:
        return not show(arguments.seed)
    first, last = arguments.seeds
    with ProcessPoolExecutor(arguments.jobs, initializer=signals.heed_interrupts) as pool:
        return not report(pool.map(judge, range(first, last + 1), chunksize=8))


if __name__ == "__main__":
    sys.exit(main())
