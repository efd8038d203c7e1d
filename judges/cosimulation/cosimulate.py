"""Random small networks, each played by the live switch's own queues and by the engine in their
place (`softswitch --engine`): every frame that leaves a port, its nanosecond, its bytes, all
messages of programs, every register, counter and port's count at the end. Those of hops.c in
virtual time, too, as far as they mean the same there (timed.py): frames at hosts, registers and
counters.

    cosimulate.py --seeds 1:1000 --jobs 2    these networks; a line for each that differs
    cosimulate.py --seed 95                  that network without what its difference doesn't need,
                                             in values, and what differs

Exit code 1: a network differs.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path
from pprint import pformat
from typing import NamedTuple

JUDGES = Path(__file__).resolve().parents[1]
sys.path[:0] = [path for path in (str(JUDGES), str(JUDGES.parent)) if path not in sys.path]

from cosimulation.network import (  # noqa: E402
    HEADER,
    HOPS,
    MAX_FRAME,
    PLACE,
    Arrival,
    Network,
    draw,
)
from cosimulation.play import WAYS, Departure, Message, Outcome, play  # noqa: E402
from cosimulation.shrink import shrunk  # noqa: E402
from cosimulation.timed import at_hosts, exact, timed  # noqa: E402

from pcn.base import signals  # noqa: E402


class Judged(NamedTuple):
    """A network's frames that left, by queues, the first that differs, if any does, and whether
    two things fall on one nanosecond in virtual time."""

    seed: int
    program: str
    switches: int
    frames: int
    difference: str
    coincides: bool


def differences(ours: Outcome, theirs: Outcome) -> Iterator[str]:
    """Yields what isn't equal, first things first."""
    for name in ("departures", "messages"):
        for left, right in zip_longest(getattr(ours, name), getattr(theirs, name)):
            if left != right:
                yield f"{name}: {_text(left)} | {_text(right)}"
    for name in sorted({*ours.state, *theirs.state}):
        if ours.state.get(name) != theirs.state.get(name):
            yield f"{name}: {ours.state.get(name)} | {theirs.state.get(name)}"


def _text(event: Departure | Message | None) -> str:
    """Returns it in a line, without what all frames have in common."""
    if event is None:
        return "none"
    if isinstance(event, Message):
        return f"{event.at_ns} ns, s{event.switch}, kind {event.kind}: {event.data!r}"
    place, frame = event.place, event.frame
    start = frame[: PLACE + 170].hex()
    return f"{event.at_ns} ns, s{place.switch}:{place.port}, {len(frame)} bytes: {start}"


def compared(network: Network) -> tuple[int, list[str], bool]:
    """Returns how many frames left by queues, what differs by the engine and in virtual time, and
    whether two things fall on one nanosecond there. Whatever ends a play is a difference."""
    try:
        ours, theirs = (play(network, way) for way in WAYS)
        different = list(differences(ours, theirs))
        virtual = _in_virtual_time(network) if network.program == HOPS else []
        coincides = bool(virtual) and not _in_virtual_time(_apart(network))
    except Exception as error:
        return 0, [f"{type(error).__name__}: {error}"], False
    return len(ours.departures), different + ([] if coincides else virtual), coincides


def _in_virtual_time(network: Network) -> list[str]:
    same = exact(network, copies=False)
    by_queues = at_hosts(same, play(same, "queues"))
    return [f"virtual time: {line}" for line in differences(by_queues, timed(same))]


def _apart(network: Network) -> Network:
    """Returns it with frames that are some bytes longer, each by others. One that comes in at the
    very nanosecond at which its class may go on is queued before that in virtual time, and behind
    it on the manual clock; so it comes a little later or sooner, and all else is as before."""
    steps = tuple(
        step._replace(frame=step.frame + b"." * (number % 23))
        if isinstance(step, Arrival) and HEADER <= len(step.frame) < MAX_FRAME - 23
        else step
        for number, step in enumerate(network.steps)
    )
    return replace(network, steps=steps)


def judge(seed: int) -> Judged:
    network = draw(seed)
    frames, different, coincides = compared(network)
    first = next(iter(different), "")
    return Judged(seed, network.program, len(network.ports), frames, first, coincides)


def show(seed: int) -> bool:
    """Prints a seed's network, shrunk if it differs; whether it doesn't."""
    network = draw(seed)
    frames, different, coincides = compared(network)
    if not different:
        equal = "equal, except for two things on one nanosecond" if coincides else "equal"
        print(pformat(network), f"{frames} frames: {equal}", sep="\n")
        return True
    network = shrunk(network, lambda smaller: bool(compared(smaller)[1]))
    print(pformat(network), *compared(network)[1], sep="\n")
    return False


def report(all_judged: Iterator[Judged]) -> bool:
    """Prints each network that differs, and sums; whether none does."""
    programs, frames, switches, wrong, coincide = Counter[str](), 0, 0, 0, 0
    for judged in all_judged:
        programs[judged.program] += 1
        coincide += judged.coincides
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
        f"left, {wrong} networks differ, {coincide} in virtual time alone where two things fall on "
        "one nanosecond"
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
    with ProcessPoolExecutor(arguments.jobs, get_context("fork"), signals.heed_interrupts) as pool:
        return not report(pool.map(judge, range(first, last + 1), chunksize=8))


if __name__ == "__main__":
    sys.exit(main())
