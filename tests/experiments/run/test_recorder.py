"""What a recorder reads of all ports is what a plan's samples have of single ones."""

from dataclasses import replace

import numpy as np
import pytest

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.records import Records
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.papers.unbiased.fig7 import Fig7
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.virtualnet.pfc_log import KINDS


def plans() -> dict[str, Plan]:
    """Queues alone; behind them output buffers; queues in two classes."""
    buffered = [
        run
        for run in Fig7().runs(("qcn-both", "pfc", "qcn-out"))
        if "buffers" in str(run.keys["switch"])
    ]
    dumbbell = SCENARIOS["dumbbell"].plan("pcn", 1, {"duration": 3e-3})
    topology = dumbbell.topology
    flows = tuple(replace(flow, traffic_class=3 + flow.id % 2) for flow in topology.flows)
    parameters = {**topology.parameters, "lossless_classes": "3,4"}
    return {
        "queues": dumbbell,
        "buffers": Fig7().plan(buffered[0].scheme, 1, buffered[0].arguments),
        "classes": replace(
            dumbbell, topology=replace(topology, flows=flows, parameters=parameters)
        ),
    }


@pytest.mark.parametrize("name", ["queues", "buffers"])
def test_queues_of_all_ports_are_those_of_sampled_ones(name):
    plan = plans()[name]
    every_s = plan.sampling.queues_s
    recording = run_virtual(replace(plan, records=Records(queues_s=every_s)), Silent())
    queues = recording.recorded.queues
    assert queues is not None
    for port in plan.sampling.queues:
        times, waiting = recording.series.get(str(port), "waiting_bytes")
        _, output = recording.series.get(str(port), "output_bytes")
        expected = waiting + output if output.size else waiting
        queue = queues.values[:, queues.ports.index(port)]
        assert queues.times_s.tolist() == times.tolist()
        assert queue.tolist() == expected.tolist()
        assert queue.max() > 0
        assert recording.recorded.queue_max[str(port)] == queue.max()
    largest = recording.series.get("network", "largest_queue_bytes")[1]
    assert largest.tolist() == queues.values.max(axis=1).tolist()


def test_queues_are_those_of_all_classes_that_flows_have():
    plan = plans()["classes"]
    recording = run_virtual(replace(plan, records=Records(queues_s=50e-6)), Silent())
    queues = recording.recorded.queues
    assert queues is not None
    port = plan.bottleneck
    _, one_class = recording.series.get(str(port), "waiting_bytes")
    assert queues.values[:, queues.ports.index(port)].max() > one_class.max() > 0
    assert np.isfinite(queues.values).all()


def test_events_are_what_counters_count_at_each_time():
    """Of a run that begins before time 0."""
    plan = SCENARIOS["victim"].plan("pfc", 1, {"before": 1e-3, "duration": 3.5e-3})
    recording = run_virtual(replace(plan, records=Records(events=True)), Silent())
    events = recording.recorded.events
    assert events is not None
    assert plan.start_s < 0
    seen = 0
    for number, port in enumerate(events.ports):
        if plan.topology.is_host(port.node):
            continue
        link = plan.topology.link_name(port.node, port.port)
        for kind, metric in (("PAUSE queued", "pause"), ("RESUME queued", "resume")):
            event_times = events.times_s[
                (events.which == number) & (events.kinds == KINDS.index(kind))
            ]
            times, counted = recording.series.get(link, metric)
            assert np.searchsorted(event_times, times + 1e-13).tolist() == counted.tolist()
            seen += event_times.size
    assert seen > 100
