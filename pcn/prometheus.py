"""Looks at a network as Prometheus reads them: each number of `pcn watch --json`, with the same
value and name; counters end in `_total`, as its conventions have it.

The server has one page, /metrics, on the address that it is given, for GET and HEAD alone. It keeps
no state: what a scrape gets is the newest look. Counts of all that was, whose names end in
`_total`, have what came between two scrapes.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pcn.base.errors import LabError
from pcn.base.seats import Seats, shut
from pcn.lab.observe import GOING_ON, Snapshot

PATH = "/metrics"
CONTENT = "text/plain; version=0.0.4; charset=utf-8"
_SLOWEST_S, _MOST_AT_ONCE = 10.0, 16
_PORT = {
    "queue_packets": "packets that wait for the port",
    "queue_bytes": "bytes that wait for the port",
    "held_bytes": "bytes that the port holds back, for PAUSE",
    "pn": "packets that a PAUSE held up, in the queue",
    "paused": "whether the neighbour pauses the port",
    "pausing": "whether the port pauses its neighbour",
    "rate_bps": "bits that the port sends a second",
    "utilisation": "share of the link's rate that the port sends",
    "marked_share": "share of the packets sent that the port marked CE",
    "marked_ue_share": "share of the packets sent that the port marked UE",
    "pauses_sent_per_s": "PAUSE frames sent a second",
    "pauses_received_per_s": "PAUSE frames received a second",
    "up": "whether the link is up",
    "lost": "frames that didn't leave since the switch started: link down, queue full",
    "kept_pace": "whether the switch kept pace since the look before",
    "sent_bytes_total": "bytes that the port sent since the switch's program began",
    "sent_packets_total": "packets that the port sent since the switch's program began",
    "marked_packets_total": "packets that the port marked CE since the switch's program began",
    "marked_ue_packets_total": "packets that the port marked UE since the switch's program began",
    "pauses_sent_total": "PAUSE frames sent since the switch's program began",
    "pauses_received_total": "PAUSE frames received since the switch's program began",
}
_FLOW = {
    "rate_bps": "bits that the scheme lets the flow send a second",
    "sent_bps": "bits that the flow sends a second",
    "goodput_bps": "bits of payload that arrive a second",
    "marked_share": "share of the packets that arrive marked CE",
    "marked_ue_share": "share of the packets that arrive marked UE",
    "kept_pace": "whether the hosts and all switches kept pace since the look before",
    "window_bytes": "the flow's window",
    "in_flight_bytes": "bytes of the window in flight",
}
_HOST = {
    "rate_bps": "bits that the host's port sends a second",
    "utilisation": "share of the link's rate that the host's port sends",
}
_COUNTERS = {"lost": "lost_frames_total"}
"""Names of counts that the look names otherwise."""
# the last one of some hosts alone
_PORT_LABELS, _FLOW_LABELS = (
    ("port", "link"),
    ("id", "src", "dst", "src_port"),
)


def text(now: Snapshot, network: str) -> str:
    """Returns a look in Prometheus' text format: nominal units, a gauge, or a counter of a total,
    for each number of ports and of flows that haven't ended. What the network's programs don't have
    is left out."""
    network_label = {"network": network}
    ports = [({**network_label, **_labels(port, _PORT_LABELS)}, port) for port in now.ports]
    flows = [
        ({**network_label, **_labels(flow, _FLOW_LABELS)}, flow)
        for flow in now.flows
        if flow.state in GOING_ON
    ]
    lines = [
        *_family("pcn_time_s", "nominal time of the look", [(network_label, now.time_s)]),
        *_family(
            "pcn_nominal_seconds_total",
            "nominal time that has passed, by which rates of counters are nominal",
            [(network_label, now.time_s)],
        ),
        *_family("pcn_over_s", "nominal time that rates are over", [(network_label, now.over_s)]),
    ]
    for name, help_text in _PORT.items():
        lines += _family(
            f"pcn_port_{_COUNTERS.get(name, name)}",
            help_text,
            [(labels, getattr(port, name)) for labels, port in ports],
        )
    for name, help_text in _FLOW.items():
        lines += _family(
            f"pcn_flow_{name}", help_text, [(labels, getattr(flow, name)) for labels, flow in flows]
        )
    hosts = [({**network_label, **_labels(host, ("port",))}, host) for host in now.hosts]
    for name, help_text in _HOST.items():
        lines += _family(
            f"pcn_host_{name}", help_text, [(labels, getattr(host, name)) for labels, host in hosts]
        )
    states = [({**labels, "state": flow.state}, 1) for labels, flow in flows]
    lines += _family("pcn_flow_state", "1 with the state that the flow is in", states)
    return "".join(f"{line}\n" for line in lines)


def _labels(state: object, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(state, name)) is not None}


def _family(
    name: str, help_text: str, samples: Sequence[tuple[Mapping[str, Any], Any]]
) -> Iterator[str]:
    """Yields a metric's lines; none where no sample has a value."""
    there = [(labels, value) for labels, value in samples if value is not None]
    if not there:
        return
    yield f"# HELP {name} {help_text[0].upper()}{help_text[1:]}."
    yield f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}"
    for labels, value in there:
        inner = ",".join(f'{key}="{_escaped(str(label))}"' for key, label in labels.items())
        yield f"{name}{{{inner}}} {float(value)!r}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


@contextlib.contextmanager
def serving(address: str, port: int, metrics: Callable[[], str]) -> Iterator[str]:
    """Serves what `metrics` returns while the block runs; yields the URL. Raises LabError: the
    address is taken, or isn't this machine's."""
    try:
        server = _Server((address, port), metrics)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LabError(f"--prometheus: {address}:{port}: {reason}; choose another one") from None
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True
    )
    thread.start()
    try:
        yield f"http://{address}:{server.server_port}{PATH}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a reader that is slow doesn't hold up the end

    def __init__(self, address: tuple[str, int], metrics: Callable[[], str]) -> None:
        self.metrics = metrics
        # The one that makes room is shut for reading, too: its thread wakes, and closes it.
        self.seats = Seats[Any](_MOST_AT_ONCE, shut)
        super().__init__(address, _Handler)
        bound = self.socket.getsockname()[0]
        self.local = bound.startswith("127.")  # also by a name, as localhost
        self.allowed_hosts = {
            f"{name}:{self.server_port}" for name in ("localhost", address[0], bound)
        }

    def process_request(self, request: Any, client_address: Any) -> None:
        """Where as many are served as may, one that has sent no request yet makes room; else this
        one ends."""
        if not self.seats.take(request):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self.seats.leave(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.seats.leave(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader that goes away while it is answered is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SLOWEST_S
    server_version = "pcn"
    sys_version = ""

    def do_GET(self) -> None:
        self.server.seats.work(self.request)
        if self.path != PATH:
            self.send_error(404)
        elif self.server.local and not self._names_loopback():
            self.send_error(403)
        else:
            body = self.server.metrics().encode()
            self.send_response(200)
            self.send_header("Content-Type", CONTENT)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - http.server's name

    def _names_loopback(self) -> bool:
        """Returns whether the Host header, of which there is one, is this server: a page in a
        browser reaches it under the page's own name otherwise."""
        hosts = self.headers.get_all("Host", [])
        return len(hosts) == 1 and hosts[0] in self.server.allowed_hosts

    def log_message(self, format: str, *args: object) -> None:
        """A scrape a few seconds apart isn't worth a line each."""
