"""The one base of what can go wrong with a network for reasons outside the code; texts of wrong
names and of errors."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What an OSError has where a file can't grow: the disk is full, or a limit is reached."""


class LabError(Exception):
    """Something that a user can understand and mend: the message names the thing, and the way out
    if there is one."""


class TopologyError(LabError):
    """A topology that can't be: names the part at fault."""


_NEAR, _ALIKE, _MANY = 3, 0.1, 12
"""Names that are offered at most, how much less near than the nearest they may be, and how many
aren't all listed."""
_LIKE = 0.6
"""The ratio of `difflib` from which a name is near to another."""
_COMPARED, _LONGEST = 10_000, 200
"""How many names are compared, and their characters: the time grows with the square of these, and a
file may have names of any length."""


def nearest(name: str, known: Iterable[str], listed: str = "") -> str:
    """Returns the end of a message about an unknown name: the nearest known names, all where they
    are few, or `listed`, the command that lists them."""
    names = list(dict.fromkeys(known))
    offered = _near(name, names, _LIKE)
    if offered:
        return f"did you mean {' or '.join(map(repr, offered))}?"
    if len(names) > _MANY:
        if listed:
            return f"`{listed}` lists all {len(names)}"
        compared = min(len(names), _COMPARED)
        return f"none of {'the first ' * (compared < len(names))}{compared} is like it"
    return f"choose from {', '.join(names)}" if names else "none exists"


def is_near(name: str, known: Iterable[str]) -> bool:
    """Returns whether an unknown name is like a known one, as `nearest` offers it."""
    return bool(_near(name, known, _LIKE))


def _near(name: str, names: Iterable[str], cutoff: float) -> list[str]:
    """Returns those that are about as near as the nearest, whatever their case, with - for _."""
    if len(name) > _LONGEST:
        return []
    import difflib  # late: few processes meet an unknown name, and it has 0.1 MB

    short = (known for known in names if len(known) <= _LONGEST)
    folded = {_folded(known): known for known in islice(short, _COMPARED)}
    close = difflib.get_close_matches(_folded(name), folded, _NEAR, cutoff)
    ratios = [
        difflib.SequenceMatcher(None, candidate, _folded(name)).ratio() for candidate in close
    ]
    return [
        folded[candidate]
        for candidate, ratio in zip(close, ratios, strict=True)
        if ratio > ratios[0] - _ALIKE
    ]


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def error_text(error: BaseException, caller: Path | None = None) -> str:
    """Describes an error in a user's code, with the line that raised it, outside the caller's
    folder."""
    *_, frame = traceback.extract_tb(error.__traceback__) or [None]
    theirs = frame is not None and Path(frame.filename).parent != caller
    place = f" ({Path(frame.filename).name}, line {frame.lineno})" if frame and theirs else ""
    return f"{type(error).__name__}: {error}{place}"
