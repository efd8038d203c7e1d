"""A dictionary whose error for an unknown key is a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class Named(dict[_K, _V]):
    """Raises what a function makes of an unknown key, in place of KeyError."""

    def __init__(self, unknown: Callable[[_K], Exception]) -> None:
        super().__init__()
        self._unknown = unknown

    def __missing__(self, key: _K) -> NoReturn:
        raise self._unknown(key)
