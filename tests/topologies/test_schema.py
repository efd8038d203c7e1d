"""topology.schema.json against the reader: the same fields, and what the schema allows is read."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from file_networks import connected_topologies
from hypothesis import given, strategies as st

from pcn.topologies.formats import FormatError, Source, pcn, pcn_switch
from pcn.topologies.formats.known import FORMATS

SCHEMA = json.loads((Path(pcn.__file__).parent / "topology.schema.json").read_text())
SAMPLE = Path(__file__).parent / "files" / "racks.yaml"
TABLES = {
    "host": pcn.HOST, "switch": pcn_switch.SWITCH, "output": pcn_switch.OUTPUT,
    "buffer": pcn_switch.BUFFER, "share": pcn_switch.SHARE, "ecn": pcn_switch.ECN,
    "schedule": pcn_switch.SCHEDULE, "watchdog": pcn_switch.WATCHDOG, "defaults": pcn.DEFAULTS,
    "link": pcn.LINK, "flow": pcn.FLOW,
}  # fmt: skip


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else schema


def fits(schema: Mapping[str, Any], value) -> bool:
    """Of JSON Schema what this one uses."""
    schema = resolved(schema)
    if "anyOf" in schema:
        return any(fits(subschema, value) for subschema in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    python = {
        "object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
        "number": (int, float),
    }  # fmt: skip
    if not any(isinstance(value, python[kind]) for kind in kinds):
        return False
    if isinstance(value, str):
        return re.search(schema.get("pattern", ""), value) is not None
    if isinstance(value, list):
        return len(value) >= schema.get("minItems", 0) and all(
            fits(schema["items"], element) for element in value
        )
    if isinstance(value, dict):
        known, more = schema["properties"], schema.get("additionalProperties")
        return set(schema.get("required", ())) <= value.keys() and all(
            fits(known[key], member) if key in known else bool(more) and fits(more, member)
            for key, member in value.items()
        )
    return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))


def allowed(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    schema = resolved(schema)
    if "anyOf" in schema:
        return st.one_of(*map(allowed, schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "string":
            return st.from_regex(
                schema.get("pattern", ""), fullmatch=True, alphabet=st.characters(codec="ascii")
            )
        case "array":
            least = schema.get("minItems", 0)
            return st.lists(allowed(schema["items"]), min_size=least, max_size=max(3, least))
        case "object":
            known = {key: allowed(subschema) for key, subschema in schema["properties"].items()}
            needed = {key: known.pop(key) for key in schema.get("required", ())}
            return st.fixed_dictionaries(needed, optional=known)
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(schema.get("minimum", 0), schema.get("maximum", 2**31))
    return st.floats(0.1, min(100, schema.get("maximum", 100)))


def test_schema_has_the_reader_s_fields():
    for name, table in {**TABLES, "": pcn.TOPOLOGY}.items():
        schema = SCHEMA["$defs"][name] if name else SCHEMA
        assert schema["properties"].keys() == table.keys(), name
        assert set(schema["required"]) == {key for key, field in table.items() if field.needed}, (
            name
        )
        assert schema["additionalProperties"] is False
    assert SCHEMA["$defs"]["parameters"]["properties"].keys() == {
        *pcn.PARAMETERS,
        "lossless_classes",
    }


# A reader's words where a value's form is wrong, and not what it stands for.
FORM = re.compile(
    r"no such field|missing|is wanted|is no \w+|has no unit|write it like|choose from "
)


@given(allowed(SCHEMA))
def test_reader_takes_the_form_that_the_schema_allows(document):
    """It refuses unknown nodes, and names that stand there twice."""
    assert fits(SCHEMA, document)
    message = ""
    try:
        FORMATS["pcn-json"].read(Source(Path("t.json"), json.dumps(document)))
    except FormatError as error:
        message = re.sub(r"'[^']*'|no node.*", "", str(error))
    assert not FORM.search(message), message


@given(connected_topologies())
def test_schema_allows_what_is_written(topology):
    assert fits(SCHEMA, json.loads(pcn.write_json(topology)))


def test_schema_allows_the_sample():
    topology = FORMATS["pcn"].read(Source.of(SAMPLE))
    assert fits(SCHEMA, json.loads(pcn.write_json(topology)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"rate": "25Gbit/s"', '"rate": "25"'),
        ('"rate": "25Gbit/s"', '"rat": "25G"'),
        ('"a": "a0:0"', '"a": "a0:"'),
        ('"id": 9', '"id": -1'),
        ('"arbitration": "round robin"', '"arbitration": "robin"'),
        ('"class": 4', '"class": 8'),
        ('"links"', '"link"'),
    ],
)
def test_schema_and_reader_refuse_alike(old, new):
    text = pcn.write_json(FORMATS["pcn"].read(Source.of(SAMPLE)))
    assert old in text
    text = text.replace(old, new)
    assert not fits(SCHEMA, json.loads(text))
    with pytest.raises(FormatError):
        FORMATS["pcn-json"].read(Source(Path("t.json"), text))
