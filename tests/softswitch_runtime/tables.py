"""Tables of programs/tables.c, by number, and what can be done with one."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_int32, c_int64, c_uint32, c_uint64

from runtime import build, library

EXAMPLES = int(os.environ.get("SW_EXAMPLES", "15"))  # fewer under the sanitizers, where all is slow
EXACT, LPM, LPM_AFTER_EXACT, TERNARY, RANGE, OPTIONAL, LPM6, SMALL, KEYLESS, *NARROW = range(13)
EXACT1, EXACT2, EXACT3, EXACT4 = NARROW
EXACT6, TERNARY18, TERNARY46, RANGE51, EXACT20, *CONST = range(13, 22)

Call = tuple[int, ...]  # the arguments, in words; action n takes n of them
NONE = 2**32 - 1


def words(call: Call) -> tuple[c_uint32, ctypes.Array[c_uint64], c_uint32]:
    """As the runtime takes an action with its arguments."""
    return c_uint32(len(call)), (c_uint64 * len(call))(*call), c_uint32(len(call))


class Table:
    def __init__(self, number: int, flags: int):
        self.lib = library()
        self.program = ctypes.CDLL(str(build("tables")))
        self.program.table_make.restype = ctypes.c_void_p
        self.program.table_find.restype = c_int64
        self.program.table_apply.restype = c_uint32
        self.handle = ctypes.c_void_p(self.program.table_make(c_uint32(number), c_uint32(flags)))

    def insert(
        self,
        key: bytes,
        mask: bytes | None = None,
        prefix: int = 0,
        rank: int = 0,
        call: Call = (1, 2, 3),
    ) -> int:
        return int(
            self.lib.sw_table_insert(
                self.handle, key, mask, c_int32(prefix), c_int64(rank), *words(call),
                byref(c_char_p()),
            )
        )  # fmt: skip

    def change(self, handle: int, call: Call) -> int:
        return int(
            self.lib.sw_table_change(self.handle, c_uint32(handle), *words(call), byref(c_char_p()))
        )

    def default(self, call: Call | None) -> int:
        """None: the program's own again."""
        arguments = (c_uint32(NONE), None, c_uint32(0)) if call is None else words(call)
        return int(self.lib.sw_table_default(self.handle, *arguments, byref(c_char_p())))

    def remove(self, handle: int) -> int:
        return int(self.lib.sw_table_remove(self.handle, c_uint32(handle), byref(c_char_p())))

    def find(self, key: bytes) -> int:
        return int(self.program.table_find(self.handle, key))

    def apply(self, key: bytes, length: int = 0, now_us: int = 0) -> Call:
        """What a program runs; it counts on a hit."""
        args = (c_uint64 * 8)()
        action = self.program.table_apply(
            self.handle, key, c_uint32(length), c_uint64(now_us), args
        )
        return tuple(args[:action])

    def usage(self, handle: int) -> list[int]:
        """Packets, bytes, and when it was used; 0 what the table doesn't keep."""
        values = (c_uint64 * 3)()
        self.program.table_kept(self.handle, c_int64(handle), values)
        return list(values)

    def count(self) -> int:
        return int(self.lib.sw_table_count(self.handle))


@contextmanager
def table(number: int, flags: int = 0) -> Iterator[Table]:
    under_test = Table(number, flags)
    try:
        yield under_test
    finally:
        under_test.lib.sw_table_free(under_test.handle)
