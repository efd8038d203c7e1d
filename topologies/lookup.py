"""Topologies by reference: wherever a topology is named, it is found here.

    clos                       one of ours, or of an installed package (pcn.topologies.entry_points)
    path/to/file.py:NAME       a function of a Python file that returns a `Topology`, or a
                               `Topology`
    path/to/topology.txt       a file in one of the formats of `pcn.topologies.formats`, recognised
                               by name and content
    hpcc:path/to/x             a file in this format

Another process finds the same by `Blueprint.reference`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, get_type_hints

from pcn.base.errors import error_text, nearest
from pcn.base.units import Kind, kind_of, quantity
from pcn.topologies import ecmp, lossless, order, python_file, queue_depth
from pcn.topologies.catalog import TOPOLOGIES
from pcn.topologies.entry_points import installed, load
from pcn.topologies.model import Topology, TopologyError, Value
from pcn.topologies.python_file import PythonFileError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_WHOLE: tuple[Any, ...] = (int, int | None)
_TYPES: tuple[Any, ...] = (*_WHOLE, float, float | None, str)


@dataclass(frozen=True)
class Blueprint:
    """What a reference names: a function that makes a topology. Its arguments are the options."""

    reference: str
    function: Callable[..., Topology]
    file: Path | None = None
    """What it was read from."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Of names that are no options where the values stand."""

    @property
    def summary(self) -> str:
        """The first paragraph of its documentation, in one line: of ours the module's."""
        owner = inspect.getmodule(self.function) if self.reference in TOPOLOGIES else self.function
        return " ".join((inspect.getdoc(owner) or "").partition("\n\n")[0].split())

    @cached_property
    def options(self) -> dict[str, inspect.Parameter]:
        """By name, with their types: the function's own, then flow control's, lossy queues', ECMP's
        and the order at outputs, which have no default where the function doesn't take them: the
        topology has values. Raises TopologyError."""
        parameters: dict[str, inspect.Parameter] = {}
        for function in (
            self.function,
            lossless.parameters,
            queue_depth.parameters,
            ecmp.parameters,
            order.parameters,
        ):
            for option, parameter in inspect.signature(function).parameters.items():
                if parameter.kind is not inspect.Parameter.VAR_KEYWORD and option not in parameters:
                    parameters[option] = parameter.replace(
                        annotation=self._type(function, parameter)
                    )
        for option in parameters.keys() - self._taken:
            kind = parameters[option].annotation
            optional = {int: int | None, float: float | None}.get(kind, kind)
            parameters[option] = parameters[option].replace(annotation=optional, default=None)
        return {
            option: parameter
            for option, parameter in parameters.items()
            if parameter.annotation in _TYPES
        }

    @cached_property
    def _taken(self) -> set[str]:
        """Options that the function takes."""
        parameters = inspect.signature(self.function).parameters
        takes_all = any(
            parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()
        )
        return {
            *parameters,
            *(inspect.signature(lossless.parameters).parameters if takes_all else ()),
        }

    def _type(self, function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
        """Returns an argument's type: as it is annotated, or its default's. Raises TopologyError
        for one that nothing sets."""
        try:
            owner = inspect.unwrap(function)
            hints = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
            type_ = get_type_hints(hints, getattr(owner, "__globals__", {}))[parameter.name]
        except Exception as error:
            raise TopologyError(
                f"{self.reference}: the type of {parameter.name}: {error_text(error)}"
            ) from error
        if type_ is inspect.Parameter.empty:
            type_ = type(parameter.default)
        if type_ not in _TYPES and parameter.default is inspect.Parameter.empty:
            raise TopologyError(
                f"{self.reference}: {parameter.name} needs a default, or the type int, float or str"
            )
        return type_

    def build(self, values: Mapping[str, Value] | None = None) -> Topology:
        """Makes the topology, with options: numbers in SI units, or text with a unit. Raises
        TopologyError with the nearest name for an unknown option."""
        known, chosen = self.options, values or {}
        for option in chosen:
            if option in self.elsewhere and option not in known:
                raise TopologyError(
                    f"{self.reference} has no option {option!r}: {self.elsewhere[option]}"
                )
            if option not in known:
                raise TopologyError(
                    f"{self.reference} has no option {option!r}; {nearest(option, known)}"
                )
        read = {
            option: _value(option, value, known[option].annotation)
            for option, value in chosen.items()
        }
        arguments = {option: value for option, value in read.items() if option in self._taken}
        topology = self._topology(arguments)
        left = {option: value for option, value in read.items() if option not in arguments}
        if (arbitration := left.pop(order.ORDER, None)) is not None:
            topology = with_order(topology, str(arbitration))
        return replace(topology, parameters={**topology.parameters, **left}) if left else topology

    def _topology(self, arguments: Mapping[str, Value]) -> Topology:
        try:
            topology = self.function(**arguments)
        except TopologyError:
            raise
        except Exception as error:
            raise TopologyError(f"{self.reference}: {error_text(error)}") from error
        if not isinstance(topology, Topology):
            raise TopologyError(f"{self.reference} returns no Topology, but {topology!r:.60}")
        return topology


def with_order(topology: Topology, arbitration: str) -> Topology:
    """Returns the topology whose switches all have this arbitration, as the option `order` names
    it. Raises TopologyError."""
    chosen = order.absolute(arbitration)
    switches = tuple(replace(switch, arbitration=chosen) for switch in topology.switches)
    return replace(topology, switches=switches)


def find_topology(reference: str) -> Blueprint:
    """Finds a topology by name or file. Raises TopologyError with the nearest names."""
    if reference in TOPOLOGIES:
        return Blueprint(reference, TOPOLOGIES[reference])
    path, colon, name = reference.rpartition(":")
    if colon and path.endswith(".py"):
        return _from_python(Path(path).absolute(), name)
    if reference.endswith(".py"):
        raise TopologyError(
            f"{reference!r}: write the file and the function in it, as in star.py:star"
        )
    # late, as below: they take most of this module's time to load
    from pcn.topologies.formats.known import split

    place = split(reference)
    if place and (place[0] or place[1].exists()):
        return _from_file(*place)
    for point in _installed():
        if point.name == reference:
            return _from_entry_point(point)
    if place:
        return _from_file(*place)  # which reports what is wrong with the path
    raise TopologyError(
        f"no topology {reference!r}; {nearest(reference, names())}; or a file, as topology.txt or "
        "star.py:star"
    )


def names() -> list[str]:
    """Returns the names of ours, then of installed packages'."""
    return [*TOPOLOGIES, *(point.name for point in _installed() if point.name not in TOPOLOGIES)]


def kind_of_option(option: str, annotation: object) -> Kind:
    """Returns what an option's value is, by its name and its type."""
    kind = kind_of(option)
    return "count" if kind == "number" and annotation in _WHOLE else kind


def _value(option: str, value: Value, annotation: object) -> Value:
    """Returns the value as its option has it: whole where what it counts is, text where that is a
    name."""
    if annotation is str:
        return str(value)
    try:
        number = (
            quantity(kind_of_option(option, annotation), value)
            if isinstance(value, str)
            else float(value)
        )
    except ValueError as error:
        raise TopologyError(f"{option}={value}: {error}") from None
    whole = annotation in _WHOLE
    if not math.isfinite(number) or (whole and not number.is_integer()):
        raise TopologyError(f"{option}={value}: a {'whole ' if whole else ''}number is needed")
    return int(number) if whole else number


def _installed() -> Iterable[EntryPoint]:
    return installed("topology")


@lru_cache(maxsize=32)
def _module(path: Path, _content: bytes) -> ModuleType:
    """Executes a file once for each content."""
    return python_file.load(path)


def _from_python(path: Path, name: str) -> Blueprint:
    try:
        namespace = vars(_module(path, path.read_bytes() if path.is_file() else b""))
    except PythonFileError as error:
        raise TopologyError(str(error)) from error.__cause__  # the same text once
    if name not in namespace:
        defined = (
            key
            for key, value in namespace.items()
            if getattr(value, "__module__", "") == namespace["__name__"]
        )
        raise TopologyError(f"{path} has no {name!r}; {nearest(name, defined)}")
    return _blueprint(f"{path}:{name}", namespace[name], path)


def _from_file(name: str, path: Path) -> Blueprint:
    from pcn.topologies.formats import Source
    from pcn.topologies.formats.known import format_of

    source = Source.of(path.absolute())
    chosen = format_of(source, name)
    reference = f"{name}:{source.path}" if name else str(source.path)
    return Blueprint(reference, partial(chosen.read, source), source.path, chosen.elsewhere)


def _from_entry_point(point: EntryPoint) -> Blueprint:
    return _blueprint(point.name, load("topology", point, TopologyError))


def _blueprint(reference: str, target: object, file: Path | None = None) -> Blueprint:
    """Returns the blueprint of a function that makes a topology, or of a Topology."""
    if isinstance(target, Topology):
        return Blueprint(reference, lambda: target, file)
    if not inspect.isroutine(target):
        raise TopologyError(
            f"{reference} is neither a function that makes a Topology nor a Topology"
        )
    return Blueprint(reference, target, file)
