"""Deficit round robin among classes at a port, beside strict priorities."""

import json
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import example, given, strategies as st
from networks import PFC_ONLY, star

from pcn.base.errors import TopologyError
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab.launch import NetworkError, require_live, without
from pcn.topologies import serialise
from pcn.topologies.formats.known import FORMATS
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import FlowSpec, OutputBuffer, Topology
from pcn.topologies.schedules import Schedule
from pcn.virtualnet import VirtualError

LINE, FRAME = 10e9, 1058


def weighted(topology: Topology, *schedules: Schedule, lossless: str = "1,2,3") -> Topology:
    switches = tuple(replace(switch, schedules=schedules) for switch in topology.switches)
    return replace(
        topology,
        switches=switches,
        parameters={**topology.parameters, "lossless_classes": lossless},
    )


def received(
    topology: Topology,
    classes: tuple[int, ...],
    until_s: float = 2e-3,
    rates: tuple[float | None, ...] = (None, None, None),
    queues: Literal["nodes", "one"] = "nodes",
    inplace: bool = True,
) -> tuple[list[int], int]:
    """Bytes of a flow of each class, each from another host; the digest."""
    with VirtualNetwork(topology, PFC_ONLY, queues=queues, inplace=inplace) as network:
        for number, traffic_class in enumerate(classes):
            spec = FlowSpec(
                number, f"h{number}", "r0", traffic_class=traffic_class, rate_bps=rates[number]
            )
            network.add_flow(spec)
        network.run(until_s=until_s)
        return [
            flow.stats().received_bytes for flow in network.flows.values()
        ], network.totals().digest


@pytest.mark.parametrize("weights", [(0, 0), (1, 1)])
def test_capped_class_leaves_the_rest_to_others(weights):
    """By strict priority or by equal weights: the capped class gets its 2 Gbit/s, the other 8."""
    schedule = Schedule((0, *weights, 0, 0, 0, 0, 0), caps_bps=(0, 0, 2e9, 0, 0, 0, 0, 0))
    (first, capped), _ = received(weighted(star(2), schedule, lossless="1,2"), (1, 2))
    assert capped * 8 / 2e-3 == pytest.approx(2e9, rel=0.01)
    assert (first + capped) * 8 / 2e-3 == pytest.approx(LINE, rel=0.01)


def test_flow_through_a_cap_takes_its_frames_by_the_cap():
    """2 MB at 2 Gbit/s: the last frame leaves when the others have had their time."""
    topology = weighted(star(1), Schedule((0,) * 8, caps_bps=(0, 0, 0, 2e9, 0, 0, 0, 0)))
    with VirtualNetwork(topology, PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=2_000_000, traffic_class=3))
        assert network.run(until_s=0.1, finish=True)
        complete_s = flow.stats().complete_s
    fixed_s = 2e-6 + 2 * FRAME * 8 / LINE
    assert complete_s == pytest.approx(1999 * FRAME * 8 / 2e9 + fixed_s, abs=1e-9)


def test_cap_beyond_64_bits_caps_nothing():
    caps = (2.0**64 + 4096, 0, 0, 1e300, 0, 0, 0, 0)
    topology = weighted(star(1), Schedule((0,) * 8, caps_bps=caps))
    assert received(topology, (3,)) == received(weighted(star(1)), (3,))


def test_port_takes_no_number_of_more_bits():
    """None is cut to the bits that the engine has."""
    with VirtualNetwork(star(1), PFC_ONLY) as network:
        for fields in ({"depth": 2**32 + 1}, {"rate_pps": -1}, {"rate_pps": 2**64 + 1}):
            with pytest.raises(VirtualError, match=r"at most 65534, a rate below 2\^63"):
                network.set_queue("s0", 1, 3, **fields)
        with pytest.raises(VirtualError, match="a queue of class 4294967299"):
            network.set_queue("s0", 1, 2**32 + 3)
        with pytest.raises(TopologyError, match="8 numbers from 0 to 65535"):
            network.set_weights("s0", 1, [2**16 + 1] * 8)
        with pytest.raises(TopologyError, match="8 rates in bit/s"):
            network.set_caps("s0", 1, [-1.0] * 8)
        for rate_bps in (0.4, 2.0**64 + 4096):
            with pytest.raises(VirtualError, match=r"bit/s: 1 to 1e\+14 are possible"):
                network.set_link("s0", 1, rate_bps=rate_bps)


def test_caps_are_kept_in_files_and_refused_live(tmp_path):
    schedule = Schedule((0, 3, 1, 0, 0, 0, 0, 0), 1, (0, 0, 1.5e9, 0, 0, 0, 0, 0))
    topology = replace(weighted(star(2), schedule), flows=())
    file = tmp_path / "net.json"
    file.write_text(FORMATS["pcn-json"].write(topology))
    assert find_topology(str(file)).build().switches == topology.switches
    with pytest.raises(NetworkError, match=r"s0: caps of classes are .* time alone\n.*caps"):
        require_live(topology, "engine")
    (switch,) = without(topology, ["caps"]).switches
    assert switch.schedules == (Schedule(schedule.weights, 1),)
    require_live(without(topology, ["caps"]), "engine")
    assert without(topology, ["caps", "weights"]).switches[0].schedules == ()
    with pytest.raises(TopologyError, match="8 rates in bit/s"):
        Schedule((0,) * 8, caps_bps=(1.0,))


@given(weights=st.tuples(*[st.integers(1, 100)] * 3))
@example(weights=(1, 1, 1))
@example(weights=(1, 100, 50))
def test_classes_share_in_proportion_to_their_weights(weights):
    topology = weighted(star(3), Schedule((0, *weights, 0, 0, 0, 0)))
    got, _ = received(topology, (1, 2, 3))
    whole = 2e-3 * LINE / 8
    for class_bytes, weight in zip(got, weights, strict=True):
        # What was there before all three waited, and a turn: 256 bytes a unit of weight, and a
        # frame.
        assert class_bytes == pytest.approx(
            whole * weight / sum(weights), abs=256 * sum(weights) + 4 * FRAME + 0.01 * whole
        )


def test_class_that_wants_less_leaves_the_rest_to_the_others():
    topology = weighted(star(3), Schedule((0, 1, 1, 2, 0, 0, 0, 0)))
    got, _ = received(topology, (1, 2, 3), rates=(1e9, None, None))
    rates = [class_bytes * 8 / 2e-3 for class_bytes in got]
    assert rates == pytest.approx([1e9, 3e9, 6e9], rel=0.03)


def test_strict_class_comes_before_those_with_weights():
    topology = weighted(star(3), Schedule((0, 1, 1, 0, 0, 0, 0, 0)))
    got, _ = received(topology, (1, 2, 3), rates=(None, None, 4e9))
    assert [class_bytes * 8 / 2e-3 for class_bytes in got] == pytest.approx(
        [3e9, 3e9, 4e9], rel=0.03
    )


def test_schedule_of_a_port_is_its_own():
    even, odd = Schedule((0, 1, 1, 2, 0, 0, 0, 0), port=4), Schedule((0, 9, 1, 0, 0, 0, 0, 0))
    topology = weighted(star(3), even, odd)
    assert topology.switch("s0").schedule(4) == even
    assert topology.switch("s0").schedule(1) == odd
    assert received(topology, (1, 2, 3)) == received(weighted(star(3), even), (1, 2, 3))


def test_run_with_weights_depends_on_neither_queues_nor_form():
    topology = weighted(star(3), Schedule((0, 1, 3, 5, 0, 0, 0, 0)))
    expected = received(topology, (1, 2, 3))
    assert expected == received(topology, (1, 2, 3), queues="one")
    assert expected == received(topology, (1, 2, 3), inplace=False)
    assert expected != received(weighted(star(3)), (1, 2, 3))


def test_weights_that_cannot_work_are_refused():
    for weights in ((1,) * 7, (-1, *[0] * 7), (65536, *[0] * 7)):
        with pytest.raises(TopologyError, match="8 numbers from 0 to 65535"):
            Schedule(weights)
    topology = weighted(star(1), Schedule((1,) * 8))
    with pytest.raises(
        TopologyError, match="s0: output buffers have strict priorities, and no PFC watchdog"
    ):
        replace(topology, switches=(replace(topology.switches[0], output=OutputBuffer()),))
    with pytest.raises(
        NetworkError, match="s0: weights of classes are there with --target engine, and in"
    ):
        require_live(topology)
    assert serialise.from_dict(json.loads(json.dumps(serialise.to_dict(topology)))) == topology


@pytest.mark.parametrize("form", ["pcn", "pcn-json"])
def test_file_holds_weights(form, tmp_path):
    topology = weighted(star(1), Schedule((1,) * 8, port=2), Schedule((0,) * 8))
    file = tmp_path / f"made{FORMATS[form].suffix}"
    file.write_text(FORMATS[form].write(topology))
    assert find_topology(str(file)).build({}).switches == topology.switches
