"""docs/tofino.md's tables of the differences of TCD by time: every row has the tests listed
here."""

import sys
from pathlib import Path

import test_tcd_time_rules as rules

sys.path.insert(0, str(Path(__file__).parents[1] / "tofino"))

import test_tofino_tcd as red

TEXT = (Path(__file__).parents[2] / "docs/tofino.md").read_text()
# By how a row begins.
CASES = {
    "The port rested no longer than `gap`": [rules.test_a_pause_shorter_than_the_bound_is_not_seen],
    "No packet waited at the RESUME": [rules.test_a_resume_that_no_packet_waited_for_is_not_seen],
    "Classes that go before left without a rest": [
        rules.test_higher_classes_without_rest_hide_a_pause
    ],
    "Another lossless class": [rules.test_two_lossless_classes_hide_each_other_s_pauses],
    "The RESUME was detected later": [rules.test_a_resume_is_seen_at_the_first_departure_after_it],
    "`gap` is too small": [rules.test_a_class_that_goes_before_and_is_not_known_makes_a_resume],
    "Nothing left an undetermined port": [rules.test_a_look_that_is_due_for_a_wrap_is_put_off],
    "A packet that waited more than `gap` leaves 4.29 s": [
        rules.test_a_resume_is_shown_again_a_wrap_later
    ],
    "Frames have different lengths": [rules.test_a_queue_in_cells_may_fall_where_its_bytes_do_not],
    "The probability rises in steps": [red.test_a_step_is_half_a_step_from_the_line_at_most],
}


def test_every_row_has_its_tests():
    section = TEXT[TEXT.index("### Differences of TCD") : TEXT.index("### TCD by time in v1model")]
    rows = [
        line[2:]
        for line in section.splitlines()
        if line.startswith("| ") and not line.startswith("| when |")
    ]
    assert len(rows) == len(CASES)
    for row, case in zip(rows, CASES, strict=True):
        assert row.startswith(case)
    assert all(tests for tests in CASES.values())
