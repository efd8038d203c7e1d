"""A P4Runtime client in plain stubs, for the tests: it sends exactly the messages of a test."""

from __future__ import annotations

import queue
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from pcn.base.p4rt import p4i, p4r, p4r_grpc, rpc_status

WAIT_S = 60  # how long to wait for what has to come: only a hang takes so long


class RefusedError(Exception):
    """An RPC failed: its code, its message, and the p4.v1.Error of each element of a batch."""

    def __init__(self, error: grpc.RpcError):
        super().__init__(error.code(), error.details())
        self.code: grpc.StatusCode = error.code()
        self.message = error.details() or ""
        packed = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
        self.outcomes: list[p4r.Error] = []
        for detail in rpc_status.Status.FromString(packed).details:
            outcome = p4r.Error()
            assert detail.Unpack(outcome)
            self.outcomes.append(outcome)

    @property
    def codes(self) -> list[int]:
        """The canonical code of each element of the batch."""
        return [outcome.canonical_code for outcome in self.outcomes]


class Client:
    """One controller: a channel, and a stream once `arbitrate` was called."""

    def __init__(
        self,
        port: int,
        *,
        device_id: int = 1,
        election_id: int = 1,
        role: str = "",
        tls: grpc.ChannelCredentials | None = None,
    ):
        self.device_id, self.election_id, self.role = device_id, election_id, role
        address = f"127.0.0.1:{port}"
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
        if tls is None:
            self.channel = grpc.insecure_channel(address, options)
        else:
            self.channel = grpc.secure_channel(address, tls, options)
        self.stub = p4r_grpc.P4RuntimeStub(self.channel)
        self._requests: queue.SimpleQueue[p4r.StreamMessageRequest | None] = queue.SimpleQueue()
        self._stream: Any = None

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ):
        self.close()

    def close(self):
        self._requests.put(None)
        if self._stream is not None:
            self._stream.cancel()
        self.channel.close()

    # ---- stream ----

    def leave(self):
        """Ends the stream, and waits until the switch has ended it as well: who comes next is the
        first."""
        self._requests.put(None)
        for _ in self._stream:
            pass

    def send(self, **update):
        """Sends one message on the stream, which it opens first if need be."""
        if self._stream is None:
            self._stream = self.stub.StreamChannel(iter(self._requests.get, None), timeout=60)
        self._requests.put(p4r.StreamMessageRequest(**update))

    def receive(self) -> p4r.StreamMessageResponse:
        """The next message of the stream; its end is a RefusedError."""
        try:
            return next(self._stream)
        except grpc.RpcError as error:
            raise RefusedError(error) from error

    def claim(self, election_id: int | None = None, **fields):
        """Sends an arbitration update and does not wait for the answer."""
        number = self.election_id if election_id is None else election_id
        self.election_id = number
        message = p4r.MasterArbitrationUpdate(
            **{
                "device_id": self.device_id,
                "election_id": p4r.Uint128(high=number >> 64, low=number % 2**64),
                **fields,
            }
        )
        if self.role and "role" not in fields:
            message.role.name = self.role
        self.send(arbitration=message)

    def arbitrate(self, election_id: int | None = None, **fields) -> p4r.MasterArbitrationUpdate:
        """Claims and returns the switch's answer."""
        self.claim(election_id, **fields)
        return self.receive().arbitration

    # ---- RPCs ----

    def _identity(self) -> dict[str, Any]:
        election_id = p4r.Uint128(high=self.election_id >> 64, low=self.election_id % 2**64)
        return {"device_id": self.device_id, "election_id": election_id, "role": self.role}

    def set_pipeline(
        self,
        info: p4i.P4Info | None,
        config: bytes = b"",
        action: str = "VERIFY_AND_COMMIT",
        cookie: int = 0,
    ):
        request = p4r.SetForwardingPipelineConfigRequest(**self._identity(), action=action)
        if info is not None:
            request.config.p4info.CopyFrom(info)
            request.config.p4_device_config = config
            request.config.cookie.cookie = cookie
        self._call(self.stub.SetForwardingPipelineConfig, request)

    def get_pipeline(self, kind: str = "ALL") -> p4r.ForwardingPipelineConfig | None:
        """GetForwardingPipelineConfig; None: there is none."""
        request = p4r.GetForwardingPipelineConfigRequest(
            device_id=self.device_id, response_type=kind
        )
        response = self._call(self.stub.GetForwardingPipelineConfig, request)
        return response.config if response.HasField("config") else None

    def write(self, *updates: p4r.Update, atomicity: str = "CONTINUE_ON_ERROR"):
        """Write of a batch."""
        self._call(
            self.stub.Write,
            p4r.WriteRequest(**self._identity(), updates=updates, atomicity=atomicity),
        )

    def insert(self, content: Message):
        self.write(update("INSERT", content))

    def modify(self, content: Message):
        self.write(update("MODIFY", content))

    def delete(self, content: Message):
        self.write(update("DELETE", content))

    def read(self, content: Message) -> list[Any]:
        """Read of one query: the messages inside the entities."""
        query = entity(content)
        kind = query.WhichOneof("entity")
        return [getattr(answer, kind) for answer in self.read_all([query])]

    def read_all(self, queries: Iterable[p4r.Entity]) -> list[p4r.Entity]:
        """Read of a batch."""
        request = p4r.ReadRequest(device_id=self.device_id, role=self.role, entities=queries)
        try:
            return [
                e for response in self.stub.Read(request, timeout=60) for e in response.entities
            ]
        except grpc.RpcError as error:
            raise RefusedError(error) from error

    def _call(self, method, request):
        try:
            return method(request, timeout=60)
        except grpc.RpcError as error:
            raise RefusedError(error) from error


def entity(content: Message) -> p4r.Entity:
    """The entity that has a message, which its type decides; a group or a session lies in a
    PacketReplicationEngineEntry."""
    for kind in (p4r.PacketReplicationEngineEntry, p4r.Entity):
        for field in kind.DESCRIPTOR.fields:
            if field.message_type.full_name == content.DESCRIPTOR.full_name:
                content = kind(**{field.name: content})
                break
    return content


def update(kind: str, content: Message) -> p4r.Update:
    """One update of a batch."""
    return p4r.Update(type=kind, entity=entity(content))


def refused(code: int, action, *args) -> str:
    """Calls; it has to fail in one update with this code. Returns its message."""
    with pytest.raises(RefusedError) as failure:
        action(*args)
    assert failure.value.codes == [code], failure.value.outcomes
    return failure.value.outcomes[0].message


class Names:
    """A p4info by names: ids, and entities made of plain numbers."""

    def __init__(self, info: p4i.P4Info):
        self.info = info
        self.tables = {table.preamble.alias: table for table in info.tables}
        self.actions = {action.preamble.alias: action for action in info.actions}

    def id(self, kind: str, alias: str) -> int:
        """The id of a thing: kind is the p4info's field, as "registers"."""
        return next(
            thing.preamble.id for thing in getattr(self.info, kind) if thing.preamble.alias == alias
        )

    def action(self, name: str, **params: int | bytes) -> p4r.TableAction:
        action = self.actions[name]
        message = p4r.TableAction()
        message.action.action_id = action.preamble.id
        for param in action.params:
            if param.name in params:
                message.action.params.add(param_id=param.id, value=octets(params[param.name]))
        return message

    def match(self, table: str, **keys) -> list[p4r.FieldMatch]:
        """Matches by key name: a number (exact, optional), or a pair (LPM, ternary, range)."""
        matches = []
        for key in self.tables[table].match_fields:
            if key.name not in keys:
                continue
            value = keys[key.name]
            match = p4r.FieldMatch(field_id=key.id)
            if key.match_type == key.EXACT:
                match.exact.value = octets(value)
            elif key.match_type == key.OPTIONAL:
                match.optional.value = octets(value)
            elif key.match_type == key.LPM:
                match.lpm.value, match.lpm.prefix_len = octets(value[0]), value[1]
            elif key.match_type == key.TERNARY:
                match.ternary.value, match.ternary.mask = octets(value[0]), octets(value[1])
            else:
                match.range.low, match.range.high = octets(value[0]), octets(value[1])
            matches.append(match)
        return matches

    def entry(
        self,
        table: str,
        keys: dict[str, Any] | None = None,
        action: p4r.TableAction | None = None,
        **fields,
    ) -> p4r.TableEntry:
        entry = p4r.TableEntry(table_id=self.tables[table].preamble.id, **fields)
        entry.match.extend(self.match(table, **(keys or {})))
        if action is not None:
            entry.action.CopyFrom(action)
        return entry


def octets(value: int | bytes) -> bytes:
    """A canonical byte string; bytes pass as they are."""
    return (
        value
        if isinstance(value, bytes)
        else value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")
    )
