"""What `pcn watch` shows, on terminals of several sizes."""

import itertools
from dataclasses import replace

import pytest
from rich.console import Console

from pcn.lab.journal import Process, Record
from pcn.lab.observe import FlowState, PortState, Snapshot
from pcn.topologies.compact import compact
from pcn.topologies.serialise import to_dict
from pcn.view import picture

TOPOLOGY = compact()
RECORD = Record(
    "compact", Process(1, 1), to_dict(TOPOLOGY), "softswitch", 400.0, "pcn", "pcn", "/tmp",
    state="up",
)  # fmt: skip


def port(switch: str, number: int, **values) -> PortState:
    idle = dict.fromkeys(("queue_packets", "queue_bytes", "held_bytes", "pn"), 0) | dict.fromkeys(
        ("rate_bps", "utilisation", "pauses_sent_per_s", "pauses_received_per_s"), 0.0
    )
    state = {
        **idle, "port": f"{switch}:{number}", "link": TOPOLOGY.link_name(switch, number),
        "paused": False, "pausing": False, "marked_share": None, "marked_ue_share": None, **values,
    }  # fmt: skip
    return PortState(**state)


def snapshot(flows: int) -> Snapshot:
    """The burst at its worst: P2/S1 congested, S0's port paused by S1."""
    busy = {
        "s1:2": {
            "queue_bytes": 14_336_000, "queue_packets": 13_550, "rate_bps": 40e9,
            "utilisation": 1.0,
        },
        "s0:3": {
            "paused": True, "pauses_received_per_s": 123_456.0, "pn": 1_234,
            "queue_bytes": 512_000,
        },
        "s1:1": {"pausing": True, "pauses_sent_per_s": 123_456.0},
    }  # fmt: skip
    ports = [
        port(switch.name, number, **busy.get(f"{switch.name}:{number}", {}))
        for switch in TOPOLOGY.switches
        for number in TOPOLOGY.ports(switch.name)
    ]
    long = [
        FlowState(number, f"h{number}", f"r{number}", "sending", 37.3e9, 2.345e9, 1.0, 0.0)
        for number in (0, 1)
    ]
    burst = [
        FlowState(2 + n, f"h{2 + n % 14}", "r1", "sending", 40e9, 0.2e9, 0.5, 0.25)
        for n in range(flows)
    ]
    ended = [FlowState(9000 + n, "h2", "r1", "done", 0.0, 0.0, None, None) for n in range(3)]
    return Snapshot(1.2345, 2.5e-3, tuple(ports), (*long, *burst, *ended))


def lines(width: int, height: int | None, flows: int) -> list[str]:
    console = Console(width=width, height=height, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(picture(RECORD, snapshot(flows), width, height))
    return captured.get().splitlines()


@pytest.mark.parametrize("flows", [0, 14, 224])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 50), (120, 30), (200, 60)])
def test_it_fits_and_shows_what_matters(width, height, flows):
    shown = lines(width, height, flows)
    assert len(shown) <= height
    assert all(len(line.rstrip()) <= width for line in shown)
    assert not any("…" in line for line in shown)
    text = "\n".join(shown)
    for part in (
        "s1:2",
        "14,336.0",
        "100%",
        "PAUSED",
        "1234",
        "123.46",
        "pauses",
        "h0",
        "37.300",
        "2.345",
    ):
        assert part in text, part
    assert "3 flows have ended" in text


@pytest.mark.parametrize("width", range(30, 80, 2))
def test_a_narrow_terminal_shows_less_and_cuts_nothing(width):
    """Columns go, numbers stay whole; which columns there are doesn't depend on the numbers."""
    shown = lines(width, 50, 14)
    assert all(len(line.rstrip()) <= width for line in shown)
    text = "\n".join(shown)
    assert "…" not in text
    words = set(text.split())
    assert words >= {"14,336.0", "100%", "PAUSED"}
    headings, idle = (
        next(line for line in some if "KB" in line) for some in (shown, lines(width, 50, 0))
    )
    assert headings.split() == idle.split()
    for heading, number in (("Gbit/s", "40.00"), ("in/ms", "123.46"), ("pn", "1234")):
        assert (heading in headings) == (number in words)


def test_columns_go_as_the_terminal_gets_narrower():
    def has(width: int) -> set[str]:
        text = "\n".join(lines(width, 50, 14))
        return {
            word
            for word in ("s0->s1", "123.46", "40.00", "14,336.0", "PAUSED", "███")
            if word in text
        }

    seen = [has(width) for width in range(30, 121, 5)]
    assert all(narrow <= wide for narrow, wide in itertools.pairwise(seen))
    assert has(60) == {"123.46", "40.00", "14,336.0", "PAUSED"}
    assert has(120) == {"s0->s1", "123.46", "40.00", "14,336.0", "PAUSED", "███"}


def test_windows_are_shown_where_flows_have_them():
    """Of a pair's flows together their sum."""
    assert "window" not in "\n".join(lines(120, 50, 14))
    some = [
        FlowState(n, "h0", "r0", "sending", 1e9, 1e9, 0.0, None, True, 125e3, 62_500)
        for n in (1, 2)
    ]
    windowless = FlowState(3, "h1", "r1", "sending", 1e9, 1e9, 0.0, None)
    for height, shown in ((None, ("125.0", "62.5")), (len(TOPOLOGY.links), ("250.0", "125.0"))):
        now = replace(snapshot(0), flows=(*some, windowless))
        console = Console(width=120, height=height, color_system=None, highlight=False)
        with console.capture() as captured:
            console.print(picture(RECORD, now, 120, height))
        text = captured.get()
        assert all(part in text for part in ("window", "in flight", *shown)), text


def test_without_a_height_everything_is_shown():
    text = "\n".join(lines(80, None, 14))
    assert all(f"s1:{number} " in text for number in TOPOLOGY.ports("s1"))
    assert sum("sending" in line for line in text.splitlines()) == 16


def test_view_without_idle_ports_has_those_in_use():
    """`pcn watch --once`: what is busy, PAUSEd or pauses, and how many others there are."""
    console = Console(width=120, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(picture(RECORD, snapshot(0), 120, idle=False))
    lines_of_ports = [line for line in captured.get().splitlines() if line[:1] == "s"]
    assert [line.split()[0] for line in lines_of_ports] == ["s0:3", "s1:1", "s1:2"]
    count = sum(len(TOPOLOGY.ports(switch.name)) for switch in TOPOLOGY.switches)
    assert f"{count - 3} more ports" in captured.get()


def test_view_counts_omitted_rows():
    text = "\n".join(lines(80, 24, 224))
    assert "17 more ports" in text
    assert "5 more; 3 flows have ended" in text


def test_a_wide_terminal_has_bars():
    """With a scale."""
    shown = lines(120, None, 0)
    (scale,) = [
        line
        for line in shown
        if "0%" in line and "█" not in line and "100%" in line and "s1:" not in line
    ]
    bar = next(line for line in shown if "█" * 20 in line)
    assert scale.rindex("100%") + len("100%") == bar.index("█") + 20
    assert "█" not in "\n".join(lines(80, None, 0))


@pytest.mark.parametrize("width", [80, 120])
def test_a_link_that_is_down_is_shown_and_what_it_lost(width):
    ports = (port("s0", 3, up=False, lost=504_552), port("s1", 3), port("s1", 2, lost=7))
    console = Console(width=width, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(picture(RECORD, Snapshot(1.0, 1e-3, ports, ()), width, None))
    shown = captured.get().splitlines()
    (down,) = (line for line in shown if line.startswith("s0:3"))
    assert "DOWN" in down
    assert any("frames lost: s0:3 504,552, s1:2 7" in line for line in shown)


def test_ue_is_shown_where_a_program_marks_it():
    def text(ue: float | None) -> str:
        console = Console(width=200, height=60, color_system=None, highlight=False)
        now = snapshot(2)
        ports = tuple(replace(port, marked_share=0.0, marked_ue_share=ue) for port in now.ports)
        with console.capture() as captured:
            console.print(picture(RECORD, replace(now, ports=ports), 200, 60))
        return captured.get()

    assert "UE" not in text(None).replace("PAUSE", "")
    assert text(0.125).replace("QUEUE", "").count("UE") == 2
    assert "12.5%" in text(0.125)
    assert "25.0%" in text(0.125)


def test_busiest_ports_come_first_where_not_all_fit():
    """Those that are down, then PAUSE, then the longest queues."""
    names = [
        (switch.name, number)
        for switch in TOPOLOGY.switches
        for number in TOPOLOGY.ports(switch.name)
    ]
    ports = [
        port(*name, queue_bytes=1000 * place, queue_packets=place, paused=place == 3, up=place != 5)
        for place, name in enumerate(names)
    ]
    console = Console(width=100, height=20, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(picture(RECORD, Snapshot(1.0, 1e-3, tuple(ports), ()), 100, 20))
    shown = [line.split()[0] for line in captured.get().splitlines() if line[:1] == "s"]
    expected = [5, 3, *range(len(names) - 1, 5, -1)]
    assert 4 <= len(shown) < len(names)
    assert shown == [f"{names[place][0]}:{names[place][1]}" for place in expected[: len(shown)]]


def test_fastest_flows_come_first_where_not_all_fit():
    """The one that has a link for itself isn't among `5 more`; where all fit, they stand by
    number."""
    flows = tuple(
        FlowState(n, f"h{n}", "r1", "sending", 40e9, 1e9 * n, None, None, sent_bps=1e9 * n)
        for n in range(14)
    )

    def numbers(height: int) -> list[int]:
        console = Console(width=100, height=height, color_system=None, highlight=False)
        with console.capture() as captured:
            console.print(picture(RECORD, replace(snapshot(0), flows=flows), 100, height))
        return [int(line.split()[0]) for line in captured.get().splitlines() if "sending" in line]

    few = numbers(20)
    assert few == list(range(13, 13 - len(few), -1))
    assert 1 <= len(few) < 14
    assert numbers(60) == list(range(14))


@pytest.mark.parametrize("height", [24, 60])
def test_wide_terminal_has_ports_and_flows_side_by_side(height):
    def rows(width: int) -> tuple[list[str], int, int]:
        shown = lines(width, height, 14)
        flows = sum("sending" in line for line in shown)
        return shown, sum(line[:1] == "s" and ":" in line[:4] for line in shown), flows

    shown, ports, flows = rows(200)
    assert any(line.startswith("port") and "flow  from" in line for line in shown)
    assert max(len(line.rstrip()) for line in shown) > 150
    assert len(shown) <= height
    _, narrow_ports, narrow_flows = rows(120)
    assert ports >= narrow_ports
    assert flows >= narrow_flows
    assert flows == 16
    assert ports + flows > narrow_ports + narrow_flows or height == 60
