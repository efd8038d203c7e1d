"""Counters, registers and meters: whole, by index, and out of range."""

import pytest
from google.protobuf.message import Message
from p4rt_client import Client, Names, RefusedError, octets, refused, update
from p4rt_switch import Program, Switch

from pcn.base.p4rt import p4d, p4i, p4r, rpc_code


def register(
    names: Names, name: str, index: int | None = None, value: int | bytes | None = None
) -> p4r.RegisterEntry:
    entry = p4r.RegisterEntry(register_id=names.id("registers", name) if name else 0)
    if index is not None:
        entry.index.index = index
    if value is not None:
        entry.data.bitstring = octets(value)
    return entry


def counter(
    names: Names, index: int | None = None, packets: int | None = None, size: int = 0
) -> p4r.CounterEntry:
    entry = p4r.CounterEntry(counter_id=names.id("counters", "received"))
    if index is not None:
        entry.index.index = index
    if packets is not None:
        entry.data.packet_count, entry.data.byte_count = packets, size
    return entry


def code_of(client: Client, content: Message, kind: str = "MODIFY") -> int:
    with pytest.raises(RefusedError) as failure:
        client.write(update(kind, content))
    return failure.value.codes[0]


@pytest.mark.parametrize(("name", "width"), [("cells", 32), ("wide_cells", 128), ("flags", 1)])
def test_register_cells(client: Client, names: Names, name, width):
    largest = (1 << width) - 1
    client.modify(register(names, name, 3, largest))
    assert client.read(register(names, name, 3)) == [register(names, name, 3, largest)]
    cells = client.read(register(names, name))
    assert [cell.index.index for cell in cells] == list(range(len(cells)))
    assert [cell.data.bitstring for cell in cells if cell.index.index != 3] == [b"\0"] * (
        len(cells) - 1
    )
    client.modify(register(names, name, None, 1))
    assert {cell.data.bitstring for cell in client.read(register(names, name))} == {b"\1"}
    assert code_of(client, register(names, name, 0, largest + 1)) == rpc_code.OUT_OF_RANGE


def test_signed_registers(client: Client, names: Names):
    client.modify(register(names, "signed_cells", 0, b"\xff\xff\x9d"))
    (cell,) = client.read(register(names, "signed_cells", 0))
    assert cell.data.bitstring == b"\x9d"
    assert code_of(client, register(names, "signed_cells", 0, b"\x08\x00")) == rpc_code.OUT_OF_RANGE


def test_all_registers_in_one_read(client: Client, names: Names):
    assert len(client.read(p4r.RegisterEntry())) == 4096 + 4 + 4 + 8


def test_counter_cells(client: Client, names: Names):
    client.modify(counter(names, 5, 7, 700))
    assert client.read(counter(names, 5)) == [counter(names, 5, 7, 700)]
    cells = client.read(counter(names))
    assert [cell.data.packet_count for cell in cells] == [7 if i == 5 else 0 for i in range(16)]
    assert client.read(p4r.CounterEntry()) == cells
    client.modify(counter(names, None, 0, 0))
    assert {cell.data.packet_count for cell in client.read(counter(names))} == {0}
    client.modify(counter(names, 5))  # no data: nothing changes


def test_meters(client: Client, names: Names):
    cell = p4r.MeterEntry(meter_id=names.id("meters", "limits"))
    cell.index.index = 2
    assert client.read(cell) == [cell], "an unconfigured meter has no config"
    configured = p4r.MeterEntry()
    configured.CopyFrom(cell)
    (
        configured.config.cir,
        configured.config.cburst,
        configured.config.pir,
        configured.config.pburst,
    ) = 10, 20, 30, 40
    client.modify(configured)
    cells = client.read(p4r.MeterEntry())
    assert cells[2] == configured
    assert [entry.HasField("config") for entry in cells] == [i == 2 for i in range(8)]
    client.modify(cell)
    assert client.read(cell) == [cell], "MODIFY without config resets"
    configured.config.eburst = 1
    assert code_of(client, configured) == rpc_code.INVALID_ARGUMENT


def test_direct_meters(client: Client, names: Names):
    entry = names.entry("policing", {"src_addr": 7}, names.action("police"))
    (
        entry.meter_config.cir,
        entry.meter_config.cburst,
        entry.meter_config.pir,
        entry.meter_config.pburst,
    ) = 1, 2, 3, 4
    client.insert(entry)
    query = names.entry("policing", {"src_addr": 7})
    assert not client.read(query)[0].HasField("meter_config")
    query.meter_config.SetInParent()
    assert client.read(query) == [entry]
    direct = p4r.DirectMeterEntry(table_entry=names.entry("policing", {"src_addr": 7}))
    assert client.read(direct)[0].config == entry.meter_config
    client.modify(direct)
    everything = p4r.DirectMeterEntry(table_entry=p4r.TableEntry())
    assert client.read(everything) == [direct], "without config it is reset"
    direct.config.cir, direct.config.pir = 5, 6
    client.modify(direct)
    assert client.read(everything) == [direct]
    client.modify(names.entry("policing", {"src_addr": 7}, names.action("police")))
    assert not client.read(everything)[0].HasField("config"), "MODIFY without it resets as well"
    assert code_of(client, direct, "INSERT") == rpc_code.INVALID_ARGUMENT
    direct_meter_entry = p4r.DirectMeterEntry(table_entry=names.entry("l2", {"dst_addr": 7}))
    assert code_of(client, direct_meter_entry) == rpc_code.INVALID_ARGUMENT


def test_a_direct_meter_polices(client: Client, names: Names, switch: Switch):
    client.insert(names.entry("l2", {"dst_addr": 0xAA}, names.action("send_to_cpu", reason=1)))
    entry = names.entry("policing", {"src_addr": 1}, names.action("police"))
    (
        entry.meter_config.cir,
        entry.meter_config.cburst,
        entry.meter_config.pir,
        entry.meter_config.pburst,
    ) = 0, 1, 0, 2
    client.insert(entry)
    for number in range(4):
        switch.native.packet_out(
            3, bytes.fromhex("0000000000aa 000000000001 0800") + bytes([number] * 46)
        )
    switch.native.packet_out(3, bytes.fromhex("0000000000aa 000000000002 0800") + bytes([9] * 46))
    assert [client.receive().packet.payload[-1] for _ in range(3)] == [0, 1, 9], (
        "two packets of burst, then red"
    )


def test_indices_and_ids_that_do_not_exist(client: Client, names: Names):
    assert code_of(client, register(names, "cells", 4096, 1)) == rpc_code.OUT_OF_RANGE
    assert code_of(client, register(names, "cells", -1, 1)) == rpc_code.INVALID_ARGUMENT
    assert code_of(client, register(names, "cells", 1)) == rpc_code.INVALID_ARGUMENT
    wrong = register(names, "cells", 1)
    wrong.data.CopyFrom(p4d.P4Data(bool=True))
    assert code_of(client, wrong) == rpc_code.INVALID_ARGUMENT
    assert code_of(client, counter(names, 16, 1)) == rpc_code.OUT_OF_RANGE
    assert code_of(client, counter(names, -1, 1)) == rpc_code.INVALID_ARGUMENT
    assert code_of(client, p4r.CounterEntry(counter_id=3)) == rpc_code.NOT_FOUND
    assert code_of(client, p4r.RegisterEntry(register_id=3)) == rpc_code.NOT_FOUND
    for kind in ("INSERT", "DELETE", "UNSPECIFIED"):
        assert code_of(client, counter(names, 1, 1), kind) == rpc_code.INVALID_ARGUMENT
        assert code_of(client, register(names, "cells", 1, 1), kind) == rpc_code.INVALID_ARGUMENT
    refused(rpc_code.OUT_OF_RANGE, client.read, register(names, "cells", 4096))


def test_meters_of_one_rate(empty_switch: Switch, program: Program):
    """One with two colours has equal rates; one with three is not offered."""
    info, names = p4i.P4Info(), program.names
    info.CopyFrom(program.info)
    with Client(empty_switch.port) as client:
        client.arbitrate()
        for meter in (*info.meters, *info.direct_meters):
            meter.spec.type = p4i.MeterSpec.SINGLE_RATE_THREE_COLOR
        with pytest.raises(RefusedError) as failure:
            client.set_pipeline(info, program.json)
        assert failure.value.code.name == "UNIMPLEMENTED"
        for meter in (*info.meters, *info.direct_meters):
            meter.spec.type = p4i.MeterSpec.SINGLE_RATE_TWO_COLOR
        client.set_pipeline(info, program.json)
        cell = p4r.MeterEntry(
            meter_id=names.id("meters", "limits"), config={"cir": 1, "cburst": 2, "pir": 1}
        )
        cell.index.index = 1
        entry = names.entry("policing", {"src_addr": 7}, names.action("police"))
        entry.meter_config.pir = 5
        direct = p4r.DirectMeterEntry(
            table_entry=names.entry("policing", {"src_addr": 7}), config={"pburst": 5}
        )
        assert code_of(client, cell) == rpc_code.INVALID_ARGUMENT
        assert code_of(client, entry, "INSERT") == rpc_code.INVALID_ARGUMENT
        cell.config.pburst = 2
        entry.meter_config.cir = 5
        client.modify(cell)
        client.insert(entry)
        assert code_of(client, direct) == rpc_code.INVALID_ARGUMENT
        cell.ClearField("config")
        (meter_entry,) = client.read(cell)
        assert (meter_entry.config.cir, meter_entry.config.pburst) == (1, 2)
