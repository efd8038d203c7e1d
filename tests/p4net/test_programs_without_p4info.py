"""A p4info that is made of p4c's JSON names what p4c's own names, with the same widths and
forms."""

from pathlib import Path
from typing import Any

import pytest
from exercise import write_exercise

from pcn.base import packed
from pcn.controller.p4info import MatchKind
from pcn.controller.programs import COMPILED, Program, ProgramError
from pcn.p4net.packets import udp
from pcn.p4net.tutorials import read_exercise
from pcn.p4net.virtual import VirtualP4

ROOT = Path(__file__).resolve().parents[2]
JSONS = [
    *packed.files(COMPILED),
    *(
        path.with_suffix(".json")
        for folder in ("p4runtime", "p4net")
        for path in sorted((ROOT / "tests" / folder / "programs").glob("*.p4"))
    ),
]
PROGRAMS = [path for path in JSONS if packed.is_file(path.with_name(f"{path.stem}.p4info.txtpb"))]

_FORMS = {MatchKind.EXACT: "exact", MatchKind.LPM: "lpm", MatchKind.RANGE: "range"}


def named(schema) -> dict[str, Any]:
    """What a p4info names, without ids, annotations and actions that no table has. Optional keys
    are ternary in the JSON."""
    used = {action.id for table in schema.tables for action in table.actions}
    return {
        "tables": {
            table.name: (
                table.alias,
                [
                    (field.name, field.bitwidth, _FORMS.get(field.match_type, "ternary"))
                    for field in table.match_fields
                ],
                {action.name for action in table.actions},
                table.action_profile and table.action_profile.name,
            )
            for table in schema.tables
        },
        "actions": {
            action.name: [(param.name, param.bitwidth) for param in action.params]
            for action in schema.actions
            if action.id in used
        },
        **{
            kind: {array.name: array.size for array in getattr(schema, kind)}
            for kind in ("counters", "meters", "registers")
        },
        "digests": {digest.name for digest in schema.digests},
    }


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_p4info_of_json_names_what_p4c_names(path, tmp_path):
    (tmp_path / path.name).write_bytes(packed.read_bytes(path))
    alone, beside = Program.find(str(tmp_path / path.name)), Program.find(str(path))
    assert alone.p4info is None
    assert beside.p4info is not None
    assert named(alone.schema) == named(beside.schema)


def test_json_that_is_no_program_is_refused_by_its_name(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("{}")
    with pytest.raises(ProgramError, match=rf"^{path}: "):
        _ = Program.find(str(path)).schema


def test_network_with_json_alone_takes_entries(tmp_path):
    folder = write_exercise(tmp_path / "exercise")
    (folder / "build/router.p4.p4info.txtpb").unlink()
    with VirtualP4(read_exercise(folder)) as network:
        network.send("h1", 0.0, udp(network.value, "h1", "h3"))
        network.run(until_s=1.0)
        assert len(network.arrived("h3")) == 1
