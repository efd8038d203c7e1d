"""NP-ECN by time on the live dumbbell, compared with the counter of paused packets by the switch
itself. Its bottleneck is paused from outside. As root, for a row of docs/tofino.md's table:

    python tests/np_ecn/live_marks.py
    python tests/np_ecn/live_marks.py --target bmv2 --dilation 500
"""

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from waiting import wait_until

from pcn.controller.constants import index
from pcn.lab import flows
from pcn.lab.lab import Lab
from pcn.lab.pause import pause
from pcn.topologies.dumbbell import dumbbell

PAUSES = 3


@dataclass(frozen=True)
class Counted:
    """At the port from s0 to s1. `shown`: RESUMEs that NP-ECN by time took its packets for, pauses
    or not."""

    packets: int
    marked: int
    time_alone: int
    counter_alone: int
    shown: int


def count(
    packets: int,
    log_dir: Path,
    target: str = "softswitch",
    dilation: float = 400,
    name: str = "marks",
) -> Counted:
    """Runs four long flows until `packets` packets have left, with a pause of 1 ms after each
    quarter of them."""
    topology, cell = dumbbell(), index(4)
    with Lab(
        topology, log_dir=log_dir, name=name, target=target, dilation=dilation, scheme="pcn-time"
    ) as lab:
        switch = lab.switches["s0"]
        shown = {0}

        def counter(name: str) -> int:
            return switch.read_counter(name, cell).packets

        def resumed() -> int:
            shown.add(at := switch.read_register("resumed", cell))
            return at

        def wait_for(packets: int):
            wait_until(
                lambda: resumed() >= 0 and counter("transmitted") >= packets, f"{packets} packets"
            )

        for flow in topology.flows:
            flows.start(topology, lab.agents, flow.src, flow.dst)
        for turn in range(1, PAUSES + 1):
            wait_for(packets * turn // (PAUSES + 1))
            before = resumed()
            pause(lab, "s0", 4, duration_s=1e-3)
            wait_until(lambda before=before: resumed() != before, "NP-ECN by time to see the pause")
        wait_for(packets)
        return Counted(
            *(
                counter(name)
                for name in ("transmitted", "marked", "marked_by_time", "marked_by_counter")
            ),
            shown=len(shown - {0}),
        )


def main():
    parser = argparse.ArgumentParser(
        description="Count the packets that only one of two rules of NP-ECN marks."
    )
    parser.add_argument("--target", default="softswitch", help="softswitch or bmv2")
    parser.add_argument(
        "--dilation", type=float, default=400, help="how many times slower than nominal time runs"
    )
    parser.add_argument("--packets", type=int, default=30_000, help="at the bottleneck")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as logs:
        seen = count(options.packets, Path(logs), options.target, options.dilation)
    print(
        f"{PAUSES} pauses, {seen.shown} RESUMEs seen: | {seen.packets:,} | {seen.marked:,} ", end=""
    )
    print(f"| {seen.time_alone:,} | {seen.counter_alone:,} |")


if __name__ == "__main__":
    main()
