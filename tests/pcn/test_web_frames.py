"""The live page's frames have what a run recorded, while it goes on and from its folder; watching
changes no result."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pcn.base.errors import LabError
from pcn.experiments import runner
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.frames import Frame, Frames, edges, interval
from pcn.experiments.data.records import Records
from pcn.experiments.data.series import Series
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.results.stored_run import read_run
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.topologies.dumbbell import dumbbell
from pcn.web.history import History
from pcn.web.run import RunOnPage

SETTINGS = {"duration": 4e-3, "before": 0.5e-3}


class Recorded(History):
    """Keeps what is added, as it is given."""

    def __init__(self):
        super().__init__()
        self.networks: list[dict[str, Any]] = []
        self.frames: list[Frame] = []

    def begin(self, network: dict[str, Any]):
        self.networks.append(network)

    def add(self, frame: Frame):
        self.frames.append(frame)


@pytest.fixture(scope="module")
def victim(tmp_path_factory) -> tuple[Path, Recorded]:
    """A run with PAUSE, and what its page got meanwhile."""
    place, page = tmp_path_factory.mktemp("kept") / "victim", Recorded()
    runner.run(
        "victim", scheme="pfc", clock="virtual", settings=["duration=4ms", "before=500us"],
        out=place,
        records=Records(queues_s=50e-6), watcher=RunOnPage(page),
    )  # fmt: skip
    return place, page


def test_page_of_run_gets_what_its_folder_keeps(victim: tuple[Path, Recorded]):
    place, page = victim
    run = read_run(place)
    read = list(run.frames())
    assert [network["name"] for network in page.networks] == [run.topology.name]
    assert len(read) == len(page.frames) > 20
    assert any(port["paused"] for frame in read for port in frame["ports"])
    for now, later in zip(page.frames, read, strict=True):
        assert now["time_s"] == pytest.approx(later["time_s"], abs=1e-12)
        for kind in ("ports", "flows", "hosts"):
            assert len(now[kind]) == len(later[kind]) > 0
            key = {"ports": "port", "flows": "id", "hosts": "port"}[kind]
            by_key = {row[key]: row for row in later[kind]}
            for row in now[kind]:
                for name, value in row.items():
                    if isinstance(value, float):  # edges of frames are the same but for rounding
                        expected = by_key[row[key]][name]
                        assert value == pytest.approx(
                            expected, rel=1e-9, abs=1e-3 if "bps" in name else 1e-6
                        ), name
                    else:
                        assert value == by_key[row[key]][name]


def test_group_ends_when_all_of_it_has_arrived(victim: tuple[Path, Recorded]):
    """It waits until the first byte arrives, is idle where none does, and sends otherwise."""
    place, page = victim
    sizes: dict[str, int] = {}
    for flow in read_run(place).topology.flows:
        sizes[flow.group] = sizes.get(flow.group, 0) + (flow.size_bytes or 0)
    del sizes[""]
    assert sizes
    for group, size in sizes.items():
        arrived, states = 0.0, []
        for frame in page.frames:
            (row,) = (row for row in frame["flows"] if row["id"] == group)
            new = row["goodput_bps"] * frame["over_s"] / 8
            arrived += new
            state = "ended" if arrived > size - 1 else "sending" if new > 0.5 else "idle"
            states.append("waiting" if arrived < 0.5 else state)
            assert row["state"] == states[-1]
        assert {"waiting", "sending", "ended"} <= set(states)


def test_frames_add_up_to_counters(victim: tuple[Path, Recorded]):
    place, page = victim
    run = read_run(place)
    summary = json.loads((place / "summary.json").read_text())
    for name in summary["ports"]:
        times, total = run.series.get(name, "transmitted_bytes")
        until = np.interp(page.frames[-1]["time_s"], times, total)
        sent = sum(
            port["rate_bps"] * frame["over_s"] / 8
            for frame in page.frames
            for port in frame["ports"]
            if port["port"] == name
        )
        assert until - total[0] - 1058 <= sent <= until - total[0] + 1e-3, "a frame is under way"
        times, waiting = run.series.get(name, "queue_bytes")
        for frame in page.frames[:: len(page.frames) // 7]:
            (port,) = [port for port in frame["ports"] if port["port"] == name]
            if not run.series.get(name, "waiting_bytes")[0].size:
                assert (
                    port["queue_bytes"]
                    == waiting[np.searchsorted(times, frame["time_s"] + 1e-12, side="right") - 1]
                )
    for link, counts in summary["pfc"]["links"].items():
        sent = sum(
            port["pauses_sent_per_s"] * frame["over_s"]
            for frame in page.frames
            for port in frame["ports"]
            if port["link"] == link
        )
        assert sent == pytest.approx(counts["pause"], abs=1e-6)


def test_watched_run_records_the_same():
    plan = SCENARIOS["dumbbell"].plan("pcn", 1, {"duration": 3e-3, "pairs": 2})
    alone, watched = (
        run_virtual(plan, Silent()),
        run_virtual(plan, Silent(), watcher=RunOnPage(Recorded())),
    )
    assert watched.flows == alone.flows
    assert watched.ports == alone.ports
    assert set(watched.series) == set(alone.series)
    for key in alone.series:
        for expected, recorded in zip(
            alone.series.get(*key), watched.series.get(*key), strict=True
        ):
            assert np.array_equal(expected, recorded)


@settings(max_examples=10)  # judges/fuzz/fuzz_results.py does it for hours
@given(st.integers(0, 2**32 - 1))
def test_folder_with_damage_is_read_or_refused(victim: tuple[Path, Recorded], seed):
    place, _ = victim
    random = np.random.default_rng(seed)
    name = ("summary.json", "topology.json", "series.parquet", "queues.parquet")[seed % 4]
    whole = (place / name).read_bytes()
    damaged = bytearray(whole)
    for at in random.integers(0, len(whole), 1 + seed % 5):
        damaged[at] = int(random.integers(0, 256))
    refused = ""
    try:
        (place / name).write_bytes(bytes(damaged))
        for frame in read_run(place).frames():
            json.dumps(frame, allow_nan=False)
    except LabError as error:
        refused = str(error)
    finally:
        (place / name).write_bytes(whole)
    assert len(refused.splitlines()) <= 1


@pytest.mark.parametrize(
    ("time_s", "value"), [(1.0, 1e308), (1.0, np.nan), (1e300, 1.0), (np.nan, 1.0)]
)
def test_series_beyond_what_runs_have_are_refused(
    victim: tuple[Path, Recorded], tmp_path, time_s, value
):
    place, _ = victim
    path = Path(shutil.copytree(place, tmp_path / "made"))
    series = read_run(place).series
    series.add(time_s, "flow 9", "received_bytes", value)
    with (path / "series.parquet").open("wb") as file:
        series.write(file)
    with pytest.raises(
        ExperimentError,
        match="flow 9, received_bytes: a time or a value is no number, or too large",
    ):
        read_run(path)


def test_folder_without_run_is_refused(tmp_path):
    with pytest.raises(ExperimentError, match=r"has no summary\.json: name the folder of one run"):
        read_run(tmp_path)


@given(st.floats(-1, 1), st.floats(0, 1e6), st.floats(1e-9, 1e9))
def test_frames_of_any_run_are_bounded_and_in_order(start_s, lasts_s, least_s):
    every_s = interval(start_s, start_s + lasts_s, least_s, dumbbell())
    times = edges(start_s, start_s + lasts_s, every_s)
    assert len(times) <= 1501
    assert (np.diff(times) > 0).all()
    assert times[0] == start_s
    assert times[-1] <= start_s + lasts_s + 1e-5 * every_s
    assert len(list(Frames(dumbbell(), ()).between(Series(), times))) == len(times) - 1


def test_flow_may_send_what_its_own_limit_leaves(victim: tuple[Path, Recorded]):
    """The scenario holds F0 and F1 at 20 Gbit/s with PFC alone, whose scheme leaves the line's
    rate."""
    _, page = victim
    rates = {
        flow["rate_bps"] for frame in page.frames for flow in frame["flows"] if flow["id"] in (0, 1)
    }
    assert max(rate for rate in rates if rate is not None) == 20e9


def test_no_port_sends_faster_than_its_link(victim: tuple[Path, Recorded]):
    """Each frame has as many readings of its counters as the others, however long the run is."""
    _, victim_page = victim
    largest = max(port["utilisation"] for frame in victim_page.frames for port in frame["ports"])
    plan = SCENARIOS["dumbbell"].plan("pcn", 1, {"duration": 0.45})
    page = Recorded()
    run_virtual(plan, Silent(), watcher=RunOnPage(page))
    assert len(page.frames) > 200
    frame_s = plan.frame_bytes * 8 / plan.capacity_bps  # one may begin before and end in it
    over_s = min(frame["over_s"] for frame in page.frames)
    for most in (
        largest,
        max(port["utilisation"] for frame in page.frames for port in frame["ports"]),
    ):
        assert 0.9 < most <= 1 + 2 * frame_s / over_s
