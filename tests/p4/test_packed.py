"""Programs' files are read of a folder's archive where they aren't there themselves."""

import io
import lzma
import sys
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pcn.base import packed
from pcn.base.packed import pack
from pcn.p4src.build import write_outputs

PLAIN, NATIVE, DEEP = b'{"a":[1,{"b":2}],\n"c":"x"}\n', b'{"d":4}\n', bytes(1000)


@pytest.fixture
def program(tmp_path) -> Path:
    """x.json, packed with x_native.json and a file of a folder."""
    contents = {"x.json": PLAIN, "x_native.json": NATIVE, "chip/y/z.bin": DEEP}
    (tmp_path / packed.ARCHIVE).write_bytes(pack(contents))
    return tmp_path / "x.json"


def test_archive_holds_files_by_name(program: Path):
    native = program.with_name("x_native.json")
    deep = program.with_name("chip") / "y/z.bin"
    assert [packed.read_bytes(path) for path in (program, native, deep)] == [PLAIN, NATIVE, DEEP]
    assert packed.read_text(native) == NATIVE.decode()
    assert packed.files(program.parent) == [program, native]
    assert packed.files(program.parent, "/z.bin") == [deep]
    assert all(map(packed.is_file, (program, native, deep)))
    assert not packed.is_file(program.with_name("y.json"))
    assert not packed.is_file(program.with_name("x" * 300))


def test_plain_file_goes_before_a_packed_one(program: Path):
    program.write_bytes(b"{}")
    assert packed.read_bytes(program) == b"{}"
    assert packed.read_bytes(program.with_name("x_native.json")) == NATIVE
    assert packed.files(program.parent) == [program, program.with_name("x_native.json")]
    with pytest.raises(OSError, match="it has more than 1 bytes"):
        packed.read_bytes(program, 1)


def test_new_archive_is_read_in_place_of_the_last(program: Path):
    assert packed.read_bytes(program) == PLAIN
    program.with_name(packed.ARCHIVE).write_bytes(pack({"x.json": NATIVE * 100}))
    assert packed.read_bytes(program) == NATIVE * 100


def test_archive_above_a_folder_that_is_there_is_not_read(program: Path):
    """In /tmp each user may put one."""
    program.with_name("chip").mkdir()
    assert not packed.is_file(program.with_name("chip") / "y/z.bin")


def test_missing_file_is_named_without_the_archive(tmp_path, program: Path):
    for folder in (tmp_path / "empty", program.parent):
        with pytest.raises(FileNotFoundError, match=r"y\.json'$"):
            packed.read_bytes(folder / "y.json")


def archive(header: bytes) -> bytes:
    return lzma.compress(header.ljust(512, b"\0") + bytes(1024))


def header(size: bytes, name: bytes = b"x.json") -> bytes:
    return name.ljust(124, b"\0") + size


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no archive of xz", "is damaged: Input format"),
        (pack({"x.json": PLAIN})[:80], "is damaged: it is cut"),
        (lzma.compress(b"x.json"), "is damaged: it is cut"),
        (archive(header(b"%011o" % packed._MOST_BYTES)), "damaged: it holds more than 64 MB"),
        (archive(header(b"-0000000001")), "damaged: it holds more than 64 MB"),
        (lzma.compress(header(b"%011o" % 0, b"y").ljust(512, b"\0") * (1 << 18)), "64 MB"),
        (archive(header(b"0000000009x")), "is damaged: invalid literal"),
        (
            lzma.compress(
                bytes(512), filters=[{"id": lzma.FILTER_LZMA2, "dict_size": packed._MOST_BYTES * 2}]
            ),
            "is damaged: Memory usage limit",
        ),
    ],
    ids=["no xz", "cut", "no tar", "large", "negative", "endless", "no number", "dictionary"],
)
def test_damaged_archive_is_refused(tmp_path, content, message):
    (tmp_path / packed.ARCHIVE).write_bytes(content)
    assert packed.is_file(tmp_path / "x.json")
    with pytest.raises(OSError, match=message):
        packed.read_bytes(tmp_path / "x.json")


def test_python_without_lzma_names_the_way_out(program: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lzma", None)
    with pytest.raises(OSError, match="no module lzma: take one built with liblzma"):
        packed.read_bytes(program)


@given(st.dictionaries(st.text("ab_.", min_size=1, max_size=40), st.binary(max_size=1500)))
def test_packing_loses_nothing(contents):
    content = pack(contents)
    assert content == pack(dict(reversed(contents.items())))
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        assert set(tar.getnames()) == contents.keys()


def test_variants_are_packed_and_a_single_program_is_plain(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    (tmp_path / "a/x.json").write_bytes(b"old")
    write_outputs(tmp_path, {"a/x.json": PLAIN, "a/x_native.json": NATIVE, "b/x.json": PLAIN})
    assert [path.name for path in (tmp_path / "a").iterdir()] == [packed.ARCHIVE]
    assert packed.read_bytes(tmp_path / "a/x.json") == PLAIN
    assert (tmp_path / "b/x.json").read_bytes() == PLAIN
