"""What to change in a program for an older p4c: v1model has other externs and fields since 2019 and
2021."""

from __future__ import annotations

import re

_FIELD_LIST = "and @field_list(INDEX) before each metadata field that is to be kept"
CHANGES: tuple[tuple[str, str], ...] = (
    (
        r"Expected 1 argument for mark_to_drop\(\)",
        "mark_to_drop() takes the metadata: mark_to_drop(standard_metadata)",
    ),
    (
        r"\bclone3: unknown extern",
        (
            "clone3(TYPE, SESSION, DATA) is clone_preserving_field_list(TYPE, SESSION, INDEX), "
            f"{_FIELD_LIST}"
        ),
    ),
    (
        r"\bresubmit: unknown extern",
        f"resubmit(DATA) is resubmit_preserving_field_list(INDEX), {_FIELD_LIST}",
    ),
    (
        r"\brecirculate: unknown extern",
        f"recirculate(DATA) is recirculate_preserving_field_list(INDEX), {_FIELD_LIST}",
    ),
    (
        r"\bField drop is not a member of structure struct standard_metadata",
        "standard_metadata.drop is gone: mark_to_drop(standard_metadata) drops",
    ),
    (
        r"\bField (?:clone_spec|resubmit_flag|recirculate_flag|recirculate_port|lf_field_list"
        r"|ingress_timestamp) is not a member of structure struct standard_metadata",
        "this field of standard_metadata is gone: clone(), resubmit_preserving_field_list() and "
        "recirculate_preserving_field_list() request what it stood for",
    ),
    (
        r"packet_length' produces a result of type 'bit<32>'",
        (
            "standard_metadata.packet_length has 32 bits: cast it, as "
            "(bit<16>)standard_metadata.packet_length"
        ),
    ),
)
"""Patterns of p4c's errors, and what to write instead."""


def changes(errors: str) -> list[str]:
    """Returns what to change, by p4c's errors; empty: none of them is known."""
    return [text for pattern, text in CHANGES if re.search(pattern, errors)]
