"""Stands where a lab has bf_switchd: a real gRPC server of the BF Runtime service, with memory in
place of the chip.

It has our own description of the driver's fixed tables (names, types and choices are the driver's;
the ids are ours, as a client must look them up), and checks what the driver checks: who subscribed
and is bound, ids, widths, whole keys, actions, entries that exist or don't, priority group 0,
fields that are only read.
"""

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
from bfrt_description import MESSAGES, WARM_INIT_FINISHED, WARM_INIT_STARTED

from pcn.base.p4rt import rpc_status
from pcn.controller.control_plane import Counter
from pcn.controller.tofino.bfrt_info import BYTES, INDEXES, PACKETS, Info, Table
from pcn.controller.tofino.bfrt_messages import SERVICE
from pcn.controller.tofino.chips import TOFINO, Chip

_NOT_FOUND, _ALREADY_EXISTS, _INVALID_ARGUMENT, _EXHAUSTED = 5, 6, 3, 8

# By table: keys, data, and data by action. `!` marks what is only read, `*` lists. TM is the chip's
# traffic manager.
_FIXED = {
    "$PORT": (
        "$DEV_PORT uint32",
        "$SPEED string, $FEC string, $AUTO_NEGOTIATION string, $TX_MTU uint32, $RX_MTU uint32, "
        "$PORT_ENABLE bool, $TX_PFC_EN_MAP uint32, $RX_PFC_EN_MAP uint32",
        {},
    ),
    "$mirror.cfg": (
        "$sid uint16",
        "$session_enable bool, $direction string, $ucast_egress_port uint32, "
        "$ucast_egress_port_valid bool, $ingress_cos uint32, $max_pkt_len uint16",
        {"$normal": ""},
    ),
    "TM.pool.cfg": ("pool string", "size_cells uint32", {}),
    "TM.pool.app_pfc": ("pool string, cos 3", "pfc_limit_cells uint32", {}),
    "TM.port.cfg": ("dev_port uint32", "pg_id! uint8, egress_qid_queues!* uint8", {}),
    "TM.port.flowcontrol": (
        "dev_port uint32",
        "mode_tx string, mode_rx! string, cos_to_icos* uint8",
        {},
    ),
    "TM.port.buffer": ("dev_port uint32", "skid_limit_cells uint32", {}),
    "TM.ppg.cfg": (
        "ppg_id uint8",
        ", ".join(f"icos_{cos} bool" for cos in range(8))
        + ", guaranteed_cells uint32, hysteresis_cells uint32, pool_id string, pool_max_cells "
        "uint32, "
        "dynamic_baf string",
        {
            "dev_port": "dev_port uint32, pfc_enable bool, pfc_skid_max_cells uint32",
            "mirror_port": "",
        },
    ),
    "TM.queue.cfg": ("pg_id uint8, pg_queue uint8", "pfc_cos uint8", {}),
    "TM.queue.buffer": (
        "pg_id uint8, pg_queue uint8",
        "tail_drop_enable bool",
        {"shared_pool": "pool_id string", "buffer_only": ""},
    ),
    "TM.queue.sched_cfg": (
        "pg_id uint8, pg_queue uint8",
        "min_priority string, max_priority string",
        {},
    ),
}
_READ_BACK = {
    "0": "LOW",
    "BF_FEC_TYP_FIRECODE": "BF_FEC_TYP_FC",
    "BF_FEC_TYP_RS": "BF_FEC_TYP_REED_SOLOMON",
}
_LANES = {"10G": 1, "25G": 1, "40G": 4, "50G": 2, "100G": 4, "200G": 4, "400G": 8}
_ADDED = ("$PORT", "$mirror.cfg", "ppg.cfg")
"""Those of the fixed tables whose entries aren't there from the beginning."""


def _described(text: str, first: int) -> list[dict[str, Any]]:
    fields = []
    for number, word in enumerate(filter(None, text.split(", "))):
        name, kind = word.split()
        fields.append(
            {
                "id": first + number,
                "name": name.rstrip("!*"),
                "type": {"type": "bytes", "width": int(kind)} if kind.isdigit() else {"type": kind},
                "match_type": "Exact",
                "read_only": "!" in name,
                "repeated": "*" in name,
            }
        )
    return fields


def description(chip: Chip = TOFINO) -> bytes:
    """The fixed tables, as the chip's driver describes them."""
    tables = [
        {
            "name": name.replace("TM.", chip.table("")),
            "id": 900 + number,
            "table_type": "Fixed",
            "key": _described(keys, 1),
            "data": [
                {"read_only": field.pop("read_only"), "singleton": field}
                for field in _described(data, 50)
            ],
            "action_specs": [
                {"name": action, "id": 70 + at, "data": _described(more, 20)}
                for at, (action, more) in enumerate(actions.items())
            ],
        }
        for number, (name, (keys, data, actions)) in enumerate(_FIXED.items())
    ]
    return json.dumps({"tables": tables}).encode()


def _as_read(field):
    """Returns a field as the driver reads it back: of two names for a priority, or a FEC, one."""
    copy = MESSAGES["DataField"]()
    copy.CopyFrom(field)
    if copy.str_val in _READ_BACK:
        copy.str_val = _READ_BACK[copy.str_val]
    return copy


class RefusalError(Exception):
    """An update or a query that the driver refuses."""

    def __init__(self, code: int, text: str):
        super().__init__(text)
        self.code, self.text = code, text


class Driver:
    """`counted`: cells of counters by name and index. `registers`: cells' fields, each by pipe.
    `loses`: a field of which it keeps nothing, or a table's end. `slow`: a write waits for it."""

    def __init__(
        self,
        counted: Mapping[tuple[str, int], Counter] | None = None,
        registers: Mapping[tuple[str, int], Mapping[str, list[int]]] | None = None,
        loses: str = "",
        chip: Chip = TOFINO,
    ):
        self._own = description(chip)
        self.counted, self.registers, self.loses = dict(counted or {}), dict(registers or {}), loses
        self.loaded: Any = None
        self.held: dict[tuple[str, Any], Any] = {}
        self.writes: list[int] = []  # updates of each call
        self.slow: threading.Event | None = None
        self.bound: int | None = None
        self._clients: dict[int, Any] = {}
        self._info = Info("driver", [self._own])
        self._lock = threading.Lock()

    # ---- the service ----

    def stream(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        first = next(requests)
        ready, client = futures.Future[None](), first.client_id
        outgoing: list[Any] = []
        more = threading.Condition()
        with self._lock:
            answer = MESSAGES["StreamMessageResponse"]()
            answer.subscribe.device_id = first.subscribe.device_id
            if first.subscribe.device_id:
                answer.subscribe.status.code, answer.subscribe.status.message = (
                    _INVALID_ARGUMENT,
                    "no such device",
                )
            else:
                self._clients[client] = (outgoing, more)
        yield answer
        context.add_callback(lambda: (ready.set_result(None), self._end(client)))
        while context.is_active():
            with more:
                more.wait_for(lambda: outgoing or not context.is_active())
                waiting, outgoing[:] = list(outgoing), []
            yield from waiting

    def _end(self, client: int):
        with self._lock:
            _, more = self._clients.pop(client)
            self.bound = None if self.bound == client else self.bound
        with more:
            more.notify()

    def _known(self, client: int) -> tuple[list[Any], threading.Condition]:
        if client not in self._clients:
            raise RefusalError(_INVALID_ARGUMENT, f"Unknown client {client}")
        return self._clients[client]

    def configure(self, request):
        outgoing, more = self._known(request.client_id)
        (config,) = request.config
        if request.action == request.BIND:
            if self.loaded is None or config.p4_name != self.loaded.p4_name:
                raise RefusalError(_NOT_FOUND, f"no program {config.p4_name}")
            if self.bound is not None:
                raise RefusalError(_ALREADY_EXISTS, f"client {self.bound} already owns this P4")
            self.bound = request.client_id
        else:
            (profile,) = config.profiles
            if not (
                profile.binary and profile.context and list(profile.pipe_scope) == [0, 1, 2, 3]
            ):
                raise RefusalError(_INVALID_ARGUMENT, "Invalid device config sent")
            info = Info("driver", [config.bfruntime_info, self._own])
            self.loaded, self._info, self.bound = config, info, None
            self.held = {key: entry for key, entry in self.held.items() if key[0] == "$PORT"}
            for kind in (WARM_INIT_STARTED, WARM_INIT_FINISHED):
                message = MESSAGES["StreamMessageResponse"]()
                response = message.set_forwarding_pipeline_config_response
                response.set_forwarding_pipeline_config_response_type = kind
                with more:
                    outgoing.append(message)
                    more.notify()
        return MESSAGES["SetForwardingPipelineConfigResponse"]()

    def describe(self, request):
        self._known(request.client_id)
        response = MESSAGES["GetForwardingPipelineConfigResponse"]()
        if self.loaded is not None:
            response.config.add(
                p4_name=self.loaded.p4_name, bfruntime_info=self.loaded.bfruntime_info
            )
        else:
            response.config.add(p4_name="$SHARED", bfruntime_info=self._own)
        response.non_p4_config.bfruntime_info = self._own
        return response

    def write(self, request) -> tuple[Any, list[RefusalError | None]]:
        self._known(request.client_id)
        if self.slow is not None:
            self.slow.wait()
        self._scope(request.target)
        if not request.p4_name and self.bound != request.client_id:  # with a name any client may
            raise RefusalError(_INVALID_ARGUMENT, "the client is not bound to a program")
        self.writes.append(len(request.updates))
        results: list[RefusalError | None] = []
        for update in request.updates:
            try:
                self._update(update, request.target.pipe_id)
                results.append(None)
            except RefusalError as refusal:
                results.append(refusal)
        return MESSAGES["WriteResponse"](), results

    def read(self, request) -> tuple[Any, list[RefusalError | None]]:
        self._known(request.client_id)
        self._scope(request.target)
        if not request.p4_name and self.bound != request.client_id:
            raise RefusalError(_INVALID_ARGUMENT, "Unable to get bound_program")
        answer = MESSAGES["ReadResponse"]()
        for entity in request.entities:
            for entry in self._find(entity.table_entry, request.target.pipe_id):
                answer.entities.add(table_entry=entry)
        return answer, []

    @staticmethod
    def _scope(target):
        if (target.direction, target.prsr_id) != (0xFF, 0xFF):
            raise RefusalError(
                _INVALID_ARGUMENT, "ingress's or egress's part alone, or one parser's"
            )

    # ---- tables ----

    def _table(self, number: int) -> Table:
        if number not in self._info.by_id:
            raise RefusalError(_NOT_FOUND, f"no table {number}")
        return self._info.by_id[number]

    def _key(self, table: Table, entry, pipe: int) -> tuple[str, Any]:
        fields = {field.field_id: field for field in entry.key.fields}
        if set(fields) != {key.id for key in table.keys.values()}:
            raise RefusalError(_INVALID_ARGUMENT, f"{table.name}: the key isn't whole")
        for key in table.keys.values():
            kind = fields[key.id].WhichOneof("match_type")
            if kind != key.match.lower():
                raise RefusalError(_INVALID_ARGUMENT, f"{table.name}: {key.name} is {key.match}")
            match = getattr(fields[key.id], kind)
            for part in ("value", "mask", "low", "high"):
                raw = getattr(match, part, None)
                if raw is not None and key.width is not None and len(raw) != key.bytes:
                    raise RefusalError(
                        _INVALID_ARGUMENT, f"{table.name}: {key.name} has {key.bytes} bytes"
                    )
        if table.name.endswith("tm.ppg.cfg") and fields[1].exact.value == b"\0":
            raise RefusalError(_INVALID_ARGUMENT, "ppg_id=0 is not allowed")
        return table.name, (pipe, entry.key.SerializeToString(deterministic=True))

    def _update(self, update, pipe: int):
        entry, kind = update.entity.table_entry, MESSAGES["Update"].Type.Name(update.type)
        table = self._table(entry.table_id)
        key = self._key(table, entry, pipe)
        if kind == "DELETE":
            if self.held.pop(key, None) is None:
                raise RefusalError(_NOT_FOUND, f"{table.name}: no such entry")
            return
        if kind == "INSERT" and key in self.held:
            raise RefusalError(_ALREADY_EXISTS, f"{table.name}: the entry exists")
        if kind == "INSERT" and table.name == "$PORT":
            self._check_lanes(entry, pipe)
        there = table.kind != "Fixed" or table.name.endswith(_ADDED)
        if kind == "MODIFY" and key not in self.held and there:
            raise RefusalError(_NOT_FOUND, f"{table.name}: no such entry")
        if (
            table.size
            and sum(name == table.name for name, _ in self.held) >= table.size
            and kind == "INSERT"
        ):
            raise RefusalError(_EXHAUSTED, f"{table.name} is full")
        self._check_data(table, entry.data)
        stored = MESSAGES["TableEntry"]()
        stored.CopyFrom(entry)
        del stored.data.fields[:]
        fields = (
            {field.field_id: field for field in self.held[key].data.fields}
            if key in self.held
            else {}
        )
        fields |= {field.field_id: field for field in map(_as_read, entry.data.fields)}
        names = {field.id: name for name, field in self._data(table, entry.data).items()}
        if table.name.endswith(self.loses or "\0"):
            return
        stored.data.fields.extend(
            field for number, field in fields.items() if names.get(number) != self.loses
        )
        self.held[key] = stored

    def _check_lanes(self, entry, pipe: int):
        """A lane is of one port."""
        first, speed = (
            int.from_bytes(entry.key.fields[0].exact.value, "big"),
            entry.data.fields[0].str_val,
        )
        lane = MESSAGES["TableEntry"]()
        for number in range(first + 1, first + _LANES[speed.removeprefix("BF_SPEED_")]):
            lane.CopyFrom(entry)
            lane.key.fields[0].exact.value = number.to_bytes(4, "big")
            if self._key(self._table(entry.table_id), lane, pipe) in self.held:
                raise RefusalError(_INVALID_ARGUMENT, f"channel of port {number} is already in use")

    def _data(self, table: Table, data) -> Mapping[str, Any]:
        action = next(
            (name for name, (number, _) in table.actions.items() if number == data.action_id), None
        )
        if table.actions and action is None:
            raise RefusalError(_INVALID_ARGUMENT, f"{table.name}: no action {data.action_id}")
        return table.fields(action or "")

    def _check_data(self, table: Table, data):
        fields = {field.id: field for field in self._data(table, data).values()}
        for data_field in data.fields:
            field = fields.get(data_field.field_id)
            if field is None or field.read_only:
                raise RefusalError(
                    _INVALID_ARGUMENT, f"{table.name}: field {data_field.field_id} can't be written"
                )
            wanted = (
                "int_arr_val"
                if field.repeated
                else {"string": "str_val", "bool": "bool_val"}.get(field.kind, "stream")
            )
            if data_field.WhichOneof("value") != wanted:
                raise RefusalError(_INVALID_ARGUMENT, f"{table.name}: {field.name} is {field.kind}")
            if wanted == "stream" and len(data_field.stream) != field.bytes:
                raise RefusalError(
                    _INVALID_ARGUMENT, f"{table.name}: {field.name} has {field.bytes} bytes"
                )

    def _find(self, query, pipe: int) -> Iterator[Any]:
        table = self._table(query.table_id)
        if query.is_default_entry:
            yield self._default(table)
            return
        if table.kind in INDEXES:
            indices = (
                [int.from_bytes(query.key.fields[0].exact.value, "big")]
                if query.HasField("key")
                else None
            )
            yield from (self._cell(table, index) for index in (indices or range(table.size)))
        elif table.name.endswith("tm.port.cfg"):
            yield self._place(table, query)
        elif query.HasField("key"):
            key = self._key(table, query, pipe)
            if key in self.held:
                yield self._computed(table, self.held[key])
            elif table.kind != "Fixed" or table.name.endswith(_ADDED):
                raise RefusalError(_NOT_FOUND, f"{table.name}: no such entry")
        else:
            yield from (entry for (name, _), entry in self.held.items() if name == table.name)
            yield self._default(table)

    def _computed(self, table: Table, entry):
        """Returns an entry as it is read: a port is in PFC's mode while one of its groups has
        PFC."""
        copy = MESSAGES["TableEntry"]()
        copy.CopyFrom(entry)
        if table.name.endswith("tm.port.flowcontrol"):
            fields = self._info.table("tm.ppg.cfg").fields("dev_port")
            port, enabled = fields["dev_port"].id, fields["pfc_enable"].id
            groups = [
                {field.field_id: field for field in group.data.fields}
                for (name, _), group in self.held.items()
                if name.endswith("tm.ppg.cfg")
            ]
            port_groups = [
                group
                for group in groups
                if port in group and group[port].stream == entry.key.fields[0].exact.value
            ]
            if not any(enabled in group and group[enabled].bool_val for group in port_groups):
                for field in copy.data.fields:
                    field.str_val = "NONE" if field.str_val == "PFC" else field.str_val
        return copy

    @staticmethod
    def _default(table: Table):
        entry = MESSAGES["TableEntry"](table_id=table.id, is_default_entry=True)
        entry.data.action_id = next(
            number for number, fields in table.actions.values() if not fields
        )
        return entry

    def _cell(self, table: Table, index: int):
        entry, name = MESSAGES["TableEntry"](table_id=table.id), table.name.rsplit(".", 1)[1]
        (key,) = table.keys.values()
        entry.key.fields.add(field_id=key.id).exact.value = index.to_bytes(key.bytes, "big")
        if table.kind == "Counter":
            counted = self.counted.get((name, index), Counter(0, 0))
            for field_name, value in ((PACKETS, counted.packets), (BYTES, counted.bytes or 0)):
                entry.data.fields.add(
                    field_id=table.data[field_name].id, stream=value.to_bytes(8, "big")
                )
        else:
            cells = self.registers.get((name, index), {})
            for field_name, field in table.data.items():
                for value in cells.get(field_name.rsplit(".", 1)[1], [0, 0]):
                    entry.data.fields.add(
                        field_id=field.id, stream=value.to_bytes(field.bytes, "big")
                    )
        return entry

    def _place(self, table: Table, query):
        """Four ports a group, eight queues each."""
        entry, port = (
            MESSAGES["TableEntry"](),
            int.from_bytes(query.key.fields[0].exact.value, "big"),
        )
        entry.CopyFrom(query)
        entry.data.fields.add(field_id=table.data["pg_id"].id, stream=bytes([port % 128 // 4]))
        queues = entry.data.fields.add(field_id=table.data["egress_qid_queues"].id)
        queues.int_arr_val.val.extend(port % 4 * 8 + queue for queue in range(8))
        return entry


@contextmanager
def serving(driver: Driver, at: str = "127.0.0.1:0") -> Iterator[str]:
    """Yields the address."""
    pool = futures.ThreadPoolExecutor(8)
    server = grpc.server(pool)

    def call(method, streams: bool = False):
        def answered(request, context: grpc.ServicerContext):
            try:
                outcome = method(request)
            except RefusalError as refusal:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, refusal.text)
            answer, results = outcome if isinstance(outcome, tuple) else (outcome, [])
            if any(results):
                _fail(context, results)
            return iter([answer]) if streams else answer

        return answered

    def handler(name: str, method, kind=grpc.unary_unary_rpc_method_handler):
        return kind(method, MESSAGES[name].FromString, lambda message: message.SerializeToString())

    methods = {
        "Write": handler("WriteRequest", call(driver.write)),
        "Read": handler(
            "ReadRequest", call(driver.read, streams=True), grpc.unary_stream_rpc_method_handler
        ),
        "SetForwardingPipelineConfig": handler(
            "SetForwardingPipelineConfigRequest", call(driver.configure)
        ),
        "GetForwardingPipelineConfig": handler(
            "GetForwardingPipelineConfigRequest", call(driver.describe)
        ),
        "StreamChannel": handler(
            "StreamMessageRequest", driver.stream, grpc.stream_stream_rpc_method_handler
        ),
    }
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE.strip("/"), methods),)
    )
    port = server.add_insecure_port(at)
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
        pool.shutdown()


def _fail(context: grpc.ServicerContext, results: list[RefusalError | None]):
    """As the driver does: UNKNOWN, and an Error for each update."""
    status = rpc_status.Status(code=grpc.StatusCode.UNKNOWN.value[0], message="Error")
    for refusal in results:
        error = MESSAGES["Error"](
            canonical_code=refusal.code if refusal else 0, message=refusal.text if refusal else ""
        )
        status.details.add(
            type_url="type.googleapis.com/bfrt_proto.Error", value=error.SerializeToString()
        )
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, "Error")


if __name__ == "__main__":
    # For tests in another network namespace: serves at the address given, until nobody holds its
    # input any more.
    with serving(Driver(), sys.argv[1]):
        print("ready", flush=True)
        sys.stdin.read()
