"""gRPC's server reflection, beside P4Runtime on the same address: which services there are and what
their messages look like, for clients that have no .proto files (grpcurl, Postman).

Its messages are loaded with the first request, as gNMI's are: a switch without such requests runs
without them. Source: gRPC's reflection.proto, v1alpha.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf import descriptor_pb2

from pcn.base import protos
from pcn.softswitch.p4runtime.calls import DONE, Call, Kind, Method, Pushed
from pcn.softswitch.p4runtime.errors import (
    INVALID_ARGUMENT,
    NOT_FOUND,
    RESOURCE_EXHAUSTED,
    RpcError,
)

SERVICE = "grpc.reflection.v1alpha.ServerReflection"
WAITING_BYTES = 1 << 20  # of answers that a client doesn't read
_FILES = ("p4/v1/p4runtime.proto", "gnmi/gnmi.proto")
_LOADING = threading.Lock()


class Reflection:
    """Of a server with these services."""

    def __init__(self, services: Sequence[str]) -> None:
        self._services = sorted([*services, SERVICE])

    def methods(self) -> Iterator[Method]:
        """Yields the methods that a server has of it."""
        path = f"/{SERVICE}/ServerReflectionInfo"
        yield Method(path, Kind.STREAM, self._stream, self._parse)

    def _parse(self, data: bytes) -> Any:
        from grpc_reflection.v1alpha import reflection_pb2

        with _LOADING:
            for name in _FILES:
                protos.load(name)
            protos.POOL.AddSerializedFile(reflection_pb2.DESCRIPTOR.serialized_pb)
        return reflection_pb2.ServerReflectionRequest.FromString(data)

    def _stream(self, call: Call) -> _Stream:
        return _Stream(call, self._services)


class _Stream:
    def __init__(self, call: Call, services: Sequence[str]) -> None:
        self._call = call
        self._services = services

    def hear(self, request: Any) -> None:
        from grpc_reflection.v1alpha import reflection_pb2

        answer = reflection_pb2.ServerReflectionResponse(original_request=request)
        try:
            self._answer(request, answer)
        except KeyError:
            answer.error_response.error_code = NOT_FOUND
            answer.error_response.error_message = "not found"
        pushed = self._call.push(answer.SerializeToString(), WAITING_BYTES)
        if pushed is Pushed.REFUSED:
            raise RpcError(RESOURCE_EXHAUSTED, "the client doesn't read its answers")

    def half_close(self) -> None:
        self._call.finish(DONE)

    def gone(self) -> None:
        pass

    def _answer(self, request: Any, answer: Any) -> None:
        """Raises KeyError for what there isn't."""
        kind, pool = request.WhichOneof("message_request"), protos.POOL
        if kind == "list_services":
            for name in self._services:
                answer.list_services_response.service.add(name=name)
        elif kind == "file_by_filename":
            self._files(pool.FindFileByName(request.file_by_filename), answer)
        elif kind == "file_containing_symbol":
            self._files(pool.FindFileContainingSymbol(request.file_containing_symbol), answer)
        elif kind == "file_containing_extension":
            wanted = request.file_containing_extension
            extended = pool.FindMessageTypeByName(wanted.containing_type)
            extension = pool.FindExtensionByNumber(extended, wanted.extension_number)
            self._files(pool.FindFileContainingSymbol(extension.full_name), answer)
        elif kind == "all_extension_numbers_of_type":
            extended = pool.FindMessageTypeByName(request.all_extension_numbers_of_type)
            numbers = answer.all_extension_numbers_response
            numbers.base_type_name = extended.full_name
            numbers.extension_number.extend(
                sorted(extension.number for extension in pool.FindAllExtensions(extended))
            )
        else:
            answer.error_response.error_code = INVALID_ARGUMENT
            answer.error_response.error_message = "the request is empty"

    def _files(self, file: Any, answer: Any) -> None:
        """Adds a file, and those that it imports."""
        files, waiting = {file.name: file}, [file]
        while waiting:
            for imported in waiting.pop().dependencies:
                if imported.name not in files:
                    files[imported.name] = imported
                    waiting.append(imported)
        for descriptor in files.values():
            text = descriptor_pb2.FileDescriptorProto()
            descriptor.CopyToProto(text)
            answer.file_descriptor_response.file_descriptor_proto.append(text.SerializeToString())
