"""Both variants of a program's file are read of one that is packed."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, strategies as st

from pcn.base import packed

PLAIN, NATIVE = b'{"a":[1,{"b":2}],\n"c":"x"}\n', b'{"a":[1,{"b":3}],\n"d":4}\n'


@pytest.fixture
def program(build: ModuleType, tmp_path: Path) -> Path:
    """x.json, packed with x_native.json."""
    (tmp_path / "x.json.gz").write_bytes(build.pack(PLAIN, NATIVE))
    return tmp_path / "x.json"


def test_packed_file_holds_both_variants(program: Path) -> None:
    native = packed.native_of(program)
    assert native.name == "x_native.json"
    assert (packed.read_bytes(program), packed.read_bytes(native)) == (PLAIN, NATIVE)
    assert packed.read_text(native) == NATIVE.decode()
    assert packed.files(program.parent) == [program, native]
    assert packed.is_file(program)
    assert packed.is_file(native)
    assert not packed.is_file(program.with_name("y.json"))


def test_plain_file_goes_before_a_packed_one(program: Path) -> None:
    program.write_bytes(b"{}")
    assert packed.read_bytes(program) == b"{}"
    assert packed.read_bytes(packed.native_of(program)) == NATIVE
    assert packed.files(program.parent) == [program, packed.native_of(program)]


def test_missing_file_is_named_without_its_packed_form(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"y\.json'$"):
        packed.read_bytes(tmp_path / "y.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no gzip", "x.json.gz is damaged"),
        (gzip.compress(PLAIN)[:-9], "x.json.gz is cut, or of more than 64 MB"),
        (
            gzip.compress(bytes(packed._MOST_BYTES + 1), 1),
            "x.json.gz is cut, or of more than 64 MB",
        ),
    ],
    ids=["no gzip", "cut", "too long"],
)
def test_damaged_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.json.gz").write_bytes(content)
    with pytest.raises(OSError, match=message):
        packed.read_bytes(tmp_path / "x.json")


@given(st.text("ab,{[\n#", max_size=40), st.text("ab,{[\n#", max_size=40))
def test_packing_loses_nothing(plain: str, native: str) -> None:
    from pcn.p4src.build import pack

    content = pack(plain.encode(), native.encode())
    for text, variant in ((plain, False), (native, True)):
        assert packed.unpack(content, Path("x.json.gz"), variant).decode() == text


def test_what_would_be_read_otherwise_is_refused(build: ModuleType) -> None:
    with pytest.raises(build.P4BuildError, match="can't be packed"):
        build.pack(b"a\n#endif b,c", b"b")
