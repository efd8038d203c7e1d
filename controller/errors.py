"""Errors of the control plane, each in one readable line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from topologies.errors import LabError, nearest

if TYPE_CHECKING:
    import grpc


class SwitchError(LabError):
    """A switch didn't do what it was asked: names the switch, the request and the answer."""


class PrimaryError(SwitchError):
    """Another controller is the switch's primary: `who` it is, and the election id that would take over from it."""

    def __init__(self, who: str, next_id: int) -> None:
        super().__init__(f"{who}: end it, or take over with --election-id {next_id}")
        self.who, self.next_id = who, next_id


class UnknownNameError(LabError):
    """A name that isn't there, with the nearest that is."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        super().__init__(f"no {kind} {name!r}; {nearest(name, known)}")
        self.kind, self.name, self.known = kind, name, tuple(known)


@contextlib.contextmanager
def grpc_errors(switch: str, what: str) -> Iterator[None]:
    """gRPC errors as SwitchError, with the details of each update that failed."""
    import grpc  # slow to load; whoever calls a switch has it

    try:
        yield
    except grpc.RpcError as error:
        code = error.code().name
        parts = [f"{switch}: {what} failed: {code}: {error.details() or 'no details'}", *_update_errors(error)]
        raise SwitchError("; ".join(parts)) from None


def _update_errors(error: grpc.RpcError) -> Iterator[str]:
    """The P4Runtime errors that a failed write carries, one an update (specification, section 12.3)."""
    from finsy.proto import p4r, rpc_status
    from google.protobuf.message import DecodeError

    trailing = dict(error.trailing_metadata() or ())
    raw = trailing.get("grpc-status-details-bin")
    if raw is None:
        return
    status = rpc_status.Status()
    with contextlib.suppress(DecodeError):
        status.ParseFromString(raw)
    for number, detail in enumerate(status.details):
        update = p4r.Error()
        if detail.Unpack(update) and update.canonical_code != 0:
            yield f"update {number}: {grpc_code_name(update.canonical_code)}: {update.message or 'no details'}"


def grpc_code_name(code: int) -> str:
    import grpc

    return next((status.name for status in grpc.StatusCode if status.value[0] == code), str(code))
