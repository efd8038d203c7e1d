"""Entries of a switch in this process go without messages between; what it holds, and what it
refuses, is as if they went by P4Runtime."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from planes import BENCH, opened

from pcn.base.p4rt import p4r
from pcn.controller.configure import Programmer, SwitchPlan, entries, plan
from pcn.controller.control_plane import (
    ControlPlane,
    Entry,
    TableAction,
    TableActions,
    TableEntry,
    TableMatch,
)
from pcn.controller.errors import SwitchError, UnknownNameError
from pcn.controller.in_process import InProcessSwitch
from pcn.controller.programs import Program
from pcn.softswitch.embed.entries import EntryReader
from pcn.softswitch.embed.switch import EmbeddedSwitch, Insertion
from pcn.topologies.fat_tree import fat_tree

MACS = st.one_of(
    st.integers(-1, 3),
    st.sampled_from((1 << 48, "2", "0x3", "00:00:00:00:00:01", "00:00:00:00:00:zz", "", True)),
)
PREFIXES = st.one_of(MACS, st.tuples(MACS, st.integers(-1, 49)), st.sampled_from(("1/48", "3/47")))
PORTS = st.one_of(st.integers(-1, 4), st.sampled_from((511, 512, "1")))
MATCHES = {
    "l2": {"dst_addr": MACS},
    "prefixes": {"port": PORTS, "dst_addr": PREFIXES},
    "learning": {"src_addr": MACS},
    "keyless": {},
    "fixed": {"ether_type": st.just((0x900, 0xFFFF))},
    "seeded": {"ether_type": st.just((0x900, 0xFFFF))},
}
WIDE = st.one_of(st.integers(0, 2), st.sampled_from((2**64, 2**100, 2**200)))
ACTIONS = {
    "forward": {"port": PORTS},
    "drop": {},
    "set_wide": {"small": st.integers(0, 300), "value": WIDE},
    "NoAction": {},
    "learn": {},
    "none": {},
}


class ByMessages(InProcessSwitch):
    """One whose entries all become P4Runtime's updates."""

    def _encoded(self, kind: p4r.Update.Type.ValueType, entry):
        return ControlPlane._encoded(self, kind, entry)


@st.composite
def bench_entries(draw: st.DrawFn) -> list[Entry]:
    """Draws entries of the bench's tables, right and wrong ones."""
    drawn: list[Entry] = []
    for _ in range(draw(st.integers(1, 6))):
        table = draw(st.sampled_from(list(MATCHES)))
        match = {
            field: draw(values)
            for field, values in MATCHES[table].items()
            if draw(st.integers(0, 9))
        }
        name = draw(st.sampled_from(list(ACTIONS)))
        args = {
            param: draw(values)
            for param, values in ACTIONS[name].items()
            if draw(st.integers(0, 9))
        }
        more = draw(st.sampled_from(({}, {}, {}, {"priority": 1}, {"metadata": b"x"})))
        entry = TableEntry(table, match=TableMatch(match), action=TableAction(name, **args), **more)
        drawn.append(entry)
    return drawn


@pytest.fixture(scope="module")
def planes() -> Iterator[tuple[InProcessSwitch, InProcessSwitch]]:
    """A switch that takes entries as they are, and one that takes messages."""
    with ExitStack() as stack:
        first, second = (opened(stack, "in process", BENCH).native for _ in range(2))
        yield (
            InProcessSwitch("s0", EmbeddedSwitch(first)),
            ByMessages("s0", EmbeddedSwitch(second)),
        )


def outcome(switch: InProcessSwitch, program: Program, drawn: list[Entry]) -> tuple[object, ...]:
    """Returns what a fresh pipeline refuses of the entries, and what it holds then."""
    switch.set_pipeline(program)
    refusal = ""
    try:
        switch.insert(drawn)
    except (SwitchError, UnknownNameError) as error:
        refusal = str(error)
    return refusal, {table: switch.read_table(table) for table in switch.tables()}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bench_entries())
def test_entries_and_refusals_are_those_of_messages(
    planes: tuple[InProcessSwitch, InProcessSwitch], drawn
):
    plain, by_messages = (outcome(switch, BENCH, drawn) for switch in planes)
    assert plain == by_messages


def test_plan_of_each_switch_is_held_as_by_messages(
    planes: tuple[InProcessSwitch, InProcessSwitch],
):
    topology, program = fat_tree(4), Program.compiled("pcn")
    for switch in ("c0", "a0", "e0"):
        planned = plan(topology, switch, 1.0)
        plain, by_messages = (outcome(plane, program, entries(planned)) for plane in planes)
        assert plain == by_messages
        refused, held = plain
        assert refused == ""
        assert isinstance(held, dict)
        assert len(held["ipv4_lpm"]) - 1 == len(planned.routes)


def test_full_table_and_equal_entries_are_refused_by_number(
    planes: tuple[InProcessSwitch, InProcessSwitch],
):
    added = [
        TableEntry(
            "l2", match=TableMatch(dst_addr=number % 9), action=TableAction("forward", port=1)
        )
        for number in range(11)
    ]
    plain, by_messages = (outcome(switch, BENCH, added) for switch in planes)
    assert plain == by_messages
    assert str(plain[0]).count("has an entry with this key") == 2
    assert str(plain[0]).count("is full (8 entries)") == 1


def test_equal_parts_are_read_once_for_all_switches(monkeypatch):
    topology, program = fat_tree(4), Program.compiled("pcn")
    plans = [plan(topology, switch.name, 1.0) for switch in topology.switches]
    read: list[TableEntry] = []
    plainly = EntryReader.read

    def counted(reader: EntryReader, entry: TableEntry) -> Insertion | None:
        read.append(entry)
        return plainly(reader, entry)

    monkeypatch.setattr(EntryReader, "read", counted)
    with ExitStack() as stack:
        programmer = Programmer()
        for planned in plans:
            plane = opened(stack, "in process", program)
            programmer.program(plane.control, planned)
            assert len(plane.control.read_table("ipv4_lpm")) - 1 == len(planned.routes)
    parts = {part for plan in plans for part in (*plan.pfc, *plan.groups, *plan.routes)}
    assert len(read) == len(parts) < sum(len(entries(plan)) for plan in plans) / 2


def test_ports_that_are_equal_as_tuples_have_entries_each():
    class Port(NamedTuple):
        port: int

        def entries(self) -> list[TableEntry]:
            match = TableMatch(dst_addr=f"10.0.0.{self.port}/32")
            return [TableEntry("ipv4_lpm", match=match, action=TableAction("drop_no_route"))]

    class Session(Port):
        def entries(self) -> list[TableEntry]:
            match = TableMatch(dst_addr=f"10.0.1.{self.port}/32")
            return [TableEntry("ipv4_lpm", match=match, action=TableAction("drop_no_route"))]

    with ExitStack() as stack:
        switch = opened(stack, "in process", Program.compiled("pcn")).control
        Programmer().program(switch, SwitchPlan("s", (), (), marking=(Port(1), Session(1))))
        assert len(switch.read_table("ipv4_lpm")) == 2 + 1  # and the default


def test_each_switch_has_its_own_group_of_a_set():
    program = Program.compiled("pcn")
    action_set = TableActions([(1, TableAction("next_hop", port=port)) for port in (1, 2)])
    entry = TableEntry("next_hop_group", match=TableMatch(group=1), action=action_set)
    with ExitStack() as stack:
        first, second = (opened(stack, "in process", program).control for _ in range(2))
        prepared = first.prepare([entry])
        for switch in (first, second):
            switch.insert_prepared([prepared])
        first.delete([entry])
        assert len(first.read_table("next_hop_group")) == 1  # the default
        assert second.read_table("next_hop_group")[0].action == action_set
        first.insert_prepared([prepared])
        assert first.read_table("next_hop_group") == second.read_table("next_hop_group")
