"""BMv2's runtime interface over Thrift: calls as its tools make them, and one state with
P4Runtime."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from p4rt_client import Client
from p4rt_process import Process
from p4rt_switch import PROGRAMS, Program
from p4rt_thrift import DROP, FORWARD, L2, TYPES, Bmv2, add, code, exact, port

from pcn.base import packed
from pcn.base.p4rt import p4i, p4r
from pcn.lab.thrift import Bmv2Thrift
from pcn.softswitch.clock import ManualClock
from pcn.softswitch.p4runtime import binding
from pcn.softswitch.p4runtime.described import describe
from pcn.softswitch.p4runtime.table_state import Numbers
from pcn.softswitch.program.load import load_program

ROOT = Path(__file__).resolve().parents[2]
COMPILED = sorted(
    (
        *(path.with_suffix(".json") for path in PROGRAMS.glob("*.p4")),
        *(path for path in packed.files(ROOT / "p4src/compiled") if path.stem != "manifest"),
    )
)


def test_entries_are_added_read_changed_and_deleted(standard):
    handle = add(standard, 0xBB)
    (entry,) = standard.bm_mt_get_entries(0, L2)
    assert (entry.entry_handle, entry.match_key[0].exact.key) == (handle, b"\0\0\0\0\0\xbb")
    assert (entry.action_entry.action_name, entry.action_entry.action_data) == (FORWARD, [b"\2"])
    standard.bm_mt_modify_entry(0, L2, handle, FORWARD, port(3))
    assert standard.bm_mt_get_entry(0, L2, handle).action_entry.action_data == [b"\3"]
    assert (
        standard.bm_mt_get_entry_from_key(0, L2, exact(0xBB), TYPES.Options()).entry_handle
        == handle
    )
    assert standard.bm_mt_get_num_entries(0, L2) == 1
    standard.bm_mt_delete_entry(0, L2, handle)
    assert standard.bm_mt_get_entries(0, L2) == []
    assert standard.bm_mt_get_default_entry(0, L2).action_name == DROP


def test_all_kinds_of_matches_come_back_as_written(standard):
    kinds, wide = TYPES.MatchKind, [(5).to_bytes(16, "big"), b"\7"]
    acl = [
        TYPES.Match(kinds.TERNARY, ternary=TYPES.Ternary(b"\0\0\0\0\0\1", b"\0\0\0\0\0\xff")),
        TYPES.Match(kinds.RANGE, range=TYPES.Range(b"\0\1", b"\0\5")),
        TYPES.Match(kinds.TERNARY, ternary=TYPES.Ternary(b"\0\1", b"\1\xff")),
    ]
    handle = standard.bm_mt_add_entry(
        0, "BenchIngress.acl", acl, "BenchIngress.set_wide", wide, TYPES.Options(7)
    )
    entry = standard.bm_mt_get_entry(0, "BenchIngress.acl", handle)
    assert entry.match_key == acl
    assert entry.options.priority == 7
    assert entry.action_entry.action_data == [b"\5", b"\7"], (
        "as short as they can be, as BMv2 has them"
    )
    lpm = [
        *exact(1, size=2),
        TYPES.Match(kinds.LPM, lpm=TYPES.Lpm(b"\xaa\xbb\xcc\xdd\xee\xff", 24)),
    ]
    handle = standard.bm_mt_add_entry(
        0, "BenchIngress.prefixes", lpm, "NoAction", [], TYPES.Options()
    )
    (_, prefix) = standard.bm_mt_get_entry(0, "BenchIngress.prefixes", handle).match_key
    assert (prefix.lpm.key, prefix.lpm.prefix_length) == (b"\xaa\xbb\xcc\0\0\0", 24)


@given(st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=40))
def test_handles_are_bmv2_s(steps):
    """A model: the lowest free index, and how often it was freed. None: one more; else the n-th of
    those there goes."""
    numbers, there, versions = Numbers(), dict[int, int](), dict[int, int]()
    for step in steps:
        if step is None:
            index = next(number for number in range(len(there) + 1) if number not in there)
            there[index] = numbers.take()
            assert there[index] == versions.get(index, 0) << 24 | index
        elif there:
            index = sorted(there)[step % len(there)]
            numbers.give(there.pop(index))
            versions[index] = versions.get(index, 0) + 1


def test_handle_that_was_freed_is_refused(standard):
    first = add(standard, 1)
    add(standard, 2)
    standard.bm_mt_delete_entry(0, L2, first)
    assert (
        code(lambda: standard.bm_mt_delete_entry(0, L2, first)) == TYPES.TableError.INVALID_HANDLE
    )
    again = add(standard, 3)
    assert again == first | 1 << 24
    assert code(lambda: standard.bm_mt_get_entry(0, L2, first)) == TYPES.TableError.EXPIRED_HANDLE


def test_refusals_have_bmv2_s_codes(standard):
    errors = TYPES.TableError
    add(standard, 1)
    none = TYPES.Options()
    assert code(lambda: add(standard, 1)) == errors.DUPLICATE_ENTRY
    assert code(lambda: standard.bm_mt_get_entries(0, "nothing")) == errors.INVALID_TABLE_NAME
    assert (
        code(lambda: standard.bm_mt_add_entry(0, L2, exact(2), "no", [], none))
        == errors.INVALID_ACTION_NAME
    )
    assert (
        code(lambda: standard.bm_mt_add_entry(0, L2, exact(2), FORWARD, [], none))
        == errors.BAD_ACTION_DATA
    )
    assert (
        code(lambda: standard.bm_mt_add_entry(0, L2, exact(2), FORWARD, port(999), none))
        == errors.BAD_ACTION_DATA
    )
    assert (
        code(lambda: standard.bm_mt_add_entry(0, L2, exact(2, 3), FORWARD, port(1), none))
        == errors.BAD_MATCH_KEY
    )
    assert (
        code(lambda: standard.bm_mt_add_entry(0, L2, [TYPES.Match(0)], FORWARD, port(1), none))
        == 18
    )
    assert (
        code(lambda: standard.bm_mt_indirect_modify_entry(0, L2, 0, 0)) == errors.WRONG_TABLE_TYPE
    )
    fixed = "BenchIngress.fixed"
    assert code(lambda: standard.bm_mt_delete_entry(0, fixed, 0)) == errors.IMMUTABLE_TABLE_ENTRIES
    for number in range(10, 17):
        add(standard, number)
    assert code(lambda: add(standard, 99)) == errors.TABLE_FULL


def test_both_faces_have_one_state(program: Program):
    """A P4Runtime client reads what Thrift wrote, and the other way round, by p4c's names."""
    bmv2 = Bmv2("--no-p4")
    try:
        with Client(bmv2.process.port, device_id=0) as client:
            client.arbitrate()
            client.set_pipeline(program.info, program.json)
            standard = bmv2.standard()
            assert add(standard, 0xBB) == 0
            names = program.names
            client.insert(names.entry("l2", {"dst_addr": 0xCC}, names.action("forward", port=3)))
            keys = {entry.match[0].exact.value for entry in client.read(names.entry("l2", {}))}
            assert keys == {b"\xbb", b"\xcc"}
            entries = standard.bm_mt_get_entries(0, L2)
            assert [entry.entry_handle for entry in entries] == [0, 1]
            assert entries[1].action_entry.action_data == [b"\3"]
            standard.bm_mt_delete_entry(0, L2, 1)
            assert len(client.read(names.entry("l2", {}))) == 1
            assert standard.bm_get_config().encode() == program.json
    finally:
        bmv2.close()


def test_program_of_the_command_line_forwards_by_entries_of_thrift(bmv2: Bmv2, standard):
    groups = bmv2.service("simple_pre_lag", TYPES.SimplePreLAG)
    groups.bm_mc_mgrp_create(0, 5)
    node = groups.bm_mc_node_create(0, 1, "1100", "")
    groups.bm_mc_node_associate(0, 5, node)
    add(standard, 0xBB, out=2)
    standard.bm_mt_add_entry(
        0, L2, exact(0xAA), "BenchIngress.multicast", [b"\0\5"], TYPES.Options()
    )
    frame = bytes(5) + b"\xbb" + bytes(48)
    flood = bytes(5) + b"\xaa" + bytes(48)
    with ManualClock(f"127.0.0.1:{bmv2.process.port}") as clock:
        clock.received()
        clock.send(1, frame, flood)
        assert [departure.port for departure in clock.received()] == [2, 2, 3]
    value = standard.bm_mt_read_counter(0, L2, 0)
    assert (value.packets, value.bytes) == (1, len(frame))
    standard.bm_mt_reset_counters(0, L2)
    assert standard.bm_mt_read_counter(0, L2, 0).packets == 0
    groups.bm_mc_node_update(0, node, "1000", "")
    with ManualClock(f"127.0.0.1:{bmv2.process.port}") as clock:
        clock.send(1, flood)
        assert [departure.port for departure in clock.received()] == [3]
    groups.bm_mc_mgrp_destroy(0, 5)
    groups.bm_mc_node_destroy(0, node)


COPIES = st.tuples(st.integers(0, 3), st.integers(0, 1))
"""Port and instance."""


def set_group(client: Client, number: int, copies: set[tuple[int, int]]):
    """Of ports and instances; none: the group is deleted."""
    group = p4r.MulticastGroupEntry(multicast_group_id=number)
    for port_number, instance in sorted(copies):
        group.replicas.add(port=port_number.to_bytes(2, "big"), instance=instance)
    entry = p4r.PacketReplicationEngineEntry(multicast_group_entry=group)
    there = number in groups_of(client)
    if copies or there:
        work = client.delete if not copies else client.modify if there else client.insert
        work(entry)


def groups_of(client: Client) -> dict[int, set[tuple[int, int]]]:
    """Ports and instances by P4Runtime's group."""
    query = p4r.PacketReplicationEngineEntry(multicast_group_entry=p4r.MulticastGroupEntry())
    groups = [entry.multicast_group_entry for entry in client.read(query)]
    return {
        group.multicast_group_id: {
            (int.from_bytes(copy.port, "big"), copy.instance) for copy in group.replicas
        }
        for group in groups
    }


def copies_of(shown: dict[str, Any]) -> dict[int, set[tuple[int, int]]]:
    """The same of what mc_dump prints. Each node is of one group at most."""
    used = [handle for group in shown["mgrps"] for handle in group["l1_handles"]]
    assert len(used) == len(set(used))
    rids = {node["handle"]: node["rid"] for node in shown["l1_handles"]}
    ports = {node["handle"]: node["ports"] for node in shown["l2_handles"]}
    return {
        group["id"]: {(port, rids[h]) for h in group["l1_handles"] for port in ports[h]}
        for group in shown["mgrps"]
    }


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("p4runtime"), st.integers(1, 2), st.sets(COPIES)),
            st.tuples(st.just("thrift"), st.integers(1, 2), st.sets(st.integers(0, 3), min_size=1)),
            st.tuples(st.just("destroy"), st.integers(1, 2), st.just(set())),
        ),
        max_size=6,
    )
)
@settings(max_examples=30)
def test_multicast_groups_are_those_of_either_face(bmv2: Bmv2, steps):
    """Either face writes a group, and both have its copies."""
    thrift = bmv2.service("simple_pre_lag", TYPES.SimplePreLAG)
    model: dict[int, set[tuple[int, int]]] = {}
    with Client(bmv2.process.port, device_id=0) as client:
        client.arbitrate()
        for kind, group, members in steps:
            if kind == "p4runtime":
                set_group(client, group, members)
                model.pop(group, None)
                if members:
                    model[group] = set(members)
            elif kind == "thrift":
                thrift.bm_mc_mgrp_create(0, group)
                ports = "".join("1" if port in members else "0" for port in range(3, -1, -1))
                thrift.bm_mc_node_associate(0, group, thrift.bm_mc_node_create(0, 2, ports, ""))
                model.setdefault(group, set()).update((port, 2) for port in members)
            elif group in model:
                thrift.bm_mc_mgrp_destroy(0, group)
                del model[group]
            shown = json.loads(thrift.bm_mc_get_entries(0))
            assert {
                number: copies for number, copies in copies_of(shown).items() if copies
            } == model
            assert groups_of(client) == model
        for group in list(model):
            set_group(client, group, set())
        shown = json.loads(thrift.bm_mc_get_entries(0))
        for shown_group in shown["mgrps"]:
            thrift.bm_mc_mgrp_destroy(0, shown_group["id"])
        for node in shown["l1_handles"]:
            thrift.bm_mc_node_destroy(0, node["handle"])
        client.leave()  # the next example's client has the same election id


def test_arrays_are_read_and_written(standard):
    cells, limits, received = "BenchIngress.cells", "BenchIngress.limits", "BenchIngress.received"
    standard.bm_register_write(0, cells, 3, 77)
    assert standard.bm_register_read(0, cells, 3) == 77
    standard.bm_register_write_range(0, cells, 0, 3, 5)
    assert standard.bm_register_read_all(0, cells)[:5] == [5, 5, 5, 77, 0]
    standard.bm_register_reset(0, cells)
    assert set(standard.bm_register_read_all(0, cells)) == {0}
    standard.bm_register_write(0, "BenchIngress.wide_cells", 0, -1)
    assert standard.bm_register_read(0, "BenchIngress.wide_cells", 0) == -1
    standard.bm_counter_write(0, received, 1, TYPES.CounterValue(500, 5))
    assert standard.bm_counter_read(0, received, 1) == TYPES.CounterValue(500, 5)
    standard.bm_counter_reset_all(0, received)
    assert standard.bm_counter_read(0, received, 1).bytes == 0
    rates = [TYPES.Rate(0.001, 1000), TYPES.Rate(0.002, 2000)]
    standard.bm_meter_set_rates(0, limits, 2, rates)
    assert standard.bm_meter_get_rates(0, limits, 2) == rates
    for failure, call in (
        (TYPES.RegisterFailure, lambda: standard.bm_register_read(0, cells, 4096)),
        (TYPES.RegisterFailure, lambda: standard.bm_register_read(0, "no", 0)),
        (TYPES.CounterFailure, lambda: standard.bm_counter_read(0, received, 16)),
        (
            TYPES.MeterFailure,
            lambda: standard.bm_meter_set_rates(0, limits, 0, [TYPES.Rate(2, 1), TYPES.Rate(1, 1)]),
        ),
    ):
        with pytest.raises(failure):
            call()


def test_mirroring_sessions_are_clone_sessions(bmv2: Bmv2, standard):
    switch = bmv2.service("simple_switch", TYPES.SimpleSwitch)
    switch.mirroring_session_add(7, TYPES.Mirror(3))
    assert switch.mirroring_session_get(7) == TYPES.Mirror(3)
    standard.bm_mt_add_entry(0, L2, exact(0xDD), "BenchIngress.mirror", port(2), TYPES.Options())
    with ManualClock(f"127.0.0.1:{bmv2.process.port}") as clock:
        clock.received()
        clock.send(1, bytes(5) + b"\xdd" + bytes(48))
        assert sorted(departure.port for departure in clock.received()) == [2, 3]
    switch.mirroring_session_delete(7)
    with pytest.raises(TYPES.MirrorFailure):
        switch.mirroring_session_get(7)
    assert switch.get_time_elapsed_us() >= 0


def test_meter_rates_are_exact_below_one_a_second(bmv2: Bmv2, standard):
    """P4Runtime has whole units a second, BMv2 any rate."""
    limits = "BenchIngress.limits"
    rates = [TYPES.Rate(0.0000005, 3), TYPES.Rate(0.0000015, 5)]
    standard.bm_meter_array_set_rates(0, limits, rates)
    assert [standard.bm_meter_get_rates(0, limits, index) for index in (0, 7)] == [rates, rates]
    for wrong in (
        [TYPES.Rate(-1.0, 1)] * 2,
        [TYPES.Rate(float("inf"), 1)] * 2,
        [rates[1], rates[0]],
    ):
        with pytest.raises(TYPES.MeterFailure):
            standard.bm_meter_set_rates(0, limits, 0, wrong)
    assert standard.bm_meter_get_rates(0, limits, 0) == rates


def test_rates_of_all_direct_meters_are_those_of_later_entries_too(bmv2: Bmv2, standard):
    policing, police, policed = (
        "BenchIngress.policing",
        "BenchIngress.police",
        "BenchIngress.policed",
    )
    rates = [TYPES.Rate(0.0000005, 3), TYPES.Rate(0.0000015, 5)]
    first = standard.bm_mt_add_entry(0, policing, exact(1), police, [], TYPES.Options())
    assert standard.bm_mt_get_meter_rates(0, policing, first) == []
    standard.bm_meter_array_set_rates(0, policed, rates)
    second = standard.bm_mt_add_entry(0, policing, exact(2), police, [], TYPES.Options())
    assert [standard.bm_mt_get_meter_rates(0, policing, handle) for handle in (first, second)] == [
        rates,
        rates,
    ]
    standard.bm_mt_set_meter_rates(0, policing, first, [TYPES.Rate(1.0, 2), TYPES.Rate(2.0, 4)])
    assert standard.bm_mt_get_meter_rates(0, policing, first)[0] == TYPES.Rate(1.0, 2)
    for handle in (first, second):
        standard.bm_mt_delete_entry(0, policing, handle)


def test_queues_have_depths_and_rates(bmv2: Bmv2, standard):
    """Of 10 packets at once one leaves, 3 wait, and leave a second after each other."""
    switch = bmv2.service("simple_switch", TYPES.SimpleSwitch)
    handle = standard.bm_mt_add_entry(0, L2, exact(0xEE), FORWARD, port(3), TYPES.Options())
    settings = [
        (switch.set_egress_priority_queue_depth, 3, 0, 3),
        (switch.set_egress_priority_queue_rate, 3, 0, 1),
    ]
    settings += [(switch.set_egress_queue_rate, 2, 10), (switch.set_all_egress_queue_depths, 64)]
    assert [call(*words) for call, *words in settings[:2]] == [0, 0]
    with ManualClock(f"127.0.0.1:{bmv2.process.port}") as clock:
        clock.received()
        for _ in range(10):
            clock.send(1, bytes(5) + b"\xee" + bytes(48))
        assert len(clock.received()) == 1
        clock.advance(1.0)
        assert len(clock.received()) == 1
        assert [call(*words) for call, *words in settings[2:]] == [0, 0]
        assert switch.set_egress_queue_rate(3, 0) == 0
        assert len(clock.received()) == 2
    assert switch.set_egress_priority_queue_depth(3, 8, 1) == 1
    assert switch.set_egress_queue_depth(-1, 1) == 1
    assert switch.set_all_egress_queue_rates(0) == 0
    standard.bm_mt_delete_entry(0, L2, handle)


def test_indirect_tables_have_members_and_groups():
    bmv2 = Bmv2(str(PROGRAMS / "indirect.json"))
    try:
        standard = bmv2.standard()
        profile, table = _indirect()
        action = next(action for action in table.actions if action.parameters)
        data = [bytes((parameter.width + 7) // 8) for parameter in action.parameters]
        members = [
            standard.bm_mt_act_prof_add_member(0, profile, action.name, data) for _ in range(3)
        ]
        assert members == [0, 1, 2]
        standard.bm_mt_act_prof_delete_member(0, profile, 1)
        assert standard.bm_mt_act_prof_add_member(0, profile, action.name, data) == 1
        group = standard.bm_mt_act_prof_create_group(0, profile)
        for member in (0, 2):
            standard.bm_mt_act_prof_add_member_to_group(0, profile, member, group)
        assert standard.bm_mt_act_prof_get_groups(0, profile) == [TYPES.Group(0, [0, 2])]
        errors = TYPES.TableError
        in_group = code(lambda: standard.bm_mt_act_prof_add_member_to_group(0, profile, 0, group))
        assert in_group == errors.MBR_ALREADY_IN_GRP
        standard.bm_mt_act_prof_remove_member_from_group(0, profile, 0, group)
        assert standard.bm_mt_act_prof_get_group(0, profile, group).mbr_handles == [2]
        assert (
            code(lambda: standard.bm_mt_act_prof_delete_member(0, profile, 9))
            == errors.INVALID_MBR_HANDLE
        )
        assert len(standard.bm_mt_act_prof_get_members(0, profile)) == 3
        empty = standard.bm_mt_act_prof_create_group(0, profile)
        for number, error in ((empty, errors.EMPTY_GRP), (9, errors.INVALID_GRP_HANDLE)):
            refusal = code(
                partial(
                    standard.bm_mt_indirect_ws_add_entry, 0, table.name, [], number, TYPES.Options()
                )
            )
            assert refusal == error
    finally:
        bmv2.close()


class _Indirect:
    def __init__(self, name: str, actions: list[Any]):
        self.name, self.actions = name, actions


def _indirect() -> tuple[str, _Indirect]:
    program = load_program(packed.read_text(PROGRAMS / "indirect.json"))
    number, profile = next(
        (i, candidate)
        for i, candidate in enumerate(program.profiles)
        if candidate.selector is not None
    )
    table = next(table for table in program.tables if table.profile == number)
    return profile.name, _Indirect(
        table.name, [program.actions[action] for action in table.actions]
    )


def test_the_lab_s_client_of_bmv2_works_here_too(bmv2: Bmv2, standard):
    standard.bm_register_write(0, "BenchIngress.cells", 9, 4)
    with Bmv2Thrift("switch", bmv2.connect()) as client:
        assert client.read("BenchIngress.cells", 9) == 4
        assert client.ports() == {1, 2, 3}
        client.set_queue_depth(2, 100)


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.stem)
def test_every_program_gets_a_p4info_that_fits(path):
    program = load_program(packed.read_text(path))
    info = describe(program)
    schema = binding.bind(info, program)
    assert {table.name for table in schema.tables.values()} == {
        table.name for table in program.tables
    }
    assert not schema.missing
    assert p4i.P4Info.FromString(info.SerializeToString()) == info


def test_port_in_use_is_one_line(bmv2: Bmv2, tmp_path):
    """And P4Runtime's socket, which was first, is gone."""
    path = tmp_path / "socket"
    address = ("--grpc-server-addr", f"unix:{path}")
    with pytest.raises(AssertionError, match=f"--thrift-port {bmv2.port}: Address already in use"):
        Process("--no-p4", "--thrift-port", str(bmv2.port), *address)
    assert not path.exists()
