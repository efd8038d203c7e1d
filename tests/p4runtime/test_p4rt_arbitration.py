"""Which client is primary, which clients are notified, and which may write."""

from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace

import grpc
import pytest
from p4rt_client import Client, RefusedError
from p4rt_outlet import ListOutlet
from p4rt_switch import Program, Switch

from pcn.base.p4rt import p4r, rpc_code
from pcn.softswitch.p4runtime.arbitration import MAX_SESSIONS, Arbitration, Session
from pcn.softswitch.p4runtime.calls import ANY, MANY, Pushed
from pcn.softswitch.p4runtime.errors import RpcError
from pcn.softswitch.p4runtime.service import Service


@pytest.fixture
def clients(switch: Switch) -> Iterator[list[Client]]:
    """Four that have not claimed anything."""
    with ExitStack() as stack:
        yield [stack.enter_context(Client(switch.port)) for _ in range(4)]


def code(message: p4r.MasterArbitrationUpdate) -> int:
    return message.status.code


def refusal(client: Client) -> grpc.StatusCode:
    with pytest.raises(RefusedError) as failure:
        client.receive()
    return failure.value.code


def write_code(client: Client) -> grpc.StatusCode | None:
    try:
        client.write()
    except RefusedError as error:
        return error.code
    return None


def stream() -> Session:
    return Session(ListOutlet())


def claim(election_id: int) -> p4r.MasterArbitrationUpdate:
    return p4r.MasterArbitrationUpdate(device_id=1, election_id=p4r.Uint128(low=election_id))


def test_ended_stream_leaves_its_id_to_the_next_claim():
    """Its client hasn't taken all of it yet; it leaves behind the new claim."""
    arbitration, old, new = Arbitration(1), stream(), stream()
    outlet = ListOutlet()
    backup = Session(outlet)
    arbitration.update(old, claim(10))
    arbitration.update(backup, claim(5))
    old.close()
    arbitration.update(new, claim(10))
    assert (old.primary, new.primary) == (False, True)
    arbitration.leave(old)
    assert arbitration.is_primary(new)
    with pytest.raises(RpcError, match="election id 10 is in use"):
        arbitration.update(backup, claim(10))
    codes = [message.arbitration.status.code for message in outlet.messages()]
    assert codes == [rpc_code.ALREADY_EXISTS, rpc_code.NOT_FOUND, rpc_code.ALREADY_EXISTS]


def test_claim_of_an_ended_stream_changes_nothing():
    arbitration, old, primary = Arbitration(1), stream(), stream()
    arbitration.update(primary, claim(5))
    old.close()
    arbitration.update(old, claim(10))
    assert arbitration.is_primary(primary)


def test_ended_stream_takes_no_place():
    arbitration = Arbitration(1)
    sessions = [stream() for _ in range(MAX_SESSIONS)]
    for number, session in enumerate(sessions, start=1):
        arbitration.update(session, claim(number))
    sessions[0].close()
    assert arbitration.make_room(claim(1)) is None


def test_connection_is_a_primary_s_before_its_client_reads_so():
    """Else its first large message, sent at once, might be refused as a stranger's."""

    class Reading(ListOutlet):
        def push(self, data: bytes, most_bytes: int = ANY, most_messages: int = MANY) -> Pushed:
            at_push.append(primaries[-1])
            return super().push(data, most_bytes, most_messages)

    primaries: list[set[int]] = []
    at_push: list[set[int]] = []
    service = Service(SimpleNamespace(library=None, manual=False), None, 1, 0)
    service.on_primaries = primaries.append
    service.hear(Session(Reading(7)), p4r.StreamMessageRequest(arbitration=claim(10)))
    assert at_push == [{7}]


def test_refused_claim_leaves_no_ended_primary():
    """Calls on a connection that had a primary aren't a primary's any longer."""
    primaries: list[set[int]] = []
    service = Service(SimpleNamespace(library=None, manual=False), None, 1, 0)
    service.on_primaries = primaries.append
    primary, stranger = Session(ListOutlet(1)), Session(ListOutlet(2))
    service.hear(primary, p4r.StreamMessageRequest(arbitration=claim(10)))
    assert primaries[-1] == {1}
    primary.close()
    foreign = p4r.MasterArbitrationUpdate(device_id=2)
    with pytest.raises(RpcError, match="not 2"):
        service.hear(stranger, p4r.StreamMessageRequest(arbitration=foreign))
    assert primaries[-1] == set()


def test_the_highest_election_id_wins(clients: list[Client]):
    low, high, middle, _ = clients
    assert code(low.arbitrate(10)) == rpc_code.OK
    answer = high.arbitrate(2**64 + 3)
    assert code(answer) == rpc_code.OK
    assert (answer.election_id.high, answer.election_id.low) == (1, 3)
    notification = low.receive().arbitration
    assert code(notification) == rpc_code.ALREADY_EXISTS
    assert (notification.election_id.high, notification.election_id.low) == (1, 3)
    assert code(middle.arbitrate(20)) == rpc_code.ALREADY_EXISTS
    assert [write_code(client) for client in (low, middle, high)] == [
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.PERMISSION_DENIED,
        None,
    ]


def test_primary_lost_and_regained(clients: list[Client]):
    first, second, third, _ = clients
    first.arbitrate(10)
    second.arbitrate(5)
    first.close()
    assert code(second.receive().arbitration) == rpc_code.NOT_FOUND
    assert write_code(second) == grpc.StatusCode.PERMISSION_DENIED, "a backup does not inherit"
    assert code(second.arbitrate(9)) == rpc_code.NOT_FOUND
    assert code(second.arbitrate(10)) == rpc_code.OK, (
        "the highest id ever seen may be claimed again"
    )
    assert write_code(second) is None
    assert code(third.arbitrate(11)) == rpc_code.OK
    assert code(second.receive().arbitration) == rpc_code.ALREADY_EXISTS


def test_a_primary_steps_down(clients: list[Client]):
    first, second, *_ = clients
    first.arbitrate(10)
    second.arbitrate(5)
    assert code(first.arbitrate(3)) == rpc_code.NOT_FOUND
    assert code(second.receive().arbitration) == rpc_code.NOT_FOUND
    assert write_code(first) == grpc.StatusCode.PERMISSION_DENIED


def test_without_an_election_id_one_stays_backup(clients: list[Client]):
    silent, backup, *_ = clients
    silent.send(arbitration=p4r.MasterArbitrationUpdate(device_id=1))
    answer = silent.receive().arbitration
    assert code(answer) == rpc_code.NOT_FOUND
    backup.send(arbitration=p4r.MasterArbitrationUpdate(device_id=1))
    assert code(backup.receive().arbitration) == rpc_code.NOT_FOUND


def test_zero_is_an_election_id(empty_switch: Switch):
    with Client(empty_switch.port, election_id=0) as client:
        answer = client.arbitrate()
        assert code(answer) == rpc_code.OK
        assert answer.HasField("election_id")


def test_roles_have_their_own_primaries(clients: list[Client]):
    default, routing, same, unknown = clients
    routing.role = same.role = "routing"
    assert code(default.arbitrate(5)) == rpc_code.OK
    answer = routing.arbitrate(5)
    assert code(answer) == rpc_code.OK
    assert answer.role.name == "routing"
    assert code(same.arbitrate(4)) == rpc_code.ALREADY_EXISTS
    assert write_code(default) is None
    assert write_code(routing) is None
    assert write_code(same) == grpc.StatusCode.PERMISSION_DENIED
    unknown.role = "nobody's"
    assert write_code(unknown) == grpc.StatusCode.NOT_FOUND


def test_claims_that_end_the_stream(clients: list[Client]):
    first, same_id, elsewhere, _ = clients
    first.arbitrate(5)
    same_id.claim(5)
    assert refusal(same_id) == grpc.StatusCode.INVALID_ARGUMENT
    elsewhere.claim(6, device_id=2)
    assert refusal(elsewhere) == grpc.StatusCode.NOT_FOUND
    first.claim(8, role=p4r.Role(name="another"))
    assert refusal(first) == grpc.StatusCode.FAILED_PRECONDITION


def test_later_claims_that_end_the_stream(clients: list[Client]):
    first, second, third, _ = clients
    for number, client in ((5, first), (6, second), (7, third)):
        client.arbitrate(number)
    second.receive()  # it's primary no more
    second.claim(8, device_id=2)
    assert refusal(second) == grpc.StatusCode.FAILED_PRECONDITION
    third.claim(5)
    assert refusal(third) == grpc.StatusCode.INVALID_ARGUMENT, "the first one's"


def test_more_streams_than_there_may_be(clients: list[Client], switch: Switch, monkeypatch):
    """A backup is refused; a stream without an election id makes room for it, and any backup for a
    new primary."""
    monkeypatch.setattr("pcn.softswitch.p4runtime.arbitration.MAX_SESSIONS", 2)
    first, second, third, fourth = clients
    first.send(arbitration=p4r.MasterArbitrationUpdate(device_id=1))
    first.receive()
    second.arbitrate(7)
    first.receive()  # there is a primary now
    third.arbitrate(3)
    assert refusal(first) == grpc.StatusCode.RESOURCE_EXHAUSTED
    fourth.claim(2)
    assert refusal(fourth) == grpc.StatusCode.RESOURCE_EXHAUSTED
    with Client(switch.port, election_id=8) as leader:
        assert leader.arbitrate().status.code == rpc_code.OK
        third.receive()  # another is primary now
        assert refusal(third) == grpc.StatusCode.RESOURCE_EXHAUSTED
    second.receive()  # it's primary no more


def test_arbitration_update_before_the_first_primary_has_no_election_id(empty_switch: Switch):
    with Client(empty_switch.port) as silent:
        silent.send(arbitration=p4r.MasterArbitrationUpdate(device_id=1))
        answer = silent.receive().arbitration
    assert code(answer) == rpc_code.NOT_FOUND
    assert not answer.HasField("election_id")


def test_writes_without_a_stream_or_to_another_device(clients: list[Client], program: Program):
    client = clients[0]
    client.election_id = 99  # nobody's: who set the pipeline may not have left yet
    assert write_code(client) == grpc.StatusCode.PERMISSION_DENIED
    with pytest.raises(RefusedError) as failure:
        client.set_pipeline(program.info, program.json)
    assert failure.value.code == grpc.StatusCode.PERMISSION_DENIED
    assert client.read(p4r.TableEntry()), "reads need no election id and no stream"
    client.device_id = 9
    assert write_code(client) == grpc.StatusCode.NOT_FOUND
    for call in (
        lambda: client.read(p4r.TableEntry()),
        lambda: client.set_pipeline(program.info, program.json),
        client.get_pipeline,
    ):
        with pytest.raises(RefusedError) as failure:
            call()
        assert failure.value.code == grpc.StatusCode.NOT_FOUND


def test_a_client_that_vanishes_frees_its_place(switch: Switch):
    for _ in range(100):  # more than the server takes at once
        with Client(switch.port) as client:
            client.send(arbitration=p4r.MasterArbitrationUpdate(device_id=1))
            client.receive()
    with Client(switch.port, election_id=50) as client:
        assert code(client.arbitrate()) == rpc_code.OK
