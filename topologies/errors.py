"""The one base of what can go wrong with a network for reasons outside the code."""

from __future__ import annotations

import errno

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What an OSError has where a file can't grow: the disk is full, or a limit is reached."""


class LabError(Exception):
    """Something that a user can understand and mend: the message names the thing, and the way out if there is one."""
