"""BMv2's runtime interface over Thrift, and what any client may send to it: at most its own
connection ends."""

import os
import socket
import struct
import subprocess

import pytest
from hypothesis import example, given, settings, strategies as st
from p4rt_thrift import TYPES, Bmv2
from thriftpy2.thrift import TApplicationException


@settings(max_examples=30)
@given(st.binary(max_size=300), st.integers(0, 3))
@example(b"\0", 1)  # a call that fails, and nothing behind it
def test_any_bytes_end_at_most_their_connection(bmv2: Bmv2, data, kind):
    name = b"standard:bm_mt_get_entries"
    begun = struct.pack(">IiI", 0x80010001, len(name), 0)[:8] + name + struct.pack(">i", 1)
    with bmv2.connect() as connection:
        connection.sendall((b"", begun, b"\x80\x01\x00\x01", begun + b"\x0b\x00\x02")[kind] + data)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
    assert bmv2.standard().bm_mgmt_get_info().device_id == 0


def test_message_that_is_too_long_ends_its_connection(bmv2: Bmv2):
    with bmv2.connect() as connection:
        connection.sendall(struct.pack(">Ii", 0x80010001, 2**31 - 1))
        assert connection.recv(1) == b""


def test_unknown_calls_and_services_end_their_connection(bmv2: Bmv2):
    for name in (b"standard:__init__", b"nothing:bm_mgmt_get_info", b"standard:bm_mgmt"):
        with bmv2.connect() as connection:
            connection.sendall(
                struct.pack(">Ii", 0x80010001, len(name)) + name + struct.pack(">ib", 1, 0)
            )
            assert connection.recv(1) == b""


def test_missing_arguments_are_an_error_of_the_call(bmv2: Bmv2):
    with pytest.raises((TApplicationException, TYPES.TableFailure)):
        bmv2.standard().bm_mt_get_entries(0, None)


def test_silent_connections_make_room(bmv2: Bmv2):
    """Of 32 places; a client that comes after them gets its answer, and those who leave are the
    idle ones."""
    many = [bmv2.connect() for _ in range(100)]
    name = b"standard:bm_mgmt_get_info"
    call = struct.pack(">Ii", 0x80010001, len(name)) + name + struct.pack(">ib", 1, 0)
    assert not _is_refused(many[-1], call)
    with bmv2.connect() as newcomer:
        assert not _is_refused(newcomer, call)
    assert sum(_is_refused(connection, call) for connection in many) >= 100 - 32
    for connection in many:
        connection.close()


@pytest.mark.parametrize("elements", [2_000_000, 900_000])
def test_lists_of_too_many_elements_end_their_connection(bmv2: Bmv2, elements):
    """Empty structures, an octet each: too many octets, or too many parts."""
    name = b"standard:bm_mt_add_entry"
    message = struct.pack(">Ii", 0x80010001, len(name)) + name + struct.pack(">i", 1)
    message += (
        struct.pack(">bhibhi", 8, 1, 0, 11, 2, 1) + b"t" + struct.pack(">bhbi", 15, 3, 12, elements)
    )
    with bmv2.connect() as connection:
        try:
            connection.sendall(message + bytes(elements + 1))
            assert connection.recv(1) == b""
        except ConnectionError:
            pass
    assert bmv2.process.process.poll() is None


def test_ports_are_of_interfaces_that_the_command_line_names(bmv2: Bmv2):
    """Else a client that may open no packet socket has one of any interface of the machine, where
    the switch is root's."""
    added = bmv2.standard()
    with pytest.raises(TYPES.PortFailure):
        added.bm_dev_mgr_add_port("lo", 9, "")
    assert 9 not in {port.port_num for port in added.bm_dev_mgr_show_ports()}


@pytest.mark.root
def test_port_of_a_named_interface_is_added():
    ends = f"n{os.getpid()}", f"p{os.getpid()}"
    subprocess.run(
        ["ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1]], check=True
    )
    try:
        switch = Bmv2("--thrift-interface", ends[0], live=True)
        try:
            client = switch.standard()
            client.bm_dev_mgr_add_port(ends[0], 9, "")
            with pytest.raises(TYPES.PortFailure):
                client.bm_dev_mgr_add_port(ends[1], 8, "")
            assert [
                (port.port_num, port.iface_name) for port in client.bm_dev_mgr_show_ports()
            ] == [(9, ends[0])]
        finally:
            switch.close()
    finally:
        subprocess.run(["ip", "link", "del", ends[0]], check=True)


def _is_refused(connection: socket.socket, call: bytes) -> bool:
    try:
        connection.sendall(call)
        return connection.recv(1) == b""
    except ConnectionError:
        return True
