"""Generated checksums and hashes, against Python's."""

import zlib
from random import Random
from typing import Any

import pytest
from program_driver import Driver
from program_json import Builder, assign, extract, field, header, op, primitive, state, value

Json = dict[str, Any]
FIELDS = [["a", 8], ["b", 4], ["c", 12], ["d", 32], ["sum", 16]]


def csum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def builder(inputs: list[Json], algo: str = "csum16") -> Builder:
    b = Builder().header("h", FIELDS).header("g", [["n", 24]])
    b.states = [state("start", [extract("h")], key=[field("h", "a")],
                      cases=[{"type": "hexstr", "value": "0x01", "mask": None,
                      "next_state": "more"}]),
                state("more", [extract("g")])]  # fmt: skip
    b.extra["calculations"] = [{"name": "calc", "id": 0, "algo": algo, "input": inputs}]
    return b


def checksum(**parts) -> list[Json]:
    base = {"name": "cs", "id": 0, "target": ["h", "sum"], "type": "generic", "calculation": "calc",
            "update": True, "verify": True, "if_cond": None}  # fmt: skip
    return [base | parts]


ALL = [field("h", name) for name in ("a", "b", "c", "d")]


def test_update_and_verify():
    b = builder(ALL)
    b.extra["checksums"] = checksum()
    body = bytes.fromhex("09123456789a0b")
    with Driver(b.json()) as d:
        out = d.run(body + b"\0\0rest")
        assert out == body + csum(body).to_bytes(2, "big") + b"rest"
        assert d.get("std.checksum_error") == 1
        d.run(out)
        assert d.get("std.checksum_error") == 0
        d.run(body[:4])  # the header is not valid: nothing to verify
        assert d.get("std.checksum_error") == 0


def test_condition():
    b = builder(ALL)
    b.extra["checksums"] = checksum(if_cond=op("==", field("h", "a"), value(1)))
    with Driver(b.json()) as d:
        assert d.run(bytes(9)) == bytes(9)
        assert d.get("std.checksum_error") == 0


def test_payload_and_headers_that_are_not_there():
    """Invalid headers are left out; the payload follows the fields."""
    inputs = [*ALL, {"type": "header", "value": "g"}, {"type": "hexstr", "value": "0x1234", (
        "bitwidth"
    ): 16},
              {"type": "payload", "value": None}]  # fmt: skip
    b = builder(inputs)
    b.extra["checksums"] = checksum()
    with Driver(b.json()) as d:
        for first, extra in ((1, b"ghi"), (2, b"")):
            for payload in (b"", b"x", b"some more payload" * 30):
                body = bytes([first]) + bytes.fromhex("123456789a0b")
                out = d.run(body + b"\0\0" + extra + payload)
                assert int.from_bytes(out[7:9], "big") == csum(body + extra + b"\x12\x34" + payload)


def test_fields_that_do_not_end_at_a_byte():
    """Bits run on without padding, and the last byte is filled with zeros."""
    b = builder(
        [
            field("h", "b"),
            field("g", "n"),
            field("h", "c"),
            {"type": "hexstr", "value": "0x5", "bitwidth": 3},
        ]
    )
    b.extra["checksums"] = checksum()
    with Driver(b.json()) as d:
        out = d.run(bytes.fromhex("01a3450000000b0000112233"))
        assert int.from_bytes(out[7:9], "big") == csum(
            (0xA112233345 << 8 | 0xA0).to_bytes(6, "big")
        )
        out = d.run(bytes.fromhex("02a3450000000b0000112233"))
        assert int.from_bytes(out[7:9], "big") == csum((0xA345 << 8 | 0xA0).to_bytes(3, "big"))


HASHES = {
    "crc32": zlib.crc32(b"123456789"),
    "crc32_custom": zlib.crc32(b"123456789"),
    "crc16": 0xBB3D,
    "crc16_custom": 0xBB3D,
    "identity": int.from_bytes(b"12345678", "big"),
    "csum16": csum(b"123456789"),
    "xor16": 0x3132 ^ 0x3334 ^ 0x3536 ^ 0x3738 ^ 0x3900,
}


@pytest.mark.parametrize("algo", sorted(HASHES))
@pytest.mark.parametrize(("base", "size"), [(0, 2**63), (5, 1000), (7, 0)])
def test_hash(algo, base, size):
    b = builder([header("h")], algo)
    b.header("r", [["v", 64]])
    calc = {"type": "calculation", "value": "calc"}
    hashing = primitive(
        "modify_field_with_hash_based_offset", field("r", "v"), value(base), calc, value(size)
    )
    b.run([primitive("add_header", header("r")), hashing])
    b.run([assign(field("h", "a"), value(0))])
    with Driver(b.json()) as d:
        out = d.run(b"123456789")
        assert int.from_bytes(out[9:], "big") == HASHES[algo] % (size or 1) + base


@pytest.mark.parametrize("length", [*range(1, 19), 40])
@pytest.mark.parametrize("algo", ["crc32", "identity"])
def test_hash_of_metadata_of_any_length_is_that_of_its_bytes(algo, length):
    """Metadata is always there, so the length is known: a short CRC-32 is a sum of tables."""
    words = [["w", 32]] * (length // 4) + [["o", 8]] * (length % 4)
    fields = [[f"{name}{i}", width] for i, (name, width) in enumerate(words)]
    b = Builder().header("h", fields).header("r", [["v", 64]])
    b.header("m", fields, metadata=True)
    b.states = [state("start", [extract("h")])]
    inputs = [field("m", name) for name, _ in fields]
    b.extra["calculations"] = [{"name": "calc", "id": 0, "algo": algo, "input": inputs}]
    calc = {"type": "calculation", "value": "calc"}
    hashing = primitive(
        "modify_field_with_hash_based_offset", field("r", "v"), value(0), calc, value(2**63)
    )
    copies = [assign(field("m", name), field("h", name)) for name, _ in fields]
    b.run([primitive("add_header", header("r")), *copies, hashing])
    random = Random(length)
    expected = {"crc32": zlib.crc32, "identity": lambda data: int.from_bytes(data[:8], "big")}
    with Driver(b.json()) as d:
        for _ in range(20):
            data = random.randbytes(length)
            out = d.run(data)
            assert int.from_bytes(out[length:], "big") == expected[algo](data) % 2**63


IPV4 = [["v", 4], ["ihl", 4], ["tos", 8], ["len", 16], ["id", 16], ["flags", 3], ["frag", 13], [(
    "ttl"
), 8],
        ["proto", 8], ["src", 48], ["dst", 64], ["odd", 8], ["sum", 16], ["end", 24]]  # fmt: skip


def test_sum_of_whole_words_with_every_carry():
    """Runs of 8 to 64 bits, at even and odd bytes; all zeros and all ones are the corner cases."""
    b = Builder().header("h", IPV4)
    b.extra["calculations"] = [
        {
            "name": "calc",
            "id": 0,
            "algo": "csum16",
            "input": [field("h", n) for n, _ in IPV4 if n != "sum"],
        }
    ]
    b.extra["checksums"] = checksum()
    size = sum(w for _, w in IPV4) // 8
    random = Random(1)
    frames = [bytes(size), b"\xff" * size, *(random.randbytes(size) for _ in range(200))]
    with Driver(b.json()) as d:
        for frame in frames:
            out = d.run(frame)
            body = frame[: size - 5] + frame[-3:]
            assert out == frame[: size - 5] + csum(body).to_bytes(2, "big") + frame[-3:]
            assert d.ingress(out).get("std.checksum_error") == 0
