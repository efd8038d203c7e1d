"""Calculations, which checksums and hashes are made with, to C functions."""

from __future__ import annotations

from pcn.softswitch.codegen.expressions import Expressions
from pcn.softswitch.codegen.packets import (
    Piece,
    as_integer,
    field_piece,
    header_pieces,
    runs,
    write_pieces,
)
from pcn.softswitch.program.expressions import FieldRef, HeaderRef, Valid
from pcn.softswitch.program.model import Calculation, InputConstant, InputField, InputHeader

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


SHORT_CRC32 = 16  # SW_SHORT_CRC32: the most bytes whose CRC-32 is summed at once
_COMPLEMENTED = 4  # first bytes, whose complement a CRC-32 begins with
PARAMETERS = "(const struct sw_packet *p, const struct phv *h, const struct locals *l)"


class Calculations:
    """Functions `calculation_<i>(p, h, l)`. The custom CRCs have the parameters BMv2 starts with:
    CRC-16 and CRC-32."""

    def __init__(self, expressions: Expressions) -> None:
        self.e = expressions
        self.program = expressions.program
        self.layout = expressions.layout

    def function(self, index: int) -> str:
        calculation = self.program.calculations[index]
        groups = self._groups(calculation)
        head = [
            f"SW_INLINE uint64_t calculation_{index}{PARAMETERS} {{",
            "    (void)p; (void)h; (void)l;",
        ]
        summed = self._sum(calculation, groups)
        if summed is not None:
            return "\n".join([*head, *(f"    {line}" for line in summed), "}"]) + "\n"
        aligned = all(sum(p.width for p in pieces) % 8 == 0 for _, pieces in groups[:-1])
        aligned = aligned and not any(p.varbit for _, pieces in groups for p in pieces)
        body = self._aligned(groups) if aligned else self._unaligned(groups)
        room = sum(self._max_bytes(pieces) for _, pieces in groups) + 8
        payload = "p->length" if calculation.payload else "0"
        buffer = (
            f"uint8_t buffer[{room} + {payload}];"
            if calculation.payload
            else f"uint8_t buffer[{room}];"
        )
        lines = [
            *head,
            f"    {buffer}",
            "    size_t n = 0;",
            *(f"    {line}" for line in body),
        ]
        if calculation.payload:
            lines += ["    memcpy(buffer + n, p->data, p->length);", "    n += p->length;"]
        value = self._short_crc32(calculation, groups) if aligned else None
        value = value or f"{_HASHES[calculation.algorithm]}(buffer, n)"
        return "\n".join([*lines, f"    return {value};", "}"]) + "\n"

    def _short_crc32(
        self, calculation: Calculation, groups: list[tuple[str, list[Piece]]]
    ) -> str | None:
        """Returns the CRC-32 of a buffer of few bytes as a sum of what each of them adds
        (sw_crc32_tables). None: it is another hash, or its input has no such length."""
        length = sum(self._max_bytes(pieces) for _, pieces in groups)
        fixed = not calculation.payload and not any(condition for condition, _ in groups)
        if _HASHES[calculation.algorithm] != "sw_hash_crc32" or not fixed:
            return None
        if not _COMPLEMENTED <= length <= SHORT_CRC32:
            return None
        terms = (
            f"sw_crc32_tables[{length - 1 - i}]"
            f"[buffer[{i}]{' ^ 0xff' if i < _COMPLEMENTED else ''}]"
            for i in range(length)
        )
        return f"(uint32_t)~({' ^ '.join(terms)})"

    def _sum(
        self, calculation: Calculation, groups: list[tuple[str, list[Piece]]]
    ) -> list[str] | None:
        """Returns the Internet checksum straight from the fields, where each group fills whole
        16-bit words. Sums are modulo 2^16 - 1, so that a run may be added as one integer, in
        place."""
        if calculation.payload or not calculation.algorithm.endswith("sum16"):
            return None
        lines = ["uint64_t sum = 0;"]
        for condition, pieces in groups:
            if sum(piece.width for piece in pieces) % 16:
                return None
            body = []
            for run, start, end in runs(pieces):
                integer = as_integer(run)
                if integer is None or (end - start > 48 and end % 16):
                    return None
                shifted = f"({integer}) << 8" if end % 16 else integer
                if end - start + end % 16 <= 48:
                    body.append(f"sum += {shifted};")
                else:
                    body.append(f"sum = sw_add_words(sum, {shifted});")
            lines += [
                f"if ({condition}) {{" if condition else "{",
                *(f"    {line}" for line in body),
                "}",
            ]
        return [*lines, "return sw_fold(sum);"]

    def _max_bytes(self, pieces: list[Piece]) -> int:
        varbits = 4096 * sum(p.varbit for p in pieces)
        return (sum(p.width for p in pieces) + 7) // 8 + varbits

    def _groups(self, calculation: Calculation) -> list[tuple[str, list[Piece]]]:
        """Returns the pieces by the condition under which they are part of the input: their header
        is valid."""
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
                    Piece(
                        f"UINT64_C({hex(value >> (64 * i) & (2**64 - 1))})", min(64, width - 64 * i)
                    )
                    for i in chunks
                ]
            case InputHeader(header):
                return self._valid(header), header_pieces(self.layout, self.program, header)
            case InputField(Valid(HeaderRef(header)), _):
                return self._valid(header), [
                    Piece(f"(uint64_t){self.layout.header(header)}.valid", 1)
                ]
            case InputField(FieldRef() as ref, _):
                storage = self.layout.storage(ref)
                return self._valid(ref.header), [
                    field_piece(self.program.field_type(ref), self.layout.field(ref), storage.limbs)
                ]
        raise AssertionError(f"not an input: {item}")

    def _valid(self, header: int) -> str:
        return (
            "" if self.program.headers[header].metadata else f"{self.layout.header(header)}.valid"
        )

    def _aligned(self, groups: list[tuple[str, list[Piece]]]) -> list[str]:
        lines = []
        for condition, pieces in groups:
            size = (sum(p.width for p in pieces) + 7) // 8
            body = [*write_pieces(pieces, "(buffer + n)", aligned=True), f"n += {size};"]
            lines += [
                f"if ({condition}) {{" if condition else "{",
                *(f"    {line}" for line in body),
                "}",
            ]
        return lines

    def _unaligned(self, groups: list[tuple[str, list[Piece]]]) -> list[str]:
        lines = ["size_t bit = 0;", "memset(buffer, 0, sizeof buffer);"]
        for condition, pieces in groups:
            body = write_pieces(pieces, "buffer", aligned=False)
            lines += [
                f"if ({condition}) {{" if condition else "{",
                *(f"    {line}" for line in body),
                "}",
            ]
        return [*lines, "n = (bit + 7) / 8;"]
