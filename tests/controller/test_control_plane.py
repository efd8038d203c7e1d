"""Both kinds of a control plane, over P4Runtime and in this process, take and return the same."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from planes import BENCH, KINDS, opened

from pcn.controller.configure import entries, plan, program_switch
from pcn.controller.control_plane import (
    ControlPlane,
    MeterConfig,
    TableAction,
    TableEntry,
    TableMatch,
)
from pcn.controller.errors import SwitchError, UnknownNameError, WriteError
from pcn.controller.in_process import InProcessSwitch
from pcn.controller.programs import Program
from pcn.controller.routes import route_entry
from pcn.hosts.algorithms import find_scheme
from pcn.topologies.dumbbell import dumbbell

PLAN = plan(dumbbell(), "s0", 1.0, find_scheme("dcqcn").configure())


@pytest.fixture(params=KINDS)
def switch(request) -> Iterator[ControlPlane]:
    with ExitStack() as stack:
        yield opened(stack, request.param, Program.compiled("dcqcn")).control


def test_both_kinds_hold_what_a_plan_writes():
    with ExitStack() as stack:
        first, second = (opened(stack, kind, Program.compiled("dcqcn")).control for kind in KINDS)
        for switch in (first, second):
            program_switch(switch, PLAN)
        assert (first.tables(), first.counters(), first.registers()) == (
            second.tables(),
            second.counters(),
            second.registers(),
        )
        held = {table: first.read_table(table) for table in first.tables()}
        assert held == {table: second.read_table(table) for table in second.tables()}
        assert sum(len(table_entries) - 1 for table_entries in held.values()) >= len(entries(PLAN))
        for counter in first.counters():
            assert first.read_counters(counter) == second.read_counters(counter)
        for register in first.registers():
            assert first.read_registers(register) == second.read_registers(register)


def test_cells_read_one_by_one_are_those_read_at_once(switch: ControlPlane):
    assert switch.read_registers("waiting_bytes", [35, 3]) == {35: 0, 3: 0}
    assert switch.read_register("waiting_bytes", 35) == 0
    assert switch.read_counter("marked", 35) == switch.read_counters("marked")[35]
    assert (
        switch.read_counter("transmitted", 0).bytes,
        switch.read_counter("pause_received", 0).bytes,
    ) == (0, None)
    assert list(switch.read_registers("waiting_bytes")) == list(range(4096))


def test_cells_that_are_not_0_are_those_of_all():
    with ExitStack() as stack:
        plane = opened(stack, "in process", BENCH)
        switch = plane.control
        assert isinstance(switch, InProcessSwitch)
        for name in switch.registers():
            assert switch.nonzero_cells(name) == {}
            array = switch.register(name)
            largest = (1 << array.width) - 1
            plane.native.set_registers(array.c_index, array.width, array.size - 1, [largest])
            assert switch.nonzero_cells(name) == {array.size - 1: largest}
            assert switch.read_register(name, array.size - 1) == largest


@pytest.mark.parametrize("indices", [None, [35, 3], []])
def test_cells_of_several_are_those_of_each(switch: ControlPlane, indices):
    names = switch.counters(), switch.registers()
    counts, values = switch.read_cells(*names, indices)
    if indices == []:
        assert counts == {name: {} for name in names[0]}
        return
    assert counts == {name: switch.read_counters(name, indices) for name in names[0]}
    assert values == {name: switch.read_registers(name, indices) for name in names[1]}
    assert switch.read_cells((), ()) == ({}, {})
    with pytest.raises(UnknownNameError):
        switch.read_cells(["waiting_bytes"], ())


def test_entry_is_modified_and_deleted(switch: ControlPlane):
    program_switch(switch, PLAN)
    route = route_entry(PLAN.routes[0])
    there = len(switch.read_table("ipv4_lpm"))
    switch.modify(
        [
            TableEntry(
                "ipv4_lpm", match=route.match, action=TableAction("ipv4_forward", dst_mac=5, port=9)
            )
        ]
    )
    actions = [entry.action for entry in switch.read_table("ipv4_lpm")]
    assert [action.args for action in actions if isinstance(action, TableAction)].count(
        {"dst_mac": 5, "port": 9}
    ) == 1
    switch.delete([route])
    assert len(switch.read_table("ipv4_lpm")) == there - 1


def test_unknown_name_is_refused_with_the_nearest(switch: ControlPlane):
    for call, nearest in (
        (lambda: switch.read_register("waiting_byte", 0), "waiting_bytes"),
        (lambda: switch.read_counter("markd", 0), "marked"),
        (lambda: switch.read_table("pfc_confg"), "pfc_config"),
        (lambda: switch.insert([TableEntry("pfc_confg", match=TableMatch(port=1))]), "pfc_config"),
        (lambda: switch.read_meters("none"), ""),
    ):
        with pytest.raises(
            UnknownNameError, match=f"did you mean '{nearest}'" if nearest else "no meter 'none'"
        ):
            call()


def test_refusal_names_switch_and_reason(switch: ControlPlane):
    program_switch(switch, PLAN)
    with pytest.raises(SwitchError, match=r"^s0: .*xof_bytes"):
        switch.insert(
            [
                TableEntry(
                    "pfc_config",
                    match=TableMatch(port=9),
                    action=TableAction("set_pfc", xof_bytes=1),
                )
            ]
        )
    routes = [*map(route_entry, PLAN.routes[:2])]
    switch.delete(routes[1:])
    there = r"ipv4_lpm dst_addr=[^ ]+: ALREADY_EXISTS: table [^;]*$"
    with pytest.raises(WriteError, match=rf"^s0: insert of 2 entries failed; {there}") as raised:
        switch.insert(routes)
    assert [entry for entry, _reason in raised.value.refused] == routes[:1]
    switch.delete(routes)  # the second was written
    with pytest.raises(SwitchError, match=r"^s0: .*4096"):
        switch.read_register("waiting_bytes", 4096)


def too_long(switch: ControlPlane):
    """Over P4Runtime the refusal comes later."""
    switch.packet_out(b"\0" * 9217)
    switch.packets_in(wait_s=60)


def refusals(switch: ControlPlane) -> list[str]:
    """What a switch without a program, then with `dcqcn`, refuses."""
    texts = []
    for call in (
        lambda: switch.tables(),
        lambda: switch.set_pipeline(Program("none", BENCH.p4info, BENCH.p4info)),
        lambda: switch.set_pipeline(Program.compiled("dcqcn")),
        lambda: program_switch(switch, PLAN),
        lambda: program_switch(switch, PLAN),
        lambda: switch.delete([TableEntry("ipv4_lpm", match=TableMatch(dst_addr="1.2.3.4/32"))]),
        lambda: switch.read_registers("waiting_bytes", [0, 4096]),
        lambda: switch.read_counters("marked", [4096]),
        lambda: switch.packet_out(b"", egress_port=1),
        lambda: too_long(switch),
    ):
        try:
            call()
            texts.append("")
        except SwitchError as error:
            texts.append(str(error))
    return texts


def test_both_kinds_refuse_alike():
    with ExitStack() as stack:
        first, second = (refusals(opened(stack, kind).control) for kind in KINDS)
    assert first == second
    assert [text != "" for text in first] == [True, True, False, False, *[True] * 6]


@pytest.mark.parametrize("kind", KINDS)
def test_meter_is_configured_and_read(kind):
    with ExitStack() as stack:
        switch = opened(stack, kind, BENCH).control
        (name, *_) = switch.meters()
        config = MeterConfig(cir=1000, cburst=2000, pir=3000, pburst=4000)
        switch.write_meter(name, 3, config)
        meters = switch.read_meters(name)
        assert (meters[3], meters[4]) == (config, None)
        switch.write_meter(name, 3, None)
        assert switch.read_meters(name)[3] is None
