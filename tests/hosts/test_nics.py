"""The NICs of a host: by which a flow leaves, and what moves when one leads nowhere."""

import pytest
from hypothesis import given, strategies as st

from pcn.hosts import wire
from pcn.hosts.agent import parser, settings
from pcn.hosts.algorithms import Mark
from pcn.hosts.control import CommandError
from pcn.hosts.native import Events
from pcn.hosts.nic import Nic, NicFlow
from pcn.hosts.nics import Nics, Routes
from pcn.hosts.ports import choose

MAC, IP = bytes.fromhex("020000000001"), bytes([10, 0, 0, 1])
PEERS = [bytes([10, 0, 0, last]) for last in (2, 3, 4)]
LINE, BITS, DELAY_S = 10e9, 8464, 1e-3
FRAME_S = BITS / LINE
ROCE = 3


class Host:
    """NICs without a socket: what has left them is in `left`, by port."""

    def __init__(self, ports: int = 2, delay_s: float = 0.0):
        self.events = Events()
        self.ended: list[NicFlow] = []

        def on_end(flow: NicFlow, at_s: float):
            self.ended.append(flow)

        nics = [
            Nic(LINE, port=port, delay_s=delay_s, events=self.events, on_end=on_end)
            for port in range(ports)
        ]
        self.nics = Nics(IP, nics)
        self.left = {port: [] for port in range(ports)}

    def add(
        self, dst_ip: bytes, number: int, packets: int | None = None, now_s: float = 0.0
    ) -> NicFlow:
        flow = NicFlow(ROCE, BITS, LINE, now_s, packets=packets)
        flow.dst_ip, flow.udp_port = dst_ip, wire.source_port(number)
        self.nics.add(flow, now_s)
        return flow

    def run(self, until_s: float, step_s: float = FRAME_S / 2, alive: tuple[int, ...] = (0, 1, 2)):
        """A NIC that isn't alive has a link that takes nothing."""
        for step in range(round(until_s / step_s) + 1):
            now_s = step * step_s
            self.nics.advance(now_s)
            for nic in self.nics:
                while nic.port in alive and (due := nic.due(now_s)) is not None:
                    self.left[nic.port].append((due.flow, due.number, due.frame))

    def numbers(self, port: int, flow: NicFlow) -> list[int]:
        return [number for sent, number, _ in self.left[port] if sent is flow]


def routes(usual: list[int], now: list[int]) -> Routes:
    return Routes(dict.fromkeys(PEERS, usual), dict.fromkeys(PEERS, now))


@given(
    st.integers(0, 2**24 - 1),
    st.sampled_from(PEERS),
    st.lists(st.integers(0, 2), unique=True, max_size=3),
)
def test_flow_leaves_by_the_ports_of_its_route(number, dst_ip, up):
    """Virtual time's choice; the usual port while it is up, and the usual port where none is."""
    host, port = Host(3), wire.source_port(number)
    now = sorted(up)
    host.nics.route(routes([0, 1, 2], now), 0.0)
    usual = choose([0, 1, 2], IP, dst_ip, port)
    assert host.nics.by(dst_ip, port).port == (
        usual if usual in now or not now else choose(now, IP, dst_ip, port)
    )
    assert host.nics.by(bytes([10, 9, 9, 9]), port).port == choose(
        [0, 1, 2], IP, bytes([10, 9, 9, 9]), port
    )


def test_nics_send_at_line_rate_side_by_side():
    host = Host()
    flows = [host.add(PEERS[0], number) for number in range(16)]
    host.run(100.2 * FRAME_S)
    for nic in host.nics:
        assert len(host.left[nic.port]) == 100
        assert {id(flow) for flow, *_ in host.left[nic.port]} == {
            id(flow) for flow in flows if flow.port == nic.port
        }
    assert {flow.port for flow in flows} == {0, 1}


@pytest.mark.parametrize("delay_s", [0.0, 20 * FRAME_S])
def test_flow_moves_with_what_has_not_left(delay_s):
    """Each packet leaves once and in order, by the other NIC; also what a flow that has ended has
    started."""
    host = Host(delay_s=delay_s)
    flows = [host.add(PEERS[0], number, packets=40 if number < 8 else 2) for number in range(16)]
    by_dead = [flow for flow in flows if flow.port == 1]
    assert by_dead
    host.run(10 * FRAME_S, alive=(0,))
    assert not host.left[1]
    host.nics.route(routes([0, 1], [0]), 10 * FRAME_S)
    assert {flow.port for flow in flows} == {0}
    host.run(1000 * FRAME_S)
    for flow in by_dead:
        assert host.numbers(0, flow) == list(range(flow.packets))
    assert not host.left[1]
    assert sorted(map(id, host.ended)) == sorted(map(id, flows))
    assert not host.nics.flows


def test_flow_comes_back_and_what_has_started_stays():
    host = Host(delay_s=20 * FRAME_S)
    flows = [host.add(PEERS[0], number, packets=30) for number in range(8)]
    usual = {id(flow): flow.port for flow in flows}
    host.nics.route(routes([0, 1], [0]), 0.0)
    host.run(10 * FRAME_S)
    host.nics.route(routes([0, 1], [0, 1]), 10 * FRAME_S)
    assert {id(flow): flow.port for flow in flows} == usual
    host.run(1000 * FRAME_S)
    for flow in flows:
        assert sorted(host.numbers(0, flow) + host.numbers(1, flow)) == list(range(30))
    assert any(host.numbers(0, flow) and host.numbers(1, flow) for flow in flows)


def test_cnps_and_acks_leave_as_flows_do_and_move():
    host = Host(delay_s=20 * FRAME_S)
    frames = [
        wire.encode_cnp(wire.CnpPacket(MAC, MAC, IP, PEERS[number % 3], number, Mark.CE, 1000))
        for number in range(24)
    ]
    ports = {}
    for number, frame in enumerate(frames):
        ports[frame] = host.nics.by(PEERS[number % 3], wire.source_port(number)).port
        host.nics.send_control(frame, 0.0)
    assert set(ports.values()) == {0, 1}
    host.run(1.5 * FRAME_S, alive=(0,))
    host.nics.route(routes([0, 1], [0]), 1.5 * FRAME_S)
    host.run(500 * FRAME_S)
    assert not host.left[1]
    assert sorted(frame for *_, frame in host.left[0]) == sorted(frames)


def test_pause_stops_one_nic():
    host = Host()
    for number in range(16):
        host.add(PEERS[0], number)
    list(host.nics)[1].pfc({ROCE: 0xFFFF}, 0.0)
    host.run(10.2 * FRAME_S)
    assert (len(host.left[0]), len(host.left[1])) == (10, 0)
    assert [nic.paused_s(ROCE, 5 * FRAME_S) > 0 for nic in host.nics] == [False, True]


SINGLE = ["--name", "h", "--mac", "02:00:00:00:00:01", "--ip", "10.0.0.1", "--control", "x"]


def test_agent_has_a_nic_for_each_interface():
    options = [
        "--iface", "a", "--line-rate", "1e9", "--delay", "1", "--iface", "b", "--line-rate",
        "2e9", "--delay", "2",
    ]  # fmt: skip
    nics = settings(parser().parse_args([*SINGLE, *options, "--link", "3:4", "--link", "5:6"])).nics
    assert [(nic.interface, nic.line_rate_bps, nic.delay_s, nic.link) for nic in nics] == [
        ("a", 1e9, 1.0, (3, 4)),
        ("b", 2e9, 2.0, (5, 6)),
    ]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            ["--iface", "a", "--iface", "b", "--line-rate", "1"],
            "--line-rate is there 1 times for 2 --iface",
        ),
        (
            ["--iface", "a", "--line-rate", "1", "--delay", "1", "--delay", "2"],
            "--delay is there 2 times for 1",
        ),
        (
            [part for _ in range(65) for part in ("--iface", "a", "--line-rate", "1")],
            "65 NICs: a host has 64 at most",
        ),
    ],
)
def test_agent_refuses_options_that_do_not_match(options, why):
    with pytest.raises(CommandError, match=why):
        settings(parser().parse_args([*SINGLE, *options]))
