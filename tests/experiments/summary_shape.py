"""Checks a summary's entries against their declarations."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pcn.experiments.results.columns import Columns
from pcn.experiments.results.summary import RUN


def mismatches(summary: Mapping[str, Any]) -> list[str]:
    """Returns entries that are missing, unknown or of another type, by path."""
    return _compare(summary, RUN, "")


def _compare(value, kind, path: str) -> list[str]:
    if isinstance(kind, Columns | dict):
        if not isinstance(value, Mapping):
            return [f"{path or 'it'} must be an object"]
        kinds = (
            {column.name: column.type for column in kind}
            if isinstance(kind, Columns)
            else dict.fromkeys(value, kind["*"])
        )
        wrong = [f"{path}.{key} is missing" for key in kinds.keys() - value.keys()]
        wrong += [f"{path}.{key} is unknown" for key in value.keys() - kinds.keys()]
        wrong += [
            p
            for key in kinds
            if key in value
            for p in _compare(value[key], kinds[key], f"{path}.{key}")
        ]
        return [problem.lstrip(".") for problem in wrong]
    if isinstance(kind, list):
        if not isinstance(value, Sequence) or isinstance(value, str):
            return [f"{path} must be a list"]
        return [
            p
            for index, item in enumerate(value)
            for p in _compare(item, kind[0], f"{path}[{index}]")
        ]
    kinds = get_args(kind) or (kind,)
    if not isinstance(value, (*kinds, int) if float in kinds else kinds) or isinstance(value, bool):
        return [f"{path} has the type {type(value).__name__}"]
    if isinstance(value, float) and not math.isfinite(value):
        return [f"{path} is {value}"]
    return []
