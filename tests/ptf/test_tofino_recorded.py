"""What data-plane tests recorded on the model of Tofino 1 (ptf-tests/recorded/, docs/tofino.md), again on the embedded
switch: the v1model program with the same rule sends the same frames, at the same times or where the page has a row."""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "ptf-tests/recorded"
SECTION = (ROOT / "docs/tofino.md").read_text(encoding="utf-8").split("### Recorded runs", 1)[1].split("\n## ", 1)[0]
OTHER_TIMES = set(re.findall(r"^\| `(\w+\.\w+)` \|", SECTION, re.MULTILINE))


@pytest.fixture(scope="module")
def records() -> ModuleType:
    sys.path.insert(0, str(ROOT / "ptf-tests"))
    import records as module

    sys.path.remove(str(ROOT / "ptf-tests"))
    return module


@pytest.mark.parametrize("program", sorted(path.stem for path in RECORDED.glob("*.json")))
def test_softswitch_does_as_the_recorded_model(program: str, records: ModuleType, tmp_path: Path) -> None:
    theirs = records.load((RECORDED / f"{program}.json").read_text(encoding="utf-8"))
    record = tmp_path / "record"
    words = [sys.executable, str(ROOT / "ptf-tests/run.py"), "--program", program, "--record", str(record), *theirs]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ours = records.read(record.read_text(encoding="utf-8"))
    assert set(ours) == set(theirs)
    found = {name: list(records.differences(ours[name], theirs[name])) for name in theirs}
    other_times = OTHER_TIMES & set(theirs)
    assert {name for name, lines in found.items() if lines} == other_times, found
    for name in other_times:
        assert sorted(map(without_time, ours[name].frames)) == sorted(map(without_time, theirs[name].frames))
        shared = set(ours[name].counters) & set(theirs[name].counters)
        assert all(ours[name].counters[one] == theirs[name].counters[one] for one in shared)


def without_time(line: str) -> str:
    return line.split(" ", 1)[1]
