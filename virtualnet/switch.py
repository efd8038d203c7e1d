"""A switch in virtual time: the embedded switch's tables and state, without ports and thread of its own.

It is written and read by the names of its program, as a live one is over P4Runtime: the same entities go through the
same server code, without gRPC in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from finsy import P4Schema
from finsy.proto import p4r

from controller.errors import SwitchError, UnknownNameError
from controller.programs import Program
from controller.switch import CloneSession, TableEntry
from softswitch.codegen.build import BuildError, build_program
from softswitch.native import Counter, NativeSwitch
from softswitch.p4runtime.binding import bind
from softswitch.p4runtime.errors import RpcError
from softswitch.p4runtime.forwarding import Forwarding
from softswitch.p4runtime.schema import Array, Register, Schema
from softswitch.program.errors import ProgramError
from softswitch.program.load import load_program
from virtualnet.native import switch_library


@dataclass(frozen=True)
class LoadedProgram:
    """A program, compiled: what every switch that runs it shares."""

    names: P4Schema
    schema: Schema
    shared_object: Path


@lru_cache(maxsize=16)
def load(program: Program, inplace: bool) -> LoadedProgram:
    """Compiles the program if the cache doesn't have it, `inplace` with that form too. Raises SwitchError, also for one
    that sends something to a controller, as there is none to take it."""
    info = program.schema.p4info
    sent = [digest.preamble.name for digest in info.digests]
    sent += [header.preamble.name for header in info.controller_packet_metadata if header.preamble.name == "packet_in"]
    if sent:
        raise SwitchError(
            f"{program.name}: it sends {' and '.join(sent)} to a controller, which virtual time doesn't have: leave "
            "that out (#ifdef), or run it live"
        )
    try:
        text = program.json.read_text(encoding="utf-8")
        schema = bind(program.schema.p4info, load_program(text))
        return LoadedProgram(program.schema, schema, build_program(text, inplace=inplace))
    except (ProgramError, BuildError, RpcError) as error:
        raise SwitchError(f"{program.name}: {error}") from None


class VirtualSwitch:
    """One switch; `close` frees it. Cells of registers and counters are those of the program's names."""

    def __init__(self, name: str, program: LoadedProgram, seed: int) -> None:
        self.name = name
        self.native = NativeSwitch(switch_library(), seed=seed)
        self.native.load(program.shared_object)
        self._program = program
        self._state = Forwarding(program.schema, self.native)
        self._registers = _by_name(program.schema.registers.values())
        self._counters = _by_name(program.schema.counters.values())

    def close(self) -> None:
        self.native.close()

    def insert(self, entries: Iterable[TableEntry | CloneSession]) -> None:
        """Raises SwitchError, as do the next two."""
        self._write(entries, p4r.Update.INSERT)

    def modify(self, entries: Iterable[TableEntry | CloneSession]) -> None:
        self._write(entries, p4r.Update.MODIFY)

    def delete(self, entries: Iterable[TableEntry | CloneSession]) -> None:
        self._write(entries, p4r.Update.DELETE)

    def _write(self, entries: Iterable[TableEntry | CloneSession], kind: p4r.Update.Type.ValueType) -> None:
        for entry in entries:
            try:
                self._state.apply(p4r.Update(type=kind, entity=entry.encode(self._program.names)))
            except (ValueError, RpcError) as error:
                raise SwitchError(f"{self.name}: {entry}: {error}") from None

    def register(self, name: str) -> Register:
        """Raises UnknownNameError."""
        found = self._registers.get(name)
        if not isinstance(found, Register):
            raise UnknownNameError("register", name, sorted(self._registers))
        return found

    def counter(self, name: str) -> Array:
        """Raises UnknownNameError."""
        found = self._counters.get(name)
        if found is None:
            raise UnknownNameError("counter", name, sorted(self._counters))
        return found

    def counters(self) -> list[str]:
        """Their names."""
        return list(self._counters)

    def registers(self) -> list[str]:
        return sorted(self._registers)

    def read_register(self, name: str, index: int) -> int:
        register = self.register(name)
        return self.native.registers(register.index, register.width, index, 1)[0]

    def read_registers(self, name: str) -> list[int]:
        """All cells."""
        register = self.register(name)
        return self.native.registers(register.index, register.width, 0, register.size)

    def read_counter(self, name: str, index: int) -> Counter:
        return self.native.counters(self.counter(name).index, index, 1)[0]


def _by_name(arrays: Iterable[Array]) -> dict[str, Array]:
    """By the name that p4c's alias would be: the last part, where no other has it."""
    found: dict[str, Array] = {}
    for array in arrays:
        short = array.name.rpartition(".")[2]
        found[array.name if short in found else short] = array
    return found
