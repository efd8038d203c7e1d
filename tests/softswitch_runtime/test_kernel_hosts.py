"""TCP and UDP of kernel hosts behind the switch, whose offloads are on: checksums and frames of 64
KB."""

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing

import needs
import pytest
from kernel_hosts import KernelHost, has_vlan_devices
from runtime import NOTICE, Switch

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("both_ways")]

SOL_UDP, UDP_SEGMENT = 17, 103
FAMILIES = [pytest.param(4, False, id="ipv4"), pytest.param(6, False, id="ipv6")]
FAMILIES += [pytest.param(4, True, id="ipv4-vlan"), pytest.param(6, True, id="ipv6-vlan")]
BYTES = random.Random(1).randbytes(1 << 20)


class Pair:
    """Two hosts and the switch between them, which is a wire."""

    def __init__(self, stack: ExitStack, mtu: int):
        self.a, self.b = (stack.enter_context(KernelHost(number, mtu)) for number in (1, 2))
        self.switch = stack.enter_context(Switch("wire", depth=4096))
        self.switch.port_add(1, self.a.near)
        self.switch.port_add(2, self.b.near)
        self.switch.forward(1, 2)
        self.switch.forward(2, 1)

        self.tagged = has_vlan_devices()
        for host in (self.a, self.b) if self.tagged else ():
            host.add_vlan()

    def sockets(
        self, stack: ExitStack, kind: socket.SocketKind, version: int, tagged: bool
    ) -> tuple[socket.socket, socket.socket]:
        """One of a, one of b."""
        if tagged and not self.tagged:
            needs.missing(needs.VLAN_DEVICES)
        a, b = (
            stack.enter_context(closing(host.socket(kind, version, tagged)))
            for host in (self.a, self.b)
        )
        return a, b

    def cut(self) -> int:
        """How many more frames from a there were in the switch than at its interface."""
        return self.switch.stats(1).rx_packets - self.a.frames_sent()


@pytest.fixture(scope="module", params=[1500, 9000])
def pair(request) -> Iterator[Pair]:
    with ExitStack() as stack:
        pair = Pair(stack, request.param)
        features = pair.a.run("ethtool", "-k", "eth0")
        assert {"tx-checksumming: on", "tcp-segmentation-offload: on"} <= set(features.splitlines())
        yield pair


@pytest.mark.parametrize(("version", "tagged"), FAMILIES)
def test_switch_carries_tcp_of_kernel_hosts(pair: Pair, version, tagged):
    before = pair.cut()
    with ExitStack() as stack:
        client, server = pair.sockets(stack, socket.SOCK_STREAM, version, tagged)
        server.listen()
        client.connect(server.getsockname())
        connection = stack.enter_context(closing(server.accept()[0]))
        connection.settimeout(60)
        sending = threading.Thread(
            target=lambda: [client.sendall(BYTES), client.shutdown(socket.SHUT_WR)]
        )
        sending.start()
        got = bytearray()
        while data := connection.recv(1 << 16):
            got += data
        sending.join()
        assert got == BYTES
        connection.sendall(b"the other way")
        assert client.recv(100) == b"the other way"
    assert pair.cut() > before, "the kernel left no frame to cut: the test shows nothing"


@pytest.mark.parametrize("length", [0, 1, 1399, 1400, 9000, 65000])
@pytest.mark.parametrize(("version", "tagged"), FAMILIES)
def test_switch_carries_udp_of_kernel_hosts(pair: Pair, version, tagged, length):
    """Above the MTU in fragments."""
    with ExitStack() as stack:
        client, server = pair.sockets(stack, socket.SOCK_DGRAM, version, tagged)
        client.sendto(BYTES[:length], server.getsockname())
        data, sender = server.recvfrom(1 << 16)
        assert data == BYTES[:length]
        server.sendto(data, sender)
        assert client.recv(1 << 16) == data


@pytest.mark.parametrize(("version", "tagged"), FAMILIES)
def test_switch_cuts_udp_that_the_kernel_left_uncut(pair: Pair, version, tagged):
    """UDP_SEGMENT: one call, many datagrams, as QUIC sends them."""
    size, before = 1200, pair.cut()
    with ExitStack() as stack:
        client, server = pair.sockets(stack, socket.SOCK_DGRAM, version, tagged)
        client.sendto(b"first, for the address", server.getsockname())
        assert server.recv(100) == b"first, for the address"
        client.setsockopt(SOL_UDP, UDP_SEGMENT, size)
        client.sendto(BYTES[:60_000], server.getsockname())
        got = [server.recv(1 << 16) for _ in range(60_000 // size)]
        assert got == [BYTES[i : i + size] for i in range(0, 60_000, size)]
    assert pair.cut() == before + 60_000 // size - 1


def test_switch_notes_once_that_it_cannot_cut_a_tunnel(pair: Pair):
    """TCP in VXLAN: such frames are lost, and the log names the command that helps; and the command
    does help."""
    ends = [(pair.a, pair.b), (pair.b, pair.a)]
    for here, there in ends:
        if not here.add_tunnel(there):
            needs.missing(needs.VXLAN)
    with ExitStack() as stack:
        client, server = (
            stack.enter_context(closing(host.tunnel_socket())) for host in (pair.a, pair.b)
        )
        server.listen()
        client.connect(server.getsockname())
        connection = stack.enter_context(closing(server.accept()[0]))
        sending = threading.Thread(target=client.sendall, args=(BYTES[:200_000],))
        sending.start()
        kind, _, text = pair.switch.event() or (0, 0, b"")
        assert kind == NOTICE
        assert b"port 1: " in text
        command = text.partition(b"`")[2].partition(b"`")[0].decode()
        pair.a.run(*command.replace("INTERFACE", "eth0").split())
        got = bytearray()
        while len(got) < 200_000:
            got += connection.recv(1 << 16)
        sending.join()
        assert got == BYTES[:200_000]
        assert pair.switch.event(0) is None
