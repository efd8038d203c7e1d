"""Packet-in and packet-out: controller metadata as the packed header that the P4 program parses and
emits.

Source: P4Runtime specification, "Packet I/O" and "ControllerPacketMetadata". The header's fields
follow each other bit by bit, in the order of the p4info, before the frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pcn.base.p4rt import p4r
from pcn.softswitch.p4runtime.bytestring import decode, encode
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, RpcError

if TYPE_CHECKING:
    from pcn.softswitch.p4runtime.schema import HeaderField


MAX_PACKET_OUT: Final = 9216
"""Bytes of a packet-out with its header."""


def header_bytes(fields: Sequence[HeaderField]) -> int:
    """Returns the bytes that the header takes, rounded up."""
    return (sum(field.width for field in fields) + 7) // 8


def pack_out(fields: Sequence[HeaderField], message: p4r.PacketOut) -> bytes:
    """Returns the frame to inject. Raises RpcError INVALID_ARGUMENT if the metadata is not what the
    p4info declares, or the frame is too long.

    Fields annotated @padding may be left out.
    """
    values = {item.metadata_id: item.value for item in message.metadata}
    if len(values) != len(message.metadata):
        raise RpcError(INVALID_ARGUMENT, "packet-out: a metadata field is given twice")
    header = bits = 0
    for field in fields:
        data = values.pop(field.id, None)
        if data is not None:
            where = f"packet-out: metadata field {field.name}"
            value = (
                decode(data, field.width, where)
                if field.strings is None
                else field.strings.number(data, where)
            )
        elif field.padding:
            value = 0
        else:
            raise RpcError(
                INVALID_ARGUMENT, f"packet-out: metadata field {field.name} ({field.id}) is missing"
            )
        header = header << field.width | value
        bits += field.width
    if values:
        raise RpcError(INVALID_ARGUMENT, f"packet-out: no metadata field {next(iter(values))}")
    size = header_bytes(fields)
    frame = (header << (8 * size - bits)).to_bytes(size, "big") + message.payload
    if len(frame) > MAX_PACKET_OUT:
        raise RpcError(INVALID_ARGUMENT, f"a packet of {len(frame)} bytes exceeds {MAX_PACKET_OUT}")
    return frame


def unpack_in(fields: Sequence[HeaderField], frame: bytes) -> p4r.PacketIn | None:
    """Returns the message for a frame that left for the CPU port; None if it is too short for the
    header."""
    size = header_bytes(fields)
    if len(frame) < size:
        return None
    message = p4r.PacketIn(payload=frame[size:])
    header = int.from_bytes(frame[:size], "big")
    left = 8 * size
    for field in fields:
        left -= field.width
        value = header >> left & ((1 << field.width) - 1)
        data = encode(value) if field.strings is None else field.strings.text(value)
        message.metadata.add(metadata_id=field.id, value=data)
    return message
