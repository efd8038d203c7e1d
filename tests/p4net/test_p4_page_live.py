"""The page of a live P4 network, `pcn p4 run DIR --web`: it shows what the switches count, whatever
they run."""

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import needs
import pytest
from axe import violations
from browser import Browser
from exercise import IPS, write_exercise
from pages import command, rows
from waiting import LIMIT_S, wait_until

from pcn.base.python_process import python_command
from pcn.controller import interface_counters
from pcn.lab import journal as records
from pcn.lab.attach import Attached, attach
from pcn.lab.observe import Observer

pytestmark = pytest.mark.root
NAME = f"p4-page-{os.getpid()}"
LOG = "$('#log').textContent"
UNITS = (
    "$$('#ports th').map(header => header.textContent)"
    ".filter(text => text.includes('bit/s')).join()"
)


@contextmanager
def page_of_router(folder: Path, *words: str) -> Iterator[str]:
    """Yields the page's address. Towards h1, s1 sends a packet a second."""
    needs.program("ping", needs.PING)
    place = write_exercise(folder / "exercise", cli_input="commands")
    (place / "commands").write_text("set_queue_rate 1 1")
    command = python_command(
        "pcn", "p4", "run", str(place), "-n", NAME, "--logs", str(folder / "logs"), *words
    )
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield next(line.strip() for line in process.stdout if line.startswith("http"))
        finally:
            process.send_signal(signal.SIGINT)
            code = process.wait(LIMIT_S)
    assert code == 128 + signal.SIGINT
    assert NAME not in records.names()


def ping(lab: Attached, src: str, dst: str, count: int):
    """Sends requests; answers may be late."""
    words = ["ping", "-c", str(count), "-i", "0.01", "-W", "0.1", IPS[dst]]
    enter = ["nsenter", "-t", str(lab.record.nodes[src].shell.pid), "-n"]
    subprocess.run([*enter, *words], capture_output=True, timeout=LIMIT_S, check=False)


def waiting(lab: Attached) -> int:
    counted = interface_counters.read(lab.switches["s1"])
    return counted[1].queued_packets


def octets(lab: Attached) -> dict[str, int]:
    return {
        f"{name}:{port}": counts.out_bytes
        for name, client in lab.switches.items()
        for port, counts in (interface_counters.read(client) or {}).items()
    }


def test_live_p4_page_shows_queues_and_runs_commands(chromium: Browser, tmp_path):
    with page_of_router(tmp_path, "--web", "--control") as url, attach(NAME) as lab:
        chromium.open(url, 1400)
        ping(lab, "h1", "h3", 40)
        wait_until(
            lambda: (
                0 < waiting(lab) == rows(chromium, "ports").get("s1:1", {}).get("queue_packets")
            ),
            "the queue",
        )
        drawn = "$$('#network circle.queue title').map(title => title.textContent).join()"
        assert "packets wait" in chromium.ask(drawn)
        assert rows(chromium, "flows").keys() == IPS.keys()
        assert chromium.ask(UNITS) == "sends Mbit/s"
        command(chromium, "link s1 s2 down")
        row = "($('#ports tr[data-id=\"s2:1\"]') || {}).textContent || ''"
        wait_until(lambda: "DOWN" in chromium.ask(row), "the link in the table")
        for words, answer in (
            ("set s1 1 xoff=1KB", "no setting 'xoff'"),
            ("flow start h1 h3", "h1 has no agent"),
        ):
            command(chromium, words)
            wait_until(lambda answer=answer: answer in chromium.ask(LOG), "a refusal")
        chromium.ask("$('#ports tbody button').click()")
        buttons = "$$('#actions button').map(button => button.textContent).join()"
        assert chromium.ask(buttons) == "link down,link up"
        assert violations(chromium) == []
        assert [text for text in chromium.complaints if "400 (Bad Request)" not in text] == []
        for width, dark in ((390, False), (1280, True)):
            chromium.open(url, width, dark=dark)
            wait_until(lambda: "s2:1" in rows(chromium, "ports"), "the ports")
            assert chromium.ask("document.documentElement.scrollWidth") <= width
            assert violations(chromium) == []


def test_looks_at_live_p4_network_add_up_to_its_counters(tmp_path):
    """To the byte, and the page is read-only without --control."""
    with page_of_router(tmp_path, "--web") as url, attach(NAME) as lab:
        sent: dict[str, float] = {}
        received = dict.fromkeys(IPS, 0.0)
        seconds = [0.0]  # of the observer's clock: a look is one after the one before
        observer, before = Observer(lab, lambda: seconds[0]), octets(lab)

        def look() -> bool:
            """Returns whether looks add up to what switches count."""
            seconds[0] += 1
            now = observer.look()
            for port in now.ports:
                sent[port.port] = sent.get(port.port, 0) + port.rate_bps / 8
            for flow in now.flows:
                received[str(flow.id)] += flow.goodput_bps / 8
            after = octets(lab)
            return sent == {port: after[port] - before[port] for port in before}

        for src, dst in (("h2", "h3"), ("h3", "h2")):
            ping(lab, src, dst, 5)
            look()
        wait_until(look, "the last frame")
        assert received == {"h1": sent["s1:1"], "h2": sent["s1:2"], "h3": sent["s2:2"]}
        assert min(sent["s1:2"], sent["s2:2"]) >= 10 * 98
        headers = {"Origin": url[: url.index("/", 8)], "Content-Type": "application/json"}
        request = urllib.request.Request(
            f"{url}command", json.dumps(["link", "s1", "s2", "down"]).encode(), headers
        )
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(request)


def test_page_that_ends_leaves_its_network_up(tmp_path, capfd):
    """A page that can't read a switch any more reports it."""
    with page_of_router(tmp_path, "--web") as url, attach(NAME) as lab:
        switch = lab.record.nodes["s2"].process
        os.kill(switch.pid, signal.SIGKILL)

        output = ""

        def over() -> bool:
            nonlocal output
            output += capfd.readouterr().err
            return "the page has ended, the network stays until Ctrl-C: " in output

        wait_until(over, "the page's end")
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(url, timeout=LIMIT_S)
        assert lab.record.nodes["h1"].shell.alive()
