"""Plays tests that p4testgen, of p4c (backends/p4tools), makes of v1model programs on the embedded
switch or BMv2.

    sweep.py --p4testgen FILE --p4c FILE --include DIR --samples DIR --out DIR
                                                                p4c's testdata/p4_16_samples
    sweep.py --p4testgen FILE --p4c FILE --include DIR --own    our programs:
                                                                judges/testgen/generated.json.xz
    sweep.py --kept                                             those that are kept there:
                                                                what they cover

With --target bmv2 samples' tests are played on simple_switch_grpc, which has to be on PATH, as
root.

--include is the p4include of that p4c, --p4c its p4c-bm2-ss. For each sample of --match p4testgen
gets --seconds to make --tests tests; --out keeps tests and compiled programs, and a second run
judges them without making them again. A line for each test that fails; then the counts, how many of
a program's statements, parser states and actions the paths of its tests go through, by p4testgen,
and how many of its lines, by the embedded switch's own coverage, as it plays them. Exit code 1: the
switch's result differs from a test's."""

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from google.protobuf import text_format

from pcn.base.p4rt import p4i
from pcn.softswitch.coverage.counts import Counts

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [path for path in (str(HERE), str(ROOT)) if path not in sys.path]

from judge import JudgedError, judge  # noqa: E402
from reached import lines_reached  # noqa: E402
from stf import Expect, Packet, StfError, parse  # noqa: E402
from switches import TARGETS, Start, SwitchError, embedded  # noqa: E402

from pcn.lab.target import TargetError  # noqa: E402

GENERATED = HERE / "generated.json.xz"
SHORT = 14  # bytes: no Ethernet port sends less
# the second is Tofino's word
_COVERAGE = re.compile(r"^# Current (?:node|statement) coverage: ([\d.]+)", re.M)
V1MODEL = ("--target", "bmv2", "--arch", "v1model")
_TRACKED = ("STATEMENTS", "PARSER_STATES", "ACTIONS")


class Outcome(NamedTuple):
    """A test: `verdict` is pass, fail or not understood."""

    name: str
    verdict: str
    reason: str
    short: bool  # a frame of it is shorter than SHORT
    forwards: bool  # it expects a frame


class Generated(NamedTuple):
    """What p4testgen made of a program: files, the share of nodes covered (None: no test), its last
    line if none."""

    files: list[Path]
    coverage: float | None
    last_line: str


def generate(
    program: Path,
    out: Path,
    args: argparse.Namespace,
    *more: str,
    architecture: tuple[str, ...] = V1MODEL,
) -> Generated:
    """Runs p4testgen, with `more` options, unless `out` has an earlier run's tests."""
    last_line = ""
    if not out.exists():
        with tempfile.TemporaryDirectory() as folder:
            tracked = [word for construct in _TRACKED for word in ("--track-coverage", construct)]
            command = [str(args.p4testgen), *architecture, "--std", "p4-16"]
            command += [
                "-I", str(args.include), "--test-backend", "STF", "--max-tests", str(args.tests),
            ]  # fmt: skip
            command += [
                "--path-selection", args.paths, "--seed", str(args.seed), "--out-dir", folder,
            ]  # fmt: skip
            try:
                done = subprocess.run(
                    [*command, *tracked, *more, str(program)], capture_output=True, text=True,
                    timeout=args.seconds,
                )  # fmt: skip
                last_line = (done.stderr.strip().splitlines() or [""])[-1][:160]
            except subprocess.TimeoutExpired:
                last_line = f"{args.seconds:g} s were not enough"
            out.mkdir(parents=True)
            for number, file in enumerate(sorted(Path(folder).glob("*.stf"), key=_number)):
                shutil.copyfile(file, out / f"{number}.stf")
    files = sorted(out.glob("*.stf"), key=_number)
    covered = [float(match[1]) for file in files if (match := _COVERAGE.search(file.read_text()))]
    return Generated(files, max(covered, default=None), last_line)


def _number(file: Path) -> int:
    return int(re.findall(r"\d+", file.stem)[-1])


def outcome(start: Start, name: str, text: str, info: p4i.P4Info, config: bytes) -> Outcome:
    """Judges one test."""
    short = forwards = False
    try:
        steps = parse(text)
        lengths = [len(step.data) for step in steps if isinstance(step, Packet)]
        lengths += [
            len(step.pattern) // 2 for step in steps if isinstance(step, Expect) and step.exact
        ]
        short = min(lengths, default=SHORT) < SHORT
        forwards = any(isinstance(step, Expect) for step in steps)
        judge(start, info, config, steps)
    except JudgedError as error:
        return Outcome(name, "fail", str(error), short, forwards)
    except StfError as error:
        return Outcome(name, "not understood", str(error), short, forwards)
    return Outcome(name, "pass", "", short, forwards)


class Sample(NamedTuple):
    """A sample's tests, made and judged. `lines`: how many the embedded switch ran through, of how
    many."""

    name: str
    generated: Generated
    outcomes: list[Outcome]
    lines: tuple[int, int] = (0, 0)


def sample(program: Path, args: argparse.Namespace) -> Sample:
    """Makes and judges a sample's tests."""
    generated = generate(program, args.out / program.stem, args)
    if not generated.files:
        return Sample(program.stem, generated, [])
    config, info = (
        args.out / program.stem / name for name in ("program.json", "program.p4info.txtpb")
    )
    if not config.exists():
        part = config.with_suffix(".part")
        command = [
            str(args.p4c), "-I", str(args.include), "-o", str(part), "--p4runtime-files",
            str(info),
        ]  # fmt: skip
        done = subprocess.run([*command, str(program)], capture_output=True, text=True)
        if done.returncode:
            return Sample(program.stem, generated._replace(last_line="p4c-bm2-ss refuses it"), [])
        part.rename(config)
    p4info = text_format.Parse(info.read_text(), p4i.P4Info())
    counts = Counts()
    start = partial(embedded, counts) if args.target == "softswitch" else TARGETS[args.target]
    octets = config.read_bytes()
    outcomes = [
        outcome(start, f"{program.stem}/{file.name}", file.read_text(), p4info, octets)
        for file in generated.files
    ]
    return Sample(program.stem, generated, outcomes, lines_reached(counts, program.parent))


def samples(args: argparse.Namespace) -> int:
    """p4c's samples: prints, and returns the exit code."""
    paths = (
        p for p in sorted(args.samples.resolve().glob("*.p4")) if re.search(args.match, p.name)
    )
    programs = [p for p in paths if "V1Switch" in p.read_text(errors="ignore")]
    count, coverages, shares, empty = Counter[str](), list[float](), list[float](), 0
    with ProcessPoolExecutor(args.jobs) as pool:
        for name, generated, outcomes, (reached, lines) in pool.map(
            sample, programs, [args] * len(programs)
        ):
            if not outcomes:
                empty += 1
                print(f"no test: {name}: {generated.last_line}", flush=True)
            for test in outcomes:
                count[test.verdict] += 1
                count["short"] += test.short
                count["forwards"] += test.forwards
                if test.verdict != "pass":
                    print(f"{test.verdict}: {test.name}: {test.reason[:600]}", flush=True)
            if generated.coverage is not None:
                coverages.append(generated.coverage)
            if lines:
                shares.append(reached / lines)
    verdicts = ", ".join(f"{count[word]} {word}" for word in ("pass", "fail", "not understood"))
    print(
        f"{len(programs)} programs, {empty} without a test; tests: {verdicts}; {count['forwards']} "
        f"expect a frame, {count['short']} have one below {SHORT} bytes"
    )
    if coverages:
        whole = sum(value == 1 for value in coverages)
        print(
            f"covered: {statistics.mean(coverages):.0%} of a program's nodes on average, all of "
            f"{whole} programs', by p4testgen"
        )
    if shares:
        whole = sum(share == 1 for share in shares)
        print(
            f"reached: {statistics.mean(shares):.0%} of a program's lines on average, all of "
            f"{whole} programs', by the switch that plays them"
        )
    return int(count["fail"] > 0)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for tool, name in (("--p4testgen", "FILE"), ("--p4c", "FILE"), ("--include", "DIR")):
        parser.add_argument(tool, type=Path, metavar=name)
    parser.add_argument("--samples", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, metavar="DIR")
    parser.add_argument(
        "--own", action="store_true", help="our programs, into judges/testgen/generated.json.xz"
    )
    parser.add_argument(
        "--twins", action="store_true", help="our programs for Tofino, on their v1model twins"
    )
    parser.add_argument("--kept", action="store_true", help="what the tests that are kept cover")
    parser.add_argument("--match", default="bmv2", metavar="REGEX", help="of samples' names")
    parser.add_argument("--tests", type=int, default=8, help="of a program, at most")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=60, help="for a program, at most")
    parser.add_argument("--paths", default="DEPTH_FIRST", help="p4testgen's --path-selection")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--target", choices=TARGETS, default="softswitch", help="what plays samples' tests"
    )
    args = parser.parse_args()
    if args.kept:
        from own import print_kept

        return print_kept()
    if None in (args.p4testgen, args.p4c, args.include):
        parser.error("name --p4testgen, --p4c and --include, or --kept")
    for path in (args.p4testgen, args.p4c, args.include, args.samples):
        if path is not None and not path.exists():
            parser.error(f"there is no {path}")
    if args.own:
        if args.target != "softswitch":
            parser.error(
                "--own keeps what the embedded switch passes; judges/testgen plays it on BMv2"
            )
        from own import own_programs

        return own_programs(args)
    if not args.twins and (args.samples is None or args.out is None):
        parser.error("name --samples and --out, or --own, or --twins")
    try:
        if args.twins:
            from twins import twins

            return twins(args)
        return samples(args)
    except (SwitchError, TargetError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    sys.exit(main())
