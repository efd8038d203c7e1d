"""Text of others on a terminal: a file name may hold what moves the cursor, or names the window."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """Returns the text with its control characters written out (`\\x1b`); tabs and ends of lines
    stay."""
    return _CONTROLS.sub(lambda match: repr(match[0])[1:-1], text)
