"""`mn --custom topologies/dumbbell.py`: as Mininet's command reads it, with the system's Python too."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
# What mn does with --custom: the file's text, executed without a module around it.
_LIKE_MN = """
import sys
custom = {}
path = sys.argv[1]
exec(compile(open(path).read(), path, "exec"), custom, custom)
topo = custom["topos"]["dumbbell"](*map(int, sys.argv[2:]))
print(sorted(topo.hosts()), sorted(topo.switches()), len(topo.links()))
print(topo.port("s0", "s1"), topo.port("h0", "s0"), topo.nodeInfo("h0")["ip"])
"""


def _pythons() -> list[str]:
    system = shutil.which("python3", path="/usr/bin")
    with_mininet = subprocess.run([system or "false", "-c", "import mininet"], capture_output=True, check=False)
    return [sys.executable, *([system] if system and with_mininet.returncode == 0 else [])]


@pytest.mark.parametrize("python", _pythons())
def test_mininet_reads_the_dumbbell(python: str, tmp_path: Path) -> None:
    def topo(*arguments: str) -> list[str]:
        command = [python, "-c", _LIKE_MN, str(ROOT / "topologies" / "dumbbell.py"), *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()

    assert topo() == [
        "['h0', 'h1', 'h2', 'r0', 'r1', 'r2'] ['s0', 's1'] 7",
        "(4, 4) (0, 1) 10.0.0.1/16",
    ]
    assert topo("1") == ["['h0', 'r0'] ['s0', 's1'] 3", "(2, 2) (0, 1) 10.0.0.1/16"]
