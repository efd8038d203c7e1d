"""Packages that only some commands need: the extras of pyproject.toml, `pip install
'pcn-lab[live]'`.

`pcn` reports an import that finds none of an extra in one line. `require` does so before work is
lost.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from pcn.base.errors import LabError

PROJECT = "pcn-lab"
"""The distribution, as pip names it."""
MODULES = {
    "bmv2": "thriftpy2",
    "cluster": "dask",
    "figures": "matplotlib",
    "live": "mininet",
    "mpi": "mpi4py",
    "parquet": "arro3",
    "web": "starlette",
    "yaml": "yaml",
}
"""By extra, the module that it brings. Functions that use it import it: all others do without."""


class MissingExtraError(LabError):
    """An extra isn't installed; the message has the command that installs it."""

    def __init__(self, extra: str) -> None:
        super().__init__(f"{MODULES[extra]} is missing: {remedy(extra)} installs it")


def version() -> str:
    """Returns the project's version: of the installation, or of a source tree that isn't installed;
    of a copy of the package alone it is unknown."""
    from importlib import metadata  # slow to load, and seldom needed

    try:
        return metadata.version(PROJECT)
    except metadata.PackageNotFoundError:
        file = Path(__file__).resolve().parents[1] / "pyproject.toml"
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        return next(iter(re.findall(r'^version = "(.+)"$', text, re.MULTILINE)), "unknown")


def remedy(*extras: str) -> str:
    """Returns the command that installs extras."""
    return f"pip install '{PROJECT}[{','.join(extras)}]'"


def installed(extra: str) -> bool:
    """Returns whether Python finds the extra's module, without loading it."""
    return importlib.util.find_spec(MODULES[extra]) is not None


def require(extra: str) -> None:
    """Checks for an extra before work begins. Raises MissingExtraError."""
    if not installed(extra):
        raise MissingExtraError(extra)


def of_import(error: ImportError) -> str | None:
    """Returns the extra that brings the module that an import lacks; None for a module of no
    extra."""
    module = (error.name or "").partition(".")[0]
    return next((extra for extra, package in MODULES.items() if package == module), None)
