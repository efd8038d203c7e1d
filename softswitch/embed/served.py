"""P4Runtime of an embedded switch that an engine runs: any client's, at an address, while packets
go on. The switch keeps its program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from pcn.base.p4rt import p4r
from pcn.softswitch.errors import StartError
from pcn.softswitch.p4runtime.errors import FAILED_PRECONDITION, RpcError
from pcn.softswitch.p4runtime.pipeline import Pipeline
from pcn.softswitch.p4runtime.server import Server, ServerError
from pcn.softswitch.p4runtime.service import EngineTurn, Service

if TYPE_CHECKING:
    from pcn.softswitch.embed.switch import EmbeddedSwitch
    from pcn.softswitch.p4runtime.checked_config import Verified
    from pcn.softswitch.p4runtime.entities import Forwarding


class _Turn:
    """The engine's lock, at whose time the switch is then."""

    def __init__(self, engine: EngineTurn, switch: EmbeddedSwitch) -> None:
        self._engine = engine
        self._switch = switch

    def acquire(self, blocking: bool = True) -> bool:
        if not self._engine.acquire(blocking):
            return False
        self._switch.catch_up()
        return True

    def release(self) -> None:
        self._engine.release()

    def __enter__(self) -> _Turn:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class _Fixed(Pipeline):
    """The configuration of a switch that keeps its program. `written` gets what Writes did."""

    def __init__(self, switch: EmbeddedSwitch, written: Callable[[list[p4r.Update]], None]) -> None:
        super().__init__(switch.native, switch.native.library)
        self._switch = switch
        self._written = written

    @property
    def state(self) -> Forwarding | None:
        return self._switch.forwarding

    @property
    def running(self) -> Forwarding | None:
        return self._switch.forwarding

    @property
    def config(self) -> p4r.ForwardingPipelineConfig | None:
        program = self._switch.program
        return program.names.get_pipeline_config() if program is not None else None

    @property
    def json_text(self) -> str:
        program = self._switch.program
        return program.json_text if program is not None else ""

    def record(self, updates: list[p4r.Update]) -> None:
        self._written(updates)

    def commit(self, verified: Verified) -> NoReturn:
        self._refuse()

    def save(self, verified: Verified) -> NoReturn:
        self._refuse()

    def commit_saved(self) -> NoReturn:
        self._refuse()

    def reconcile(self, verified: Verified) -> NoReturn:
        self._refuse()

    def restart(self) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise RpcError(
            FAILED_PRECONDITION, "a switch inside an engine keeps the program that it began with"
        )


def serve(
    switch: EmbeddedSwitch,
    device_id: int,
    address: str,
    engine: EngineTurn,
    written: Callable[[list[p4r.Update]], None],
) -> Server:
    """Returns the server of a switch, a context manager. `address`: unix:PATH, which this user
    alone may open. `engine`: held by the engine while events happen, and by calls. `written` gets
    the updates of each Write that were carried out, with it held. Raises StartError."""
    service = Service(switch.native, _Fixed(switch, written), device_id, 0, _Turn(engine, switch))
    try:
        return Server(service, address)
    except ServerError as error:
        raise StartError(str(error)) from None
