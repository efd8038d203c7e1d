"""Runs the data-plane tests: a network namespace with veth pairs, a switch inside, and ptf.

    python ptf-tests/run.py [--target softswitch|bmv2] [ptf's options and test names]
    python ptf-tests/run.py --target bmv2 np_ecn                  one file
    python ptf-tests/run.py np_ecn.OnlyPausedLeaveUnmarked        one test
    python ptf-tests/run.py --program pcn_time np_ecn             another marking point than pcn's
    python ptf-tests/run.py --list

Both ends of each pair are in the namespace, which ends with the run, as the switch does: also after Ctrl-C
and SIGTERM. The exit code is ptf's. Needs root.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from controller.errors import SwitchError
from controller.switch import SwitchClient
from controller.target import TARGETS, LaunchSpec, PortSpec, Target, target
from topologies.errors import LabError

HERE = Path(__file__).resolve().parent
PREFIX = "pcn-ptf-"
DEVICE_ID = 1
# The last port is slow, so that packets wait there. The others are fast, but shaped: what a paused port
# holds goes round at the port's rate.
FAST_BPS = 100e6
SLOW_BPS = 1e6
PORT_RATES_BPS = {1: FAST_BPS, 2: FAST_BPS, 3: FAST_BPS, 4: SLOW_BPS}
READY_LIMIT_S = 60.0
END_LIMIT_S = 5.0
RECEIVE_QUEUE_PACKETS = 20000

# With any of them on, libpcap takes a ring of a few frames of 64 KB, and BMv2 loses packets of a burst.
OFFLOADS = [word for name in ("tx", "rx", "tso", "gso", "gro", "lro") for word in (name, "off")]

_PR_SET_PDEATHSIG = 1


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
    """A namespace with the veth pairs up and silent: no IPv6, which would chatter. Removed at the end."""
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
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout
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
    result = subprocess.run(["ip", "netns", "exec", name, *command], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RunError(f"{' '.join(command)}: {(result.stderr or result.stdout).strip()}")


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def process(command: list[str], output: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A child in a session of its own, so that Ctrl-C reaches it through us alone. Ended at the end."""
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(output.open("wb")) if output else None
        child = subprocess.Popen(
            command,
            stdout=stream,
            stderr=subprocess.STDOUT if output else None,
            start_new_session=True,
            preexec_fn=_die_with_parent,
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


def launch_spec(scratch: Path) -> LaunchSpec:
    ports = tuple(PortSpec(port, switch_interface(port), rate, 0.0) for port, rate in PORT_RATES_BPS.items())
    return LaunchSpec("ptf", DEVICE_ID, ports, f"unix:{scratch / 'grpc'}")


def wait_until_ready(spec: LaunchSpec, child: subprocess.Popen[bytes], log: Path) -> None:
    """Until the P4Runtime server answers. Raises RunError with the log if the switch ends instead."""
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


def tail(log: Path, lines: int = 30) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def ptf_command(scratch: Path, arguments: list[str], parameters: str = "") -> list[str]:
    command = [str(Path(sys.executable).parent / "ptf"), "--test-dir", str(HERE / "cases"), "--pypath", str(HERE)]
    command += ["--log-file", str(scratch / "ptf.log"), "--debug", "warning", "--qlen", str(RECEIVE_QUEUE_PACKETS)]
    command += ["--socket-recv-size", "10000"]
    for port in PORT_RATES_BPS:
        command += ["-i", f"{port}@{test_interface(port)}"]
    if parameters:
        command += ["--test-params", parameters]
    return [*command, *arguments]


def run(kind: Target, program: str, arguments: list[str]) -> int:
    """ptf's exit code."""
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")))
        log = scratch / "switch.log"
        spec = launch_spec(scratch)
        command = kind.command(spec)
        namespace = stack.enter_context(network_namespace())
        switch = stack.enter_context(process(["ip", "netns", "exec", namespace, *command], log))
        wait_until_ready(spec, switch, log)
        kind.configure(spec, switch.pid)
        parameters = f"target={kind.name!r};address={spec.address!r};device_id={DEVICE_ID};switch_pid={switch.pid}"
        parameters += f";program={program!r};rates={PORT_RATES_BPS!r}"
        tests = ["ip", "netns", "exec", namespace, *ptf_command(scratch, arguments, parameters)]
        with process(tests) as ptf:
            code = ptf.wait()
        ended = switch.poll()
        if code != 0 or ended is not None:
            state = "still runs" if ended is None else f"ended with code {ended}"
            print(f"the switch {state}; the end of its log:\n{tail(log)}", file=sys.stderr)
        return code or (1 if ended is not None else 0)


def _raise_exit(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=sorted(TARGETS), default="softswitch")
    parser.add_argument("--program", choices=("pcn", "pcn_time"), default="pcn", help="of the tests that leave it open")
    options, arguments = parser.parse_known_args()
    if "--list" in arguments or "--list-test-names" in arguments:
        with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as scratch:
            return subprocess.run(ptf_command(Path(scratch), arguments), check=False).returncode
    # SIGINT too: who starts us in the background may have it ignored.
    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_number, _raise_exit)
    try:
        if os.geteuid() != 0:
            raise RunError("ptf needs root, for network namespaces and veth pairs: run it as root")
        missing = [tool for tool in ("ip", "ethtool", "sysctl") if shutil.which(tool) is None]
        if missing:
            raise RunError(f"missing: {', '.join(missing)}; Debian's packages iproute2, ethtool and procps have them")
        return run(target(options.target), options.program, arguments)
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
    # Not sys.exit: a gRPC call that a signal interrupted leaves threads that the interpreter may wait for in vain.
    os._exit(code)
