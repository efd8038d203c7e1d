"""Commands that change a network while it runs, each at the simulated time that it has reached.

    driven = Driven(network, log)
    driven.carry_out({"do": "flow", "id": 1, "src": "h0", "dst": "r0"})

| do | fields |
|---|---|
| flow | id src dst [size_bytes] [rate_bps] [duration_s] [traffic_class] |
| stop | id |
| link | node port up |
| reroute | after_s |
| pfc | node port traffic_class quanta |
| write | switch updates: of P4Runtime, each as base64 |

They are the same whether a client sends them or a log has them: one that is refused changes nothing
and isn't logged.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pcn.base.errors import LabError
from pcn.base.p4rt import p4r
from pcn.controller import pfc
from pcn.controller.control_plane import TableAction
from pcn.controller.errors import UnknownNameError
from pcn.controller.reroute import reroute
from pcn.hosts.virtual import VirtualFlow, VirtualNetwork
from pcn.lab.flows import MAX_FLOW
from pcn.lab.pause import SOURCE_MAC
from pcn.topologies import queue_depth
from pcn.topologies.lossless import CLASSES, DATA_CLASS, PFC
from pcn.topologies.model import Endpoint, FlowSpec, Link
from pcn.virtualnet.native import NO_QUEUE

MOST_FLOWS: Final = 100_000
"""Of a session: the engine keeps all of them, some 2 KB each."""
MOST_REROUTES: Final = 10_000
_QUANTA = 2**16
_PACKETS = 2_000_000
"""Half of what the engine has room for (`VN_MOST_PACKETS`)."""
_LEAST_DEPTH = 256


class CommandError(LabError):
    """A command that isn't understood, or that this network can't carry out."""


_FIELDS: Final[Mapping[str, tuple[Mapping[str, type], Mapping[str, type]]]] = {
    "flow": (
        {"id": int, "src": str, "dst": str},
        {"size_bytes": int, "rate_bps": float, "duration_s": float, "traffic_class": int},
    ),
    "stop": ({"id": int}, {}),
    "link": ({"node": str, "port": int, "up": bool}, {}),
    "reroute": ({"after_s": float}, {}),
    "pfc": ({"node": str, "port": int, "traffic_class": int, "quanta": int}, {}),
    "write": ({"switch": str, "updates": list}, {}),
}
"""By command: the fields that it needs, and those that it may have."""


def checked(command: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a command whose fields are there and have their types. Raises CommandError."""
    name = command.get("do")
    if not isinstance(name, str) or name not in _FIELDS:
        raise CommandError(f"no command {name!r}; choose from {', '.join(_FIELDS)}")
    needed, optional = _FIELDS[name]
    kinds = {**needed, **optional}
    fields: dict[str, Any] = {"do": name}
    for field, value in command.items():
        if field == "do":
            continue
        if field not in kinds:
            raise CommandError(f"{name}: no field {field!r}; choose from {', '.join(kinds)}")
        fields[field] = _typed(f"{name}: {field}", kinds[field], value)
    if missing := [field for field in needed if field not in fields]:
        raise CommandError(f"{name}: {', '.join(missing)} is missing")
    return fields


def _typed(where: str, kind: type, value: Any) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < 2**53 else math.inf
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise CommandError(f"{where}: {str(value)[:60]!r} is no {_KINDS[kind]}")
    return value


_KINDS: Final[Mapping[type, str]] = {
    int: "whole number",
    float: "number",
    str: "text",
    bool: "true or false",
    list: "list",
}


def _bound_queues(network: VirtualNetwork) -> None:
    """Gives queues of lossy classes that have no depth one at which all of them together hold half
    of the packets that the engine may."""
    topology = network.topology
    if queue_depth.queue_packets(topology.parameters):
        return
    ports = [(node.name, port) for node in topology.switches for port in topology.ports(node.name)]
    classes = [n for n in range(CLASSES) if n not in topology.lossless_classes]
    depth = max(_LEAST_DEPTH, min(NO_QUEUE - 1, _PACKETS // max(1, len(ports) * len(classes))))
    for node, port in ports:
        for traffic_class in classes:
            network.set_queue(node, port, traffic_class, depth=depth)


class Driven:
    """A network and what commands changed of it. Nothing but an error of an algorithm ends its run.
    `logged` gets each command that was carried out, with its simulated time in s. Any thread may
    call it: what it does, it does with the engine's lock. Raises LabError."""

    def __init__(
        self,
        network: VirtualNetwork,
        logged: Callable[[float, Mapping[str, Any]], None] = lambda _now_s, _command: None,
    ) -> None:
        self.network = network
        network.survive()
        _bound_queues(network)
        self.sent: dict[str, list[VirtualFlow]] = defaultdict(list)
        self.received: dict[str, list[VirtualFlow]] = defaultdict(list)
        self.stopped: set[int] = set()
        self.down: set[Link] = set()
        self.resumes: Counter[tuple[Endpoint, int]] = Counter()
        """RESUMEs that commands sent, by port and class."""
        self.reroutes: list[list[str] | str | None] = []
        """Of each: the switches whose routes changed, or why they couldn't; None: not yet."""
        self._logged = logged
        ports = sum(len(network.topology.ports(node.name)) for node in network.topology.switches)
        self._most_xoff = max(
            network.topology.number("xoff_bytes"),
            _PACKETS * network.topology.number("mtu_bytes") / max(1, ports),
        )
        """Beyond it, more might wait for a RESUME than the engine has room for."""
        self._pfc_entries: dict[tuple[str, int], dict[str, Any]] = {}
        self._carry: Mapping[str, Callable[..., Any]] = {
            "flow": self._flow,
            "stop": self._stop,
            "link": self._link,
            "reroute": self._reroute,
            "pfc": self._pfc,
            "write": self._write,
        }

    def carry_out(self, command: Mapping[str, Any]) -> Any:
        """Returns what the command returns."""
        fields = checked(command)
        arguments = {name: value for name, value in fields.items() if name != "do"}
        with self.network.lock:
            result = self._carry[fields["do"]](**arguments)
            self._logged(self.network.now_s, fields)
        return result

    def written(self, switch: str, updates: Sequence[p4r.Update]) -> None:
        """Logs updates that a switch's P4Runtime carried out, with the engine's lock held."""
        texts = [base64.b64encode(update.SerializeToString()).decode() for update in updates]
        if texts:
            self._follow(switch, updates)
            self._logged(self.network.now_s, {"do": "write", "switch": switch, "updates": texts})

    def _follow(self, switch: str, updates: Sequence[p4r.Update]) -> None:
        """Has the engine's PFC follow the entries of the program's table, which a live switch's
        program follows. A port of a shared buffer has that one's thresholds; what an entry can't
        mean changes nothing."""
        plane, topology = self.network.switches[switch], self.network.topology
        table = plane.schema.tables[pfc.TABLE].id if pfc.TABLE in plane.tables() else None
        if topology.flow_control != PFC or topology.switch(switch).buffer is not None:
            return
        ports = {
            entry.match["port"]: entry.action.args
            for entry in (
                plane.read_table(pfc.TABLE)
                if any(update.entity.table_entry.table_id == table for update in updates)
                else ()
            )
            if entry.match and isinstance(entry.action, TableAction)
        }
        for number in topology.ports(switch):
            arguments = ports.get(number)
            if arguments is None or self._pfc_entries.get((switch, number)) == arguments:
                continue
            self._pfc_entries[switch, number] = dict(arguments)
            with contextlib.suppress(LabError, ValueError, KeyError):
                port = pfc.port_of(number, arguments)
                if port.xoff_bytes <= self._most_xoff:
                    self.network.set_pfc(switch, port)

    def _flow(
        self,
        id: int,
        src: str,
        dst: str,
        size_bytes: int | None = None,
        rate_bps: float | None = None,
        duration_s: float | None = None,
        traffic_class: int = DATA_CLASS,
    ) -> int:
        topology = self.network.topology
        for name in (src, dst):
            if not topology.is_host(name):
                names = [host.name for host in topology.hosts]
                raise UnknownNameError("host", name, names)
        if src == dst:
            raise CommandError(f"a flow from {src} to itself: name two hosts")
        if not 1 <= id <= MAX_FLOW:
            raise CommandError(f"flow {id}: numbers are from 1 to {MAX_FLOW}")
        if len(self.network.flows) >= MOST_FLOWS:
            raise CommandError(
                f"this network has had {MOST_FLOWS} flows, and keeps all: take it down and up again"
            )
        for name, value in (("size", size_bytes), ("rate", rate_bps), ("duration", duration_s)):
            if value is not None and not 0 < value <= 2**50:
                raise CommandError(f"flow {id}: a {name} of {value:g}: above 0 is possible")
        now_s = self.network.now_s
        spec = FlowSpec(
            id, src, dst, start_s=now_s, size_bytes=size_bytes, rate_bps=rate_bps,
            duration_s=duration_s, traffic_class=traffic_class,
        )  # fmt: skip
        flow = self.network.add_flow(spec)
        self.sent[src].append(flow)
        self.received[dst].append(flow)
        return id

    def _stop(self, id: int) -> None:
        if self.network.flows[id].stats().ended_s is None:
            self.stopped.add(id)
        self.network.stop_flow(id)

    def _link(self, node: str, port: int, up: bool) -> None:
        network, topology = self.network, self.network.topology
        link = topology.link_at(node, port)
        network.set_link(node, port, up=up)
        (self.down.discard if up else self.down.add)(link)
        for end in (link.a, link.b):
            # output buffers keep what waits for a link that is down
            if not topology.is_host(end.node) and topology.switch(end.node).output is None:
                network.discard(end.node, end.port, not up)

    def _reroute(self, after_s: float) -> int:
        if not after_s >= 0:
            raise CommandError(f"a reroute after {after_s:g} s: 0 or more are possible")
        if len(self.reroutes) >= MOST_REROUTES:
            raise CommandError(
                f"this network has had {MOST_REROUTES} reroutes: take it down and up again"
            )
        number = len(self.reroutes)
        self.network.at(self.network.now_s + after_s, lambda: self._learn(number))
        self.reroutes.append(None)
        return number

    def _learn(self, number: int) -> None:
        """Writes routes by the links that are up. What fails is the command's: it ends no run."""
        topology, network = self.network.topology, self.network
        routing = topology.around(self.down)
        try:
            changed = reroute(topology, routing, network.switches.__getitem__)
            network.route_flows(routing)
        except LabError as error:
            self.reroutes[number] = str(error)
            return
        self.reroutes[number] = changed

    def _pfc(self, node: str, port: int, traffic_class: int, quanta: int) -> None:
        topology = self.network.topology
        link = topology.link_at(node, port)
        if not 0 <= traffic_class < CLASSES or not 0 <= quanta < _QUANTA:
            raise CommandError(
                f"class {traffic_class}, {quanta} quanta: classes 0 to {CLASSES - 1} and up to "
                f"{_QUANTA - 1} quanta are possible"
            )
        if topology.flow_control != PFC:
            raise CommandError(f"{topology.name} has {topology.flow_control}, not PFC")
        if link in self.down:
            raise CommandError(f"{node}:{port}: its link is down: no PAUSE or RESUME arrives")
        self.network.pfc_arrives(node, port, traffic_class, quanta, SOURCE_MAC)
        if quanta == 0:
            self.resumes[Endpoint(node, port), traffic_class] += 1

    def _write(self, switch: str, updates: list[Any]) -> None:
        if switch not in self.network.switches:
            raise UnknownNameError("switch", switch, list(self.network.switches))
        decoded = []
        for text in updates:
            try:
                decoded.append(p4r.Update.FromString(base64.b64decode(text, validate=True)))
            except (TypeError, ValueError, binascii.Error):
                raise CommandError(f"write: {str(text)[:60]!r} is no update of P4Runtime") from None
            except Exception as error:  # protobuf's DecodeError, of whichever of its libraries
                raise CommandError(f"write: no update of P4Runtime: {error}") from None
        self.network.switches[switch].write(decoded)
        self._follow(switch, decoded)
