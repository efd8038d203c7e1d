"""Loads, generates, compiles and runs programs without a switch (program_driver.c)."""

from __future__ import annotations

import ctypes
import json
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

from pcn.softswitch.codegen.build import build_program, build_runtime, build_source
from pcn.softswitch.program.load import load_program

# Generated C has no warnings, and no undefined behaviour that the sanitizer finds in a plain host
# process.
SANITIZED = (
    "-fsanitize=undefined",
    "-fno-sanitize-recover=undefined",
    "-fsanitize-undefined-trap-on-error",
)
STRICT = ("-Werror", *SANITIZED)


class _Counter(ctypes.Structure):
    _fields_ = (("packets", ctypes.c_uint64), ("bytes", ctypes.c_uint64))


class _Entry(ctypes.Structure):
    _fields_ = (
        ("action", ctypes.c_uint32),
        ("handle", ctypes.c_uint32),
        ("args", ctypes.c_void_p),
        ("packets", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("last_hit_us", ctypes.c_uint64),
    )


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    ctypes.CDLL(str(build_runtime()), mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(
        str(build_source((Path(__file__).parent / "program_driver.c").read_text(), ("-Werror",)))
    )
    library.driver_open.restype = ctypes.c_void_p
    library.driver_log.restype = ctypes.c_char_p
    library.driver_get.restype = ctypes.c_int64
    library.driver_cell.restype = ctypes.c_void_p
    library.driver_counter.restype = ctypes.POINTER(_Counter)
    library.driver_entry.restype = ctypes.POINTER(_Entry)
    library.driver_add.restype = ctypes.c_int64
    return library


class Driver:
    """One program with its state; as a context manager, it is closed on every path."""

    def __init__(self, source: dict[str, Any] | str, flags: tuple[str, ...] = STRICT):
        text = source if isinstance(source, str) else json.dumps(source)
        self.program = load_program(text)
        error = ctypes.create_string_buffer(256)
        path = str(build_program(text, flags)).encode()
        self._handle = ctypes.c_void_p(_library().driver_open(path, error))
        assert self._handle, error.value

    def __enter__(self) -> Driver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        tb: TracebackType | None,
    ):
        _library().driver_close(self._handle)

    def ingress(self, frame: bytes, port: int = 1, now: int = 0) -> Driver:
        """At `now`, us."""
        _library().driver_ingress(self._handle, frame, len(frame), port, ctypes.c_uint64(now))
        return self

    def queued(self, enqueued_at: int, now: int, depth: int) -> Driver:
        """When it was enqueued, when it leaves the queue (us), and what it found there; between
        ingress and egress."""
        _library().driver_queued(
            self._handle, ctypes.c_uint64(enqueued_at), ctypes.c_uint64(now), depth
        )
        return self

    def egress(self, port: int = 2) -> Driver:
        _library().driver_egress(self._handle, port)
        return self

    def deparse(self) -> bytes:
        out = ctypes.create_string_buffer(1 << 16)
        length = _library().driver_deparse(self._handle, out)
        return out.raw[:length]

    def run(self, frame: bytes, port: int = 1) -> bytes:
        """Through ingress and egress; what leaves."""
        return self.ingress(frame, port).egress().deparse()

    def preserve(self, field_list: int) -> Driver:
        _library().driver_preserve(self._handle, field_list)
        return self

    def digest(self, learn_list: int, capacity: int = 4096) -> bytes:
        out = ctypes.create_string_buffer(capacity)
        length = _library().driver_digest(self._handle, learn_list, out, capacity)
        return out.raw[:length]

    def log(self) -> list[str]:
        return str(_library().driver_log(self._handle).decode()).splitlines()

    def get(self, name: str) -> int:
        """A member of struct sw_packet, e.g. `std.egress_spec`."""
        return int(_library().driver_get(self._handle, name.encode()))

    def register(self, name: str, index: int, value: int | None = None) -> int:
        """Reads a cell; writes it first if a value is given."""
        number = next(i for i, r in enumerate(self.program.registers) if r.name == name)
        size = _library().driver_cell_bytes(self._handle, number)
        order = (
            "little"
            if size in (1, 2, 4, 8, 16) and self.program.registers[number].width <= 128
            else "big"
        )
        cell = _library().driver_cell(self._handle, number, index)
        if value is not None:
            ctypes.memmove(cell, value.to_bytes(size, order), size)
        return int.from_bytes(ctypes.string_at(cell, size), order)

    def counter(self, name: str, index: int) -> tuple[int, int]:
        number = next(i for i, c in enumerate(self.program.counters) if c.name == name)
        cell = _library().driver_counter(self._handle, number, index).contents
        return cell.packets, cell.bytes

    def add(
        self, table: str, key: bytes, action: str, args: list[int] | None = None, *,
        mask: bytes | None = None,
        prefix: int = 0, rank: int = 0,
    ) -> int:  # fmt: skip
        """Adds an entry; its handle."""
        number = self.table(table)
        index = next(
            i for i in self.program.tables[number].actions if self.program.actions[i].name == action
        )
        words = []
        for value, parameter in zip(
            args or [], self.program.actions[index].parameters, strict=True
        ):
            words += [value >> (64 * i) & (2**64 - 1) for i in range((parameter.width + 63) // 64)]
        array = (ctypes.c_uint64 * max(len(words), 1))(*words)
        handle = _library().driver_add(
            self._handle, number, key, mask, prefix, ctypes.c_int64(rank), index, array, len(words)
        )
        assert handle >= 0
        return int(handle)

    def entry(self, table: str, handle: int) -> _Entry:
        return (
            _library()
            .driver_entry(self._handle, self.table(table), ctypes.c_int64(handle))
            .contents
        )

    def table(self, name: str) -> int:
        return next(i for i, t in enumerate(self.program.tables) if t.name == name)
