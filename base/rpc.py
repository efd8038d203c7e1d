"""gRPC of a service's descriptor (`protos.load`): a client's calls and a server's handler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import grpc

from pcn.base.protos import message


def calls(service: Any, channel: grpc.Channel) -> dict[str, Any]:
    """Returns the calls of a service by their methods' names."""
    return {
        method.name: getattr(channel, _kind(method))(
            f"/{service.full_name}/{method.name}",
            request_serializer=message(method.input_type).SerializeToString,
            response_deserializer=message(method.output_type).FromString,
        )
        for method in service.methods
    }


def handler(service: Any, behaviours: Mapping[str, Callable[..., Any]]) -> grpc.GenericRpcHandler:
    """Returns what a gRPC server needs to serve methods, each by its behaviour (request or
    requests, context); those that have none are UNIMPLEMENTED."""
    handlers = {}
    for name, behaviour in behaviours.items():
        method = service.methods_by_name[name]
        handlers[name] = getattr(grpc, f"{_kind(method)}_rpc_method_handler")(
            behaviour,
            request_deserializer=message(method.input_type).FromString,
            response_serializer=message(method.output_type).SerializeToString,
        )
    return grpc.method_handlers_generic_handler(service.full_name, handlers)


def _kind(method: Any) -> str:
    streaming = (method.client_streaming, method.server_streaming)
    return "_".join("stream" if stream else "unary" for stream in streaming)
