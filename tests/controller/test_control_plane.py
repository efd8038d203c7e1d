"""Both kinds of a control plane, over P4Runtime and in this process, take and return the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from finsy.proto import p4i
from google.protobuf import text_format

from controller.configure import entries, plan, program_switch
from controller.control_plane import ControlPlane, MeterConfig, TableAction, TableEntry, TableMatch
from controller.errors import SwitchError, UnknownNameError
from controller.programs import Program
from controller.routes import route_entry
from controller.switch import SwitchClient
from hosts.algorithms import find_scheme
from softswitch.codegen.build import build_runtime
from softswitch.native import load_library
from topologies.dumbbell import dumbbell
from virtualnet.switch import VirtualSwitch, load

P4RUNTIME = Path(__file__).resolve().parents[1] / "p4runtime"
sys.path.insert(0, str(P4RUNTIME))

from p4rt_switch import running_switch  # noqa: E402

PLAN = plan(dumbbell(), "s0", 1.0, find_scheme("dcqcn").configure())


@pytest.fixture(params=["p4runtime", "in process"])
def switch(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    with ExitStack() as stack:
        yield opened(stack, request.param, Program.compiled("dcqcn"))


def opened(stack: ExitStack, kind: str, program: Program) -> ControlPlane:
    made: ControlPlane
    if kind == "p4runtime":
        running = stack.enter_context(running_switch(load_library(build_runtime())))
        client = stack.enter_context(SwitchClient.connect("s0", f"127.0.0.1:{running.port}", 1))
        client.become_primary()
        client.set_pipeline(program)
        made = client
    else:
        made = VirtualSwitch("s0", load(program, inplace=False), seed=1)
        stack.callback(made.close)
    return made


def test_both_kinds_hold_what_a_plan_writes() -> None:
    with ExitStack() as stack:
        one, other = (opened(stack, kind, Program.compiled("dcqcn")) for kind in ("p4runtime", "in process"))
        for switch in (one, other):
            program_switch(switch, PLAN)
        assert (one.tables(), one.counters(), one.registers()) == (other.tables(), other.counters(), other.registers())
        held = {table: one.read_table(table) for table in one.tables()}
        assert held == {table: other.read_table(table) for table in other.tables()}
        assert sum(len(found) - 1 for found in held.values()) >= len(entries(PLAN))
        for counter in one.counters():
            assert one.read_counters(counter) == other.read_counters(counter)
        for register in one.registers():
            assert one.read_registers(register) == other.read_registers(register)


def test_cells_read_one_by_one_are_those_read_at_once(switch: ControlPlane) -> None:
    assert switch.read_registers("waiting_bytes", [35, 3]) == {35: 0, 3: 0}
    assert switch.read_register("waiting_bytes", 35) == 0
    assert switch.read_counter("marked", 35) == switch.read_counters("marked")[35]
    assert (switch.read_counter("transmitted", 0).bytes, switch.read_counter("pause_received", 0).bytes) == (0, None)
    assert list(switch.read_registers("waiting_bytes")) == list(range(4096))


def test_entry_is_modified_and_deleted(switch: ControlPlane) -> None:
    program_switch(switch, PLAN)
    route = route_entry(PLAN.routes[0])
    there = len(switch.read_table("ipv4_lpm"))
    switch.modify([TableEntry("ipv4_lpm", match=route.match, action=TableAction("ipv4_forward", dst_mac=5, port=9))])
    actions = [entry.action for entry in switch.read_table("ipv4_lpm")]
    assert [one.args for one in actions if isinstance(one, TableAction)].count({"dst_mac": 5, "port": 9}) == 1
    switch.delete([route])
    assert len(switch.read_table("ipv4_lpm")) == there - 1


def test_unknown_name_is_refused_with_the_nearest(switch: ControlPlane) -> None:
    for call, nearest in (
        (lambda: switch.read_register("waiting_byte", 0), "waiting_bytes"),
        (lambda: switch.read_counter("markd", 0), "marked"),
        (lambda: switch.read_table("pfc_confg"), "pfc_config"),
        (lambda: switch.insert([TableEntry("pfc_confg", match=TableMatch(port=1))]), "pfc_config"),
        (lambda: switch.read_meters("none"), ""),
    ):
        with pytest.raises(UnknownNameError, match=f"did you mean '{nearest}'" if nearest else "no meter 'none'"):
            call()


def test_refusal_names_switch_and_reason(switch: ControlPlane) -> None:
    program_switch(switch, PLAN)
    with pytest.raises(SwitchError, match=r"^s0: .*xof_bytes"):
        switch.insert([TableEntry("pfc_config", match=TableMatch(port=9), action=TableAction("set_pfc", xof_bytes=1))])
    routes = [*map(route_entry, PLAN.routes[:2])]
    switch.delete(routes[1:])
    with pytest.raises(SwitchError, match=r"^s0: insert of 2 entries failed.*update 0: ALREADY_EXISTS: table [^;]*$"):
        switch.insert(routes)
    switch.delete(routes)  # the second was written
    with pytest.raises(SwitchError, match=r"^s0: .*4096"):
        switch.read_register("waiting_bytes", 4096)


def without_messages(folder: Path) -> Program:
    """A program with meters, whose p4info names nothing that it sends to a controller: virtual time has none."""
    info = text_format.Parse((P4RUNTIME / "programs/bench.p4info.txtpb").read_text(), p4i.P4Info())
    info.ClearField("digests")
    info.ClearField("controller_packet_metadata")
    path = folder / "bench.p4info.txtpb"
    path.write_text(text_format.MessageToString(info))
    return Program("bench", P4RUNTIME / "programs/bench.json", path)


@pytest.mark.parametrize("kind", ["p4runtime", "in process"])
def test_meter_is_configured_and_read(kind: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        switch = opened(stack, kind, without_messages(tmp_path))
        (name, *_) = switch.meters()
        config = MeterConfig(cir=1000, cburst=2000, pir=3000, pburst=4000)
        switch.write_meter(name, 3, config)
        found = switch.read_meters(name)
        assert (found[3], found[4]) == (config, None)
        switch.write_meter(name, 3, None)
        assert switch.read_meters(name)[3] is None
