"""A switch in virtual time: an embedded switch whose packets and time are a network's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcn.softswitch.cache.objects import BuildError
from pcn.softswitch.embed import switch as embedded
from pcn.softswitch.embed.switch import (
    FAILED_PRECONDITION,
    EmbeddedSwitch,
    Loadable,
    LoadedProgram,
    NativeError,
    NativeSwitch,
    RpcError,
)
from pcn.softswitch.tick import TICK_NS
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.native import switch_library

if TYPE_CHECKING:
    from collections.abc import Callable

    from pcn.softswitch.coverage.counts import Counts
    from pcn.softswitch.trace.decoder import Step
    from pcn.softswitch.trace.tracer import Tracer
    from pcn.virtualnet.timed import TimedNetwork

__all__ = ["LoadedProgram", "VirtualSwitch", "load"]


def load(
    program: Loadable, inplace: bool, traced: bool = False, covered: bool = False
) -> LoadedProgram:
    """Compiles the program if the cache doesn't have it, `inplace` with that form too, `traced` so
    that it reports its steps, `covered` so that it counts what packets run through. Raises
    VirtualError."""
    try:
        switch_library()  # which says it best, where there is no compiler
        return embedded.load(program, inplace=inplace, traced=traced, covered=covered)
    except BuildError as error:
        raise VirtualError(str(error)) from None
    except RpcError as error:
        raise VirtualError(f"{program.name}: {error}") from None


def _tracer(native: NativeSwitch, write: Callable[[Step], None]) -> Tracer:
    from pcn.softswitch.trace.tracer import Tracer  # late: few switches are traced

    return Tracer(native, [write], inside=True)


class VirtualSwitch(EmbeddedSwitch):
    """One switch; `close` frees it. `write` gets the steps of a traced program, `counts` are those
    of a covered one; `tick_ns`: of the clock that programs read, 1 to 1,000. Raises VirtualError
    where it can't be made."""

    def __init__(
        self,
        name: str,
        program: LoadedProgram,
        seed: int,
        cpu_port: int = 0,
        write: Callable[[Step], None] | None = None,
        tick_ns: int = TICK_NS,
        counts: Counts | None = None,
    ) -> None:
        self.name = name
        self._network: TimedNetwork | None = None
        try:
            native = NativeSwitch(
                switch_library(), cpu_port=cpu_port, seed=seed, manual=True, tick_ns=tick_ns
            )
            tracer = _tracer(native, write) if write is not None else None
            super().__init__(native, cpu_port, tracer, counts)
            try:
                self.load(program)
            except RpcError:
                self.close()
                raise
        except (NativeError, RpcError) as error:
            raise VirtualError(f"{name}: {error}") from None

    def join(self, network: TimedNetwork) -> None:
        """The switch is in a network now, which has its time and takes in its packets."""
        self._network = network
        if self.tracer is not None:
            network.trace(self.name)

    @property
    def now_ns(self) -> int:
        return self._network.now_ns if self._network else 0

    def load(self, program: LoadedProgram) -> None:
        if self._network is not None:
            raise RpcError(FAILED_PRECONDITION, "a switch in a network keeps its program")
        super().load(program)

    def _be_at(self, now_ns: int) -> None:
        self.native.set_time(now_ns)

    def _take_in(self, frame: bytes) -> None:
        if self._network is None:
            raise RpcError(FAILED_PRECONDITION, "the switch isn't in a network")
        try:
            self._network.packet_out(self.name, frame)
        except VirtualError as error:
            raise RpcError(FAILED_PRECONDITION, str(error)) from None
