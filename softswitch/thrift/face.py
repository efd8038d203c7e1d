"""What the calls of all services use: the state, behind the P4Runtime server's lock, and names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeVar

from pcn.base.p4rt import p4r
from pcn.softswitch.p4runtime.errors import (
    ALREADY_EXISTS,
    FAILED_PRECONDITION,
    INVALID_ARGUMENT,
    NOT_FOUND,
    OUT_OF_RANGE,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    RpcError,
)
from pcn.softswitch.p4runtime.service import Service
from pcn.softswitch.thrift import idl

INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)

_CODES = {
    RESOURCE_EXHAUSTED: "TABLE_FULL",
    ALREADY_EXISTS: "DUPLICATE_ENTRY",
    NOT_FOUND: "INVALID_HANDLE",
    PERMISSION_DENIED: "IMMUTABLE_TABLE_ENTRIES",
    INVALID_ARGUMENT: "BAD_MATCH_KEY",
    OUT_OF_RANGE: "BAD_MATCH_KEY",
}


class Face:
    """A service's calls act on this switch's state."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.idl = idl.load()

    def write(self, kind: p4r.Update.Type.ValueType, **entity: Any) -> None:
        """Carries out an update. Raises RpcError."""
        self.service.write_locally(p4r.Update(type=kind, entity=p4r.Entity(**entity)))

    def read(self, **entity: Any) -> Iterator[Any]:
        """Yields the entities that a query selects. Raises RpcError."""
        (kind,) = entity
        for answer in self.service.read_locally(p4r.Entity(**entity)):
            yield getattr(answer, kind)

    def refusal(self, error: RpcError) -> Exception:
        """Returns BMv2's exception for what P4Runtime refuses."""
        if error.code == FAILED_PRECONDITION:
            return self.table_error("ERROR")
        return self.table_error(_CODES.get(error.code, "ERROR"))

    def table_error(self, name: str) -> Exception:
        """Returns BMv2's exception of tables and profiles."""
        exception: Exception = self.idl.TableFailure(getattr(self.idl.TableError, name))
        return exception


def named(things: Mapping[int, N], name: str) -> N | None:
    """Returns a thing with this whole name."""
    return next((thing for thing in things.values() if thing.name == name), None)
