"""`mn --custom lab/mn.py`: as Mininet's command reads it, with the system's Python too."""

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from own_pids import OWN_PIDS
from waiting import LIMIT_S

from pcn.lab.journal import free_name, names

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parent.parent.parent
# What mn does with --custom: the file's text, executed without a module around it.
_LIKE_MN = """
import sys
custom = {}
path = sys.argv[1]
exec(compile(open(path).read(), path, "exec"), custom, custom)
for line in sys.argv[2:]:
    name, *arguments = line.split(",")
    topo = custom["topos"][name](*(int(text) if text.isdigit() else text for text in arguments))
    print(sorted(topo.hosts()), sorted(topo.switches()), len(topo.links()), end=" ")
    print(topo.port("s0", "s1"), topo.port("h0", "s0"), topo.nodeInfo("h0")["ip"])
"""


def _pythons() -> list[str]:
    system = shutil.which("python3", path="/usr/bin")
    with_mininet = subprocess.run(
        [system or "false", "-c", "import mininet"], capture_output=True, check=False
    )
    return [sys.executable, *([system] if system and with_mininet.returncode == 0 else [])]


@pytest.mark.parametrize("python", _pythons())
def test_mininet_reads_topologies(python, tmp_path):
    """The dumbbell's and the compact one, with and without sizes, and that of a file."""
    (tmp_path / "mine.py").write_text(
        "from pcn.topologies.dumbbell import dumbbell\nMINE = dumbbell(pairs=1)\n"
    )
    topologies = ("dumbbell", "dumbbell,1", "file,mine.py:MINE", "compact", "compact,3")
    command = [python, "-c", _LIKE_MN, str(ROOT / "lab" / "mn.py"), *topologies]
    senders = sorted(f"h{i}" for i in range(16))
    assert subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.splitlines() == [
        "['h0', 'h1', 'h2', 'r0', 'r1', 'r2'] ['s0', 's1'] 7 (4, 4) (0, 1) 10.0.0.1/16",
        *["['h0', 'r0'] ['s0', 's1'] 3 (2, 2) (0, 1) 10.0.0.1/16"] * 2,
        f"{[*senders, 'r0', 'r1']} ['s0', 's1'] 19 (3, 1) (0, 1) 10.0.0.1/16",
        "['h0', 'h1', 'h2', 'r0', 'r1'] ['s0', 's1'] 6 (3, 1) (0, 1) 10.0.0.1/16",
    ]


def _commands() -> list[Path]:
    """Mininet's own command: that of this environment, and the system's."""
    system = [Path("/usr/bin/mn")] if len(_pythons()) > 1 else []
    return [path for path in (Path(sys.executable).with_name("mn"), *system) if path.exists()]


@pytest.mark.root
@pytest.mark.parametrize("mn", _commands()[:1], ids=str)
def test_the_kernel_s_hosts_talk_through_our_switches(mn, tmp_path):
    """TCP no faster than the dumbbell's links over k, and with a neighbour table that needs no ARP
    request."""
    script = tmp_path / "script"
    listening = "until ss -Hltn sport = :5001 | grep -q .; do sleep 0.1; done"
    lines = [
        "r0 iperf -s -w 256K > /dev/null &",
        f"r0 {listening}",
        "h0 iperf -c r0 -w 256K -n 8M -y C",
        "h0 ip -color=never neigh",
    ]
    script.write_text("".join(f"{line}\n" for line in lines))
    command = [
        *OWN_PIDS, mn, "--custom", ROOT / "lab" / "mn.py", "--topo", "dumbbell,1", "--controller",
        "none",
    ]  # fmt: skip
    command += ["--switch", "pcn,k=100", "--test", "none", "--post", script]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=4 * LIMIT_S, check=False
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    (measured,) = [line for line in output.splitlines() if ",10.0.0.1," in line]
    sent_bytes, bits_per_s = map(int, measured.split(",")[-2:])
    assert sent_bytes >= 8 << 20
    # Links do 100 Mbit/s; iperf counts what is in the two sockets still, half a megabyte.
    assert bits_per_s < 115e6, output
    assert "10.0.0.2 dev h0-eth0 lladdr 02:00:00:00:00:02 PERMANENT" in output
    assert not {name for _, name in socket.if_nameindex()} & {"h0-eth0", "s0-eth1", "s1-eth1"}


@pytest.mark.root
@pytest.mark.parametrize("mn", _commands()[-1:], ids=str)
def test_pcn_s_commands_see_a_network_of_mininet_s_command(mn, tmp_path):
    """Whether or not another network of its name is up, it prints its name. One of the commands
    `mn`: their output about the network is the same."""
    run = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from pcn.cli import main; main()"
    pcn = tmp_path / "pcn"
    pcn.write_text(f"#!{sys.executable}\n{run}\n")
    pcn.chmod(0o755)
    name = free_name("dumbbell")
    lines = {
        "status": "status --json",
        "watch": f"watch -n {name} --once --json",
        "link": f"link -n {name} s0 s1 down",
        "counters": f"counters -n {name} s0 in_discards --json --all",
        "set": f"set -n {name} s1 xoff=256KB",
        "log": f"log -n {name} s0",
        "flow": f"flow start -n {name} h0 r0",
        "exec": f"exec -n {name} s0 ip -br link",
        "pcap": f"pcap -n {name} s0 1 --count 6 --json --out s0-1.pcapng",
        "after": "status --json",
    }
    script = tmp_path / "script"
    # Apart: a loaded machine has a line there on the pace.
    commands = [f"sh {pcn} {line} > {stem}.txt 2> {stem}.err" for stem, line in lines.items()]
    # Datagrams that nobody takes: six of them are captured.
    traffic = "h0 while true; do echo x > /dev/udp/10.0.0.2/9; sleep 0.1; done &"
    script.write_text("".join(f"{line}\n" for line in (traffic, *commands)))
    command = [
        *OWN_PIDS, mn, "--custom", ROOT / "lab" / "mn.py", "--topo", "dumbbell,1", "--controller",
        "none",
    ]  # fmt: skip
    command += ["--switch", "pcn,k=100", "--test", "none", "--post", script]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=4 * LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = {line: (tmp_path / f"{line}.txt").read_text() for line in lines}
    (network,) = (record for record in json.loads(outputs["status"]) if record["name"] == name)
    assert (network["state"], network["links_down"]) == ("up", [])
    assert [(node["name"], node["runs"]) for node in network["nodes"]] == [
        ("h0", None), ("s0", True), ("r0", None), ("s1", True),
    ]  # fmt: skip
    assert {port["port"] for port in json.loads(outputs["watch"])["ports"]} == {
        "s0:1",
        "s0:2",
        "s1:1",
        "s1:2",
    }
    assert outputs["link"] == "s0:2 - s1:2 is DOWN\n"
    assert {row["port"] for row in json.loads(outputs["counters"])} == {1, 2}
    assert "256.000" in outputs["set"]
    assert "port 2: interface s0-eth2 is down" in outputs["log"]
    assert "pcn: h0 has no agent" in (tmp_path / "flow.err").read_text()
    assert "s0-eth2" in outputs["exec"]
    captured = json.loads(outputs["pcap"])
    assert (captured["frames"], captured["lost"]) == (6, 0)
    (network,) = (record for record in json.loads(outputs["after"]) if record["name"] == name)
    assert network["links_down"] == ["s0:2 - s1:2"]
    assert name not in names()
