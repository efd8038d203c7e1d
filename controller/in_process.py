"""One switch of this process: what a server would do with a controller's messages, without gRPC in
between."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeVar, cast

from pcn.base.p4rt import p4r
from pcn.controller.control_plane import ControlPlane, Counter, Entry, TableEntry
from pcn.controller.entities import MeterEntry
from pcn.controller.errors import SwitchError, refusal_text
from pcn.controller.inbox import Inbox
from pcn.controller.p4info import CounterUnit, Schema
from pcn.softswitch.embed.switch import (
    Array,
    EmbeddedSwitch,
    Insertion,
    Loadable,
    NativeError,
    NativeSwitch,
    Register,
    RpcError,
    load,
)

_Cell = TypeVar("_Cell")


class InProcessSwitch(ControlPlane):
    """A controller's view of an embedded switch. `close` frees it."""

    def __init__(self, name: str, switch: EmbeddedSwitch) -> None:
        super().__init__(name)
        self._switch = switch
        self._inbox = Inbox(name)

    @property
    def embedded(self) -> EmbeddedSwitch:
        """The switch itself."""
        return self._switch

    @property
    def native(self) -> NativeSwitch:
        """The C runtime's switch."""
        return self._switch.native

    @property
    def schema(self) -> Schema:
        names = self._switch.names
        if names is None:
            raise SwitchError(f"{self.name}: no program is loaded")
        return cast("Schema", names)  # a controller's program has been loaded

    def set_pipeline(self, program: Loadable) -> None:
        with self._refusals(f"loading {program.name}"):
            self._switch.load(load(program))

    def close(self) -> None:
        self._switch.close()

    def register(self, name: str) -> Register:
        """Returns the layout of a register in memory."""
        return self._switch.register(self.register_name(name))

    def counter(self, name: str) -> Array:
        """Returns the layout of a counter in memory."""
        return self._switch.counter(self.counter_name(name))

    # Cells come from memory: as entities, those of a large network would take seconds.

    def read_counters(self, name: str, indices: Sequence[int] | None = None) -> dict[int, Counter]:
        of_packets, array = self.counter_unit(name) is CounterUnit.PACKETS, self.counter(name)
        if not _has(array, indices):
            return super().read_counters(name, indices)  # which refuses as every switch does
        return {
            index: Counter(cell.packets, None if of_packets else cell.bytes)
            for index, cell in _cells(
                array, indices, lambda at, n: self.native.counters(array.c_index, at, n)
            )
        }

    def read_registers(self, name: str, indices: Sequence[int] | None = None) -> dict[int, int]:
        array = self.register(name)
        if not _has(array, indices):
            return super().read_registers(name, indices)
        return dict(
            _cells(
                array,
                indices,
                lambda at, n: self.native.registers(array.c_index, array.width, at, n),
            )
        )

    def nonzero_cells(self, name: str) -> dict[int, int]:
        """Returns the cells of a register that aren't 0, by index."""
        array = self.register(name)
        return self.native.nonzero_registers(array.c_index, array.width, array.size)

    def _encoded(self, kind: p4r.Update.Type.ValueType, entry: Entry | MeterEntry) -> Any:
        if kind == p4r.Update.INSERT and isinstance(entry, TableEntry):
            insertion = self._switch.readable(entry)
            if insertion is not None:
                return insertion
        return super()._encoded(kind, entry)

    def _write(
        self, updates: Sequence[p4r.Update | Insertion], operation: str
    ) -> Mapping[int, str]:
        refused: dict[int, RpcError] = {}
        first = 0
        for kind, run in groupby(updates, type):
            batch = list(run)
            if kind is Insertion:
                errors = self._switch.insert(cast("list[Insertion]", batch))
                refused |= {first + number: error for number, error in errors.items()}
            else:
                for number, update in enumerate(batch, start=first):
                    try:
                        self._switch.apply(cast("p4r.Update", update))
                    except RpcError as error:
                        refused[number] = error
            first += len(batch)
        return {
            number: refusal_text(error.code, error.message) for number, error in refused.items()
        }

    def _read(self, queries: Sequence[p4r.Entity]) -> Iterator[p4r.Entity]:
        with self._refusals("reading"):
            for query in queries:
                yield from self._switch.read(query)

    def _send(self, message: p4r.StreamMessageRequest) -> None:
        if message.HasField("packet"):
            with self._refusals("packet-out"):
                self._switch.packet_out(message.packet)
        else:
            with self._refusals("acknowledging digests"):
                self._switch.acknowledge(message.digest_ack)

    def _take(self, kind: str, wait_s: float) -> list[p4r.StreamMessageResponse]:
        with self._refusals("taking messages"):
            for message in self._switch.messages():
                self._inbox.put(message)
        return self._inbox.take(kind)

    @contextlib.contextmanager
    def _refusals(self, operation: str) -> Iterator[None]:
        try:
            yield
        except RpcError as error:
            raise SwitchError(
                f"{self.name}: {operation} failed: {refusal_text(error.code, error.message)}"
            ) from None
        except NativeError as error:
            raise SwitchError(f"{self.name}: {operation} failed: {error}") from None


def _has(array: Array | Register, indices: Sequence[int] | None) -> bool:
    return indices is None or all(0 <= index < array.size for index in indices)


def _cells(
    array: Array | Register,
    indices: Sequence[int] | None,
    read: Callable[[int, int], Sequence[_Cell]],
) -> Iterator[tuple[int, _Cell]]:
    if indices is None:
        return enumerate(read(0, array.size))
    return ((index, read(index, 1)[0]) for index in indices)
