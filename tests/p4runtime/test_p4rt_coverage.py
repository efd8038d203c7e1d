"""`softswitch --coverage`: what packets ran through, written at the switch's end, over programs
that are loaded anew."""

import subprocess
from pathlib import Path

import pytest
from p4rt_process import COMMAND, Process

from pcn.base.priority import REFUSED
from pcn.controller.programs import Program
from pcn.controller.switch import SwitchClient
from pcn.softswitch.clock import ManualClock
from pcn.softswitch.coverage.files import read

ROUTER = Path(__file__).parents[2] / "examples/router/router.json"
PORTS = ("--clock", "manual", "-i", "1", "-i", "2")


def entered(place: Path) -> int:
    (covered,) = read(place)
    return next(p.packets for p in covered.points if (p.kind, p.name) == ("state", "start"))


def test_counts_go_on_where_the_program_is_loaded_anew(tmp_path):
    place = tmp_path / "out.json"
    switch = Process(str(ROUTER), *PORTS, "--device-id", "1", "--coverage", str(place))
    address = f"127.0.0.1:{switch.port}"
    clock = ManualClock(address)
    clock.send(1, bytes(60))
    client = SwitchClient.connect("s1", address, 1)
    client.become_primary()
    for _ in range(2):
        client.set_pipeline(Program.find(str(ROUTER)))
        clock.send(2, bytes(60))
    client.close()
    clock.close()
    assert not place.exists(), "it is written at the end"
    assert switch.end() == 0
    assert entered(place) == 3


def test_place_that_goes_away_is_named_at_the_end(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    switch = Process(str(ROUTER), *PORTS, "--coverage", str(folder / "out.json"))
    folder.rmdir()
    assert switch.end() == 1
    assert "No such file or directory: make the folder first" in switch.lines[-1]


@pytest.mark.parametrize("name", ["out.txt", "none/out.json"])
def test_place_is_refused_at_the_start(tmp_path, name):
    done = subprocess.run(
        [*COMMAND, "--no-p4", *PORTS, "--coverage", str(tmp_path / name)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    (line,) = (line for line in done.stderr.splitlines() if REFUSED not in line)
    assert line.startswith(f"softswitch: --coverage {tmp_path / name}: ")
