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
from typing import TYPE_CHECKING, Any

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from pcn.base.p4rt import p4r
from pcn.softswitch.cache.objects import digest
from pcn.softswitch.codegen.build import BuildError, build_program, cached, read_program
from pcn.softswitch.native import NativeSwitch
from pcn.softswitch.p4runtime.entities import Forwarding
from pcn.softswitch.p4runtime.errors import INTERNAL, INVALID_ARGUMENT, RpcError
from pcn.softswitch.p4runtime.schema import Schema
from pcn.softswitch.program.errors import ProgramError

if TYPE_CHECKING:
    from pcn.softswitch.program.model import Program

LENGTH_DELIMITED = 2  # protobuf's wire type of bytes and messages


def _sources() -> str:
    """Returns what decides about a schema besides the program and its p4info: this folder."""
    return digest(sorted(Path(__file__).parent.glob("*.py")))


_LOADED = _sources()


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
        schema, keep = _schema(config, text)
        built = build_program(text, inplace=inplace, traced=traced, covered=covered)
        keep()
        return Verified(config, schema, text, built)
    except (ProgramError, UnicodeDecodeError) as error:
        raise RpcError(INVALID_ARGUMENT, f"p4_device_config: {error}") from error
    except BuildError as error:
        raise RpcError(INTERNAL, f"the program could not be compiled: {error}") from error


def _schema(
    config: p4r.ForwardingPipelineConfig, json_text: str
) -> tuple[Schema, Callable[[], None]]:
    """Returns the schema of a configuration with this JSON, and what keeps it: a switch that finds
    it in the cache loads neither the program nor what reads and binds one. Raises ProgramError,
    RpcError."""
    programs: list[Callable[[], None]] = []

    def bind() -> Schema:
        from pcn.softswitch.p4runtime import binding  # late: most starts find what it makes

        program, keep_program = loaded(json_text)
        programs.append(keep_program)
        return binding.bind(config.p4info, program)

    info = config.p4info.SerializeToString(deterministic=True).hex()
    schema, keep_schema = cached("schema", f"{info}\n{json_text}", bind, _sources, _LOADED)

    def keep() -> None:
        for keep_each in (*programs, keep_schema):
            keep_each()

    return schema, keep


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
