"""Both twins discard the same packets for the same reasons: the Tofino twin's constant entries, as
its driver will load them, against the v1model program as it runs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, example, given, settings, strategies as st
from program_driver import Driver

from pcn.base import packed
from pcn.controller.tofino.package import driver_files
from pcn.hosts import wire

COMPILED = Path(__file__).resolve().parents[2] / "p4src/compiled"
PORT = 1
REASONS = 7
PAYLOAD = 64

Header = dict[str, int]


class Faults:
    """The table `faults`, as the driver's context describes it: rows by priority, the lowest number
    first."""

    def __init__(self, context: dict[str, Any]):
        (table,) = (
            table for table in context["tables"] if table["name"] == "SwitchIngress.validate.faults"
        )
        self._entries = sorted(table["static_entries"], key=lambda entry: entry["priority"])
        actions = {action["name"].rpartition(".")[2]: action for action in table["actions"]}
        self._good = actions["good"]["handle"]
        (parameter,) = actions["drop_faulty"]["p4_parameters"]
        assert table["default_action_handle"] == actions["drop_faulty"]["handle"]
        self._default = int(parameter["default_value"], 0)

    def reason(self, keys: Header) -> int | None:
        """Of a discard; None: there is none."""
        for entry in self._entries:
            if all(self._fits(field, keys) for field in entry["match_key_fields_values"]):
                if entry["action_handle"] == self._good:
                    return None
                (parameter,) = entry["action_parameters_values"]
                return int(parameter["value"], 0)
        return self._default

    @staticmethod
    def _fits(field: dict[str, str], keys: Header) -> bool:
        value = keys[field["field_name"]]
        if "range_start" in field:
            return int(field["range_start"], 0) <= value <= int(field["range_end"], 0)
        return (value ^ int(field["value"], 0)) & int(field["mask"], 0) == 0


@pytest.fixture(scope="module")
def faults() -> Faults:
    return Faults(json.loads(driver_files(COMPILED / "tna/tofino/pcn")[1]))


@pytest.fixture(scope="module")
def v1model() -> Iterator[Driver]:
    with Driver(packed.read_text(COMPILED / "pcn_native.json"), flags=()) as driver:
        driver.add(
            "SwitchIngress.forwarding.ipv4_lpm",
            bytes(4),
            "SwitchIngress.forwarding.ipv4_forward",
            [1, 2],
        )
        yield driver


def v1model_reason(driver: Driver, frame: bytes) -> int | None:
    """Which cell of `dropped` counted the frame."""

    def dropped() -> list[int]:
        return [driver.counter("dropped", PORT * 8 + reason)[0] for reason in range(REASONS)]

    before = dropped()
    driver.ingress(frame, PORT)
    (reason,) = [
        reason for reason, (old, new) in enumerate(zip(before, dropped(), strict=True)) if new > old
    ] or [None]
    return reason


def keys(frame: bytes) -> Header:
    """What SwitchIngressParser of p4src/tna extracts, and the lengths' difference."""
    header = dict.fromkeys(
        (
            "version", "ihl", "total_len", "checksum_error", "udp", "bth", "bth_version",
            "udp_length", "before_udp",
        ),
        0,
    )  # fmt: skip
    header["ipv4"] = int(frame[12:14] == b"\x08\x00")
    if not header["ipv4"]:
        return header
    ip = frame[14:34]
    header["version"], header["ihl"] = ip[0] >> 4, ip[0] & 15
    header["total_len"] = int.from_bytes(ip[2:4], "big")
    header["checksum_error"] = int(wire.ip_checksum(ip) != 0)
    fragment = int.from_bytes(ip[6:8], "big") & 0x1FFF
    if (header["version"], header["ihl"], fragment, ip[9]) == (4, 5, 0, 17):
        header["udp"] = 1
        header["udp_length"] = int.from_bytes(frame[38:40], "big")
        if frame[36:38] == (4791).to_bytes(2, "big"):
            header["bth"] = 1
            header["bth_version"] = frame[43] & 15
    header["before_udp"] = max(header["total_len"] - header["udp_length"], 0)
    return header


def roce(
    ether_type: int = 0x0800,
    version: int = 4,
    ihl: int = 5,
    total_len: int | None = None,
    fragment: int = 0,
    protocol: int = 17,
    udp_port: int = 4791,
    udp_length: int | None = None,
    bth_version: int = 0,
    good_checksum: bool = True,
) -> bytes:
    """A data packet, with these differences. None: the right length."""
    address = wire.parse_ip("10.0.0.1")
    frame = bytearray(
        wire.encode_data(
            wire.DataPacket(
                bytes(6), bytes(6), address, address, 1, 0, bytes(PAYLOAD), wire.ECN_ECT0, 26
            )
        )
    )
    frame[12:14] = ether_type.to_bytes(2, "big")
    frame[14] = version << 4 | ihl
    frame[16:18] = (len(frame) - 14 if total_len is None else total_len).to_bytes(2, "big")
    frame[20:22] = fragment.to_bytes(2, "big")
    frame[23] = protocol
    frame[36:38] = udp_port.to_bytes(2, "big")
    if udp_length is not None:
        frame[38:40] = udp_length.to_bytes(2, "big")
    frame[43] = frame[43] & 0xF0 | bth_version
    frame[24:26] = bytes(2)
    checksum = wire.ip_checksum(bytes(frame[14:34]))
    frame[24:26] = (checksum if good_checksum else checksum ^ 1).to_bytes(2, "big")
    return bytes(frame)


# The frame has 108 bytes of IP. What claims more is in no frame here: Tofino's ingress doesn't know
# the frame's length.
LONGEST = len(roce()) - 14
lengths = st.one_of(st.integers(0, LONGEST), st.sampled_from([19, 20, 27, 28, 43, 44, LONGEST]))


@settings(max_examples=250, suppress_health_check=list(HealthCheck))
@given(
    st.builds(
        roce,
        ether_type=st.sampled_from([0x0800] * 9 + [0x86DD]),
        version=st.sampled_from([4] * 9 + [0, 5, 6, 15]),
        ihl=st.sampled_from([5] * 9 + [0, 4, 6, 15]),
        total_len=st.none() | lengths,
        fragment=st.sampled_from([0] * 5 + [1, 0x1FFF]),
        protocol=st.sampled_from([17] * 5 + [6, 1]),
        udp_port=st.sampled_from([4791] * 5 + [4790]),
        udp_length=st.none() | lengths | st.integers(0, 0xFFFF),
        bth_version=st.sampled_from([0] * 5 + [1, 15]),
        good_checksum=st.sampled_from([True] * 5 + [False]),
    )
)
@example(roce())
@example(roce(total_len=19, good_checksum=False))
@example(roce(udp_length=LONGEST - 19))
def test_same_reason(faults: Faults, v1model: Driver, frame):
    reason = faults.reason(keys(frame))
    event(f"reason {reason}")
    assert reason == v1model_reason(v1model, frame)
