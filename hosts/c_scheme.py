"""Schemes that are a C file alone, `--scheme FILE.c`: RP, parameters, and what hosts and switches
need beside.

The file states them by RP_SCHEME (csrc/reaction_point.h). Live hosts and virtual time run the same
C.
"""

from __future__ import annotations

import ctypes
import dataclasses
from ctypes import POINTER, c_bool, c_char_p, c_double, c_uint32
from functools import partial
from pathlib import Path
from typing import Any

from pcn.topologies import python_file

from .algorithms.base import ReactionPoint
from .algorithms.parameters import Parameters, describe, parameter
from .algorithms.scheme import Scheme, SchemeError
from .compiled import RP, Code, CompiledReactionPoint, load


class _Parameter(ctypes.Structure):
    """struct rp_parameter"""

    _fields_ = (
        *((name, c_char_p) for name in ("field", "kind")),
        *((name, c_double) for name in ("usual", "least", "most")),
        ("what", c_char_p),
    )


_NEVER_CHANGE = ("exact_marks", "wants_telemetry", "needs_rec_rate", "reports_left")


class _Scheme(ctypes.Structure):
    """struct rp_scheme"""

    _fields_ = (
        *((name, c_char_p) for name in ("summary", "program", "marking")),
        ("segment_bytes", c_uint32),
        *((name, c_bool) for name in _NEVER_CHANGE),
        ("parameters", POINTER(_Parameter)),
    )


def scheme_in(file: Path) -> Scheme:
    """Returns the scheme of a C file. Raises SchemeError, PythonFileError."""
    python_file.require_allowed(file)
    if not file.is_file():
        raise SchemeError(f"no file {file}")
    library = load(file.stem, file, "", RP)
    try:
        declaration = _Scheme.in_dll(library, "reaction_point_scheme")
    except ValueError:
        raise SchemeError(
            f"{file}: it has no RP_SCHEME(...), which a scheme in C alone needs"
        ) from None
    if not declaration.summary or not declaration.program:
        raise SchemeError(f"{file}: RP_SCHEME needs .summary and .program")
    marking = (declaration.marking or b"").decode()
    return Scheme(
        file.stem,
        declaration.summary.decode(),
        declaration.program.decode(),
        _parameters(declaration),
        partial(_new, library, _never_changes(declaration)),
        marking=tuple(name.strip() for name in marking.split(",") if name.strip()),
    )


def _parameters(declaration: _Scheme) -> type[Parameters]:
    """Returns the dataclass of the file's parameters."""
    fields: list[tuple[str, Any, Any]] = []
    while (row := declaration.parameters[len(fields)]).field:
        text = row.field.decode(), row.kind.decode(), row.what.decode()
        field = parameter(row.usual, text[1], text[2], least=row.least, most=row.most)
        fields.append((text[0], float, field))
    return dataclasses.make_dataclass("CParameters", fields, bases=(Parameters,), frozen=True)


def _never_changes(declaration: _Scheme) -> ReactionPoint:
    rp = ReactionPoint()
    rp.segment_bytes = declaration.segment_bytes or None
    for name in _NEVER_CHANGE:
        setattr(rp, name, getattr(declaration, name))
    return rp


def _new(
    library: ctypes.CDLL, constant: ReactionPoint, line_rate_bps: float, parameters: Any
) -> ReactionPoint:
    values = [getattr(parameters, parameter.field) for parameter in describe(type(parameters))]
    code = Code(library, RP, values)
    structs = CompiledReactionPoint.structs(code, line_rate_bps)
    return CompiledReactionPoint(code, constant, (structs, structs.address))
