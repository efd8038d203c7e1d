"""Shares of what is counted while it is read: never above 100%, whatever happens between two
reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from pcn.base.errors import LabError
from pcn.controller import interface_counters
from pcn.controller.control_plane import Counter
from pcn.controller.errors import SwitchError
from pcn.hosts.stats import ReceivedFlow, SentFlow
from pcn.lab import flows, observe
from pcn.lab.observe import Observer
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.serialise import to_dict

TOPOLOGY = dumbbell(pairs=1)
FRAME = 1058


class Network:
    """Every packet is marked, and as many pass as `steps` has, in turn, after each read of any
    counter."""

    def __init__(self, steps: Sequence[int]):
        self._steps = steps
        self._reads = 0
        self._packets = 100

    def read(self) -> int:
        packets = self._packets
        self._packets += self._steps[self._reads % len(self._steps)]
        self._reads += 1
        return packets


class Switch:
    def __init__(self, network: Network):
        self._network = network

    def counters(self) -> list[str]:
        return ["transmitted", "marked", "pause_sent", "pause_received"]

    def registers(self) -> list[str]:
        return ["waiting_packets", "waiting_bytes", "tx_paused"]

    def read_counters(self, name: str, wanted: Sequence[int]) -> dict[int, Counter]:
        packets = self._network.read() if name in ("transmitted", "marked") else 0
        return dict.fromkeys(wanted, Counter(packets, packets * FRAME))

    def read_cells(
        self, counters: Sequence[str], registers: Sequence[str], wanted: Sequence[int]
    ) -> tuple[dict[str, dict[int, Counter]], dict[str, dict[int, int]]]:
        counts = {name: self.read_counters(name, wanted) for name in counters}
        return counts, {name: self.read_registers(name, wanted) for name in registers}

    def read_registers(self, _name: str, wanted: Sequence[int]) -> dict[int, int]:
        return dict.fromkeys(wanted, 0)


@dataclass(frozen=True)
class Stats:
    """Of an agent, what flows are made of."""

    sent: tuple[SentFlow, ...]
    received: tuple[ReceivedFlow, ...]
    now_s: float


class Agent:
    """A host that sends what the network then carries, or that has received it."""

    def __init__(self, name: str, network: Network):
        self._network = network
        self._sends = name == "h0"

    def ahead(self, command: str):
        """No other client works meanwhile."""

    def flows(self) -> tuple[SentFlow, ...]:
        if not self._sends:
            return ()
        known = dict.fromkeys(SentFlow.__dataclass_fields__, 0)
        dst = TOPOLOGY.host("r0").ip
        return (
            SentFlow(
                **{
                    **known, "flow": 1, "dst_ip": dst, "state": "sending",
                    "packets": self._network.read(),
                }
            ),
        )  # fmt: skip

    def stats(self):
        known = dict.fromkeys(ReceivedFlow.__dataclass_fields__, 0)
        packets = 0 if self._sends else self._network.read()
        src = TOPOLOGY.host("h0").ip
        got = ReceivedFlow(
            **{
                **known, "flow": 1, "src_ip": src, "packets": packets, "marked_ce": packets,
                "last_s": 1,
            }
        )  # fmt: skip
        return Stats(sent=self.flows(), received=() if self._sends else (got,), now_s=0.0)


def lab(steps: Sequence[int]):
    network = Network(steps)
    return SimpleNamespace(
        topology=TOPOLOGY,
        record=SimpleNamespace(
            dilation=1.0, topology=to_dict(TOPOLOGY), enough_k=0.0, board="", is_inside=False
        ),
        switches={switch.name: Switch(network) for switch in TOPOLOGY.switches},
        agents={host.name: Agent(host.name, network) for host in TOPOLOGY.hosts},
    )


@pytest.fixture(autouse=True)
def _interfaces_are_up(monkeypatch):
    """And count nothing, as BMv2's."""
    monkeypatch.setattr(interface_counters, "read", lambda _switch: None)
    monkeypatch.setattr(observe, "running_interfaces", lambda _record, _node, names: set(names))


# Even, and with pauses of the reader at one read or another.
STEPS = [(1,), (7, 1, 900), (900, 1, 1, 5), (0, 0, 0, 0, 1000), (1, 900)]


@pytest.mark.parametrize("steps", STEPS)
def test_no_more_is_marked_than_was_sent(steps):
    observer = Observer(lab(steps))
    for _ in range(20):
        shares = [
            port.marked_share for port in observer.look().ports if port.marked_share is not None
        ]
        assert all(0 <= share <= 1 for share in shares)


def test_a_share_is_of_what_passed():
    """Little passes while counters are read: nearly all of it is marked, and reported as marked."""
    network = lab((1,))
    observer = Observer(network)
    network.switches["s0"]._network._packets += 10_000
    assert observer.look().port("s0:1").marked_share == pytest.approx(1, abs=0.01)


def test_port_inside_an_engine_sends_no_faster_than_its_link(monkeypatch):
    """Counters are of a moment somewhere in the reading: a look of 1 us in which 1,000 frames
    left shows the link's rate; live, where a port may exceed it, what was counted."""

    def rate(is_inside: bool) -> tuple[float, float]:
        network, now = lab((0,)), iter(range(10_000))
        network.record.is_inside = is_inside
        monkeypatch.setattr(Observer, "_now", lambda _: next(now) * 1e-6)
        monkeypatch.setattr(
            observe,
            "request",
            lambda *_, **__: {
                str(port): {"up": True, "lost": None} for port in TOPOLOGY.ports("s0")
            },
        )
        observer = Observer(network)
        network.switches["s0"]._network._packets += 1000
        port = observer.look().port("s0:1")
        return port.rate_bps, port.utilisation

    line = TOPOLOGY.link_at("s0", 1).rate_bps
    assert rate(True) == (line, 1.0)
    assert rate(False)[0] > line


@pytest.mark.parametrize("steps", STEPS)
def test_nothing_arrives_that_was_not_sent(steps):
    network = lab(steps)
    for _ in range(20):
        (flow,) = flows.flows(TOPOLOGY, flows.ask(network.agents))
        assert flow.received_packets <= flow.sent_packets


def test_observer_names_what_a_program_lacks_without_counts_of_interfaces(monkeypatch):
    """As BMv2's: a switch that has them is looked at by them, whatever its program."""
    monkeypatch.setattr(Switch, "registers", lambda _switch: [])
    network = lab((1,))
    with pytest.raises(
        LabError, match=r"^s0 runs a program without waiting_packets, waiting_bytes, tx_paused, "
    ):
        Observer(network)
    counts = interface_counters.PortCounts(True, 10, 20, 0, 3, 1_000, 2_000, 7)
    monkeypatch.setattr(
        interface_counters, "read", lambda _switch: dict.fromkeys(range(1, 3), counts)
    )
    port = Observer(network).look().port("s0:1")
    assert (port.queue_packets, port.queue_bytes, port.lost, port.up) == (7, None, 3, True)


def test_observer_looks_at_a_switch_without_a_program(monkeypatch):
    """Its controller has yet to load one, as in p4lang/tutorials' p4runtime."""

    def without(switch: Switch) -> list[str]:
        raise SwitchError(f"{switch}: no program is loaded")

    monkeypatch.setattr(Switch, "counters", without)
    counts = interface_counters.PortCounts(True, 0, 0, 0, 0, 0, 0, 0)
    monkeypatch.setattr(
        interface_counters, "read", lambda _switch: dict.fromkeys(range(1, 3), counts)
    )
    assert Observer(lab((1,))).look().port("s0:1").queue_packets == 0
