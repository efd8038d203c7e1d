"""Write and Read batches: every element has its own outcome.

Source: P4Runtime specification, "Batch Atomicity", "Write RPC: Error Reporting", "Read RPC: Batch
Processing".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pcn.base.p4rt import p4r
from pcn.softswitch.p4runtime.errors import (
    ABORTED,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    UNIMPLEMENTED,
    BatchError,
    RpcError,
)
from pcn.softswitch.p4runtime.parts import Part
from pcn.softswitch.p4runtime.roles import Scope

if TYPE_CHECKING:
    from pcn.softswitch.p4runtime.entities import Forwarding

CHUNK = 1000  # entities a ReadResponse, so that no message comes near gRPC's limit of 4 MiB
CHUNK_BYTES = 1 << 20
MAX_QUERIES = 10_000  # of a Read: each has an outcome, which is kept until its end
MAX_UPDATES = 500_000  # of a Write, for the same reason
LOOK = 10_000  # entries and cells that a Read looks at while nobody can write


class Written(NamedTuple):
    """The updates of a batch that were applied, and the client's error if some were not."""

    updates: list[p4r.Update]
    error: BatchError | None = None


def write(
    state: Forwarding,
    updates: Sequence[p4r.Update],
    atomicity: p4r.WriteRequest.Atomicity.ValueType,
    scope: Scope | None = None,
) -> Written:
    """Carries out a batch in its order, of updates that the scope covers. Raises RpcError for an
    atomicity that is not offered.

    CONTINUE_ON_ERROR tries every update. ROLLBACK_ON_ERROR stops at the first that fails and undoes
    those before it.
    """
    if len(updates) > MAX_UPDATES:
        raise RpcError(
            RESOURCE_EXHAUSTED, f"a batch has at most {MAX_UPDATES} updates, not {len(updates)}"
        )
    if atomicity == p4r.WriteRequest.DATAPLANE_ATOMIC:
        raise RpcError(
            UNIMPLEMENTED, "batches that are atomic for the data plane are not implemented"
        )
    rollback = atomicity == p4r.WriteRequest.ROLLBACK_ON_ERROR
    outcomes: list[p4r.Error] = []
    done: list[tuple[p4r.Update, Callable[[], None]]] = []
    for update in updates:
        try:
            if scope is not None and not scope.covers(update.entity):
                raise RpcError(
                    PERMISSION_DENIED, "the role's configuration doesn't give it this entity"
                )
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
        aborted = RpcError(
            ABORTED, "not carried out, since another update of the batch failed"
        ).status()
        outcomes = (
            [aborted] * len(done) + outcomes[-1:] + [aborted] * (len(updates) - len(done) - 1)
        )
        done = []
    return Written([update for update, _ in done], BatchError(outcomes))


class Reading:
    """A batch of queries that is being answered, with what the scope covers. Raises RpcError for
    too many."""

    def __init__(
        self, state: Forwarding, queries: Sequence[p4r.Entity], scope: Scope | None = None
    ) -> None:
        if len(queries) > MAX_QUERIES:
            raise RpcError(
                RESOURCE_EXHAUSTED, f"a Read has at most {MAX_QUERIES} queries, not {len(queries)}"
            )
        self.done = False
        self._scope = scope
        self._outcomes: list[p4r.Error] = []
        self._parts = self._all_parts(state, queries)

    @property
    def error(self) -> BatchError | None:
        """The error for the client at the end if a query failed."""
        failed = any(outcome.canonical_code for outcome in self._outcomes)
        return BatchError(self._outcomes) if failed else None

    def take(self) -> list[Part]:
        """Returns what comes next, all as of now: whole tables and arrays, until LOOK entries have
        been looked at. Callers ensure that no client writes meanwhile."""
        taken, looked_at = [], 0
        for part in self._parts:
            taken.append(part)
            looked_at += 1 + part.looked_at
            if looked_at >= LOOK:
                break
        else:
            self.done = True
        return taken

    def responses(self, parts: Iterable[Part]) -> Iterator[p4r.ReadResponse]:
        """Yields the entities of parts, in messages that a client takes."""
        response, size = p4r.ReadResponse(), 0
        for part in parts:
            for entity in part.entities:
                if self._scope is not None and not self._scope.covers(entity):
                    continue
                size += entity.ByteSize()
                if response.entities and (len(response.entities) >= CHUNK or size > CHUNK_BYTES):
                    yield response
                    response, size = p4r.ReadResponse(), entity.ByteSize()
                response.entities.append(entity)
        yield response

    def _all_parts(self, state: Forwarding, queries: Iterable[p4r.Entity]) -> Iterator[Part]:
        """Yields the parts of all queries. An empty part stands for a query that failed, so that
        failures take their share of the time, too."""
        for query in queries:
            try:
                yield from state.parts(query)
            except RpcError as error:
                self._outcomes.append(error.status())
                yield Part(0, iter(()))
            else:
                self._outcomes.append(p4r.Error())
