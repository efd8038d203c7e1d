"""gRPC's server reflection, beside P4Runtime on the same address: which services there are and what
their messages look like, for clients that have no .proto files (grpcurl, Postman).

The library is loaded with the first request, as gNMI's messages are: a switch without such requests
runs without it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import grpc

from pcn.base import protos

SERVICE = "grpc.reflection.v1alpha.ServerReflection"
_FILES = ("p4/v1/p4runtime.proto", "gnmi/gnmi.proto")
_LOADING = threading.Lock()


class Reflection:
    """Of a server with these services. `handler` is what a gRPC server takes."""

    def __init__(self, services: Sequence[str]) -> None:
        self._services = [*services, SERVICE]
        self._servicer: Any = None

    def handler(self) -> grpc.GenericRpcHandler:
        method = grpc.stream_stream_rpc_method_handler(
            self._answers, self._parse, lambda answer: answer.SerializeToString()
        )
        return grpc.method_handlers_generic_handler(SERVICE, {"ServerReflectionInfo": method})

    def _parse(self, data: bytes) -> Any:
        from grpc_reflection.v1alpha import reflection_pb2

        return reflection_pb2.ServerReflectionRequest.FromString(data)

    def _answers(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        with _LOADING:
            if self._servicer is None:
                from grpc_reflection.v1alpha import reflection, reflection_pb2

                for name in _FILES:
                    protos.load(name)
                protos.POOL.AddSerializedFile(reflection_pb2.DESCRIPTOR.serialized_pb)
                self._servicer = reflection.ReflectionServicer(self._services, pool=protos.POOL)
        return self._servicer.ServerReflectionInfo(requests, context)  # type: ignore[no-any-return]
