"""What a client's forwarding-pipeline configuration comes to: a program that this switch can run, and its names.

Source: P4Runtime specification, "SetForwardingPipelineConfig RPC". `p4_device_config` is the JSON that p4c's BMv2
backend writes, as BMv2 takes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from finsy.proto import p4r

from softswitch.codegen.build import BuildError, build_program
from softswitch.native import NativeSwitch
from softswitch.p4runtime import binding
from softswitch.p4runtime.errors import INTERNAL, INVALID_ARGUMENT, RpcError
from softswitch.p4runtime.forwarding import Forwarding
from softswitch.p4runtime.schema import Schema
from softswitch.program.errors import ProgramError
from softswitch.program.load import load_program
from softswitch.program.model import Program


@dataclass(frozen=True)
class Verified:
    """A configuration that this switch can run."""

    config: p4r.ForwardingPipelineConfig
    schema: Schema
    shared_object: Path

    def state(self, native: NativeSwitch) -> Forwarding:
        """The state of a switch that has just loaded it."""
        return Forwarding(self.schema, native)


def verify(config: p4r.ForwardingPipelineConfig) -> Verified:
    """Translates and compiles. Takes seconds for a program that was never seen. Raises RpcError."""
    if not config.p4_device_config:
        raise RpcError(INVALID_ARGUMENT, "the pipeline configuration has no p4_device_config (p4c's BMv2 JSON)")
    try:
        text = config.p4_device_config.decode("utf-8")
        schema = binding.bind(config.p4info, _loaded(text))
        return Verified(config, schema, build_program(text))
    except (ProgramError, UnicodeDecodeError) as error:
        raise RpcError(INVALID_ARGUMENT, f"p4_device_config: {error}") from error
    except BuildError as error:
        raise RpcError(INTERNAL, f"the program could not be compiled: {error}") from error


@lru_cache(maxsize=1)
def _loaded(text: str) -> Program:
    """The latest program is kept: a controller that starts anew pushes it again."""
    return load_program(text)
