"""The one base of what can go wrong with a network for reasons outside the code."""

from __future__ import annotations


class LabError(Exception):
    """Something that a user can understand and mend: the message names the thing, and the way out if there is one."""
