"""Switches whose answers have no end, or no sense: what a client keeps of them is bounded, and an
error is one line."""

import contextlib
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from waiting import LIMIT_S

from pcn.base.p4rt import p4i, p4r, p4r_grpc
from pcn.controller import answers
from pcn.controller.arbitration import Arbitration
from pcn.controller.errors import SwitchError
from pcn.controller.programs import Program, ProgramError
from pcn.controller.schema import schema_of
from pcn.controller.switch import SwitchClient


class _Endless:
    """Answers a Read with entries until its client has gone."""

    def __init__(self):
        self.ended = threading.Event()
        """Set once a Read's client has gone."""

    def Capabilities(self, request, context) -> p4r.CapabilitiesResponse:  # noqa: N802
        return p4r.CapabilitiesResponse(p4runtime_api_version="1.4.1")

    def Read(  # noqa: N802
        self, request: p4r.ReadRequest, context: grpc.ServicerContext
    ) -> Iterator[p4r.ReadResponse]:
        part = p4r.ReadResponse(
            entities=[p4r.Entity(table_entry=p4r.TableEntry(table_id=1))] * 2000
        )
        context.add_callback(self.ended.set)
        while context.is_active():
            yield part


@contextlib.contextmanager
def served(servicer) -> Iterator[str]:
    """Yields the address."""
    server = grpc.server(ThreadPoolExecutor(4))
    handlers = {}
    if isinstance(servicer, _Endless):
        handlers["Read"] = grpc.unary_stream_rpc_method_handler(
            servicer.Read, p4r.ReadRequest.FromString, p4r.ReadResponse.SerializeToString
        )
    if isinstance(servicer, _Rising):
        handlers["StreamChannel"] = grpc.stream_stream_rpc_method_handler(
            servicer.StreamChannel,
            p4r.StreamMessageRequest.FromString,
            p4r.StreamMessageResponse.SerializeToString,
        )
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("p4.v1.P4Runtime", handlers),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


@pytest.fixture
def lying() -> Iterator[tuple[_Endless, str]]:
    servicer = _Endless()
    with served(servicer) as address:
        yield servicer, address


def test_read_without_an_end_is_an_error(lying: tuple[_Endless, str], monkeypatch):
    monkeypatch.setattr(answers, "MOST_BYTES", 20_000_000)
    servicer, address = lying
    client = SwitchClient.connect("s1", address, 1)
    try:
        with pytest.raises(SwitchError, match="s1: its answer doesn't end"):
            client._read([p4r.Entity(table_entry=p4r.TableEntry())])
        assert servicer.ended.wait(LIMIT_S), "the call ends before its client's connection does"
    finally:
        client.close()


class _Rising:
    """Reports to each client that a controller with a still higher election id has just gone."""

    def __init__(self):
        self.claims = 0

    def StreamChannel(self, requests, context) -> Iterator[p4r.StreamMessageResponse]:  # noqa: N802
        for request in requests:
            self.claims += 1
            answer = p4r.StreamMessageResponse(arbitration=request.arbitration)
            answer.arbitration.status.code = grpc.StatusCode.NOT_FOUND.value[0]
            yield answer


def test_arbitration_without_an_end_is_an_error():
    servicer = _Rising()
    with served(servicer) as address, grpc.insecure_channel(address) as channel:
        with pytest.raises(
            SwitchError,
            match=r"^s1: the highest election id grows with each of our 16 claims, to 17$",
        ):
            Arbitration("s1", p4r_grpc.P4RuntimeStub(channel), 1, 1, LIMIT_S)
        assert servicer.claims == 17


def _without_profile(info: p4i.P4Info):
    # an action's number, where a profile's is wanted
    info.tables[0].implementation_id = 1 << 24 | 7


def _with_twins(info: p4i.P4Info):
    info.tables.add().CopyFrom(info.tables[0])


def _without_widths(info: p4i.P4Info):
    del info.registers[:]
    info.registers.add().preamble.id = 0x16000001


@pytest.mark.parametrize("damage", [_without_profile, _with_twins, _without_widths])
def test_p4info_of_a_lying_switch_or_file_is_refused_in_one_line(damage, tmp_path, monkeypatch):
    program = Program.compiled("pcn")
    info = p4i.P4Info()
    info.CopyFrom(program.schema.p4info)
    damage(info)

    def answer(*_call, **_options) -> p4r.GetForwardingPipelineConfigResponse:
        return p4r.GetForwardingPipelineConfigResponse(
            config=p4r.ForwardingPipelineConfig(p4info=info)
        )

    with grpc.insecure_channel("127.0.0.1:1") as channel:
        client = SwitchClient("s1", 1, channel, None)
        monkeypatch.setattr(client._stub, "GetForwardingPipelineConfig", answer)
        with pytest.raises(SwitchError, match=r"^s1: its p4info: its parts don't fit: .+$"):
            client.tables()
    file = tmp_path / "x.p4info.txtpb"
    file.write_text(str(info))
    with pytest.raises(ProgramError, match=f"^{file}: its parts don't fit: .+$"):
        _ = Program("x", program.json, file).schema


def test_entities_are_bounded_by_number_and_bytes(monkeypatch):
    monkeypatch.setattr(answers, "MOST_BYTES", 10_000)
    small = p4r.ReadResponse(entities=[p4r.Entity(table_entry=p4r.TableEntry(table_id=1))] * 10)
    large = p4r.ReadResponse(
        entities=[p4r.Entity(table_entry=p4r.TableEntry(metadata=bytes(9000)))]
    )
    assert len(answers.entities("s", [small] * 3)) == 30
    with pytest.raises(SwitchError, match="30 entities"):
        answers.entities("s", [small] * 4)
    assert len(answers.entities("s", [large])) == 1
    with pytest.raises(SwitchError, match="1 entities"):
        answers.entities("s", [large] * 2)


def test_types_that_consist_of_each_other_twice_are_read_once():
    """In a kilobyte are 40 of them, so the last one has 2^40 members."""
    info = p4i.P4Info()
    types = info.type_info.new_types
    types["t0"].original_type.bitstring.bit.bitwidth = 8
    for number in range(1, 40):
        for _ in range(2):
            members = types[f"t{number}"].original_type.tuple.members
            members.add().new_type.name = f"t{number - 1}"
    register = info.registers.add(size=1)
    register.type_spec.new_type.name = "t39"
    assert len(info.SerializeToString()) < 2000
    first, second = schema_of(info).registers[0].type_spec.members
    assert first is second
    types["t0"].original_type.new_type.name = "t39"
    with pytest.raises(ValueError, match=r"the new type 't\d+' contains itself"):
        schema_of(info)


def test_server_that_ends_before_it_answers_is_an_error_that_names_it(tmp_path):
    command = [sys.executable, "-c", "raise SystemExit(3)", "a word"]
    with subprocess.Popen(command) as process, pytest.raises(SwitchError) as refused:
        # a limit that only a hang reaches
        SwitchClient.connect("s1", f"unix:{tmp_path}/none", 1, limit_s=LIMIT_S, process=process)
    assert str(refused.value) == (
        f"s1: its server ended with exit code 3 before it answered at unix:{tmp_path}/none; it was "
        f"started by {shlex.join(command)}"
    )
