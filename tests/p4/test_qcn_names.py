"""QCN's programs in both architectures: what is named alike means the same, and what only one has,
with the reason."""

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format

from pcn.base import packed
from pcn.base.p4rt import p4i

COMPILED = Path(__file__).resolve().parents[2] / "p4src/compiled"
PROGRAMS = ("qcn", "qcn_in")

# Of both programs, pcn's too: test_names.py has the reasons.
COMMON_V1MODEL = {
    "tables": {"pfc_config", "next_hop_group"},
    "actions": {"set_pfc", "no_pfc", "ipv4_multipath", "next_hop", "NoAction"},
    "counters": {"pause_received", "resume_received"},
    "registers": {"waiting_packets", "waiting_bytes", "tx_paused", "tx_pause_expiry", "pn"},
}
COMMON_TNA = {
    "tables": {"faults"},
    "actions": {"drop_faulty", "good"},
    "counters": set[str](),
    "registers": set[str](),
}
ONLY_V1MODEL = {
    "qcn": {
        "sampled_feedback": (
            "samples aren't adaptive: it would be written in a stage behind that where it is read"
        )
    },
    "qcn_in": {
        "sampled_feedback": "samples aren't adaptive: ingress doesn't have it",
        "sampled_at": "no keep-alive",
        "held_bytes": "neither gress has it: admitted_bytes less departed_bytes",
        "xoff_sent": "the traffic manager sends PAUSE",
        "slots_used": "no RANDOM", "free_slots": "no RANDOM", "positions": "no RANDOM",
        "occupants": "no RANDOM", "flow_bytes": "no LARGEST", "largest_bytes": "no LARGEST",
        "largest_flow": "no LARGEST",
    },
}  # fmt: skip
MESSAGES = {
    "feedback_steps": "quantises, where v1model multiplies",
    "copy_sessions": "of constant entries: each pipe has a recirculation port",
    "set_feedback": "of feedback_steps",
    "no_feedback": "of feedback_steps",
    "copy_by": "of copy_sessions",
}
ONLY_TNA = {
    "qcn": MESSAGES,
    "qcn_in": MESSAGES
    | {
        "admitted_bytes": "of ingress",
        "departed_bytes": "of egress",
        "samples": "of constant entries: chooses between two actions on one register",
        "pendings": "of constant entries: chooses between two actions on one register",
        "write_sample": "of samples",
        "read_sample": "of samples",
        "never": "of samples: a default action that no packet meets",
        "write_pending": "of pendings",
        "read_pending": "of pendings",
        "keep": "of pendings",
    },
}
# Of actions that both have.
PARAMETERS_V1MODEL = {
    "w": "2 is built in",
    "scale_q32": "feedback_steps quantises",
    "sample_max_bytes": "sample_mask_bytes: a chance of a power of two",
    "adaptive": "no register for it",
    "keep_alive_us": "no keep-alive",
    "sojourn_us": "sojourn_mask_ns: a dice of a power of two, in ns",
}
PARAMETERS_TNA = {"sample_mask_bytes", "sojourn_mask_ns"}
# Arrivals and departures each have the half that they need; a class has an entry if it is lossless.
HALF = {
    "set_arrivals": {"sample_min_bytes", "sample_mask_bytes"},
    "set_departures": {"choice", "q_eq_bytes", "sojourn_mask_ns"},
}


@pytest.fixture(params=PROGRAMS)
def program(request) -> str:
    return request.param


def read(name: str) -> p4i.P4Info:
    return text_format.Parse(packed.read_text(COMPILED / name), p4i.P4Info())


@pytest.fixture
def v1model(program: str) -> p4i.P4Info:
    return read(f"{program}_native.p4info.txtpb")


@pytest.fixture
def tna(program: str) -> p4i.P4Info:
    return read(f"tna/tofino/{program}/p4info.txtpb")


def named(info: p4i.P4Info, kind: str) -> dict[str, Any]:
    return {thing.preamble.alias: thing for thing in getattr(info, kind)}


@pytest.mark.parametrize("kind", ["tables", "actions", "counters", "registers"])
def test_what_only_one_has(program: str, v1model: p4i.P4Info, tna: p4i.P4Info, kind):
    there, here = set(named(v1model, kind)), set(named(tna, kind))
    assert there - here == COMMON_V1MODEL[kind] | (set(ONLY_V1MODEL[program]) & there)
    assert here - there == COMMON_TNA[kind] | (set(ONLY_TNA[program]) & here)


def test_what_only_one_has_is_there(program: str, v1model: p4i.P4Info, tna: p4i.P4Info):
    kinds = ("tables", "actions", "counters", "registers")
    for info, reasons in ((v1model, ONLY_V1MODEL), (tna, ONLY_TNA)):
        assert set(reasons[program]) <= set().union(*(named(info, kind) for kind in kinds))


def test_actions_mean_the_same(v1model: p4i.P4Info, tna: p4i.P4Info):
    """Parameters of one name have one width."""
    there, here = named(v1model, "actions"), named(tna, "actions")
    for name in set(there) & set(here):
        v1model_has, tna_has = (
            {param.name: param.bitwidth for param in info[name].params} for info in (there, here)
        )
        assert all(
            tna_has[action] == v1model_has[action] for action in set(tna_has) & set(v1model_has)
        ), name
        assert set(tna_has) - set(v1model_has) <= PARAMETERS_TNA, name
        halved = set(v1model_has) - set(tna_has)
        if name in HALF:
            assert set(tna_has) == HALF[name]
            halved -= set().union(*HALF.values())
        assert halved <= set(PARAMETERS_V1MODEL), name


def test_tables_are_keyed_alike(v1model: p4i.P4Info, tna: p4i.P4Info):
    """By port; and by class here, where no program has the lossless classes."""

    def keys(info: p4i.P4Info) -> dict[str, dict[str, tuple[int, int]]]:
        return {
            name: {field.name: (field.match_type, field.bitwidth) for field in table.match_fields}
            for name, table in named(info, "tables").items()
        }

    there, here = keys(v1model), keys(tna)
    for name in set(there) & set(here) - {"ipv4_lpm"}:
        assert here[name] == there[name] | {"class": (p4i.MatchField.EXACT, 3)}, name
    assert here["ipv4_lpm"] == there["ipv4_lpm"]


def test_counters_and_registers_mean_the_same(v1model: p4i.P4Info, tna: p4i.P4Info):
    for name, counter in named(v1model, "counters").items():
        if name not in COMMON_V1MODEL["counters"]:
            here = named(tna, "counters")[name]
            assert (here.spec.unit, here.size) == (counter.spec.unit, counter.size), name
    for name, register in named(v1model, "registers").items():
        if name in named(tna, "registers"):
            assert named(tna, "registers")[name].size == register.size, name
