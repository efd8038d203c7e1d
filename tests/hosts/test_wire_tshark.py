"""What tshark makes of our frames: it must decode data, CNPs and PFC frames as what they are."""

import struct
import subprocess
from pathlib import Path

import needs
import pytest
from waiting import LIMIT_S

from pcn.hosts import wire
from pcn.hosts.wire import AckPacket, CnpPacket, DataPacket, PfcFrame

MACS = (wire.parse_mac("00:00:00:00:00:01"), wire.parse_mac("00:00:00:00:00:02"))
IPS = (wire.parse_ip("10.0.0.1"), wire.parse_ip("10.0.1.2"))


@pytest.fixture(scope="module")
def tshark() -> str:
    return needs.program("tshark", needs.TSHARK)


def dissect(
    tshark: str, folder: Path, frames: list[bytes], fields: list[str]
) -> list[dict[str, str]]:
    """Each frame's fields, as tshark prints them. IPv4 checksums are verified."""
    capture = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for number, frame in enumerate(frames):
        capture += struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame
    path = folder / "frames.pcap"
    path.write_bytes(capture)
    command = [
        tshark, "-r", str(path), "-o", "ip.check_checksum:TRUE", "-T", "fields", "-E",
        "separator=|",
    ]  # fmt: skip
    for name in fields:
        command += ["-e", name]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT_S)
    return [dict(zip(fields, line.split("|"), strict=True)) for line in result.stdout.splitlines()]


def test_data_is_a_rocev2_send(tshark: str, tmp_path):
    packets = [
        DataPacket(*MACS, *IPS, flow=0x123456, psn=0xFEDCBA, payload=bytes(1000)),
        DataPacket(*MACS, *IPS, flow=5, psn=0, payload=b"tail!", last=True, ecn=wire.ECN_CE),
    ]
    fields = [
        "_ws.col.Protocol",
        "infiniband.bth.opcode",
        "infiniband.bth.destqp",
        "infiniband.bth.psn",
    ]
    fields += [
        "infiniband.bth.se",
        "infiniband.bth.padcnt",
        "infiniband.invariant.crc",
        "ip.dsfield.ecn",
    ]
    fields += [
        "ip.dsfield.dscp", "udp.dstport", "ip.checksum.status", "infiniband.payload", "frame.len",
    ]  # fmt: skip
    frames = [wire.encode_data(packet) for packet in packets]
    first, second = dissect(tshark, tmp_path, frames, fields)
    for frame, row in zip(frames, (first, second), strict=True):
        assert row["_ws.col.Protocol"] == "RRoCE"
        assert int(row["infiniband.bth.opcode"]) == 0x24
        assert row["udp.dstport"] == "4791"
        assert row["ip.dsfield.dscp"] == "26"
        assert row["ip.checksum.status"] == "1"
        assert int(row["infiniband.invariant.crc"], 16) == int.from_bytes(frame[-4:], "big")
    assert int(first["infiniband.bth.destqp"], 16) == 0x123456
    assert int(first["infiniband.bth.psn"]) == 0xFEDCBA
    assert first["ip.dsfield.ecn"] == "2"
    assert first["frame.len"] == "1058"
    assert second["ip.dsfield.ecn"] == "3"
    assert second["infiniband.bth.padcnt"] == "3"
    assert second["infiniband.bth.se"] in ("1", "True")


def test_cnp_is_a_cnp(tshark: str, tmp_path):
    frames = [
        wire.encode_cnp(CnpPacket(*MACS, *IPS, flow=77, ecn=ecn, rec_rate_mbps=2500))
        for ecn in (wire.ECN_CE, wire.ECN_ECT0, wire.ECN_ECT1)
    ]
    fields = ["_ws.col.Protocol", "_ws.col.Info", "infiniband.bth.opcode", "infiniband.bth.destqp"]
    fields += ["ip.dsfield.ecn", "ip.dsfield.dscp", "frame.len"]
    rows = dissect(tshark, tmp_path, frames, fields)
    for row, ecn in zip(rows, ("3", "2", "1"), strict=True):
        assert row["_ws.col.Protocol"] == "RRoCE"
        # tshark up to 4.0 has no name for opcode 0x81, though it reads the header
        assert row["_ws.col.Info"].startswith(("CNP", "Unknown OpCode"))
        assert int(row["infiniband.bth.opcode"]) == 0x81
        assert int(row["infiniband.bth.destqp"], 16) == 77
        assert row["ip.dsfield.ecn"] == ecn
        assert row["ip.dsfield.dscp"] == "56"
        assert row["frame.len"] == "74"


def test_an_acknowledgement_is_one(tshark: str, tmp_path):
    asking = wire.encode_data(
        DataPacket(*MACS, *IPS, flow=5, psn=7, payload=bytes(1000), asks=True)
    )
    answer = wire.encode_ack(AckPacket(*MACS, *IPS, flow=5, psn=7))
    fields = [
        "_ws.col.Info",
        "infiniband.bth.a",
        "infiniband.bth.opcode",
        "infiniband.bth.psn",
        "frame.len",
    ]
    fields += ["infiniband.aeth.syndrome.opcode", "infiniband.invariant.crc"]
    data, ack = dissect(tshark, tmp_path, [asking, answer], fields)
    assert data["infiniband.bth.a"] in ("1", "True")
    assert ack["_ws.col.Info"].startswith("RC Acknowledge")
    assert int(ack["infiniband.bth.opcode"]) == 0x11
    assert ack["infiniband.bth.psn"] == "7"
    assert ack["frame.len"] == "62"
    assert int(ack["infiniband.aeth.syndrome.opcode"], 0) == 0
    assert int(ack["infiniband.invariant.crc"], 16) == int.from_bytes(answer[-4:], "big")


def test_pfc_is_pfc(tshark: str, tmp_path):
    frames = [
        wire.encode_pfc(PfcFrame(MACS[0], {3: 0x8000, 6: 9})),
        wire.encode_pfc(PfcFrame(MACS[0], {3: 0})),
    ]
    fields = ["_ws.col.Protocol", "macc.opcode", "frame.len"]
    fields += [f"macc.cbfc.enbv.c{n}" for n in range(8)] + [
        f"macc.cbfc.pause_time.c{n}" for n in range(8)
    ]
    pause, resume = dissect(tshark, tmp_path, frames, fields)
    for row in (pause, resume):
        assert row["_ws.col.Protocol"] == "MAC CTRL"
        assert int(row["macc.opcode"], 0) == 0x0101
        assert row["frame.len"] == "60"
    assert [n for n in range(8) if pause[f"macc.cbfc.enbv.c{n}"] in ("1", "True")] == [3, 6]
    assert [n for n in range(8) if resume[f"macc.cbfc.enbv.c{n}"] in ("1", "True")] == [3]
    assert int(pause["macc.cbfc.pause_time.c3"], 0) == 0x8000
    assert int(pause["macc.cbfc.pause_time.c6"], 0) == 9
    assert int(resume["macc.cbfc.pause_time.c3"], 0) == 0
