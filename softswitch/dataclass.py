"""`@dataclass(frozen=True)` that takes a tenth of the time to declare: a command has some 300 of them.

`dataclasses` compiles six methods a class. Here they are closures, and `__init__` is compiled when the class has its
first instance. `fields`, `replace`, `asdict` and inheritance are those of `dataclasses`; `InitVar` and
`field(init=False)` are refused. A value equals itself, as before Python 3.13: NaN, too. The variable
SOFTSWITCH_ALL_MODULES, not empty, puts `dataclasses`' own in its place: to exclude this module as a cause.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

_Class = TypeVar("_Class", bound=type)


def _dataclass(cls: Any = None, /, **options: bool) -> Any:
    return _make if cls is None and options == {"frozen": True} else dataclasses.dataclass(cls, **options)


def _make(cls: _Class) -> _Class:
    own = vars(cls)
    if cls.__doc__ is None:
        cls.__doc__ = f"{cls.__name__}({', '.join(own.get('__annotations__', ()))})"  # `dataclasses` would take longer
    inherits = any(dataclasses.is_dataclass(base) for base in cls.__bases__)
    methods: dict[str, Callable[..., Any]] = {} if "__init__" in own else {"__init__": _first_init(cls)}
    dataclasses.dataclass(init=False, repr=False, eq=False, frozen=inherits)(cls)
    params = cls.__dataclass_params__  # type: ignore[attr-defined]
    params.init = params.repr = params.eq = params.frozen = True
    fields = dataclasses.fields(cls)
    if cls.__match_args__ != tuple(one.name for one in fields if not one.kw_only):  # type: ignore[attr-defined]
        raise TypeError(f"{cls.__qualname__} has an InitVar or a field(init=False): use dataclasses.dataclass")
    methods |= {"__repr__": _repr, "__setattr__": _setattr, "__delattr__": _delattr}
    compared = _values([one.name for one in fields if one.compare])
    hashed = _values([one.name for one in fields if (one.compare if one.hash is None else one.hash)])

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        return bool(compared(self) == compared(other)) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(hashed(self))

    methods |= {"__eq__": __eq__, "__hash__": __hash__}
    for name, method in methods.items():
        if name in ("__setattr__", "__delattr__") or own.get(name) is None:
            setattr(cls, name, method)
    return cls


def _values(names: list[str]) -> Callable[[Any], tuple[object, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _first_init(cls: type) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        init = cls.__init__ = _init(cls)  # type: ignore[misc]
        init(self, *args, **kwargs)

    return __init__


def _init(cls: type) -> Callable[..., None]:
    """Compiles the class's `__init__`."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    arguments, named, lines = ["self"], list[str](), list[str]()
    for one in dataclasses.fields(cls):
        name = one.name
        default, value = "", name
        if one.default is not dataclasses.MISSING:
            scope[f"_default_{name}"] = one.default
            default = f"=_default_{name}"
        elif one.default_factory is not dataclasses.MISSING:
            scope[f"_make_{name}"] = one.default_factory
            default, value = "=_missing", f"_make_{name}() if {name} is _missing else {name}"
        (named if one.kw_only else arguments).append(name + default)
        lines.append(f" _set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    words = ", ".join([*arguments, *(["*", *named] if named else [])])
    exec("\n".join([f"def __init__({words}):", *lines, " return"]), scope)
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    return made


@recursive_repr("...")
def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _setattr(self: Any, name: str, value: object) -> None:
    _refuse(self, name, "assign to")
    object.__setattr__(self, name, value)


def _delattr(self: Any, name: str) -> None:
    _refuse(self, name, "delete")
    object.__delattr__(self, name)


def _refuse(one: Any, name: str, verb: str) -> None:
    """A class that inherits, and isn't a dataclass itself, may have further attributes."""
    if "__dataclass_fields__" in vars(type(one)) or name in one.__dataclass_fields__:
        raise dataclasses.FrozenInstanceError(f"cannot {verb} field {name!r}")


if TYPE_CHECKING or os.environ.get("SOFTSWITCH_ALL_MODULES"):
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass
