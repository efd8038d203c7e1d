"""Errors of the control plane, each in one readable line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pcn.base.errors import LabError, nearest

if TYPE_CHECKING:
    import grpc


class SwitchError(LabError):
    """A switch refused or failed a request: names the switch, the request and the answer."""


class WriteError(SwitchError):
    """A switch refused some of a call's entries; the others hold. `refused`: each entry, and the
    reason."""

    def __init__(self, message: str, refused: Sequence[tuple[object, str]]) -> None:
        super().__init__(message)
        self.refused = tuple(refused)


class PrimaryError(SwitchError):
    """Another controller is the switch's primary: `primary` is its description, `next_id` the
    election id that would take over from it."""

    def __init__(self, primary: str, next_id: int) -> None:
        super().__init__(f"{primary}: end it, or take over with --election-id {next_id}")
        self.primary, self.next_id = primary, next_id


class UnknownNameError(LabError):
    """A name that doesn't exist, with the nearest existing one."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        super().__init__(f"no {kind} {name!r}; {nearest(name, known)}")
        self.kind, self.name, self.known = kind, name, tuple(known)


@contextlib.contextmanager
def grpc_errors(switch: str, operation: str) -> Iterator[None]:
    """Raises gRPC errors as SwitchError."""
    import grpc  # slow to load; whoever calls a switch has it

    try:
        yield
    except grpc.RpcError as error:
        raise SwitchError(
            f"{switch}: {operation} failed: {_reason(error.code().name, error.details())}"
        ) from None


def update_errors(error: grpc.RpcError) -> dict[int, str]:
    """Returns the reasons that a failed Write or Read carries, by the number of the update or
    entity (P4Runtime specification, section 12.3)."""
    from google.protobuf.message import DecodeError

    from pcn.base.p4rt import p4r, rpc_status

    raw = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
    status, reasons, update = rpc_status.Status(), {}, p4r.Error()
    with contextlib.suppress(DecodeError):
        status.ParseFromString(raw or b"")
    for number, detail in enumerate(status.details):
        if detail.Unpack(update) and update.canonical_code != 0:
            reasons[number] = refusal_text(update.canonical_code, update.message)
    return reasons


def refusal_text(code: int, message: str) -> str:
    """Returns a reason that a switch gives: the name of its canonical code, and its message."""
    import grpc

    return _reason(
        next((status.name for status in grpc.StatusCode if status.value[0] == code), str(code)),
        message,
    )


def _reason(code: str, message: str | None) -> str:
    return f"{code}: {message or 'no details'}"
