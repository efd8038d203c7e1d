"""A switch in virtual time: the embedded switch's tables and state, without ports and thread of its own.

The entities of a `ControlPlane` go through the server's code, as a live switch's do, without gRPC in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from finsy import P4Schema
from finsy.p4schema import P4CounterUnit
from finsy.proto import p4r

from controller.control_plane import ControlPlane, Counter
from controller.errors import SwitchError, grpc_code_name
from controller.programs import Program
from softswitch.codegen.build import BuildError, build_program
from softswitch.native import NativeError, NativeSwitch
from softswitch.p4runtime.binding import bind
from softswitch.p4runtime.errors import RpcError
from softswitch.p4runtime.forwarding import Forwarding
from softswitch.p4runtime.schema import Array, Register, Schema
from softswitch.program.errors import ProgramError
from softswitch.program.load import load_program
from virtualnet.native import switch_library

_Cell = TypeVar("_Cell")


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


class VirtualSwitch(ControlPlane):
    """One switch; `close` frees it. Raises SwitchError."""

    def __init__(self, name: str, program: LoadedProgram, seed: int) -> None:
        super().__init__(name)
        try:
            self.native = NativeSwitch(switch_library(), seed=seed)
            try:
                self.native.load(program.shared_object)
            except NativeError:
                self.native.close()
                raise
        except NativeError as error:
            raise SwitchError(f"{name}: {error}") from None
        self._program = program
        self._state = Forwarding(program.schema, self.native)
        self._registers = {register.name: register for register in program.schema.registers.values()}
        self._counters = {counter.name: counter for counter in program.schema.counters.values()}

    @property
    def schema(self) -> P4Schema:
        return self._program.names

    def close(self) -> None:
        self.native.close()

    def register(self, name: str) -> Register:
        """Returns what the engine knows of a register."""
        return self._registers[self.register_name(name)]

    def counter(self, name: str) -> Array:
        """Returns what the engine knows of a counter."""
        return self._counters[self.counter_name(name)]

    # Cells come from memory: as entities, those of a large network would take seconds.

    def read_counters(self, name: str, indices: Sequence[int] | None = None) -> dict[int, Counter]:
        of_packets, array = self.counter_unit(name) is P4CounterUnit.PACKETS, self.counter(name)
        return {
            index: Counter(cell.packets, None if of_packets else cell.bytes)
            for index, cell in self._cells(array, indices, lambda at, n: self.native.counters(array.index, at, n))
        }

    def read_registers(self, name: str, indices: Sequence[int] | None = None) -> dict[int, int]:
        array = self.register(name)
        return dict(self._cells(array, indices, lambda at, n: self.native.registers(array.index, array.width, at, n)))

    def _cells(
        self, array: Array, indices: Sequence[int] | None, read: Callable[[int, int], Sequence[_Cell]]
    ) -> Iterator[tuple[int, _Cell]]:
        if indices is None:
            yield from enumerate(read(0, array.size))
            return
        for index in indices:
            if not 0 <= index < array.size:
                raise SwitchError(f"{self.name}: {array.name} has no cell {index}, but 0 to {array.size - 1}")
            yield index, read(index, 1)[0]

    def _write(self, updates: Sequence[p4r.Update], what: str) -> None:
        refused = []
        for number, update in enumerate(updates):
            try:
                self._state.apply(update)
            except RpcError as error:
                refused.append(f"update {number}: {_with_code(error)}")
        if refused:
            raise SwitchError("; ".join((f"{self.name}: {what} failed", *refused)))

    def _read(self, queries: Sequence[p4r.Entity]) -> Iterator[p4r.Entity]:
        try:
            for query in queries:
                yield from self._state.read(query)
        except RpcError as error:
            raise SwitchError(f"{self.name}: reading failed: {_with_code(error)}") from None


def _with_code(error: RpcError) -> str:
    return f"{grpc_code_name(error.code)}: {error}"
