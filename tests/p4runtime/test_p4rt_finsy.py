"""A client that we did not write: finsy, with its own arbitration, schema and entities."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import finsy as fy
import pytest
from finsy.proto import p4i, stratum
from google.protobuf import text_format
from p4rt_switch import CPU_PORT, PROGRAMS, Switch, unpacked

from pcn.softswitch.native import NativeSwitch

BROADCAST = 0xFFFFFFFFFFFF


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    """The p4info and the JSON that finsy reads."""
    return unpacked(PROGRAMS / "bench", tmp_path_factory.mktemp("bench"))


async def use(port: int, native, **settings):
    options = fy.SwitchOptions(device_id=1, **settings)
    async with fy.Switch("s1", f"127.0.0.1:{port}", options) as switch:
        assert switch.is_primary
        entry = fy.P4TableEntry(
            "l2",
            match=fy.P4TableMatch(dst_addr=0xAA),
            action=fy.P4TableAction("send_to_cpu", reason=5),
        )
        acl = fy.P4TableEntry(
            "acl",
            match=fy.P4TableMatch(src_addr="0x10/&0xf0", port=9),
            action=fy.P4TableAction("drop"),
            priority=3,
        )
        await switch.insert([entry, acl])
        entries = [e async for e in switch.read([fy.P4TableEntry("l2"), fy.P4TableEntry("acl")])]
        assert [e.table_id for e in entries] == ["l2", "acl"]
        await switch.modify([fy.P4RegisterEntry("cells", index=4, data=77)])
        (cell,) = [e async for e in switch.read(fy.P4RegisterEntry("cells", index=4))]
        assert cell.data == 77
        assert len([e async for e in switch.read(fy.P4RegisterEntry("cells"))]) == 4096
        with pytest.raises(fy.P4ClientError, match="key"):
            await switch.insert([entry])
        packets = switch.read_packets()
        native.packet_out(3, bytes.fromhex("0000000000aa000000000001080000"))
        packet = await anext(packets)
        assert packet["ingress_port"] == 3
        assert packet["reason"] == 5
        await switch.delete_all()
        assert [e async for e in switch.read(fy.P4TableEntry("l2"))] == []


def test_finsy_programs_the_switch(empty_switch: Switch, files: dict[str, Path]):
    asyncio.run(asyncio.wait_for(use(empty_switch.port, empty_switch.native, **files), 60))


def test_finsy_finds_the_pipeline_in_place(switch: Switch, files: dict[str, Path]):
    asyncio.run(asyncio.wait_for(use(switch.port, switch.native, **files), 60))


def test_finsy_with_a_role(empty_switch: Switch, files: dict[str, Path]):
    info = text_format.Parse(files["p4info"].read_text(), p4i.P4Info())
    ids = [thing.preamble.id for thing in (*info.tables, *info.registers, *info.digests)]
    config = stratum.P4RoleConfig(
        exclusive_p4_ids=ids, receives_packet_ins=True, can_push_pipeline=True
    )
    role = {"role_name": "switching", "role_config": config}
    running = use(empty_switch.port, empty_switch.native, **files, **role)
    asyncio.run(asyncio.wait_for(running, 60))


# ---- controllers as finsy's own examples are written: a handler that prepares the switch, then
# reacts to it ----


async def wait_for(condition: Callable[[], Awaitable[bool]]):
    while not await condition():
        await asyncio.sleep(0.01)


async def learn_hosts(ready: asyncio.Event, switch: fy.Switch):
    """The ready handler of a learning switch: floods what is unknown, and makes an entry of each
    reported address."""
    await switch.delete_all()
    flood = fy.P4TableEntry("l2", is_default_action=True, action=fy.P4TableAction("drop"))
    await switch.write(
        [
            +fy.P4MulticastGroupEntry(1, replicas=(1, 2)),
            +fy.P4TableEntry(
                "l2",
                match=fy.P4TableMatch(dst_addr=BROADCAST),
                action=fy.P4TableAction("multicast", group=1),
            ),
            ~flood,
            +fy.P4DigestEntry("learned_t", max_list_size=1, max_timeout_ns=0, ack_timeout_ns=0),
        ]
    )
    ready.set()
    async for digest in switch.read_digests("learned_t"):
        for host in digest:
            assert isinstance(host, dict)
            known = fy.P4TableEntry(
                "learning",
                match=fy.P4TableMatch(src_addr=host["src_addr"]),
                action=fy.P4TableAction("NoAction"),
            )
            route = fy.P4TableEntry(
                "l2",
                match=fy.P4TableMatch(dst_addr=host["src_addr"]),
                action=fy.P4TableAction("forward", port=host["port"]),
            )
            await switch.write([+known, +route])
        await switch.write([digest.ack()])


def frame(source: int, destination: int) -> bytes:
    return destination.to_bytes(6, "big") + source.to_bytes(6, "big") + b"\x08\x00" + bytes(46)


async def learn_and_forward(port: int, native: NativeSwitch, files: dict[str, Path]):
    ready = asyncio.Event()
    options = fy.SwitchOptions(**files, ready_handler=partial(learn_hosts, ready), fail_fast=True)
    switch = fy.Switch("s1", f"127.0.0.1:{port}", options)
    async with fy.Controller([switch]):

        async def hits() -> dict[object, int]:
            query = fy.P4TableEntry("l2", counter_data=fy.P4CounterData())
            return {
                e["dst_addr"]: e.counter_data.packet_count
                async for e in switch.read(query)
                if e.counter_data
            }

        async def knows(host: int) -> bool:
            return host in await hits()

        async def counted() -> bool:
            return await hits() == {BROADCAST: 1, 0xA1: 1, 0xB2: 5}

        await ready.wait()
        native.packet_out(1, frame(0xA1, BROADCAST))
        await wait_for(lambda: knows(0xA1))
        native.packet_out(2, frame(0xB2, 0xA1))
        await wait_for(lambda: knows(0xB2))
        for _ in range(5):
            native.packet_out(1, frame(0xA1, 0xB2))
        await wait_for(counted)


def test_a_finsy_controller_learns_hosts(empty_switch: Switch, files: dict[str, Path]):
    """Ready handler, multicast group, digests with acks, entries made as they come, direct
    counters."""
    asyncio.run(
        asyncio.wait_for(learn_and_forward(empty_switch.port, empty_switch.native, files), 60)
    )


async def answer_packets(ready: asyncio.Event, switch: fy.Switch):
    """The ready handler of a controller that takes unknown packets, makes an entry, and sends the
    packet on itself."""
    await switch.delete_all()
    await switch.write(
        [+fy.P4TableEntry("l2", match=fy.P4TableMatch(dst_addr=0xA1), action=to_controller(1))]
    )
    ready.set()
    async for packet in switch.read_packets(eth_types={0x0800}):
        if packet["reason"] != 1:
            continue
        # Out to the controller's own port, where its first two bytes are taken for the packet-in
        # header again.
        onward = (packet["ingress_port"] << 7 | 9).to_bytes(2, "big") + packet.payload
        entry = fy.P4TableEntry("l2", match=fy.P4TableMatch(dst_addr=0xA1), action=to_controller(2))
        await switch.write([~entry])  # alone: of one call, finsy sends packets first
        await switch.write([fy.P4PacketOut(onward, egress_port=CPU_PORT, queue=0, pad=0)])


def to_controller(reason: int) -> fy.P4TableAction:
    return fy.P4TableAction("send_to_cpu", reason=reason)


async def take_over(port: int, native: NativeSwitch, files: dict[str, Path]):
    ready = asyncio.Event()
    options = fy.SwitchOptions(
        **files, ready_handler=partial(answer_packets, ready), fail_fast=True
    )
    switch = fy.Switch("s1", f"127.0.0.1:{port}", options)
    async with fy.Controller([switch]):
        packets = switch.read_packets()
        next_packet = asyncio.ensure_future(anext(packets))
        await ready.wait()
        native.packet_out(5, frame(0xB2, 0xA1))
        seen = [await next_packet, await anext(packets)]
        native.packet_out(6, frame(0xB2, 0xA1))
        seen.append(await anext(packets))
        assert [(packet["ingress_port"], packet["reason"]) for packet in seen] == [
            (5, 1),
            (5, 9),
            (6, 2),
        ]
        assert {packet.payload for packet in seen} == {frame(0xB2, 0xA1)}


def test_a_finsy_controller_answers_packets(empty_switch: Switch, files: dict[str, Path]):
    """Packet-ins by Ethernet type, an entry that one of them changes, packet-outs with metadata."""
    asyncio.run(asyncio.wait_for(take_over(empty_switch.port, empty_switch.native, files), 60))
