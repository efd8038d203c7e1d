"""Errors as P4Runtime reports them: a canonical code and a line, for an RPC or for each update of a
batch.

Source: P4Runtime specification, "Error Reporting Messages" and "Write RPC: Error Reporting".
"""

from __future__ import annotations

import binascii
import errno
from collections.abc import Sequence
from typing import NamedTuple

from pcn.base.p4rt import p4r, rpc_code, rpc_status
from pcn.softswitch.native import NativeError

# Receivers accept 8 KiB of metadata by default; of a larger status they would get nothing but
# RESOURCE_EXHAUSTED.
DETAILS_ROOM = 7 * 1024
MESSAGE_ROOM = 1024  # characters of a message, which may quote what the client has sent

OK: int = rpc_code.OK
CANCELLED: int = rpc_code.CANCELLED
INVALID_ARGUMENT: int = rpc_code.INVALID_ARGUMENT
NOT_FOUND: int = rpc_code.NOT_FOUND
ALREADY_EXISTS: int = rpc_code.ALREADY_EXISTS
PERMISSION_DENIED: int = rpc_code.PERMISSION_DENIED
RESOURCE_EXHAUSTED: int = rpc_code.RESOURCE_EXHAUSTED
FAILED_PRECONDITION: int = rpc_code.FAILED_PRECONDITION
OUT_OF_RANGE: int = rpc_code.OUT_OF_RANGE
UNIMPLEMENTED: int = rpc_code.UNIMPLEMENTED
ABORTED: int = rpc_code.ABORTED
INTERNAL: int = rpc_code.INTERNAL
UNKNOWN: int = rpc_code.UNKNOWN

_BY_ERRNO = {
    errno.EEXIST: ALREADY_EXISTS,
    errno.ENOSPC: RESOURCE_EXHAUSTED,
    errno.ENOMEM: RESOURCE_EXHAUSTED,
    errno.ENOENT: NOT_FOUND,
    errno.EINVAL: INVALID_ARGUMENT,
    errno.ERANGE: OUT_OF_RANGE,
    errno.ENOSYS: UNIMPLEMENTED,
    errno.EOPNOTSUPP: UNIMPLEMENTED,
    errno.EPERM: PERMISSION_DENIED,
    errno.EACCES: PERMISSION_DENIED,
}


class Status(NamedTuple):
    """How a call ends: a google.rpc code, a line, and a google.rpc.Status as HTTP/2's headers have
    it (base64); None: there is none."""

    code: int
    message: str = ""
    details: bytes | None = None


class RpcError(Exception):
    """A refusal with a google.rpc code."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.message = message if len(message) <= MESSAGE_ROOM else message[:MESSAGE_ROOM] + "..."
        super().__init__(self.message)

    def status(self) -> p4r.Error:
        """Returns the refusal as one update's outcome."""
        return p4r.Error(canonical_code=self.code, message=self.message)


class BatchError(Exception):
    """Some updates of a Write, or entities of a Read, failed. `outcomes`: one p4.v1.Error each, in
    their order."""

    def __init__(self, outcomes: Sequence[p4r.Error]) -> None:
        failed = [
            (i, outcome.message) for i, outcome in enumerate(outcomes, 1) if outcome.canonical_code
        ]
        number, message = failed[0]
        where = (
            ""
            if len(outcomes) == 1
            else f"{len(failed)} of {len(outcomes)} failed; number {number}: "
        )
        super().__init__(where + message)
        self.outcomes = outcomes


def from_native(error: NativeError) -> RpcError:
    """Returns what a refusal of the C runtime means to a P4Runtime client."""
    return RpcError(_BY_ERRNO.get(error.code, INTERNAL), str(error))


def status_of(error: RpcError | BatchError) -> Status:
    """Returns how a call ends: with an RPC-wide error, which has no details; or with UNKNOWN and
    one p4.v1.Error a batch element.

    Messages of later errors are dropped where all of them would not fit into a client's default
    metadata limit.
    """
    if isinstance(error, RpcError):
        return Status(error.code, error.message)
    status = rpc_status.Status(code=UNKNOWN, message=str(error)[:MESSAGE_ROOM])
    room = DETAILS_ROOM
    for outcome in error.outcomes:
        if room < 200:
            outcome = p4r.Error(canonical_code=outcome.canonical_code)
        detail = status.details.add()
        detail.Pack(outcome)
        room -= detail.ByteSize()
    packed = binascii.b2a_base64(status.SerializeToString(), newline=False).rstrip(b"=")
    return Status(UNKNOWN, status.message, packed)
