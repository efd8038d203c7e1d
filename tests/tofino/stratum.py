"""Stands where a lab has Stratum on a Tofino switch: a real gRPC server with the embedded switch's
own P4Runtime service, which checks entries against the p4info, and memory in place of the chip.

What it takes and refuses is Stratum's: the device configuration is its protobuf message, decoded by
a separate schema (not by what the controller encodes with); names are found in the BF-RT
description as Stratum finds them; only VERIFY_AND_COMMIT loads; every write carries an election id.
"""

import ctypes
import errno
import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from pcn.base.p4rt import p4i, p4r
from pcn.controller.constants import index
from pcn.softswitch.codegen.build import build_runtime
from pcn.softswitch.native import NativeError, NativeSwitch, load_library
from pcn.softswitch.native_state import Counter
from pcn.softswitch.p4runtime.entities import Forwarding
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, UNIMPLEMENTED, RpcError
from pcn.softswitch.p4runtime.pipeline import Pipeline
from pcn.softswitch.p4runtime.schema import (
    Action,
    Array,
    KeyField,
    Kind,
    Match,
    Param,
    Schema,
    Table,
)
from pcn.softswitch.p4runtime.server import Server
from pcn.softswitch.p4runtime.service import Service

DEVICE = 1
Request = p4r.SetForwardingPipelineConfigRequest
_MATCHES = {
    p4i.MatchField.EXACT: Match.EXACT,
    p4i.MatchField.LPM: Match.LPM,
    p4i.MatchField.TERNARY: Match.TERNARY,
    p4i.MatchField.RANGE: Match.RANGE,
    p4i.MatchField.OPTIONAL: Match.OPTIONAL,
}

# What the ports have counted as soon as a program runs, as the chip does: with 4 bytes of FCS, and
# in egress with 4 that ingress put in front.
TRAFFIC = {
    ("transmitted", index(136, 3)): Counter(1_000, 1_066_000),
    ("marked", index(136, 3)): Counter(400, 426_400),
    ("dropped", index(128, 0)): Counter(2, 128),
    ("transmitted", index(7, 3)): Counter(9, 9),  # of a port that ports.yaml doesn't have
}


def _message() -> type[Any]:
    """The device configuration's class. Names are ours; numbers and types are Stratum's."""
    file = descriptor_pb2.FileDescriptorProto(
        name="device_config.proto", package="tofino", syntax="proto3"
    )
    pipeline, config = (
        file.message_type.add(name="Pipeline"),
        file.message_type.add(name="DeviceConfig"),
    )
    for message, name, number, kind in (
        (pipeline, "name", 1, "STRING"),
        (pipeline, "context", 2, "BYTES"),
        (pipeline, "binary", 3, "BYTES"),
        (pipeline, "pipes", 4, "UINT32"),
        (config, "name", 1, "STRING"),
        (config, "bf_rt", 2, "BYTES"),
        (config, "pipelines", 3, "MESSAGE"),
    ):
        descriptor = message.field.add(
            name=name, number=number, type=f"TYPE_{kind}", label="LABEL_OPTIONAL"
        )
        if name in ("pipes", "pipelines"):
            descriptor.label = descriptor.LABEL_REPEATED
        if kind == "MESSAGE":
            descriptor.type_name = ".tofino.Pipeline"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tofino.DeviceConfig"))


DeviceConfig = _message()


@dataclass
class Memory:
    """The chip's tables and counters. `traffic`: what its counters have as soon as a program runs,
    by name and cell."""

    sizes: Mapping[int, int]  # of tables
    counts: dict[int, dict[int, Counter]]
    _entries: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    _next: int = 0
    _ended: threading.Event = field(default_factory=threading.Event)
    # replicas, cut at
    sessions: dict[int, tuple[tuple[tuple[int, int], ...], int]] = field(default_factory=dict)

    manual = False  # its clock

    @property
    def library(self) -> ctypes.CDLL:
        """What stands before its server."""
        return load_library(build_runtime())

    @property
    def now_ns(self) -> int:
        return time.monotonic_ns()

    def timestamp_ns(self) -> int:
        return time.time_ns()

    def table_add(self, table: int, *entry) -> int:
        if len(self._entries[table]) >= self.sizes[table]:
            raise NativeError(errno.ENOSPC, "the table is full")
        self._next += 1
        self._entries[table].add(self._next)
        return self._next

    def table_modify(self, table: int, handle: int, action: int, args: Sequence[int]):
        assert handle in self._entries[table]

    def table_delete(self, table: int, handle: int):
        self._entries[table].remove(handle)

    def table_set_default(self, table: int, action: int = 0, args: Sequence[int] = ()):
        """Nothing runs it here."""

    def clone_session(
        self, session: int, replicas: Sequence[tuple[int, int]], packet_length: int = 0
    ):
        self.sessions[session] = tuple(replicas), packet_length

    def counter_cells(self, counter: int, first: int, n: int) -> Iterator[Counter]:
        return (self.counts[counter].get(cell, Counter(0, 0)) for cell in range(first, first + n))


def schema_of(info: p4i.P4Info) -> Schema:
    """What a client can name. Indices are positions in the p4info: no program stands behind
    them."""
    described = {action.preamble.id: (index, action) for index, action in enumerate(info.actions)}

    def action(ref: p4i.ActionRef) -> Action:
        index, p4_action = described[ref.id]
        params = tuple(
            Param(param.id, param.name, param.bitwidth, (param.bitwidth + 63) // 64)
            for param in p4_action.params
        )
        return Action(
            *(ref.id, p4_action.preamble.name, index, params),
            in_table=ref.scope != p4i.ActionRef.DEFAULT_ONLY,
            in_default=ref.scope != p4i.ActionRef.TABLE_ONLY,
        )

    def table(index: int, p4_table: p4i.Table) -> Table:
        fields = tuple(
            KeyField(
                key.id, key.name, _MATCHES[key.match_type], key.bitwidth, (key.bitwidth + 7) // 8
            )
            for key in p4_table.match_fields
        )
        kinds = {key.match for key in fields}
        kind = (
            Kind.EXACT
            if kinds == {Match.EXACT}
            else Kind.LPM
            if kinds <= {Match.EXACT, Match.LPM}
            else Kind.MASKED
        )
        actions = {ref.id: action(ref) for ref in p4_table.action_refs}
        return Table(
            id=p4_table.preamble.id, name=p4_table.preamble.name, c_index=index, kind=kind,
            fields=fields, actions=actions,
            by_index={action.c_index: action for action in actions.values()},
            size=p4_table.size,
            const=p4_table.is_const_table,
            const_default=bool(p4_table.const_default_action_id),
            default_action=described[p4_table.initial_default_action.action_id][0],
            default_args=(),
            initial=(),
        )  # fmt: skip

    counters = [
        Array(counter.preamble.id, counter.preamble.name, index, counter.size)
        for index, counter in enumerate(info.counters)
    ]
    return Schema(
        p4info=info,
        tables={
            p4_table.preamble.id: table(index, p4_table)
            for index, p4_table in enumerate(info.tables)
        },
        counters={counter.id: counter for counter in counters},
    )


def verify(config: p4r.ForwardingPipelineConfig):
    """The decoded device configuration. Raises RpcError as Stratum or the driver would."""
    device = DeviceConfig()
    try:
        device.ParseFromString(config.p4_device_config)
    except DecodeError:
        raise RpcError(INVALID_ARGUMENT, "Unknown format for p4_device_config.") from None
    if not (config.HasField("p4info") and device.name and len(device.pipelines) == 1):
        raise RpcError(INVALID_ARGUMENT, "a p4info, a program and one pipeline are wanted")
    (pipeline,) = device.pipelines
    if not (set(pipeline.pipes) <= {0, 1, 2, 3} and pipeline.pipes and pipeline.binary):
        raise RpcError(INVALID_ARGUMENT, "a pipeline needs pipes to run in, and a binary")
    context, bf_rt = json.loads(pipeline.context), json.loads(device.bf_rt)
    if not (context["tables"] and context["parser"] and context["target"] == "tofino"):
        raise RpcError(INVALID_ARGUMENT, "the context isn't that of a program")
    known = {table["id"]: table["name"] for table in bf_rt["tables"]}
    info = config.p4info
    for preamble in [
        resource.preamble
        for kind in (info.tables, info.counters, info.registers)
        for resource in kind
    ]:
        if preamble.id not in known and not any(preamble.name in name for name in known.values()):
            raise RpcError(
                INVALID_ARGUMENT, f"Unable to find bfrt ID for P4Info entity {preamble.name}"
            )
    return device


@dataclass
class Loaded:
    """The configuration that runs, with the queries that `Service` makes of its pipeline."""

    traffic: Mapping[tuple[str, int], Counter] = field(default_factory=dict)
    config: p4r.ForwardingPipelineConfig | None = None
    device: Any = None
    state: Forwarding | None = None
    memory: Memory | None = None

    @property
    def running(self):
        """Nothing comes from packets here."""

    def record(self, updates: list[p4r.Update]):
        """Nothing is saved."""

    def commit(self, config: p4r.ForwardingPipelineConfig):
        self.device = verify(config)
        self.config = config
        schema = schema_of(config.p4info)
        names = {
            counter.preamble.alias: index for index, counter in enumerate(config.p4info.counters)
        }
        counts = defaultdict(dict)
        for (name, cell), value in self.traffic.items():
            counts[names[name]][cell] = value
        self.memory = Memory(
            {table.c_index: table.size for table in schema.tables.values()}, counts
        )
        self.state = Forwarding(schema, cast(NativeSwitch, self.memory))


class Stratum(Service):
    """The service; `loaded` is what was sent to it."""

    def __init__(self, traffic: Mapping[tuple[str, int], Counter] | None = None):
        self.loaded = Loaded(traffic or {})
        self.requests: list[str] = []
        super().__init__(
            cast(NativeSwitch, Memory({}, {})), cast(Pipeline, self.loaded), DEVICE, cpu_port=0
        )

    def start(self):
        """There is no data plane to listen to."""

    def Write(self, request: p4r.WriteRequest, context: grpc.ServicerContext) -> p4r.WriteResponse:  # noqa: N802
        self.requests.append("Write")
        if request.atomicity != p4r.WriteRequest.CONTINUE_ON_ERROR:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "Request atomicity is not supported.")
        return super().Write(request, context)

    def _configure(self, request: Request):
        self.requests.append("SetForwardingPipelineConfig")
        if request.action != Request.VERIFY_AND_COMMIT:
            raise RpcError(UNIMPLEMENTED, "action not supported yet")
        with self._lock:
            self.loaded.commit(request.config)

    def entries(self) -> dict[str, list[p4r.TableEntry]]:
        """What the tables hold, by alias; default entries left out."""
        return {
            table.preamble.alias: [
                entity.table_entry
                for entity in self.loaded.state.read(
                    p4r.Entity(table_entry=p4r.TableEntry(table_id=table.preamble.id))
                )
            ]
            for table in self.loaded.config.p4info.tables
        }


@dataclass(frozen=True)
class Serving:
    """A server that runs."""

    service: Stratum
    address: str


@contextmanager
def serving(service: Stratum, address: str = "127.0.0.1:0") -> Iterator[str]:
    """Serves; the address."""
    with Server(service, address) as server:
        yield server.address


if __name__ == "__main__":
    # For tests in another network namespace: serves at the address given, until nobody holds its
    # input any more.
    with serving(Stratum(), sys.argv[1]):
        print("ready", flush=True)
        sys.stdin.read()
