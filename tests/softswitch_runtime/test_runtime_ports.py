"""Interfaces: tags, lengths, bursts, coming and going; and what is refused."""

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from links import Link
from runtime import NOTICE, Switch, SwitchError, wait

from pcn.softswitch.cache.objects import compiler

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("both_ways")]
Links = Callable[..., list[Link]]
ENQ_QDEPTH = 19  # where programs/probe.c writes it, modulo 256
MULTICAST = 8  # opcode of programs/probe.c; its argument is the group


def frame(length: int = 64, fill: int = 0) -> bytes:
    return bytes(range(12)) + b"\x88\xb5\x00\x00\x00" + bytes(6) + bytes([fill]) * (length - 23)


@pytest.mark.parametrize("tag", [b"\x81\x00\x60\x05", b"\x88\xa8\x0f\xff", b"\x81\x00\x00\x00"])
def test_vlan_tags_come_through(make_links: Links, tag):
    """The kernel removes tags and passes them separately; the program must see the frame as it was
    on the wire."""
    a, b = make_links(2)
    with Switch() as switch:
        switch.join(a, b)
        tagged = bytes(range(12)) + tag + b"\x00" + bytes(90)
        a.send(tagged)
        assert switch_counted(switch, len(tagged))
        assert len(b.receive(1)) == 1
        assert switch.stats(2).tx_bytes == len(tagged)


def switch_counted(switch: Switch, length: int) -> bool:
    return wait(lambda: switch.stats(1).rx_bytes == length and switch.counter(0, 1).bytes == length)


def test_lengths_up_to_jumbo(make_links: Links):
    """Frames of every buffer size; what is longer than the outgoing interface's MTU is dropped and
    counted alone."""
    a, b = make_links(2, 9202)
    (c,) = make_links(1, 1500)
    with Switch() as switch:
        for port, link in ((1, a), (2, b), (3, c)):
            switch.port_add(port, link.near)
        switch.forward(1, 2)
        lengths = [14, 23, 60, 1514, 1663, 1664, 1665, 2048, 9000, 9215, 9216]
        a.send(*[frame(n)[:n] for n in lengths])
        assert [len(f) for f in b.receive(len(lengths) - 1)] == lengths[1:], (
            "14 B are no frame of the program's"
        )
        assert switch.stats(1).rx_packets == len(lengths)
        switch.table_delete(0)
        switch.forward(1, 3)
        a.send(frame(1514), frame(1600), frame(1514))
        assert [len(f) for f in c.receive(2)] == [1514, 1514]
        assert wait(lambda: switch.stats(3).tx_dropped == 1)
        assert switch.stats(3).tx_packets == 2


# From 1,280 on: an interface that has had less begins with IPv6 when it gets more, and says so on
# the wire.
@pytest.mark.parametrize("mtu", [1280, 1400, 1500])
def test_frames_longer_than_the_mtu_was(make_links: Links, mtu):
    """A slot of the ring has the length of the MTU when the port is opened. Longer frames later
    keep their place."""
    (a,) = make_links(1, mtu)
    (b,) = make_links(1, 1500)
    with Switch(depth=2000) as switch:
        switch.join(a, b)
        lengths = [64, 14 + mtu, 14 + mtu - 1]
        a.send(*map(frame, lengths))
        assert [len(f) for f in b.receive(len(lengths))] == lengths
        a.set_mtu(1500)
        lengths = (
            [64, 1514, 14 + mtu + 63, 14 + mtu + 64, 65, 1500] if mtu < 1500 else [64, 1514, 65]
        )
        tagged = bytes(range(12)) + b"\x81\x00\x60\x05" + b"\x00" + bytes(1501)
        a.send(*map(frame, lengths), tagged, frame(66))
        assert [len(f) for f in b.receive(len(lengths) + 2)] == [*lengths, len(tagged) - 4, 66], (
            "this socket's tag is aside"
        )
        assert switch.stats(1).rx_bytes == switch.stats(2).tx_bytes
        assert switch.stats(1).rx_dropped == 0


@pytest.mark.parametrize("mtu", [1044, 1500])
def test_bursts_of_thousands_lose_nothing(make_links: Links, mtu):
    """Each as long as a ring, so that it doesn't matter when the switch gets its core."""
    a, b = make_links(2, mtu)
    with Switch(depth=2000) as switch:
        switch.join(a, b)
        burst = [frame(1058, i % 251) for i in range(2000)]
        for _ in range(3):
            a.send(*burst)
            assert [f[-1] for f in b.receive(2000)] == [f[-1] for f in burst]
        stats = switch.stats(2)
        assert (stats.tx_packets, stats.tx_dropped, stats.queue_dropped) == (6000, 0, 0)


SYSCONF = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
long sysconf(int name)
{
    return name == _SC_PAGESIZE ? 65536 : ((long (*)(int))dlsym(RTLD_NEXT, "sysconf"))(name);
}
"""


def test_frames_come_through_rings_of_larger_pages(tmp_path):
    """As arm64's kernels may have them, which refuse blocks of a part of a page: two tests again,
    in a process that takes pages for 64 KB."""
    (tmp_path / "sysconf.c").write_text(SYSCONF)
    library = tmp_path / "sysconf.so"
    subprocess.run(
        [*compiler(), "-shared", "-fPIC", "-o", library, tmp_path / "sysconf.c"], check=True
    )
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    page = [sys.executable, "-c", "import os; print(os.sysconf('SC_PAGESIZE'))"]
    assert (
        subprocess.run(page, env=environment, check=True, capture_output=True).stdout == b"65536\n"
    )
    tests = [test_frames_longer_than_the_mtu_was, test_bursts_of_thousands_lose_nothing]
    names = [f"{__file__}::{test.__name__}" for test in tests]
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *names,
    ]  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_full_queues_drop_and_count(make_links: Links):
    a, b = make_links(2)
    with Switch(depth=10) as switch:
        switch.join(a, b)
        switch.shape(2, 80_000)  # 64 B: 6.4 ms
        a.send(*[frame() for _ in range(50)])
        assert wait(lambda: switch.stats(1).rx_packets == 50)
        dropped = switch.stats(2).queue_dropped
        assert len(b.receive(50 - dropped)) == 50 - dropped
        assert b.silent()


def limit_rate(interface: str, rate: str, *, limit: int, action: str = "add"):
    """As Mininet's TCLink does; up to `limit` bytes wait in the interface."""
    words = [
        "tc", "qdisc", action, "dev", interface, "root", "tbf", "rate", rate, "burst", "3000",
        "limit", str(limit),
    ]  # fmt: skip
    subprocess.run(words, check=True)


@pytest.mark.parametrize(("limit", "n"), [(4000, 300), (10_000_000, 500)])
def test_interface_with_a_rate_holds_packets_in_the_queue(make_links: Links, limit, n):
    """It refuses what it has no room for, or keeps what the socket has room for; the program sees
    the queue."""
    a, b = make_links(2)
    limit_rate(b.near, "8kbit", limit=limit)
    with Switch(depth=1000) as switch:
        switch.join(a, b)
        a.send(*[frame(1000) for _ in range(n)])
        assert wait(lambda: switch.counter(0, 1).packets == n)
        limit_rate(b.near, "1gbit", limit=limit, action="change")
        received = b.receive(n - switch.stats(2).tx_dropped)
        assert max(f[ENQ_QDEPTH] for f in received) > 150


def test_interface_that_takes_27_ms_a_frame_loses_none(make_links: Links):
    a, b = make_links(2)
    limit_rate(b.near, "300kbit", limit=4000)
    with Switch() as switch:
        switch.join(a, b)
        a.send(*[frame(1000) for _ in range(12)])
        assert len(b.receive(12)) == 12
        assert switch.stats(2).tx_dropped == 0


def test_the_drop_port_has_an_interface(make_links: Links):
    """As in BMv2 frames arrive there, and replicas leave there; as an egress_spec it drops."""
    a, b = make_links(2)
    with Switch() as switch:
        switch.port_add(511, a.near)
        switch.port_add(2, b.near)
        switch.forward(511 & 255, 2)
        a.send(frame(fill=1))
        assert [f[-1] for f in b.receive(1)] == [1]
        switch.forward(2, 511)
        switch.group("multicast_group", 9, [(511, 1)])
        to_group = bytearray(frame(fill=3))
        to_group[14:16] = MULTICAST, 9
        b.send(frame(fill=2), bytes(to_group))
        assert [f[-1] for f in a.receive(1)] == [3], "what was sent before is dropped"
        assert switch.stats(511).tx_packets == 1


def _make(name: str, far: str) -> str:
    """A veth pair that has carrier: a port without is down as soon as any interface's change makes
    the switch look."""
    return (
        f"ip link add {name} type veth peer name {far} && ip link set {name} up && ip link set "
        f"{far} up"
    )


def test_an_interface_vanishes_and_returns(make_links: Links):
    a, b = make_links(2)
    with Switch() as switch:
        switch.join(a, b)
        with Link() as c:
            switch.port_add(3, c.near)
            switch.forward(3, 2)
            c.send(frame())
            assert len(b.receive(1)) == 1
            name, far = c.near, c.far
        assert wait(lambda: switch.stats(3).up == 0)
        # Where the kernel tells of the link before the interface has gone, the log says so first.
        events = iter(switch.event, None)
        assert (
            next((kind for kind, _, text in events if f"{name} is gone".encode() in text), None)
            == NOTICE
        )
        a.send(frame())
        assert len(b.receive(1)) == 1, "the other ports go on"
        subprocess.run(["sh", "-c", _make(name, far)], check=True)
        try:
            assert wait(lambda: switch.stats(3).up == 1)
            assert any(b"is back" in text for _, _, text in events)
        finally:
            subprocess.run(["ip", "link", "del", name], check=True)
        assert wait(lambda: switch.stats(3).up == 0)


def test_an_interface_that_cannot_be_opened_when_it_returns(make_links: Links):
    """No descriptor is left at that moment: the log reports it, the other ports work, and later it
    is opened."""
    a, b = make_links(2)
    with Switch() as switch:
        switch.join(a, b)
        with Link() as c:
            switch.port_add(3, c.near)
            name, far = c.near, c.far
        assert wait(lambda: switch.stats(3).up == 0)
        events = iter(switch.event, None)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        with subprocess.Popen(
            ["sh", "-c", f"read _; {_make(name, far)}"], stdin=subprocess.PIPE
        ) as later:
            assert later.stdin is not None
            try:
                os.close(next_one := os.dup(0))
                resource.setrlimit(resource.RLIMIT_NOFILE, (next_one, limits[1]))
                later.stdin.write(b"\n")
                later.stdin.flush()
                assert wait(
                    lambda: any(
                        b"is back, but cannot open a packet socket" in text for _, _, text in events
                    )
                )
                assert [switch.stats(port).up for port in (1, 2, 3)] == [1, 1, 0]
                a.send(frame())
                assert len(b.receive(1)) == 1
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        try:
            assert wait(lambda: switch.stats(3).up == 1)
            back = next((text for _, _, text in events if b"is back" in text), None)
            assert back == f"port 3: interface {name} is back".encode(), (
                "a failure is reported once"
            )
        finally:
            subprocess.run(["ip", "link", "del", name], check=True)


def test_an_interface_that_is_down_for_a_while(make_links: Links):
    a, b = make_links(2)
    with Switch() as switch:
        switch.join(a, b)
        subprocess.run(["ip", "link", "set", b.near, "down"], check=True)
        a.send(frame())
        assert wait(lambda: switch.stats(2).tx_dropped == 1)
        subprocess.run(["ip", "link", "set", a.near, "down"], check=True)
        for link in (a, b):
            subprocess.run(["ip", "link", "set", link.near, "up"], check=True)
            assert wait(
                lambda link=link: Path(f"/sys/class/net/{link.far}/operstate").read_text() == "up\n"
            )
        assert wait(lambda: _arrives(a, b))


@pytest.mark.parametrize(
    "end", ["near", "far"], ids=["its own interface", "what it is connected to"]
)
def test_link_that_is_down_loses_frames_and_is_logged_once(make_links: Links, end):
    a, b = make_links(2)
    with Switch() as switch:
        switch.join(a, b)
        switch.forward(2, 1)
        for turn in (1, 2):
            subprocess.run(["ip", "link", "set", getattr(b, end), "down"], check=True)
            assert wait(lambda: switch.stats(2).up == 0)
            assert switch.event() == (
                NOTICE,
                0,
                f"port 2: interface {b.near} is down; what is to leave by it is lost".encode(),
            )
            for _ in range(300):
                a.send(frame())
            assert wait(lambda turn=turn: switch.stats(2).tx_dropped == 300 * turn)
            subprocess.run(["ip", "link", "set", getattr(b, end), "up"], check=True)
            assert wait(lambda: switch.stats(2).up == 1)
            message = (
                f"port 2: interface {b.near} is up again; 300 frames that were to leave by it were "
                "lost"
            )
            assert switch.event() == (NOTICE, 0, message.encode())
            assert wait(lambda: _arrives(a, b))
        assert wait(lambda: accounted(switch)), (
            "each frame that came is counted where it left or was lost"
        )


def accounted(switch: Switch) -> bool:
    came, out = switch.stats(1), switch.stats(2)
    return came.rx_packets == out.tx_packets + out.tx_dropped


def _arrives(a: Link, b: Link) -> bool:
    try:
        a.send(frame())
        return len(b.receive(1, 0.2)) == 1
    except OSError:  # ENETDOWN, once, for what happened before
        return False


def test_what_is_refused(make_links: Links):
    (a,) = make_links(1)
    with Switch(None) as switch:
        with pytest.raises(SwitchError, match="no interface nosuch0"):
            switch.port_add(1, "nosuch0")
        with pytest.raises(SwitchError, match="no interface has a name as long"):
            switch.port_add(1, "x" * 40)
        with pytest.raises(SwitchError, match="port 512 can't be used: ports are 0 to 511"):
            switch.port_add(512, a.near)
        switch.port_add(1, a.near)
        with pytest.raises(SwitchError, match=f"port 1 has the interface {a.near} already"):
            switch.port_add(1, a.near)
        with pytest.raises(SwitchError, match="port 9 has no interface"):
            switch.call("sw_port_remove", 9)
        with pytest.raises(SwitchError, match="no program is loaded"):
            switch.forward(1, 2)
        with pytest.raises(SwitchError, match="cannot load the program"):
            switch.call("sw_load", b"/nonexistent.so", None, 0)
        assert switch.packet_out(1, frame()) == -errno.ENOENT
        a.send(frame())
        assert wait(lambda: switch.stats(1).rx_dropped == 1), (
            "without a program, packets are dropped and counted"
        )
        switch.load("probe")
        switch.forward(1, 1)
        a.send(frame())
        assert len(a.receive(1)) == 1
        switch.call("sw_port_remove", 1)
        switch.port_add(1, a.near)
        a.send(frame())
        assert len(a.receive(1)) == 1


def test_a_new_program_starts_empty(make_links: Links):
    a, b = make_links(2)
    with Switch() as switch:
        switch.join(a, b)
        a.send(frame())
        assert len(b.receive(1)) == 1
        switch.load("probe")
        a.send(frame())
        assert b.silent()
        assert switch.counter(0, 1).packets == 1
        switch.forward(1, 2)
        a.send(frame())
        assert len(b.receive(1)) == 1
