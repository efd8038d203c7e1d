"""A C file of an RP or an NP as a shared object, compiled when the first flow needs it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import c_double, c_uint64
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, TypeVar

from pcn.softswitch.cache.objects import BuildError, build, digest, load as load_object

from ..algorithms.base import NotificationPoint, ReactionPoint
from ..algorithms.scheme import SchemeError
from ..native import CSRC, FLAGS


@dataclass(frozen=True)
class Interface:
    """What a C file has to define: `table`, of functions, of the type `events`. `end`: RP or NP.
    `mirrored`: structs of the header, which is `table`.h, by their names there; the first one is a
    flow's."""

    end: str
    table: str
    events: type[ctypes.Structure]
    mirrored: tuple[tuple[str, type[ctypes.Structure]], ...]


class Structs:
    """Equal structs of many flows in one piece of memory, that have begun: an object of ctypes for
    each takes more than the struct. `address` is the first one's, `size` the bytes of each."""

    def __init__(self, model: bytes, n: int) -> None:
        self.memory = ctypes.create_string_buffer(model * n, len(model) * n)
        self.address, self.size, self.n = ctypes.addressof(self.memory), len(model), n


_End = TypeVar("_End", bound=ReactionPoint | NotificationPoint)
Held = tuple[object, int]
"""What a flow's struct lives as long as, and its address."""


class Code:
    """A C file's table, parameters for it, and memory: what the flows of a scheme share.
    `functions`: by name, those that aren't NULL."""

    def __init__(
        self, library: ctypes.CDLL, interface: Interface, parameters: Sequence[float]
    ) -> None:
        """`parameters`: those of the file's struct, in its order."""
        self.events: Any = interface.events.in_dll(library, interface.table)
        self._parameters = (c_double * max(1, len(parameters)))(*parameters)
        self._start = ctypes.addressof(self.events), ctypes.addressof(self._parameters)
        _, self._struct = interface.mirrored[0]
        self._bytes = _own_bytes(library, interface)
        handlers = {
            name: getattr(self.events, name)
            for name, *_ in interface.events._fields_
            if name != "logged"
        }
        # NULL is false
        self.functions = {name: function for name, function in handlers.items() if function}

    def structs(self, *fields: float) -> Structs:
        """Returns that of a flow. `fields`: behind the table and the parameters."""
        first = self._struct(*self._start, *fields)
        if "begin" in self.functions:
            self.functions["begin"](ctypes.addressof(first))
        return Structs(bytes(first)[: self._bytes], 1)

    def copies(self, address: int, n: int) -> Structs:
        """Returns those of `n` flows, as the one of this address is now."""
        return Structs(ctypes.string_at(address, self._bytes), n)


class EndsInC(Generic[_End]):
    """RPs or NPs of many flows, all in C. Their structs live as long as this, or any of its
    ends."""

    def __init__(self, new: Callable[[Held], _End], code: Code, structs: Structs) -> None:
        """`new`: makes an end of its struct."""
        self._new, self.code, self.structs = new, code, structs

    def at(self, address: int) -> _End:
        """Returns the one whose struct has this address."""
        return self._new((self.structs, address))


def specified(name: str) -> Any:
    """Returns what an RP or an NP in C has of its Python text's: all flows' have it from there."""
    return property(attrgetter(f"_specification.{name}"))


def _own_bytes(library: ctypes.CDLL, interface: Interface) -> int:
    """Returns how much of its struct a file uses, in whole doubles: all, where it states
    nothing."""
    try:
        used = c_uint64.in_dll(library, f"{interface.table}_bytes").value
    except ValueError:
        used = ctypes.sizeof(interface.mirrored[0][1])
    return (used + 7) // 8 * 8


def code_path(file: Path, parameters: str, interface: Interface) -> Path:
    """Returns the shared object of a C file, compiled if it isn't yet; `parameters`: see `load`.
    Raises BuildError, and OSError of the file."""
    sizes = ", ".join(f"sizeof(struct {name})" for name, _ in interface.mirrored)
    lines = (
        parameters,
        f'#include "{file}"',
        f'#include "{interface.table}.h"',
        f"const uint64_t {interface.table}_sizes[] = {{ {sizes} }};\n",
    )
    text = "\n".join(lines)
    headers = [*sorted(CSRC.glob("*_point.h")), *sorted(file.parent.glob("*.h"))]
    return build("librp", [text], f"{digest([file, *headers])} {text}", FLAGS, CSRC)


@lru_cache(maxsize=64)
def load(scheme: str, file: Path, parameters: str, interface: Interface) -> ctypes.CDLL:
    """Returns the shared object of a scheme's C file; `parameters`: its struct parameters; empty:
    it has that itself. Raises SchemeError."""
    where = f"{scheme}: its {interface.end} in C, {file}"
    table, mirrored = interface.table, interface.mirrored
    try:
        library = load_object(code_path(file, parameters, interface))
        interface.events.in_dll(library, table)
    except OSError as error:
        raise SchemeError(f"{where}: {error.strerror or error}") from error
    except BuildError as error:
        raise SchemeError(f"{where}: {error}") from error
    except ValueError:
        raise SchemeError(f"{where}: it defines no struct {table}_events `{table}`") from None
    sizes = (c_uint64 * len(mirrored)).in_dll(library, f"{table}_sizes")
    for (name, structure), size in zip(mirrored, sizes, strict=True):
        assert ctypes.sizeof(structure) == size, (
            f"{structure.__name__} differs from struct {name} in csrc"
        )
    return library
