"""The agents' logs as series."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pcn.experiments.data.series import Series
from pcn.experiments.run.agentlogs import read_logs
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.model import FlowSpec


def read(tmp_path: Path, flows: list[FlowSpec], *logs: list[dict[str, Any]]) -> Series:
    paths = []
    for index, events in enumerate(logs):
        paths.append(tmp_path / f"{index}.jsonl")
        paths[-1].write_text("".join(json.dumps(event) + "\n" for event in events))
    series = Series()
    read_logs(paths, replace(dumbbell(pairs=4), flows=tuple(flows)), series)
    return series


def moved(since: float, t: float, sent: dict[str, int], **received: list[int]) -> dict[str, Any]:
    return {"t": t, "ev": "flows", "since": since, "sent": sent, "received": received}


def test_rates_and_the_algorithm_s_variables(tmp_path):
    events = [
        {"t": -1.0, "ev": "start", "flow": 1, "dst_ip": "10.0.0.2", "rate_bps": 40e9},
        {"t": 0.5, "ev": "rate", "flow": 1, "rate_bps": 20e9, "alpha": 0.5, "target_bps": 40e9},
        {"t": 2.0, "ev": "end", "flow": 1, "packets": 7},
        {"t": 2.0, "ev": "pause", "class": 3, "quanta": 7},
    ]
    series = read(tmp_path, [FlowSpec(1, "h0", "r0")], events)
    times, rates = series.get("flow 1", "rate_bps")
    assert (times.tolist(), rates.tolist()) == ([-1.0, 0.5, 2.0], [40e9, 20e9, 0.0])
    assert series.get("flow 1", "alpha")[1].tolist() == [0.5]
    assert series.get("flow 1", "target_bps")[1].tolist() == [40e9]


def test_a_flow_that_stood_still_for_a_while_isn_t_drawn_as_moving_all_along(tmp_path):
    flow = FlowSpec(1, "h0", "r0", start_s=-1.0)
    events = [moved(-1.0, 0.0, {"1": 100}), moved(0.0, 1.0, {}), moved(1.0, 2.0, {"1": 300})]
    times, totals = read(tmp_path, [flow], events).get("flow 1", "sent_bytes")
    assert (times.tolist(), totals.tolist()) == ([-1.0, 0.0, 1.0, 2.0], [0, 100, 100, 300])


def test_what_came_in_is_counted_in_bytes_packets_and_marks(tmp_path):
    series = read(
        tmp_path, [FlowSpec(1, "h0", "r0")], [moved(0.0, 1.0, {}, **{"1": [5000, 5, 2, 3]})]
    )
    expected = {
        "received_bytes": 5000,
        "received_packets": 5,
        "marked_packets": 2,
        "marked_ue_packets": 3,
    }
    for metric, total in expected.items():
        assert series.get("flow 1", metric)[1].tolist() == [0, total]


def test_flows_of_invented_packets_are_left_out(tmp_path):
    invented = [
        {"t": 0.5, "ev": "np", "flow": 9, "src_ip": "10.6.6.6"},
        moved(0.0, 1.0, {"1": 7}, **{"9": [1, 1, 0, 0]}),
    ]
    series = read(tmp_path, [FlowSpec(1, "h0", "r0")], invented)
    assert series.get("flow 1", "sent_bytes")[1].tolist() == [0, 7]
    assert series.entities("received_bytes") == []


def test_flows_of_a_group_are_summed_over_all_logs(tmp_path):
    flows = [FlowSpec(number, f"h{number}", "r1", group="bursts") for number in (2, 3)]
    series = read(
        tmp_path,
        flows,
        [
            {"t": 0.0, "ev": "start", "flow": 2, "dst_ip": "", "rate_bps": 1},
            moved(0.0, 1.0, {"2": 100}),
        ],
        [moved(0.0, 0.5, {"3": 10}), moved(0.5, 1.5, {"3": 30})],
    )
    times, totals = series.get("bursts", "sent_bytes")
    assert times.tolist() == [0, 0.5, 1, 1.5]
    assert totals.tolist() == pytest.approx([0, 60, 120, 130])
    assert series.get("bursts", "rate_bps")[0].size == 0
    assert series.get("h2:0", "sent_bytes")[1].tolist() == [0, 100], (
        "a host's port has what its flows send"
    )
    assert series.get("h3:0", "sent_bytes")[1].tolist() == [0, 10, 30]
