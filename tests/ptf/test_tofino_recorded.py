"""What data-plane tests recorded on the model of Tofino 1 (ptf-tests/recorded/, docs/tofino.md),
again on the embedded switch: the v1model program with the same rule sends the same frames, at the
same times or where the page has a row."""

import lzma
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pcn.hosts import wire

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "ptf-tests/recorded"
SECTION = (
    (ROOT / "docs/tofino.md")
    .read_text(encoding="utf-8")
    .split("### Recorded runs", 1)[1]
    .split("\n## ", 1)[0]
)
QCN = ("qcn", "qcn_in")
MOST_APART = 4  # of 63
Cases = dict[str, Any]
OTHER_TIMES = set(re.findall(r"^\| `(\w+\.\w+)` \|", SECTION, re.MULTILINE))


@pytest.fixture(scope="module")
def both(records: ModuleType, tmp_path_factory) -> dict[str, tuple[Cases, Cases]]:
    """By program: the cases as the embedded switch has them, all in one run, and as the model had.
    Those that leave their program open are pcn_time's."""
    theirs = {
        path.name.partition(".")[0]: records.load(lzma.decompress(path.read_bytes()).decode())
        for path in sorted(RECORDED.glob("*.json.xz"))
    }
    record = tmp_path_factory.mktemp("recorded") / "record"
    names = [name for cases in theirs.values() for name in cases]
    words = [
        sys.executable, str(ROOT / "ptf-tests/run.py"), "--program", "pcn_time", "--record",
        str(record), *names,
    ]  # fmt: skip
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ours = records.read(record.read_text(encoding="utf-8"))
    assert sorted(ours) == sorted(names)
    return {
        program: ({name: ours[name] for name in cases}, cases) for program, cases in theirs.items()
    }


@pytest.mark.parametrize(
    "program",
    sorted({path.name.partition(".")[0] for path in RECORDED.glob("*.json.xz")} - set(QCN)),
)
def test_softswitch_does_as_the_recorded_model(
    program, records: ModuleType, both: dict[str, tuple[Cases, Cases]]
):
    ours, theirs = both[program]
    differences = {name: list(records.differences(ours[name], theirs[name])) for name in theirs}
    other_times = OTHER_TIMES & set(theirs)
    assert {name for name, lines in differences.items() if lines} == other_times, differences
    for name in other_times:
        assert sorted(map(without_time, ours[name].frames)) == sorted(
            map(without_time, theirs[name].frames)
        )
        shared = set(ours[name].counters) & set(theirs[name].counters)
        assert all(
            ours[name].counters[counter] == theirs[name].counters[counter] for counter in shared
        )


@pytest.mark.parametrize("program", QCN)
def test_recorded_messages_are_the_softswitchs_except_the_queue(
    program, both: dict[str, tuple[Cases, Cases]]
):
    """Data is the same, byte by byte, and more of it where a case resumes the chip's port to be
    sampled. Feedback is at most a few of 63 from that of v1model's program, which counts bytes,
    with the packet that is sampled."""
    ours, theirs = both[program]
    for name, case in theirs.items():
        assert not data(ours[name].frames) - data(case.frames), name
        here, there = reported(ours[name].frames), reported(case.frames)
        apart = {key: (here.get(key, 0), there.get(key, 0)) for key in here.keys() | there.keys()}
        assert all(abs(a - b) <= MOST_APART for a, b in apart.values()), (name, apart)
        assert bool(here) == bool(there), name


def packet(line: str):
    """Returns None for a frame that no host decodes."""
    words = re.sub(r" ?\((\d+) B of 0\) ?", lambda run: "00" * int(run[1]), line).rsplit(" ", 1)
    try:
        return wire.decode(bytes.fromhex(words[1]))
    except wire.WireError:
        return None


def data(frames: Iterable[str]) -> Counter[str]:
    """Returns frames with their directions, except messages and PFC."""
    apart = (wire.CnmPacket, wire.PfcFrame)
    return Counter(without_time(frame) for frame in frames if not isinstance(packet(frame), apart))


def reported(frames: Iterable[str]) -> dict[tuple[bytes, int, int], int]:
    """Returns the feedback by the flow's destination, QP and PSN."""
    sent = [packet(frame) for frame in frames if " out of " in frame]
    return {
        (cnm.src_ip, cnm.flow, cnm.psn): cnm.feedback
        for cnm in sent
        if isinstance(cnm, wire.CnmPacket)
    }


def without_time(line: str) -> str:
    return line.split(" ", 1)[1]
