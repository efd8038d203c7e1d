"""The package: its bytes against protobuf's own, and what is refused before it is sent."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from stratum import DeviceConfig

from pcn.base.packed import read_bytes
from pcn.controller.errors import UnknownNameError
from pcn.controller.programs import COMPILED
from pcn.controller.tofino.chips import TOFINO, TOFINO2
from pcn.controller.tofino.package import (
    DRIVER,
    Package,
    PackageError,
    driver_files,
    encode,
    file_names,
)

FOLDER = COMPILED / "tofino" / "pcn"


def test_the_package_holds_the_committed_files() -> None:
    device = DeviceConfig.FromString(Package.compiled("pcn").data)
    (pipeline,) = device.pipelines
    assert (device.name, pipeline.name, list(pipeline.pipes)) == ("pcn", "pipe", [0, 1, 2, 3])
    assert (pipeline.binary, pipeline.context, device.bf_rt) == driver_files(FOLDER / DRIVER)


@given(
    name=st.text(max_size=300),
    bf_rt=st.binary(max_size=300),
    context=st.binary(min_size=1, max_size=20_000),
    binary=st.binary(min_size=1, max_size=300),
    pipes=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=5),
)
def test_the_bytes_are_protobuf_s(
    name: str, bf_rt: bytes, context: bytes, binary: bytes, pipes: list[int]
) -> None:
    device = DeviceConfig.FromString(encode(name, bf_rt, context, binary, pipes))
    (pipeline,) = device.pipelines
    assert (device.name, device.bf_rt) == (name, bf_rt)
    assert (pipeline.name, pipeline.context, pipeline.binary, list(pipeline.pipes)) == (
        "pipe",
        context,
        binary,
        pipes,
    )


Files = dict[str, bytes]


def packed(change: Callable[[Files], object]) -> Callable[[Path], None]:
    """Changes what is in a folder's archive."""

    def repack(folder: Path) -> None:
        files = dict(zip(file_names(TOFINO), driver_files(folder / DRIVER), strict=True))
        change(files)
        with zipfile.ZipFile(folder / DRIVER, "w", zipfile.ZIP_DEFLATED) as zip_file:
            for name, content in files.items():
                zip_file.writestr(name, content)

    return repack


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(files: Files) -> None:
        assert old.encode() in files[name]
        files[name] = files[name].replace(old.encode(), new.encode())

    return packed(change)


def remove(name: str) -> Callable[[Path], None]:
    return packed(lambda files: files.pop(name))


def hold(name: str, content: bytes) -> Callable[[Path], None]:
    return packed(lambda files: files.update({name: content}))


def write(name: str, content: bytes) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return change


def other_run(files: Files) -> None:
    files["context.json"] = json.dumps(
        {**json.loads(files["context.json"]), "run_id": "0123456789abcdef"}
    ).encode()


def cut(length: int) -> Callable[[Path], None]:
    return packed(lambda files: files.update({"tofino.bin": files["tofino.bin"][:length]}))


def damaged(folder: Path) -> None:
    """A byte in the middle of the archive, so of compressed data."""
    content = bytearray((folder / DRIVER).read_bytes())
    content[len(content) // 2] ^= 0xFF
    (folder / DRIVER).write_bytes(content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda folder: (folder / DRIVER).unlink(),
            r"driver\.zip: No such file or directory: it is committed, and `make p4-tofino`",
        ),
        (write(DRIVER, b"PK"), r"driver\.zip: no archive that can be read"),
        (damaged, r"driver\.zip: no archive that can be read"),
        (
            hold("tofino.bin", bytes((64 << 20) + 1)),
            r"driver\.zip: tofino\.bin is larger than 64 MB",
        ),
        (
            remove("context.json"),
            r"driver\.zip: There is no item named 'context\.json' in the archive",
        ),
        (hold("bf-rt.json", b"{"), r"bf-rt\.json: no JSON"),
        (hold("bf-rt.json", b"[]"), r"bf-rt\.json: no JSON object"),
        (hold("context.json", b"\xff"), r"context\.json: no JSON"),
        (write("p4info.txtpb", b"tables { what: 1 }"), r"p4info\.txtpb: no p4info"),
        (write("p4info.txtpb", b"\xff"), r"p4info\.txtpb: no p4info"),
        (
            write("p4info.txtpb", read_bytes(COMPILED / "pcn.p4info.txtpb")),
            "of architecture v1model, not tna",
        ),
        (hold("tofino.bin", b""), "this is no configuration of the chip"),
        (hold("tofino.bin", bytes(1000)), "this is no configuration of the chip"),
        *(
            (cut(length), "this is no configuration of the chip")
            for length in (3, 7, 8, 12, 40, 150)
        ),
        (packed(other_run), r"context\.json and tofino\.bin are of two compilations"),
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
def test_files_that_do_not_belong_together(
    change: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    folder = tmp_path / "pcn"
    shutil.copytree(FOLDER, folder)
    change(folder)
    with pytest.raises(PackageError, match=message):
        Package(folder)


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(UnknownNameError, match="no program for Tofino 1 'pnc'; did you mean 'pcn'"):
        Package.compiled("pnc")


def test_package_of_another_chip_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "pcn"
    shutil.copytree(FOLDER, folder)
    with pytest.raises(PackageError, match=r"There is no item named 'tofino2\.bin' in the archive"):
        Package(folder, TOFINO2)
    packed(lambda files: files.update({"tofino2.bin": files["tofino.bin"]}))(folder)
    with pytest.raises(PackageError, match="of architecture tna, not t2na"):
        Package(folder, TOFINO2)
    info = folder / "p4info.txtpb"
    info.write_text(info.read_text().replace('arch: "tna"', 'arch: "t2na"'))
    with pytest.raises(PackageError, match=r"context\.json: for tofino, not for tofino2"):
        Package(folder, TOFINO2)
