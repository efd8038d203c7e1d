"""Packet-in and packet-out over real interfaces: a switch process between veth pairs."""

import os
import select
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from p4rt_client import WAIT_S, Client, Names
from p4rt_process import Process
from p4rt_switch import CPU_PORT, Program

from pcn.base.p4rt import p4r

ETH_P_ALL = 3
FRAME = bytes.fromhex("0000000000aa 000000000001 0800") + bytes(range(46))


@pytest.fixture
def links() -> Iterator[dict[int, socket.socket]]:
    """Our ends of the veths of ports 1 and 2. `p4r<pid>s1` is the switch's end of port 1."""
    with ExitStack() as stack:
        sockets = {}
        for port in (1, 2):
            switch_end, our_end = (f"p4r{os.getpid()}{end}{port}" for end in "sh")
            subprocess.run(
                ["ip", "link", "add", switch_end, "type", "veth", "peer", "name", our_end],
                check=True,
            )
            stack.callback(subprocess.run, ["ip", "link", "delete", switch_end], check=True)
            for end in (switch_end, our_end):
                subprocess.run(
                    ["sysctl", "-qew", f"net.ipv6.conf.{end}.disable_ipv6=1"], check=True
                )
                subprocess.run(["ip", "link", "set", end, "up"], check=True)
            sock = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
            sock.bind((our_end, ETH_P_ALL))  # from here on: before, it would hear all interfaces
            sockets[port] = sock
        yield sockets


def receive(sock: socket.socket) -> bytes:
    """The next frame that came in, not one that we sent."""
    while select.select([sock], [], [], WAIT_S)[0]:
        frame, address = sock.recvfrom(2048)
        if address[2] != socket.PACKET_OUTGOING:
            return frame
    raise AssertionError("no frame came")


@pytest.mark.root
def test_packets_between_controller_and_wire(
    links: dict[int, socket.socket], program: Program, names: Names
):
    ports = [word for port in links for word in ("-i", f"{port}@p4r{os.getpid()}s{port}")]
    process = Process("--no-p4", "--device-id", "1", *ports, "--", "--cpu-port", str(CPU_PORT))
    try:
        with Client(process.port) as client:
            client.arbitrate()
            client.set_pipeline(program.info, program.json)
            client.insert(
                names.entry("l2", {"dst_addr": 0xAA}, names.action("send_to_cpu", reason=9))
            )
            links[2].send(FRAME)
            packet = client.receive().packet
            assert packet.payload == FRAME
            assert [m.value for m in packet.metadata] == [b"\2", b"\x09"]

            out = [
                p4r.PacketMetadata(metadata_id=1, value=b"\1"),
                p4r.PacketMetadata(metadata_id=2, value=b"\0"),
            ]
            client.send(packet=p4r.PacketOut(payload=FRAME, metadata=out))
            assert receive(links[1]) == FRAME

            client.modify(names.entry("l2", {"dst_addr": 0xAA}, names.action("forward", port=1)))
            links[2].send(FRAME)
            assert receive(links[1]) == FRAME

            replicas = [
                p4r.Replica(egress_port=1, instance=1),
                p4r.Replica(egress_port=2, instance=2),
            ]
            group = p4r.MulticastGroupEntry(multicast_group_id=4, replicas=replicas)
            client.insert(group)
            client.modify(names.entry("l2", {"dst_addr": 0xAA}, names.action("multicast", group=4)))
            links[2].send(FRAME)
            assert [receive(links[port]) for port in (1, 2)] == [FRAME, FRAME]

            session = p4r.CloneSessionEntry(
                session_id=7, replicas=replicas[:1], packet_length_bytes=20
            )
            client.insert(session)
            client.modify(names.entry("l2", {"dst_addr": 0xAA}, names.action("mirror", port=2)))
            links[2].send(FRAME)
            assert receive(links[2]) == FRAME
            assert receive(links[1])[:20] == FRAME[:20]

            query = p4r.RegisterEntry(register_id=names.id("registers", "cells"))
            query.index.index = 2
            (cell,) = client.read(query)
            assert cell.data.bitstring == b"\4", "the data plane counts the four frames of port 2"
        assert process.end(signal.SIGTERM) == 0
    finally:
        process.end(signal.SIGKILL)
