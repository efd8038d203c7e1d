"""docs/tofino.md's tables of the errors of NP-ECN by time: every row has the tests listed here."""

import json
import lzma
import re
from pathlib import Path

import test_np_ecn_rules as rules

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/tofino.md").read_text()
# By how a row begins.
CASES = {
    "The port rested no longer than `gap`": [rules.test_a_pause_shorter_than_the_bound_is_not_seen],
    "All waiting packets had arrived less than `gap` before the RESUME": [
        rules.test_packets_that_come_late_in_a_pause_of_an_empty_queue_are_marked
    ],
    "Classes that go before left without a rest": [
        rules.test_higher_classes_without_rest_hide_a_pause
    ],
    "Another lossless class": [rules.test_two_lossless_classes_hide_each_other_s_pauses],
    "The packet came between the RESUME and the first dequeue after it": [
        rules.test_what_comes_between_resume_and_first_departure_is_taken_for_paused
    ],
    "The packet waited for more than 262 us": [
        rules.test_what_was_in_tofino_s_ingress_pipeline_at_the_resume_is_unmarked,
        rules.test_tofino_s_18_bits_of_waiting_time,
    ],
    "The latest RESUME was 4.29 s ago": [
        rules.test_a_resume_a_wrap_ago_counts_for_as_long_as_packets_wait,
        rules.test_at_a_port_without_any_resume_the_clock_s_zero_counts_for_one,
    ],
    "`gap` is too small": [
        rules.test_a_jumbo_frame_of_a_lower_class_is_no_pause,
        rules.test_a_higher_class_is_no_pause,
        rules.test_a_shaped_port_needs_a_bound_for_its_rate,
    ],
}

# The embedded switch has no such case.
CHIP_ALONE = {"LowerLosslessClassHidesThePause", "FrameOnItsWayDelaysTheResume"}


def documented() -> list[str]:
    section = TEXT[
        TEXT.index("### Errors of the rule") : TEXT.index("### The same rule in v1model")
    ]
    return [
        line[2:]
        for line in section.splitlines()
        if line.startswith("| ") and not line.startswith("| when |")
    ]


def test_every_row_names_its_cases():
    """All cases that show an error are named, and there are no others; those that v1model has are
    recorded."""
    named = [re.findall(r"`(?:(\w+)\.)?(\w+)`", row.split(" | ")[2]) for row in documented()]
    assert [bool(cases) for cases in named] == [
        not row.startswith("The packet waited") for row in CASES
    ]
    named_cases = [(file or "np_ecn_time_errors", name) for cases in named for file, name in cases]
    for file, name in named_cases:
        assert f"class {name}(" in (ROOT / f"ptf-tests/cases/{file}.py").read_text()
    recorded = json.loads(
        lzma.decompress((ROOT / "ptf-tests/recorded/pcn_time.json.xz").read_bytes())
    )
    assert {name for file, name in named_cases if f"{file}.{name}" not in recorded} == CHIP_ALONE
    classes = (ROOT / "ptf-tests/cases/np_ecn_time_errors.py").read_text().split("\nclass ")[1:]
    shown = [
        text.split("(")[0] for text in classes if "def runTest" in text or "hiding_class =" in text
    ]
    assert sorted(shown) == sorted(
        name for file, name in named_cases if file == "np_ecn_time_errors"
    )


def test_every_row_has_its_tests():
    rows = documented()
    assert len(rows) == len(CASES)
    for row, case in zip(rows, CASES, strict=True):
        assert row.startswith(case)
    assert all(tests for tests in CASES.values())
