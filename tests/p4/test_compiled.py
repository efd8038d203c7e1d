"""The compiled programs that are committed: they fit their sources, hold the contract, and name no
machine."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import pytest
from google.protobuf import text_format

from pcn.base import packed
from pcn.base.p4rt import p4i

ROOT = Path(__file__).resolve().parents[2]
COMPILED = ROOT / "p4src/compiled"
MANIFEST = "manifest.json"

PORTS, PORTS_BY_COLOUR, PORTS_BY_CLASS = 512, 1024, 4096


@lru_cache
def read_p4info(name: str) -> p4i.P4Info:
    return text_format.Parse(packed.read_text(COMPILED / f"{name}.p4info.txtpb"), p4i.P4Info())


@pytest.fixture(params=[path.stem for path in packed.files(COMPILED, ".p4info.txtpb")])
def program(request) -> str:
    return request.param.removesuffix(".p4info")


def test_outputs_fit_sources(build: ModuleType):
    """A changed source, or an output edited by hand: `make p4` and commit."""
    assert build.stale() == []


def copy_of_checkout(into: Path) -> Path:
    for folder in ("p4src", "examples"):
        shutil.copytree(ROOT / folder, into / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return into


def test_drift_is_seen(build: ModuleType, tmp_path):
    """Every kind of file is named: source, output, included file, program."""
    root = copy_of_checkout(tmp_path)
    assert build.stale(root) == []
    constants = root / "p4src/shared/constants.p4"
    constants.write_text(constants.read_text() + "\n")
    output = root / "p4src/compiled/pcn.json"
    files = [*packed.files(output.parent), *packed.files(output.parent, ".p4info.txtpb")]
    contents = {path.name: packed.read_bytes(path) for path in files if path.name != MANIFEST}
    contents["pcn.json"] += b" "
    del contents["dcqcn.p4info.txtpb"]
    output.with_name(packed.ARCHIVE).write_bytes(build.pack(contents))
    everywhere = {
        f"{program.name}: p4src/shared/constants.p4 changed"
        for program in build.find_programs(root)
        if "p4src/shared/constants.p4" in program.sources
    }
    assert len(everywhere) > 1
    assert set(build.stale(root)) == everywhere | {
        "pcn: p4src/compiled/pcn.json changed",
        "dcqcn: p4src/compiled/dcqcn.p4info.txtpb is missing",
    }

    parser = root / "p4src/v1model/parser.p4"
    parser.write_text('#include "more.p4"\n' + parser.read_text())
    (root / "p4src/v1model/more.p4").write_text("\n")
    top = root / "p4src/v1model/programs/pcn.p4"
    (root / "p4src/v1model/programs/other.p4").write_text(top.read_text())
    problems = build.stale(root)
    assert "pcn: p4src/v1model/more.p4 is new" in problems
    assert "other: never compiled" in problems
    assert "other_native: never compiled" in problems

    top.unlink()
    assert "pcn: compiled, but it has no source any more" in build.stale(root)


def test_other_flags_are_seen(build: ModuleType, tmp_path):
    root = copy_of_checkout(tmp_path)
    manifest = root / "p4src/compiled/manifest.json"
    document = json.loads(manifest.read_text())
    assert document["programs"]["pcn_native"]["flags"] == ["-DNATIVE_PFC"]
    document["programs"]["pcn_native"]["flags"] = []
    manifest.write_text(json.dumps(document))
    assert build.stale(root) == ["pcn_native: compiled with other flags"]


def test_missing_include_is_named(build: ModuleType, tmp_path):
    root = copy_of_checkout(tmp_path)
    (root / "p4src/v1model/np_ecn.p4").unlink()
    with pytest.raises(build.P4BuildError, match=r"v1model/np_ecn\.p4, which can't be read"):
        build.stale(root)


def test_without_manifest(build: ModuleType, tmp_path):
    root = copy_of_checkout(tmp_path)
    (root / "p4src/compiled/manifest.json").unlink()
    (problem,) = build.stale(root)
    assert "manifest.json can't be read" in problem


def test_check_command():
    result = subprocess.run(
        [sys.executable, "p4src/build.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_absent_compiler_is_explained(build: ModuleType, monkeypatch, capsys):
    """One message that names the program and the way out; nothing is touched."""
    monkeypatch.setenv("P4C", "/nowhere/p4c-bm2-ss")
    before = {path: path.read_bytes() for path in COMPILED.glob("*.*")}
    assert build.main([]) == 1
    message = capsys.readouterr().err
    assert message.startswith("error: /nowhere/p4c-bm2-ss was not found")
    assert "P4C" in message
    assert {path: path.read_bytes() for path in COMPILED.glob("*.*")} == before


def test_no_machine_path(program: str):
    """p4c writes where the sources lie: here only relative to the checkout, and to no build
    tree."""
    text = packed.read_text(COMPILED / f"{program}.json")
    assert re.search(r'"(/|[A-Za-z]:\\)', text) is None
    assert str(ROOT) not in text
    names = {
        node["filename"]
        for node in walk(json.loads(text))
        if isinstance(node, dict) and isinstance(node.get("filename"), str)
    }
    assert names
    assert all((ROOT / name).is_file() for name in names if name), names


def walk(node) -> Iterator[object]:
    todo = [node]
    while todo:
        yield (current := todo.pop())
        if isinstance(current, dict | list):
            todo += current.values() if isinstance(current, dict) else current


# What a scheme makes packets of its own with, whoever pauses the queues.
SCHEME_PRIMITIVES = {"qcn": {"recirculate", "clone_ingress_pkt_to_egress", "truncate"}}
SCHEME_PRIMITIVES["qcn_in"] = SCHEME_PRIMITIVES["qcn"] | {"clone_egress_pkt_to_egress"}
SCHEME_PRIMITIVES["qcn_both"] = SCHEME_PRIMITIVES["qcn_in"]


def top_of(program: str) -> str:
    return program.removesuffix("_native")


def is_native(program: str) -> bool:
    return program != top_of(program)


def test_what_is_configured_by_port_has_room_for_all(program: str):
    sizes = {table.preamble.alias: table.size for table in read_p4info(program).tables}
    assert (sizes.pop("ipv4_lpm"), sizes.pop("next_hop_group")) == (4096, 1024)
    assert sizes.pop("rest_config", PORTS_BY_CLASS) == PORTS_BY_CLASS
    assert sizes.pop("red_coloured", PORTS_BY_COLOUR) == PORTS_BY_COLOUR
    assert set(sizes.values()) == {PORTS}


def test_where_a_hit_decides_no_entry_has_the_action_of_a_miss(program: str):
    document = json.loads(packed.read_text(COMPILED / f"{program}.json"))
    tables = [table for pipeline in document["pipelines"] for table in pipeline["tables"]]
    by_hit = {table["name"] for table in tables if "__HIT__" in table["next_tables"]}
    described = [table for table in read_p4info(program).tables if table.preamble.name in by_hit]
    assert bool(described) == program.startswith(("qcn", "tcd", "hpcc"))
    for table in described:
        (scope,) = (
            ref.scope
            for ref in table.action_refs
            if ref.id == table.initial_default_action.action_id
        )
        assert scope == p4i.ActionRef.DEFAULT_ONLY, table.preamble.name


def test_next_hops_are_selected(program: str):
    info = read_p4info(program)
    (selector,) = info.action_profiles
    (group,) = (table for table in info.tables if table.preamble.alias == "next_hop_group")
    assert (selector.preamble.alias, selector.with_selector, selector.size) == (
        "next_hops",
        True,
        4096,
    )
    assert list(selector.table_ids) == [group.preamble.id]
    assert group.implementation_id == selector.preamble.id


def test_control_plane_sees_no_inner_action(program: str):
    """What the program calls itself is hidden, so that only what can be programmed shows."""
    info = read_p4info(program)
    of_tables = {reference.id for table in info.tables for reference in table.action_refs}
    assert {action.preamble.id for action in info.actions} == of_tables


def test_pcn_adds_one_counter_by_port_and_class(program: str):
    """What NP-ECN takes of a switch, whatever other schemes add: pn, the paused packets that
    wait."""
    registers = {register.preamble.alias: register for register in read_p4info(program).registers}
    assert (registers["pn"].size, registers["pn"].type_spec.bitstring.bit.bitwidth) == (
        PORTS_BY_CLASS,
        32,
    )
    if top_of(program) == "pcn" and is_native(program):
        assert set(registers) == {
            "waiting_packets", "waiting_bytes", "tx_paused", "tx_pause_expiry", "pn",
        }  # fmt: skip


def test_native_emulates_nothing(program: str):
    """With PFC under the pipeline, no packet is recirculated for it."""
    document = json.loads(packed.read_text(COMPILED / f"{program}.json"))
    used = {primitive["op"] for action in document["actions"] for primitive in action["primitives"]}
    emulating = {
        "recirculate",
        "clone_ingress_pkt_to_egress",
        "clone_egress_pkt_to_egress",
        "truncate",
    }
    assert used & emulating == (
        SCHEME_PRIMITIVES.get(top_of(program), set()) if is_native(program) else emulating
    )


def test_registers_that_belong_together_change_in_one_action(program: str):
    """Only one action's register accesses are atomic in BMv2, where five threads run the
    program."""
    document = json.loads(packed.read_text(COMPILED / f"{program}.json"))
    touched = [
        {
            parameter["value"]
            for primitive in action["primitives"]
            for parameter in primitive["parameters"]
            if parameter["type"] == "register_array"
        }
        for action in document["actions"]
    ]
    departure = {"tx_paused", "tx_pause_expiry", "waiting_packets", "waiting_bytes", "pn"}
    there = {register.preamble.alias for register in read_p4info(program).registers}
    departure |= {"resumed_at"} & there
    assert departure in touched
    credits = {"fctbs", "fccl"} & there  # a flow control packet changes one of them with resumed_at
    states = {name for name in there if name.startswith("tcd_")}
    for group in (
        departure | credits,
        *([] if is_native(program) else [{"held_bytes", "xoff_sent", "xoff_sent_at"}]),
        *([states] if states else []),
    ):
        writers = [names for names in touched if names & group and len(names) > 1]
        assert writers
        assert all(names <= group for names in writers)


def test_reasons_are_the_programs():
    """The numbers that name a drop stand in the program and in ptf-tests: they agree."""
    source = (ROOT / "p4src/shared/constants.p4").read_text()
    enum = source[source.index("enum bit<3> drop_reason_t") :]
    in_program = dict(re.findall(r"(\w+) = (\d+)", enum[: enum.index("}")]))
    lab = (ROOT / "ptf-tests/testbed.py").read_text()
    enum = lab[lab.index("class Reason(IntEnum)") :]
    in_tests = dict(re.findall(r"^    (\w+) = (\d+)$", enum[: enum.index("\n\n\n")], re.MULTILINE))
    assert in_program == in_tests


def test_controllers_constants_are_the_programs():
    from pcn.controller import pfc
    from pcn.controller.marking import qcn_cp
    from pcn.lab import target

    source = (ROOT / "p4src/shared/constants.p4").read_text()

    def constant(name: str) -> int:
        match = re.search(rf"\b{name} = (?:\d+w)?(0[xb][\w_]+|\d+);", source)
        assert match is not None, name
        return int(match.group(1).replace("_", ""), 0)

    assert constant("PFC_CLONE_SESSION") == pfc.PFC_CLONE_SESSION
    assert constant("CNM_CLONE_SESSION") == qcn_cp.CNM_CLONE_SESSION
    assert constant("RECIRC_PORT") == target.RECIRCULATION_PORT
    assert constant("DEFAULT_LOSSLESS") == pfc.LOSSLESS_CLASSES
