"""What hosts' kernels would do: next hops by their commands, and frames of UDP."""

import struct
from dataclasses import replace

import pytest
from exercise import IPS, MACS, exercise
from hypothesis import given, strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from pcn.p4net.errors import P4NetError
from pcn.p4net.neighbours import mac_of
from pcn.p4net.network import P4Host, P4Network
from pcn.p4net.packets import udp


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> P4Network:
    return exercise(tmp_path_factory.mktemp("hosts"))


def with_commands(network: P4Network, *commands: str, prefix: int = 24) -> P4Network:
    return replace(network, hosts={**network.hosts, "h1": P4Host(prefix, commands)})


ROUTES = [
    (
        "route add default gw 10.0.1.254 dev eth0",
        "arp -i eth0 -s 10.0.1.254 08:00:00:00:01:00",
        "08:00:00:00:01:00",
    ),
    (
        "sudo ip route add default via 10.0.1.9",
        "ip neigh add 10.0.1.9 lladdr 08:00:00:00:01:09 dev eth0",
        "01:09",
    ),
    (
        "route add -net 10.0.2.0 netmask 255.255.255.0 gw 10.0.1.7",
        "arp -s 10.0.1.7 08:00:00:00:01:07",
        "01:07",
    ),
    (
        "route add -host 10.0.2.2 gw 10.0.1.6",
        "ip neighbour replace 10.0.1.6 lladdr 08:00:00:00:01:06",
        "01:06",
    ),
    ("ip route add 10.0.0.0/16 dev eth0", "ethtool -K eth0 tx off", MACS["h2"]),
]


@pytest.mark.parametrize(("route", "neighbour", "mac"), ROUTES)
def test_next_hop_follows_from_commands(network: P4Network, route, neighbour, mac):
    assert mac_of(with_commands(network, route, neighbour), "h1", IPS["h2"]).endswith(mac)


def test_longest_prefix_decides_the_next_hop(network: P4Network):
    commands = [
        "ip route add default via 10.0.1.1",
        *("ip route add 10.0.2.0/24 via 10.0.1.3", "ip route add 10.0.0.0/16 via 10.0.1.2"),
        *(f"arp -s 10.0.1.{number} 08:00:00:00:00:0{number}" for number in (1, 2, 3)),
    ]
    known = with_commands(network, *commands)
    hops = [mac_of(known, "h1", address)[-1] for address in ("10.0.2.2", "10.0.3.3", "11.0.0.1")]
    assert hops == ["3", "2", "1"]


@pytest.mark.parametrize(
    ("commands", "why"),
    [
        ([], "h1 has no route to 10.0.2.2"),
        (["route add default gw 10.0.1.254"], "h1 has no MAC of 10.0.1.254"),
        (["arp -s 10.0.1.254"], "isn't understood"),
        (["arp -s 10.0.1.254 08:00"], "isn't understood"),
        (["route add default gw nowhere"], "isn't understood"),
        (["route add"], "isn't understood"),
        (["ip route add 'x"], "isn't understood"),
    ],
)
def test_next_hop_is_refused_with_the_command(network: P4Network, commands, why):
    with pytest.raises(P4NetError, match=why):
        mac_of(with_commands(network, *commands), "h1", IPS["h2"])


@given(
    st.binary(max_size=1400), st.integers(0, 255), st.integers(1, 2**16 - 1), st.integers(1, 255)
)
def test_datagram_is_what_scapy_writes(network: P4Network, payload, tos, port, ttl):
    frame = udp(network, "h1", "h3", payload, sport=port, dport=53, tos=tos, ttl=ttl)
    expected = (
        Ether(dst="08:00:00:00:01:00", src=MACS["h1"])
        / IP(src=IPS["h1"], dst=IPS["h3"], tos=tos, ttl=ttl, id=0, flags="DF")
        / UDP(sport=port, dport=53)
        / payload
    )
    assert frame == bytes(expected)
    assert len(frame) == struct.unpack_from(">H", frame, 16)[0] + 14
