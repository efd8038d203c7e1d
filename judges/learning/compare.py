"""Courses that teach with p4-utils, beside BMv2: each switch of each p4app.json gets its commands
by simple_switch_CLI, then frames. Compared are what the CLI prints of them, the frames that leave,
and all tables, registers, counters and groups afterwards. What BMv2 itself does otherwise in
another run, such as times, is named and left out. A program may read fields of headers that a frame
lacks: P4 leaves their values open, and BMv2 has those of an earlier packet there. So where the two
differ, frames with all headers are played, which have to be equal.

    compare.py P4-LEARNING/exercises P4-UTILS/examples          needs p4c-bm2-ss,
                                                                simple_switch_grpc,
                                                                simple_switch_CLI
    compare.py FOLDER --only MPLS --frames 200                  these paths alone

Exit code 1: something differs; it is shown.
"""

import argparse
import contextlib
import difflib
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE.parent), str(HERE.parents[1])) if path not in sys.path]

from learning.frames import Frames, known_values  # noqa: E402
from testgen.switches import Bmv2Frames, SwitchError  # noqa: E402

from pcn.softswitch import p4c  # noqa: E402
from pcn.softswitch.clock import ManualClock  # noqa: E402

PORTS = range(512)  # of v1model, 9 bits
LIMIT_S = 60.0
STEP_S = 20e-3  # of the embedded switch's time for a frame, recirculated up to 255 times
CELLS = 64  # of a counter or a meter that are read, at most
MOST_RUNS = 10  # of BMv2, for what differs: it may be by chance
UNDEFINED = "equal with frames of all headers"
Send = Callable[[int, bytes], list[tuple[int, bytes]]]
"""Has a frame come in by a port. Returns what leaves, by port."""


@dataclass(frozen=True)
class Case:
    """A switch: its program's source, its commands (none: no entries)."""

    name: str
    source: Path
    commands: Path | None


@dataclass(frozen=True)
class Behaviour:
    """Lines, each with what it is of, in order."""

    setup: list[str]
    frames: list[str]
    state: list[str]


def cases(root: Path) -> list[Case]:
    """Returns the switches of all p4app.json below a folder, one for each program with other
    commands."""
    distinct: dict[tuple[Path, Path | None], Case] = {}
    for app in sorted(root.rglob("p4app*.json")):
        document = json.loads(app.read_text())
        for name, switch in document.get("topology", {}).get("switches", {}).items():
            source = switch.get("program", switch.get("p4_src", document.get("p4_src")))
            cli_input = switch.get("cli_input")
            if source is None or not (app.parent / source).is_file():
                continue
            commands = (
                app.parent / cli_input if cli_input and (app.parent / cli_input).is_file() else None
            )
            key = ((app.parent / source).resolve(), commands)
            distinct.setdefault(
                key, Case(f"{app.parent.relative_to(root)} {name} {Path(source).name}", *key)
            )
    return list(distinct.values())


# ---- the two switches ----


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextlib.contextmanager
def ours(program: Path) -> Iterator[tuple[int, Send]]:
    """The embedded switch, on the manual clock: its Thrift port, and how frames come in."""
    ports = [word for port in PORTS for word in ("-i", str(port))]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "pcn.softswitch", str(program), "--clock", "manual", *ports),
            *("--thrift-port", "0", "--grpc-server-addr", "127.0.0.1:0"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        thrift, text = 0, ""
        for line in process.stderr:
            text += line
            if "runtime interface" in line:
                thrift = int(line.rpartition(":")[2])
            elif "listening on" in line:
                break
        else:
            raise SwitchError(f"softswitch ended: {text.strip()}")
        with ManualClock(line.split("listening on ")[1].split(",")[0]) as clock:

            def send(port: int, frame: bytes) -> list[tuple[int, bytes]]:
                clock.send(port, frame)
                clock.advance(STEP_S)
                return [(left.port, left.data) for left in clock.received()]

            yield thrift, send
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT_S)


@contextlib.contextmanager
def bmv2(program: Path) -> Iterator[tuple[int, Send]]:
    """BMv2, whose frames come and go by its own service."""
    with tempfile.TemporaryDirectory() as folder:
        thrift, log, frames = _free_port(), Path(folder, "log"), f"unix:{folder}/frames"
        with log.open("w") as output:
            process = subprocess.Popen(
                [
                    *("simple_switch_grpc", str(program), "--thrift-port", str(thrift)),
                    *("--device-id", "1", "--log-console", "-L", "warn"),
                    *("--notifications-addr", f"ipc://{folder}/notifications", "--"),
                    *(
                        "--grpc-server-addr",
                        f"unix:{folder}/p4runtime",
                        "--dp-grpc-server-addr",
                        frames,
                    ),
                    *("--priority-queues", "8"),  # the default here; BMv2's is one
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            with grpc.insecure_channel(frames, [("grpc.use_local_subchannel_pool", 1)]) as channel:
                yield (
                    thrift,
                    Bmv2Frames(
                        channel, lambda: "" if process.poll() is None else log.read_text()
                    ).send,
                )
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=LIMIT_S)


def command_line(cli: str, port: int, commands: str) -> list[str]:
    """Returns what simple_switch_CLI prints, after it has waited for the switch."""
    end_s = time.monotonic() + LIMIT_S
    while True:
        done = subprocess.run(
            [cli, "--thrift-port", str(port)], input=commands, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        text = done.stdout + done.stderr
        if "Could not connect" not in text:
            return text.splitlines()
        if time.monotonic() > end_s:
            raise SwitchError(f"no Thrift server at port {port}: {text}")
        time.sleep(0.1)


# ---- a case ----


def state_commands(document: dict[str, Any]) -> str:
    """Returns commands that read all state of a program in BMv2's JSON."""
    lines = ["show_tables", "show_actions", "mc_dump"]
    for pipeline in document["pipelines"]:
        for table in pipeline["tables"]:
            lines += [f"table_dump {table['name']}", f"table_num_entries {table['name']}"]
        lines += [
            f"act_prof_dump {profile['name']}" for profile in pipeline.get("action_profiles", [])
        ]
    lines += [f"register_read {register['name']}" for register in document["register_arrays"]]
    for array in document["counter_arrays"]:
        lines += [
            f"counter_read {array['name']} {cell}"
            for cell in range(min(array.get("size") or CELLS, CELLS))
        ]
    for array in document["meter_arrays"]:
        if not array["is_direct"]:
            lines += [
                f"meter_get_rates {array['name']} {cell}"
                for cell in range(min(array["size"], CELLS))
            ]
    return "\n".join(lines) + "\n"


def play(
    switch: Callable[[Path], contextlib.AbstractContextManager[tuple[int, Send]]],
    program: Path,
    commands: str,
    frames: list[tuple[int, bytes]],
    cli: str,
) -> Behaviour:
    """Returns what a switch does. Raises SwitchError."""
    with switch(program) as (thrift, send):
        setup = command_line(cli, thrift, commands)
        left = []
        for number, (port, frame) in enumerate(frames):
            # The order of copies to several ports is that of BMv2's threads.
            out = sorted(send(port, frame))
            left += [
                f"frame {number}, {frame.hex()} by {port}, leaves by {to}: {data.hex()}"
                for to, data in out
            ]
        document = json.loads(program.read_text())
        return Behaviour(
            setup, left, groups_in_order(command_line(cli, thrift, state_commands(document)))
        )


def groups_in_order(lines: list[str]) -> list[str]:
    """Returns lines whose multicast groups are in order: BMv2 prints them in the order of its hash
    map."""
    text = "\n".join(lines)
    blocks = re.findall(r"^mgrp\(.*(?:\n  -> .*)*", text, re.MULTILINE)
    in_order = iter(sorted(blocks))
    return re.sub(
        r"^mgrp\(.*(?:\n  -> .*)*", lambda _: next(in_order), text, flags=re.MULTILINE
    ).splitlines()


def settled(first: list[str], second: list[str]) -> tuple[list[str], list[str]]:
    """Returns the lines that both runs have, "" in place of the others, and those others."""
    common, changing = [], []
    for a, b in zip(first, second, strict=False):
        if a == b:
            common.append(a)
        else:
            changing.append(a)
            common.append("")
    return common, changing


@dataclass(frozen=True)
class Verdict:
    """`line`: figures. `different`: what differs, line by line."""

    line: str
    different: list[str]


def judge(case: Case, count: int, seed: int, cli: str) -> Verdict:
    """Plays a case on both; where they differ, once more with frames that have all headers. Raises
    SwitchError."""
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch, "program.json")
        p4c.run(
            p4c.find_compiler(), case.source.name, (), case.source.parent, program,
            Path(scratch, "p4info.txtpb"),
        )  # fmt: skip
        commands = case.commands.read_text() if case.commands is not None else ""
        verdict = _compare(program, commands, count, seed, cli, whole=False)
        if not verdict.different:
            return verdict
        whole = _compare(program, commands, count, seed, cli, whole=True)
        if whole.different:
            return whole
        lacking = sum(line.startswith("-frame") for line in verdict.different)
        return Verdict(f"{whole.line}; {UNDEFINED}: {lacking} frames that lack some differ", [])


def _compare(
    program: Path, commands: str, count: int, seed: int, cli: str, *, whole: bool
) -> Verdict:
    generator = Frames(program, known_values(commands), seed, whole=whole)
    frames = [(1 + number % 4, generator.frame()) for number in range(count)]
    runs = [play(bmv2, program, commands, frames, cli) for _ in range(2)]
    mine = play(ours, program, commands, frames, cli)
    different, unsteady = _differences(runs, mine)
    while different and len(runs) < MOST_RUNS:  # a draw may come out equal twice
        runs.append(play(bmv2, program, commands, frames, cli))
        different, unsteady = _differences(runs, mine)
    entries = sum(1 for line in mine.setup if re.search(r"handle \d+|success", line))
    names = sorted(
        {re.split(r"[=\[:,]", line.removeprefix("RuntimeCmd: "))[0].strip() for line in unsteady}
    )
    rest = f"; otherwise in another run of BMv2: {', '.join(names)}" if names else ""
    line = (
        f"{entries} entries, {len(runs[0].frames)} frames leave for {count}, {len(mine.state)} "
        f"lines of state{rest}"
    )
    return Verdict(line, different)


def _differences(runs: list[Behaviour], mine: Behaviour) -> tuple[list[str], list[str]]:
    """Returns how the embedded switch differs from BMv2's runs, and the lines that these don't
    share."""
    different, unsteady = list[str](), list[str]()
    for part in ("setup", "frames", "state"):
        expected, actual = getattr(runs[0], part), getattr(mine, part)
        for run in runs[1:]:
            expected, changing = settled(expected, getattr(run, part))
            unsteady += filter(None, changing)
        actual = [
            line if index >= len(expected) or expected[index] else ""
            for index, line in enumerate(actual)
        ]
        different += difflib.unified_diff(
            expected, actual, f"BMv2, {part}", f"softswitch, {part}", lineterm="", n=1
        )
    return different, unsteady


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="cases whose path contains it (default: all)"
    )
    parser.add_argument(
        "--frames", type=int, default=100, metavar="N", help="frames of a case (default: 100)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the frames (default: 1)")
    args = parser.parse_args()
    cli = shutil.which("simple_switch_CLI")
    if cli is None or shutil.which("simple_switch_grpc") is None:
        raise SystemExit("simple_switch_grpc and simple_switch_CLI must be on PATH")
    selected = [
        case for folder in args.folders for case in cases(folder) if args.only in str(case.source)
    ]
    wrong = refused = 0
    for case in selected:
        try:
            verdict = judge(case, args.frames, args.seed, cli)
        except p4c.P4Error as error:
            refused += 1
            reason = next(line for line in str(error).splitlines() if "error" in line)
            print(f"{case.name}: p4c refuses it: {reason}", flush=True)
            continue
        except SwitchError as error:
            verdict = Verdict("", [str(error)])
        wrong += bool(verdict.different)
        print(
            "\n".join(
                [
                    f"{case.name}: {'DIFFERENT' * bool(verdict.different)} {verdict.line}",
                    *verdict.different,
                ]
            )
        )
    print(
        f"{len(selected) - wrong - refused} of {len(selected)} cases are equal, p4c refuses "
        f"{refused}"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
