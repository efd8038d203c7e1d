"""A p4info for a program that has none beside it."""

from __future__ import annotations

from pcn.base.p4rt import p4i
from pcn.softswitch.p4runtime.checked_config import loaded
from pcn.softswitch.p4runtime.described import describe
from pcn.softswitch.program.errors import ProgramError


def of_json(text: str) -> p4i.P4Info:
    """Returns the p4info of BMv2's JSON, with ids of our own. Raises ValueError where that is no
    program."""
    try:
        return describe(loaded(text)[0], added=False)
    except ProgramError as error:
        raise ValueError(str(error)) from None
