"""Mutants of programs' JSON, by structure, for fuzz_json.py: `mutant` makes one of a seed."""

import json
import random
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from program_json import Builder, assign, extract, field, header, op, primitive, state, value

from pcn.base import packed

ROOT = Path(__file__).resolve().parents[2]
Json = Any
Path_ = tuple[str | int, ...]
FILES = (
    "p4src/compiled/pcn.json",
    "p4src/compiled/qcn_both.json",
    "tests/p4runtime/programs/bench.json",
    *(
        f"judges/differential/programs/{name}.json"
        for name in ("expressions", "headers", "lookups", "paths", "state")
    ),
)
NUMBERS = (
    0, 1, -1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 255, 512, 4095, 4096, 9216, 32767, 32768,
    65535, 65536, 2**18, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 8, 2**63, 2**64, 10**30,
)  # fmt: skip
OTHERS = (
    None, True, False, "", "x", [], {}, "*", "default", "0x", "-0x1", "$valid$", "\x00",
    "a" * 2000,
)  # fmt: skip
KINDS = [
    "field", "hexstr", "bool", "header", "header_stack", "header_union", "header_union_stack",
    "stack_field", "union_stack_field", "lookahead", "runtime_data", "local", "register",
    "expression", "calculation", "string", "register_array", "counter_array", "meter_array",
    "parameters_vector", "regular", "stack", "union_stack", "parse_vset", "payload", "exact",
    "lpm", "ternary", "range", "optional", "simple", "indirect",
]  # fmt: skip
OPS = [
    "+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "~", "==", "!=", "<", ">", "and", "or",
    "not", "d2b", "b2d", "?", "two_comp_mod", "usat_cast", "sat_cast", "valid", "valid_union",
    "access_field", "access_union_header", "dereference_header_stack", "dereference_union_stack",
    "last_stack_index", "size_stack",
]  # fmt: skip
PRIMITIVES = [
    "assign", "assign_VL", "assign_header", "assign_union", "assign_header_stack", "add_header",
    "remove_header", "push", "pop", "drop", "mark_to_drop", "no_op", "exit", "register_read",
    "register_write", "count", "execute_meter", "modify_field_with_hash_based_offset",
    "modify_field_rng_uniform", "resubmit", "recirculate", "clone_ingress_pkt_to_egress",
    "clone_egress_pkt_to_egress", "generate_digest", "truncate", "log_msg", "assert", "assume",
    "_jump", "_jump_if_zero", "extract", "extract_VL", "set", "verify", "shift", "advance",
]  # fmt: skip


# ---- programs to start from ----


def rich() -> Json:
    """What p4c's outputs at hand don't have together: unions and stacks of them, varbits, value
    sets, lists."""
    b = Builder().header("h", [["a", 8], ["b", 16], ["i", 8, True], ["w", 128], ["x", 200]])
    b.header("meta", [["m", 32], ["n", 200], ["s", 9, True]], metadata=True)
    b.header("v", [["n", 8], ["rest", "*"]])
    b.types[-1]["max_length"] = 20
    for name in ("s[0]", "s[1]", "s[2]"):
        b.header(name, [["k", 8]], type_name="s_t")
    for name in ("u", "us[0]", "us[1]"):
        b.header(f"{name}.one", [["n", 8]], type_name="one_t").header(
            f"{name}.two", [["n", 16]], type_name="two_t"
        )
    ids = {h["name"]: h["id"] for h in b.headers}
    unions = [
        {"name": n, "id": i, "union_type": "u_t", "header_ids": [ids[f"{n}.one"], ids[f"{n}.two"]]}
        for i, n in enumerate(("u", "us[0]", "us[1]"))
    ]
    stack, index = {"type": "header_stack", "value": "s"}, op("&", field("h", "a"), value(3))
    element = op("dereference_union_stack", {"type": "header_union_stack", "value": "us"}, index)
    b.extra |= {
        "header_stacks": [
            {
                "name": "s", "id": 0, "header_type": "s_t", "size": 3,
                "header_ids": [ids[f"s[{i}]"] for i in range(3)],
            }
        ],
        "header_union_types": [
            {"name": "u_t", "id": 0, "headers": [["one", "one_t"], ["two", "two_t"]]}
        ],
        "header_unions": unions,
        "header_union_stacks": [
            {"name": "us", "id": 0, "union_type": "u_t", "header_union_ids": [1, 2]}
        ],
        "register_arrays": [
            {"name": f"r{w}", "id": w, "size": 4, "bitwidth": w} for w in (8, 64, 128, 200)
        ],
        "counter_arrays": [{"name": "c", "id": 0, "size": 4, "is_direct": False}],
        "meter_arrays": [
            {"name": "m", "id": 0, "size": 4, "type": "bytes", "rate_count": 2, "is_direct": False}
        ],
        "calculations": [
            {
                "name": "calc",
                "id": 0,
                "algo": "crc32",
                "input": [field("h", "b"), header("v"), {"type": "payload", "value": None}],
            }
        ],
        "learn_lists": [{"name": "d", "id": 1, "elements": [field("h", "b"), field("h", "x")]}],
        "field_lists": [
            {
                "name": "f",
                "id": 1,
                "elements": [field("meta", "n"), field("standard_metadata", "ingress_port")],
            }
        ],
        "parse_vsets": [{"name": "set", "id": 0, "compressed_bitwidth": 8, "max_size": 4}],
    }  # fmt: skip
    member = {"type": "parse_vset", "value": "set", "mask": None, "next_state": "stack"}
    length = op("&", {"type": "lookahead", "value": [0, 8]}, value(0x38))
    b.states = [
        state("start", [extract("h")], "varbit", key=[field("h", "a")], cases=[member]),
        state(
            "stack",
            [{"op": "extract", "parameters": [{"type": "stack", "value": "s"}]}],
            "unions",
            key=[{"type": "stack_field", "value": ["s", "k"]}],
            cases=[{"type": "hexstr", "value": "0x01", "mask": "0x01", "next_state": "stack"}],
        ),
        state(
            "unions",
            [
                {"op": "extract", "parameters": [{"type": "union_stack", "value": ["us", "one"]}]},
                extract("u.two"),
            ],
        ),
        state(
            "varbit",
            [{"op": "extract_VL", "parameters": [{"type": "regular", "value": "v"}, length]}],
        ),
    ]
    b.run(
        [
            primitive(
                "assign_union",
                op(
                    "dereference_union_stack",
                    {"type": "header_union_stack", "value": "us"},
                    value(1),
                ),
                element,
            ),
            primitive("push", stack, value(1)),
            primitive("pop", stack, value(2)),
            assign(field("meta", "n"), op("*", field("h", "w"), field("h", "x"))),
            primitive(
                "modify_field_with_hash_based_offset", field("h", "b"), value(1),
                {"type": "calculation", "value": "calc"}, value(100),
            ),
            primitive(
                "register_write", {"type": "register_array", "value": "r200"}, field("h", "a"),
                field("meta", "n"),
            ),
            primitive(
                "execute_meter", {"type": "meter_array", "value": "m"}, field("h", "a"),
                field("h", "i"),
            ),
            primitive("generate_digest", value(0), value(1)),
            primitive("clone_ingress_pkt_to_egress", value(1), value(1)),
            primitive(
                "log_msg",
                {"type": "string", "value": "a={}"},
                {"type": "parameters_vector", "value": [field("h", "a")]},
            ),
            primitive("assert", op("==", field("h", "a"), value(2))),
            primitive("truncate", value(60)),
            assign(field("standard_metadata", "egress_spec"), value(2)),
        ]
    )  # fmt: skip
    b.run(
        [primitive("assign_header", op("access_union_header", element, 0), header("u.one"))],
        "egress",
    )
    for kind in ("exact", "lpm", "ternary", "range", "optional"):
        key = [{"match_type": kind, "name": "k", "target": ["h", "b"], "mask": None}]
        b.table(
            f"t_{kind}",
            actions=[
                b.action(
                    f"act_{kind}",
                    [assign(field("h", "x"), {"type": "runtime_data", "value": 0})],
                    [("p", 200)],
                )
            ],
            key=key, match_type=kind, data=["0x5"], with_counters=True,
        )  # fmt: skip
        b.tables["ingress"][-2].update(base_default_next=f"t_{kind}")
        b.tables["ingress"][-2]["next_tables"] = dict.fromkeys(
            b.tables["ingress"][-2]["next_tables"], f"t_{kind}"
        )
    return b.json()


@lru_cache(maxsize=1)
def bases() -> list[str]:
    """JSON texts."""
    return [json.dumps(rich()), *(packed.read_text(ROOT / name) for name in FILES)]


# ---- mutation ----


def places(document: Json) -> dict[str, list[Path_]]:
    """Every place of the document, by the key under which it, or its list, stands."""
    paths = defaultdict(list)
    todo = [((), "", document)]
    while todo:
        path, kind, node = todo.pop()
        paths[kind].append(path)
        if isinstance(node, dict):
            todo += [
                ((*path, key), key, child) for key, child in node.items() if key != "source_info"
            ]
        elif isinstance(node, list):
            todo += [((*path, i), kind, child) for i, child in enumerate(node)]
    return paths


def at(document: Json, path: Path_) -> Json:
    for part in path:
        document = document[part]
    return document


def copied(node: Json) -> Json:
    """A copy, so that no place of a document stands in another, or in the next mutant."""
    return json.loads(json.dumps(node))


def mutate(document: Json, rng: random.Random):
    """Changes one place. The kinds of place are drawn first: there are thousands of values and one
    deparser."""
    known = places(document)
    kind = rng.choice([key for key in known if key])
    path = rng.choice(known[kind])
    holder, key = at(document, path[:-1]), path[-1]
    old = holder[key]
    replacement = copied(at(document, rng.choice(known[kind])))
    match rng.randrange(9):
        case 0:
            holder[key] = copied(rng.choice(OTHERS))
        case 1 if isinstance(holder, dict):
            del holder[key]
        case 1 | 2 if isinstance(holder, list):
            again = [copied(old) for _ in range(rng.choice((1, 1, 2, 10, 200, 2000)))]
            holder[key:key] = again
        case 3 if isinstance(holder, list):
            del holder[key]
        case 4 | 5:
            holder[key] = replacement
        case 6 if isinstance(old, dict) and "type" in old:
            for _ in range(rng.choice((1, 2, 60, 149, 151, 3000))):
                name = rng.choice(OPS)
                old = {
                    "type": "expression",
                    "value": {
                        "op": name,
                        "left": old,
                        "right": copied(replacement)
                        if rng.random() < 0.05
                        else value(rng.choice(NUMBERS[:20])),
                        "cond": None,
                    },
                }
            holder[key] = old
        case _ if isinstance(old, bool):
            holder[key] = not old
        case _ if isinstance(old, int):
            holder[key] = rng.choice((*NUMBERS, old + 1, old - 1, old * 2))
        case _ if isinstance(old, str) and kind == "type":
            holder[key] = rng.choice(KINDS)
        case _ if isinstance(old, str) and kind == "op":
            holder[key] = rng.choice(PRIMITIVES if "parameters" in holder else OPS)
        case _ if isinstance(old, str) and old.startswith("0x"):
            holder[key] = hex(rng.choice(NUMBERS))
        case _ if isinstance(old, str):
            names = [
                text
                for k in ("name", kind)
                for p in known[k]
                if isinstance(text := at(document, p), str)
            ]
            holder[key] = rng.choice(names)
        case _:
            holder[key] = copied(rng.choice((*NUMBERS, *OTHERS)))


def mutant(seed: int) -> str:
    rng = random.Random(seed)
    document = json.loads(rng.choice(bases()))
    try:
        for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
            mutate(document, rng)
        return json.dumps(document)
    except RecursionError:
        return '{"actions":' + "[" * 200_000  # deeper than what writes it
