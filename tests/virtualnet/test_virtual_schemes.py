"""QCN and TIMELY in virtual time: switches' messages and acknowledgements reach the RPs, at the
time they should."""

import dataclasses
import itertools
import json
from dataclasses import dataclass

import pytest

from pcn.controller.programs import Program
from pcn.hosts import wire
from pcn.hosts.algorithms import (
    Ack,
    Cnm,
    Cnp,
    Configured,
    Mark,
    NotificationPoint,
    ReactionPoint,
    Scheme,
    Window,
    find_scheme,
)
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.model import FlowSpec
from pcn.virtualnet.switch import load

RATE = 10e9
FRAME, ACK = 1058, 62


@dataclass(frozen=True)
class _NoParameters:
    pass


class _Recorder(ReactionPoint):
    """Keeps its rate, and records its notifications with their times."""

    segment_bytes = 10_000

    def __init__(self, line_rate_bps: float, parameters: _NoParameters):
        self.rate_bps = line_rate_bps
        self.acks: list[tuple[float, float]] = []
        self.cnms: list[tuple[float, int]] = []

    def on_ack(self, ack: Ack, now_s: float):
        self.acks.append((ack.rtt_s, now_s))

    def on_cnm(self, cnm: Cnm, now_s: float):
        self.cnms.append((now_s, cnm.feedback))


def recording(segment_bytes: int = 10_000) -> tuple[Configured, list[_Recorder]]:
    """A scheme of these RPs with PCN's switches, and the RPs that it makes."""
    recorders: list[_Recorder] = []

    def make(line_rate_bps: float, parameters: _NoParameters) -> _Recorder:
        recorders.append(_Recorder(line_rate_bps, parameters))
        recorders[-1].segment_bytes = segment_bytes
        return recorders[-1]

    return Scheme(
        "recorder", "for this test", "pcn", _NoParameters, make, lambda _: NotificationPoint()
    ).configure(), recorders


def seconds(frame_bytes: int) -> float:
    return frame_bytes * 8 / RATE


@pytest.mark.parametrize("inplace", [True, False])
def test_a_round_trip_is_that_of_the_path_to_the_picosecond(inplace):
    """Six links' delays; the packet is sent on by two switches, its acknowledgement by the host and
    two switches."""
    topology = dumbbell(rate_bps=RATE)
    scheme, rps = recording()
    with VirtualNetwork(topology, scheme, inplace=inplace) as network:
        network.add_flow(FlowSpec(1, "h0", "r0", rate_bps=1e9))
        network.run(1.5e-3)
        assert network.totals().stray_frames == 0
    expected = topology.rtt_s("h0", "r0") + 2 * seconds(FRAME) + 3 * seconds(ACK)
    (rp,) = rps
    assert [rtt for rtt, _ in rp.acks] == pytest.approx([expected] * 11, abs=2e-12)
    gaps = [later - earlier for (_, earlier), (_, later) in itertools.pairwise(rp.acks)]
    assert gaps == pytest.approx([10 * FRAME * 8 / 1e9] * 10, abs=2e-12)


def test_a_queue_is_in_the_round_trip():
    topology = dumbbell(rate_bps=RATE)
    scheme, rps = recording()
    with VirtualNetwork(topology, scheme) as network:
        for number, host in ((1, "h0"), (2, "h1")):
            network.add_flow(FlowSpec(number, host, f"r{number - 1}"))
        network.run(1e-3)
    empty = topology.rtt_s("h0", "r0") + 2 * seconds(FRAME) + 3 * seconds(ACK)
    for rp in rps:
        rtts = [rtt for rtt, _ in rp.acks]
        assert rtts == sorted(rtts)
        # Twice as much comes as leaves: the last of ten packets finds ten waiting, or nine.
        assert rtts[0] - empty == pytest.approx(9.5 * seconds(FRAME), abs=0.51 * seconds(FRAME))


def test_the_round_trips_of_packets_are_right_however_many_are_under_way():
    """PFC lets each host have XOFF in the switch: 484 packets, 590 on their way; each round trip is
    one's own."""
    topology = dumbbell(rate_bps=RATE)
    scheme, rps = recording(segment_bytes=1000)
    with VirtualNetwork(topology, scheme) as network:
        for number, host in ((1, "h0"), (2, "h1")):
            network.add_flow(FlowSpec(number, host, f"r{number - 1}"))
        network.run(5e-3)
    empty = topology.rtt_s("h0", "r0") + 2 * seconds(FRAME) + 3 * seconds(ACK)
    for rp in rps:
        rtts = [rtt for rtt, _ in rp.acks]
        assert min(rtts) >= empty - 1e-9
        assert max(rtts) - empty > 2 * 480 * seconds(FRAME)


def test_every_message_of_a_switch_reaches_its_rp():
    topology = dumbbell(rate_bps=RATE)
    configured = find_scheme("qcn").configure()
    feedbacks: list[int] = []
    with VirtualNetwork(topology, configured) as network:
        flows = [network.add_flow(spec) for spec in topology.flows]
        port = topology.route("s0", "r0")
        for flow in flows:
            on_cnm = flow.rp.on_cnm

            def note(cnm: Cnm, now_s: float, on_cnm=on_cnm):
                feedbacks.append(cnm.feedback)
                on_cnm(cnm, now_s)

            flow.rp.on_cnm = note
        network.run(20e-3)
        marked = network.switches["s0"].read_counter("marked", port * 8 + 3).packets
        received = sum(flow.stats().cnps_received for flow in flows)
        totals = network.totals()
        assert (totals.stray_frames, totals.bad_frames) == (0, 0)
        assert all(flow.stats().rate_bps < RATE for flow in flows)
    assert 0 < len(feedbacks) == received <= marked <= received + 20  # some are on their way
    assert set(feedbacks) <= set(range(1, wire.MAX_FEEDBACK + 1))


def test_the_sum_of_qcns_rates_is_at_capacity_after_the_papers_40_ms():  # 0.36, 0.38
    topology = dumbbell(rate_bps=RATE)
    with VirtualNetwork(topology, find_scheme("qcn").configure()) as network:
        flows = [network.add_flow(spec) for spec in topology.flows]
        rates: list[float] = []
        for step in range(20):
            network.at(
                60e-3 + step * 2e-3,
                lambda: rates.append(sum(flow.stats().rate_bps for flow in flows)),
            )
        network.run(100e-3)
    assert sum(rates) / len(rates) == pytest.approx(RATE, rel=0.03)


def test_a_message_is_for_the_flow_that_its_bth_names(tmp_path):
    """Not for that of the packet which was sampled: a congestion point may notify another flow."""
    compiled = Program.compiled("qcn_native")
    edited = json.loads(bytes(compiled))
    (build,) = (
        action for action in edited["actions"] if action["name"] == "QcnEgress.message.build"
    )
    queue_pair, two = (
        {"type": "field", "value": ["bth", "dest_qp"]},
        {"type": "hexstr", "value": "0x000002"},
    )
    build["primitives"].append({"op": "assign", "parameters": [queue_pair, two]})
    path = tmp_path / "qcn_of_two.json"
    path.write_text(json.dumps(edited))
    program = load(Program("qcn_of_two", path, compiled.p4info), inplace=True)
    with VirtualNetwork(
        dumbbell(rate_bps=RATE), find_scheme("qcn").configure(), program=program
    ) as network:
        flows = [
            network.add_flow(FlowSpec(number, f"h{number // 3}", "r0")) for number in (1, 2, 3)
        ]
        network.run(20e-3)
        received = [flow.stats().cnps_received for flow in flows]
        assert received[0] == received[2] == 0
        assert received[1] > 0
        assert network.totals().stray_frames > 0  # of h1, which has no flow 2


@pytest.mark.parametrize("mark", list(Mark))
def test_marks_reach_the_rp_in_notifications(mark):
    """What the NP makes of a window, over a network whose switches leave CNPs alone."""
    cnps: list[Cnp] = []

    class Np(NotificationPoint):
        period_s = 50e-6

        def on_window(self, window: Window) -> Cnp | None:
            return Cnp(mark, 1e9)

    class Rp(ReactionPoint):
        rate_bps = 1e9

        def on_cnp(self, cnp: Cnp, now_s: float):
            cnps.append(cnp)

    scheme = dataclasses.replace(
        find_scheme("pfc"), reaction_point=lambda line, _: Rp(), notification_point=lambda _: Np()
    )
    with VirtualNetwork(dumbbell(rate_bps=RATE), scheme.configure()) as network:
        network.add_flow(FlowSpec(1, "h0", "r0"))
        network.run(2e-3)
        totals = network.totals()
    assert cnps
    assert all(cnp == Cnp(mark, 1e9) and cnp.mark is mark for cnp in cnps)
    assert (totals.stray_frames, totals.bad_frames) == (0, 0)


def test_acknowledgements_carry_the_marks_of_their_segments():
    """Two flows into one port, below its rate and then above: CE if a packet of the segment was
    marked."""
    marks: list[Mark] = []

    class Rp(ReactionPoint):
        rate_bps = RATE / 4
        segment_bytes = 8000

        def on_ack(self, ack: Ack, now_s: float):
            marks.append(ack.mark)
            if len(marks) == 60:
                Rp.rate_bps = RATE

    scheme = dataclasses.replace(
        find_scheme("pcn"),
        reaction_point=lambda line, _: Rp(),
        notification_point=lambda _: NotificationPoint(),
    )
    with VirtualNetwork(dumbbell(rate_bps=RATE), scheme.configure()) as network:
        flows = [network.add_flow(FlowSpec(number, f"h{number}", "r0")) for number in (0, 1)]
        network.run(3e-3)
        assert sum(flow.stats().marked_ce for flow in flows) > 100
        assert network.totals().bad_frames == 0
    assert set(marks[:60]) == {Mark.NONE}
    assert Mark.CE in marks[60:]
