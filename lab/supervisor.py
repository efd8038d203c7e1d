"""The process that holds a network for `pcn up`, until `pcn down`."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pcn.base import priority, signals
from pcn.base.errors import LabError
from pcn.base.python_process import python_command
from pcn.lab import journal as records
from pcn.lab.launch import without
from pcn.lab.log_folder import LogFolder
from pcn.topologies.model import Value

# Without any progress: the embedded switch may have to compile a program first
START_LIMIT_S = 180.0
STOP_LIMIT_S = 30.0
_POLL_S = 0.05
_LOG = "supervisor.log"
_NICE = -20


class SupervisorError(LabError):
    """The supervisor couldn't bring its network up, or couldn't be ended."""


@dataclass(frozen=True)
class Spec:
    """What `pcn up` was given. `topology` and `scheme` are what any process finds them by
    (`Blueprint.reference`, `Scheme.reference`); the scheme's parameters are by default those that
    it recommends for the topology."""

    name: str
    topology: str
    log_dir: str
    options: dict[str, Value] = field(default_factory=dict)
    target: str = "softswitch"
    scheme: str = "pcn"
    scheme_parameters: dict[str, Value] = field(default_factory=dict)
    dilation: float = 400.0
    processes: bool = False  # one for each switch
    why_k: str = ""  # where it was chosen for this machine
    enough_k: float = 0.0  # one at which all hosts may send at line rate
    seed: int = 1
    leave_out: list[str] = field(default_factory=list)
    """Of `pcn.lab.launch.LEFT_OUT`."""
    inside: bool = False
    """All nodes are inside one engine."""


def up(spec: Spec) -> records.Record:
    """Brings a network up in a separate process, and waits until it is. Raises SupervisorError with
    the reason; an empty log_dir isn't left behind then.

    An exception meanwhile, Ctrl-C included, ends that process and with it the network.
    """
    with LogFolder(Path(spec.log_dir)) as logs, contextlib.ExitStack() as stack:
        # A signal between the process's start and our knowing of it would leave it behind.
        with signals.deferred(), logs.open(_LOG) as output:
            process = subprocess.Popen(
                python_command("pcn.lab.supervisor", json.dumps(asdict(spec))),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd="/",
            )
            stack.callback(_end, process)
        record = _wait_up(spec.name, process, logs)
        stack.pop_all()
    return record


def _end(process: subprocess.Popen[bytes]) -> None:
    with signals.deferred():
        process.terminate()
        process.wait()


def _wait_up(name: str, process: subprocess.Popen[bytes], logs: LogFolder) -> records.Record:
    started = 0  # nodes and programs so far: a large network on a busy machine takes minutes
    end = time.monotonic() + START_LIMIT_S
    while time.monotonic() < end:
        try:
            process.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            record = records.load(name)
            if record and record.state == "up" and record.owner.pid == process.pid:
                return record
            now = (
                sum(1 + (node.process is not None) for node in record.nodes.values())
                if record
                else 0
            )
            if now > started:
                started, end = now, time.monotonic() + START_LIMIT_S
            continue
        text = (logs.path / _LOG).read_text(encoding="utf-8", errors="replace").strip()
        logs.remove(_LOG)  # it's told
        raise SupervisorError(
            text.removeprefix("error: ") or f"it ended with status {process.returncode}"
        )
    raise SupervisorError(
        f"the network's start made no progress for {START_LIMIT_S:g} s, after {started} nodes and "
        f"programs; see {logs.path / _LOG}"
    )


def down(name: str, force: bool = False) -> list[str]:
    """Ends a network and removes what it made; returns names of these. An empty list if there was
    nothing.

    A network that a running command holds (`pcn run`) is left alone, unless `force`:
    NameInUseError. SupervisorError when its process doesn't end.
    """
    record = records.load(name)
    removed: list[str] = []
    if record and records.is_held(name):
        if record.role != "up" and not force:
            raise records.NameInUseError(
                f"network {name} belongs to a command that is running (process "
                f"{record.owner.pid}): end that one, or use --force"
            )
        _end_owner(record)
        removed.append(f"network {name} ({len(record.nodes)} nodes, {record.target})")
    return removed + records.remove_leftovers(name)


def _end_owner(record: records.Record) -> None:
    records.end_processes([record.owner], grace_s=STOP_LIMIT_S)
    if record.owner.alive():
        raise SupervisorError(
            f"process {record.owner.pid}, which holds network {record.name}, doesn't end"
        )


def hold(spec: Spec) -> None:
    """Holds the network until a signal: KeyboardInterrupt or `signals.Terminated`. Raises
    LabError."""
    from pcn.hosts.recommended import (
        recommended,
        recommended_at_ports,
    )  # slow to load; `pcn up` and `pcn down` do without
    from pcn.lab.network import configured
    from pcn.topologies.lookup import find_topology

    topology = without(find_topology(spec.topology).build(spec.options), spec.leave_out)
    scheme = configured(spec.scheme, spec.scheme_parameters).scheme
    parameters = {**recommended(topology, scheme), **spec.scheme_parameters}
    at_ports = recommended_at_ports(topology, scheme, fixed=spec.scheme_parameters)
    if spec.inside:
        from pcn.lab.inside.hold import hold as hold_inside

        hold_inside(
            topology, configured(spec.scheme, parameters, at_ports), spec.name,
            Path(spec.log_dir), spec.dilation, spec.seed,
        )  # fmt: skip
        return
    from pcn.lab.lab import Lab

    with Lab(
        topology,
        log_dir=Path(spec.log_dir),
        name=spec.name,
        target=spec.target,
        scheme=spec.scheme,
        scheme_parameters=parameters,
        port_parameters=at_ports,
        dilation=spec.dilation,
        why_k=spec.why_k,
        enough_k=spec.enough_k,
        processes=spec.processes,
        seed=spec.seed,
        role="up",
    ):
        # `pcn down` waits for it, and the network's programs may take the whole machine. The record
        # says "up" by now: nothing may fail any more.
        priority.raise_priority(_NICE)
        signals.wait()


def main() -> int:
    spec = Spec(**json.loads(sys.argv[1]))
    try:
        hold(spec)
    except (KeyboardInterrupt, signals.Terminated):
        return 0
    except LabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
