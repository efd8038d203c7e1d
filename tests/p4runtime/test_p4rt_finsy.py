"""A client that we did not write: finsy, with its own arbitration, schema and entities."""

from __future__ import annotations

import asyncio

import finsy as fy
import pytest
from conftest import PROGRAMS, Switch


async def use(port: int, native: object) -> None:
    options = fy.SwitchOptions(
        p4info=PROGRAMS / "bench.p4info.txtpb", p4blob=PROGRAMS / "bench.json", device_id=1, role_name=""
    )
    async with fy.Switch("s1", f"127.0.0.1:{port}", options) as switch:
        assert switch.is_primary
        entry = fy.P4TableEntry(
            "l2", match=fy.P4TableMatch(dst_addr=0xAA), action=fy.P4TableAction("send_to_cpu", reason=5)
        )
        acl = fy.P4TableEntry(
            "acl", match=fy.P4TableMatch(src_addr="0x10/&0xf0", port=9), action=fy.P4TableAction("drop"), priority=3
        )
        await switch.insert([entry, acl])
        found = [e async for e in switch.read([fy.P4TableEntry("l2"), fy.P4TableEntry("acl")])]
        assert [e.table_id for e in found] == ["l2", "acl"]
        await switch.modify([fy.P4RegisterEntry("cells", index=4, data=77)])
        (cell,) = [e async for e in switch.read(fy.P4RegisterEntry("cells", index=4))]
        assert cell.data == 77
        assert len([e async for e in switch.read(fy.P4RegisterEntry("cells"))]) == 4096
        with pytest.raises(fy.P4ClientError, match="key"):
            await switch.insert([entry])
        packets = switch.read_packets()
        native.packet_out(3, bytes.fromhex("0000000000aa000000000001080000"))  # type: ignore[attr-defined]
        packet = await anext(packets)
        assert packet["ingress_port"] == 3
        assert packet["reason"] == 5
        await switch.delete_all()
        assert [e async for e in switch.read(fy.P4TableEntry("l2"))] == []


def test_finsy_programs_the_switch(empty_switch: Switch) -> None:
    asyncio.run(asyncio.wait_for(use(empty_switch.port, empty_switch.native), 60))


def test_finsy_finds_the_pipeline_in_place(switch: Switch) -> None:
    asyncio.run(asyncio.wait_for(use(switch.port, switch.native), 60))
