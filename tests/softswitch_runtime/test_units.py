"""The C parts on their own: units/*.c, compiled with warnings as errors and the sanitizers, and
run."""

import ctypes
import subprocess
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from runtime import library

from pcn.softswitch.codegen.build import CSRC, compiler

UNITS = Path(__file__).with_name("units")
SANITIZED = ["-Og", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
STRICT = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread"]


TABLES = ["profile", "table", "map", "exact", "lpm", "trie", "ternary", "bits", "cache_lines"]
PARTS = {
    "front_test": [
        *(f"front_{part}" for part in ("answers", "begin", "calls", "clients", "frames", "queue")),
        "hpack",
    ],
    "offload_test": ["offload", "packet", "hash"],
    "channel_test": ["channel", "packet"],
    "traffic_test": ["traffic", "packet"],
    "pace_test": ["pace"],
    "profile_test": TABLES,
    "table_test": TABLES,
    "cache_lines_test": ["state", *TABLES],
    "state_test": ["state", "packet", "pre", *TABLES],
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> Callable[[Path], Path]:
    """A source's object, made once for all units that are linked with it."""
    folder = tmp_path_factory.mktemp("objects")

    @lru_cache
    def compiled(source: Path) -> Path:
        target = folder / f"{source.stem}.o"
        subprocess.run(
            [*compiler(), *STRICT, *SANITIZED, f"-I{CSRC}", "-c", "-o", target, source], check=True
        )
        return target

    return compiled


@pytest.mark.parametrize("unit", sorted(path.stem for path in UNITS.glob("*.c")))
def test_unit(unit, compiled: Callable[[Path], Path], tmp_path):
    binary = tmp_path / unit
    objects = [
        compiled(source)
        for source in (UNITS / f"{unit}.c", *(CSRC / f"{part}.c" for part in PARTS[unit]))
    ]
    subprocess.run([*compiler(), *STRICT, *SANITIZED, "-o", binary, *objects, "-lm"], check=True)
    done = subprocess.run([binary], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def hashed(name: str, data: bytes) -> int:
    function = getattr(library(), f"sw_hash_{name}")
    function.restype = ctypes.c_uint64
    return int(function(data, ctypes.c_size_t(len(data))))


# "123456789", the check value of the CRC catalogues; BMv2's own tests give the same functions.
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("crc16", 0xBB3D),
        ("crc32", 0xCBF43926),
        ("crc_ccitt", 0x29B1),
    ],
)
def test_hash_check_values(name, value):
    assert hashed(name, b"123456789") == value


@given(st.binary(max_size=100))
def test_hashes_against_plain_definitions(data):
    words = [int.from_bytes(data[i : i + 2].ljust(2, b"\0"), "big") for i in range(0, len(data), 2)]
    folded = 0
    for word in words:
        folded ^= word
    assert hashed("xor16", data) == folded
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    assert hashed("csum16", data) == total ^ 0xFFFF
    assert hashed("crc32", data) == zlib.crc32(data)
