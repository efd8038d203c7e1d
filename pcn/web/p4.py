"""A P4 network's run in virtual time on the live page: queues and rates of all ports, and what
hosts send and receive.

The page's flows are the hosts: their rate is what they send, their goodput what arrives.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from pcn.experiments.data.frames import Frames
from pcn.experiments.data.series import Series
from pcn.experiments.data.series_math import Array, carried
from pcn.virtualnet.native import CLASSES
from pcn.web.history import History
from pcn.web.recorded import described

if TYPE_CHECKING:
    from pcn.p4net.virtual import VirtualP4

_FRAMES, _LOOKS = 500, 50
"""Of a run: samples where the user chose no interval, and times at which the page gets what is
new."""


class P4OnPage:
    """Samples a network from now on, and adds what its runs bring to a history."""

    def __init__(self, network: VirtualP4, history: History, every_s: float) -> None:
        self._network, self._history = network, history
        topology = network.topology
        self._ports = [
            (switch.name, port)
            for switch in topology.switches
            for port in topology.ports(switch.name)
        ]
        self._hosts = [
            (host.name, port) for host in topology.hosts for port in topology.ports(host.name)
        ]
        waiting = (network.queue_bytes, network.queue_packets)
        sources = [network.link_bytes(*port) for port in (*self._ports, *self._hosts)]
        sources += [
            measure(*port, queue)
            for measure in waiting
            for port in self._ports
            for queue in range(CLASSES)
        ]
        self._samples = network.sample(every_s, sources)
        links = (topology.link_at(*port) for port in (*self._ports, *self._hosts))
        self._bytes_per_s = np.array([link.rate_bps / 8 for link in links])
        self._ahead = np.full(len(self._bytes_per_s), np.inf)
        self._frames = Frames(topology, ())
        self._shown = 0
        title = f"{topology.name}: virtual time"
        history.begin(
            described(topology, scheme=False, title=title, network=None, live=False, control=False)
        )

    def run(self, until_s: float) -> None:
        """Runs the network up to a time, and shows it as it goes on."""
        for time_s in np.linspace(self._network.now_s, until_s, _LOOKS + 1)[1:].tolist():
            self._network.run(until_s=time_s)
            self.show()

    def show(self) -> None:
        """Adds a frame for each sample since the last time but the run's first, from which rates
        count."""
        times, values = self._samples.times_s[self._shown :], self._samples.values[self._shown :]
        if len(times) < 2:
            return
        ports, count = len(self._ports), len(self._ports) + len(self._hosts)
        sent = carried(times, values[:, :count], self._bytes_per_s, self._ahead)
        self._ahead = sent[-1] - times[-1] * self._bytes_per_s
        queues = values[:, count:].reshape(len(times), 2, ports, CLASSES).sum(axis=3)
        series = Series()
        for number, (node, port) in enumerate(self._ports):
            name = f"{node}:{port}"
            series.extend(times, name, "transmitted_bytes", sent[:, number])
            series.extend(times, name, "waiting_bytes", queues[:, 0, number])
            series.extend(times, name, "waiting_packets", queues[:, 1, number])
        for number, (node, port) in enumerate(self._hosts, ports):
            series.extend(times, f"{node}:{port}", "sent_bytes", sent[:, number])
        hosts = self._by_host(times, sent)
        for number, frame in enumerate(self._frames.between(series, times)):
            self._history.add(
                {**frame, "flows": [_flow(host, *rates[number]) for host, rates in hosts.items()]}
            )
        self._shown += len(times) - 1

    def _by_host(self, times: Array, sent: Array) -> dict[str, list[list[float]]]:
        """Returns bits/s that each host sends and receives between two samples."""
        rates = 8 * np.diff(sent, axis=0) / np.diff(times)[:, None]
        by_host: dict[str, Any] = {host: np.zeros((len(rates), 2)) for host, _ in self._hosts}
        places = {port: place for place, port in enumerate((*self._ports, *self._hosts))}
        for host, port in self._hosts:
            peer = self._network.topology.peer(host, port)
            by_host[host][:, 0] += rates[:, places[host, port]]
            if (peer.node, peer.port) in places:
                by_host[host][:, 1] += rates[:, places[peer.node, peer.port]]
        return {host: pairs.tolist() for host, pairs in by_host.items()}


def _flow(host: str, sent_bps: float, received_bps: float) -> dict[str, Any]:
    unknown = dict.fromkeys(("marked_share", "marked_ue_share", "window_bytes", "in_flight_bytes"))
    state = "sending" if sent_bps else "idle"
    fields = {
        "id": host,
        "src": host,
        "dst": "",
        "state": state,
        "rate_bps": sent_bps,
        "goodput_bps": received_bps,
    }
    return {**fields, **unknown, "kept_pace": True, "sent_bps": sent_bps}


def shown_p4(
    network: VirtualP4, until_s: float, every_s: float | None, history: History
) -> P4OnPage:
    """Returns what adds a network's run to a history. `every_s`: between samples."""
    return P4OnPage(network, history, every_s or until_s / _FRAMES)


@contextlib.contextmanager
def p4_on_page(
    network: VirtualP4, until_s: float, every_s: float | None, port: int
) -> Iterator[P4OnPage]:
    """Serves what a network's run shows while the block runs, and then until Ctrl-C. `every_s`:
    between samples."""
    from pcn.web.server import serving, stay  # which need the extra

    history = History()
    with serving(history, port) as served:
        click.echo(served.url, err=True)
        yield shown_p4(network, until_s, every_s, history)
        history.over("the run is over")
        stay(served.url)
