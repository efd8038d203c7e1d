"""`pcn.softswitch.dataclass` beside `dataclasses`: the same body under both decorators."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import Any

import pytest

from pcn.softswitch.dataclass import dataclass as lean

DECORATORS: dict[str, Any] = {"lean": lean(frozen=True), "plain": dataclasses.dataclass(frozen=True)}


def classes(decorate: Any) -> dict[str, Any]:
    @decorate
    class Point:
        """With a text."""

        x: float
        y: int = 2
        names: tuple[str, ...] = ()
        made: list[int] = field(default_factory=list, hash=False)
        note: str = field(default="n", compare=False)
        secret: int = field(default=7, repr=False)
        named: bool = field(default=False, kw_only=True)

    @decorate
    class Below(Point):
        z: int = 5

        def __post_init__(self) -> None:
            if self.z < 0:
                raise ValueError("z")

    @decorate
    class Single:
        value: float

        def __repr__(self) -> str:
            return "own"

    @decorate
    class Nothing:
        pass

    @dataclasses.dataclass(frozen=True)
    class Users(Below):  # type: ignore[misc]
        """As a user's file has it."""

        w: int = 1

    class Free(Point):  # type: ignore[misc]
        """No dataclass itself."""

    return {one.__name__: one for one in (Point, Below, Single, Nothing, Users, Free)}


BOTH = {name: classes(decorate) for name, decorate in DECORATORS.items()}


def outcome(act: Callable[[dict[str, Any]], object], by: str) -> object:
    try:
        return act(BOTH[by])
    except Exception as error:
        return type(error), str(error)


ACTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "repr": lambda c: repr([c["Point"](1.5), c["Below"](1, 3, ("a",), named=True), c["Nothing"](), c["Single"](1.0)]),
    "repr of a user's": lambda c: repr(c["Users"](1.0, w=4)),
    "eq": lambda c: [
        c["Point"](1) == c["Point"](1.0, note="other"),
        c["Point"](1) == c["Below"](1),
        c["Point"](1) != 1,
    ],
    "eq of nothing": lambda c: c["Nothing"]() == c["Nothing"](),
    "hash": lambda c: [
        hash(c["Point"](1, made=[1])),
        hash(c["Single"](2.5)),
        hash(c["Nothing"]()),
        hash(c["Below"](1)),
    ],
    "factory": lambda c: c["Point"](1).made is not c["Point"](1).made,
    "too few": lambda c: c["Point"](),
    "too many": lambda c: c["Single"](1, 2),
    "unknown": lambda c: c["Below"](1, colour=2),
    "keyword alone": lambda c: c["Point"](1, 2, (), [], "n", 7, True),
    "check": lambda c: c["Below"](1, z=-1),
    "check of a user's": lambda c: c["Users"](1, z=-1),
    "set": lambda c: setattr(c["Point"](1), "x", 2),
    "set of another name": lambda c: setattr(c["Point"](1), "other", 2),
    "delete": lambda c: delattr(c["Below"](1), "z"),
    "set of a free one": lambda c: setattr(c["Free"](1), "x", 2),
    "another name of a free one": lambda c: setattr(c["Free"](1), "other", 2),
    "replace": lambda c: repr(dataclasses.replace(c["Below"](1, made=[2]), y=9)),
    "asdict": lambda c: dataclasses.asdict(c["Users"](1, made=[2])),
    "fields": lambda c: [(one.name, one.type, one.default, one.kw_only) for one in dataclasses.fields(c["Users"])],
    "match": lambda c: (c["Below"].__match_args__, c["Nothing"].__match_args__),
    "class attributes": lambda c: (c["Point"].y, hasattr(c["Point"], "x"), hasattr(c["Point"], "made")),
    "copy": lambda c: repr(copy.deepcopy(c["Below"](1, made=[2]))),
    "docstring": lambda c: c["Point"].__doc__,
    "frozen": lambda c: c["Point"].__dataclass_params__.frozen,
    "signature": lambda c: [c["Below"](1), *inspect.signature(c["Below"]).parameters][1:],
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_lean_dataclass_does_what_a_plain_one_does(act: Callable[[dict[str, Any]], object]) -> None:
    assert outcome(act, "lean") == outcome(act, "plain")


@lean(frozen=True)
class Kept:
    a: int
    b: tuple[int, ...] = ()


def test_pickled_instance_of_a_class_without_instances_compares() -> None:
    """As another process reads it, where no `__init__` ran."""
    state = pickle.dumps(Kept(1, (2,)))
    read = pickle.loads(state)
    assert read == Kept(1, (2,))
    assert hash(read) == hash(Kept(1, (2,)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        read.a = 2


def test_value_equals_itself_as_before_python_3_13() -> None:
    assert BOTH["lean"]["Single"](math.nan) == BOTH["lean"]["Single"](math.nan)


def test_fields_that_init_would_not_take_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Given has an InitVar or a field\(init=False\)"):

        @lean(frozen=True)
        class Given:
            size: dataclasses.InitVar[int]

    with pytest.raises(TypeError, match=r"Late has an InitVar or a field\(init=False\)"):

        @lean(frozen=True)
        class Late:
            size: int = field(init=False, default=1)


def test_threads_make_first_instances_at_once() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for _ in range(20):
                below = classes(DECORATORS["lean"])["Below"]
                made = list(pool.map(below, range(8)))
                assert made == [below(x) for x in range(8)]
    finally:
        sys.setswitchinterval(before)


def test_other_options_are_those_of_dataclasses() -> None:
    @lean(order=True)
    class Ordered:
        a: int

    @lean
    class Changing:
        a: int

    one = Changing(1)
    one.a = 3
    assert Ordered(1) < Ordered(2)  # type: ignore[operator]
    assert one == Changing(3)
