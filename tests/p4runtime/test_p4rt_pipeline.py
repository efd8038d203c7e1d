"""Pipeline configurations: every action, what Get returns, and what is refused."""

import json

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given, strategies as st
from p4rt_client import Client, Names, RefusedError
from p4rt_switch import Program, Switch

from pcn.base.p4rt import p4i, p4r, rpc_code
from pcn.softswitch.p4runtime.checked_config import device_data

FieldProto = descriptor_pb2.FieldDescriptorProto


@pytest.fixture
def fresh(empty_switch: Switch) -> Client:
    """The primary of a switch without a program."""
    client = Client(empty_switch.port)
    client.arbitrate()
    return client


def code_of(client: Client, *args, **kwargs) -> grpc.StatusCode:
    with pytest.raises(RefusedError) as failure:
        client.set_pipeline(*args, **kwargs)
    return failure.value.code


def entry(names: Names) -> p4r.TableEntry:
    return names.entry("l2", {"dst_addr": 1}, names.action("forward", port=1))


def test_without_a_pipeline(fresh: Client, names: Names):
    assert fresh.get_pipeline() is None
    for request in (
        lambda: fresh.insert(entry(names)),
        lambda: fresh.read(p4r.TableEntry()),
    ):
        with pytest.raises(RefusedError) as failure:
            request()
        assert failure.value.code == grpc.StatusCode.FAILED_PRECONDITION


def test_get(fresh: Client, program: Program):
    fresh.set_pipeline(program.info, program.json, cookie=77)
    config = fresh.get_pipeline()
    assert (config.p4info, config.p4_device_config, config.cookie.cookie) == (
        program.info,
        program.json,
        77,
    )
    for kind, fields in (
        ("COOKIE_ONLY", ["cookie"]),
        ("P4INFO_AND_COOKIE", ["p4info", "cookie"]),
        ("DEVICE_CONFIG_AND_COOKIE", ["p4_device_config", "cookie"]),
    ):
        config = fresh.get_pipeline(kind)
        assert sorted(field.name for field, _ in config.ListFields()) == sorted(fields)


def test_verify_changes_nothing(fresh: Client, program: Program):
    fresh.set_pipeline(program.info, program.json, "VERIFY")
    assert fresh.get_pipeline() is None


def test_commit_clears_the_state(fresh: Client, program: Program, names: Names):
    fresh.set_pipeline(program.info, program.json)
    fresh.insert(entry(names))
    session = p4r.CloneSessionEntry(session_id=1, replicas=[p4r.Replica(egress_port=1)])
    pre = p4r.PacketReplicationEngineEntry(clone_session_entry=session)
    fresh.insert(pre)
    fresh.set_pipeline(program.info, program.json)
    assert fresh.read(names.entry("l2")) == []
    assert fresh.read(p4r.PacketReplicationEngineEntry()) == []
    fresh.insert(entry(names))
    fresh.insert(pre)


def test_save_then_commit_replays_the_writes(fresh: Client, program: Program, names: Names):
    fresh.set_pipeline(program.info, program.json)
    old = names.entry("l2", {"dst_addr": 2}, names.action("forward", port=2))
    fresh.insert(old)
    fresh.set_pipeline(program.info, program.json, "VERIFY_AND_SAVE", cookie=5)
    assert fresh.read(names.entry("l2")) == [], "reads mean the saved configuration"
    fresh.insert(entry(names))
    fresh.set_pipeline(None, action="COMMIT")
    assert fresh.read(names.entry("l2")) == [entry(names)]
    config = fresh.get_pipeline("COOKIE_ONLY")
    assert config.cookie.cookie == 5
    assert code_of(fresh, None, action="COMMIT") == grpc.StatusCode.NOT_FOUND, (
        "it is committed already"
    )


def test_reconcile_keeps_the_state(fresh: Client, program: Program, names: Names):
    fresh.set_pipeline(program.info, program.json)
    fresh.insert(entry(names))
    first, second = fresh.read(names.entry("seeded"))
    fresh.delete(first)
    default = names.entry("l2", None, names.action("forward", port=9), is_default_action=True)
    fresh.modify(default)
    register = p4r.RegisterEntry(register_id=names.id("registers", "cells"))
    register.index.index, register.data.bitstring = 17, b"\x63"
    fresh.modify(register)
    session = p4r.CloneSessionEntry(session_id=3, replicas=[p4r.Replica(egress_port=1, instance=2)])
    fresh.insert(session)
    fresh.set_pipeline(program.info, program.json, "RECONCILE_AND_COMMIT")
    assert fresh.read(names.entry("l2")) == [entry(names)]
    assert fresh.read(names.entry("seeded")) == [second]
    assert fresh.read(names.entry("l2", is_default_action=True)) == [default]
    assert fresh.read(register) == [register]
    (session_entry,) = fresh.read(p4r.PacketReplicationEngineEntry())
    assert session_entry.clone_session_entry == session


def test_reconcile_refuses_what_does_not_fit(fresh: Client, program: Program, names: Names):
    fresh.set_pipeline(program.info, program.json)
    fresh.insert(entry(names))
    smaller = p4i.P4Info()
    smaller.CopyFrom(program.info)
    table = next(table for table in smaller.tables if table.preamble.alias == "l2")
    smaller.tables.remove(table)
    assert (
        code_of(fresh, smaller, program.json, "RECONCILE_AND_COMMIT")
        == grpc.StatusCode.INVALID_ARGUMENT
    )
    assert fresh.read(names.entry("l2")) == [entry(names)], "nothing has changed"


@pytest.mark.parametrize(
    "action", ["VERIFY", "VERIFY_AND_SAVE", "VERIFY_AND_COMMIT", "RECONCILE_AND_COMMIT"]
)
def test_bad_configurations(fresh: Client, program: Program, action):
    foreign = p4i.P4Info()
    foreign.CopyFrom(program.info)
    for kind in (
        foreign.tables,
        foreign.counters,
        foreign.registers,
        foreign.meters,
        foreign.digests,
    ):
        for thing in kind:
            thing.preamble.name = f"Elsewhere.{thing.preamble.name}"
    fewer_keys = p4i.P4Info()
    fewer_keys.CopyFrom(program.info)
    del fewer_keys.tables[0].match_fields[0]
    for info, config in (
        (None, b""),
        (program.info, b""),
        (program.info, b"\xff\xfe"),
        (program.info, b"{"),
        (program.info, b"[]"),
        (program.info, b"{}"),
        (program.info, program.json[: len(program.json) // 2]),
        (fewer_keys, program.json),
        (foreign, program.json),
    ):
        assert code_of(fresh, info, config, action) == grpc.StatusCode.INVALID_ARGUMENT
    assert fresh.get_pipeline() is None


def test_platform_properties(fresh: Client, program: Program):
    info = p4i.P4Info()
    info.CopyFrom(program.info)
    wanted = info.pkg_info.platform_properties
    wanted.multicast_group_table_size = 65535
    fresh.set_pipeline(info, program.json)
    wanted.multicast_group_table_size = 65536
    assert code_of(fresh, info, program.json) == grpc.StatusCode.INVALID_ARGUMENT


def test_what_the_compiler_removed(fresh: Client, program: Program, names: Names):
    more = p4i.P4Info()
    more.CopyFrom(program.info)
    table = next(table for table in more.tables if table.preamble.alias == "l2")
    table.preamble.name = "BenchIngress.removed"
    fresh.set_pipeline(more, program.json)
    with pytest.raises(RefusedError) as failure:
        fresh.insert(entry(names))
    assert failure.value.codes == [rpc_code.NOT_FOUND]
    assert "BenchIngress.removed" in failure.value.outcomes[0].message


def test_bad_actions(fresh: Client, program: Program):
    assert (
        code_of(fresh, program.info, program.json, "UNSPECIFIED")
        == grpc.StatusCode.INVALID_ARGUMENT
    )
    assert code_of(fresh, program.info, program.json, "COMMIT") == grpc.StatusCode.INVALID_ARGUMENT


def test_capabilities(switch: Switch):
    with Client(switch.port) as client:
        version = client.stub.Capabilities(
            p4r.CapabilitiesRequest(), timeout=10
        ).p4runtime_api_version
    assert [part.isdigit() for part in version.split(".")] == [True] * 3


def config_message(*, reassign: bool):
    """P4DeviceConfig of PI's p4/tmp/p4config.proto: as it is now, or as it was with `reassign`,
    which p4runtime_lib of p4lang/tutorials sets."""
    file = descriptor_pb2.FileDescriptorProto(
        name="p4/tmp/p4config.proto", package="p4.tmp", syntax="proto3"
    )
    message = file.message_type.add(name="P4DeviceConfig")
    extras = message.nested_type.add(name="Extras")
    entry = extras.nested_type.add(name="KvEntry", options={"map_entry": True})
    bool_, bytes_, string, part = (
        getattr(FieldProto, f"TYPE_{kind}") for kind in ("BOOL", "BYTES", "STRING", "MESSAGE")
    )
    for number, name in enumerate(("key", "value"), 1):
        entry.field.add(name=name, number=number, type=string, label=FieldProto.LABEL_OPTIONAL)
    of_entry = ".p4.tmp.P4DeviceConfig.Extras.KvEntry"
    extras.field.add(
        name="kv", number=1, type=part, type_name=of_entry, label=FieldProto.LABEL_REPEATED
    )
    fields = [("reassign", bool_, "")] if reassign else []
    fields += [("extras", part, ".p4.tmp.P4DeviceConfig.Extras"), ("device_data", bytes_, "")]
    for number, (name, kind, of) in enumerate(fields, 1):
        message.field.add(
            name=name, number=number, type=kind, type_name=of or None,
            label=FieldProto.LABEL_OPTIONAL,
        )  # fmt: skip
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p4.tmp.P4DeviceConfig"))


@pytest.mark.parametrize("reassign", [True, False])
@pytest.mark.parametrize("extras", [{}, {"port": "9090", "notifications": "x" * 110}])
def test_json_in_a_p4_device_config_is_taken(fresh: Client, program: Program, reassign, extras):
    message = config_message(reassign=reassign)(device_data=program.json)
    message.extras.kv.update(extras)
    if reassign:
        message.reassign = True
    sent = message.SerializeToString()
    fresh.set_pipeline(program.info, sent)
    config = fresh.get_pipeline()
    assert config.p4_device_config == sent, "it is given back as it was set"
    assert fresh.read(p4r.TableEntry())


def test_json_in_a_p4_device_config_by_hand(program: Program):
    """Field 1 (varint) 1, field 3 (bytes): as protoc's serialiser writes it."""
    assert device_data(b"\x08\x01\x1a\x0d" + b'{"program":1}') == b'{"program":1}'
    assert device_data(b"\x12\x0d" + b'{"program":1}') == b'{"program":1}'
    for text in (
        program.json,
        b"\n" + program.json,
        b" \t\r\n{}",
        b"\n{}" + b" " * 200,
        b"",
        b"{",
        b"\xff\xfe",
    ):
        assert device_data(text) == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda v: st.dictionaries(st.text(), v),
    )
)
def test_json_is_never_taken_for_a_p4_device_config(value):
    for text in (
        json.dumps(value),
        json.dumps(value, indent=4),
        "\n" + json.dumps(value, ensure_ascii=False),
    ):
        assert device_data(text.encode("utf-8", "surrogatepass")) == text.encode(
            "utf-8", "surrogatepass"
        )
