"""Runtime JSON and P4Runtime's text form: what they write, and what they are refused for."""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from p4net_switches import BENCH, INDIRECT, error_of, refuse, switch, written
from planes import KINDS

from pcn.controller.control_plane import TableMatch
from pcn.p4net import steps
from pcn.p4net.commands import Commands
from pcn.p4net.errors import P4NetError
from pcn.p4net.runtime_json import Alike, RuntimeJson
from pcn.p4net.text_proto import TextProto
from pcn.topologies.tree import compose, read_tree

FORWARD = {
    "table": "BenchIngress.l2",
    "match": {"dst_addr": "08:00:00:00:01:11"},
    "action_name": "forward",
}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "0", "1", "null", "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)
"""Of JSON."""


def runtime(folder: Path, **parts) -> RuntimeJson:
    path = folder / "s1-runtime.json"
    path.write_text(
        json.dumps({"target": "bmv2", "p4info": "x", "bmv2_json": "y", **parts}, indent=1)
    )
    return RuntimeJson(path)


@pytest.mark.parametrize("kind", KINDS)
def test_refused_entry_names_its_line_among_entries_of_one_call(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(steps, "_MOST_AT_ONCE", 4)
    entries = [
        {
            "table": "l2",
            "match": {"dst_addr": f"08:00:00:00:01:{number % 6:02x}"},
            "action_name": "forward",
            "action_params": {"port": 3},
        }
        for number in range(7)
    ]
    file = runtime(tmp_path, table_entries=entries)
    lines = file.path.read_text().splitlines()
    last = [number for number, line in enumerate(lines, 1) if line == "  {"][6]
    with switch(kind=kind) as control:
        error = error_of(lambda: written(control, file))
    assert re.search(rf"s1-runtime.json:{last}: s0: table entry: .*ALREADY_EXISTS", error)


def l2_entry(address: int, port: int) -> dict[str, Any]:
    return {
        "table": "l2",
        "match": {"dst_addr": f"08:00:00:00:01:{address:02x}"},
        "action_name": "forward",
        "action_params": {"port": port},
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("again", [1, 2])
def test_entry_that_stands_again_is_refused_where_it_does(tmp_path, kind, again):
    """Both are one entry to the reader; the switch refuses all but the first."""
    file = runtime(tmp_path, table_entries=[*[l2_entry(2, 3)] * (1 + again), l2_entry(1, 3)])
    lines = file.path.read_text().splitlines()
    first, second = [number for number, line in enumerate(lines, 1) if line == "  {"][:2]
    with switch(kind=kind) as control:
        for line in (second, first):  # then all are there
            error = error_of(lambda: written(control, file))
            assert re.search(rf"s1-runtime.json:{line}: s0: table entry: .*ALREADY_EXISTS", error)


def test_files_of_a_network_have_equal_entries_once(tmp_path):
    """Each file's have its own lines, and each program's mean its own."""
    alike, files = Alike(), []
    for name, ports in (("a", (3, 4)), ("b", (4, 4)), ("c", (3, 999))):
        (tmp_path / name).mkdir()
        entries = [l2_entry(1, ports[0]), l2_entry(2, ports[1])]
        files.append(RuntimeJson(runtime(tmp_path / name, table_entries=entries).path, alike))
    translated: steps.Translated = {}
    with switch() as first, switch() as second, switch(INDIRECT) as third:
        for control, file in ((first, files[0]), (second, files[1])):
            steps.carry_out(control, file.steps(control.schema), refuse, translated)
        ports = [
            [entry.action.args.get("port") for entry in control.read_table("l2")][:2]
            for control in (first, second)
        ]
        assert ports == [[3, 4], [4, 4]]
        before, after = (file.steps(first.schema) for file in files[:2])
        assert before[1].entry is after[1].entry
        assert before[0].entry is not after[0].entry
        assert [step.place.path for step in after] == [files[1].path] * 2
        assert re.search(
            r"c/s1-runtime.json:\d+: '999' has more than 9 bits",
            error_of(lambda: files[2].steps(first.schema)),
        )
        assert "no table 'l2'" in error_of(lambda: files[0].steps(third.schema))


@given(st.lists(VALUES, min_size=2, max_size=2))
def test_nodes_of_equal_content_are_read_alike(values):
    texts = [json.dumps({"a": value}) for value in values]
    nodes = [
        read_tree(Path("x.json"), compose(Path("x.json"), text), lambda node: node)
        for text in texts
    ]
    assert (nodes[0].content == nodes[1].content) == (texts[0] == texts[1])


@pytest.mark.parametrize("kind", KINDS)
def test_runtime_json_writes_entries_groups_and_sessions(tmp_path, kind):
    acl = {"src_addr": ["0x1ff", "0xff"], "ether_type": [0x800, "0x8ff"], "port": 2}
    file = runtime(
        tmp_path,
        table_entries=[
            {
                "table": "l2", "default_action": True, "action_name": "BenchIngress.drop",
                "action_params": {},
            },
            {**FORWARD, "action_params": {"port": 3}},
            {
                "table": "prefixes",
                "match": {"port": 1, "dst_addr": ["0a:00:00:00:00:00", 8]},
                "action_name": "NoAction",
            },
            {
                "table": "keyless",
                "action_name": "set_wide",
                "action_params": {"value": 18, "small": 19},
            },
            {
                "table": "acl", "match": acl, "priority": 7, "action_name": "drop",
                "action_params": {},
            },
        ],
        multicast_group_entries=[
            {"multicast_group_id": 1, "replicas": [{"egress_port": 1, "instance": 1}]}
        ],
        clone_session_entries=[
            {
                "clone_session_id": 7,
                "replicas": [{"egress_port": 2, "instance": 0}],
                "packet_length_bytes": 128,
            }
        ],
    )  # fmt: skip
    with switch(kind=kind) as control:
        assert written(control, file) == []
        forward, default = control.read_table("l2")
        assert (forward.match, forward.action.args) == (
            TableMatch(dst_addr=0x0800_0000_0111),
            {"port": 3},
        )
        assert default.action.name == "drop"
        (keyless,) = control.read_table("keyless")  # which all packets hit
        assert (keyless.is_default_action, keyless.action.args) == (
            True,
            {"value": 18, "small": 19},
        )
        assert control.read_table("prefixes")[0].match == TableMatch(
            port=1, dst_addr=(0x0A << 40, 8)
        )
        (entry, _) = control.read_table("acl")
        assert entry.match == TableMatch(src_addr=(0xFF, 0xFF), ether_type=(0x800, 0x8FF), port=2)
        assert entry.priority == 7


REFUSED = """
{"target": "tofino"} => target: target 'tofino': entries for bmv2 alone
{"tables": []} => tables: no such field; did you mean 'table_entries'
[{"table": "l2"}] => action_name: missing
[{$, "table": "l9"}] => no table 'l9'
[{$, "action_params": {}}] => has the parameters ['port'], not none
[{$, "action_params": {"port": 999}}] => '999' has more than 9 bits
[{$, "action_params": {"port": 1.5}}] => '1.5' is no value of 9 bits
[{$, "match": {"dst": 1}, "action_params": {"port": 1}}] => no match field 'dst'
[{$, "match": {"dst_addr": [1, 2]}, "action_params": {"port": 1}}] => dst_addr matches exactly
[{$, "default_action": true, "action_params": {"port": 1}}] => has no match
[{$, "table": "acl", "match": {}, "action_name": "drop"}] => needs a priority above 0
[{"table": "keyless", "action_name": "NoAction"}, {"table": "keyless", "action_name": "NoAction"}]
    => has no key, and its entry is there
[{$, "table": "keyless", "match": {"x": 1}, "action_name": "NoAction"}]
    => keyless has no match fields, so none is 'x'
{"multicast_group_entries": [{"multicast_group_id": 0, "replicas": []}]} => from 1 to 65535
{"multicast_group_entries": [{"multicast_group_id": 1, "replicas": [{"egress_port": 512}]}]}
    => from 0 to 511
"""
"""Parts, or table entries, with $ for FORWARD; why."""


@pytest.mark.parametrize(("text", "why"), re.findall(r"(.+)\s+=> (.+)", REFUSED))
def test_runtime_json_names_the_line_that_it_is_refused_for(tmp_path, text, why):
    parts = json.loads(text.replace("$", json.dumps(FORWARD)[1:-1]))
    parts = parts if isinstance(parts, dict) else {"table_entries": parts}
    with switch() as control, pytest.raises(P4NetError) as caught:
        written(control, runtime(tmp_path, **parts))
    message = str(caught.value)
    assert why in message
    assert len(message.splitlines()) == 1
    assert message.removeprefix(f"{tmp_path}/s1-runtime.json:").partition(":")[0].isdigit()


TEXT = """
# two updates
updates {
  type: INSERT
  entity { table_entry {
    table_id: %(table)d
    match { field_id: 1 exact { value: "\\001" } }
    action { action { action_id: %(action)d params { param_id: 1 value: "\\003" } } }
  } }
}
updates { type: MODIFY entity { register_entry { register_id: %(register)d index { index: 2 }
  data { bitstring: "}" } } } }
"""


def numbers() -> dict[str, int]:
    schema = BENCH.schema
    ids = {"table": schema.tables["l2"].id, "action": schema.actions["forward"].id}
    return ids | {"register": schema.registers["cells"].id}


def test_text_proto_writes_updates_and_what_a_read_returned(tmp_path):
    path = tmp_path / "entries.txtpb"
    path.write_text(TEXT % numbers())
    with switch() as control:
        steps = TextProto(path).steps(control.schema)
        assert [step.place.line for step in steps] == [3, 11]
        written(control, TextProto(path))
        assert control.read_table("l2")[0].match == TableMatch(dst_addr=1)
        assert control.read_register("cells", 2) == ord("}")
        read = [str(step.update.entity) for step in steps]
    path.write_text("\n".join(f"entities {{ {text} }}" for text in read))
    with switch() as control:
        written(control, TextProto(path))
        assert control.read_table("l2")[0].action.args == {"port": 3}


def test_text_proto_names_the_line_that_it_is_refused_for(tmp_path):
    path = tmp_path / "entries.txtpb"
    path.write_text("updates { }\nupdates { typo: 1 }")
    with switch() as control:
        with pytest.raises(P4NetError, match=r"entries.txtpb:2: no P4Runtime message"):
            written(control, TextProto(path))
        path.write_text("\n\nupdates { type: DELETE entity { table_entry { table_id: 1 } } }")
        with pytest.raises(P4NetError, match=r"entries.txtpb:3: s0: .*table entry: NOT_FOUND"):
            written(control, TextProto(path))
        path.write_text("updates { entity { table_entry { table_id: 9999999999 } } }")
        with pytest.raises(
            P4NetError, match=r"entries.txtpb:1: no P4Runtime message .*Value out of range"
        ):
            written(control, TextProto(path))
        path.write_text("updates { }\nentities { }")
        with pytest.raises(P4NetError, match="`updates` or `entities`, not both"):
            written(control, TextProto(path))


@given(st.text(st.sampled_from("{}<>[]\"'\\#:\n 01abupdatesentities_"), max_size=80))
def test_any_text_is_updates_or_names_its_line(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.txtpb"
        path.write_text(text)
        error = error_of(lambda: TextProto(path).steps(BENCH.schema))
        assert not error or error.removeprefix(f"{path}:").partition(":")[0].isdigit()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["table", "match", "action_name", "action_params", "priority", "port", "x"]
            ),
            inner,
        )
    ),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {}, optional={"table_entries": JSON | st.lists(JSON), "multicast_group_entries": JSON}
    )
)
def test_any_json_is_entries_or_names_its_line(parts):
    with tempfile.TemporaryDirectory() as folder:
        file = runtime(Path(folder), **parts)
        error = error_of(lambda: file.steps(BENCH.schema))
        assert all(
            line.removeprefix(f"{file.path}:").partition(":")[0].isdigit()
            for line in error.splitlines()
        )


ENTRY = st.tuples(
    st.integers(0, 2**48 - 1), st.integers(0, 2**48 - 1), st.integers(0, 2**16 - 1), st.integers(0,
    2**16 - 1),
    st.integers(0, 511) | st.none(), st.integers(1, 1000),
)  # fmt: skip


@given(st.lists(ENTRY, max_size=6, unique_by=lambda entry: entry[5]))
def test_forms_of_a_file_come_to_the_same_table(entries):
    """The same ternary, range and optional matches as commands, as JSON and as text: one table."""
    lines, listed = [], []
    for value, mask, first, second, port, rank in entries:
        low, high = sorted((first, second))
        optional = "0&&&0" if port is None else str(port)
        lines.append(
            f"table_add acl drop {value}&&&{mask} {low}->{high} {optional} => {2**31 - 1 - rank}"
        )
        match = {"src_addr": [value, mask], "ether_type": [low, high]} | (
            {} if port is None else {"port": port}
        )
        listed.append({"table": "acl", "match": match, "action_name": "drop", "priority": rank})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "commands").write_text("\n".join(lines))
        with switch() as control:
            written(control, Commands(folder / "commands"))
            by_commands = control.read_table("acl")
            steps = Commands(folder / "commands").steps(control.schema)
        with switch() as control:
            written(control, runtime(folder, table_entries=listed))
            assert control.read_table("acl") == by_commands
        texts = [f"entities {{ {step.update.entity} }}" for step in steps]
        (folder / "text").write_text("\n".join(texts))
        with switch() as control:
            written(control, TextProto(folder / "text"))
            assert control.read_table("acl") == by_commands
    assert len(by_commands) == len(entries) + 1


def test_text_without_end_of_string_is_refused_at_once(tmp_path):
    """Each of its quotes would look for the end again: hours."""
    path = tmp_path / "entries.txtpb"
    path.write_text('updates { "' + 1_000_000 * '\\"')
    assert "no P4Runtime message" in error_of(lambda: TextProto(path).steps(BENCH.schema))
