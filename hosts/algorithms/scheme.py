"""A scheme as data: its two ends, its parameters, the program in the switches and the marking
points that it sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from pcn.base.errors import error_text, nearest
from pcn.base.units import is_whole, quantity

from .base import NetworkFacts, NotificationPoint, ReactionPoint
from .parameters import describe


class SchemeError(ValueError):
    """No such scheme, no such parameter, or a value that the parameter can't have."""


class Rule(NamedTuple):
    """How a parameter follows from a network: the formula, who states it, and whether switches take
    its value by each port's rate (`of_port`), where RPs and NPs have the one of the fastest
    host's."""

    text: str
    source: str = ""
    of_port: bool = False


def no_rules(_network: NetworkFacts) -> Mapping[str, float]:
    """Returns nothing: the scheme's defaults hold on every network."""
    return {}


@dataclass(frozen=True)
class Scheme:
    """How to make the two ends of a flow, and what marks for it.

    `program` is the data plane: a top program of p4src/v1model, or a file (.p4, or p4c's .json).
    `parameters` is the dataclass whose fields are the scheme's settings
    (`pcn.hosts.algorithms.parameters`). `marking` are the marking points of the program that take
    some of these: names of modules in `pcn.controller.marking`, or files. Files are found from
    where the scheme's own file is. `recommended` returns the settings that follow from a network,
    which `pcn up` uses. `by_network`: those of these fields that runs, too, derive from the network
    unless they are set, each with its rule: a `Rule`, or a text. `unfit` yields a remark, a line
    without the scheme's name, for each way in which a network isn't what the scheme is made for.
    `holds` returns what its rule comes to where `flows` last on a link, by these parameters:
    `utilisation`, the least, and `queue_bytes`, the most in the mean; what the rule doesn't state
    is left out. `lossless_alone`: its program marks packets of lossless classes alone, so flows of
    others are refused, as they would have no signal. `reference` is what another process finds the
    scheme by.
    """

    name: str
    summary: str
    program: str
    parameters: type[Any]
    reaction_point: Callable[[float, Any], ReactionPoint]
    notification_point: Callable[[Any], NotificationPoint] = lambda _parameters: NotificationPoint()
    marking: tuple[str, ...] = ()
    recommended: Callable[[NetworkFacts], Mapping[str, float]] = no_rules
    by_network: Mapping[str, Rule | str] = field(default_factory=dict, hash=False)
    unfit: Callable[[NetworkFacts], Iterable[str]] | None = None
    holds: Callable[[NetworkFacts, Any], Mapping[str, float]] | None = None
    lossless_alone: bool = False
    reference: str = ""

    def __post_init__(self) -> None:
        if not self.reference:
            object.__setattr__(self, "reference", self.name)

    @property
    def rules(self) -> dict[str, Rule]:
        """The rules of `by_network`, by field."""
        return {
            name: Rule(rule) if isinstance(rule, str) else rule
            for name, rule in self.by_network.items()
        }

    def configure(
        self,
        settings: Mapping[str, str | float] | None = None,
        at_ports: Mapping[float, Mapping[str, float]] = MappingProxyType({}),
    ) -> Configured:
        """Returns the scheme with these settings over its defaults: numbers in SI units, or text
        like `500us` and `1/128`. `at_ports`: by the rate of a switch's port, bit/s, settings that
        it has instead.

        Raises SchemeError.
        """
        described = {parameter.field: parameter for parameter in describe(self.parameters)}
        values: dict[str, float] = {}
        for name, value in (settings or {}).items():
            if name not in described:
                raise SchemeError(
                    f"{self.name} has no parameter {name!r}; {nearest(name, described)}"
                )
            kind, least = described[name].kind, described[name].least
            try:
                values[name] = (
                    quantity(kind, value, whole=is_whole(kind, least))
                    if isinstance(value, str)
                    else float(value)
                )
            except ValueError as error:
                raise SchemeError(f"{name}={value}: {error}") from None
        try:
            configured = Configured(self, self.parameters(**values), at_ports)
            for rate_bps in at_ports:
                configured.at(rate_bps)
            return configured
        except ValueError as error:
            raise SchemeError(f"{self.name}: {error}") from error


@dataclass(frozen=True)
class Configured:
    """A scheme and its parameters: all that a host needs to make RPs and NPs."""

    scheme: Scheme
    parameters: Any
    at_ports: Mapping[float, Mapping[str, float]] = field(default_factory=dict, hash=False)

    def at(self, rate_bps: float) -> Any:
        """Returns the parameters that a switch's port of this rate is configured from."""
        by_rate = self.at_ports.get(rate_bps)
        return replace(self.parameters, **by_rate) if by_rate else self.parameters

    @property
    def wants_telemetry(self) -> bool:
        """Whether its RPs do. Raises SchemeError."""
        return self._usual_rp.wants_telemetry

    @property
    def has_credit(self) -> bool:
        """Whether its data has 4 bytes more: what its NP is to grant, or what its flow has left.
        Raises SchemeError."""
        return self._usual_rp.reports_left or self.new_np().grants

    @property
    def _usual_rp(self) -> ReactionPoint | type[ReactionPoint]:
        """What has what all its RPs have: their class, so that none is made; one of them where a
        function makes them."""
        reaction_point = self.scheme.reaction_point
        if isinstance(reaction_point, type) and issubclass(reaction_point, ReactionPoint):
            return reaction_point
        return self.new_rp(1e9)

    def new_rp(self, line_rate_bps: float) -> ReactionPoint:
        """Returns the RP of a flow that starts now on a NIC of this rate. Raises SchemeError."""
        try:
            return self.scheme.reaction_point(line_rate_bps, self.parameters)
        except Exception as error:
            raise self._cannot_make("RP", error) from error

    def new_np(self) -> NotificationPoint:
        """Returns the NP of a flow whose first packet has arrived. Raises SchemeError."""
        try:
            np = self.scheme.notification_point(self.parameters)
        except Exception as error:
            raise self._cannot_make("NP", error) from error
        if np.period_s is not None and not 0 < np.period_s < math.inf:
            raise SchemeError(
                f"{self.scheme.name}: its NP's period_s is {np.period_s:g}: seconds, above 0; "
                "None: no windows"
            )
        return np

    def _cannot_make(self, end: str, error: Exception) -> SchemeError:
        return SchemeError(f"{self.scheme.name}: its {end} can't be made: {error_text(error)}")
