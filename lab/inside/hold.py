"""The process that holds a network inside an engine: `pcn.lab.supervisor`'s, of `pcn up --inside`.

The main thread runs the engine; another one answers at the control sockets of the hosts and of the
network, and P4Runtime's servers have theirs. All of them change the network by `driven`, or with
the engine's lock."""

from __future__ import annotations

import contextlib
import gc
import os
import select
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcn.base import priority, signals
from pcn.base.errors import LabError
from pcn.hosts.control import ControlError, ControlServer
from pcn.hosts.realtime import RealTime
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab import journal as records, pace
from pcn.lab.inside import agents
from pcn.lab.inside.captures import Captures
from pcn.lab.inside.client import SOCKET
from pcn.lab.inside.driven import CommandError, Driven
from pcn.lab.inside.log import NAME, End, Head, Writer
from pcn.lab.log_folder import LogFolder
from pcn.softswitch.embed.served import serve
from pcn.softswitch.errors import StartError
from pcn.softswitch.pace import Place, Window
from pcn.topologies.serialise import to_dict
from pcn.virtualnet import VirtualError

if TYPE_CHECKING:
    from pcn.hosts.algorithms import Configured
    from pcn.topologies.model import Topology

_LONGEST_S = 9e6
"""Of simulated time: the engine's clock holds no more."""
_NICE = -20
_SWITCH_S = 0.5e-3
"""Within which a thread of Python makes room: a call waits for few others, not for 5 ms each."""
_LATE_NS = 50_000_000
"""Real time by which a network is late that a user who watches may see: as `Lateness.late`."""


class Holder:
    """A context manager: the network `name` is up in it, and `run` runs it, one simulated second in
    `k` real ones. Raises LabError."""

    def __init__(
        self,
        topology: Topology,
        configured: Configured,
        name: str,
        log_dir: Path,
        k: float,
        seed: int = 1,
    ) -> None:
        self._topology = topology
        self._configured = configured
        self._name = name
        self._log_dir = log_dir
        self._k = k
        self._seed = seed
        self._realtime = RealTime()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Holder:
        try:
            self._stack.enter_context(signals.raising())
            with signals.deferred() as interrupt:
                self._start(interrupt.check)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends and removes everything."""
        with signals.deferred():
            self._stack.close()

    def run(self) -> None:
        """Runs the network until a signal, which raises, or until an error of the engine. The log
        has its end in either case."""
        try:
            gc.freeze()  # what is there by now stays: nothing looks through it again
            self._window.update(0, 0, 0, 1.0, 0.0)
            # Of this thread alone: with a nice value it has no more than any other session's share.
            self._realtime.acquire()
            self.network.run(until_s=_LONGEST_S, progress=lambda _now_s, _left_s: self._report())
        finally:
            # no end where the run has failed; what comes behind it isn't the session's
            with contextlib.suppress(VirtualError), self.network.lock:
                totals = self.network.totals()
                self._log.end(End(self.network.now_s, f"{totals.digest:016x}", totals.events))

    def _start(self, check: Callable[[], None]) -> None:
        topology = self._topology
        directory = self._stack.enter_context(records.owned(self._name))
        board = pace.make_board(to_dict(topology), "up")
        self._stack.callback(board.close)
        self._window = Window(Place.parse(board.place(0)), _LATE_NS)
        logs = self._stack.enter_context(LogFolder(self._log_dir))
        self.record = records.Record(
            name=self._name,
            owner=records.Process.of(os.getpid()),
            topology=to_dict(topology),
            target=records.INSIDE,
            dilation=self._k,
            scheme=self._configured.scheme.reference,
            program=self._configured.scheme.program,
            log_dir=str(self._log_dir.resolve()),
            role="up",
            board=str(board.path),
            marking=list(self._configured.scheme.marking),
            features={"link_delay": "the engine's"},
        )
        self.record.save()
        check()
        self.network = self._stack.enter_context(
            VirtualNetwork(topology, self._configured, seed=self._seed)
        )
        head = Head(
            self._name, to_dict(topology), self._configured.scheme.reference,
            dict(vars(self._configured.parameters)),
            [[rate, dict(values)] for rate, values in self._configured.at_ports.items()],
            self._seed, self._k,
        )  # fmt: skip
        self._log = Writer(self._stack.enter_context(logs.open(NAME)), head)
        self.driven = Driven(self.network, self._log.command)
        self._captures = Captures(self.network)
        self.network.pace(self._k)
        check()
        self._serve(directory, check)
        self.record.state = "up"
        self.record.save()

    def _serve(self, directory: Path, check: Callable[[], None]) -> None:
        me = records.Process.of(os.getpid())
        try:
            for switch in self._topology.switches:
                check()
                address = f"unix:{directory / switch.name}.grpc"
                server = serve(
                    self.network.switches[switch.name].embedded,
                    switch.device_id,
                    address,
                    self.network.lock,
                    partial(self.driven.written, switch.name),
                )
                self._stack.enter_context(server)
                self.record.note(records.NodeRecord(switch.name, me, [], me, address))
            sockets = _Sockets()
            for host in self._topology.hosts:
                path = directory / f"{host.name}.sock"
                sockets.add(path, partial(agents.answer, self.driven, host.name))
                self.record.note(records.NodeRecord(host.name, me, [], me, str(path)))
            sockets.add(directory / SOCKET, self._answer)
            self._stack.enter_context(sockets)
        except (ControlError, StartError) as error:
            raise LabError(str(error)) from None

    def _answer(self, request: Mapping[str, Any]) -> Any:
        """Returns the result of a request to the network. Raises LabError, ValueError."""
        fields = {name: value for name, value in request.items() if name != "cmd"}
        command = request.get("cmd")
        if command in ("link", "reroute", "pfc"):
            return self.driven.carry_out({"do": command, **fields})
        if command == "rerouted":
            reroutes, number = self.driven.reroutes, fields.get("number")
            if not isinstance(number, int) or not 0 <= number < len(reroutes):
                raise CommandError(f"no reroute {number}")
            return reroutes[number]
        if command == "links":
            return [str(link.a) for link in self.driven.down]
        if command == "resumes":
            return [
                [str(end), traffic_class, number]
                for (end, traffic_class), number in list(self.driven.resumes.items())
            ]
        if command == "ports":
            return self._ports(fields.get("switch"))
        if command in ("capture", "captured", "uncapture"):
            return getattr(self._captures, command)(**fields)
        if command == "now":
            return self.network.now_s
        if command == "state":
            return self._state()
        raise CommandError(
            f"no command {command!r}; choose from capture, captured, link, links, now, ports, pfc, "
            "resumes, reroute, rerouted, state, uncapture"
        )

    def _ports(self, switch: object) -> dict[str, dict[str, Any]]:
        """Returns by port what the engine counts where a live switch's program and interfaces do:
        the fields of `pcn.lab.observe`'s `_InterfaceState`."""
        topology, network = self._topology, self.network
        name = topology.switch(str(switch)).name
        with network.lock:
            stats = {port: network.link_stats(name, port) for port in topology.ports(name)}
        return {
            str(port): {
                "up": topology.link_at(name, port) not in self.driven.down,
                "lost": counts.refused,
                "pause_sent": counts.pause,
            }
            for port, counts in stats.items()
        }

    def _state(self) -> dict[str, Any]:
        network = self.network
        with network.lock:
            totals, lateness = network.totals(), network.lateness()
            behind_s = network.behind_s
            unable = {name: network.unable(name) for name in network.switches}
        return {
            "now_s": totals.now_s,
            "events": totals.events,
            "digest": f"{totals.digest:016x}",
            "behind_s": max(0.0, behind_s),
            "lateness": str(lateness),
            "worst_s": lateness.worst_s,
            "log_lost": self._log.lost,
            "unable": {name: packets for name, packets in unable.items() if packets},
        }

    def _report(self) -> None:
        """Writes on the board whether the network is late now, all of it: it has one engine. Ends
        captures whose clients have gone."""
        self._captures.clean()
        late_ns = max(0, round(self.network.behind_s * 1e9))
        self._window.update(
            self.network.lateness().batches, 0, late_ns, 0.0 if late_ns > _LATE_NS else 1.0, 0.5
        )
        self._realtime.check(self._window.crowded)


class _Sockets:
    """Control sockets that one thread serves. A context manager."""

    def __init__(self) -> None:
        self._servers: dict[int, ControlServer] = {}
        self._stack = contextlib.ExitStack()
        self._poll = select.epoll()
        self._ending, self._end = os.pipe()
        self._stack.callback(self._poll.close)
        self._stack.callback(os.close, self._ending)
        self._stack.callback(os.close, self._end)
        self._poll.register(self._ending, select.EPOLLIN)
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)

    def add(self, path: Path, handle: Callable[[Mapping[str, Any]], Any]) -> None:
        """Raises ControlError."""
        server = self._stack.enter_context(ControlServer(path, handle))
        self._servers[server.poll.fileno()] = server
        self._poll.register(server.poll.fileno(), select.EPOLLIN)

    def __enter__(self) -> _Sockets:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.write(self._end, b"\0")
        self._thread.join()
        self._stack.close()

    def _serve(self) -> None:
        while True:
            for fileno, _ in self._poll.poll():
                if fileno == self._ending:
                    return
                self._servers[fileno].serve()


def hold(
    topology: Topology, configured: Configured, name: str, log_dir: Path, k: float, seed: int
) -> None:
    """Holds the network until a signal: KeyboardInterrupt or `signals.Terminated`; prints how late
    it was. Raises LabError."""
    # before its threads are made: the engine is to be on time, and controllers wait for answers
    priority.raise_priority(_NICE)
    sys.setswitchinterval(_SWITCH_S)
    with Holder(topology, configured, name, log_dir, k, seed) as holder:
        began = time.monotonic()
        try:
            holder.run()
        finally:
            now_s, lateness = holder.network.now_s, holder.network.lateness()
            print(
                f"{now_s:.6f} s of simulated time in {time.monotonic() - began:.1f} s: {lateness}",
                flush=True,
            )
