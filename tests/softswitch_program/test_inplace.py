"""Standard metadata of the in-place form."""

from __future__ import annotations

import re
from pathlib import Path

import softswitch
from softswitch.codegen.inplace import SET_BEFORE_EGRESS


def test_what_is_not_bridged_is_what_both_forms_set_before_egress() -> None:
    text = (Path(softswitch.__file__).parent / "csrc/pipeline.h").read_text()
    body = re.search(r"void sw_before_egress\([^{]*\{(.*?)\n\}", text, re.DOTALL)
    assert body is not None
    assert set(re.findall(r"std->(\w+) = ", body[1])) == SET_BEFORE_EGRESS
