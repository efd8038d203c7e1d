"""One controller drives both twins: what it names is in both p4infos and means the same. What only
one has stands here, with the reason."""

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format

from pcn.base import packed
from pcn.base.p4rt import p4i
from pcn.controller import routes
from pcn.controller.p4info import Schema
from pcn.lab import observe

COMPILED = Path(__file__).resolve().parents[2] / "p4src/compiled"
# By the twin's name: its v1model program, by time as well, and for a target that pauses, as on
# Tofino.
TWINS = {"pcn": "pcn_time_native", "tcd": "tcd_time_native"}

Reasons = dict[str, dict[str, str]]
# By kind of thing. Registers are for whoever debugs: no controller decides by them.
ONLY_V1MODEL = {
    "tables": {
        "pfc_config": "thresholds, quanta and lossless classes are the traffic manager's",
        "next_hop_group": (
            "a lab's switch has one port a route: the controller writes no groups there"
        ),
    },
    "actions": {
        "set_pfc": "of pfc_config",
        "no_pfc": "of pfc_config",
        "ipv4_multipath": "leads to next_hop_group",
        "next_hop": "of next_hop_group",
        "NoAction": "of next_hop_group: the action without a group",
    },
    "counters": {
        "pause_received": "PFC frames end at the MAC, which counts them",
        "resume_received": "PFC frames end at the MAC, which counts them",
    },
    "registers": {
        "waiting_packets": "the traffic manager counts its queues itself: enq_qdepth",
        "waiting_bytes": "the traffic manager counts its queues itself: enq_qdepth",
        "tx_paused": "the traffic manager doesn't report it",
        "tx_pause_expiry": "the traffic manager doesn't report it",
        "pn": "the paper's counter, which needs the PAUSE and RESUME frames",
    },
}
# All these tables have constant entries: no controller writes them.
ONLY_TNA = {
    "tables": {
        "faults": (
            "v1model's Validate is a chain of comparisons, of which a stage has no more than few"
        ),
        "departures": (
            "chooses between two actions on one register, of which one may happen a packet"
        ),
        "resumes": "chooses between two actions on one register, of which one may happen a packet",
    },
    "actions": {
        "drop_faulty": "of faults",
        "good": "of faults",
        "depart": "of departures",
        "depart_at_wrap": "of departures",
        "see_resume": "of resumes",
        "read_resume": "of resumes",
        "never": "a default action that no packet meets",
    },
    "counters": {},
    "registers": {},
}
# By twin, beside those.
OWN_V1MODEL = {
    "pcn": {
        "counters": {
            "marked_by_time": "compares the two rules of NP-ECN, which takes the paper's counter",
            "marked_by_counter": (
                "compares the two rules of NP-ECN, which takes the paper's counter"
            ),
        }
    },
    "tcd": {
        "tables": {
            "red_coloured": "there RED's thresholds are a port's alone, of packets of any colour"
        },
        "counters": {
            "marked_ue_by_time": "compares two ways to detect the RESUME, which needs PFC's frames",
            "marked_ue_by_pfc": "compares two ways to detect the RESUME, which needs PFC's frames",
        },
        "registers": {
            "resumed_at": "the traffic manager doesn't report it",
            "told_at": "the traffic manager doesn't report it",
            "tcd_state": "tcd_undetermined and tcd_queue",
            "tcd_since": "tcd_until",
            "tcd_bytes": "tcd_queue",
            "tcd_not_fallen": "tcd_queue",
        },
    },
}
_CHOOSES = "chooses between actions on one register, of which one may happen a packet"
OWN_TNA = {
    "pcn": {},
    "tcd": {
        "tables": {
            "tcd_steps": _CHOOSES,
            "tcd_phases": _CHOOSES,
            "tcd_queues": _CHOOSES,
            "red_curves": "stands for v1model's multiplication",
        },
        "actions": {
            **dict.fromkeys(("restart_looks", "look", "look_at_wrap"), "of tcd_steps"),
            **dict.fromkeys(
                ("begin_undetermined", "end_undetermined", "still_undetermined"), "of tcd_phases"
            ),
            **dict.fromkeys(
                ("note_queue", "look_at_queue", "settle_port", "pass_queue"), "of tcd_queues"
            ),
            **dict.fromkeys(("set_probability", "no_mark"), "of red_curves"),
            "no_step": "a default action that no packet meets",
        },
        "registers": {
            "tcd_until": "tcd_since, and max(Ton) more",
            "tcd_undetermined": "of tcd_state",
            "tcd_queue": "tcd_bytes, tcd_not_fallen, and the part of tcd_state that RED needs",
        },
    },
}
# Tables with entries that Tofino's controller writes alone.
WRITTEN = {"red_curves"}
# Clocks differ: the same time in the unit that the name tells.
PARAMETERS_BY_CLOCK = {"gap_us": "gap_ns"}
# Actions whose parameters mean something else: the twin's.
DIFFERENT = {
    "set_tcd": {
        "max_ton_ns": 32,
        "empty_cells": 32,
        "looks": 8,
    },  # times have 32 bits there, queues are in cells
    "set_red": {"curve": 8},  # a table stands for the multiplication
}


def read(path: Path) -> p4i.P4Info:
    return text_format.Parse(packed.read_text(path), p4i.P4Info())


@pytest.fixture(scope="module", params=TWINS)
def twin(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def v1model(twin: str) -> p4i.P4Info:
    return read(COMPILED / f"{TWINS[twin]}.p4info.txtpb")


@pytest.fixture(scope="module")
def tna(twin: str) -> p4i.P4Info:
    return read(COMPILED / f"tna/tofino/{twin}/p4info.txtpb")


def names(info: p4i.P4Info, kind: str) -> set[str]:
    return {thing.preamble.alias for thing in getattr(info, kind)}


def only(common: Reasons, of_twin: Reasons, kind: str) -> set[str]:
    return {*common[kind], *of_twin.get(kind, {})}


@pytest.mark.parametrize("kind", ["tables", "actions", "counters", "registers"])
def test_what_only_one_has(twin: str, v1model: p4i.P4Info, tna: p4i.P4Info, kind):
    assert names(v1model, kind) - names(tna, kind) == only(ONLY_V1MODEL, OWN_V1MODEL[twin], kind)
    assert names(tna, kind) - names(v1model, kind) == only(ONLY_TNA, OWN_TNA[twin], kind)


def tables(info: p4i.P4Info) -> dict[str, Any]:
    """Keys, actions that both have with their parameters, default action and size, by table."""
    actions = {action.preamble.id: action for action in info.actions}

    def parameters(action: p4i.Action) -> dict[str, int]:
        widths = {
            PARAMETERS_BY_CLOCK.get(param.name, param.name): param.bitwidth
            for param in action.params
        }
        return DIFFERENT.get(action.preamble.alias, widths)

    return {
        table.preamble.alias: (
            {field.name: (field.match_type, field.bitwidth) for field in table.match_fields},
            {
                actions[reference.id].preamble.alias: parameters(actions[reference.id])
                for reference in table.action_refs
                if actions[reference.id].preamble.alias not in ONLY_V1MODEL["actions"]
            },
            actions[
                table.initial_default_action.action_id or table.const_default_action_id
            ].preamble.alias,
            table.size,
        )
        for table in info.tables
    }


def test_tables_mean_the_same(twin: str, v1model: p4i.P4Info, tna: p4i.P4Info):
    others = only(ONLY_V1MODEL, OWN_V1MODEL[twin], "tables")
    expected = {name: table for name, table in tables(v1model).items() if name not in others}
    assert set(expected) == {"ipv4_lpm", "rest_config"} | (
        {"tcd_config", "red_config"} if twin == "tcd" else set()
    )
    tna_only = only(ONLY_TNA, OWN_TNA[twin], "tables")
    assert {name: table for name, table in tables(tna).items() if name not in tna_only} == expected
    for table in tna.tables:
        assert table.is_const_table == (table.preamble.alias in tna_only - WRITTEN)


@pytest.mark.parametrize("action", DIFFERENT)
def test_parameters_that_differ_are_these(action):
    (described,) = [
        candidate
        for candidate in read(COMPILED / "tna/tofino/tcd/p4info.txtpb").actions
        if candidate.preamble.alias == action
    ]
    assert {param.name: param.bitwidth for param in described.params} == DIFFERENT[action]


def test_counters_mean_the_same(twin: str, v1model: p4i.P4Info, tna: p4i.P4Info):
    """In what they count and what they are indexed by: port and class, or port and reason."""

    def counters(info: p4i.P4Info) -> dict[str, tuple[int, int]]:
        return {
            counter.preamble.alias: (counter.spec.unit, counter.size) for counter in info.counters
        }

    others = only(ONLY_V1MODEL, OWN_V1MODEL[twin], "counters")
    expected = {name: counter for name, counter in counters(v1model).items() if name not in others}
    assert set(expected) == {"transmitted", "dropped", "marked"} | (
        {"marked_ue"} if twin == "tcd" else set()
    )
    assert counters(tna) == expected


def test_registers_hold_the_same(twin: str, v1model: p4i.P4Info, tna: p4i.P4Info):
    """Two times of 32 bits each: one number in v1model, a pair on Tofino, where ALUs have 32
    bits."""
    in_v1model = {register.preamble.alias: register for register in v1model.registers}
    shared = [
        register
        for register in tna.registers
        if register.preamble.alias not in OWN_TNA[twin].get("registers", {})
    ]
    assert {register.preamble.alias for register in shared} == {"busy", "resumed"}
    for register in shared:
        twin_register = in_v1model[register.preamble.alias]
        assert register.size == twin_register.size
        assert twin_register.type_spec.bitstring.bit.bitwidth == 64
        members = tna.type_info.structs[register.type_spec.struct.name].members
        assert [member.type_spec.bitstring.bit.bitwidth for member in members] == [32, 32]


def test_routes_fit_both(tna: p4i.P4Info, v1model: p4i.P4Info):
    """The controller's route, encoded by either p4info."""
    route = routes.route_entry(routes.Route("10.0.0.0", "02:00:00:00:00:01", 4, prefix=24))
    for info in (v1model, tna):
        entry = route.encode(Schema(info)).table_entry
        assert (entry.match[0].lpm.value, entry.match[0].lpm.prefix_len) == (
            bytes([10, 0, 0, 0]),
            24,
        )
        assert [parameter.value for parameter in entry.action.action.params] == [
            b"\2\0\0\0\0\1",
            b"\4",
        ]


def test_counters_that_are_watched(twin: str, tna: p4i.P4Info):
    """What `pcn watch` reads is on Tofino too, or is listed above."""
    others = {*ONLY_V1MODEL["counters"], "pause_sent", *(() if twin == "tcd" else ("marked_ue",))}
    assert set(observe._COUNTERS) - names(tna, "counters") <= others
