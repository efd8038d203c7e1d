"""What a driver, or whatever answers at its port, sends: it ends at most the command, with one
line."""

import contextlib
import copy
import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bfrt_description import MESSAGES
from bfrt_driver import Driver, description
from hypothesis import given, strategies as st

from pcn.controller.errors import SwitchError
from pcn.controller.tofino.bfrt import BfRuntimeSwitch
from pcn.controller.tofino.bfrt_entities import Entities
from pcn.controller.tofino.bfrt_info import Info
from pcn.controller.tofino.package import Package

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 70_000) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=4,
)
_PACKAGE = Package.compiled("pcn")
_DOCUMENT = {
    "tables": [
        table for table in json.loads(_PACKAGE.bf_rt)["tables"] if "snapshot" not in table["name"]
    ]
}
_INFO = Info("tofino", [_PACKAGE.bf_rt, description()])
_ENTITIES = Entities(cast(Any, SimpleNamespace(**MESSAGES)), _INFO, _PACKAGE.schema)


def places(node, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Returns the path of each node."""
    parts = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    return [path, *(place for key, part in parts for place in places(part, (*path, key)))]


_PLACES = places(_DOCUMENT)[1:]


@given(place=st.sampled_from(_PLACES), value=_JSON)
def test_description_with_any_other_node_is_read_or_refused(place, value):
    document = copy.deepcopy(_DOCUMENT)
    node = document
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    with contextlib.suppress(SwitchError):
        Entities(
            cast(Any, SimpleNamespace(**MESSAGES)),
            Info("tofino", [json.dumps(document).encode()]),
            _PACKAGE.schema,
        )


_RAW = st.binary(max_size=9)
_KEYS = st.builds(
    lambda number, kind, raw, prefix: MESSAGES["KeyField"](
        field_id=number,
        **{
            kind: MESSAGES[
                {"exact": "Exact", "ternary": "Ternary", "lpm": "LPM", "range": "Range"}[kind]
            ](
                **({"low": raw, "high": raw} if kind == "range" else {"value": raw}),
                **({"prefix_len": prefix} if kind == "lpm" else {}),
            )
        },
    ),
    st.sampled_from([1, 2, 65537, 65556, 65557]),
    st.sampled_from(["exact", "ternary", "lpm", "range"]),
    _RAW,
    st.integers(-1, 40),
)
_DATA = st.builds(
    lambda number, raw: MESSAGES["DataField"](field_id=number, stream=raw),
    st.sampled_from([1, 2, 65553, 65554]),
    _RAW,
)


@given(
    table=st.sampled_from(sorted(_INFO.by_id)),
    keys=st.lists(_KEYS, max_size=3),
    data=st.lists(_DATA, max_size=4),
    action=st.sampled_from(
        [0, *(number for table in _INFO.tables.values() for number, _ in table.actions.values())]
    ),
    default=st.booleans(),
)
def test_any_entry_is_translated_or_refused(table, keys, data, action, default):
    entry = MESSAGES["TableEntry"](table_id=table, is_default_entry=default)
    entry.key.fields.extend(keys)
    entry.data.action_id = action
    entry.data.fields.extend(data)
    switch = BfRuntimeSwitch("tofino", 0, cast(Any, None), cast(Any, None), lambda _text: None)
    with contextlib.suppress(SwitchError), switch._understood("reading"):
        list(_ENTITIES.entities(entry))


def test_data_without_its_action_is_read():
    table = _INFO.table("tf1.tm.queue.buffer")
    entry = MESSAGES["TableEntry"](table_id=table.id)
    entry.data.fields.add(
        field_id=table.fields("shared_pool")["pool_id"].id, str_val="EG_APP_POOL_0"
    )
    entry.data.fields.add(field_id=table.fields()["tail_drop_enable"].id, bool_val=False)
    assert _ENTITIES.values(entry) == {"pool_id": "EG_APP_POOL_0", "tail_drop_enable": False}


@pytest.mark.parametrize("name", ["../pcn", "", "other"])
def test_unknown_program_of_a_switch_is_one_line(name):
    switch = BfRuntimeSwitch(
        "tofino", 0, cast(Any, None), SimpleNamespace(**MESSAGES), lambda _text: None
    )
    driver = Driver()
    driver._clients[switch._client] = cast(Any, None)
    driver.loaded = MESSAGES["ForwardingPipelineConfig"](
        p4_name=name, bfruntime_info=_PACKAGE.bf_rt
    )
    switch._call = lambda _method, request, *_rest: driver.describe(request)
    with pytest.raises(Exception, match="no program for Tofino") as failure:
        switch.tables()
    assert "\n" not in str(failure.value)
