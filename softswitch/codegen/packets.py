"""Headers to and from bytes: extraction, emission, and the input of calculations."""

from __future__ import annotations

from dataclasses import dataclass

from softswitch.codegen.expressions import Expressions
from softswitch.codegen.layout import Layout, storage_of
from softswitch.program.expressions import FieldRef, HeaderRef, Valid
from softswitch.program.model import Calculation, FieldType, InputConstant, InputField, InputHeader, Program


def extract_fields(layout: Layout, program: Program, header_type: int, to: str, varbit_bits: str = "0") -> list[str]:
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
                f"{member} = (int{storage.bits}_t)sw_sign(sw_bits(from, {start}, {field.width}), {field.width});"
            )
        else:
            lines.append(f"{member} = (uint{storage.bits}_t)sw_bits(from, {start}, {field.width});")
        bit += field.width
    return lines


@dataclass(frozen=True)
class Piece:
    """Something to write: a C expression of up to 64 bits, or (`limbs`) limbs in memory, or a varbit."""

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
    """The fields of a header instance in wire order."""
    header_type = program.headers[header].type
    return [
        field_piece(field, f"{layout.header(header)}.{layout.member(header_type, i)}", storage_of(field).limbs)
        for i, field in enumerate(program.header_types[header_type].fields)
    ]


def write_pieces(pieces: list[Piece], to: str, *, aligned: bool) -> list[str]:
    """Writes pieces one after another. `aligned`: `to` points to their first byte, and runs of them that end at a
    byte are written as integers; else bits are put at bit offset `bit` of `to`, which is advanced."""
    if not aligned or any(piece.varbit for piece in pieces):
        return _write_bits(pieces, to, aligned=aligned)
    lines: list[str] = []
    start = bit = 0
    run: list[Piece] = []
    for piece in pieces:
        run.append(piece)
        bit += piece.width
        if bit % 8 == 0:
            lines += _write_run(run, to, start, bit)
            start, run = bit, []
    if run:
        padded = (bit + 7) // 8 * 8
        lines += _write_run([*run, Piece("0", padded - bit)], to, start, padded)
    return lines


def _write_run(run: list[Piece], to: str, start: int, end: int) -> list[str]:
    """A run that starts and ends at a byte."""
    if end - start <= 64 and not any(piece.limbs for piece in run):
        terms, left = [], end - start
        for piece in run:
            left -= piece.width
            if piece.text != "0":
                terms.append(f"{piece.text} << {left}" if left else piece.text)
        return [f"sw_store({to} + {start // 8}, {(end - start) // 8}, {' | '.join(terms) or '0'});"]
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


_HASHES = {
    "crc16": "sw_hash_crc16",
    "crc16_custom": "sw_hash_crc16",
    "crc32": "sw_hash_crc32",
    "crc32_custom": "sw_hash_crc32",
    "crcCCITT": "sw_hash_crc_ccitt",
    "xor16": "sw_hash_xor16",
    "csum16": "sw_hash_csum16",
    "cksum16": "sw_hash_csum16",
    "identity": "sw_hash_identity",
}


PARAMETERS = "(const struct sw_packet *p, const struct phv *h, const struct locals *l)"


class Calculations:
    """Functions `calculation_<i>(p, h, l)`. The custom CRCs have the parameters BMv2 starts with: CRC-16 and CRC-32."""

    def __init__(self, expressions: Expressions) -> None:
        self.e = expressions
        self.program = expressions.program
        self.layout = expressions.layout

    def function(self, index: int) -> str:
        calculation = self.program.calculations[index]
        groups = self._groups(calculation)
        aligned = all(sum(p.width for p in pieces) % 8 == 0 for _, pieces in groups[:-1])
        aligned = aligned and not any(p.varbit for _, pieces in groups for p in pieces)
        body = self._aligned(groups) if aligned else self._unaligned(groups)
        room = sum(self._max_bytes(pieces) for _, pieces in groups) + 8
        payload = "p->length" if calculation.payload else "0"
        buffer = f"uint8_t buffer[{room} + {payload}];" if calculation.payload else f"uint8_t buffer[{room}];"
        lines = [
            f"static inline uint64_t calculation_{index}{PARAMETERS} {{",
            "    (void)p; (void)h; (void)l;",
            f"    {buffer}",
            "    size_t n = 0;",
            *(f"    {line}" for line in body),
        ]
        if calculation.payload:
            lines += ["    memcpy(buffer + n, p->data, p->length);", "    n += p->length;"]
        return "\n".join([*lines, f"    return {_HASHES[calculation.algorithm]}(buffer, n);", "}"]) + "\n"

    def _max_bytes(self, pieces: list[Piece]) -> int:
        varbits = 4096 * sum(p.varbit for p in pieces)
        return (sum(p.width for p in pieces) + 7) // 8 + varbits

    def _groups(self, calculation: Calculation) -> list[tuple[str, list[Piece]]]:
        """Pieces by the condition under which they are part of the input: their header is valid."""
        groups: list[tuple[str, list[Piece]]] = []
        for item in calculation.inputs:
            condition, pieces = self._input(item)
            if groups and groups[-1][0] == condition:
                groups[-1][1].extend(pieces)
            else:
                groups.append((condition, pieces))
        return groups

    def _input(self, item: InputField | InputConstant | InputHeader) -> tuple[str, list[Piece]]:
        match item:
            case InputConstant(value, width):
                chunks = range((width - 1) // 64, -1, -1)
                return "", [
                    Piece(f"UINT64_C({hex(value >> (64 * i) & (2**64 - 1))})", min(64, width - 64 * i)) for i in chunks
                ]
            case InputHeader(header):
                return self._valid(header), header_pieces(self.layout, self.program, header)
            case InputField(Valid(HeaderRef(header)), _):
                return self._valid(header), [Piece(f"(uint64_t){self.layout.header(header)}.valid", 1)]
            case InputField(FieldRef() as ref, _):
                storage = self.layout.storage(ref)
                return self._valid(ref.header), [
                    field_piece(self.program.field_type(ref), self.layout.field(ref), storage.limbs)
                ]
        raise AssertionError(f"not an input: {item}")

    def _valid(self, header: int) -> str:
        return "" if self.program.headers[header].metadata else f"{self.layout.header(header)}.valid"

    def _aligned(self, groups: list[tuple[str, list[Piece]]]) -> list[str]:
        lines = []
        for condition, pieces in groups:
            size = (sum(p.width for p in pieces) + 7) // 8
            body = [*write_pieces(pieces, "(buffer + n)", aligned=True), f"n += {size};"]
            lines += [f"if ({condition}) {{" if condition else "{", *(f"    {line}" for line in body), "}"]
        return lines

    def _unaligned(self, groups: list[tuple[str, list[Piece]]]) -> list[str]:
        lines = ["size_t bit = 0;", "memset(buffer, 0, sizeof buffer);"]
        for condition, pieces in groups:
            body = write_pieces(pieces, "buffer", aligned=False)
            lines += [f"if ({condition}) {{" if condition else "{", *(f"    {line}" for line in body), "}"]
        return [*lines, "n = (bit + 7) / 8;"]
