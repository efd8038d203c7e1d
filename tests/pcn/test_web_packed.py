"""A recording packed for the page comes back as it was, to what the page shows."""

import base64
import json
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pcn.experiments.data.frames import FrameColumns
from pcn.web.history import port_in_use
from pcn.web.packed import packed

_EXACT = 2**53 - 1
NUMBERS = st.one_of(st.none(), st.floats(0, 1e12), st.integers(0, 10**9))
FLAGS = st.booleans()


def unpacked(text: str) -> dict[str, Any]:
    """Returns times and, by kind, rows of lists: what the page's script does."""
    packed_frames = json.loads(zlib.decompress(base64.b64decode(text)))
    count = len(packed_frames["time_s"])

    def rows(kind: str) -> list[dict[str, list[Any]]]:
        fields = packed_frames[kind]["fields"]
        table = [{} for _ in range(packed_frames[kind]["count"])]
        for name, field in fields.items():
            for place, row in enumerate(table):
                if "is" in field:
                    row[name] = [field["is"]] * count
                    continue
                steps = field["rows"][place]
                total, row[name] = 0, []
                for step in [*steps, *[0] * (count - len(steps))]:
                    total += step or 0
                    number = field["of"][total] if "of" in field else total / field["per"]
                    row[name].append(None if step is None else number)
        return table

    kinds = {kind: rows(kind) for kind in ("ports", "flows", "hosts")}
    return {"time_s": packed_frames["time_s"], "over_s": packed_frames["over_s"], **kinds}


@st.composite
def recordings(draw: st.DrawFn) -> FrameColumns:
    frames = draw(st.integers(1, 5))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=frames, max_size=frames))

    ports = [
        {
            "port": [f"s{number}:1"] * frames,
            "queue_bytes": column(st.one_of(st.none(), st.integers(0, 10**9))),
            "queue_packets": column(st.one_of(st.none(), st.integers(0, 10**6))),
            "rate_bps": column(st.floats(0, 1e12)),
            "utilisation": column(st.floats(0, 1)),
            "marked_share": column(st.one_of(st.none(), st.floats(0, 1))),
            "pauses_sent_per_s": column(st.floats(0, 1e6)),
            "pauses_received_per_s": column(st.floats(0, 1e6)),
            "pn": column(NUMBERS),
            "lost": column(st.one_of(st.none(), st.integers(0, 10**6))),
            "paused": column(FLAGS),
            "pausing": column(FLAGS),
            "up": column(FLAGS),
            "kept_pace": column(FLAGS),
        }
        for number in range(draw(st.integers(0, 4)))
    ]
    flows = [
        {"id": [number] * frames, "state": column(st.sampled_from(["sending", "ended", "<b>"]))}
        for number in range(draw(st.integers(0, 3)))
    ]
    times = np.arange(1, frames + 1) * 1e-4
    return FrameColumns(times.tolist(), [1e-4] * frames, ports, flows, [])


STEPS = {"_bps": 500.0, "_share": 5e-5, "utilisation": 5e-5}
"""Half of what is kept of a number, of others half of 1."""


@given(recordings())
def test_packed_recording_comes_back(columns):
    back = unpacked(packed(columns))
    assert back["time_s"] == columns.time_s
    assert back["over_s"] == columns.over_s
    count = len(columns.time_s)
    used = {
        port["port"][0]: [
            port_in_use({name: values[number] for name, values in port.items()})
            for number in range(count)
        ]
        for port in columns.ports
    }
    by_name = {port["port"][0]: port for port in columns.ports}
    names = [row["port"][0] for row in back["ports"]]
    assert names == [name for name, frames in used.items() if any(frames)]
    for row in back["ports"]:
        port = by_name[row["port"][0]]
        assert row.pop("in_use") == used[row["port"][0]]
        assert row.keys() == port.keys()
        for name, values in row.items():
            most = next((step for end, step in STEPS.items() if name.endswith(end)), 0.5)
            for value, expected in zip(values, port[name], strict=True):
                if expected is None or isinstance(expected, (bool, str)):
                    assert value is expected or value == expected
                else:
                    assert value == pytest.approx(expected, abs=most * 1.001, rel=1e-12)
    assert [flow["state"] for flow in back["flows"]] == [flow["state"] for flow in columns.flows]


@pytest.mark.parametrize("value", [1e300, -1e300, 2.0**63])
def test_numbers_beyond_any_run_stay_whole_numbers(value):
    """A hostile folder has them: they end at what a page's numbers hold."""
    columns = FrameColumns([0.1, 0.2], [0.1, 0.1], [], [{"id": [1, 1], "pn": [value, 0]}], [])
    (flow,) = unpacked(packed(columns))["flows"]
    assert abs(flow["pn"][0]) == _EXACT
    assert flow["pn"][1] == 0


def test_recording_without_frames_is_empty():
    back = unpacked(packed(FrameColumns([], [], [], [], [])))
    assert back == {"time_s": [], "over_s": [], "ports": [], "flows": [], "hosts": []}
