"""Runs the data-plane tests: a switch, and ptf.

    python ptf-tests/run.py [--target softswitch|engine|bmv2] [--clock manual|live]
        [ptf's options and test names]
    python ptf-tests/run.py --target bmv2 np_ecn                  one file
    python ptf-tests/run.py np_ecn.OnlyPausedLeaveUnmarked        one test
    python ptf-tests/run.py --program pcn_time np_ecn             another marking point than pcn's
    python ptf-tests/run.py --record FILE                         what each test sent, received and
                                                                  counted, and when
    python ptf-tests/run.py --twice                               two runs at once; fails if their
                                                                  records differ
    python ptf-tests/run.py --target tofino-model forwarding      the Tofino twins, on the chip's
                                                                  model (docs/tofino.md)
    python ptf-tests/run.py --list

On the manual clock, the embedded switch's default, the tests move the switch's time, and its ports
have no interfaces: that needs no root, and two runs are the same, byte by byte. On the live clock
there is a network namespace with veth pairs, both ends of each inside: that needs root. It ends
with the run, as the switch does: also after Ctrl-C and SIGTERM. The exit code is ptf's.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType

import steps
import tofino

from pcn.base.address import PATH_BYTES
from pcn.base.errors import LabError
from pcn.controller.constants import GENERATOR_PORT, index
from pcn.controller.errors import SwitchError
from pcn.controller.marking_contract import PacketGenerator
from pcn.controller.programs import Program
from pcn.controller.switch import SwitchClient
from pcn.controller.tofino.chips import CHIPS, TOFINO, Chip
from pcn.lab.target import EMBEDDED, TARGETS, LaunchSpec, PortSpec, Target, target
from pcn.p4src.manifest import stale
from pcn.softswitch.trimming import Trimming

HERE = Path(__file__).resolve().parent
PREFIX = "pcn-ptf-"
ROOM_BYTES = 50  # of a Unix socket's path, for what is below the folder of temporary files
MODEL_TARGET = "tofino-model"
DEVICE_ID = 1
# The last port is slow, so that packets wait there. The others are fast, but shaped: what a paused
# port holds is recirculated at the port's rate.
FAST_BPS = 100e6
SLOW_BPS = 1e6
PORT_RATES_BPS = {1: FAST_BPS, 2: FAST_BPS, 3: FAST_BPS, 4: SLOW_BPS}
# On the manual clock a packet that a pause sends round is on its way for a while, in no queue, as
# in every real switch.
REENTRY_S = 1e-6
# Of the embedded switch: every 20 ms a frame for the RoCE class of port 2.
GENERATOR = PacketGenerator(GENERATOR_PORT, 20_000, (index(2),))
READY_LIMIT_S = 60.0
MODEL_READY_LIMIT_S = 600.0
END_LIMIT_S = 5.0
RECEIVE_QUEUE_PACKETS = 20000
# With --trim: queues of 64 packets, of which those of classes 1 and 2 trim.
TRIMMED_DEPTH = 64
TRIMMING = ((1, 2), Trimming(size=96, dscp_value=50, weight=4))

# With any of them on, libpcap takes a ring of a few frames of 64 KB, and BMv2 loses packets of a
# burst.
OFFLOADS = [word for name in ("tx", "rx", "tso", "gso", "gro", "lro") for word in (name, "off")]


class RunError(Exception):
    """The tests can't be run."""


def switch_interface(port: int) -> str:
    return f"switch{port}"


def test_interface(port: int) -> str:
    return f"test{port}"


def _ip(*arguments: str) -> None:
    result = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RunError(f"ip {' '.join(arguments)}: {result.stderr.strip()}")


@contextlib.contextmanager
def network_namespace() -> Iterator[str]:
    """A namespace with the veth pairs up and silent: no IPv6, which would chatter. Removed at the
    end."""
    _remove_orphans()
    name = f"{PREFIX}{os.getpid()}"
    _ip("netns", "add", name)
    try:
        _ip("-n", name, "link", "set", "lo", "up")
        for port in PORT_RATES_BPS:
            ends = (switch_interface(port), test_interface(port))
            _ip("-n", name, "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
            for end in ends:
                _in_namespace(name, "sysctl", "-qw", f"net.ipv6.conf.{end}.disable_ipv6=1")
                _in_namespace(name, "ethtool", "-K", end, *OFFLOADS)
                _ip("-n", name, "link", "set", end, "up")
        yield name
    finally:
        _ip("netns", "delete", name)


def _remove_orphans() -> None:
    """Namespaces and folders of runs that were killed outright. Their processes died with them."""
    listed = subprocess.run(
        ["ip", "netns", "list"], capture_output=True, text=True, check=False
    ).stdout
    for line in listed.splitlines():
        name = line.split()[0]
        pid = name.removeprefix(PREFIX)
        if name.startswith(PREFIX) and pid.isdigit() and not Path(f"/proc/{pid}").exists():
            _ip("netns", "delete", name)
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def _in_namespace(name: str, *command: str) -> None:
    result = subprocess.run(
        ["ip", "netns", "exec", name, *command], capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise RunError(f"{' '.join(command)}: {(result.stderr or result.stdout).strip()}")


@contextlib.contextmanager
def process(
    command: list[str],
    output: Path | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """A child in a separate session, so that Ctrl-C reaches it through us alone. It dies with us.
    Ended at the end.

    By setpriv, not by preexec_fn, which makes Python fork: in a forked child gRPC, which we use,
    goes on until exec, and aborts when Python closes its descriptors there (grpc/grpc#43055).
    """
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(output.open("wb")) if output else None
        child = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],
            stdout=stream,
            stderr=subprocess.STDOUT if output else None,
            start_new_session=True,
            env=environment,
            cwd=folder,
        )
        try:
            yield child
        finally:
            if child.poll() is None:
                child.terminate()
                try:
                    child.wait(END_LIMIT_S)
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()


def launch_spec(
    scratch: Path, kind: Target, clock: str, trim: bool, coverage: Path | None = None
) -> LaunchSpec:
    ports = tuple(
        PortSpec(port, switch_interface(port), rate, 0.0) for port, rate in PORT_RATES_BPS.items()
    )
    address = f"unix:{scratch / 'grpc'}"
    generator = GENERATOR if kind.name in EMBEDDED else None
    manual = clock == "manual"
    spec = LaunchSpec(
        "ptf",
        DEVICE_ID,
        ports,
        address,
        manual_clock=manual,
        reentry_s=REENTRY_S,
        generator=generator,
        coverage=coverage,
    )
    # The tests' frames of class 7 are as long as data.
    spec = replace(spec, notification_bytes=spec.nominal_packet_bytes)
    return replace(spec, queue_depth=TRIMMED_DEPTH, trimming=TRIMMING) if trim else spec


def wait_until_ready(spec: LaunchSpec, child: subprocess.Popen[bytes], log: Path) -> None:
    """Until the P4Runtime server answers. Raises RunError with the log if the switch ends
    instead."""
    end = time.monotonic() + READY_LIMIT_S
    last: Exception | None = None
    while time.monotonic() < end:
        if child.poll() is not None:
            raise RunError(f"the switch ended with code {child.returncode}:\n{tail(log)}")
        try:
            SwitchClient.connect(spec.name, spec.address, spec.device_id, limit_s=1.0).close()
        except SwitchError as error:
            last = error
        else:
            return
    raise RunError(f"the switch isn't ready after {READY_LIMIT_S:g} s ({last}):\n{tail(log)}")


def wait_until_driver_answers(
    inside: Sequence[str], children: Sequence[subprocess.Popen[bytes]], logs: Sequence[Path]
) -> None:
    """Until BF Runtime subscribes a client. Raises RunError with the log of a program that ends
    instead."""
    ask = (
        "from pcn.controller.tofino.bfrt import BfRuntimeSwitch as S; S.connect('ptf', "
        f"{tofino.ADDRESS!r}).close()"
    )
    end, answer = time.monotonic() + MODEL_READY_LIMIT_S, None
    while time.monotonic() < end:
        for child, log in zip(children, logs, strict=True):
            if child.poll() is not None:
                raise RunError(f"{log.stem} ended with code {child.returncode}:\n{tail(log)}")
        answer = subprocess.run(
            [*inside, sys.executable, "-c", ask], capture_output=True, text=True, check=False
        )
        if answer.returncode == 0:
            return
        time.sleep(1.0)
    raise RunError(
        f"the driver isn't ready after {MODEL_READY_LIMIT_S:g} s "
        f"({answer and answer.stderr[-300:]})"
    )


def _state(code: int | None) -> str:
    return "still runs" if code is None else f"ended with code {code}"


def tail(log: Path, lines: int = 30) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def ptf_command(scratch: Path, clock: str, arguments: list[str], parameters: str = "") -> list[str]:
    command = [
        str(Path(sys.executable).parent / "ptf"),
        "--test-dir",
        str(HERE / "cases"),
        "--pypath",
        str(HERE),
    ]
    command += [
        "--log-file",
        str(scratch / "ptf.log"),
        "--debug",
        "warning",
        "--qlen",
        str(RECEIVE_QUEUE_PACKETS),
    ]
    command += ["--socket-recv-size", "10000"]
    if clock == "manual":
        command += ["--platform", "dummy", "--allow-user"]
    else:
        for port in PORT_RATES_BPS:
            command += ["-i", f"{port}@{test_interface(port)}"]
    if parameters:
        command += ["--test-params", parameters]
    return [*command, *arguments]


def run_model(
    chip: Chip, clock: str, program: str, record: Path | None, arguments: list[str]
) -> int:
    """ptf's exit code, with the model of a chip in place of a switch. On the manual clock the tests
    move its time."""
    sde, environment = tofino.installed()
    with contextlib.ExitStack() as stack:
        scratch = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-"))
        )
        recorded, control = scratch / "record", scratch / "control"
        inside = ["ip", "netns", "exec", stack.enter_context(network_namespace())]
        if clock == "manual":
            control.write_bytes(bytes(steps.BYTES))
            environment[tofino.CONTROL] = str(control)
        interfaces = {port: switch_interface(port) for port in PORT_RATES_BPS}
        commands = [
            tofino.model_command(scratch, chip, interfaces),
            tofino.driver_command(scratch, sde, chip),
        ]
        logs = [scratch / "model.log", scratch / "driver.log"]
        children = [
            stack.enter_context(process([*inside, *command], log, environment, scratch))
            for command, log in zip(commands, logs, strict=True)
        ]
        wait_until_driver_answers(inside, children, logs)
        parameters = (
            f"target='tofino-model';address={tofino.ADDRESS!r};program={program!r};"
            f"rates={PORT_RATES_BPS!r}"
        )
        parameters += f";clock={clock!r};control={str(control)!r};chip={chip.name!r}"
        if record is not None:
            recorded.touch()
            parameters += f";record={str(recorded)!r}"
        with process([*inside, *ptf_command(scratch, "live", arguments, parameters)]) as ptf:
            code = ptf.wait()
        ended = [child.poll() for child in children]
        if code != 0 or any(status is not None for status in ended):
            for name, status, log in zip(("model", "driver"), ended, logs, strict=True):
                print(
                    f"the {name} {_state(status)}; the end of its log:\n{tail(log)}",
                    file=sys.stderr,
                )
        if record is not None:
            shutil.copyfile(recorded, record)
        return code or int(any(status is not None for status in ended))


def run(
    kind: Target,
    clock: str,
    program: str,
    trim: bool,
    record: Path | None,
    arguments: list[str],
    coverage: Path | None = None,
) -> int:
    """ptf's exit code. `coverage`: where the switch writes what packets ran through."""
    with contextlib.ExitStack() as stack:
        scratch = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-"))
        )
        log, recorded = scratch / "switch.log", scratch / "record"
        spec = launch_spec(scratch, kind, clock, trim, coverage)
        command = kind.command(spec)
        inside = (
            ["ip", "netns", "exec", stack.enter_context(network_namespace())]
            if clock == "live"
            else []
        )
        switch = stack.enter_context(process([*inside, *command], log))
        wait_until_ready(spec, switch, log)
        kind.configure(spec, switch.pid)
        parameters = (
            f"target={kind.name!r};address={spec.address!r};device_id={DEVICE_ID};"
            f"switch_pid={switch.pid}"
        )
        parameters += f";program={program!r};rates={PORT_RATES_BPS!r};clock={clock!r}"
        if trim:
            parameters += f";trimming={dict(TRIMMING[1]._asdict(), depth=TRIMMED_DEPTH)!r}"
        if record is not None:
            recorded.touch()
            parameters += f";record={str(recorded)!r}"
        with process([*inside, *ptf_command(scratch, clock, arguments, parameters)]) as ptf:
            code = ptf.wait()
        ended = switch.poll()
        if code != 0 or ended is not None:
            print(f"the switch {_state(ended)}; the end of its log:\n{tail(log)}", file=sys.stderr)
        if record is not None:
            shutil.copyfile(recorded, record)
        return code or (1 if ended is not None else 0)


def run_twice(
    kind: Target,
    program: str,
    trim: bool,
    record: Path | None,
    arguments: list[str],
    coverage: Path | None = None,
) -> int:
    """ptf's exit code, or 1 if two runs, beside each other, weren't the same. The first one has the
    coverage."""
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as folder:
        records, log = [Path(folder) / "first", Path(folder) / "second"], Path(folder) / "log"
        words = ["--target", kind.name, "--program", program, "--record", str(records[1])]
        words += ["--trim"] if trim else []
        with process([sys.executable, str(Path(__file__)), *words, *arguments], log) as second:
            code = run(kind, "manual", program, trim, records[0], arguments, coverage)
            if second.wait() != code:
                print(
                    (
                        f"the second run ended with {second.returncode}, the first with "
                        f"{code}:\n{tail(log)}"
                    ),
                    file=sys.stderr,
                )
                return code or second.returncode
        if code != 0:
            return code  # why, it has said; there may be no records
        if record is not None:
            shutil.copyfile(records[0], record)
        difference = first_difference(
            *(path.read_text(encoding="utf-8").splitlines() for path in records)
        )
        if difference:
            print(f"two runs of the same tests differ: {difference}", file=sys.stderr)
            return 1
        print(
            f"two runs are the same: {records[0].stat().st_size} bytes of records", file=sys.stderr
        )
        return code


def first_difference(first: list[str], second: list[str]) -> str:
    """The test, and its first lines that differ; empty: none."""
    test = ""
    for ours, theirs in itertools.zip_longest(first, second, fillvalue="(the end)"):
        if ours.startswith("== "):
            test = ours[3:]
        if ours != theirs:
            return f"{test}:\n  {ours}\n  {theirs}"
    return ""


def _raise_exit(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _check_live() -> None:
    if os.geteuid() != 0:
        raise RunError(
            "the live clock needs root, for network namespaces and veth pairs: run it as root"
        )
    missing = [tool for tool in ("ip", "ethtool", "sysctl") if shutil.which(tool) is None]
    if missing:
        raise RunError(
            f"missing: {', '.join(missing)}; Debian's packages iproute2, ethtool and procps have "
            "them"
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", choices=sorted([*TARGETS, MODEL_TARGET]), default="softswitch")
    parser.add_argument(
        "--chip",
        choices=sorted(CHIPS),
        default=TOFINO.name,
        help=f"chip of {MODEL_TARGET} (default: {TOFINO.name})",
    )
    parser.add_argument(
        "--clock", choices=("manual", "live"), help="default: manual, but live for bmv2"
    )
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="with the manual clock: what happened, when"
    )
    parser.add_argument(
        "--twice",
        action="store_true",
        help="with the manual clock: fails unless two runs are the same",
    )
    parser.add_argument(
        "--program",
        default="pcn",
        help="of the tests that leave it open: one of p4src, x.p4, or x.json as p4c made it",
    )
    parser.add_argument(
        "--trim", action="store_true", help="short queues that trim, for the test of the same name"
    )
    parser.add_argument(
        "--coverage",
        type=Path,
        metavar="FILE",
        help="of the embedded switch: what packets ran through, as its option of the same name",
    )
    options, arguments = parser.parse_known_args()
    if len(os.fsencode(tempfile.gettempdir())) > PATH_BYTES - ROOM_BYTES:
        tempfile.tempdir = "/tmp"  # $TMPDIR is too long for the switch's socket
    clock = options.clock or ("manual" if options.target in EMBEDDED else "live")
    if options.twice and options.target == MODEL_TARGET:
        parser.error(
            "--twice runs two switches beside each other: run the model again, and compare the "
            "records"
        )
    if options.chip != TOFINO.name and (options.target, clock) != (MODEL_TARGET, "live"):
        parser.error(
            f"--chip is for {MODEL_TARGET}; tests move the clock of Tofino 1's model alone"
        )
    if (options.record or options.twice) and clock == "live":
        parser.error(
            "--record and --twice are for the manual clock: on a live one no two runs are the same"
        )
    if options.coverage is not None and options.target not in EMBEDDED:
        parser.error("--coverage is the embedded switch's: leave out --target")
    if "--list" in arguments or "--list-test-names" in arguments:
        with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as scratch:
            return subprocess.run(
                ptf_command(Path(scratch), "manual", arguments), check=False
            ).returncode
    # SIGINT too: who starts us in the background may have it ignored.
    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_number, _raise_exit)
    try:
        if clock == "live":
            _check_live()
        if old := stale():
            print(f"note: {old}", file=sys.stderr)
        program = options.program
        if Path(program).suffix in (".p4", ".json"):
            program = str(Path(program).absolute())  # tests run elsewhere
        Program.find(program)  # what is wrong with it, once
        if options.target == MODEL_TARGET:
            _check_live()
            return run_model(CHIPS[options.chip], clock, program, options.record, arguments)
        if options.twice:
            return run_twice(
                target(options.target),
                program,
                options.trim,
                options.record,
                arguments,
                options.coverage,
            )
        return run(
            target(options.target),
            clock,
            program,
            options.trim,
            options.record,
            arguments,
            options.coverage,
        )
    except (RunError, LabError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    try:
        code = main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    sys.stdout.flush()
    sys.stderr.flush()
    # Not sys.exit: a gRPC call that a signal interrupted leaves threads that the interpreter may
    # wait for in vain.
    os._exit(code)
