"""A client's gRPC calls of a service's descriptor (`protos.load`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pcn.base.protos import message

if TYPE_CHECKING:
    import grpc


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


def _kind(method: Any) -> str:
    streaming = (method.client_streaming, method.server_streaming)
    return "_".join("stream" if stream else "unary" for stream in streaming)
