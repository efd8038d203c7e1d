"""A network that stays up for hours, with faults, flows, and controllers that come and go: whether
anything grows.

    soak.py --minutes 120 --out soak.csv    in .venv, as root
    soak.py --minutes 10 --topology fat-tree -k 4000

`pcn up compact`, or another topology, then rounds as live.py's scenarios, each by a controller that
connects, takes over and leaves; what holds of a scenario holds of each. Hosts forget the last
round's flows first, whose numbers they keep until `reset`. After a round each program's memory,
open files and threads are written down, a row a program, which may be one of several switches; `pcn
down` at the end. Grown is what in all of the third quarter was above all of the second, and in all
of the last above all of the third; memory by more than ALLOWED_KB a switch or host. One step is
none: a switch keeps the memory of as many packets as ever waited in it.

Exit code 1: a round has violations, something has grown, or is left. The same seed draws the same
rounds.
"""

import argparse
import csv
import logging
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE), str(HERE.parents[1])) if path not in sys.path]

import live  # noqa: E402

from pcn.base import signals  # noqa: E402
from pcn.controller.configure import SwitchPlan, plan  # noqa: E402
from pcn.experiments.page.terminal import stdout  # noqa: E402
from pcn.experiments.run.progress import ConsoleProgress  # noqa: E402
from pcn.hosts.algorithms import find_scheme  # noqa: E402
from pcn.hosts.recommended import recommended, recommended_at_ports  # noqa: E402
from pcn.lab.attach import attach, find  # noqa: E402
from pcn.lab.journal import Record  # noqa: E402
from pcn.lab.network import configured  # noqa: E402
from pcn.lab.target import EMBEDDED  # noqa: E402
from pcn.topologies import lookup  # noqa: E402
from pcn.topologies.model import Topology  # noqa: E402

PCN = Path(sys.executable).with_name("pcn")
ALLOWED_KB = 1024
LEAST_ROUNDS = 8
HOLDER = "holder"
NETWORK = f"soak{os.getpid()}"
MEASURES = ("memory_kb", "files", "threads")
_STATUS = re.compile(r"^(VmRSS|Threads):\s+(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Sample:
    """What a program had after a round. `memory_kb` is resident."""

    round: int
    real_s: float
    program: str
    memory_kb: int
    files: int
    threads: int


def sample(number: int, real_s: float, program: str, pid: int) -> Sample:
    """Raises FileNotFoundError where the process has ended."""
    there = Path(f"/proc/{pid}")
    status = dict(_STATUS.findall((there / "status").read_text()))
    files = sum(1 for _ in (there / "fd").iterdir())
    return Sample(number, real_s, program, int(status["VmRSS"]), files, int(status["Threads"]))


def grown(samples: Sequence[Sample], switches: Mapping[str, int]) -> Iterator[str]:
    """What of which program. `switches`: how many one has that has several."""
    for name in dict.fromkeys(sample.program for sample in samples):
        series = [sample for sample in samples if sample.program == name]
        ends = [len(series) * quarter // 4 for quarter in range(1, 5)]
        for measure in MEASURES if len(series) >= LEAST_ROUNDS else ():
            values = [getattr(sample, measure) for sample in series]
            second, third, last = (values[first:end] for first, end in pairwise(ends))
            most, least = max(second), min(last)
            steadily = min(third) > most and least > max(third)
            allowed = ALLOWED_KB * switches.get(name, 1) if measure == "memory_kb" else 0
            if steadily and least > most + allowed:
                yield f"{name}: {measure} has grown from {most} to {least}"


def figures(topology: Topology, samples: Sequence[Sample]) -> Iterator[str]:
    """Of all programs of a kind together: after the first quarter, and at the end."""
    for kind, names in (
        ("switches", {switch.name for switch in topology.switches}),
        ("hosts", {host.name for host in topology.hosts}),
        ("process that holds them", {HOLDER}),
    ):
        of_kind = [sample for sample in samples if sample.program in names]
        rounds = sorted({sample.round for sample in of_kind})
        early, late = rounds[len(rounds) // 4], rounds[-1]
        texts = []
        for measure in MEASURES:
            first, last = (
                sum(getattr(sample, measure) for sample in of_kind if sample.round == now)
                for now in (early, late)
            )
            texts.append(f"{measure} {first:,} then {last:,}")
        yield f"{len(names)} {kind}: {', '.join(texts)}"


def play(number: int, seed: int, plans: Mapping[str, SwitchPlan]) -> live.Aftermath:
    with attach(NETWORK) as lab:
        for name in lab.switches:
            lab.primary(name)
        before = live.begin_anew(lab)
        rng = random.Random(f"{seed}/{number}")
        faults = live.LiveFaults(lab, plans)
        scenario = live.Scenario(
            number, lab.topology, lab.record.scheme, lab.record.dilation,
            live.draw_flows(rng, lab.topology), live.draw_faults(rng, lab.topology),
        )  # fmt: skip
        live.happen(scenario, faults)
        return replace(live.at_the_end(lab, before), links_went_down=faults.links_went_down)


def programs_of(record: Record) -> tuple[dict[str, int], dict[str, int]]:
    """Pids by name, one of a process that several switches share by its first; and how many nodes
    each has."""
    pids = {name: node.process.pid for name, node in record.nodes.items() if node.process}
    first = {pid: name for name, pid in reversed(pids.items())}
    programs = {name: pid for name, pid in pids.items() if first[pid] == name}
    return programs | {HOLDER: record.owner.pid}, dict(Counter(first[pid] for pid in pids.values()))


def soak(
    topology: Topology, target: str, k: float | None, minutes: float, seed: int, out: Path
) -> list[str]:
    """What was wrong."""
    wrong: list[str] = []
    samples: list[Sample] = []
    before = live.interfaces()
    stretched = [] if k is None else ["-k", f"{k:g}"]
    command = [PCN, "up", topology.name, "-n", NETWORK, "--target", target, *stretched]
    subprocess.run(command, check=True)
    try:
        record = find(NETWORK)
        scheme_class = find_scheme(record.scheme)
        scheme = configured(
            record.scheme,
            recommended(topology, scheme_class),
            recommended_at_ports(topology, scheme_class),
        )
        plans = {
            switch.name: plan(topology, switch.name, record.dilation, scheme)
            for switch in topology.switches
        }
        programs, carried = programs_of(record)
        number, lost, began = 0, 0, time.monotonic()
        with out.open("w", newline="") as file, ConsoleProgress(stdout()) as progress:
            progress.stage(f"pcn up {topology.name}, for {minutes:g} minutes")
            rows = csv.DictWriter(file, list(Sample.__dataclass_fields__))
            rows.writeheader()
            while (spent_s := time.monotonic() - began) < minutes * 60:
                number += 1
                aftermath = play(number, seed, plans)
                lost += aftermath.missing + aftermath.missing_control
                wrong += [f"round {number}: {text}" for text in live.violations(aftermath)]
                now = [
                    sample(number, time.monotonic() - began, *program)
                    for program in programs.items()
                ]
                samples += now
                rows.writerows(map(asdict, now))
                file.flush()
                progress.advance(
                    spent_s / (minutes * 60), f"round {number}, {len(wrong)} violations"
                )
    finally:
        subprocess.run([PCN, "down", NETWORK], check=True)
    wrong += grown(samples, carried)
    wrong += [f"after `pcn down` there is {remnant}" for remnant in live.left(record, before)]
    print(f"{number} rounds, {lost:,} frames lost by faults.")
    print("\n".join(figures(topology, samples)))
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topology", choices=lookup.names(), default="compact")
    parser.add_argument(
        "-k", type=float, help="how many times slower time runs (what this machine carries)"
    )
    parser.add_argument("--target", choices=EMBEDDED, default=EMBEDDED[0], help="the switches")
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("soak.csv"))
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("needs root, for network namespaces and veth pairs")
    if not arguments.minutes > 0:
        parser.error(f"--minutes {arguments.minutes:g}: above 0")
    if not arguments.out.parent.is_dir():
        parser.error(f"--out {arguments.out}: there is no folder {arguments.out.parent}")
    signals.heed_interrupts()
    logging.getLogger("pcn.controller.arbitration").setLevel(
        logging.ERROR
    )  # it says that a foreign controller has gone
    try:
        with signals.raising():
            topology = lookup.find_topology(arguments.topology).build()
            wrong = soak(
                topology, arguments.target, arguments.k, arguments.minutes, arguments.seed,
                arguments.out,
            )  # fmt: skip
    except (KeyboardInterrupt, signals.Terminated):
        print("soak: interrupted", file=sys.stderr)
        return 130
    print("\n".join([*wrong, f"{len(wrong)} violations."]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
