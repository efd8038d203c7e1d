"""The command: one table, a line a measurement, with the goal beside it."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import grpc

from bench import switch
from bench.switch import inside
from bench.switch.forwarders import NETWORK_MTU, copy_loop, p4_switch, resident_with
from bench.switch.forwarding import Bench
from bench.switch.inside import EXACT, LPM, SOFTSWITCH, TERNARY, Core
from bench.switch.wires import (
    SWITCH_CPU,
    BenchError,
    Wires,
    all_cpus,
    build_blast,
    one_cpu,
    resident_mb,
    wires,
)
from pcn.softswitch.codegen.build import BuildError

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("forwarding", "shaping", "inside", "memory")
PORTS = (2, 6, 18)  # of the switches whose memory is measured
RATES = (1e6, 1e7, 1e8, 1e9)  # of shaped ports, bit/s
SENDER_LATE_S = 0.02
NICE = -10  # other work of the machine disturbs less; the switch's worker has it anyway


def main(arguments: list[str] | None = None) -> int:
    """Prints the figures. 0: measured; 1: could not."""
    parser = argparse.ArgumentParser(prog="python -m bench.switch", description=switch.__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument(
        "--program", type=Path, default=ROOT / "p4src/compiled/pcn.json", help="compiled P4 program"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a run")
    parser.add_argument("--runs", type=int, default=5, help="runs whose median counts")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[1000, 64], help="frame lengths, bytes"
    )
    parser.add_argument("--entries", type=int, default=100_000, help="of the large tables")
    parser.add_argument("--switches", type=int, default=40, help="how many run at once")
    parser.add_argument("--no-bmv2", action="store_true", help="leave BMv2 out")
    options = parser.parse_args(arguments)
    options.parts = options.parts or PARTS
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
    try:
        Report(options).run()
    except (BenchError, BuildError, grpc.RpcError, OSError) as error:
        print(f"bench-switch: {error}", file=sys.stderr)
        return 1
    return 0


class Report:
    """Measures, and prints each line when it is complete."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._bmv2 = None if options.no_bmv2 else shutil.which("simple_switch_grpc")

    def run(self) -> None:
        """Runs the requested parts."""
        parts = self._options.parts
        print(
            f"{self._options.program.name}, veth to veth, {len(all_cpus())} CPUs; median of "
            f"{self._options.runs} runs"
        )
        columns = f"{'copy loop':>12}{'softswitch':>12}{'BMv2':>12}{'to BMv2':>9}"
        print(f"{'':36}{columns}  goal")
        with tempfile.TemporaryDirectory() as folder:
            blast = build_blast(Path(folder))
            with wires() as through:
                if "forwarding" in parts:
                    self._forwarding(blast, through)
                if "shaping" in parts:
                    self._shaping(blast, through)
            if "inside" in parts:
                self._inside(Path(folder))
        for ports in PORTS if "memory" in parts else ():
            ours = resident_with(SOFTSWITCH, self._options.program, ports)
            bmv2 = (
                resident_with([self._bmv2], self._options.program, ports)
                if self._bmv2 is not None
                else None
            )
            self._line(
                f"resident, {ports} ports of MTU {NETWORK_MTU}, MB", ours, bmv2=bmv2, goal="< 60"
            )
        if self._bmv2 is None and not self._options.no_bmv2:
            print("BMv2 (simple_switch_grpc) is not installed, so it is not compared")

    def _line(
        self,
        label: str,
        ours: float,
        floor: float | None = None,
        bmv2: float | None = None,
        goal: str = "",
    ) -> None:
        ratio = "" if not bmv2 else f"{ours / bmv2:.2f}"
        print(
            (
                f"{label:36}{_number(floor):>12}{_number(ours):>12}{_number(bmv2):>12}{ratio:>9}  "
                f"{goal}"
            ),
            flush=True,
        )

    # ---- from veth to veth ----

    def _forwarding(self, blast: Path, through: Wires) -> None:
        under_test = Bench(blast, through, self._options.seconds, self._options.runs)
        softswitch = p4_switch(SOFTSWITCH, one_cpu(SWITCH_CPU), self._options.program, through)
        by_forwarder = {"copy loop": self._measure(under_test, copy_loop(blast, through))}
        by_forwarder["softswitch"] = self._measure(under_test, softswitch)
        if self._bmv2 is not None:
            by_forwarder["BMv2"] = self._measure(
                under_test, p4_switch([self._bmv2], all_cpus(), self._options.program, through)
            )
        floor, ours, bmv2 = (
            by_forwarder["copy loop"],
            by_forwarder["softswitch"],
            by_forwarder.get("BMv2", {}),
        )
        for label, value in ours.items():
            goal = ""
            if label.startswith("forwarded"):
                goal = f">= 60 % of the copy loop: {value / floor[label]:.0%}"
            elif label.startswith("latency"):
                goal = "below BMv2's"
            elif label.startswith("resident"):
                goal = "< 60"
            self._line(label, value, floor[label], bmv2.get(label), goal)

    def _shaping(self, blast: Path, through: Wires) -> None:
        under_test = Bench(blast, through, self._options.seconds, self._options.runs)
        size = self._options.sizes[0]
        for rate in RATES:
            # Deep enough that a late sender doesn't leave the port without work.
            depth = max(64, round(SENDER_LATE_S * rate / (8 * size)))
            options = ["--rate", f"2={rate:.0f}bps", "--queue-depth", str(depth)]
            with p4_switch(
                SOFTSWITCH, one_cpu(SWITCH_CPU), self._options.program, through, options
            ):
                shaped = [under_test.shaping(rate, size) for _ in range(self._options.runs)]
            name = f"{rate / 1e6:.0f} Mbit/s"
            share = 100 * statistics.median(shaping.rate for shaping in shaped) / rate
            self._line(f"shaped to {name}: % of it", share, goal="within 0.5 over a second")
            burst = statistics.median_high(shaping.burst for shaping in shaped)
            self._line(f"shaped to {name}: burst, packets", burst, goal="at most 2")

    def _measure(self, under_test: Bench, forwarder: Any) -> dict[str, float]:
        by_name: dict[str, float] = {}
        with forwarder as pid:
            for size in self._options.sizes:
                figures = under_test.measure(size)
                by_name[f"forwarded, {size} B, packets/s"] = figures.forwarded
                by_name[f"loss-free, {size} B, packets/s"] = figures.loss_free
                by_name[f"CPU, {size} B, ns a packet"] = under_test.cpu_ns(pid, size)
            latency = under_test.latency(self._options.sizes[0])
            by_name["latency p50, us"], by_name["latency p99, us"] = latency.median, latency.p99
            by_name["resident, MB"] = resident_mb(pid)
        return by_name

    # ---- one process ----

    def _inside(self, folder: Path) -> None:
        program, entries = self._options.program, self._options.entries
        core = Core(folder)
        rate, routed, full = (
            core.pipeline(program, self._options.sizes[0], n) for n in (1, 10, entries)
        )
        self._line("pipeline alone, packets/s", rate, goal=">= 5,000,000")
        self._line("the same, 10 routes", routed)
        self._line(
            f"the same, {entries:,} routes",
            full,
            goal=f"slower than with 10: {routed / full:.2f} times",
        )
        for name, kind, many in (
            ("exact", EXACT, entries),
            ("LPM", LPM, entries),
            ("ternary", TERNARY, entries // 50),
        ):
            for waiting, how in ((False, ""), (True, " waited for")):
                few, full = (
                    core.lookup(kind, 10, waiting=waiting),
                    core.lookup(kind, many, waiting=waiting),
                )
                self._line(f"{name} lookup{how}, 10 entries, ns", few)
                self._line(
                    f"{name} lookup{how}, {many:,}, ns", full, goal=f"< 2 times: {full / few:.1f}"
                )
        ours = inside.insertion(SOFTSWITCH, program, entries)
        bmv2 = inside.insertion([self._bmv2], program, entries) if self._bmv2 is not None else None
        self._line(f"inserting {entries:,} entries, s", ours, bmv2=bmv2, goal="< 10")
        started = inside.start(program)
        self._line("start, cached, s", started.cached, goal="< 0.3")
        self._line("start, nothing cached, s", started.uncached, goal="< 5")
        many = inside.crowd(program, self._options.switches)
        self._line(f"{self._options.switches} switches ready, s", many.ready)
        self._line(f"{self._options.switches} switches, memory, MB", many.memory)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}" if value < 10 else f"{value:.1f}"


if __name__ == "__main__":
    raise SystemExit(main())
