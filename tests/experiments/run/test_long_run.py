"""A run that is longer than its plan: its series stay bounded."""

import pytest

from pcn.experiments.data import records
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.run import virtual
from pcn.experiments.run.progress import Silent


def test_series_of_a_long_run_are_bounded_and_their_sums_exact(monkeypatch):
    plan = SCENARIOS["dumbbell"].plan("pcn", 1, {"duration": 30e-3})
    whole = virtual.run_virtual(plan, Silent())
    monkeypatch.setattr(records, "_MOST_VALUES", 0)
    monkeypatch.setattr(records, "_FEWEST_SAMPLES", 8)
    bounded = virtual.run_virtual(plan, Silent())
    entity = f"{plan.topology.hosts[0].name}:0"
    times, values = bounded.series.get(entity, "sent_bytes")
    every, at_each = whole.series.get(entity, "sent_bytes")
    assert 4 <= times.size <= 8 < every.size
    assert (
        dict(zip(times, values, strict=True)).items()
        <= dict(zip(every, at_each, strict=True)).items()
    )
    assert [flow.sent_bytes for flow in bounded.flows] == [flow.sent_bytes for flow in whole.flows]
    note = "Series have a value each 8 ms"
    assert [any(note in text for text in run.notes) for run in (bounded, whole)] == [True, False]


@pytest.mark.parametrize(
    ("sources", "samples"),
    [(0, 2**24), (1000, 16776), (2**15, 512), (2**18, 512), (2**20, 128), (2**24, 16)],
)
def test_samples_in_memory_take_a_gigabyte_at_most_up_to_eight_million_sources(sources, samples):
    assert records.most_samples(sources) == samples
    assert sources > 2**23 or 8 * sources * samples <= 2**30
