"""Whether a live network gives the same with a process for each switch as with one for all: `python
-m bench.ways`.

Runs a scenario both ways in turn, and in virtual time, and prints for each what PCN's results
depend on: PAUSE frames, and of the steady state utilisation, Jain's index, the mean queue and the
share of packets marked; of the victim scenario also the share of F0's packets marked in the bursts.
Needs root and an idle machine. Not a test.

    .venv/bin/python -m bench.ways victim -k 1000 --runs 5
    .venv/bin/python -m bench.ways dumbbell -k 200 --runs 5
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

RUN = "from pcn.cli import main; main()"
SEPARATE = f"import pcn.lab.network; pcn.lab.network.share_process = lambda *_: False; {RUN}"
WAYS = {
    "one process": (RUN, "live"),
    "a process each": (SEPARATE, "live"),
    "virtual time": (RUN, "virtual"),
}


def numbers(scenario: str, way: str, k: float, settings: list[str]) -> dict[str, float]:
    """Runs once. Raises CalledProcessError."""
    code, clock = WAYS[way]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--scheme", "pcn", "--clock", clock, "-q", "--out", folder]
        options += ["-k", f"{k:g}"] if clock == "live" else []
        options += [word for setting in settings for word in ("--set", setting)]
        subprocess.run(
            [sys.executable, "-c", code, "run", scenario, *options],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (file,) = Path(folder).rglob("summary.json")
        summary: dict[str, Any] = json.loads(file.read_text())
    ports, steady = summary["ports"].values(), summary["steady"]
    measured = {
        "PAUSE": summary["pfc"]["pause"],
        "utilisation": steady["utilisation"],
        "Jain": steady["jain"],
        "queue, KB": steady["queue_bytes_mean"] / 1e3,
        "marked": sum(port["marked"] for port in ports)
        / sum(port["transmitted"] for port in ports),
    }
    if scenario == "victim":
        measured["F0 marked"] = summary["measures"]["f0_marked_burst"]
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenario", choices=("victim", "dumbbell"))
    parser.add_argument("-k", type=float, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings")
    arguments = parser.parse_args()
    first = True
    for run in range(arguments.runs):
        for way in list(WAYS)[: 2 if run else 3]:  # virtual time has no second result
            measured = numbers(arguments.scenario, way, arguments.k, arguments.settings)
            if first:
                print(
                    f"{arguments.scenario}, k = {arguments.k:g}".ljust(24),
                    *(f"{name:>11}" for name in measured),
                )
            first = False
            print(way.ljust(24), *(f"{value:11.4g}" for value in measured.values()), flush=True)


if __name__ == "__main__":
    main()
