"""Forwarding-pipeline configurations: from the client's bytes to a program that runs.

Source: P4Runtime specification, "SetForwardingPipelineConfig RPC". `p4_device_config` is the JSON that p4c's BMv2
backend writes, as BMv2 takes it.
"""

from __future__ import annotations

import ctypes
import logging
from dataclasses import dataclass, field
from pathlib import Path

from finsy.proto import p4r

from softswitch.codegen.build import BuildError, build_program
from softswitch.native import NativeError, NativeSwitch
from softswitch.p4runtime import binding
from softswitch.p4runtime.errors import INTERNAL, INVALID_ARGUMENT, NOT_FOUND, RpcError, from_native
from softswitch.p4runtime.forwarding import Forwarding
from softswitch.p4runtime.schema import Schema
from softswitch.program import load_program
from softswitch.program.errors import ProgramError

log = logging.getLogger(__name__)

Request = p4r.SetForwardingPipelineConfigRequest


@dataclass(frozen=True)
class Verified:
    """A configuration that this switch can run."""

    config: p4r.ForwardingPipelineConfig
    schema: Schema
    shared_object: Path


@dataclass
class _Saved:
    """What VERIFY_AND_SAVE keeps: the state lives in a switch without ports until COMMIT replays its writes."""

    verified: Verified
    shadow: NativeSwitch
    state: Forwarding
    writes: list[p4r.Update] = field(default_factory=list)


def verify(config: p4r.ForwardingPipelineConfig) -> Verified:
    """Translates and compiles. Takes seconds for a program that was never seen. Raises RpcError."""
    if not config.p4_device_config:
        raise RpcError(INVALID_ARGUMENT, "the pipeline configuration has no p4_device_config (p4c's BMv2 JSON)")
    try:
        program = load_program(config.p4_device_config.decode("utf-8"))
        schema = binding.bind(config.p4info, program)
        return Verified(config, schema, build_program(program))
    except (ProgramError, UnicodeDecodeError) as error:
        raise RpcError(INVALID_ARGUMENT, f"p4_device_config: {error}") from error
    except BuildError as error:
        raise RpcError(INTERNAL, f"the program could not be compiled: {error}") from error


class Pipeline:
    """The configuration of one switch: what runs, and what was saved to run later. Callers serialise their calls."""

    def __init__(self, native: NativeSwitch, library: ctypes.CDLL) -> None:
        self._native = native
        self._library = library
        self._running: Verified | None = None
        self._state: Forwarding | None = None
        self._saved: _Saved | None = None

    @property
    def state(self) -> Forwarding | None:
        """What Write and Read mean: the saved configuration where there is one, else the running one."""
        return self._saved.state if self._saved else self._state

    @property
    def running(self) -> Forwarding | None:
        """What packets and digests meet."""
        return self._state

    @property
    def config(self) -> p4r.ForwardingPipelineConfig | None:
        """The configuration that `state` belongs to."""
        if self._saved:
            return self._saved.verified.config
        return self._running.config if self._running else None

    def record(self, updates: list[p4r.Update]) -> None:
        """Remembers updates that succeeded, for COMMIT."""
        if self._saved:
            self._saved.writes += updates

    def commit(self, verified: Verified) -> None:
        """VERIFY_AND_COMMIT: runs a configuration, with no state."""
        self._drop_saved()
        self._run(verified)

    def save(self, verified: Verified) -> None:
        """VERIFY_AND_SAVE: from now on Write and Read mean this configuration; packets still meet the running one."""
        shadow = NativeSwitch(self._library)
        try:
            shadow.load(verified.shared_object)
            state = Forwarding(verified.schema, shadow)
        except NativeError as error:
            shadow.close()
            raise from_native(error) from error
        self._drop_saved()
        self._saved = _Saved(verified, shadow, state)

    def commit_saved(self) -> None:
        """COMMIT: runs the saved configuration and replays the writes since. Raises RpcError NOT_FOUND without one."""
        saved = self._saved
        if saved is None:
            raise RpcError(NOT_FOUND, "there is no saved configuration to commit (VERIFY_AND_SAVE)")
        self._run(saved.verified)
        assert self._state is not None
        for update in saved.writes:
            self._state.apply(update)
        self._drop_saved()

    def reconcile(self, verified: Verified) -> None:
        """RECONCILE_AND_COMMIT: runs a configuration and keeps the state. Raises RpcError if it does not fit."""
        updates = list(self._state.snapshot()) if self._state else []
        with NativeSwitch(self._library) as shadow:  # a rehearsal: what does not fit must change nothing
            try:
                shadow.load(verified.shared_object)
            except NativeError as error:
                raise from_native(error) from error
            rehearsal = Forwarding(verified.schema, shadow)
            for update in updates:
                try:
                    rehearsal.apply(update)
                except RpcError as error:
                    raise RpcError(INVALID_ARGUMENT, f"the state does not fit the program: {error.message}") from error
        self._drop_saved()
        self._run(verified)
        assert self._state is not None
        for update in updates:
            self._state.apply(update)

    def close(self) -> None:
        """Frees what was saved."""
        self._drop_saved()

    def _run(self, verified: Verified) -> None:
        try:
            self._native.load(verified.shared_object)
        except NativeError as error:
            raise from_native(error) from error
        if self._state is not None:
            self._state.replication.clear()
        self._running = verified
        self._state = Forwarding(verified.schema, self._native)

    def _drop_saved(self) -> None:
        saved, self._saved = self._saved, None
        if saved:
            saved.shadow.close()
