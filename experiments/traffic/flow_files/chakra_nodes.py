"""Nodes of a file of Chakra's execution traces, by its et_def.proto (MLCommons): of one rank, each
behind those that it waits for."""

from __future__ import annotations

import functools
import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pcn.base import inputs
from pcn.experiments.traffic.flow_files.base import MOST_TEXT, FlowFile

SEND, RECEIVE, COLLECTIVE = 5, 6, 7
_LAST_TYPE = 7
_NUMBERS = ("int32_val", "int64_val", "uint32_val", "uint64_val", "sint32_val", "sint64_val")


@dataclass
class Node:
    number: int
    kind: int
    before: tuple[int, ...]
    us: int
    values: Mapping[str, int]
    group: str
    flow: int = 0
    """Of a message; of a collective operation the first of its flows; given later."""


def read_nodes(file: FlowFile) -> list[Node]:
    """Returns the nodes, each behind those that it waits for. Raises FormatError."""
    return _in_order(file, [_node(file, raw) for raw in _raw(file)])


@functools.cache
def _node_class() -> Any:
    """Returns the message `Node` of Chakra's et_def.proto, of the fields that are read here."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="pcn_chakra.proto", package="pcn_chakra", syntax="proto2"
    )

    def message(name: str, *fields: tuple[str, int, int, bool, str]) -> None:
        descriptor = file.message_type.add(name=name)
        for field_name, number, kind, repeated, of in fields:
            label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            descriptor.field.add(
                name=field_name, number=number, type=kind, label=label, type_name=of or None
            )

    message("Bools", ("values", 1, kinds.TYPE_BOOL, True, ""))
    message(
        "Attribute",
        ("name", 1, kinds.TYPE_BYTES, False, ""),
        ("int32_val", 7, kinds.TYPE_INT32, False, ""),
        ("int64_val", 9, kinds.TYPE_INT64, False, ""),
        ("uint32_val", 11, kinds.TYPE_UINT32, False, ""),
        ("uint64_val", 13, kinds.TYPE_UINT64, False, ""),
        ("sint32_val", 15, kinds.TYPE_SINT32, False, ""),
        ("sint64_val", 17, kinds.TYPE_SINT64, False, ""),
        ("bool_list", 28, kinds.TYPE_MESSAGE, False, ".pcn_chakra.Bools"),
        ("string_val", 29, kinds.TYPE_BYTES, False, ""),
    )
    message(
        "Node",
        ("id", 1, kinds.TYPE_UINT64, False, ""),
        ("type", 3, kinds.TYPE_INT32, False, ""),
        ("ctrl_deps", 4, kinds.TYPE_UINT64, True, ""),
        ("data_deps", 5, kinds.TYPE_UINT64, True, ""),
        ("duration_micros", 7, kinds.TYPE_UINT64, False, ""),
        ("attr", 10, kinds.TYPE_MESSAGE, True, ".pcn_chakra.Attribute"),
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("pcn_chakra.Node"))


def _raw(file: FlowFile) -> Iterator[Any]:
    """Yields the nodes of a file: messages, each behind its length, the first of them metadata."""
    from google.protobuf.message import DecodeError

    try:
        data = inputs.read_bytes(file.path)
    except OSError as error:
        raise file.error(error.strerror or str(error)) from None
    if len(data) > MOST_TEXT:
        raise file.error(f"more than {MOST_TEXT // 2**20} MiB")
    at, number = 0, 0
    while at < len(data):
        length, shift = 0, 0
        while True:
            if at == len(data) or shift > 28:
                raise file.error(f"message {number}: no length at byte {at}")
            byte, at = data[at], at + 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if at + length > len(data):
            raise file.error(f"message {number}: ends behind the file, at byte {at + length}")
        if number:
            try:
                yield _node_class().FromString(data[at : at + length])
            except DecodeError:
                raise file.error(f"message {number}: no node of Chakra's, at byte {at}") from None
        at, number = at + length, number + 1


def _node(file: FlowFile, raw: Any) -> Node:
    values: dict[str, int] = {}
    group = ""
    for attribute in raw.attr:
        name = attribute.name.decode("ascii", "replace")
        for kind in _NUMBERS:
            if attribute.HasField(kind):
                values[name] = getattr(attribute, kind)
        if name == "pg_name" and attribute.HasField("string_val"):
            group = attribute.string_val.decode("utf-8", "replace")
        if name == "involved_dim" and not all(attribute.bool_list.values):
            raise file.error(
                f"node {raw.id}: involved_dim of some dimensions; give groups of ranks instead"
            )
    if raw.type > _LAST_TYPE or raw.type < 0:
        raise file.error(f"node {raw.id}: type {raw.type}: 0 to {_LAST_TYPE} are known")
    if raw.duration_micros >= 2**53:
        raise file.error(f"node {raw.id}: {raw.duration_micros} us are too long")
    before = tuple(dict.fromkeys((*raw.ctrl_deps, *raw.data_deps)))
    return Node(raw.id, raw.type, before, raw.duration_micros, values, group)


def _in_order(file: FlowFile, nodes: Sequence[Node]) -> list[Node]:
    """Returns a rank's nodes, each behind those that it waits for, else by number."""
    by_number = {node.number: node for node in nodes}
    if len(by_number) < len(nodes):
        raise file.error("two nodes have the same id")
    left = {node.number: len(node.before) for node in nodes}
    followers: dict[int, list[int]] = {}
    for node in nodes:
        for predecessor in node.before:
            if predecessor not in by_number:
                raise file.error(
                    f"node {node.number} waits for node {predecessor}, which is missing"
                )
            followers.setdefault(predecessor, []).append(node.number)
    free = [number for number, count in left.items() if not count]
    heapq.heapify(free)
    ordered = []
    while free:
        number = heapq.heappop(free)
        ordered.append(by_number[number])
        for follower in followers.get(number, ()):
            left[follower] -= 1
            if not left[follower]:
                heapq.heappush(free, follower)
    if len(ordered) < len(nodes):
        stuck = next(number for number, count in left.items() if count)
        raise file.error(f"node {stuck} waits for itself, by way of others")
    return ordered
