"""Coverage of networks' runs: one report of all switches, on both clocks."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import forks
import pytest
from waiting import wait_until

from pcn.p4net import sending
from pcn.p4net.errors import P4NetError
from pcn.p4net.tutorials import read_exercise
from pcn.p4net.virtual import VirtualP4
from pcn.softswitch.coverage.files import read

ROUTER = Path(__file__).parents[2] / "examples/router"


def packets(place: Path) -> dict[tuple[str, str, str], int]:
    (covered,) = read(place)
    return {(point.kind, point.name, point.text): point.packets for point in covered.points}


def test_counts_are_of_all_switches_and_stop_nothing():
    """Each of the three hosts' datagrams passes two switches where its way has two."""
    network = read_exercise(ROUTER)
    digests = []
    for covered in (False, True):
        with VirtualP4(network, covered=covered) as simulation:
            sending.each_to_each(simulation)
            simulation.run(until_s=1.0)
            totals = simulation.totals()
            digests.append(totals.digest)
            programs = simulation.coverage()
            assert simulation.coverage() == programs, "reading changes nothing"
    assert digests[0] == digests[1]
    (program,) = programs
    counts = {(point.kind, point.name): point.packets for point in program.points}
    assert counts["state", "start"] == counts["hit", "RouterIngress.routes"] == totals.traversals
    assert counts["action", "RouterIngress.forward"] == totals.traversals


def test_command_writes_what_the_file_ends_in(tmp_path):
    words = ["pcn", "p4", "run", str(ROUTER), "--clock", "virtual", "--send", "h1,h3", "--coverage"]
    for name in ("a.json", "b.json", "all"):
        done = forks.run(*words, str(tmp_path / name))
        assert done.returncode == 0, done.stderr
    assert packets(tmp_path / "a.json")["state", "start", ""] == 2
    assert packets(tmp_path / "all") == packets(tmp_path / "a.json")
    merge = ["pcn", "p4", "coverage", *(str(tmp_path / f"{name}.json") for name in "ab"), "--json"]
    merged = forks.run(*merge, "--out", str(tmp_path / "c.json"))
    assert packets(tmp_path / "c.json")["state", "start", ""] == 4
    (file,) = json.loads(merged.stdout)
    assert file["file"] == "examples/router/router.p4"
    assert file["lines_reached"] == file["lines"] - len(file["lines_unreached"])
    assert {"line": 130, "branch": "table routes", "side": "miss"} in file["sides_not_taken"]


def test_least_share_of_lines_is_an_exit_code(tmp_path):
    counts = tmp_path / "a.json"
    words = ["pcn", "p4", "run", str(ROUTER), "--clock", "virtual", "--coverage", str(counts)]
    assert forks.run(*words).returncode == 0
    merge = ["pcn", "p4", "coverage", str(counts)]
    assert forks.run(*merge, "--least", "10").returncode == 0
    few = forks.run(*merge, "--least", "100")
    assert few.returncode == 3
    assert "lines were reached, less than 100 %" in few.stdout + few.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", str(ROUTER), "--clock", "virtual", "--coverage", "x.txt"], "ends in .json, .info"),
        (["coverage", "examples/router/router.json"], "no counts of coverage"),
    ],
)
def test_what_is_refused(words, message):
    done = forks.run("pcn", "p4", *words)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_place_is_checked_before_the_run(tmp_path):
    from pcn.p4net.coverage import Coverage

    with pytest.raises(P4NetError, match="make the folder first"):
        Coverage(tmp_path / "none" / "a.html", [ROUTER])


@pytest.mark.root
def test_live_network_writes_its_coverage_as_it_ends(tmp_path):
    """A ping passes both switches, there and back; its program isn't left without its last
    packets."""
    out = tmp_path / "out.json"
    command = [sys.executable, "-m", "pcn", "p4"]
    words = [*command, "run", str(ROUTER), "--name", "covered", "--logs", str(tmp_path / "logs")]
    with subprocess.Popen(
        [*words, "--coverage", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            lines = iter(process.stdout.readline, "")
            assert any("covered is up" in line for line in lines)
            ping = [*command, "exec", "--network", "covered", "h1", "ping", "-c1", "10.0.3.3"]
            subprocess.run(ping, check=True, capture_output=True)
        finally:
            process.send_signal(signal.SIGINT)
            process.stdout.read()
    wait_until(out.exists, "the report")
    counts = packets(out)
    assert counts["hit", "RouterIngress.routes", ""] >= 4
    assert counts["transition", "parse_ipv4", "default -> accept"] >= 4
