"""Write and Read batches: every element has its own outcome.

Source: P4Runtime specification, "Batch Atomicity", "Write RPC: Error Reporting", "Read RPC: Batch Processing".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from finsy.proto import p4r

from softswitch.p4runtime.errors import ABORTED, PERMISSION_DENIED, UNIMPLEMENTED, BatchError, RpcError
from softswitch.p4runtime.roles import Scope

if TYPE_CHECKING:
    from softswitch.p4runtime.forwarding import Forwarding

CHUNK = 1000  # entities a ReadResponse, so that no message comes near gRPC's limit of 4 MiB


@dataclass
class Written:
    """The updates of a batch that were carried out, and what the client is told if some were not."""

    updates: list[p4r.Update]
    error: BatchError | None = None


@dataclass
class Answer:
    """The responses to a batch of queries, and what the client is told after them if a query failed."""

    responses: list[p4r.ReadResponse]
    error: BatchError | None = None


def write(
    state: Forwarding,
    updates: Sequence[p4r.Update],
    atomicity: p4r.WriteRequest.Atomicity.ValueType,
    scope: Scope | None = None,
) -> Written:
    """Carries out a batch in its order, of updates that the scope covers. Raises RpcError for an atomicity that is not
    offered.

    CONTINUE_ON_ERROR tries every update. ROLLBACK_ON_ERROR stops at the first that fails and undoes those before it.
    """
    if atomicity == p4r.WriteRequest.DATAPLANE_ATOMIC:
        raise RpcError(UNIMPLEMENTED, "batches that are atomic for the data plane are not implemented")
    rollback = atomicity == p4r.WriteRequest.ROLLBACK_ON_ERROR
    outcomes: list[p4r.Error] = []
    done: list[tuple[p4r.Update, Callable[[], None]]] = []
    for update in updates:
        try:
            if scope is not None and not scope.covers(update.entity):
                raise RpcError(PERMISSION_DENIED, "the role's configuration doesn't give it this entity")
            done.append((update, state.apply(update)))
        except RpcError as error:
            outcomes.append(error.status())
            if rollback:
                break
        else:
            outcomes.append(p4r.Error())
    if len(done) == len(updates):
        return Written([update for update, _ in done])
    if rollback:
        for _, undo in reversed(done):
            undo()
        aborted = RpcError(ABORTED, "not carried out, since another update of the batch failed").status()
        outcomes = [aborted] * len(done) + outcomes[-1:] + [aborted] * (len(updates) - len(done) - 1)
        done = []
    return Written([update for update, _ in done], BatchError(outcomes))


def read(state: Forwarding, queries: Sequence[p4r.Entity], scope: Scope | None = None) -> Answer:
    """Answers a batch, in chunks, with what the scope covers."""
    responses = [p4r.ReadResponse()]
    outcomes: list[p4r.Error] = []
    failed = False
    for query in queries:
        try:
            for entity in state.read(query):
                if scope is not None and not scope.covers(entity):
                    continue
                if len(responses[-1].entities) >= CHUNK:
                    responses.append(p4r.ReadResponse())
                responses[-1].entities.append(entity)
        except RpcError as error:
            failed = True
            outcomes.append(error.status())
        else:
            outcomes.append(p4r.Error())
    return Answer(responses, BatchError(outcomes) if failed else None)
