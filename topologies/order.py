"""The order among packets of a class at switches' outputs: an option that every topology has."""

from __future__ import annotations

import re
from pathlib import Path

from pcn.base.errors import TopologyError
from pcn.topologies import python_file

ORDER = "order"
_FILE_AND_NAME = re.compile(r"(?P<file>.+\.c):(?P<name>[A-Za-z_]\w*)")
_UNREAD = "code "
"""Before one that stands in a file of a topology: it is shown, and never run."""


def parameters(order: str = "") -> dict[str, str]:
    """Returns it by name: an option of each topology."""
    return {ORDER: order}


def file_and_name(arbitration: str) -> tuple[Path, str] | None:
    """Returns the C file and the name of a scheduler in it, of FILE.c:NAME; None of another one.
    Raises TopologyError for a file that C's #include can't name."""
    match = None if arbitration.startswith(_UNREAD) else _FILE_AND_NAME.fullmatch(arbitration)
    if match is None:
        return None
    path = Path(match["file"])
    text = str(path.absolute())
    if re.search('["\n\ud800-\udfff]', text):
        raise TopologyError(f"{text}: C's #include can't name this path: rename it")
    return path, match["name"]


def shown(text: str) -> str | None:
    """Returns the arbitration for FILE.c:NAME in a file of a topology, such as a run has stored.
    None of another text."""
    return f"{_UNREAD}{text.removeprefix(_UNREAD)}" if _FILE_AND_NAME.fullmatch(text) else None


def is_shown(arbitration: str) -> bool:
    """Returns whether it is `shown`, and no network can have it."""
    return arbitration.startswith(_UNREAD)


def stored(arbitration: str) -> str:
    """Returns what a file of a topology has for it."""
    return arbitration.removeprefix(_UNREAD)


def absolute(arbitration: str) -> str:
    """Returns it for any working directory. Raises TopologyError for a missing file, and for any
    while files of code are refused."""
    if (code := file_and_name(arbitration)) is None:
        return arbitration
    path = code[0].absolute()
    try:
        python_file.require_allowed(path)
    except python_file.PythonFileError as error:
        raise TopologyError(str(error)) from None
    if not path.is_file():
        raise TopologyError(f"{ORDER}={arbitration}: no file {code[0]}")
    return f"{path}:{code[1]}"
