"""The package that a P4Runtime server on Tofino loads: everything that the compiler and the
assembler wrote for one program, in the one field `p4_device_config`.

The format is Stratum's, of its bfrt target since 2020: a protobuf message. Its fields, by number:

    package  1 program's name | 2 BF-RT description (JSON) | 3 pipeline, as often as there are
             pipelines
    pipeline 1 name | 2 context (JSON) | 3 binary (CHIP.bin) | 4 hardware pipes it runs in, packed

That is all of protobuf that is needed, so it is written here by hand: a key, a length, bytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf import text_format

from pcn.base import packed
from pcn.base.errors import LabError
from pcn.base.p4rt import p4i
from pcn.controller.errors import UnknownNameError
from pcn.controller.programs import COMPILED
from pcn.controller.schema import schema_of
from pcn.controller.tofino.chips import TOFINO, Chip

if TYPE_CHECKING:
    from pcn.controller.p4info import Schema

FOLDER = COMPILED / "tna"
_MOST_BYTES = 64 << 20  # of a file
PIPES = (0, 1, 2, 3)  # all that the largest chip has; the driver leaves out those that aren't there
PIPELINE = "pipe"  # the compiler's name for it where a program has only one
_LENGTH_DELIMITED = 2  # protobuf's wire type
_BINARY_HEADER = ord("H")  # the kind of the binary's first block, which holds a BSON document
_BSON_STRING = 2
_REMEDY = "it is committed, and `make p4-tofino` writes it anew"


class PackageError(LabError):
    """What the compiler wrote is missing, or doesn't belong together: names the file and the way
    out."""


class Package:
    """A program for Tofino, checked: what the server or the driver would refuse is refused here.
    `schema` names its tables and counters; `data` is what is sent over P4Runtime; `binary`,
    `context` and `bf_rt` are its parts."""

    def __init__(self, folder: Path, chip: Chip = TOFINO) -> None:
        """Of a folder with what the compiler and the assembler wrote, named after the program.
        Raises PackageError."""
        self.name, self.chip = folder.name, chip
        self._p4info = _p4info(folder / "p4info.txtpb")
        self.binary, self.context, self.bf_rt = driver_files(folder, chip)
        _check_target(
            folder,
            chip,
            self._p4info,
            _json(folder / "context.json", self.context),
            self.binary,
        )
        _check_names(folder, self._p4info, _json(folder / "bf-rt.json", self.bf_rt))
        self.data = encode(self.name, self.bf_rt, self.context, self.binary, PIPES)

    @classmethod
    def compiled(cls, name: str, chip: Chip = TOFINO) -> Package:
        """Returns one of p4src/compiled, of the chip's folder. Raises UnknownNameError with the
        names there are."""
        folder = FOLDER / chip.name
        files = packed.files(FOLDER, "/p4info.txtpb")
        names = [path.parent.name for path in files if path.parent.parent == folder]
        if name not in names:
            raise UnknownNameError(f"program for {chip.title}", name, names)
        return cls(folder / name, chip)

    @cached_property
    def schema(self) -> Schema:
        return schema_of(self._p4info, self.data)


def file_names(chip: Chip) -> tuple[str, str, str]:
    """Returns what the driver loads: the chip's configuration, where tables are, and BF-RT's
    description of them."""
    return f"{chip.name}.bin", "context.json", "bf-rt.json"


def driver_files(folder: Path, chip: Chip = TOFINO) -> tuple[bytes, bytes, bytes]:
    """Reads a program's `file_names`, in this order. Raises PackageError."""
    binary, context, bf_rt = (_read(folder / name) for name in file_names(chip))
    return binary, context, bf_rt


def encode(
    program: str, bf_rt: bytes, context: bytes, binary: bytes, pipes: Iterable[int]
) -> bytes:
    """Returns the message, with one pipeline, PIPELINE."""
    scope = b"".join(map(_varint, pipes))
    pipeline = b"".join(
        _field(number, value)
        for number, value in ((1, PIPELINE.encode()), (2, context), (3, binary), (4, scope))
    )
    return b"".join(
        _field(number, value)
        for number, value in ((1, program.encode()), (2, bf_rt), (3, pipeline))
    )


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Returns seven bits a byte, the lowest first; the top bit is set if more bytes follow."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _check_target(
    folder: Path, chip: Chip, info: p4i.P4Info, context: Mapping[str, Any], binary: bytes
) -> None:
    """Architecture and target, and that context and binary are of one compilation."""
    if info.pkg_info.arch != chip.architecture:
        raise PackageError(
            f"{folder}/p4info.txtpb: of architecture {info.pkg_info.arch or 'unknown'}, not "
            f"{chip.architecture}"
        )
    name = file_names(chip)[0]
    header = _header(folder / name, binary)
    for file, target in (("context.json", context.get("target")), (name, header.get("target"))):
        if target != chip.name:
            raise PackageError(
                f"{folder}/{file}: for {target or 'no target'}, not for {chip.name}: {_REMEDY}"
            )
    if header.get("run_id") != context.get("run_id"):
        raise PackageError(
            f"{folder}: context.json and {name} are of two compilations (run_id "
            f"{context.get('run_id')} and {header.get('run_id')}): {_REMEDY}"
        )


def _check_names(folder: Path, info: p4i.P4Info, bf_rt: Mapping[str, Any]) -> None:
    """The server finds what the p4info describes in the BF-RT description by id, or by a name that
    holds its name."""
    things = [*bf_rt.get("tables", ()), *bf_rt.get("learn_filters", ())]
    ids, names = {thing["id"] for thing in things}, [thing["name"] for thing in things]
    kinds: tuple[Iterable[Any], ...] = (
        *(info.tables, info.action_profiles, info.counters),
        *(info.registers, info.meters, info.digests),
    )
    for preamble in (resource.preamble for kind in kinds for resource in kind):
        if preamble.id not in ids and not any(preamble.name in name for name in names):
            raise PackageError(
                f"{folder}: {preamble.name} of p4info.txtpb isn't in bf-rt.json: {_REMEDY}"
            )


def _header(path: Path, binary: bytes) -> dict[str, str]:
    """Returns the texts of the binary's first block: a word with its kind in the top byte, then
    BSON (bsonspec.org)."""
    result: dict[str, str] = {}
    try:
        kind, length = struct.unpack_from("<3xBI", binary)
        if kind != _BINARY_HEADER or not 4 < length <= len(binary) - 4:
            raise ValueError
        at, end = 8, 4 + length
        while at < end and binary[at] == _BSON_STRING:
            name_end = binary.index(0, at, end)
            (size,) = struct.unpack_from("<I", binary, name_end + 1)
            text = binary[name_end + 5 : name_end + 4 + size]
            result[binary[at + 1 : name_end].decode()] = text.decode()
            at = name_end + 5 + size
    except (ValueError, struct.error):
        raise PackageError(f"{path}: this is no configuration of the chip: {_REMEDY}") from None
    return result


def _p4info(path: Path) -> p4i.P4Info:
    try:
        return text_format.Parse(_read(path).decode(), p4i.P4Info())
    except (text_format.ParseError, ValueError) as error:
        raise PackageError(f"{path}: no p4info: {str(error).splitlines()[0]}") from None


def _json(path: Path, data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except ValueError as error:
        raise PackageError(f"{path}: no JSON: {error}") from None
    if not isinstance(document, dict):
        raise PackageError(f"{path}: no JSON object")
    return document


def _read(path: Path) -> bytes:
    try:
        return packed.read_bytes(path, _MOST_BYTES)
    except OSError as error:
        raise PackageError(f"{path}: {error.strerror}: {_REMEDY}") from None
