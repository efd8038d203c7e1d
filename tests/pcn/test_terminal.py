"""`pcn watch` on a terminal: keys, the chosen row, its series; what is drawn fits."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import example, given, settings, strategies as st
from rich.console import Console
from test_view import RECORD, snapshot

from pcn.terminal import Keys, View, sparkline
from pcn.view import shown

SIZE = (100, 50)
KEYS = ["up", "down", "left", "right", "home", "end", "?", "x"]


def drawn(view: View, width: int, height: int) -> list[str]:
    console = Console(width=width, height=height, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(view.draw(width, height))
    return captured.get().splitlines()


def view(looks: int = 3, flows: int = 0) -> View:
    """Of a network whose flow 0 gains 1 Gbit/s a look."""
    terminal_view = View(RECORD)
    for number in range(looks):
        now = snapshot(flows)
        first = replace(now.flows[0], sent_bps=(number + 1) * 1e9)
        terminal_view.add(replace(now, flows=(first, *now.flows[1:])), [f"h0 line {number}"])
    return terminal_view


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=5))
@example(b"\x1b[A\x1bOB?\x1b[1~q\x1b\x1b[C\xff", [1, 2, 4, 8])
def test_keys_do_not_depend_on_how_bytes_arrive(data, cuts):
    whole, parts, places = Keys(), Keys(), sorted({0, *cuts, len(data)})
    pieces = [data[start:end] for start, end in itertools.pairwise(places)]
    assert [key for piece in pieces for key in parts.feed(piece)] == whole.feed(data)


def test_keys_read_arrows_of_both_kinds():
    assert Keys().feed(b"\x1b[A\x1bOBx\x1b[D\x1b[C\x1b[H\x1bOF\x1b[15~?\x07q") == [
        "up", "down", "x", "left", "right", "home", "end", "?", "q",
    ]  # fmt: skip


def test_arrows_choose_rows_from_top_to_bottom():
    terminal_view = view()
    ports = [("port", port.port) for port in snapshot(0).ports]
    flows = [("flow", "0", "h0", "r0"), ("flow", "1", "h1", "r1")]
    seen = []
    for _ in range(len(ports) + len(flows) + 2):
        terminal_view.press("down", *SIZE)
        seen.append(terminal_view.chosen)
    assert seen == [*ports, *flows, flows[-1], flows[-1]]
    for key, row in (
        ("home", ports[0]),
        ("right", flows[0]),
        ("left", ports[0]),
        ("end", flows[1]),
        ("up", flows[0]),
    ):
        terminal_view.press(key, *SIZE)
        assert terminal_view.chosen == row


def test_chosen_flow_has_its_series_below():
    terminal_view = view(8)
    terminal_view.press("right", *SIZE)
    text = "\n".join(drawn(terminal_view, *SIZE))
    assert "0 h0 r0" in text
    assert f"sends       8.000 Gbit/s {sparkline(list(range(1, 9)))} most 8.000" in text
    assert "window" not in text.split("0 h0 r0")[1]  # it has none
    assert "h0 line 7" in text


def test_question_mark_lists_the_keys_and_any_key_goes_back():
    terminal_view = view()
    terminal_view.press("?", *SIZE)
    text = drawn(terminal_view, 80, 24)
    assert len(text) <= 24
    assert "choose a port or a flow" in "\n".join(text)
    assert all(f"\n{name} " in "\n".join(text) for name in ("pn", "PAUSE in/ms", "may send"))
    assert not terminal_view.press("down", *SIZE)
    assert terminal_view.chosen is None
    assert "goodput" in "\n".join(drawn(terminal_view, *SIZE))
    assert terminal_view.press("q", *SIZE)


def test_chosen_flow_that_ends_gives_way_to_the_next_one():
    terminal_view = view()
    terminal_view.press("right", *SIZE)
    now = snapshot(0)
    terminal_view.add(replace(now, flows=(replace(now.flows[0], state="done"), *now.flows[1:])))
    drawn(terminal_view, *SIZE)
    assert terminal_view.chosen == ("flow", "1", "h1", "r1")
    terminal_view.add(replace(now, flows=()))
    drawn(terminal_view, *SIZE)
    assert terminal_view.chosen == ("port", now.ports[-1].port)


@settings(settings.get_profile("few"))
@given(
    st.lists(st.one_of(st.sampled_from(KEYS), st.sampled_from([0, 3, 60])), max_size=12),
    st.integers(1, 200),
    st.integers(1, 70),
)
def test_view_draws_any_keys_on_any_terminal(steps, width, height):
    """A number: a look with this number of flows. What is chosen is a row that is shown."""
    terminal_view = View(RECORD)
    for step in steps:
        if isinstance(step, int):
            terminal_view.add(snapshot(step), ["x" * 300])
        else:
            assert not terminal_view.press(step, width, height)
        lines = drawn(terminal_view, width, height)
        assert max(map(len, lines), default=0) <= width
        if width >= 80 and height >= 24:
            assert len(lines) <= height
    if terminal_view.chosen is not None:
        assert terminal_view.chosen in shown(
            snapshot(next(step for step in reversed(steps) if isinstance(step, int))), 200
        ).rows or (terminal_view.chosen[1].endswith("flows"))


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [0.0, 1.0, 2.0, 4.0, 7.0], [-1.0, 3.0]])
def test_sparkline_has_a_bar_for_each_value(values):
    bars = sparkline(values)
    assert len(bars) == len(values)
    heights = ["▁▂▃▄▅▆▇█".index(bar) for bar in bars]
    assert heights == sorted(heights)
    assert max(heights, default=0) == (7 if max(values, default=0) > 0 else 0)


def test_small_terminal_has_rows_until_a_key_shows_details():
    """80x24: flows of 224 by pair of hosts take the room of the series and of the log."""
    terminal_view = View(RECORD)
    terminal_view.add(snapshot(224), ["h0 line"])
    terminal_view.press("down", 80, 24)

    def rows() -> int:
        return sum("sending" in line or ":" in line[:4] for line in drawn(terminal_view, 80, 24))

    many = rows()
    assert "h0 line" not in "\n".join(drawn(terminal_view, 80, 24))
    terminal_view.press("d", 80, 24)
    text = "\n".join(drawn(terminal_view, 80, 24))
    assert "h0 line" in text
    assert "queue" in text.split("s0:", 1)[1]
    assert rows() < many
    terminal_view.press("d", 80, 24)
    assert rows() == many
    terminal_view.press("d", 80, 60)
    assert "h0 line" in "\n".join(drawn(terminal_view, 80, 60))
