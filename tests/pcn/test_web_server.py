"""The live page's server: which requests it refuses, and that a reader who connects again loses
nothing."""

import http.client
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from hypothesis import example, given, strategies as st
from waiting import LIMIT_S

from pcn.web import commands, server
from pcn.web.guard import HEADERS
from pcn.web.history import History
from pcn.web.server import STATIC, PortError, serving

PORT = {"queue_bytes": 0, "queue_packets": 0, "rate_bps": 0, "paused": False, "pausing": False, (
    "lost"
): None,
        "pn": None, "pauses_sent_per_s": 0, "pauses_received_per_s": 0, "up": True,
        "kept_pace": True}  # fmt: skip


class Page:
    """A page that is served, and raw requests to it."""

    def __init__(self, url: str, history: History):
        parts = urlsplit(url)
        self.port = parts.port or 0
        self.token = parts.path.strip("/")
        self.history = history

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def get(
        self,
        path: str = "",
        *,
        method: str = "GET",
        token: str | None = None,
        body: bytes | None = None,
        **headers: str,
    ) -> http.client.HTTPResponse:
        """Underscores in names of headers are hyphens there."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        token = self.token if token is None else token
        connection.putrequest(method, f"/{token}/{path}" if token else f"/{path}", skip_host=True)
        for name, value in {"Host": self.host, **headers}.items():
            connection.putheader(name.replace("_", "-"), value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        return connection.getresponse()

    def items(self, count: int, after: int | None = None) -> list[tuple[int, str]]:
        """The first events: number and kind."""
        headers = {} if after is None else {"Last_Event_ID": str(after)}
        response, events, number = self.get("events", **headers), list[tuple[int, str]](), 0
        while len(events) < count:
            line = response.readline().decode().rstrip("\n")
            if line.startswith("id: "):
                number = int(line[4:])
            elif line.startswith("event: "):
                events.append((number, line[7:]))
        response.close()
        return events


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    history = History()
    history.begin({"name": "net"})
    with serving(history) as served:
        yield Page(served.url, history)


@pytest.fixture(scope="module")
def controlled() -> Iterator[Page]:
    """Of a network that is missing: a command that is admitted fails."""
    history = History()
    with serving(history, network="nosuch") as served:
        yield Page(served.url, history)


@pytest.mark.parametrize("path", ["", "static/page.js", "static/network.css", "events"])
def test_page_answers_request_with_token(page: Page, path):
    response = page.get(path)
    assert response.status == 200
    for name, value in HEADERS.items():
        assert response.headers[name] == value
    response.close()


REFUSED = {
    "no token": {"token": ""},
    "another token": {"token": "x" * 43},
    "another host": {"Host": "example.org:{port}"},
    "host without port": {"Host": "127.0.0.1"},
    "another address": {"Host": "0.0.0.0:{port}"},
    "another origin": {"Origin": "http://example.org"},
    "origin of another port": {"Origin": "http://127.0.0.1:1"},
    "origin of a file": {"Origin": "null"},
    "origin by another name": {"Origin": "http://localhost:{port}"},
    "another site": {"Sec_Fetch_Site": "cross-site"},
    "another port's page": {"Sec_Fetch_Site": "same-site"},
}


@pytest.mark.parametrize("path", ["", "static/page.js", "events", "command", "nosuch"])
@pytest.mark.parametrize("case", REFUSED)
def test_page_refuses_foreign_request(page: Page, case, path):
    response = page.get(
        path, **{name: text.format(port=page.port) for name, text in REFUSED[case].items()}
    )
    assert response.status == 403
    assert response.headers["content-security-policy"] == HEADERS["content-security-policy"]
    assert len(response.read().splitlines()) == 1


def test_page_refuses_two_host_headers(page: Page):
    with socket.create_connection(("127.0.0.1", page.port), LIMIT_S) as peer:
        peer.sendall(
            (
                f"GET /{page.token}/ HTTP/1.1\r\nHost: {page.host}\r\nHost: {page.host}\r\n\r\n"
            ).encode()
        )
        assert peer.recv(100).split()[1] in (b"400", b"403")


@given(
    st.text(
        st.characters(codec="latin-1", exclude_characters="\r\n\0 \x7f", min_codepoint=33),
        max_size=60,
    )
)
@example("é")
def test_page_refuses_any_other_token(page: Page, token):
    with socket.create_connection(("127.0.0.1", page.port), LIMIT_S) as peer:
        text = f"GET /{token} HTTP/1.1\r\nHost: {page.host}\r\nConnection: close\r\n\r\n"
        peer.sendall(text.encode("latin-1"))
        assert peer.recv(100).split()[1] in (b"400", b"403")


def test_page_listens_on_loopback_alone(page: Page):
    listening = [
        connection.laddr
        for connection in psutil.Process().net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert {address.ip for address in listening if address.port == page.port} == {"127.0.0.1"}


@pytest.mark.parametrize(
    "name",
    ["guard.py", "../guard.py", "..%2fguard.py", "%2e%2e/guard.py", "page.html/../../server.py"],
)
def test_page_serves_its_files_alone(page: Page, name):
    assert page.get(f"static/{name}").status == 404


def test_page_has_no_inline_script_or_style():
    text = (STATIC / "page.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|https?://", text)
    scripts = [path for path in STATIC.glob("*.js") if not path.name.startswith("uPlot")]
    assert len(scripts) > 10
    for script in scripts:
        assert not re.search(
            r"innerHTML|insertAdjacentHTML|\beval\(|setAttribute\(\"style\"", script.read_text()
        )
        assert f'src="static/{script.name}"' in text


def test_foreign_files_of_page_have_their_licence():
    foreign = {path.name for path in STATIC.iterdir() if path.name.startswith("uPlot")}
    assert foreign == {"uPlot.iife.min.js", "uPlot.min.css", "uPlot.LICENSE"}
    assert "MIT License" in (STATIC / "uPlot.LICENSE").read_text()
    version = re.search(r"\(v([\d.]+)\)", (STATIC / "uPlot.iife.min.js").read_text()[:200])
    assert version
    root = Path(__file__).resolve().parents[2]
    assert f"uPlot {version[1]}" in (root / "docs/choices.md").read_text()


IMPORTS = """
import sys, threading, urllib.request
from pcn.web import server
from pcn.web.history import History
from pcn.web.server import serving

def start(thread, begin=threading.Thread.start):
    there.update(sys.modules)
    begin(thread)

server._KEEP_ALIVE_S = 0.01
there, history = set(), History()
history.over("the end")
urllib.request.urlopen("data:,").read()
"".encode("idna")
threading.Thread.start = start
with serving(history) as served:
    for path in ("", "static/page.js", "events"):
        urllib.request.urlopen(served.url + path).read(100)
print(sorted(set(sys.modules) - there))
"""


def test_server_imports_nothing_in_its_thread():
    """There it would wait for good for a lock of an import that Ctrl-C interrupted."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_taken_port_is_refused_in_one_line(page: Page):
    with pytest.raises(PortError, match=f"--port {page.port}: "), serving(History(), page.port):
        pass


# ---- commands ----


def post(page: Page, body: bytes, **headers: str) -> http.client.HTTPResponse:
    sent_headers = {"Content_Type": "application/json", "Origin": f"http://{page.host}", **headers}
    return page.get(
        "command",
        method="POST",
        body=body,
        **{name: text for name, text in sent_headers.items() if text},
    )


def test_page_without_control_is_read_only(page: Page):
    response = post(page, json.dumps(["link", "s0", "s1", "down"]).encode())
    assert (response.status, b"--control" in response.read()) == (403, True)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": ""}, 403),
        ({"Origin": "http://example.org"}, 403),
        ({"Content_Type": "text/plain"}, 415),
    ],
)
def test_page_takes_commands_from_itself_alone(controlled: Page, headers, status):
    assert post(controlled, b'["link"]', **headers).status == status


@pytest.mark.parametrize(
    ("body", "status"),
    [((
        b"no json"
    ), 400), (b"[" * 10_000, 400), (b'"link"', 400), (b"[]", 400), (b"[1]", 400), (b'["down"]',
    400),
     (b'["flow", "list"]', 400), (b'["link", "-nother"]', 400), (b'["pause", "s1", "1"]', 400),
     (b'["set", "%s"]' % (b"x" * 1000), 400), (b"[" + b" " * 20_000 + b"]", 413)],
)  # fmt: skip
def test_page_refuses_what_is_no_command_of_its(controlled: Page, body, status):
    assert post(controlled, body).status == status


def test_command_runs_as_on_a_terminal(controlled: Page):
    response = post(controlled, b'["link", "s0", "s1", "down"]')
    assert (response.status, response.read()) == (
        400,
        b"pcn: no network 'nosuch' is up; none exists\n",
    )


VOCABULARY = (
    "set", "pause", "resume", "flow", "start", "stop", "link", "down", "up", "exec", "-n",
    "--network", "--for=1",
)  # fmt: skip


@given(st.lists(st.sampled_from(VOCABULARY), max_size=6))
def test_command_is_one_of_those_that_page_runs(words):
    if not commands.refusal(words):
        assert words[0] in commands.ALLOWED or " ".join(words[:2]) in commands.ALLOWED
        assert not any(word.startswith(("-n", "--n")) for word in words)


# ---- frames ----


def frame(number: int) -> dict[str, Any]:
    return {"time_s": number, "ports": [PORT], "flows": []}


def test_reader_gets_frames_after_its_last_one(page: Page):
    history = History()
    history.begin({"name": "net"})
    with serving(history) as served:
        reader = Page(served.url, history)
        for number in range(300):
            history.add(frame(number))
        first = reader.items(200)
        history.add(frame(300))
        rest = reader.items(102, after=first[-1][0])
    assert [number for number, _ in first + rest] == list(range(1, 303))
    assert {kind for _, kind in (first + rest)[1:]} == {"frame"}


@given(st.lists(st.integers(0, 40), max_size=30), st.integers(200, 4000))
def test_history_keeps_the_newest_frames_within_its_bound(reads, most):
    """A reader that is behind gets items in order, with no gap except where frames went, after
    their network."""
    history, last, added = History(most), 0, 1
    history.begin({"name": "net"})
    for count in reads:
        for _ in range(count):
            history.add(frame(added))
            added += 1
        while items := history.after(last):
            numbers = [item.number for item in items]
            assert numbers == list(range(numbers[0], numbers[0] + len(items)))
            assert numbers[0] == last + 1 or items[0].kind == "network"
            last = numbers[-1]
        assert last == added
    assert sum(len(item.text) for item in history._items) <= max(most, 200)


def test_idle_ports_are_left_out():
    history = History()
    history.begin({"name": "net"})
    history.add(
        {"ports": [PORT, {**PORT, "paused": True}, {**PORT, "queue_bytes": 1}], "flows": []}
    )
    assert len(json.loads(history.after(1)[0].text)["ports"]) == 2


def test_silent_connections_keep_no_one_out(page: Page):
    """The page is loaded beside 150 of them, most of which are closed."""
    silent = [
        socket.create_connection(("127.0.0.1", page.port), timeout=LIMIT_S) for _ in range(150)
    ]
    try:
        assert page.get().status == 200
        closed = [connection for connection in silent[:100] if _is_closed(connection)]
        assert len(closed) == 100
    finally:
        for connection in silent:
            connection.close()


def _is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_silent_connection_ends_in_time(page: Page, monkeypatch):
    monkeypatch.setattr(server, "_REQUEST_S", 0.05)
    with socket.create_connection(("127.0.0.1", page.port), timeout=LIMIT_S) as silent:
        silent.sendall(b"GET / HT")
        assert _is_closed(silent)


# A process with few descriptors that serves the page: it prints its address, opens a file for each
# line of its input, and prints its errors.
WORKING = """
import resource, sys
from pcn.web.history import History
from pcn.web.server import serving
with serving(History()) as served:
    print(served.url, flush=True)
    resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))
    for line in sys.stdin:
        with open("/dev/null"), open("/dev/zero"):
            print("worked", flush=True)
"""


def test_work_beside_the_page_keeps_its_descriptors():
    """`pcn run --web`'s process, and more connections of another user than it may have
    descriptors."""
    child = subprocess.Popen(
        [sys.executable, "-c", WORKING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    silent = []
    try:
        assert child.stdin is not None
        port = urlsplit(child.stdout.readline()).port or 0
        for number in range(400):
            silent.append(socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S))
            if number % 20 == 0:
                print("work", file=child.stdin, flush=True)
                assert child.stdout.readline() == "worked\n"
        _, errors = child.communicate(timeout=LIMIT_S)
        assert (child.returncode, errors) == (0, "")
    finally:
        child.kill()
        child.wait()
        for connection in silent:
            connection.close()
