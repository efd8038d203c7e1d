"""`mn --custom topologies/NAME.py`: as Mininet's command reads it, with the system's Python too."""

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
topo = custom["topos"][sys.argv[2]](*map(int, sys.argv[3:]))
print(sorted(topo.hosts()), sorted(topo.switches()), len(topo.links()))
print(topo.port("s0", "s1"), topo.port("h0", "s0"), topo.nodeInfo("h0")["ip"])
"""


def _pythons() -> list[str]:
    system = shutil.which("python3", path="/usr/bin")
    with_mininet = subprocess.run([system or "false", "-c", "import mininet"], capture_output=True, check=False)
    return [sys.executable, *([system] if system and with_mininet.returncode == 0 else [])]


def _topo(python: str, place: Path, name: str, *arguments: str) -> list[str]:
    command = [python, "-c", _LIKE_MN, str(ROOT / "topologies" / f"{name}.py"), name, *arguments]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("python", _pythons())
def test_mininet_reads_the_dumbbell(python: str, tmp_path: Path) -> None:
    assert _topo(python, tmp_path, "dumbbell") == [
        "['h0', 'h1', 'h2', 'r0', 'r1', 'r2'] ['s0', 's1'] 7",
        "(4, 4) (0, 1) 10.0.0.1/16",
    ]
    assert _topo(python, tmp_path, "dumbbell", "1") == [
        "['h0', 'r0'] ['s0', 's1'] 3",
        "(2, 2) (0, 1) 10.0.0.1/16",
    ]


@pytest.mark.parametrize("python", _pythons())
def test_mininet_reads_the_compact_topology(python: str, tmp_path: Path) -> None:
    senders = sorted(f"h{i}" for i in range(16))
    assert _topo(python, tmp_path, "compact") == [
        f"{[*senders, 'r0', 'r1']} ['s0', 's1'] 19",
        "(3, 1) (0, 1) 10.0.0.1/16",
    ]
    assert _topo(python, tmp_path, "compact", "3")[0] == "['h0', 'h1', 'h2', 'r0', 'r1'] ['s0', 's1'] 6"


def _commands() -> list[Path]:
    """Mininet's own command: that of this environment, and the system's."""
    system = [Path("/usr/bin/mn")] if len(_pythons()) > 1 else []
    return [path for path in (Path(sys.executable).with_name("mn"), *system) if path.exists()]


@pytest.mark.root
@pytest.mark.parametrize("mn", _commands(), ids=str)
def test_the_kernel_s_hosts_talk_through_our_switches(mn: Path, tmp_path: Path) -> None:
    """TCP at the rate of the dumbbell's links over k, and in a neighbour table that nobody had to ask for."""
    script = tmp_path / "script"
    script.write_text("r0 iperf -s > /dev/null &\nh0 timeout 30 iperf -c r0 -t 2 -y C\nh0 ip neigh\n")
    command = [mn, "--custom", ROOT / "topologies" / "dumbbell.py", "--topo", "dumbbell,1", "--controller", "none"]
    command += ["--switch", "pcn,k=100", "--test", "none", "--post", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    (measured,) = [line for line in said.splitlines() if ",10.0.0.1," in line]
    bits_per_s = int(measured.split(",")[-1])
    # Links do 100 Mb/s; iperf counts what is in its socket still, and a machine may be busy.
    assert 20e6 < bits_per_s < 150e6, said
    assert "10.0.0.2 dev h0-eth0 lladdr 02:00:00:00:00:02 PERMANENT" in said
    left = [name for name in ("h0-eth0", "s0-eth1", "s1-eth1") if Path("/sys/class/net", name).exists()]
    assert left == []
