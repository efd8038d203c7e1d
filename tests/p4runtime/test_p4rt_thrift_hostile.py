"""BMv2's runtime interface over Thrift, and what any client may send to it: at most its own connection ends."""

from __future__ import annotations

import socket
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from p4rt_thrift import TYPES, Bmv2
from thriftpy2.thrift import TApplicationException


@settings(max_examples=30)
@given(st.binary(max_size=300), st.integers(0, 3))
def test_any_bytes_end_at_most_their_connection(bmv2: Bmv2, data: bytes, kind: int) -> None:
    name = b"standard:bm_mt_get_entries"
    begun = struct.pack(">IiI", 0x80010001, len(name), 0)[:8] + name + struct.pack(">i", 1)
    with bmv2.connect() as connection:
        connection.sendall((b"", begun, b"\x80\x01\x00\x01", begun + b"\x0b\x00\x02")[kind] + data)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
    assert bmv2.standard().bm_mgmt_get_info().device_id == 0


def test_message_that_is_too_long_ends_its_connection(bmv2: Bmv2) -> None:
    with bmv2.connect() as connection:
        connection.sendall(struct.pack(">Ii", 0x80010001, 2**31 - 1))
        assert connection.recv(1) == b""


def test_unknown_calls_and_services_end_their_connection(bmv2: Bmv2) -> None:
    for name in (b"standard:__init__", b"nothing:bm_mgmt_get_info", b"standard:bm_mgmt"):
        with bmv2.connect() as connection:
            connection.sendall(struct.pack(">Ii", 0x80010001, len(name)) + name + struct.pack(">ib", 1, 0))
            assert connection.recv(1) == b""


def test_missing_arguments_are_an_error_of_the_call(bmv2: Bmv2) -> None:
    with pytest.raises((TApplicationException, TYPES.TableFailure)):
        bmv2.standard().bm_mt_get_entries(0, None)


def test_connections_are_bounded_and_others_go_on(bmv2: Bmv2) -> None:
    """Each makes a call, which a connection beyond the limit gets no answer to."""
    first = bmv2.standard()
    assert first.bm_mgmt_get_info().device_id == 0
    many = [bmv2.connect() for _ in range(100)]
    name = b"standard:bm_mgmt_get_info"
    call = struct.pack(">Ii", 0x80010001, len(name)) + name + struct.pack(">ib", 1, 0)
    refused = sum(_is_refused(connection, call) for connection in many)
    assert 100 - 32 <= refused < 100
    assert first.bm_mgmt_get_info().device_id == 0
    for connection in many:
        connection.close()


def _is_refused(connection: socket.socket, call: bytes) -> bool:
    try:
        connection.sendall(call)
        return connection.recv(1) == b""
    except ConnectionError:
        return True
