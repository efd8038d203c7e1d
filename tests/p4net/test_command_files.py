"""Command files of simple_switch_CLI: what they write, and what they are refused for, line by
line."""

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st
from p4net_switches import BENCH, IDLE, INDIRECT, VALUE_SETS, error_of, refuse, switch, written
from planes import KINDS

from pcn.controller.control_plane import Counter, MeterConfig, TableActions, TableMatch
from pcn.p4net.commands import COMMANDS, Commands
from pcn.p4net.commands.session import Handles, Undo
from pcn.p4net.entries import failed, write
from pcn.p4net.errors import P4NetError
from pcn.p4net.steps import Queue, Read, Step, carry_out

EVERYTHING = """\
# a comment, and an empty line
// another, with a command: table_add l2 forward 77 => 1
//table_add l2 forward 78 => 1

table_add l2 forward 00:00:00:00:00:01 => 3
table_add BenchIngress.l2 send_to_cpu 0x2 => 7   # handle 1
table_add l2 forward 3 => 4 // behind a command
table_modify l2 forward 1 => 5
table_modify l2 forward 2 6
table_delete l2 0
table_add l2 forward 4 => 8
table_set_default l2 forward 9
table_add prefixes set_wide 1 00:00:00:00:00:00/8 => 10 11
table_add prefixes NoAction 1 0/0 =>
table_add acl set_wide 0&&&0 0x800->0x8ff 2&&&511 => 1 2 10
table_add acl NoAction 0x1ff&&&0xff 0->65535 3 => 20
table_add policing police 7 =>
table_add learning NoAction 9 =>
table_num_entries learning
table_clear learning
table_num_entries learning
table_set_default keyless set_wide 12 13
table_reset_default keyless
table_add keyless set_wide => 14 15
table_modify keyless set_wide 0 16 17
table_delete keyless 0
table_add keyless set_wide => 18 19
register_write cells 5 0xffffffff
register_write flags all 1
register_write cells 6 7
register_write cells 8 -1
register_write wide_cells 1 -2
port_add veth0 1
register_write wide_cells 0 0x100000000000000000000
register_reset wide_cells
register_read cells 5
counter_write received 2 30 4000
counter_read received 2
counter_write l2_hits 1 5 6
counter_read l2_hits 1
counter_write received 3 1 1
counter_reset l2_hits
meter_set_rates limits 1 0.000128:9000 0.5:18000
meter_get_rates limits 1
meter_get_rates limits 2
meter_array_set_rates limits 1:10 2:20
meter_array_set_rates policed 1:1 2:2
meter_get_rates policed 0
meter_set_rates policed 0 0.001:10 0.002:20
meter_get_rates policed 0
mc_mgrp_create 1
mc_node_create 5 1 2
mc_node_create 6 3
mc_node_associate 1 0
mc_node_associate 1 1
mc_node_update 1 4
mc_mgrp_create 2
mc_node_create 0 7
mc_node_associate 2 2
mc_node_dissociate 2 2
mc_node_destroy 2
mc_mgrp_destroy 2
mirroring_add 7 2
mirroring_add_mc 8 1
mirroring_add 9 2
mirroring_delete 9
mirroring_add 7 3
table_dump l2
table_dump acl
mc_dump
mirroring_get 7
"""


def file(folder: Path, text: str) -> Commands:
    path = folder / "commands.txt"
    path.write_text(text, encoding="utf-8")
    return Commands(path)


@pytest.mark.parametrize("kind", KINDS)
def test_command_file_writes_each_kind_of_state(tmp_path, kind):
    with switch(kind=kind) as control:
        lines = written(control, file(tmp_path, EVERYTHING))
        assert lines == [
            "learning: 1 entries", "learning: 0 entries", "cells[5] = 4294967295",
            "received[2] = 30 packets, 4000 bytes", "l2_hits[1] = 5 packets, 6 bytes",
            "limits[1] = 128:9000 500000:18000 a second", "limits[2] = green for all packets",
            "policed[0] = 1000000:1 2000000:2 a second", "policed[0] = 1000:10 2000:20 a second",
            "l2: dst_addr=0x2 => forward(port=0x5)", "l2: dst_addr=0x3 => forward(port=0x6)",
            "l2: dst_addr=0x4 => forward(port=0x8)", "l2: default => forward(port=0x9)",
            (
                "acl: src_addr=* ether_type=0x800...0x8ff port=0x2 => set_wide(value=0x1, "
                "small=0x2), priority 10"
            ),
            "acl: src_addr=0xff/&0xff ether_type=* port=0x3 => NoAction(), priority 20",
            "acl: default => NoAction()",
            "group 1: port 1 instance 5, port 2 instance 5, port 4 instance 6",
            "session 7: port 3 instance 0",
        ]  # fmt: skip
        assert control.read_table("keyless")[-1].action.args == {"value": 18, "small": 19}
        *l2, default = control.read_table("l2")
        ports = {entry.match["dst_addr"]: entry.action.args["port"] for entry in l2}
        assert ports == {2: 5, 3: 6, 4: 8}
        assert default.action.args == {"port": 9}
        acl = {entry.priority: entry.match for entry in control.read_table("acl")[:-1]}
        assert acl[2**31 - 1 - 10] == TableMatch(ether_type=(0x800, 0x8FF), port=2)
        assert acl[2**31 - 1 - 20] == TableMatch(src_addr=(0xFF, 0xFF), port=3)
        assert {entry.match.get("dst_addr") for entry in control.read_table("prefixes")[:-1]} == {
            (0, 8),
            None,
        }
        assert control.read_table("learning")[:-1] == []
        assert control.read_registers("cells", [5, 6, 7, 8]) == {
            5: 2**32 - 1, 6: 7, 7: 0, 8: 2**32 - 1,
        }  # fmt: skip
        assert set(control.read_registers("flags").values()) == {1}
        assert set(control.read_registers("wide_cells").values()) == {0}
        assert control.read_counter("received", 3) == Counter(1, 1)
        assert control.read_meters("limits")[7] == MeterConfig(
            cir=1_000_000, cburst=10, pir=2_000_000, pburst=20
        )


REFUSED = [
    ("table_add l2 forward 1 => ", "takes port, not 0"),
    (f"table_add l2 forward 1{'0' * 5000} => 1", "a value of 5001 letters is too much"),
]
IN_LINES = r"""
table_ad l2 forward 1 => 3 -- table_ad: no such command is supported; did you mean 'table_add'
table_add l3 forward 1 => 3 -- no table 'l3'; choose from l2
table_add l2 fwd 1 => 3 -- no action 'fwd'
table_add l2 NoAction 1 => -- no action 'NoAction'
table_add l2 forward 1 3 -- => is needed
table_add l2 forward 1 => 3 4 -- l2 has no priorities: '4' is too much
table_add l2 forward 1 2 => 3 -- has 1 match fields (dst_addr), not 2
table_add l2 forward 1 => 512 -- '512' has more than 9 bits
!table_add l2 forward 1 => 3 -- commands.txt:1: !table_add: no such command is supported
table_add keyless set_wide 5 => 14 15 -- has no key and no priorities: '5' is too much
table_add keyless set_wide => 1 2\ntable_add keyless set_wide => 1 2 -- its entry is there
register_write cells 0 -4294967296 -- '4294967296' has more than 32 bits
register_write cells 0 --1 -- '-1' is no value
pvs_add p 1 -- no value set 'p'; none exists
table_add l2 forward 1 => -1 -- '-1' is no value of 9 bits
table_add l2 forward 10.0.0.1 => 1 -- '10.0.0.1' is no value of 48 bits
table_add prefixes NoAction 1 5 => -- write it as VALUE/LENGTH
table_add prefixes NoAction 1 5/49 => -- a prefix of 49 bits in a field of 48
table_add acl drop 1 1->2 1 => 1 -- write it as VALUE&&&MASK
table_add acl drop 1&&&1 2->1 1 => 1 -- the range 2 to 1 is empty
table_add acl drop 1&&&1 1->2 1&&&3 => 1 -- its mask has no ones, or ones alone
table_add acl drop 1&&&1 1->2 1 => -- needs one priority
table_set_default acl drop -- const
table_modify l2 forward 0 3 -- no entry has the handle 0 here
table_add l2 forward 1 => 3\ntable_delete l2 0\ntable_add l2 forward 2 => 3\ntable_delete l2 0
    -- :4: table_del
table_delete l2 -- write it as table_delete TABLE HANDLE
table_indirect_add l2 1 => 0 -- l2 has no action profile: use table_add
table_indirect_create_group l2 -- l2 has no action profile
table_indirect_create_member -- write it as table_indirect_create_member TABLE ACTION
set_crc32_parameters c 1 0 0 false false -- no such command is supported
table_info -- write it as table_info TABLE
act_prof_create_member p forward 1 -- no action profile 'p'; none exists
register_write cells 4096 1 -- a whole number from 0 to 4095
register_write cels 0 1 -- no register 'cels'; did you mean 'cells'?
counter_read received 16 -- a whole number from 0 to 15
counter_read l2_hits 0 -- no entry has the handle 0 here
meter_set_rates limits 0 1 2 -- write RATE:BURST
meter_set_rates limits 0 1e300:1 1:1 -- write RATE:BURST
meter_set_rates limits 0 0.0000005:1 1:1 -- has whole units a second
mc_node_associate 1 0 -- no multicast group 1 was created here
mc_mgrp_create 1\nmc_mgrp_create 1 -- :2: mc_mgrp_create: multicast group 1 was created before
mc_mgrp_create 1\nmc_node_associate 1 0 -- no replication node has the handle 0
mc_node_create 1 1 1 -- a port stands twice
mc_node_create 1 1 | 2 -- link aggregation groups
mirroring_add 0 1 -- from 1 to 32767
mirroring_add_mc 1 1 -- no multicast group 1
mirroring_delete 3 -- no mirroring session 3 was added here
set_queue_depth 0 -- from 1 to
set_queue_rate 1 2 8 -- from 0 to 7
swap_configs -- no such command is supported
"""


@pytest.mark.parametrize(("text", "why"), [*REFUSED, *re.findall(r"(.+)\s+-- (.+)", IN_LINES)])
def test_command_file_names_the_line_that_it_is_refused_for(tmp_path, text, why):
    text = text.replace(r"\n", "\n")
    with switch() as control, pytest.raises(P4NetError) as caught:
        written(control, file(tmp_path, text))
    message = str(caught.value)
    assert why in message
    assert message.startswith(f"{tmp_path}/commands.txt:{1 + text.count(chr(10))}: ")
    assert len(message.splitlines()) == 1
    assert len(message) < 500


def test_refusal_of_the_switch_names_file_and_line(tmp_path):
    text = "".join(f"table_add l2 forward {number} => 1\n" for number in range(9))
    with (
        switch() as control,
        pytest.raises(P4NetError, match=r"commands.txt:9: s0: .*table entry: RESOURCE_EXHAUSTED"),
    ):
        written(control, file(tmp_path, text))


WITH_FAULTS = """\
table_add l2 forward 17 => 1
table_add l2 forward 0x11 => 2
//mirroring_add 7 2
mirroring_ad 7 2
table_add l2 forward 18 => 3
table_modify l2 forward 1 4
mirroring_add 7 2
table_num_entries l2
"""


@pytest.mark.parametrize("kind", KINDS)
def test_commands_behind_a_failing_one_are_carried_out(tmp_path, kind):
    """As simple_switch_CLI does it: a refused entry has no handle."""
    with switch(kind=kind) as control:
        outcome = write(control, [file(tmp_path, WITH_FAULTS)], refuse, strict=False)
        entries = control.read_table("l2")[:-1]
        ports = {entry.match["dst_addr"]: entry.action.args["port"] for entry in entries}
        assert ports == {17: 1, 18: 4}
    assert outcome.lines == ["l2: 2 entries"]
    assert outcome.commands == 7
    duplicate, unknown = outcome.complaints
    assert re.match(rf"{tmp_path}/commands.txt:2: s0: .*ALREADY_EXISTS", duplicate)
    assert unknown.startswith(
        f"{tmp_path}/commands.txt:4: mirroring_ad: no such command is supported; did you mean"
    )
    assert failed([outcome, outcome]) == "4 of 14 commands failed"
    with (
        switch(kind=kind) as control,
        pytest.raises(P4NetError, match=r"commands.txt:2: .*ALREADY_EXISTS"),
    ):
        write(control, [file(tmp_path, WITH_FAULTS)], refuse, strict=True)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=20))
def test_handles_behind_refusals_are_those_of_what_is_there(adds):
    """Of each key the first entry stays; those that the switch refuses leave no handle."""
    lines, there = [], dict[int, int]()
    for key, wrong in adds:
        lines.append(f"table_add l2 forward {key} => {'512' if wrong else key}")
        if not wrong and key not in there:
            there[key] = len(there)
    lines += [f"table_modify l2 forward {handle} {100 + key}" for key, handle in there.items()]
    with tempfile.TemporaryDirectory() as folder, switch() as control:
        outcome = write(control, [file(Path(folder), "\n".join(lines))], refuse, strict=False)
        ports = {
            entry.match["dst_addr"]: entry.action.args["port"]
            for entry in control.read_table("l2")[:-1]
        }
    assert ports == {key: 100 + key for key in there}
    assert len(outcome.complaints) == len(adds) - len(there)


def test_value_sets_have_members_of_commands(tmp_path):
    text = """
        pvs_add singles 0x1234
        pvs_add singles 7
        pvs_add singles 0x1234
        pvs_get singles
        pvs_remove singles 0x1234
        pvs_get singles
        pvs_clear singles
        pvs_get singles
    """
    with switch(VALUE_SETS) as control:
        assert written(control, file(tmp_path, text)) == [
            "singles = 0x1234, 0x7",
            "singles = 0x7",
            "singles = no members",
        ]


def test_commands_of_queues_come_to_the_target(tmp_path):
    queues: list[Queue] = []
    text = "set_queue_depth 100\nset_queue_depth 5 2\nset_queue_rate 1000 3 7\nset_queue_rate 0"
    with switch() as control:
        assert carry_out(control, file(tmp_path, text).steps(control.schema), queues.append) == []
    assert [(queue.setting, queue.value, queue.port, queue.queue) for queue in queues] == [
        ("depth", 100, None, None),
        ("depth", 5, 2, None),
        ("rate", 1000, 3, 7),
        ("rate", 0, None, None),
    ]


@pytest.mark.parametrize("by_table", [False, True])
def test_commands_of_profiles_number_members_and_groups_as_bmv2(tmp_path, by_table):
    """Handles count from 0, and a freed one is given again; in P4Runtime they are one higher.
    BMv2 has the commands by a profile's name, and by that of its table."""
    with switch(INDIRECT) as control:
        table = next(table for table in control.schema.tables if table.alias == "crc16_table")
        profile, action = table.action_profile.alias, next(iter(table.actions)).alias
        params = " ".join("1" for _ in control.schema.actions[action].params)
        key = " ".join("5" for _ in table.match_fields)
        text = f"""
            act_prof_create_member {profile} {action} {params}
            act_prof_create_member {profile} {action} {params}
            act_prof_delete_member {profile} 0
            act_prof_create_member {profile} {action} {params}
            act_prof_modify_member {profile} {action} 1 {params}
            act_prof_create_group {profile}
            act_prof_add_member_to_group {profile} 0 0
            act_prof_add_member_to_group {profile} 1 0
            act_prof_remove_member_from_group {profile} 0 0
            table_indirect_add_with_group crc16_table {key} => 0
            table_indirect_modify crc16_table 0 => 1
            table_indirect_modify_with_group crc16_table 0 0
        """
        if by_table:
            text = text.replace(f" {profile} ", " crc16_table ").replace(
                f" {profile}\n", " crc16_table\n"
            )
            text = text.replace("act_prof_", "table_indirect_")
        text += f"act_prof_dump {profile}\ntable_dump crc16_table"
        parameters = control.schema.actions[action].params
        shown = f"{action}({', '.join(f'{param.name}=0x1' for param in parameters)})"
        assert written(control, file(tmp_path, text)) == [
            f"{profile} member 0: {shown}",
            f"{profile} member 1: {shown}",
            f"{profile} group 0: 1",
            "crc16_table: key=0x5 => group 0",
            "crc16_table: default => NoAction()",
        ]
        entry, _default = control.read_table("crc16_table")
        assert entry.action == TableActions(group_id=1)
        assert written(control, file(tmp_path, "")) == []


def test_commands_that_only_show_something_change_nothing(tmp_path):
    """A command file of an author's tests has them; what they would print is left out."""
    text = """
        show_tables
        table_info l2
        table_dump_entry l2 0
        act_prof_dump_member p 1
        switch_info
        get_time_elapsed
    """
    with switch() as control:
        assert written(control, file(tmp_path, text)) == []


def test_timeout_of_an_entry_stays_when_its_action_changes(tmp_path):
    text = (
        "table_add flows set 1&&&0xff => 3 10\ntable_set_timeout flows 0 500\ntable_modify flows "
        "set 0 4"
    )
    with switch(IDLE) as control:
        written(control, file(tmp_path, text))
        assert control.read_table("flows")[0].idle_timeout_ns == 500_000_000
        why = error_of(
            lambda: written(
                control, file(tmp_path, "table_add fixed set 1 => 3\ntable_set_timeout fixed 0 1")
            )
        )
    assert "commands.txt:2" in why
    assert "has no idle timeout" in why


WORDS = st.one_of(
    st.sampled_from([*COMMANDS]),
    st.sampled_from(
        [
            "l2", "acl", "prefixes", "forward", "NoAction", "cells", "received", "limits",
            "policed", "all",
        ]
    ),
    st.sampled_from(
        [
            "=>", "0", "1", "0&&&0", "1->2", "0/0", "1:1", "0x", "-1", "|", "1.2.3.4", "a:b",
            "9" * 400,
        ]
    ),
    st.text(max_size=8),
)  # fmt: skip


@example("table_add prefixes NoAction 1 0/" + "9" * 5000 + " =>")
@example("register_write cells 0 0x")
@example("counter_read l2_hits 99999999999999999999")
@given(st.lists(st.lists(WORDS, max_size=7).map(" ".join), max_size=8).map("\n".join))
def test_any_text_makes_steps_or_names_its_line(text):
    schema = BENCH.schema
    with tempfile.TemporaryDirectory() as folder:
        steps: list[Step] = []
        error = error_of(lambda: steps.extend(file(Path(folder), text).steps(schema)))
        place = error.removeprefix(f"{folder}/commands.txt:")
        assert not error or place.partition(":")[0].isdigit()
        assert all(
            isinstance(step, (Queue, Read)) or step.update.entity.WhichOneof("entity")
            for step in steps
        )


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=30))
def test_handles_are_those_of_a_model_of_bmv2(changes):
    """BMv2's: the lowest free index, with the count of its frees above 24 bits; entries differ by
    their ports."""
    frees, held, lines = [0] * 40, dict[int, tuple[int, int]](), []
    for number, (add, which) in enumerate(changes):
        if add and len(held) < 8:
            index = next(slot for slot in range(40) if slot not in held)
            held[index] = (frees[index] << 24 | index, number)
            lines.append(f"table_add l2 forward {number} => {number}")
        elif held:
            index = sorted(held)[which % len(held)]
            lines.append(f"table_delete l2 {held.pop(index)[0]}")
            frees[index] += 1
    lines += [f"table_modify l2 forward {handle} {100 + port}" for handle, port in held.values()]
    with tempfile.TemporaryDirectory() as folder, switch() as control:
        written(control, file(Path(folder), "\n".join(lines)))
        ports = {
            entry.match["dst_addr"]: entry.action.args["port"]
            for entry in control.read_table("l2")[:-1]
        }
    assert ports == {port: 100 + port for _, port in held.values()}


def test_every_command_has_a_usage_that_its_refusal_shows(tmp_path):
    for name, command in COMMANDS.items():
        words = "" if command.least else " more"
        with switch() as control, pytest.raises(P4NetError, match=f"write it as {name}( |$)"):
            file(tmp_path, name + words).steps(control.schema)


def test_rate_of_many_digits_is_refused_at_once(tmp_path):
    """A time that grew with the square of the digits would be hours."""
    line = f"meter_set_rates limits 1 {1_000_000 * '1'} 1:1"
    assert "write RATE:BURST" in error_of(lambda: file(tmp_path, line).steps(BENCH.schema))


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 9)), max_size=60))
def test_handle_is_the_lowest_free_one(steps):
    """Whatever was added, removed and taken back before. Without versions a handle is an index."""
    changes: list[Undo] = []
    handles, taken = Handles[int]("entry", changes), set[int]()
    for adds, undone, number in steps:
        before = set(taken)
        if adds:
            handle = handles.add(number)
            assert handle == min(set(range(len(taken) + 1)) - taken)
            taken.add(handle)
        elif number in taken:
            handles.remove(number)
            taken.remove(number)
        if undone and changes:
            changes.pop()()
            taken = before
        changes.clear()
        assert handles.items().keys() == taken


def test_entries_get_handles_in_order_at_once():
    """Each handle once looked for from the first one: a million took days."""
    changes: list[Undo] = []
    handles = Handles[None]("entry", changes)
    for number in range(1_000_000):
        assert handles.add(None) == number
        changes.clear()


def test_file_makes_bounded_number_of_updates(tmp_path, monkeypatch):
    """A short command may change each entry of a table."""
    text = "".join(f"table_add policing police {number} =>\n" for number in range(50))
    text += 100 * "meter_array_set_rates policed 0.001:1 0.001:1\n"
    for name, most in (("_MOST_STEPS", 1000), ("_MOST_BYTES", 10_000)):
        with monkeypatch.context() as patch:
            patch.setattr(f"pcn.p4net.commands.file.{name}", most)
            with pytest.raises(P4NetError, match=r"commands.txt:\d+: the commands up to here make"):
                file(tmp_path, text).steps(BENCH.schema)
