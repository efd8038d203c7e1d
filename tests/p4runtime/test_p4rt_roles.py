"""Roles with a configuration (Stratum's P4RoleConfig): what they may write, read and receive."""

import grpc
import pytest
from p4rt_client import Client, Names, RefusedError, update
from p4rt_switch import Program, Switch
from test_p4rt_packets import FRAME

from pcn.base.p4rt import any_pb, p4d, p4r, rpc_code, stratum


def role(name: str, **config) -> p4r.Role:
    message = p4r.Role(name=name)
    message.config.Pack(stratum.P4RoleConfig(**config))
    return message


def switching(names: Names) -> p4r.Role:
    return role(
        "switching",
        exclusive_p4_ids=[names.id("tables", "l2")],
        shared_p4_ids=[names.id("registers", "cells")],
    )


@pytest.fixture
def scoped(switch: Switch, names: Names):
    """The primary of the role `switching`."""
    with Client(switch.port, role="switching") as client:
        answer = client.arbitrate(role=switching(names))
        assert answer.status.code == rpc_code.OK
        assert answer.role == switching(names)
        yield client


def test_a_role_writes_and_sees_what_is_its_own(client: Client, scoped: Client, names: Names):
    owned = names.entry("l2", {"dst_addr": 0xAA}, names.action("forward", port=1))
    foreign = names.entry(
        "prefixes",
        {"port": 1, "dst_addr": (1 << 47, 8)},
        names.action("set_wide", value=1, small=1),
    )
    group = p4r.PacketReplicationEngineEntry(
        multicast_group_entry=p4r.MulticastGroupEntry(multicast_group_id=1)
    )
    with pytest.raises(RefusedError) as failure:
        scoped.write(
            update("INSERT", owned),
            update("INSERT", foreign),
            update("INSERT", group),
        )
    assert failure.value.codes == [
        rpc_code.OK,
        rpc_code.PERMISSION_DENIED,
        rpc_code.PERMISSION_DENIED,
    ]
    client.insert(foreign)  # a role without a configuration may do everything
    assert [entry.table_id for entry in scoped.read(p4r.TableEntry())] == [owned.table_id]
    assert {entry.table_id for entry in client.read(p4r.TableEntry())} > {
        owned.table_id,
        foreign.table_id,
    }


def test_a_role_that_may_not_set_the_pipeline(scoped: Client, switch: Switch, program: Program):
    with pytest.raises(RefusedError) as failure:
        scoped.set_pipeline(program.info, program.json)
    assert failure.value.code == grpc.StatusCode.PERMISSION_DENIED
    with Client(switch.port, role="installer") as installer:
        installer.arbitrate(role=role("installer", can_push_pipeline=True))
        installer.set_pipeline(program.info, program.json)


@pytest.mark.usefixtures("scoped")
def test_ids_for_oneself(switch: Switch, names: Names):
    l2, cells = names.id("tables", "l2"), names.id("registers", "cells")
    for config in (
        {"shared_p4_ids": [l2]},
        {"exclusive_p4_ids": [l2]},
        {"exclusive_p4_ids": [cells]},
    ):
        with Client(switch.port, role="second") as second:
            second.claim(role=role("second", **config))
            with pytest.raises(RefusedError) as failure:
                second.receive()
            assert failure.value.code == grpc.StatusCode.INVALID_ARGUMENT
    with Client(switch.port, role="second") as second:
        assert (
            second.arbitrate(role=role("second", shared_p4_ids=[cells])).status.code == rpc_code.OK
        )
        second.modify(
            p4r.RegisterEntry(
                register_id=cells, index=p4r.Index(index=1), data=p4d.P4Data(bitstring=b"\x05")
            )
        )


def test_packets_for_those_who_want_them(
    client: Client, scoped: Client, switch: Switch, names: Names
):
    client.insert(names.entry("l2", {"dst_addr": 0xAA}, names.action("send_to_cpu", reason=100)))
    wanted = stratum.P4RoleConfig.PacketFilter(metadata_id=1, value=b"\0\x07")  # the ingress port
    with Client(switch.port, role="all") as every, Client(switch.port, role="one") as filtered:
        every.arbitrate(role=role("all", receives_packet_ins=True))
        filtered.arbitrate(role=role("one", receives_packet_ins=True, packet_in_filter=wanted))
        for port in (3, 7):
            switch.native.packet_out(port, FRAME)
        for listener in (client, every):
            assert [listener.receive().packet.metadata[0].value for _ in range(2)] == [
                b"\x03",
                b"\x07",
            ]
        assert filtered.receive().packet.metadata[0].value == b"\x07"
        assert scoped.arbitrate(1, role=switching(names)).status.code == rpc_code.OK, (
            "no packet came before this answer"
        )


def test_other_configurations_are_refused(switch: Switch):
    for config in (
        any_pb.Any(type_url="type.googleapis.com/x", value=b"y"),
        any_pb.Any(type_url="type.googleapis.com/stratum.P4RoleConfig", value=b"\xff"),
    ):
        with Client(switch.port) as client:
            client.claim(role=p4r.Role(name="x", config=config))
            with pytest.raises(RefusedError) as failure:
                client.receive()
            assert failure.value.code == grpc.StatusCode.INVALID_ARGUMENT


def test_backups_are_notified_of_a_new_configuration(scoped: Client, switch: Switch, names: Names):
    with Client(switch.port, role="switching", election_id=0) as backup:
        assert backup.arbitrate(role=switching(names)).status.code == rpc_code.ALREADY_EXISTS
        new_role = role("switching", exclusive_p4_ids=[names.id("tables", "acl")])
        assert scoped.arbitrate(role=new_role).role == new_role
        notification = backup.receive().arbitration
        assert (notification.role, notification.status.code) == (new_role, rpc_code.ALREADY_EXISTS)
        scoped.arbitrate(role=new_role)
        assert backup.arbitrate(role=new_role).role == new_role, (
            "nothing has changed, so nothing came before this answer"
        )
