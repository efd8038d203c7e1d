"""The in-place form: its standard metadata, and parsers of many paths."""

import json
import re
from pathlib import Path

from program_json import Builder, case, extract, field, state

from pcn import softswitch
from pcn.softswitch.codegen.generate import generate
from pcn.softswitch.codegen.inplace import SET_BEFORE_EGRESS
from pcn.softswitch.program.load import load_program


def test_what_is_not_bridged_is_what_both_forms_set_before_egress():
    text = (Path(softswitch.__file__).parent / "csrc/pipeline.h").read_text()
    body = re.search(r"void sw_before_egress\([^{]*\{(.*?)\n\}", text, re.DOTALL)
    assert set(re.findall(r"std->(\w+) = ", body[1])) == SET_BEFORE_EGRESS


def test_parser_of_2_to_the_60_paths_is_looked_at_state_by_state():
    """Each of 60 states goes on to either of two; the path that extracts the most is found all the
    same."""
    builder = Builder().header("h", [["a", 8]]).header("g", [["a", 8]])
    builder.states = [state("start", [extract("h")], "a0")]
    for i in range(60):
        for name in "ab":
            cases = [case(1, f"a{i + 1}"), case(2, f"b{i + 1}")] if i < 59 else []
            taken = [extract("g")] if (i, name) == (59, "b") else []
            key = [field("h", "a")] if cases else []
            builder.states.append(state(f"{name}{i}", taken, None, key=key, cases=cases))
    text = generate(load_program(json.dumps(builder.json())), inplace=True)
    path = text[text.index("parse_fast_path") :]
    assert "h1_h.valid = 1" in path[: path.index("done:")]
    assert "h2_g.valid = 1" in path[: path.index("done:")]
