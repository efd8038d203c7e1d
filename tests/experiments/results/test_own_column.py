"""What docs/ARCHITECTURE.md promises: a column of summary.json, a port's counter and a page each
are one declaration."""

import json
from collections.abc import Iterator
from dataclasses import fields, make_dataclass
from pathlib import Path

import pytest
from fluid import fluid
from summary_shape import mismatches

from pcn.experiments.data.recording import PortRecord
from pcn.experiments.page import write_run
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.results import summary
from pcn.experiments.results.columns import Column
from pcn.experiments.results.judged_run import Result

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.fixture
def result() -> Result:
    plan = SCENARIOS["dumbbell"].plan("pcn", 1, {"duration": 30e-3})
    return Result(SCENARIOS["dumbbell"], plan, fluid(plan))


@pytest.fixture
def packet_bytes() -> Iterator[Column]:
    """A further column of flows: one declaration."""
    column = Column(
        "packet_bytes",
        float | None,
        "mean payload of a packet, bytes; null: none was sent",
        lambda flow: (
            flow.record.sent_bytes / flow.record.sent_packets if flow.record.sent_packets else None
        ),
    )
    summary.FLOW.append(column)
    yield column
    summary.FLOW.remove(column)


def test_column_declared_once_is_written_checked_and_documented(
    packet_bytes: Column, result: Result, tmp_path
):
    assert write_run.write_run(result, tmp_path)
    written = json.loads((tmp_path / "summary.json").read_text())
    assert [flow["packet_bytes"] for flow in written["flows"]] == [
        flow.sent_bytes / flow.sent_packets for flow in result.recording.flows
    ]
    assert mismatches(written) == []
    assert (
        f"| `flows[].packet_bytes` | number or null | {packet_bytes.meaning} |"
        in summary.documentation()
    )
    written["flows"][1]["packet_bytes"] = "many"
    del written["flows"][2]["packet_bytes"]
    assert mismatches(written) == [
        "flows[1].packet_bytes has the type str",
        "flows[2].packet_bytes is missing",
    ]


def test_page_of_documentation_has_the_declared_columns():
    assert summary.documentation() in (DOCS / "summary.md").read_text(), (
        "python -m pcn.experiments.results.summary prints the table of docs/summary.md"
    )


def test_field_of_port_record_names_the_counter_that_runners_sample():
    dataclass = make_dataclass("Own", [("trimmed", int, 0)], bases=(PortRecord,), frozen=True)
    assert PortRecord.marks() == ("marked", "marked_ue", "notified")
    assert dataclass.marks() == (*PortRecord.marks(), "trimmed")
    assert {field.name for field in fields(PortRecord)} - {"rate_bps"} <= {
        column.name for column in summary.PORT
    }


def test_page_added_by_name_is_written_beside_the_report(result: Result, tmp_path, monkeypatch):
    monkeypatch.setitem(
        write_run.PAGES,
        "flows.html",
        lambda results, *_: f"<p>{len(results[0].recording.flows)}</p>",
    )
    assert write_run.write_run(result, tmp_path)
    assert (tmp_path / "flows.html").read_text() == f"<p>{len(result.recording.flows)}</p>"
    assert (tmp_path / "report.html").exists()
