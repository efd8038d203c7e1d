"""Files of coverage: counts that are read as they were written, and reports of them; names of a
program may be a stranger's."""

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st

from pcn.softswitch.coverage.counts import KINDS, Covered, Point
from pcn.softswitch.coverage.files import (
    MOST_BYTES,
    NAMES,
    CoverageError,
    check,
    merge,
    read,
    write,
)
from pcn.softswitch.coverage.lines import by_file
from pcn.softswitch.coverage.source_files import SourceFiles

SOURCE = """\
// state start { transition reject; }
#include "more.p4"
parser P(packet_in p) {
    state start {
        p.extract(h.a);
        p.extract(
            h.b);
        transition select(h.a.x, h.b.y) {
            (1, 2): next;
            (2, 0x0f &&& 0x0f):
                next;
#ifdef OTHER
            (3, _): other;
#endif
            default: accept;
        }
    }
    state next { verify(h.a.x != 0, error.Bad); transition accept; }
}
control C() {
    action set() {
        h.a.x = 1;
    }
    apply { if (h.a.x == 1) set(); }
}
"""
POINTS = (
    Point("state", "start", "", "", 0, 5),
    Point("statement", "start", "extract a", "", 0, 5),
    Point("statement", "start", "extract b", "", 0, 4),
    Point("transition", "start", "0x1, 0x2 -> next", "", 0, 1),
    Point("transition", "start", "0x2, 0xf &&& 0xf -> next", "", 0, 0),
    Point("transition", "start", "default -> accept", "", 0, 3),
    Point("state", "next", "", "", 0, 1),
    Point("statement", "next", "verify", "", 0, 1),
    Point("true", "next", "verify", "", 0, 1),
    Point("false", "next", "verify", "", 0, 0),
    Point("transition", "next", "default -> accept", "", 0, 1),
    Point("true", "ingress", "h.a.x == 1", "x.p4", 24, 0),
    Point("false", "ingress", "h.a.x == 1", "x.p4", 24, 4),
    Point("action", "C.set", "", "", 0, 0),
    Point("statement", "C.set", "h.a.x = 1", "x.p4", 22, 0),
    Point("statement", "NoAction", "x", "/usr/share/p4c/p4include/core.p4", 75, 1),
)
PROGRAM = Covered("x.p4", "0" * 64, POINTS)


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "x.p4").write_text(SOURCE)
    return tmp_path


def test_lines_of_the_parser_are_those_of_the_source(folder: Path):
    """A state, its statements and its cases by what they go to; what #ifdef hides isn't counted."""
    (file,) = by_file([PROGRAM], SourceFiles([folder])).values()
    assert file.name == "x.p4"
    assert file.lines == {4: 5, 5: 5, 6: 4, 9: 1, 10: 0, 15: 3, 18: 1, 22: 0, 24: 4}
    assert file.branches == {
        (4, "transition of start"): {
            "0x1, 0x2 -> next": 1,
            "0x2, 0xf &&& 0xf -> next": 0,
            "default -> accept": 3,
        },
        (18, "verify"): {"true": 1, "false": 0},
        (24, "h.a.x == 1"): {"true": 0, "false": 4},
    }
    assert file.functions == {(4, "start"): 5, (18, "next"): 1}
    assert file.lines_unreached() == [10, 22]
    assert file.sides_not_taken() == [
        (4, "transition of start", "0x2, 0xf &&& 0xf -> next"),
        (18, "verify", "false"),
        (24, "h.a.x == 1", "true"),
    ]


def test_without_the_source_lines_are_those_of_the_json(tmp_path):
    (file,) = by_file([PROGRAM], SourceFiles([tmp_path])).values()
    assert file.lines == {22: 0, 24: 4}


def test_folder_gets_a_file_of_each_kind(folder: Path):
    write(folder / "out", [PROGRAM, PROGRAM], [folder])
    assert {path.name for path in (folder / "out").iterdir()} == set(NAMES.values())
    (both,) = read(folder / "out")
    assert [point.packets for point in both.points] == [2 * point.packets for point in POINTS]
    xml = ElementTree.parse(folder / "out" / "coverage.xml").getroot()
    lines = {line.get("number"): line for line in xml.iterfind(".//class/lines/line")}
    assert lines["24"].get("condition-coverage") == "50% (1/2)"
    assert (xml.get("lines-covered"), xml.get("lines-valid")) == ("7", "9")
    page = (folder / "out" / "coverage.html").read_text()
    assert re.search(r'id="[^"]*-10" class="missed"', page)
    assert re.search(r'id="[^"]*-24" class="part"', page)
    assert not re.search(r'(src|href)="(?!#|data:)', page), "one file"


def test_tracefile_has_lines_and_functions_with_their_sums(folder: Path):
    write(folder / "a.info", [PROGRAM], [folder])
    text = (folder / "a.info").read_text()
    assert f"SF:{folder / 'x.p4'}\n" in text
    assert "\nDA:22,0\n" in text
    assert "\nFNDA:5,start\n" in text
    assert "\nLF:9\nLH:7\nend_of_record\n" in text


LCOV = re.compile(
    r"TN:$|SF:|FN:\d+,|FNDA:\d+,|(FN|BR|L)[FH]:\d+$|BRDA:\d+,\d+,\d+,(-|\d+)$|DA:\d+,\d+$"
    r"|end_of_record$"
)
NAME = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    [
        "x\nend_of_record\nSF:/etc/passwd", "<script>alert(1)</script>", '" onload="', "a\x1b[2J",
        "..", "]]>",
    ]
)  # fmt: skip


@given(
    points=st.lists(
        st.builds(
            Point,
            st.sampled_from(KINDS),
            NAME,
            NAME,
            NAME,
            st.integers(0, 2**31),
            st.integers(0, 2**63),
        ),
        max_size=8,
    ),
    name=NAME,
)
def test_any_names_are_read_back_and_break_no_report(tmp_path_factory, points, name):
    out = tmp_path_factory.mktemp("names")
    covered = Covered(name, "0", tuple(points))
    write(out, [covered])
    assert read(out) == [covered]
    ElementTree.parse(out / "coverage.xml")
    for line in (out / "coverage.info").read_text().splitlines():
        assert LCOV.match(line)
    tags = Tags()
    tags.feed((out / "coverage.html").read_text())
    assert "script" not in tags.found
    assert not tags.handlers


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found: set[str] = set()
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]):
        self.found.add(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def one_program(points: str) -> str:
    return (
        '{"format": "pcn-coverage-1", "programs": [{"program": "x", "json_sha256": "y", "points": '
        f"{points}}}]}}"
    )


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{}", '{"format": "pcn-coverage-2", "programs": []}',
        '{"format": "pcn-coverage-1", "programs": [1]}',
        one_program("[[]]"),
        one_program('[["state", "s", "", "", 0, -1]]'),
        "[" * 100_000, "\xff",
    ],
)  # fmt: skip
def test_what_is_no_counts_is_refused_in_a_line(tmp_path, content):
    path = tmp_path / "counts.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(CoverageError, match=f"^{re.escape(str(path))}: no .*$"):
        read(path)


def test_runs_of_other_points_are_refused():
    other_points = Covered(PROGRAM.program, PROGRAM.digest, POINTS[1:])
    with pytest.raises(CoverageError, match=r"^x.p4 has other points .*: run them"):
        merge([PROGRAM, other_points])


def test_places_that_no_report_can_have_are_named_before_the_run(tmp_path):
    for place, message in (
        ("a.txt", "a file of coverage ends in .json, .info, .xml, .html; a folder gets all"),
        ("none/a.info", "make the folder first"),
    ):
        with pytest.raises(CoverageError, match=re.escape(message)):
            check(tmp_path / place)
    (tmp_path / "d.html").mkdir()
    with pytest.raises(CoverageError, match="Is a directory"):
        check(tmp_path / "d.html")
    check(tmp_path / "new" / "folder")


@pytest.mark.parametrize("name", ["secret", "secret.json", "secret\0.p4", "pipe.p4"])
def test_only_sources_of_p4_are_read(tmp_path, name):
    """A program's JSON names them, which a client may have sent."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "secret.json").write_text("secret")
    os.mkfifo(tmp_path / "pipe.p4")
    assert SourceFiles([tmp_path]).text(name) is None


@pytest.mark.parametrize(
    "text",
    [
        '"' + '\\"' * 500_000,
        "/* " * 500_000,
        "state a {" * 100_000,
        "state a {" + "\nx;" * 300_000 + "}",
        "".join(f'#include "n{number}.p4"\n' for number in range(100_000)),
    ],
    ids=["quotes", "comments", "states", "statements", "includes"],
)
def test_time_to_read_a_source_grows_with_it(tmp_path, text):
    """Seconds; with its square it would be hours, beyond the test's limit."""
    (tmp_path / "x.p4").write_text(text)
    sources = SourceFiles([tmp_path])
    assert sources.with_includes(["x.p4"]) == ["x.p4"]
    assert len(sources.states("x.p4")) == text.startswith("state")


def test_time_of_reports_grows_with_the_counts(folder: Path):
    (folder / "y.p4").write_text("state a { transition select(x) { 1: b; } }")
    points = [Point("state", "a", "", "", 0, 1)]
    points += [Point("transition", "a", f"{number} -> b", "", 0, 1) for number in range(50_000)]
    points += [Point("action", "f", "", "y.p4", number, 1) for number in range(50_000)]
    points += [
        Point(side, "c", f"branch {number}", "y.p4", number, 1)
        for number in range(50_000)
        for side in ("true", "false")
    ]
    write(folder / "out", [Covered("y.p4", "0", tuple(points))], [folder])
    assert "\nFNF:50001\n" in (folder / "out" / "coverage.info").read_text()


def test_counts_of_too_many_bytes_are_refused(tmp_path):
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(CoverageError, match="it has more than 67,108,864 bytes"):
        read(tmp_path / "a.json")


def test_counts_are_lines_of_json(folder: Path):
    write(folder / "a.json", [PROGRAM])
    parsed = json.loads((folder / "a.json").read_text())
    assert parsed["point"] == [*Point._fields]
    assert parsed["programs"][0]["points"][0] == ["state", "start", "", "", 0, 5]
