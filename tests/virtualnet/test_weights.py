"""Deficit round robin among classes at a port, beside strict priorities."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import example, given, strategies as st
from networks import PFC_ONLY, star

from pcn.base.errors import TopologyError
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab.launch import NetworkError, require_live
from pcn.topologies import serialise
from pcn.topologies.formats.known import FORMATS
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import FlowSpec, OutputBuffer, Topology
from pcn.topologies.schedules import Schedule

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


@given(weights=st.tuples(*[st.integers(1, 100)] * 3))
@example(weights=(1, 1, 1))
@example(weights=(1, 100, 50))
def test_classes_share_in_proportion_to_their_weights(weights: tuple[int, int, int]) -> None:
    topology = weighted(star(3), Schedule((0, *weights, 0, 0, 0, 0)))
    got, _ = received(topology, (1, 2, 3))
    whole = 2e-3 * LINE / 8
    for class_bytes, weight in zip(got, weights, strict=True):
        # What was there before all three waited, and a turn: 256 bytes a unit of weight, and a
        # frame.
        assert class_bytes == pytest.approx(
            whole * weight / sum(weights), abs=256 * sum(weights) + 4 * FRAME + 0.01 * whole
        )


def test_class_that_wants_less_leaves_the_rest_to_the_others() -> None:
    topology = weighted(star(3), Schedule((0, 1, 1, 2, 0, 0, 0, 0)))
    got, _ = received(topology, (1, 2, 3), rates=(1e9, None, None))
    rates = [class_bytes * 8 / 2e-3 for class_bytes in got]
    assert rates == pytest.approx([1e9, 3e9, 6e9], rel=0.03)


def test_strict_class_comes_before_those_with_weights() -> None:
    topology = weighted(star(3), Schedule((0, 1, 1, 0, 0, 0, 0, 0)))
    got, _ = received(topology, (1, 2, 3), rates=(None, None, 4e9))
    assert [class_bytes * 8 / 2e-3 for class_bytes in got] == pytest.approx(
        [3e9, 3e9, 4e9], rel=0.03
    )


def test_schedule_of_a_port_is_its_own() -> None:
    even, odd = Schedule((0, 1, 1, 2, 0, 0, 0, 0), port=4), Schedule((0, 9, 1, 0, 0, 0, 0, 0))
    topology = weighted(star(3), even, odd)
    assert topology.switch("s0").schedule(4) == even
    assert topology.switch("s0").schedule(1) == odd
    assert received(topology, (1, 2, 3)) == received(weighted(star(3), even), (1, 2, 3))


def test_run_with_weights_depends_on_neither_queues_nor_form() -> None:
    topology = weighted(star(3), Schedule((0, 1, 3, 5, 0, 0, 0, 0)))
    expected = received(topology, (1, 2, 3))
    assert expected == received(topology, (1, 2, 3), queues="one")
    assert expected == received(topology, (1, 2, 3), inplace=False)
    assert expected != received(weighted(star(3)), (1, 2, 3))


def test_weights_that_cannot_work_are_refused() -> None:
    for weights in ((1,) * 7, (-1, *[0] * 7), (65536, *[0] * 7)):
        with pytest.raises(TopologyError, match="8 numbers from 0 to 65535"):
            Schedule(weights)
    topology = weighted(star(1), Schedule((1,) * 8))
    with pytest.raises(
        TopologyError, match="s0: output buffers have strict priorities, and no PFC watchdog"
    ):
        replace(topology, switches=(replace(topology.switches[0], output=OutputBuffer()),))
    with pytest.raises(
        NetworkError, match="s0: weights of classes are there in virtual time alone"
    ):
        require_live(topology)
    assert serialise.from_dict(json.loads(json.dumps(serialise.to_dict(topology)))) == topology


@pytest.mark.parametrize("form", ["pcn", "pcn-json"])
def test_file_holds_weights(form: str, tmp_path: Path) -> None:
    topology = weighted(star(1), Schedule((1,) * 8, port=2), Schedule((0,) * 8))
    file = tmp_path / f"made{FORMATS[form].suffix}"
    file.write_text(FORMATS[form].write(topology))
    assert find_topology(str(file)).build({}).switches == topology.switches
