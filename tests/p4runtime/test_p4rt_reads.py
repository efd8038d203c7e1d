"""Reads: in pieces, as of one moment, of the largest size, and without delaying other clients."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import grpc
import pytest
import waiting
from oracle.target import Embedded
from p4rt_client import Client, Names, RefusedError, update
from p4rt_switch import PROGRAMS, Program, Switch, load, running_switch

from pcn.base.p4rt import p4d, p4r
from pcn.softswitch.p4runtime import batches, limits
from pcn.softswitch.p4runtime.checked_config import verify
from pcn.softswitch.p4runtime.errors import ABORTED, RpcError

CELLS = 4096  # of bench.p4's largest register


class Bench:
    """The service without gRPC, with bench.p4; `looks`: how often the large register has been read
    in C."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        program = load(PROGRAMS / "bench")
        self.names = program.names
        self.config = p4r.ForwardingPipelineConfig(
            p4info=program.info, p4_device_config=program.json
        )
        self.embedded = Embedded()
        self.embedded._pipeline.commit(verify(self.config))
        self.looks = 0
        native, real = self.embedded._native, self.embedded._native.register_cells

        def counted(register: int, width: int, first: int, n: int) -> Iterator[int]:
            self.looks += n == CELLS
            return real(register, width, first, n)

        monkeypatch.setattr(native, "register_cells", counted)

    def read(self, *queries: dict[str, Any]) -> Iterator[p4r.ReadResponse]:
        entities = [p4r.Entity(**query) for query in queries]
        return self.embedded.service.Read(p4r.ReadRequest(device_id=1, entities=entities), None)

    def cells(self) -> dict[str, Any]:
        return {
            "register_entry": p4r.RegisterEntry(register_id=self.names.id("registers", "cells"))
        }

    def fill(self, value: int):
        entry = p4r.RegisterEntry(
            register_id=self.names.id("registers", "cells"),
            data=p4d.P4Data(bitstring=bytes([value])),
        )
        request = p4r.WriteRequest(device_id=1, election_id=p4r.Uint128(low=1))
        request.updates.append(update("MODIFY", entry))
        self.embedded.service.Write(request, None)


@pytest.fixture
def bench(monkeypatch) -> Iterator[Bench]:
    testbed = Bench(monkeypatch)
    yield testbed
    testbed.embedded.close()


def values(responses: Iterator[p4r.ReadResponse]) -> list[bytes]:
    return [
        entity.register_entry.data.bitstring
        for response in responses
        for entity in response.entities
    ]


def test_read_makes_its_answer_piece_by_piece(bench: Bench):
    """A thousand queries have a thousand times the register; no more of it is there than the client
    has taken."""
    responses = bench.read(*[bench.cells()] * 1000)
    first = next(responses)
    assert len(first.entities) == batches.CHUNK
    assert bench.looks <= batches.LOOK // CELLS + 1


def test_read_has_each_array_as_of_one_moment(bench: Bench):
    bench.fill(1)
    responses = bench.read(*[bench.cells()] * 10)
    cells = [entity.register_entry.data.bitstring for entity in next(responses).entities]
    bench.fill(2)
    cells += values(responses)
    arrays = [set(cells[i : i + CELLS]) for i in range(0, 10 * CELLS, CELLS)]
    assert arrays[0] == {b"\1"}, "it was read before the write"
    assert arrays[-1] == {b"\2"}
    assert all(len(array) == 1 for array in arrays)


def test_short_read_sees_a_write_whole_or_not_at_all(bench: Bench):
    """All that is looked at is within LOOK: entries, their counters and an array are as of the same
    moment."""
    names = bench.names
    entry = names.entry("l2", {"dst_addr": 1}, names.action("forward", port=1))
    request = p4r.WriteRequest(device_id=1, election_id=p4r.Uint128(low=1))
    request.updates.append(update("INSERT", entry))
    bench.embedded.service.Write(request, None)
    bench.fill(1)
    queries = [{"table_entry": p4r.TableEntry(table_id=entry.table_id)}, bench.cells()]
    responses = bench.read(*queries)
    entities = list(next(responses).entities)
    request.updates[0].type = p4r.Update.DELETE
    bench.embedded.service.Write(request, None)
    bench.fill(2)
    entities += [entity for response in responses for entity in response.entities]
    assert entities[0].table_entry.action == entry.action
    assert {entity.register_entry.data.bitstring for entity in entities[1:]} == {b"\1"}


def test_read_ends_where_the_pipeline_changes(bench: Bench):
    responses = bench.read(*[bench.cells()] * 10)
    next(responses)
    bench.embedded._pipeline.commit(verify(bench.config))
    with pytest.raises(RpcError) as failure:
        list(responses)
    assert failure.value.code == ABORTED


def test_long_entities_come_in_separate_messages(client: Client, names: Names):
    """Metadata is the client's: no message grows with it beyond what a client takes by default."""
    size = batches.CHUNK_BYTES // 2
    for number in range(1, 6):
        entry = names.entry(
            "l2", {"dst_addr": number}, names.action("forward", port=1), metadata=bytes(size)
        )
        client.insert(entry)
    request = p4r.ReadRequest(
        device_id=1, entities=[p4r.Entity(table_entry={"table_id": entry.table_id})]
    )
    responses = list(client.stub.Read(request, timeout=waiting.LIMIT_S))
    assert sum(len(response.entities) for response in responses) == 5
    assert max(response.ByteSize() for response in responses) < 2 * batches.CHUNK_BYTES


def test_too_many_queries_are_refused(client: Client):
    with pytest.raises(
        RefusedError, match="a Read has at most 10000 queries, not 10001"
    ) as failure:
        client.read_all(
            [p4r.Entity(table_entry=p4r.TableEntry(table_id=1))] * (batches.MAX_QUERIES + 1)
        )
    assert failure.value.code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not failure.value.outcomes


def untaken(client: Client, program: Program):
    """A Read whose answer the client doesn't read."""
    cells = p4r.Entity(
        register_entry=p4r.RegisterEntry(register_id=program.names.id("registers", "cells"))
    )
    return client.stub.Read(p4r.ReadRequest(device_id=1, entities=[cells] * 1000))


@pytest.fixture
def served(library: ctypes.CDLL, program: Program, monkeypatch) -> Iterator[Callable[..., Switch]]:
    """Makes a switch with bench.p4, whose limits are these."""
    with ExitStack() as stack:

        def make(**seconds: float) -> Switch:
            for name, value in seconds.items():
                monkeypatch.setattr(limits, name, value)
            switch = stack.enter_context(running_switch(library))
            with Client(switch.port) as client:
                client.arbitrate()
                client.set_pipeline(program.info, program.json)
                client.leave()
            return switch

        yield make


def test_untaken_reads_delay_no_other_client(
    served: Callable[..., Switch], program: Program, names: Names
):
    """They hold no worker. A stranger's read beyond their number waits for one that ends; the
    primary's don't, nor does anything else."""
    switch = served(ROOM_S=3600, PEER_S=3600)
    with Client(switch.port, election_id=2) as client, ExitStack() as stack:
        client.arbitrate()
        strangers = [stack.enter_context(Client(switch.port)) for _ in range(limits.READS)]
        calls = [untaken(stranger, program) for stranger in strangers]
        for call in calls:
            # it is at work: a read of `late` could have its place before
            next(call)
        late = stack.enter_context(Client(switch.port))
        table = p4r.Entity(table_entry=p4r.TableEntry())
        read = iter(late.stub.Read(p4r.ReadRequest(device_id=1, entities=[table]), timeout=60))
        assert client.read(p4r.TableEntry()) is not None
        client.insert(names.entry("l2", {"dst_addr": 1}, names.action("forward", port=1)))
        assert client.arbitrate(3).status.code == 0
        calls[0].cancel()
        assert len(list(read)) == 1


def test_untaken_read_makes_room_for_the_next(served: Callable[..., Switch], program: Program):
    switch = served(ROOM_S=0.05, PEER_S=3600)
    with ExitStack() as stack:
        strangers = [stack.enter_context(Client(switch.port)) for _ in range(limits.READS)]
        calls = [untaken(stranger, program) for stranger in strangers]
        for call in calls:
            next(call)
        late = stack.enter_context(Client(switch.port))
        assert late.read(p4r.TableEntry()) is not None
        del calls


def test_untaken_read_is_cut_off(served: Callable[..., Switch], program: Program):
    switch = served(PEER_S=0.05)
    with Client(switch.port) as client:
        call = untaken(client, program)
        waiting.wait_until(lambda: not call.is_active(), "the switch to end the read")
        with pytest.raises(grpc.RpcError) as failure:
            list(call)
        assert failure.value.code() is grpc.StatusCode.CANCELLED
