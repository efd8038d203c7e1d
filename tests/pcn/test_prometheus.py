"""`pcn watch --prometheus`: the numbers of `watch --json`, as Prometheus' own client library reads
them."""

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import forks
import needs
import pytest
import waiting
from hypothesis import example, given, strategies as st
from prometheus_client.parser import text_string_to_metric_families
from small_lab import TOGETHER, StartFlow

from pcn import prometheus
from pcn.base.errors import LabError
from pcn.lab.lab import Lab
from pcn.lab.observe import FlowState, HostState, PortState, Snapshot

DASHBOARD = Path(__file__).resolve().parents[2] / "examples/grafana/pcn-lab.json"
LABELS = {"port": ("port", "link"), "host": ("port",), "flow": ("id", "src", "dst", "src_port")}
FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=8)


def states(kind, **overrides):
    values = {"str": NAMES, "int": st.integers(0, 2**53), "float": FINITE, "bool": st.booleans()}
    drawn = {
        field.name: st.one_of(
            *(
                st.none() if part == "None" else values[part]
                for part in str(field.type).split(" | ")
            )
        )
        for field in fields(kind)
    }
    return st.builds(kind, **{**drawn, **overrides})


SNAPSHOTS = st.builds(
    Snapshot,
    time_s=FINITE,
    over_s=FINITE,
    ports=st.lists(states(PortState), max_size=4, unique_by=lambda state: state.port).map(tuple),
    flows=st.lists(
        states(FlowState, state=st.sampled_from(["waiting", "sending", "stopped"])),
        max_size=4,
        unique_by=lambda state: state.id,
    ).map(tuple),
    overload=st.none(),
    hosts=st.lists(states(HostState), max_size=3, unique_by=lambda state: state.port).map(tuple),
)
Key = tuple[str, frozenset[tuple[str, str]]]


def scraped(text: str) -> dict[Key, float]:
    """Returns each sample by its name and labels."""
    samples: dict[Key, float] = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation
        for sample in family.samples:
            assert family.type == ("counter" if sample.name.endswith("_total") else "gauge")
            key = sample.name, frozenset(sample.labels.items())
            assert key not in samples
            samples[key] = sample.value
    return samples


def expected(look: dict[str, Any], network: str) -> dict[Key, float]:
    """Returns the same of what `watch --json` prints."""
    samples: dict[Key, float] = {}
    for name in ("time_s", "over_s"):
        samples[f"pcn_{name}", frozenset({("network", network)})] = look[name]
    samples["pcn_nominal_seconds_total", frozenset({("network", network)})] = look["time_s"]
    going_on = [flow for flow in look["flows"] if flow["state"] in ("waiting", "sending")]
    for kind, rows in (("port", look["ports"]), ("host", look["hosts"]), ("flow", going_on)):
        for row in rows:
            labels = {
                ("network", network),
                *((name, str(row[name])) for name in LABELS[kind] if row[name] is not None),
            }
            for name, value in row.items():
                if name == "state":
                    samples["pcn_flow_state", frozenset({*labels, ("state", value)})] = 1
                elif name not in LABELS[kind] and value is not None:
                    name = "lost_frames_total" if (kind, name) == ("port", "lost") else name
                    samples[f"pcn_{kind}_{name}", frozenset(labels)] = float(value)
    return samples


@given(SNAPSHOTS, NAMES)
@example(Snapshot(0.0, 0.0, (), ()), 'a\\n"b"\nc')
def test_metrics_are_the_numbers_of_the_look(now, network):
    assert scraped(prometheus.text(now, network)) == expected(asdict(now), network)


@pytest.fixture
def served() -> Iterator[str]:
    with prometheus.serving("127.0.0.1", 0, lambda: "pcn_time_s 1.0\n") as url:
        yield url


def place(url: str) -> tuple[str, int]:
    host, port = url.split("/")[2].split(":")
    return host, int(port)


@pytest.mark.parametrize(
    ("method", "path", "host", "status"),
    [
        ("GET", "/metrics", "{}", 200),
        ("GET", "/metrics", "localhost:{port}", 200),
        ("GET", "/metrics", "example.org", 403),
        ("GET", "/metrics", "127.0.0.1", 403),
        ("HEAD", "/metrics", "{}", 200),
        ("HEAD", "/metrics", "example.org", 403),
        ("HEAD", "/", "{}", 404),
        ("GET", "/", "{}", 404),
        ("GET", "/../etc/passwd", "{}", 404),
        ("POST", "/metrics", "{}", 501),
    ],
)
def test_server_answers_its_own_readers_alone(served: str, method, path, host, status):
    address, port = place(served)
    connection = http.client.HTTPConnection(address, port)
    connection.request(method, path, headers={"Host": host.format(f"{address}:{port}", port=port)})
    answer = connection.getresponse()
    assert answer.status == status
    assert (b"pcn_time_s" in answer.read()) == (status == 200 and method == "GET")
    assert status != 200 or answer.headers["Content-Length"] == "15"
    connection.close()


def test_server_answers_beside_readers_that_send_nothing(served: str):
    """It has 16 at once; the first of them without a request make room, and requests are
    answered."""
    idle = [socket.create_connection(place(served)) for _ in range(40)]
    try:
        assert urllib.request.urlopen(served).read() == b"pcn_time_s 1.0\n"
        assert all(connection.recv(1) == b"" for connection in idle[:20])
    finally:
        for connection in idle:
            connection.close()


@pytest.mark.parametrize("sent", [b"", b"GET /metrics HTTP/1.1\r\nHost: "])
def test_connections_that_make_room_end_with_their_threads(served: str, sent):
    """Also while their clients go on with requests that never end: a time for each byte would never
    pass."""
    before = threading.active_count()
    idle = [socket.create_connection(place(served)) for _ in range(60)]
    try:
        for connection in idle:
            connection.sendall(sent)
        assert urllib.request.urlopen(served).status == 200

        def ended() -> bool:
            for connection in idle:
                with contextlib.suppress(OSError):
                    connection.sendall(sent and b"a")
            return threading.active_count() <= before + 16

        waiting.wait_until(ended, "the threads' end")
    finally:
        for connection in idle:
            connection.close()


def test_server_by_name_of_loopback_refuses_foreign_hosts():
    with prometheus.serving("localhost", 0, lambda: "pcn_time_s 1.0\n") as url:
        port = place(url)[1]
        for host in (f"localhost:{port}", f"127.0.0.1:{port}"):
            assert (
                urllib.request.urlopen(urllib.request.Request(url, headers={"Host": host})).status
                == 200
            )
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(
                urllib.request.Request(url, headers={"Host": f"example.org:{port}"})
            )


def test_taken_port_is_refused_in_one_line(served: str):
    address, port = place(served)
    with (
        pytest.raises(
            LabError,
            match=rf"^--prometheus: {address}:{port}: Address already in use; choose another one$",
        ),
        prometheus.serving(address, port, str),
    ):
        pass


@pytest.mark.parametrize("value", ["70000", "a:b", "1:-1", "", "٣"])
def test_bad_address_is_refused_with_an_example(value):
    done = forks.run("pcn", "watch", "--prometheus", value)
    assert done.returncode == 2
    assert "as in 9500 or 192.0.2.1:9500" in done.stderr


@pytest.mark.parametrize("dcqcn_lab", [*needs.TARGETS[1:], TOGETHER], indirect=True)
@pytest.mark.root
def test_metrics_of_network_are_what_json_prints(dcqcn_lab: Lab, start_flow: StartFlow):
    start_flow(1e9)
    command = [
        sys.executable, "-u", "-m", "pcn", "watch", "-n", dcqcn_lab.record.name, "--prometheus",
        "0", "--json",
    ]  # fmt: skip
    command += ["--every", "0.3s"]
    environment = {**os.environ, "COLUMNS": "200"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen(command, **pipes) as watch:
        try:
            assert watch.stdout is not None
            url = watch.stderr.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", url)
            looks, scrapes = {}, {}
            for _ in range(3):
                line = watch.stdout.readline()
                with urllib.request.urlopen(url) as answer:
                    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
                    samples = scraped(answer.read().decode())
                looks[json.loads(line)["time_s"]] = json.loads(line)
                (time_s,) = (value for (name, _), value in samples.items() if name == "pcn_time_s")
                scrapes[time_s] = samples
        finally:
            watch.terminate()
    both = looks.keys() & scrapes.keys()
    assert both
    for time_s in both:
        assert scrapes[time_s] == expected(looks[time_s], dcqcn_lab.record.name)


# ---- the dashboard ----


def panels() -> list[dict[str, Any]]:
    return json.loads(DASHBOARD.read_text())["panels"]


def test_dashboard_queries_existing_metrics():
    """With the labels that they have, in its queries and legends."""
    port = dict.fromkeys((field.name for field in fields(PortState)), 1)
    flow = dict.fromkeys((field.name for field in fields(FlowState)), 1)
    now = Snapshot(1.0, 1.0, (PortState(**port),), (FlowState(**{**flow, "state": "sending"}),))
    labels = {
        name: {label for label, _ in pairs} for name, pairs in scraped(prometheus.text(now, "net"))
    }
    for panel in panels():
        for target in panel["targets"]:
            used = re.findall(r"\b(pcn_\w+)\{([^}]*)\}", target["expr"])
            assert used, target
            # what is divided keeps the labels of its first part
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= labels[used[0][0]]
            for name, matchers in used:
                assert {*re.findall(r"(\w+)=", matchers)} <= labels[name], target


def test_dashboard_rates_are_of_counters():
    """What comes and goes between two scrapes is in them; divided by nominal time, or by another
    count, they don't depend on how far time is stretched."""
    counted = set()
    for panel in panels():
        for target in panel["targets"]:
            expression = target["expr"]
            totals = re.findall(r"pcn_\w+_total", expression)
            counted.update(totals)
            inside = re.findall(
                r"(?:rate|increase)\((pcn_\w+_total)\{[^}]*\}\[\$__rate_interval\]\)", expression
            )
            assert inside == totals
            assert not re.search(r"(_per_s|_share|utilisation)\{", expression)
            if "increase" not in expression and totals:
                assert len(totals) == 2
                assert " / " in expression
    assert {name.removeprefix("pcn_port_").removesuffix("_total") for name in counted} == {
        *("sent_bytes", "sent_packets", "marked_packets", "marked_ue_packets", "lost_frames"),
        *("pauses_sent", "pauses_received", "pcn_nominal_seconds"),
    }


def test_dashboard_panels_have_units_and_do_not_overlap():
    cells: set[tuple[int, int]] = set()
    for panel in panels():
        at = panel["gridPos"]
        covered = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not covered & cells
        assert max(x for x, _ in covered) < 24
        cells |= covered
        assert panel["fieldConfig"]["defaults"]["unit"]
    assert len({panel["id"] for panel in panels()}) == len(panels())
