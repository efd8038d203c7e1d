"""gRPC's reflection: a client without any .proto file finds the services and calls them, as grpcurl
does."""

import signal
from collections.abc import Iterator

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from p4rt_client import WAIT_S
from p4rt_process import Process

Request = reflection_pb2.ServerReflectionRequest


@pytest.fixture
def channel() -> Iterator[grpc.Channel]:
    process = Process("--no-p4", "--clock", "manual", "-i", "1")
    with grpc.insecure_channel(f"127.0.0.1:{process.port}") as channel:
        yield channel
    assert process.end(signal.SIGTERM) == 0


def ask(channel: grpc.Channel, **request):
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    (answer,) = stub.ServerReflectionInfo(iter([Request(**request)]), timeout=WAIT_S)
    return answer


def test_reflection_lists_the_services(channel: grpc.Channel):
    services = ask(channel, list_services="").list_services_response.service
    assert {service.name for service in services} == {
        "p4.v1.P4Runtime",
        "gnmi.gNMI",
        "softswitch.ManualClock",
        "grpc.reflection.v1alpha.ServerReflection",
    }


@pytest.mark.parametrize(
    ("service", "method", "field"),
    [
        ("p4.v1.P4Runtime", "Capabilities", "p4runtime_api_version"),
        ("gnmi.gNMI", "Capabilities", "gNMI_version"),
        ("softswitch.ManualClock", "Advance", None),
    ],
)
def test_reflection_describes_what_a_call_needs(channel: grpc.Channel, service, method, field):
    answer = ask(channel, file_containing_symbol=service)
    pool = descriptor_pool.DescriptorPool()
    parsed = map(
        descriptor_pb2.FileDescriptorProto.FromString,
        answer.file_descriptor_response.file_descriptor_proto,
    )
    files = {file.name: file for file in parsed}

    def add(name: str):
        """Behind those that it refers to."""
        if name in files:
            file = files.pop(name)
            for dependency in file.dependency:
                add(dependency)
            pool.Add(file)

    for name in list(files):
        add(name)
    descriptor = pool.FindServiceByName(service).methods_by_name[method]
    takes, gives = map(
        message_factory.GetMessageClass, (descriptor.input_type, descriptor.output_type)
    )
    call = channel.unary_unary(f"/{service}/{method}", takes.SerializeToString, gives.FromString)
    reply = call(takes(), timeout=WAIT_S)
    assert field is None or getattr(reply, field)


def test_reflection_answers_unknown_symbols_with_an_error(channel: grpc.Channel):
    assert ask(channel, file_containing_symbol="no.such.Service").error_response.error_code == 5
