"""Rates of BMv2's queues, which are in packets: a notification takes less of a line than a
packet."""

import os
import socket
import uuid
from collections.abc import Iterator

import needs
import pytest
from waiting import LIMIT_S

from pcn.base.namespaces import in_namespace
from pcn.hosts import wire
from pcn.lab.lab import Lab
from pcn.topologies.dumbbell import dumbbell

pytestmark = [pytest.mark.root, pytest.mark.long]
K = 20_000
"""A data frame takes 17 ms of s0's port: BMv2 has taken in all of these before some have left."""
FRAMES = 40


@pytest.fixture
def lab(tmp_path) -> Iterator[Lab]:
    """h0 - s0 - s1 - r0."""
    name = f"a{os.getpid()}-{uuid.uuid4().hex[:8]}"
    target = needs.target("bmv2")
    with Lab(
        dumbbell(pairs=1), log_dir=tmp_path, name=name, target=target, dilation=K, scheme="hpcc"
    ) as lab:
        yield lab


def packet_socket(lab: Lab, host: str, protocol: int) -> socket.socket:
    def make() -> socket.socket:
        connection = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
        connection.bind((f"{host}-eth0", protocol))
        connection.settimeout(LIMIT_S)
        return connection

    return in_namespace(lab.network.node_pid(host), make)


def test_acknowledgements_of_each_packet_do_not_wait_as_long_as_packets(lab: Lab):
    """Of as many acknowledgements behind as many packets, the last one comes before half of the
    packets."""
    h0, r0 = (lab.topology.host(name) for name in ("h0", "r0"))
    ends = wire.Ends(*map(wire.parse_mac, (h0.mac, r0.mac)), *map(wire.parse_ip, (h0.ip, r0.ip)))
    data = wire.encode_data(wire.DataPacket(*ends, 7, 0, bytes(1000)))
    ack = wire.encode_ack(wire.AckPacket(*ends, 7, 0))
    seen: list[bool] = []
    with packet_socket(lab, "r0", 0x0800) as receiver, packet_socket(lab, "h0", 0) as sender:
        for frame in [data] * FRAMES + [ack] * FRAMES:
            sender.send(frame)
        while len(seen) < 2 * FRAMES:
            decoded = wire.decode(receiver.recv(2048))
            if isinstance(decoded, (wire.DataPacket, wire.AckPacket)):
                seen.append(isinstance(decoded, wire.AckPacket))
    last = 2 * FRAMES - 1 - seen[::-1].index(True)
    assert seen[:last].count(False) < FRAMES / 2
