"""The package: its bytes against protobuf's own, and what is refused before it is sent."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from stratum import DeviceConfig

from pcn.base import packed
from pcn.base.packed import pack
from pcn.controller.errors import UnknownNameError
from pcn.controller.programs import COMPILED
from pcn.controller.tofino.chips import TOFINO2
from pcn.controller.tofino.package import Package, PackageError, driver_files, encode

FOLDER = COMPILED / "tna/tofino/pcn"


def test_the_package_holds_the_committed_files():
    device = DeviceConfig.FromString(Package.compiled("pcn").data)
    (pipeline,) = device.pipelines
    assert (device.name, pipeline.name, list(pipeline.pipes)) == ("pcn", "pipe", [0, 1, 2, 3])
    assert (pipeline.binary, pipeline.context, device.bf_rt) == driver_files(FOLDER)


@given(
    name=st.text(max_size=300),
    bf_rt=st.binary(max_size=300),
    context=st.binary(min_size=1, max_size=20_000),
    binary=st.binary(min_size=1, max_size=300),
    pipes=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=5),
)
def test_the_bytes_are_protobuf_s(name, bf_rt, context, binary, pipes):
    device = DeviceConfig.FromString(encode(name, bf_rt, context, binary, pipes))
    (pipeline,) = device.pipelines
    assert (device.name, device.bf_rt) == (name, bf_rt)
    assert (pipeline.name, pipeline.context, pipeline.binary, list(pipeline.pipes)) == (
        "pipe",
        context,
        binary,
        pipes,
    )


@pytest.fixture
def folder(tmp_path) -> Path:
    """The program as `make p4-tofino` would write it with --out: nothing is packed."""
    into = tmp_path / "pcn"
    into.mkdir()
    for path in packed.files(FOLDER.parents[1], ""):
        if path.parent == FOLDER:
            (into / path.name).write_bytes(packed.read_bytes(path))
    return into


Change = Callable[[Path], object]


def write(name: str, content: bytes) -> Change:
    return lambda folder: (folder / name).write_bytes(content)


def edit(name: str, old: str, new: str) -> Change:
    def change(folder: Path):
        content = (folder / name).read_bytes()
        assert old.encode() in content
        (folder / name).write_bytes(content.replace(old.encode(), new.encode()))

    return change


def remove(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def other_run(folder: Path):
    context = json.loads((folder / "context.json").read_bytes())
    (folder / "context.json").write_text(json.dumps({**context, "run_id": "0123456789abcdef"}))


def cut(length: int) -> Change:
    return lambda folder: os.truncate(folder / "tofino.bin", length)


def as_archive(change: Callable[[bytes], bytes]) -> Change:
    """Packs the folder, and changes the archive."""

    def pack_changed(folder: Path):
        contents = {f"pcn/{path.name}": path.read_bytes() for path in folder.iterdir()}
        (folder.parent / packed.ARCHIVE).write_bytes(change(pack(contents)))
        shutil.rmtree(folder)

    return pack_changed


def damaged(content: bytes) -> bytes:
    """A byte in the middle, so of compressed data."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            remove("context.json"),
            r"context\.json: No such file or directory: it is committed, and `make p4-tofino`",
        ),
        (as_archive(lambda _: b"PK"), r"programs\.tar\.xz is damaged"),
        (as_archive(damaged), r"programs\.tar\.xz is damaged"),
        (write("tofino.bin", bytes((64 << 20) + 1)), r"tofino\.bin: it has more than 67,108,864"),
        (write("bf-rt.json", b"{"), r"bf-rt\.json: no JSON"),
        (write("bf-rt.json", b"[]"), r"bf-rt\.json: no JSON object"),
        (write("context.json", b"\xff"), r"context\.json: no JSON"),
        (write("p4info.txtpb", b"tables { what: 1 }"), r"p4info\.txtpb: no p4info"),
        (write("p4info.txtpb", b"\xff"), r"p4info\.txtpb: no p4info"),
        (
            write("p4info.txtpb", packed.read_bytes(COMPILED / "pcn.p4info.txtpb")),
            "of architecture v1model, not tna",
        ),
        (write("tofino.bin", b""), "this is no configuration of the chip"),
        (write("tofino.bin", bytes(1000)), "this is no configuration of the chip"),
        *(
            (cut(length), "this is no configuration of the chip")
            for length in (3, 7, 8, 12, 40, 150)
        ),
        (other_run, r"context\.json and tofino\.bin are of two compilations"),
        (
            edit("bf-rt.json", "np_ecn.marked", "np_ecn.noted"),
            r"np_ecn\.marked of p4info\.txtpb isn't in bf-rt\.json",
        ),
        (
            edit("context.json", '"target": "tofino"', '"target": "tofino2"'),
            r"context\.json: for tofino2, not for tofino",
        ),
    ],
)
def test_files_that_do_not_belong_together(change, message, folder: Path):
    change(folder)
    with pytest.raises(PackageError, match=message):
        Package(folder)


def test_a_program_that_is_not_there():
    with pytest.raises(UnknownNameError, match="no program for Tofino 1 'pnc'; did you mean 'pcn'"):
        Package.compiled("pnc")


def test_package_of_another_chip_is_refused(folder: Path):
    with pytest.raises(PackageError, match=r"tofino2\.bin: No such file"):
        Package(folder, TOFINO2)
    shutil.copy(folder / "tofino.bin", folder / "tofino2.bin")
    with pytest.raises(PackageError, match="of architecture tna, not t2na"):
        Package(folder, TOFINO2)
    info = folder / "p4info.txtpb"
    info.write_text(info.read_text().replace('arch: "tna"', 'arch: "t2na"'))
    with pytest.raises(PackageError, match=r"context\.json: for tofino, not for tofino2"):
        Package(folder, TOFINO2)
