"""Headers to and from bytes: extraction and emission."""

from __future__ import annotations

from dataclasses import dataclass

from pcn.softswitch.codegen.layout import Layout, storage_of
from pcn.softswitch.program.model import FieldType, Program


def extract_fields(
    layout: Layout, program: Program, header_type: int, to: str, varbit_bits: str = "0"
) -> list[str]:
    """Reads a header's fields from `from`; the caller has checked that the bytes are there."""
    lines = []
    bit, extra = 0, ""
    for i, field in enumerate(program.header_types[header_type].fields):
        member, storage = f"{to}.{layout.member(header_type, i)}", storage_of(field)
        start = f"{bit}{extra}"
        if field.varbit:
            lines.append(f"{member}.bits = (uint32_t){varbit_bits};")
            lines.append(f"sw_get_bytes({member}.data, from, {start}, {varbit_bits} / 8);")
            extra = f" + {varbit_bits}"
            continue
        if storage.limbs:
            count = (field.width + 63) // 64
            if storage.signed and storage.limbs > count:
                lines.append(f"{member}[{count}] = 0;")
            lines.append(f"sw_get_limbs({member}, from, {start}, {field.width});")
            if storage.signed:
                lines.append(f"sw_sign_limbs({member}, {storage.limbs}, {field.width});")
        elif storage.signed:
            lines.append(
                f"{member} = (int{storage.bits}_t)sw_sign(sw_bits(from, {start}, {field.width}), "
                f"{field.width});"
            )
        else:
            lines.append(f"{member} = (uint{storage.bits}_t)sw_bits(from, {start}, {field.width});")
        bit += field.width
    return lines


@dataclass(frozen=True)
class Piece:
    """Something to write: a C expression of up to 64 bits, or (`limbs`) limbs in memory, or a
    varbit."""

    text: str
    width: int
    limbs: bool = False
    varbit: bool = False


def field_piece(field: FieldType, place: str, limbs: int) -> Piece:
    if field.varbit:
        return Piece(place, 0, varbit=True)
    if limbs:
        return Piece(place, field.width, limbs=True)
    text = f"(uint64_t){place}"
    if field.signed:
        text = f"({text} & {hex((1 << field.width) - 1)})" if field.width < 64 else text
    return Piece(text, field.width)


def header_pieces(layout: Layout, program: Program, header: int) -> list[Piece]:
    """Returns the fields of a header instance in wire order."""
    header_type = program.headers[header].type
    return [
        field_piece(
            field,
            f"{layout.header(header)}.{layout.member(header_type, i)}",
            storage_of(field).limbs,
        )
        for i, field in enumerate(program.header_types[header_type].fields)
    ]


def write_pieces(pieces: list[Piece], to: str, *, aligned: bool) -> list[str]:
    """Writes pieces one after another. `aligned`: `to` points to their first byte, and runs of them
    that end at a byte are written as integers; else bits are put at bit offset `bit` of `to`, which
    is advanced."""
    if not aligned or any(piece.varbit for piece in pieces):
        return _write_bits(pieces, to, aligned=aligned)
    return [line for run, start, end in runs(pieces) for line in _write_run(run, to, start, end)]


def runs(pieces: list[Piece]) -> list[tuple[list[Piece], int, int]]:
    """Returns the shortest runs of pieces that start and end at a byte, and where, in bits; the
    last is filled with zeros."""
    result: list[tuple[list[Piece], int, int]] = []
    start = bit = 0
    run: list[Piece] = []
    for piece in pieces:
        run.append(piece)
        bit += piece.width
        if bit % 8 == 0:
            result.append((run, start, bit))
            start, run = bit, []
    if run:
        padded = (bit + 7) // 8 * 8
        result.append(([*run, Piece("0", padded - bit)], start, padded))
    return result


def as_integer(run: list[Piece]) -> str | None:
    """Returns a run as one big-endian integer, if it has at most 64 bits."""
    left = sum(piece.width for piece in run)
    if left > 64 or any(piece.limbs or piece.varbit for piece in run):
        return None
    terms = []
    for piece in run:
        left -= piece.width
        if piece.text != "0":
            terms.append(f"{piece.text} << {left}" if left else piece.text)
    return " | ".join(terms) or "UINT64_C(0)"


def _write_run(run: list[Piece], to: str, start: int, end: int) -> list[str]:
    integer = as_integer(run)
    if integer:
        return [f"sw_store({to} + {start // 8}, {(end - start) // 8}, {integer});"]
    lines, bit = [], start
    for piece in run:
        if piece.limbs:
            lines.append(f"sw_put_limbs({to}, {bit}, {piece.width}, {piece.text});")
        elif piece.width:
            lines.append(f"sw_put_bits({to}, {bit}, {piece.width}, {piece.text});")
        bit += piece.width
    return lines


def _write_bits(pieces: list[Piece], to: str, *, aligned: bool) -> list[str]:
    lines = ["size_t bit = 0;"] if aligned else []
    for piece in pieces:
        if piece.varbit:
            lines.append(f"sw_put_bytes({to}, bit, {piece.text}.data, {piece.text}.bits / 8);")
            lines.append(f"bit += {piece.text}.bits;")
            continue
        call = "sw_put_limbs" if piece.limbs else "sw_put_bits"
        lines.append(f"{call}({to}, bit, {piece.width}, {piece.text}); bit += {piece.width};")
    return lines
