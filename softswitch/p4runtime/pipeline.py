"""The forwarding-pipeline configuration of a switch: what runs, and what was saved to run later.

Source: P4Runtime specification, "SetForwardingPipelineConfig RPC". checked_config.py makes
configurations.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, NamedTuple

from pcn.base.p4rt import p4r
from pcn.softswitch.native import NativeError, NativeSwitch
from pcn.softswitch.p4runtime.errors import (
    INVALID_ARGUMENT,
    NOT_FOUND,
    RESOURCE_EXHAUSTED,
    RpcError,
    from_native,
)
from pcn.softswitch.program.errors import ProgramError

if TYPE_CHECKING:
    from pcn.softswitch.coverage.counts import Counts
    from pcn.softswitch.p4runtime.checked_config import Verified
    from pcn.softswitch.p4runtime.entities import Forwarding
    from pcn.softswitch.trace.tracer import Tracer


class _Saved(NamedTuple):
    """What VERIFY_AND_SAVE keeps: the state lives in a switch without ports until COMMIT replays
    its writes."""

    verified: Verified
    shadow: NativeSwitch
    state: Forwarding
    writes: list[p4r.Update]


class Pipeline:
    """The configuration of one switch. Callers serialise their calls. `tracer`: of a switch whose
    programs are traced; `counts`: of one whose programs are covered."""

    def __init__(
        self,
        native: NativeSwitch,
        library: ctypes.CDLL,
        tracer: Tracer | None = None,
        counts: Counts | None = None,
    ) -> None:
        self._tracer = tracer
        self._counts = counts
        self._native = native
        self._library = library
        self._running: Verified | None = None
        self._state: Forwarding | None = None
        self._saved: _Saved | None = None

    @property
    def state(self) -> Forwarding | None:
        """What Write and Read mean: the saved configuration where there is one, else the running
        one."""
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

    @property
    def json_text(self) -> str:
        """The program that `state` belongs to; empty: there is none."""
        verified = self._saved.verified if self._saved else self._running
        return verified.json_text if verified else ""

    def restart(self) -> None:
        """Runs the present configuration with no state. Raises RpcError."""
        if self._running is not None:
            self.commit(self._running)

    @property
    def traced(self) -> bool:
        """Whether programs report their steps."""
        return self._tracer is not None

    @property
    def covered(self) -> bool:
        """Whether programs count what packets run through."""
        return self._counts is not None

    def record(self, updates: list[p4r.Update]) -> None:
        """Remembers updates that succeeded, for COMMIT."""
        if self._saved:
            self._saved.writes.extend(updates)

    def commit(self, verified: Verified) -> None:
        """VERIFY_AND_COMMIT: runs a configuration, with no state."""
        self._drop_saved()
        self._run(verified)

    def save(self, verified: Verified) -> None:
        """VERIFY_AND_SAVE: from now on Write and Read mean this configuration; packets still meet
        the running one."""
        shadow = NativeSwitch(self._library, manual=self._native.manual)
        try:
            shadow.load(verified.shared_object)
            state = verified.state(shadow)
        except NativeError as error:
            shadow.close()
            raise from_native(error) from error
        self._drop_saved()
        self._saved = _Saved(verified, shadow, state, [])

    def commit_saved(self) -> None:
        """COMMIT: runs the saved configuration and replays the writes since. Raises RpcError
        NOT_FOUND without one."""
        saved = self._saved
        if saved is None:
            raise RpcError(NOT_FOUND, "no saved configuration to commit (VERIFY_AND_SAVE)")
        self._run(saved.verified)
        assert self._state is not None
        for update in saved.writes:
            self._state.apply(update)
        self._drop_saved()

    def reconcile(self, verified: Verified) -> None:
        """RECONCILE_AND_COMMIT: runs a configuration and keeps the state. Raises RpcError if it
        does not fit."""
        updates = list(self._state.snapshot()) if self._state else []
        with NativeSwitch(
            self._library, manual=self._native.manual
        ) as shadow:  # a rehearsal: what does not fit must change nothing
            try:
                shadow.load(verified.shared_object)
            except NativeError as error:
                raise from_native(error) from error
            rehearsal = verified.state(shadow)
            for update in updates:
                try:
                    rehearsal.apply(update)
                except RpcError as error:
                    raise RpcError(
                        INVALID_ARGUMENT, f"the state does not fit the program: {error.message}"
                    ) from error
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
            counts = self._counts.of(verified.json_text) if self._counts is not None else None
        except ProgramError as error:
            raise RpcError(RESOURCE_EXHAUSTED, str(error)) from error
        if self._tracer is not None:
            self._tracer.loading(verified.json_text)
        try:
            self._native.load(verified.shared_object, counts)
        except NativeError as error:
            if self._tracer is not None:
                self._tracer.not_loaded()
            raise from_native(error) from error
        if self._state is not None:
            self._state.replication.clear()
        self._running = verified
        self._state = verified.state(self._native)

    def _drop_saved(self) -> None:
        saved, self._saved = self._saved, None
        if saved:
            saved.shadow.close()
