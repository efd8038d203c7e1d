"""RPs and NPs in C: C files beside their Python texts (csrc/reaction_point.h,
notification_point.h).

A `CompiledReactionPoint` is a ReactionPoint like any other, and a `CompiledNotificationPoint` an
NP; the engine of virtual time calls their functions itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..algorithms.base import NotificationPoint, ReactionPoint, c_file
from ..algorithms.parameters import describe
from ..algorithms.scheme import Configured, SchemeError
from .code import Code, EndsInC, Interface, code_path, load
from .np import NP, CompiledNotificationPoint
from .rp import RP, CompiledReactionPoint

__all__ = [
    "NP", "RP", "Code", "CompiledNotificationPoint", "CompiledReactionPoint", "Ends", "EndsInC",
    "load",
]  # fmt: skip


class Ends:
    """RPs and NPs of a scheme's flows, in C where their classes name files (`in_c`), else in
    Python. Methods raise SchemeError: such a file can't be compiled, or has none."""

    def __init__(self, configured: Configured) -> None:
        self.configured = configured
        self._code: dict[type, Code | None] = {}
        # One Python text's RP by line rate, and one NP, serve all flows that have theirs in C.
        self._rps: dict[float, tuple[Code, ReactionPoint]] = {}
        self._np: tuple[Code, NotificationPoint] | None = None

    def new_rp(self, line_rate_bps: float) -> ReactionPoint:
        """Returns the RP of a flow that starts now on a NIC of this rate."""
        if line_rate_bps not in self._rps:
            specification = self.configured.new_rp(line_rate_bps)
            code = self.code(type(specification), RP)
            if code is None:
                return specification
            self._rps[line_rate_bps] = code, specification
        code, specification = self._rps[line_rate_bps]
        structs = CompiledReactionPoint.structs(code, line_rate_bps)
        return CompiledReactionPoint(code, specification, (structs, structs.address))

    def new_np(self) -> NotificationPoint:
        """Returns the NP of a flow whose first packet has arrived."""
        if self._np is None:
            specification = self.configured.new_np()
            code = self.code(type(specification), NP)
            if code is None:
                return specification
            if specification.grants and not {"on_demand", "on_turn"} <= code.functions.keys():
                raise SchemeError(
                    f"{self.configured.scheme.name}: its NP in C grants, so it needs on_demand and "
                    "on_turn"
                )
            self._np = code, specification
        code, specification = self._np
        structs = CompiledNotificationPoint.structs(code, specification)
        return CompiledNotificationPoint(code, specification, (structs, structs.address))

    def code(
        self, end: type[ReactionPoint | NotificationPoint], interface: Interface
    ) -> Code | None:
        """Returns that of a class; None: it names no file."""
        if end not in self._code:
            file = c_file(end)
            self._code[end] = None if file is None else self._load(file, interface)
        return self._code[end]

    def paths(self, line_rate_bps: float) -> Iterator[Path]:
        """Yields the shared objects of RP and NP, of those that are in C, compiled if they aren't
        yet; none is loaded. Raises BuildError."""
        configured = self.configured
        for end, interface in ((configured.new_rp(line_rate_bps), RP), (configured.new_np(), NP)):
            if (file := c_file(type(end))) is not None:
                yield code_path(file, self._parameters(), interface)

    def _parameters(self) -> str:
        """Returns the scheme's parameters as a struct in C."""
        fields = " ".join(
            f"double {parameter.field};"
            for parameter in describe(self.configured.scheme.parameters)
        )
        return f"struct parameters {{ {fields or 'double none;'} }};"

    def _load(self, file: Path, interface: Interface) -> Code:
        scheme = self.configured.scheme
        library = load(scheme.name, file, self._parameters(), interface)
        values = [
            getattr(self.configured.parameters, parameter.field)
            for parameter in describe(scheme.parameters)
        ]
        return Code(library, interface, values)
