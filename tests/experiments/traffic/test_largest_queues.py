"""The largest queues of a run of traffic: how often it looks, at which ports, and what is kept over
time."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pcn.experiments.data.records import Records
from pcn.experiments.results.over_time import QUEUE, over_time
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.traffic import flows, page
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import parse_spec


def _in_cast(tmp_path: Path, size_bytes: int) -> Traffic:
    file = tmp_path / "flows.csv"
    file.write_text(
        "src,dst,start_s,size_bytes\n" + "".join(f"h{i},r0,0,{size_bytes}\n" for i in range(4))
    )
    return Traffic(parse_spec("star", flows=str(file)))


@pytest.mark.parametrize("size_bytes", [5_000, 200_000, 10_000_000])
def test_run_of_any_length_sees_its_largest_queue(tmp_path, size_bytes):
    plan = _in_cast(tmp_path, size_bytes).plan("pfc", 1, {})
    recording = run_virtual(plan, Silent())
    seen = flows.numbers(plan, recording)["largest_queue_kb"]
    often = Records(queues_s=plan.sampling.queues_s / 16)
    exact = flows.numbers(plan, run_virtual(replace(plan, records=often), Silent()))[
        "largest_queue_kb"
    ]
    assert seen is not None
    assert exact is not None
    assert 0.8 * exact < seen <= exact


@pytest.mark.parametrize("duration_s", [3e-3, 20e-3])
def test_queue_over_time_holds_between_samples(tmp_path, duration_s):
    """Four flows without an end keep r0's queue filled: no bin is empty, whether bins or samples
    are finer."""
    plan = _in_cast(tmp_path, 500_000_000).plan("pfc", 1, {"duration": duration_s})
    times, queue = over_time(run_virtual(plan, Silent()))[QUEUE]
    assert len(times) == len(queue)
    after = np.array(queue)[np.array(times) > 1.0]
    assert after.min() > 0.5 * after.max() > 0


def test_chart_shows_the_ports_with_the_largest_queues():
    """A permutation's queues are in the fabric: each host receives from one other."""
    traffic = Traffic(parse_spec("fat-tree", "W2", "permutation"))
    plan = traffic.plan("pcn", 1, {"count": 100, "load": 0.9})
    recording = run_virtual(plan, Silent())
    chart = page.queues(plan, recording)
    largest = sorted(recording.recorded.queue_max.values(), reverse=True)
    assert [line.y.max() * 1e3 for line in chart.lines] == pytest.approx(
        largest[: len(chart.lines)]
    )
    assert largest[0] > 10e3
    assert {
        line.label.partition(" to ")[0] for line in chart.lines
    } <= recording.recorded.queue_max.keys()
    assert all(line.x[-1] * 1e-3 <= recording.duration_s for line in chart.lines)
