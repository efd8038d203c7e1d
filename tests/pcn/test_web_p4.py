"""A P4 network's run in virtual time on the live page."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import forks
import pytest
from browser import Browser
from pages import load_saved

from pcn.p4net.report import whole
from pcn.p4net.sending import read
from pcn.p4net.tutorials import read_exercise
from pcn.p4net.virtual import VirtualP4
from pcn.web.history import History
from pcn.web.p4 import P4OnPage
from pcn.web.recorded import one_file

ROUTER = Path(__file__).resolve().parents[2] / "examples/router"
UNTIL_S = 20e-3
SEND = "h1,h3,rate=9M,length=1000,tos=1"  # over a link of 8 Mbit/s


def frames(history: History) -> list[dict[str, Any]]:
    history_frames: list[dict[str, Any]] = []
    number = 0
    while items := history.after(number):
        history_frames += [json.loads(item.text) for item in items if item.kind == "frame"]
        number = items[-1].number
    return history_frames


def ran(every_s: float | None) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Returns the page's frames (None: without a page), and what the run came to."""
    history = History()
    with VirtualP4(read_exercise(ROUTER)) as network:
        page = P4OnPage(network, history, every_s) if every_s else None
        read(SEND).start(network, UNTIL_S, 1)
        (page.run if page else network.run)(UNTIL_S)
        return frames(history), dict(whole(network))


@pytest.mark.parametrize("every_s", [100e-6, 5e-3])
def test_page_adds_up_to_what_the_run_counts(every_s):
    shown, counted = ran(every_s)
    assert len(shown) == round(UNTIL_S / every_s)
    assert [frame["time_s"] for frame in shown] == pytest.approx(
        [every_s * (n + 1) for n in range(len(shown))]
    )
    sent = {port["port"]: 0.0 for port in counted["ports"]}
    for frame in shown:
        for port in frame["ports"]:
            assert 0 <= port["utilisation"] <= 1 + 1e-9
            sent[port["port"]] += port["rate_bps"] * frame["over_s"] / 8
    for port in counted["ports"]:
        # Of the frame that leaves at the end, the page has a part.
        assert port["sent_bytes"] - 1100 <= sent[port["port"]] <= port["sent_bytes"] + 1
    assert sent["s1:3"] > 10_000
    arrived = sum(
        flow["goodput_bps"] * frame["over_s"] / 8 for frame in shown for flow in frame["flows"]
    )
    received = sum(port["sent_bytes"] for port in counted["ports"] if port["to"].startswith("h"))
    assert received - 1100 <= arrived <= received + 1
    waits = max(port["queue_packets"] for frame in shown for port in frame["ports"])
    assert waits >= 1


def test_page_has_hosts_and_the_unit_that_is_known(chromium: Browser, tmp_path):
    """Virtual time counts bytes of queues, a live P4 network packets alone."""
    history, file = History(), tmp_path / "page.html"
    with VirtualP4(read_exercise(ROUTER)) as network:
        page = P4OnPage(network, history, 1e-3)
        read(SEND).start(network, UNTIL_S, 1)
        page.run(UNTIL_S)
    history.over("the end")
    file.write_text(one_file(history), encoding="utf-8")
    load_saved(chromium, file, 1280)
    queues = {port["port"]: port["queue_bytes"] for port in frames(history)[-1]["ports"]}
    assert max(queues.values()) > 0
    note = chromium.ask("$('#heat-note').textContent")
    largest = max(port["queue_bytes"] for frame in frames(history) for port in frame["ports"])
    assert f"the strongest colour is {largest / 1e3:,.1f} KB, s1:3" in note
    heads = "$$('#flows th').map(head => head.textContent.trim()).join()"
    assert chromium.ask(heads) == "host,state,sends Mbit/s,goodput Mbit/s"
    assert chromium.complaints == []


def test_page_changes_no_result():
    _, alone = ran(None)
    _, watched = ran(100e-6)
    for both in (alone, watched):
        del both["digest"]  # which has the samples' events
    assert watched == alone


def test_command_serves_the_page_and_prints_the_table(tmp_path):
    command = [
        sys.executable, "-u", "-m", "pcn", "p4", "run", str(ROUTER), "--clock", "virtual",
        "--for", "5ms", "--web",
    ]  # fmt: skip
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = {**os.environ, "COLUMNS": "200"}
    with subprocess.Popen([*command, "--json"], cwd=tmp_path, env=environment, **pipes) as process:
        try:
            url = process.stderr.readline().strip()
            while process.stderr.readline() != f"{url} stays until Ctrl-C\n":
                assert process.poll() is None
            with urllib.request.urlopen(url) as answer:
                assert b"PCN Lab" in answer.read()
        finally:
            process.send_signal(2)
        out, _ = process.communicate()
    assert process.returncode == 0
    assert json.loads(out)["hosts"][0]["host"] == "h1"


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (("--control",), "--control is of the page: add --web"),
        (("--clock", "virtual", "--web", "--control"), "--control: is for the live clock alone"),
        (("--port", "8080"), "--port is of the page: add --web"),
    ],
)
def test_page_is_refused_where_it_would_show_nothing(words, refused):
    done = forks.run("pcn", "p4", "run", str(ROUTER), *words)
    assert done.returncode == 2
    assert refused in done.stderr
