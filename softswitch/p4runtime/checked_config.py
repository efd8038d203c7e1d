"""What a client's forwarding-pipeline configuration comes to: a program that this switch can run,
and its names.

Source: P4Runtime specification, "SetForwardingPipelineConfig RPC". `p4_device_config` is the JSON
that p4c's BMv2 backend writes, as BMv2 takes it: alone, or in the P4DeviceConfig of PI's
p4/tmp/p4config.proto, as p4runtime_lib of p4lang/tutorials sends it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from pcn.base.p4rt import p4r
from pcn.softswitch.codegen.build import BuildError, build_program, read_program
from pcn.softswitch.native import NativeSwitch
from pcn.softswitch.p4runtime import binding
from pcn.softswitch.p4runtime.entities import Forwarding
from pcn.softswitch.p4runtime.errors import INTERNAL, INVALID_ARGUMENT, RpcError
from pcn.softswitch.p4runtime.schema import Schema
from pcn.softswitch.program.errors import ProgramError
from pcn.softswitch.program.model import Program

LENGTH_DELIMITED = 2  # protobuf's wire type of bytes and messages


@dataclass(frozen=True)
class Verified:
    """A configuration that this switch can run."""

    config: p4r.ForwardingPipelineConfig
    schema: Schema
    json_text: str
    shared_object: Path

    def state(self, native: NativeSwitch) -> Forwarding:
        """Returns the state of a switch that has just loaded it."""
        return Forwarding(self.schema, native)


def verify(
    config: p4r.ForwardingPipelineConfig,
    *,
    inplace: bool = False,
    traced: bool = False,
    covered: bool = False,
) -> Verified:
    """Translates and compiles, `inplace` with that form too, `traced` so that it reports its steps,
    `covered` so that it counts what packets run through. Takes seconds for a program that was never
    seen. Raises RpcError."""
    if not config.p4_device_config:
        raise RpcError(
            INVALID_ARGUMENT, "the pipeline configuration has no p4_device_config (p4c's BMv2 JSON)"
        )
    try:
        text = device_data(config.p4_device_config).decode("utf-8")
        program, keep = loaded(text)
        schema = binding.bind(config.p4info, program)
        built = build_program(text, inplace=inplace, traced=traced, covered=covered)
        keep()
        return Verified(config, schema, text, built)
    except (ProgramError, UnicodeDecodeError) as error:
        raise RpcError(INVALID_ARGUMENT, f"p4_device_config: {error}") from error
    except BuildError as error:
        raise RpcError(INTERNAL, f"the program could not be compiled: {error}") from error


def of_json(text: str, *, traced: bool = False, covered: bool = False) -> Verified:
    """Returns the configuration of a program without a p4info: one is made of its JSON. Raises as
    `build_program`."""
    from pcn.softswitch.p4runtime.described import describe

    info = describe(loaded(text)[0])
    config = p4r.ForwardingPipelineConfig(p4info=info, p4_device_config=text.encode())
    return verify(config, traced=traced, covered=covered)


def device_data(config: bytes) -> bytes:
    """Returns the JSON of a p4_device_config.

    P4DeviceConfig has it in field 2, or in 3 where it has `reassign` as its first. JSON is never
    taken for that message: it would have to begin a field with the byte 0x12 or 0x1a, and has no
    such control characters.
    """
    try:
        fields: Any = UnknownFieldSet(Empty.FromString(config))
        payloads: dict[int, bytes] = {
            f.field_number: f.data for f in fields if f.wire_type == LENGTH_DELIMITED
        }
    except DecodeError:
        return config
    return payloads.get(3, payloads.get(2, config))


@lru_cache(maxsize=1)
def loaded(text: str) -> tuple[Program, Callable[[], None]]:
    """Returns what `read_program` returns. The cache keeps the latest one, as a controller that
    starts anew pushes it again."""
    return read_program(text)
