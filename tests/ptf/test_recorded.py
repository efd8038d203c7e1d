"""Records of data-plane tests as values (ptf-tests/records.py)."""

from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, strategies as st

ROOT = Path(__file__).resolve().parents[2]
RECORD = """== np_ecn.One
0.000000000 into 1: 02 (20 B of 0)
0.008000000 out of 4: 02ff
marked {35: 11}
dropped {}
== np_ecn.Two
0.000000000 into 2: 03
marked {}
"""


def test_recorded_keeps_frames_and_counters(records: ModuleType):
    cases = records.read(RECORD)
    assert list(cases) == ["np_ecn.One", "np_ecn.Two"]
    assert cases["np_ecn.One"].frames == (
        "0.000000000 into 1: 02 (20 B of 0)",
        "0.008000000 out of 4: 02ff",
    )
    assert cases["np_ecn.One"].counters == {"marked": {35: 11}, "dropped": {}}


@given(
    frames=st.lists(
        st.from_regex(r"[0-9]\.[0-9]{9} (into|out of) [1-4]: [0-9a-f]{2,8}", fullmatch=True),
        max_size=4,
    ),
    cells=st.dictionaries(st.integers(0, 4095), st.integers(1), max_size=3),
)
def test_recorded_reads_back_what_it_wrote(frames, cells, records: ModuleType):
    cases = {"a.B": records.Case(tuple(frames), {"marked": cells})}
    assert records.load(records.dump(cases)) == cases
    assert list(records.differences(cases["a.B"], cases["a.B"])) == []


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            "02ff",
            "02fe",
            "out of 4, frame 0 of 1 and 1: 0.008000000 out of 4: 02ff | 0.008000000 out of 4: 02fe",
        ),
        ("0.008000000", "0.009000000", "out of 4, frame 0 of 1 and 1"),
        (
            "0.008000000 out of 4: 02ff\n",
            "",
            "out of 4, frame 0 of 1 and 0: 0.008000000 out of 4: 02ff | nothing",
        ),
        ("{35: 11}", "{35: 12}", "marked: {35: 11} | {35: 12}"),
        ("dropped {}", "held {3: 1}", None),  # a counter that one of them lacks
    ],
)
def test_recorded_names_what_differs(old, new, line, records: ModuleType):
    pair = [records.read(text)["np_ecn.One"] for text in (RECORD, RECORD.replace(old, new))]
    differences = list(records.differences(*pair))
    assert len(differences) == (line is not None)
    assert line is None or differences[0].startswith(line)
