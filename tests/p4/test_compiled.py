"""The compiled programs that are committed: they fit their sources, hold the contract, and name no machine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from finsy.proto import p4i
from google.protobuf import text_format

ROOT = Path(__file__).resolve().parents[2]
COMPILED = ROOT / "p4src/compiled"

PORTS, PORTS_BY_CLASS = 512, 4096


def read_p4info(name: str) -> p4i.P4Info:
    return text_format.Parse((COMPILED / f"{name}.p4info.txtpb").read_text(), p4i.P4Info())


@pytest.fixture(params=sorted(path.stem for path in COMPILED.glob("*.p4info.txtpb")))
def program(request: pytest.FixtureRequest) -> str:
    name: str = request.param.removesuffix(".p4info")
    return name


def test_outputs_fit_sources(build: ModuleType) -> None:
    """A changed source, or an output edited by hand: `make p4` and commit."""
    assert build.stale() == []


def copy_of_checkout(into: Path) -> Path:
    for folder in ("p4src", "examples"):
        shutil.copytree(ROOT / folder, into / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return into


def test_drift_is_seen(build: ModuleType, tmp_path: Path) -> None:
    """Every kind of file is named: source, output, included file, program."""
    root = copy_of_checkout(tmp_path)
    assert build.stale(root) == []
    constants = root / "p4src/shared/constants.p4"
    constants.write_text(constants.read_text() + "\n")
    with (root / "p4src/compiled/pcn.json").open("a") as output:
        output.write(" ")
    everywhere = {f"{program.name}: p4src/shared/constants.p4 changed" for program in build.find_programs(root)}
    assert len(everywhere) > 1
    assert set(build.stale(root)) == everywhere | {"pcn: p4src/compiled/pcn.json changed"}

    parser = root / "p4src/v1model/parser.p4"
    parser.write_text('#include "more.p4"\n' + parser.read_text())
    (root / "p4src/v1model/more.p4").write_text("\n")
    top = root / "p4src/v1model/programs/pcn.p4"
    (root / "p4src/v1model/programs/other.p4").write_text(top.read_text())
    (root / "p4src/compiled/pcn.p4info.txtpb").unlink()
    problems = build.stale(root)
    assert "pcn: p4src/v1model/more.p4 is new" in problems
    assert "pcn: p4src/compiled/pcn.p4info.txtpb is missing" in problems
    assert "other: never compiled" in problems
    assert "other_native: never compiled" in problems

    top.unlink()
    assert "pcn: compiled, but it has no source any more" in build.stale(root)


def test_other_flags_are_seen(build: ModuleType, tmp_path: Path) -> None:
    root = copy_of_checkout(tmp_path)
    manifest = root / "p4src/compiled/manifest.json"
    document = json.loads(manifest.read_text())
    assert document["programs"]["pcn_native"]["flags"] == ["-DNATIVE_PFC"]
    document["programs"]["pcn_native"]["flags"] = []
    manifest.write_text(json.dumps(document))
    assert build.stale(root) == ["pcn_native: compiled with other flags"]


def test_missing_include_is_named(build: ModuleType, tmp_path: Path) -> None:
    root = copy_of_checkout(tmp_path)
    (root / "p4src/v1model/np_ecn.p4").unlink()
    with pytest.raises(build.P4BuildError, match=r"v1model/np_ecn\.p4, which can't be read"):
        build.stale(root)


def test_without_manifest(build: ModuleType, tmp_path: Path) -> None:
    root = copy_of_checkout(tmp_path)
    (root / "p4src/compiled/manifest.json").unlink()
    (problem,) = build.stale(root)
    assert "manifest.json can't be read" in problem


def test_check_command() -> None:
    result = subprocess.run(
        [sys.executable, "p4src/build.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_absent_compiler_is_explained(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One message that names the program and the way out; nothing is touched."""
    monkeypatch.setenv("P4C", "/nowhere/p4c-bm2-ss")
    before = {path: path.read_bytes() for path in COMPILED.glob("*.*")}
    assert build.main([]) == 1
    message = capsys.readouterr().err
    assert message.startswith("error: /nowhere/p4c-bm2-ss was not found")
    assert "P4C" in message
    assert {path: path.read_bytes() for path in COMPILED.glob("*.*")} == before


def test_no_machine_path(program: str) -> None:
    """p4c writes where the sources lie: here only relative to the checkout, and to no build tree."""
    text = (COMPILED / f"{program}.json").read_text()
    assert re.search(r'"(/|[A-Za-z]:\\)', text) is None
    assert str(ROOT) not in text
    names = {
        node["filename"]
        for node in walk(json.loads(text))
        if isinstance(node, dict) and isinstance(node.get("filename"), str)
    }
    assert names
    assert all((ROOT / name).is_file() for name in names if name), names


def walk(node: object) -> list[object]:
    below = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
    return [node, *(item for child in below for item in walk(child))]


# What the controller, the experiments and the tests rely on. The committed p4info holds the ids; this holds the names.
# Each program has these, whatever its scheme adds.
TABLES = {
    "ipv4_lpm": (
        {"dst_addr": ("LPM", 32)},
        {
            "ipv4_forward": {"dst_mac": 48, "port": 9},
            "ipv4_multipath": {"dst_mac": 48, "group_id": 16, "hash_shift": 5},
            "drop_no_route": {},
        },
        "drop_no_route",
    ),
    # Entries refer to the action selector next_hops, or carry action sets.
    "next_hop_group": ({"group": ("EXACT", 16)}, {"next_hop": {"port": 9}, "NoAction": {}}, "NoAction"),
    "pfc_config": (
        {"port": ("EXACT", 9)},
        {
            "set_pfc": {
                "xoff_bytes": 32,
                "xon_bytes": 32,
                "quanta": 16,
                "refresh_us": 48,
                "quantum_q16_us": 32,
                "lossless": 8,
            },
            "no_pfc": {},
        },
        "no_pfc",
    ),
}
REGISTERS = {
    "waiting_packets": 32,
    "waiting_bytes": 32,
    "tx_paused": 1,
    "tx_pause_expiry": 48,
    "pn": 32,
}
# Frames of PFC have one length: they are only counted.
COUNTERS = {
    "transmitted": "BOTH",
    "dropped": "BOTH",
    "pause_received": "PACKETS",
    "resume_received": "PACKETS",
}
# What only the emulation of PFC has.
EMULATION_REGISTERS = {"held_bytes": 32, "xoff_sent": 1, "xoff_sent_at": 48}
EMULATION_COUNTERS = {"held": "BOTH", "pause_sent": "PACKETS", "resume_sent": "PACKETS"}
# What a scheme's marking point adds, by top program.
SCHEME_TABLES: dict[str, dict[str, object]] = {
    "pcn": {},
    "pcn_left_behind": {},
    "pcn_waited": {},
    "pcn_time": {
        "rest_config": (
            {"port": ("EXACT", 9), "class": ("EXACT", 3)},
            {"set_rest": {"gap_us": 32}, "goes_before": {"gap_us": 32}, "no_rest": {}},
            "no_rest",
        ),
    },
    "dcqcn": {
        "red_config": (
            {"port": ("EXACT", 9)},
            {"set_red": {"k_min_bytes": 32, "k_max_bytes": 32, "slope_q48": 48}, "no_red": {}},
            "no_red",
        ),
    },
    "qcn": {
        "qcn_config": (
            {"port": ("EXACT", 9)},
            {
                "set_qcn": {
                    "q_eq_bytes": 32,
                    "w": 8,
                    "scale_q32": 32,
                    "sample_min_bytes": 32,
                    "sample_max_bytes": 32,
                    "adaptive": 1,
                },
                "no_qcn": {},
            },
            "no_qcn",
        ),
    },
    "qcn_in": {
        f"qcn_in_{when}": (
            {"port": ("EXACT", 9)},
            {
                f"set_{when}": {
                    "choice": 2,
                    "q_eq_bytes": 32,
                    "w": 8,
                    "scale_q32": 32,
                    "sample_min_bytes": 32,
                    "sample_max_bytes": 32,
                    "adaptive": 1,
                    "keep_alive_us": 48,
                    "sojourn_us": 32,
                },
                f"no_{when}": {},
            },
            f"no_{when}",
        )
        for when in ("arrivals", "departures")
    },
}
SCHEME_TABLES["qcn_both"] = SCHEME_TABLES["qcn_in"] | {
    "qcn_out_config": (
        {"port": ("EXACT", 9)},
        {"set_qcn_out": SCHEME_TABLES["qcn"]["qcn_config"][1]["set_qcn"], "no_qcn_out": {}},
        "no_qcn_out",
    )
}
SCHEME_TABLES["tcd"] = SCHEME_TABLES["dcqcn"] | {
    "tcd_config": (
        {"port": ("EXACT", 9)},
        {"set_tcd": {"max_ton_us": 48, "empty_bytes": 32, "looks": 8}, "no_tcd": {}},
        "no_tcd",
    ),
    "credit_config": (
        {"port": ("EXACT", 9)},
        {"set_credits": {"initial_blocks": 12, "frame_blocks": 12}, "no_credits": {}},
        "no_credits",
    ),
}
SCHEME_TABLES["tcd_time"] = SCHEME_TABLES["tcd"] | SCHEME_TABLES["pcn_time"]
del SCHEME_TABLES["tcd_time"]["credit_config"]
SCHEME_REGISTERS: dict[str, dict[str, int]] = {
    "pcn": {},
    "pcn_left_behind": {},
    "pcn_waited": {},
    "pcn_time": {"busy": 64, "resumed": 64},
    "dcqcn": {},
    "tcd": {
        "resumed_at": 48,
        "fctbs": 12,
        "fccl": 12,
        "tcd_state": 2,
        "tcd_since": 48,
        "tcd_bytes": 32,
        "tcd_not_fallen": 8,
    },
    "qcn": {"sampled_bytes": 32, "sampled_feedback": 6, "sample_after_bytes": 32},
    "qcn_in": {
        "held_bytes": 32,
        "xoff_sent": 1,
        "sampled_bytes": 32,
        "sampled_feedback": 6,
        "sampled_at": 48,
        "sample_after_bytes": 32,
        "pending_feedback": 6,
        "slots_used": 10,
        "free_slots": 10,
        "positions": 10,
        "occupants": 106,
        "flow_bytes": 32,
        "largest_bytes": 32,
        "largest_flow": 88,
    },
}
_TCD = {name: width for name, width in SCHEME_REGISTERS["tcd"].items() if name not in ("fctbs", "fccl")}
SCHEME_REGISTERS["tcd_time"] = _TCD | SCHEME_REGISTERS["pcn_time"] | {"told_at": 48}
SCHEME_REGISTERS["qcn_both"] = SCHEME_REGISTERS["qcn_in"] | {
    "out_sampled_bytes": 32,
    "out_sampled_feedback": 6,
    "out_sample_after_bytes": 32,
}
# Of registers that aren't by port and class.
SIZES = {
    "pcn_time": {"busy": PORTS},
    "qcn_in": {
        "slots_used": PORTS,
        **dict.fromkeys(("free_slots", "positions", "occupants"), PORTS * 1024),
        "flow_bytes": PORTS * 512,
    },
}
SIZES["qcn_both"] = SIZES["qcn_in"]
SIZES["tcd_time"] = SIZES["pcn_time"]
SCHEME_COUNTERS = {name: {"marked": "BOTH"} for name in SCHEME_TABLES}
SCHEME_COUNTERS["pcn_time"] |= {"marked_by_time": "PACKETS", "marked_by_counter": "PACKETS"}
SCHEME_COUNTERS["tcd"] |= {"marked_ue": "BOTH"}
SCHEME_COUNTERS["tcd_time"] |= {"marked_ue": "BOTH", "marked_ue_by_time": "PACKETS", "marked_ue_by_pfc": "PACKETS"}
SCHEME_COUNTERS["qcn_in"] = {"notified": "BOTH"}
SCHEME_COUNTERS["qcn_both"] = {"notified": "BOTH", "marked": "BOTH"}
# What a scheme makes packets of its own with, whoever pauses the queues.
SCHEME_PRIMITIVES = {"qcn": {"recirculate", "clone_ingress_pkt_to_egress", "truncate"}}
SCHEME_PRIMITIVES["qcn_in"] = SCHEME_PRIMITIVES["qcn"] | {"clone_egress_pkt_to_egress"}
SCHEME_PRIMITIVES["qcn_both"] = SCHEME_PRIMITIVES["qcn_in"]


def top_of(program: str) -> str:
    return program.removesuffix("_native")


def is_native(program: str) -> bool:
    return program != top_of(program)


def test_tables_of_the_contract(program: str) -> None:
    info = read_p4info(program)
    actions = {action.preamble.id: action for action in info.actions}
    found = {}
    for table in info.tables:
        keys = {
            field.name: (p4i.MatchField.MatchType.Name(field.match_type), field.bitwidth)
            for field in table.match_fields
        }
        of_table = [actions[reference.id] for reference in table.action_refs]
        parameters = {action.preamble.alias: {p.name: p.bitwidth for p in action.params} for action in of_table}
        default = actions[table.initial_default_action.action_id].preamble.alias
        found[table.preamble.alias] = (keys, parameters, default)
    assert found == TABLES | SCHEME_TABLES[top_of(program)]


def test_what_is_configured_by_port_has_room_for_all(program: str) -> None:
    sizes = {table.preamble.alias: table.size for table in read_p4info(program).tables}
    assert (sizes.pop("ipv4_lpm"), sizes.pop("next_hop_group")) == (4096, 1024)
    assert sizes.pop("rest_config", PORTS_BY_CLASS) == PORTS_BY_CLASS
    assert set(sizes.values()) == {PORTS}


def test_where_a_hit_decides_no_entry_has_the_action_of_a_miss(program: str) -> None:
    document = json.loads((COMPILED / f"{program}.json").read_text())
    tables = [table for pipeline in document["pipelines"] for table in pipeline["tables"]]
    asked = {table["name"] for table in tables if "__HIT__" in table["next_tables"]}
    found = [table for table in read_p4info(program).tables if table.preamble.name in asked]
    assert bool(found) == program.startswith(("qcn", "tcd"))
    for table in found:
        (scope,) = (one.scope for one in table.action_refs if one.id == table.initial_default_action.action_id)
        assert scope == p4i.ActionRef.DEFAULT_ONLY, table.preamble.name


def test_next_hops_are_selected(program: str) -> None:
    info = read_p4info(program)
    (selector,) = info.action_profiles
    (group,) = (table for table in info.tables if table.preamble.alias == "next_hop_group")
    assert (selector.preamble.alias, selector.with_selector, selector.size) == ("next_hops", True, 4096)
    assert list(selector.table_ids) == [group.preamble.id]
    assert group.implementation_id == selector.preamble.id


def test_control_plane_sees_no_inner_action(program: str) -> None:
    """What the program calls itself is hidden, so that only what can be programmed shows."""
    info = read_p4info(program)
    of_tables = {reference.id for table in info.tables for reference in table.action_refs}
    assert {action.preamble.id for action in info.actions} == of_tables


def test_registers_of_the_contract(program: str) -> None:
    info = read_p4info(program)
    found = {register.preamble.alias: register.type_spec.bitstring.bit.bitwidth for register in info.registers}
    emulation = {} if is_native(program) else EMULATION_REGISTERS
    assert found == REGISTERS | emulation | SCHEME_REGISTERS[top_of(program)]
    others = {one.preamble.alias: one.size for one in info.registers if one.size != PORTS_BY_CLASS}
    assert others == SIZES.get(top_of(program), {})


def test_counters_of_the_contract(program: str) -> None:
    info = read_p4info(program)
    found = {counter.preamble.alias: p4i.CounterSpec.Unit.Name(counter.spec.unit) for counter in info.counters}
    emulation = {} if is_native(program) else EMULATION_COUNTERS
    assert found == COUNTERS | emulation | SCHEME_COUNTERS[top_of(program)]
    assert {counter.size for counter in info.counters} == {PORTS_BY_CLASS}


def test_native_emulates_nothing(program: str) -> None:
    """With PFC under the pipeline, no packet is recirculated for it."""
    document = json.loads((COMPILED / f"{program}.json").read_text())
    used = {primitive["op"] for action in document["actions"] for primitive in action["primitives"]}
    emulating = {"recirculate", "clone_ingress_pkt_to_egress", "clone_egress_pkt_to_egress", "truncate"}
    assert used & emulating == (SCHEME_PRIMITIVES.get(top_of(program), set()) if is_native(program) else emulating)


def test_registers_that_belong_together_change_in_one_action(program: str) -> None:
    """Only one action's register accesses are atomic in BMv2, where five threads run the program."""
    document = json.loads((COMPILED / f"{program}.json").read_text())
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
    of_scheme = SCHEME_REGISTERS[top_of(program)]
    departure |= {"resumed_at"} & set(of_scheme)
    assert departure in touched
    credits = {"fctbs", "fccl"} & set(of_scheme)  # a flow control packet changes one of them with resumed_at
    states = {name for name in of_scheme if name.startswith("tcd_")}
    for group in (
        departure | credits,
        *([] if is_native(program) else [set(EMULATION_REGISTERS)]),
        *([states] if states else []),
    ):
        writers = [names for names in touched if names & group and len(names) > 1]
        assert writers
        assert all(names <= group for names in writers)


def test_reasons_are_the_programs() -> None:
    """The numbers that name a drop stand in the program and in ptf-tests: they agree."""
    source = (ROOT / "p4src/shared/constants.p4").read_text()
    enum = source[source.index("enum bit<3> drop_reason_t") :]
    in_program = dict(re.findall(r"(\w+) = (\d+)", enum[: enum.index("}")]))
    lab = (ROOT / "ptf-tests/testbed.py").read_text()
    enum = lab[lab.index("class Reason(IntEnum)") :]
    in_tests = dict(re.findall(r"^    (\w+) = (\d+)$", enum[: enum.index("\n\n\n")], re.MULTILINE))
    assert in_program == in_tests


def test_controllers_constants_are_the_programs() -> None:
    from controller import pfc
    from controller.marking import qcn_cp
    from lab import target

    source = (ROOT / "p4src/shared/constants.p4").read_text()

    def constant(name: str) -> int:
        match = re.search(rf"\b{name} = (?:\d+w)?(0[xb][\w_]+|\d+);", source)
        assert match is not None, name
        return int(match.group(1).replace("_", ""), 0)

    assert constant("PFC_CLONE_SESSION") == pfc.PFC_CLONE_SESSION
    assert constant("CNM_CLONE_SESSION") == qcn_cp.CNM_CLONE_SESSION
    assert constant("RECIRC_PORT") == target.RECIRCULATION_PORT
    assert constant("DEFAULT_LOSSLESS") == pfc.LOSSLESS_CLASSES
