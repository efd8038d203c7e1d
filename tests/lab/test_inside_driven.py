"""Commands that change a network in an engine: what a session's log has, played again, comes to its
digest, whatever was commanded when."""

import base64
import contextlib
import copy
import io
import json
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from pcn.base.errors import LabError
from pcn.base.p4rt import p4r
from pcn.controller import settings as switch_settings
from pcn.hosts.algorithms import NotificationPoint, ReactionPoint, find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab.inside import driven as driven_commands, log
from pcn.lab.inside.agents import agent_stats, answer
from pcn.lab.inside.driven import CommandError, Driven, checked
from pcn.lab.inside.log import End, Head, LogError, Writer
from pcn.lab.inside.replay import replay
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.serialise import to_dict
from pcn.virtualnet import timed

TOPOLOGY = dumbbell()
SCHEME = find_scheme("pcn").configure()
HEAD = Head("t", to_dict(TOPOLOGY), "pcn", dict(vars(SCHEME.parameters)), [], 1, 100.0)
HOSTS = [host.name for host in TOPOLOGY.hosts]
ENDS = [("s0", 4), ("s0", 1), ("s1", 1), ("s1", 4)]


class Session:
    """A network, what was commanded, and its log."""

    def __init__(self, path: Path):
        self.path = path
        self.file = path.open("wb")
        self.writer = Writer(self.file, HEAD)
        self.network = VirtualNetwork(TOPOLOGY, SCHEME)
        self.driven = Driven(self.network, self.writer.command)

    def end(self) -> str:
        """Returns the digest that its log has."""
        with self.network, self.file:
            totals = self.network.totals()
            digest = f"{totals.digest:016x}"
            self.writer.end(End(self.network.now_s, digest, totals.events))
        return digest


flows = st.fixed_dictionaries(
    {
        "do": st.just("flow"), "id": st.integers(1, 6), "src": st.sampled_from(HOSTS),
        "dst": st.sampled_from(HOSTS),
    },
    optional={
        "size_bytes": st.integers(1, 200_000), "rate_bps": st.floats(1e6, 10e9),
        "duration_s": st.floats(1e-6, 1e-3), "traffic_class": st.integers(0, 7),
    },
)  # fmt: skip
commands = st.one_of(
    flows,
    flows,
    st.fixed_dictionaries({"do": st.just("stop"), "id": st.integers(1, 6)}),
    st.sampled_from(ENDS).flatmap(
        lambda end: st.fixed_dictionaries(
            {
                "do": st.just("link"), "node": st.just(end[0]), "port": st.just(end[1]),
                "up": st.booleans(),
            }
        )
    ),
    st.fixed_dictionaries({"do": st.just("reroute"), "after_s": st.floats(0, 1e-4)}),
    st.sampled_from(ENDS).flatmap(
        lambda end: st.fixed_dictionaries(
            {
                "do": st.just("pfc"), "node": st.just(end[0]), "port": st.just(end[1]),
                "traffic_class": st.integers(0, 7),
                "quanta": st.sampled_from([0, 2, 1000, 65535]),
            }
        )
    ),
    st.fixed_dictionaries({"xoff": st.integers(2_200, 600_000)}),
)  # fmt: skip


@given(st.lists(st.tuples(st.floats(0, 2e-4), commands), max_size=12))
@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_session_played_again_has_its_digest(tmp_path, steps):
    session, done = Session(tmp_path / "commands.jsonl"), 0
    network, driven = session.network, session.driven
    for wait_s, command in steps:
        network.run(until_s=network.now_s + wait_s)
        try:
            if "xoff" in command:
                _set_xoff(driven, command["xoff"])
            else:
                driven.carry_out(command)
        except LabError:
            continue
        done += 1
    network.run(until_s=network.now_s + 3e-4)
    digest = session.end()
    result = replay(session.path)
    assert (result.digest, result.differs) == (digest, False)
    assert result.expected is not None
    assert result.commands == done


def _set_xoff(driven: Driven, xoff: int):
    """As a controller's Write has it: the switch is written, and then the session notes that."""
    plane = driven.network.switches["s0"]
    switch_settings.change(plane, {"xoff": xoff})
    entries = [entry for entry in plane.read_table("pfc_config") if not entry.is_default_action]
    driven.written(
        "s0",
        [
            p4r.Update(type=p4r.Update.MODIFY, entity=entry.encode(plane.schema))
            for entry in entries
        ],
    )


@pytest.mark.parametrize("k", [20.0, 1e-3])
def test_session_that_threads_change_as_it_goes_on_is_played_again(k, tmp_path, monkeypatch):
    """In real time, so at other times in each test; what the log states is what was. At k = 0.001
    the run is late from its start, and never sleeps."""
    monkeypatch.setattr(timed, "_CHUNK", 300)
    session = Session(tmp_path / "commands.jsonl")
    network, driven = session.network, session.driven
    network.pace(k, 1e-4)
    begun = threading.Barrier(3)

    def send(first: int, src: str):
        begun.wait()
        for number in range(first, first + 20):
            driven.carry_out(
                {"do": "flow", "id": number, "src": src, "dst": "r0", "size_bytes": 30_000}
            )
            agent_stats(driven, src)

    def cut():
        begun.wait()
        for number in range(20):
            driven.carry_out({"do": "link", "node": "s0", "port": 4, "up": bool(number % 2)})
            driven.carry_out({"do": "reroute", "after_s": 1e-5})

    threads = [
        threading.Thread(target=send, args=(1, "h0")),
        threading.Thread(target=send, args=(101, "h1")),
        threading.Thread(target=cut),
    ]
    for thread in threads:
        thread.start()
    network.run(until_s=3e-3)
    for thread in threads:
        thread.join()
    network.run(until_s=4e-3)
    session.end()
    result = replay(session.path)
    assert not result.differs
    assert result.commands == 80
    assert len(result.flows) == 40


def test_xoff_that_is_set_holds_in_the_engine(tmp_path):
    paused = {}
    for xoff in (None, 20_000):
        session = Session(tmp_path / f"{xoff}.jsonl")
        for number, src in enumerate(("h0", "h1", "h2"), start=1):
            session.driven.carry_out({"do": "flow", "id": number, "src": src, "dst": "r0"})
        if xoff:
            _set_xoff(session.driven, xoff)
        session.network.run(until_s=5e-4)
        paused[xoff] = session.network.link_stats("s0", 1).pause
        session.end()
    assert paused[20_000] > paused[None] == 0


def test_pfc_frames_of_a_command_stop_a_port_and_let_it_go(tmp_path):
    session = Session(tmp_path / "commands.jsonl")
    network, driven = session.network, session.driven
    driven.carry_out({"do": "flow", "id": 1, "src": "h0", "dst": "r0"})
    network.run(until_s=1e-4)
    port = {"do": "pfc", "node": "h0", "port": 0, "traffic_class": 3}
    driven.carry_out({**port, "quanta": 65535})
    network.run(until_s=1.1e-4)  # the frame that had begun
    sent = network.flows[1].stats().sent_packets
    network.run(until_s=2e-4)
    assert network.flows[1].stats().sent_packets == sent
    driven.carry_out({**port, "quanta": 0})
    network.run(until_s=3e-4)
    assert network.flows[1].stats().sent_packets > sent
    session.end()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ({}, "no command None"),
        ({"do": "fly"}, "no command 'fly'; choose from flow, stop"),
        ({"do": ["flow"]}, "no command"),
        ({"do": "flow", "id": 1, "src": "h0"}, "flow: dst is missing"),
        ({"do": "flow", "id": "1", "src": "h0", "dst": "r0"}, "'1' is no whole number"),
        ({"do": "flow", "id": True, "src": "h0", "dst": "r0"}, "'True' is no whole number"),
        ({"do": "flow", "id": 1, "src": "h0", "dst": "r9"}, "r9"),
        ({"do": "flow", "id": 1, "src": "h0", "dst": "h0"}, "to itself"),
        ({"do": "flow", "id": 0, "src": "h0", "dst": "r0"}, "numbers are from 1"),
        ({"do": "flow", "id": 1, "src": "h0", "dst": "r0", "size_bytes": 0}, "a size of 0"),
        ({"do": "flow", "id": 1, "src": "h0", "dst": "r0", "rate_bps": 10**400}, "no number"),
        ({"do": "flow", "id": 1, "src": "h0", "dst": "r0", "duration_s": -1}, "a duration of -1"),
        ({"do": "flow", "id": 1, "src": "h0", "dst": "r0", "traffic_class": 9}, "class 9"),
        ({"do": "flow", "id": 1, "src": "h0", "dst": "r0", "way": 1}, "no field 'way'"),
        ({"do": "stop", "id": 7}, "7"),
        ({"do": "link", "node": "s0", "port": 9, "up": True}, "s0 has no port 9"),
        ({"do": "reroute", "after_s": -1.0}, "0 or more"),
        ({"do": "reroute", "after_s": 1e9}, "times in virtual time"),
        ({"do": "pfc", "node": "s0", "port": 4, "traffic_class": 8, "quanta": 1}, "classes 0 to 7"),
        ({"do": "pfc", "node": "s0", "port": 4, "traffic_class": 3, "quanta": 65536}, "65535"),
        ({"do": "write", "switch": "s9", "updates": []}, "s9"),
        ({"do": "write", "switch": "s0", "updates": ["?"]}, "no update"),
        ({"do": "write", "switch": "s0", "updates": [3]}, "no update"),
        (
            {"do": "write", "switch": "s0", "updates": [base64.b64encode(b"\xff").decode()]},
            "no update",
        ),
    ],
)
def test_impossible_command_is_refused_and_not_logged(command, message):
    logged: list[object] = []
    with VirtualNetwork(TOPOLOGY, SCHEME) as network:
        driven = Driven(network, lambda _at_s, fields: logged.append(fields))
        before = network.totals()
        with pytest.raises(LabError, match=message):
            driven.carry_out(command)
        network.run(until_s=1e-6)
        assert network.totals().events == before.events
    assert not logged


def test_agent_s_commands_start_and_stop_a_flow():
    with VirtualNetwork(TOPOLOGY, SCHEME) as network:
        driven = Driven(network)
        to = TOPOLOGY.host("r0")
        start = {"cmd": "start", "flow": 5, "dst_ip": to.ip, "dst_mac": to.mac, "dscp": 26}
        answer(driven, "h0", {**start, "payload_bytes": 1000, "size_bytes": 10**6})
        network.run(until_s=1e-4)
        (sent,) = answer(driven, "h0", {"cmd": "list"})
        assert (sent["state"], sent["flow"], sent["dst_ip"]) == ("sending", 5, to.ip)
        answer(driven, "h0", {"cmd": "stop", "flow": 5})
        network.run(until_s=1e-3)
        (sent,) = answer(driven, "h0", {"cmd": "list"})
        (received,) = answer(driven, "r0", {"cmd": "stats"})["received"]
        assert sent["state"] == "stopped"
        assert received["packets"] == sent["packets"] > 0
        json.dumps(answer(driven, "h0", {"cmd": "stats"}))
        for request, message in (
            ({**start, "at": 3.0}, "no field at"),
            ({**start, "payload_bytes": 9}, "have 1000 bytes"),
            ({**start, "dst_ip": "1.2.3.4"}, "no host has the address"),
            ({**start, "dscp": 64}, "0 to 63"),
            ({"cmd": "stop", "flow": 6}, "h0 sends no flow 6"),
            ({"cmd": "stop", "flow": []}, "h0 sends no flow"),
            ({"cmd": "shutdown"}, "no command 'shutdown'"),
        ):
            with pytest.raises(CommandError, match=message):
                answer(driven, "h0", request)


class _Raising(ReactionPoint):
    def __init__(self, line_rate_bps: float):
        self.rate_bps = line_rate_bps
        self.timer_s = 1e-5

    def on_timer(self, now_s: float):
        raise LookupError("own")


class _Silent(NotificationPoint):
    period_s = 1e-5

    def on_window(self, window):
        raise LookupError("its own")


def test_algorithm_that_raises_ends_its_flow_and_no_network():
    """As an agent has it: the flow is `failed`, with the error."""
    scheme = replace(
        find_scheme("pcn"),
        reaction_point=lambda line_rate_bps, _: _Raising(line_rate_bps),
        notification_point=lambda _: _Silent(),
    )
    with VirtualNetwork(TOPOLOGY, scheme.configure()) as network:
        driven = Driven(network)
        driven.carry_out({"do": "flow", "id": 1, "src": "h0", "dst": "r0"})
        network.run(until_s=1e-3)
        driven.carry_out({"do": "flow", "id": 2, "src": "h1", "dst": "r0"})
        network.run(until_s=2e-3)
        sender, receiver = agent_stats(driven, "h0"), agent_stats(driven, "r0")
        assert [(sent.state, sent.packets > 0) for sent in sender.sent] == [("failed", True)]
        (line,) = sender.failed()
        assert line.startswith("flow 1 failed at h0: its RP raised LookupError: own (")
        first, second = receiver.failed()
        assert "gets no CNPs of r0 any more: its NP raised LookupError: its own (" in first
        assert second.startswith("flow 2 ")


# ---- logs, of strangers too ----

LINES = [
    {"at_s": 1e-5, "do": "flow", "id": 1, "src": "h0", "dst": "r0"},
    {"at_s": 2e-5, "do": "link", "node": "s0", "port": 4, "up": False},
    {"do": "end", "at_s": 3e-5, "digest": "0" * 16, "events": 1},
]


def _log(path: Path, head=None, lines: Sequence[object] = LINES) -> Path:
    head = {"pcn": "commands", "version": 1, **asdict(HEAD)} if head is None else head
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)))
    return path


def test_log_of_another_network_has_another_digest(tmp_path):
    result = replay(_log(tmp_path / "log"))
    assert result.differs
    assert result.commands == 2


def test_pipe_that_no_one_writes_is_no_log(tmp_path):
    pipe = tmp_path / "commands.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(log.LogError, match="it is a pipe or a device, not a file"):
        replay(pipe)


def test_log_without_an_end_is_played_to_its_last_whole_line(tmp_path):
    path = _log(tmp_path / "log", lines=LINES[:2])
    with path.open("a") as file:
        file.write('{"at_s": 4e-5, "do": "stop", "i')
    result = replay(path)
    assert (result.commands, result.expected, result.now_s) == (2, None, 2e-5)


@pytest.mark.parametrize("reference", ["/tmp/evil.py:PCN", "pcn@/tmp/evil.p4", "evil.c"])
def test_log_runs_no_file_that_it_names(reference, tmp_path):
    head = {"pcn": "commands", "version": 1, **asdict(HEAD), "scheme": reference}
    with pytest.raises(LogError, match="which is a file: look at it, and name it with --scheme"):
        replay(_log(tmp_path / "log", head))
    replay(_log(tmp_path / "log", head), scheme="pcn")


def test_log_runs_no_scheduler_that_it_names(tmp_path):
    """One that is compiled and loaded would leave its mark."""
    code, mark = tmp_path / "evil.c", tmp_path / "ran"
    code.write_text(
        '#include "switches/scheduler.h"\n'
        "int creat(const char *, unsigned);\n"
        f'__attribute__((constructor)) static void run(void) {{ creat("{mark}", 0600); }}\n'
        "static const struct vn_scheduler vn_scheduler_evil;\n"
    )
    switches = [{**switch, "arbitration": f"{code}:evil"} for switch in HEAD.topology["switches"]]
    topology = {**HEAD.topology, "switches": switches}
    path = _log(
        tmp_path / "log", {"pcn": "commands", "version": 1, **asdict(HEAD), "topology": topology}
    )
    with pytest.raises(LogError, match="which is a file: look at it, and name it with --order"):
        replay(path)
    assert not mark.exists()
    assert replay(path, chosen_order="fifo").commands == 2


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
_FIELDS = [*HEAD.__dataclass_fields__, "pcn", "version"]


@given(st.sampled_from(_FIELDS), plain)
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_damaged_head_raises_what_commands_print(tmp_path, field, value):
    head = {"pcn": "commands", "version": 1, **asdict(HEAD), field: value}
    with contextlib.suppress(LabError):
        replay(_log(tmp_path / "log", head, []))


@given(st.lists(plain | st.fixed_dictionaries({"at_s": st.floats(0, 1e-4), "do": plain})))
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_lines_that_are_no_commands_are_refused_with_their_number(tmp_path, lines):
    if not lines:
        return
    with pytest.raises(LogError, match=r"line \d+"):
        replay(_log(tmp_path / "log", lines=lines))


def test_commands_out_of_order_are_refused(tmp_path):
    with pytest.raises(LogError, match="line 3: its time, 1e-05 s, is before the last"):
        replay(_log(tmp_path / "log", lines=[LINES[1], LINES[0]]))


def test_line_without_end_is_refused(tmp_path, monkeypatch):
    path = _log(tmp_path / "log")
    monkeypatch.setattr(log, "MOST_LINE", 200)
    with pytest.raises(LogError, match="line 1: longer than"):
        replay(path)


def test_log_that_is_full_keeps_what_was_before(monkeypatch):
    file = io.BytesIO()
    writer = Writer(file, HEAD)
    monkeypatch.setattr(log, "MOST_BYTES", writer._bytes + log._LAST + 100)
    for number in range(5):
        writer.command(0.1 * number, checked({"do": "stop", "id": number}))
    assert "as many as it may" in writer.lost
    writer.end(End(1.0, "0" * 16, 1))
    _, *rest = file.getvalue().splitlines()
    assert [json.loads(line)["id"] for line in rest] == list(range(len(rest)))
    assert 0 < len(rest) < 5


def test_disk_that_is_full_ends_the_log_alone():
    class Full(io.BytesIO):
        def write(self, line) -> int:
            raise OSError(28, "No space left on device")

    writer = Writer(Full(), HEAD)
    assert writer.lost == "No space left on device"
    writer.command(0.0, {"do": "stop", "id": 1})


def test_many_updates_are_lines_that_can_be_read(tmp_path):
    """Split at a size, in order, at one time."""
    text = base64.b64encode(b"\0" * 300_000).decode()
    with (tmp_path / "log").open("wb") as file:
        writer = Writer(file, HEAD)
        writer.command(0.5, {"do": "write", "switch": "s0", "updates": [text] * 5})
    lines = [json.loads(line) for line in (tmp_path / "log").read_bytes().splitlines()[1:]]
    assert [len(line["updates"]) for line in lines] == [1] * 5
    assert {line["at_s"] for line in lines} == {0.5}


def test_queue_of_a_lossy_class_is_bounded_and_ends_no_run(tmp_path, monkeypatch):
    monkeypatch.setattr(driven_commands, "_PACKETS", 0)  # so each queue has the least depth
    session = Session(tmp_path / "commands.jsonl")
    for number, src in enumerate(("h0", "h1", "h2"), start=1):
        session.driven.carry_out(
            {"do": "flow", "id": number, "src": src, "dst": "r0", "traffic_class": 0}
        )
    session.network.run(until_s=1e-3)
    assert session.network.link_stats("s0", 4).refused > 0
    assert session.network.totals().packets_most < 256 + 2_000  # and what is on its way
    session.end()


def test_xoff_that_could_fill_the_engine_stays_in_the_table(tmp_path):
    session = Session(tmp_path / "commands.jsonl")
    limit = session.network.link_stats("h0", 0).held_limit
    _set_xoff(session.driven, 2**32 - 1)
    assert session.network.link_stats("h0", 0).held_limit == limit
    _set_xoff(session.driven, 10**6)
    assert session.network.link_stats("h0", 0).held_limit > limit
    session.end()


def test_credits_are_refused_pfc_frames():
    parameters = {"buffer_bytes": 200e3, "lossless_classes": "3"}
    topology = replace(TOPOLOGY, flow_control="credits", parameters=parameters)
    with VirtualNetwork(topology, find_scheme("pfc").configure()) as network:
        driven = Driven(network)
        driven.carry_out({"do": "flow", "id": 1, "src": "h0", "dst": "r0"})
        with pytest.raises(CommandError, match="has credits, not PFC"):
            driven.carry_out(
                {"do": "pfc", "node": "s0", "port": 4, "traffic_class": 3, "quanta": 9}
            )
        network.run(until_s=1e-3)
        assert network.flows[1].stats().received_packets


def _leaves(value, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for name, member in members:
        yield (*path, name)
        if isinstance(member, dict | list):
            yield from _leaves(member, (*path, name))


_TOPOLOGY = to_dict(TOPOLOGY)


@given(st.sampled_from(list(_leaves(_TOPOLOGY))), plain | st.sampled_from(["h0", 2**70, 1e308]))
@example(("switches", 0, "device_id"), 3.5)
@example(("switches", 1, "buffer"), "x")
@example(("hosts", 4, "ip"), 1)
@example(("parameters", "pause_quanta"), {"a": 1})
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_damaged_topology_raises_what_commands_print(tmp_path, place, value):
    topology = copy.deepcopy(_TOPOLOGY)
    inside = topology
    for name in place[:-1]:
        inside = inside[name]
    inside[place[-1]] = value
    head = {"pcn": "commands", "version": 1, **asdict(HEAD), "topology": topology}
    with contextlib.suppress(LabError):
        replay(_log(tmp_path / "log", head, LINES[:1]))
