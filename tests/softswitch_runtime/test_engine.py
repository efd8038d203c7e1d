"""A live switch whose packets the engine moves: what its own queues haven't, frame for frame as in
virtual time; and what must not end it."""

import ctypes
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from links import Link
from runtime import (
    NOTICE,
    RECIRCULATE,
    RESUBMIT,
    TRUNCATE,
    Switch,
    frame,
    library,
    live_engine,
    wait,
)

from pcn.softswitch.options import OptionError, parse
from pcn.virtualnet import native

Links = Callable[..., list[Link]]
Weights = ctypes.c_uint16 * 8
RATE_BPS, LENGTH = 4e6, 1000
PS = 10**12
SCHEDULERS = Path(__file__).resolve().parents[2] / "examples" / "schedulers"
COMMAND = [sys.executable, "-m", "pcn.switch_command"]


@contextmanager
def held(switch: Switch) -> Iterator[None]:
    """The switch moves nothing meanwhile, and takes what has come in one batch."""
    library().sw_lock(switch.handle)
    try:
        yield
    finally:
        library().sw_unlock(switch.handle)


def ports(switch: Switch, links: Sequence[Link]):
    """Ports from 1 on; what comes in leaves by the last one, which has a rate."""
    for port, link in enumerate(links, 1):
        switch.port_add(port, link.near)
        switch.forward(port, len(links))
    switch.shape(len(links), RATE_BPS)


def in_virtual_time(
    by_port: Sequence[Sequence[bytes]],
    weights: Sequence[int] | None,
    scheduler: bytes | None,
    parts: Sequence[native.Part] = (),
) -> list[bytes]:
    """What arrives behind the last of such ports in virtual time, where hosts send the frames one
    after another, within a microsecond."""
    engine = native.engine(parts)
    out = len(by_port) + 1
    with Switch(manual=True, by_engine=False) as switch:
        for port in range(1, out + 1):
            switch.forward(port, out)
        net = engine.vn_create(False, False, 1, 0)
        try:
            assert engine.vn_store_whole(net, 1664) == 0
            node = engine.vn_add_switch(net, switch.handle)
            assert scheduler is None or engine.vn_set_scheduler(net, node, scheduler) == 0
            hosts = [engine.vn_add_host(net, bytes([10, 0, 0, n])) for n in range(out)]
            for host in hosts:
                assert engine.vn_add_endpoint(net, host, b"source") == 0
            links = [
                engine.vn_add_link(
                    net, node, port, host, 0, int(RATE_BPS if port == out else 1e12), 0
                )
                for port, host in enumerate(hosts, 1)
            ]
            at_ps = itertools.count(0, 10_000)
            for link, frames in zip(links, by_port, strict=False):
                for sent in frames:
                    place = engine.vn_source_keep(net, sent, len(sent), len(sent))
                    time = (ctypes.c_uint64 * 1)(next(at_ps))
                    code = engine.vn_source_frames(net, link + 1, 0, 1, time, place, None, None)
                    assert code == 0, engine.vn_error(net)
            exchange = engine.vn_exchange_of(net).contents
            exchange.until_ps, exchange.budget = 0, 1
            engine.vn_run(net)
            if weights is not None:
                assert engine.vn_set_weights(net, links[-1], Weights(*weights)) == 0
            exchange.until_ps, exchange.budget = 100 * PS, 2**62
            engine.vn_run(net)
            at, data = ctypes.POINTER(_taken(engine))(), ctypes.POINTER(ctypes.c_uint8)()
            n = engine.vn_taken(net, hosts[-1], ctypes.byref(at), ctypes.byref(data))
            return [bytes(data[at[i].at : at[i].at + at[i].length]) for i in range(n)]
        finally:
            engine.vn_destroy(net)


def _taken(engine: ctypes.CDLL) -> type[ctypes.Structure]:
    return engine.vn_taken.argtypes[2]._type_._type_


@pytest.mark.root
@pytest.mark.parametrize("weights", [(0, 0, 0, 3, 1, 0, 0, 0), (0, 0, 0, 1, 5, 0, 0, 0), None])
def test_weights_of_classes_have_virtual_time_s_order(make_links: Links, weights):
    frames = [frame(length=LENGTH, priority=3 + i % 2, mark=i) for i in range(60)]
    a, b = make_links(2)
    with Switch(by_engine=True) as switch:
        ports(switch, (a, b))
        if weights is not None:
            assert live_engine().vn_live_weights(switch.handle, 2, Weights(*weights)) == 0
        with held(switch):
            a.send(*frames)
        got = b.receive(len(frames))
    assert [f[23] for f in got] == [f[23] for f in in_virtual_time([frames], weights, None)]
    if weights is not None:
        classes = [3 + f[23] % 2 for f in got[1:25]]
        assert abs(classes.count(3) / 24 - weights[3] / (weights[3] + weights[4])) < 0.1


@pytest.mark.root
def test_round_robin_has_virtual_time_s_order(make_links: Links):
    by_port = [[frame(length=LENGTH, mark=100 * port + i) for i in range(20)] for port in (0, 1)]
    a, b, c = make_links(3)
    with Switch(None, by_engine=True) as switch:
        assert live_engine().vn_live_scheduler(switch.handle, b"round_robin") == 0
        assert live_engine().vn_live_scheduler(switch.handle, b"none") < 0
        switch.load("probe")
        ports(switch, (a, b, c))
        with held(switch):
            a.send(*by_port[0])
            b.send(*by_port[1])
        got = [f[23] for f in c.receive(40)]
    # From the second port's first on: how many of the first port left before it was in, the
    # machine decides
    first = got.index(100)
    left = 20 - first
    assert first < 20
    assert got[:first] == list(range(first))
    assert got[first : first + 2 * left : 2] == list(range(100, 100 + left))
    assert got[first + 1 : first + 2 * left : 2] == list(range(first, 20))
    assert got[first + 2 * left :] == list(range(100 + left, 120))
    in_time = [f[23] for f in in_virtual_time(by_port, None, b"round_robin")]
    assert in_time[1:5] == [100, 1, 101, 2]


@pytest.mark.root
@pytest.mark.parametrize("name", ["fair", "stochastic", "srpt", "pias"])
def test_scheduler_of_one_file_has_virtual_time_s_order(make_links: Links, name):
    """Three flows, by their addresses, of which the first sends the most. No frame reports what is
    left, so that all are equal to srpt."""
    part = native.Part(SCHEDULERS / f"{name}.c", schedulers=(name,))
    frames = []
    for mark in range(60):
        flow = 0 if mark < 40 else 1 + mark % 2
        frames.append(bytes([2, 0, 0, 0, 0, flow]) + frame(length=LENGTH, mark=mark)[6:])
    a, b = make_links(2)
    with Switch(None, by_engine=True, parts=[part]) as switch:
        assert live_engine([part]).vn_live_scheduler(switch.handle, name.encode()) == 0
        switch.load("probe")
        ports(switch, (a, b))
        with held(switch):
            a.send(*frames)
        got = [f[23] for f in b.receive(len(frames))]
    assert got == [f[23] for f in in_virtual_time([frames], None, name.encode(), [part])]
    in_turns = [0 if mark < 40 else 1 + mark % 2 for mark in got[3:27]]
    fair = name in ("fair", "stochastic")
    assert [in_turns.count(flow) for flow in range(3)] == ([8, 8, 8] if fair else [24, 0, 0])


CHAINS = """
/* Adds 4,096 flows whose keys end alike to two tables: the longest chain, and how many flows have
 * the same chain in both. */
void chains(uint32_t *longest, uint32_t *same)
{
    enum { N = 4096 };
    struct flows *tables = flows_make(NULL);
    uint32_t lengths[N] = {0};
    for (uint64_t flow = 0; flow < N; flow++) {
        flows_add(NULL, &tables[0], flow << 40);
        *same += chain_of(flow << 40, tables[0].secret, N) ==
                 chain_of(flow << 40, tables[1].secret, N);
    }
    for (uint32_t i = 0; i < tables->room; i++)
        for (uint32_t flow = tables->chains[i]; flow != VN_NONE; flow = tables->all[flow].next)
            if (++lengths[i] > *longest) *longest = lengths[i];
    flows_end(tables);
    free(tables);
}
static const struct vn_scheduler vn_scheduler_chains = {.name = "chains"};
"""


def test_sender_can_t_choose_the_chains_of_flows(tmp_path):
    """Else a packet takes as long as there are flows. Two tables have separate secrets."""
    code = tmp_path / "chains.c"
    code.write_text(f'#include "{SCHEDULERS}/flows.h"\n{CHAINS}')
    longest, same = ctypes.c_uint32(), ctypes.c_uint32()
    engine = live_engine([native.Part(code, schedulers=("chains",))])
    engine.chains(ctypes.byref(longest), ctypes.byref(same))
    assert longest.value < 16
    assert same.value < 64


@pytest.mark.root
def test_packets_without_end_leave_other_ports_alone(make_links: Links):
    """Packets of a port recirculate without end, others are resubmitted and lost; the next port
    forwards on."""
    a, b, c = make_links(3)
    with Switch(depth=200, by_engine=True) as switch:
        for port, link in ((1, a), (2, b), (3, c)):
            switch.port_add(port, link.near)
        switch.forward(1, 2)
        switch.forward(3, 3)
        switch.write_register(0, 1)  # probe.c: what recirculates does so without end
        a.send(*[frame(RECIRCULATE, mark=i) for i in range(100)])
        a.send(*[frame(RESUBMIT, mark=i) for i in range(100)])
        for round_ in range(20):
            c.send(*[frame(mark=round_ + i) for i in range(30)])
            assert [f[23] for f in c.receive(30)] == [round_ + i for i in range(30)]
        assert wait(lambda: switch.stats(1).rx_packets == 200)


@pytest.mark.root
def test_frames_of_any_bytes_end_nothing(make_links: Links):
    a, b = make_links(2, 9202)
    with Switch(by_engine=True) as switch:
        switch.join(a, b)
        a.send(*[bytes([i % 256]) * (14 + 37 * i) for i in range(240)])
        assert wait(lambda: switch.stats(1).rx_packets + switch.stats(1).rx_dropped >= 240)
        a.send(frame(mark=77))
        while (got := b.receive(1))[0][23:24] != b"M":
            assert got
        event = switch.event(0)
        assert event is None or event[0] != NOTICE, event


def test_frame_of_which_a_program_leaves_nothing_is_dropped():
    with Switch(manual=True, by_engine=True) as switch:
        for port in (1, 2):
            switch.port_add(port)
        switch.forward(1, 2)
        switch.inject(1, frame(TRUNCATE, argument=0), frame(TRUNCATE, argument=1), frame(mark=7))
        switch.advance(1e-3)
        assert [len(departure.frame) for departure in switch.departed()] == [1, 1000]


@pytest.mark.root
def test_frame_longer_than_any_before_finds_room(make_links: Links):
    """By the MTU that the interface had, there is room for 1,664 bytes."""
    a, b = make_links(2, 1500)
    with Switch(by_engine=True) as switch:
        switch.join(a, b)
        a.send(frame(mark=1))
        assert b.receive(1)[0][23] == 1
        for link in (a, b):
            link.set_mtu(9000)
        a.send(frame(length=5000, mark=2), frame(mark=3))
        assert [(len(f), f[23]) for f in b.receive(2)] == [(5000, 2), (1000, 3)]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--weights", "1=3:1"], "--weights needs --engine"),
        (["--arbitration", "round_robin"], "--arbitration needs --engine"),
        (["--engine", "--weights", "1=3:1", "--trim", "0"], "trims no packets"),
        (["--engine", "--weights", "1=3:0"], "weights of 1 to 65535"),
        (["--engine", "--weights", "1=3:1,3:2"], "each class once"),
        (["--engine", "--weights", "1=8:1"], "write PORT=CLASS:WEIGHT"),
        (["--engine", "--weights", "1=3:1", "--weights", "1=4:1"], "given twice for port 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(words, why):
    with pytest.raises(OptionError, match=why):
        parse(["--no-p4", *words])


def test_options_of_the_engine_are_read():
    options = parse(["--no-p4", "--engine", "--weights", "2=3:3,4:1"])
    assert options.engine
    assert options.weights == {2: (0, 0, 0, 3, 1, 0, 0, 0)}
    assert options.arbitration is None


@pytest.mark.parametrize(
    ("module", "words", "why"),
    [
        ("pcn.softswitch", [], "start `softswitch`"),
        (
            "pcn.switch_command",
            ["--arbitration", "none"],
            "no package brings the arbitration 'none'",
        ),
    ],
)
def test_command_reports_what_it_lacks(module, words, why):
    command = [sys.executable, "-m", module, "--no-p4", "--engine", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert why in done.stderr
    assert done.returncode in (1, 2)
