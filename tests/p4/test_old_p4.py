"""Programs for an older p4c: beside its error stands what to change."""

import pytest

from pcn.controller.programs import Program, ProgramError
from pcn.softswitch.old_p4 import CHANGES, changes

ERRORS = [
    ("error: Expected 1 argument for mark_to_drop(). Are you", "mark_to_drop(standard_metadata)"),
    (
        "v1model.p4(595): error: clone3: unknown extern function",
        "clone_preserving_field_list(TYPE, SESSION, INDEX)",
    ),
    (
        "v1model.p4(531): error: resubmit: unknown extern function",
        "resubmit_preserving_field_list(INDEX)",
    ),
    (
        "v1model.p4(569): error: recirculate: unknown extern function",
        "recirculate_preserving_field_list(INDEX)",
    ),
    (
        "error: Field drop is not a member of structure struct standard_metadata",
        "standard_metadata.drop is gone",
    ),
    ("error: Field clone_spec is not a member of structure struct standard_metadata", "this field"),
    (
        "Source expression 's.packet_length' produces a result of type 'bit<32>' which",
        "(bit<16>)standard_metadata",
    ),
]


@pytest.mark.parametrize(("error", "change"), ERRORS, ids=[change[:20] for _, change in ERRORS])
def test_error_of_p4c_has_one_change(error, change):
    (reported,) = changes(f"x.p4(7): [--Werror] {error}")
    assert change in reported


def test_every_known_change_has_its_error():
    assert {text for _, text in CHANGES} == {text for error, _ in ERRORS for text in changes(error)}
    assert changes("x.p4(3): error: syntax error, unexpected }") == []
    assert (
        changes(
            "error: my_resubmit: unknown extern function; Field drop is not a member of structure "
            "headers"
        )
        == []
    )


def test_program_for_an_older_p4c_is_refused_with_both(tmp_path, monkeypatch):
    compiler = tmp_path / "p4c"
    error = "x.p4(7): error: Expected 1 argument for mark_to_drop()."
    compiler.write_text(
        f"#!/bin/sh\n[ $1 = --version ] && echo Version 1.2.5 && exit\necho '{error}' >&2\nexit 1\n"
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("P4C", str(compiler))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "x.p4").write_text("")
    with pytest.raises(ProgramError) as raised:
        Program.find(str(tmp_path / "x.p4"))
    assert str(raised.value).splitlines()[-2:] == [
        error,
        "for an older p4c: mark_to_drop() takes the metadata: mark_to_drop(standard_metadata)",
    ]
