"""`--top`: a run in virtual time on the terminal has what the page has; it changes no result."""

import json
import os
import pty
import subprocess
from pathlib import Path

import forks
import pytest
from rich.console import Console
from waiting import LIMIT_S

from pcn.base.python_process import python_command
from pcn.experiments import runner
from pcn.p4net.sending import read
from pcn.p4net.tutorials import read_exercise
from pcn.p4net.virtual import VirtualP4
from pcn.top import Screen
from pcn.web.history import History
from pcn.web.p4 import shown_p4
from pcn.web.run import RunOnPage

ROUTER = Path(__file__).resolve().parents[2] / "examples/router"
SETTINGS = ("duration=4ms", "before=500us")


def drawn(screen: Screen) -> str:
    console = Console(width=200, height=80, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(screen.view.draw(200, 80))
    return captured.get()


def latest(history: History) -> dict[str, dict[str, object]]:
    """Returns the last frame's ports by name."""
    number, frame = 0, {}
    while items := history.after(number):
        frame = next(
            (json.loads(item.text) for item in reversed(items) if item.kind == "frame"), frame
        )
        number = items[-1].number
    return {port["port"]: port for port in frame["ports"]}


def test_top_shows_the_newest_frame_of_a_run(tmp_path):
    """All ports, those too that a frame leaves out; of two runs the second."""
    history = History()
    screen = Screen(history)
    assert "looking" in drawn(screen)
    for scheme in ("pcn", "pfc"):
        runner.run(
            "victim", scheme=scheme, clock="virtual", settings=SETTINGS, out=tmp_path / scheme,
            watcher=RunOnPage(history),
        )  # fmt: skip
    screen.take()
    text, ports = drawn(screen), latest(history)
    assert "victim  pfc, virtual time  4.0 ms" in text
    rows = {line.split()[0]: line for line in text.splitlines() if line.startswith("s")}
    assert rows.keys() > ports.keys()
    for name, port in ports.items():
        assert f" {port['queue_bytes'] / 1e3:.1f} " in rows[name]
        assert f" {port['rate_bps'] / 1e9:.2f} " in rows[name]
        assert ("PAUSED" in rows[name]) == port["paused"]
    assert all(row.split()[3].isdigit() or row.split()[3] == "-" for row in rows.values()), (
        "pn is a count"
    )
    screen.view.press("down", 200, 80)
    assert "most" in drawn(screen)
    history.over("the run is over")
    screen.take()
    assert "pfc, virtual time, the run is over" in drawn(screen)


def test_top_shows_any_p4_networks_run():
    history = History()
    screen = Screen(history)
    with VirtualP4(read_exercise(ROUTER)) as network:
        read("h1,h3,rate=9M,length=1000,tos=1").start(network, 20e-3, 1)
        shown_p4(network, 20e-3, None, history).run(20e-3)
    screen.take()
    text, ports = drawn(screen), latest(history)
    assert "Mbit/s" in text
    row = next(line for line in text.splitlines() if line.startswith("s1:3"))
    assert f" {ports['s1:3']['rate_bps'] / 1e6:.2f} " in row
    assert f" {ports['s1:3']['queue_bytes'] / 1e3:.1f} " in row


def test_command_shows_a_run_until_q_and_then_its_report(tmp_path):
    words = ["run", "victim", "--scheme", "pfc", "--clock", "virtual"]
    for setting in SETTINGS:
        words += ["--set", setting]
    alone = forks.run("pcn", *words, "--json", "--out", "alone", cwd=tmp_path)
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "150", "LINES": "50"}
    command = python_command("pcn", *words, "--top", "--out", "shown")
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        seen, pressed = b"", False
        try:
            while True:
                try:
                    seen += os.read(ours, 65536)
                except OSError:  # the terminal's other end is closed
                    break
                if not pressed and b"the run is over" in seen:
                    pressed = True
                    os.write(ours, b"\x1b[Bq")
        finally:
            process.send_signal(2)
            code = process.wait(LIMIT_S)
            os.close(ours)
    assert pressed
    assert code == 0
    screen, _, report = seen.decode().partition("\x1b[?1049l")
    assert "PAUSE" in screen
    assert "Report: " in report
    shown = json.loads((tmp_path / "shown/summary.json").read_text())
    assert shown["packets"] == json.loads(alone.stdout)["packets"]
    assert shown["flows"] == json.loads(alone.stdout)["flows"]


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (
            ("run", "dumbbell", "--top"),
            "--top shows runs in virtual time: add --clock virtual, or paced; `pcn watch` shows",
        ),
        (("run", "dumbbell", "--clock", "virtual", "--top"), "--top draws on a terminal"),
        (("run", "dumbbell", "--clock", "virtual", "--top", "--web"), "--web: not beside --top"),
        (("p4", "run", str(ROUTER), "--top"), "--top: is for the virtual clock alone"),
        (("p4", "run", str(ROUTER), "--clock", "virtual", "--top"), "--top draws on a terminal"),
    ],
)
def test_top_is_refused_where_nothing_could_be_seen(words, refused, tmp_path):
    done = forks.run("pcn", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert refused in done.stderr
