"""Files that are made to hurt: each ends with one line, in bounded time and memory."""

import difflib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from pcn.base.errors import nearest
from pcn.topologies import tree
from pcn.topologies.formats import FormatError, Source, p4_utils
from pcn.topologies.formats.known import FORMATS, format_of
from pcn.topologies.lookup import find_topology
from pcn.topologies.tree_parts import ComposeError, Document, MappingOf, Tree, mapping_at, text_at

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
ENTITIES = '<!DOCTYPE g [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><graphml>&b;</graphml>'
HOSTILE = [
    (
        "t.yaml",
        LAUGHS + "topology: {nodes: *i}\n",
        "more than 3,000,000 values, those that aliases repeat included",
    ),
    ("t.yaml", "a: &a [*a]\n", "found undefined alias 'a'"),
    ("t.yaml", "hosts: !!python/object/apply:os.system [false]\nlinks: []\n", "the list is empty"),
    ("t.yaml", "topology: " + 5000 * "[", "nested too deeply"),
    ("t.yaml", "topology: " + 5000 * "{a: ", "nested too deeply"),
    ("t.yaml", "hosts: \x07\n", "this is no text in UTF-8"),
    ("t.json", 100_000 * "[", "nested too deeply"),
    ("t.json", 100_000 * '{"a":', "nested too deeply"),
    ("t.json", '{"a": "' + 100_000 * "\\\\" + "x", "this is no JSON"),
    ("t.json", '{"parameters": {"a": "\\ud800"}}', "t.json:1: this is no JSON: 'utf-8' codec"),
    ("t.json", '{"a": 1' + 5000 * "0" + "x}", "this is no JSON"),
    ("t.graphml", ENTITIES, "a DTD: GraphML has none"),
    ("t.graphml", "<graphml>" + 1000 * "<a>", "more than 64 in each other"),
    ("t.txt", "65534 65534 1\n", "ends after 0 of 65534 switches' numbers"),
    ("t.txt", "99999999999999999999 1 1\n", "is no number"),
    (
        "t.topo",
        (
            "Nodes 65534\nTiers 2\nPodsize 1\nTier 0\nRadix_Down 1\nRadix_Up 2147483647\nTier "
            "1\nRadix_Down 1\n"
        ),
        "t.topo",
    ),
    ("t.txt", "2 1 1\n1\n0 1 1e99999999Gbps 1us 0\n", "is no rate"),
]


@pytest.mark.parametrize(("name", "text", "message"), HOSTILE)
def test_reader_refuses_hostile_file(name, text, message):
    source = Source(Path(name), text)
    with pytest.raises(FormatError) as caught:
        format_of(source).read(source)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 3


def test_reader_refuses_file_that_is_too_large_or_no_text(tmp_path):
    large, latin = tmp_path / "large.txt", tmp_path / "latin.txt"
    with large.open("wb") as file:
        file.truncate(tree.MOST_BYTES + 1)
    latin.write_bytes(b"6 2 5\n\xff")
    for path, message in (
        (large, "more than 64 MiB"),
        (latin, "no text in UTF-8"),
        (tmp_path, "Is a directory"),
    ):
        with pytest.raises(FormatError, match=message):
            find_topology(str(path))


@pytest.mark.parametrize(
    "text",
    ["[" + "1," * 310_000 + "1]", "- 1\n" * 310_000, "<graphml>" + "<a/>" * 310_000],
    ids=["json", "yaml", "graphml"],
)
def test_reader_needs_bounded_memory(text, tmp_path):
    """In a process that has 1 KB a value more than it begins with: a text of too many takes less,
    and is refused. Here a tenth of them are too many."""
    path = tmp_path / "many"
    path.write_text(text)
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from pcn.topologies import tree, tree_parts\n"
        "tree_parts.MOST_VALUES //= 10\n"
        "import pcn.commands.topology, pcn.topologies.lookup, yaml\n"
        "import pcn.topologies.formats.graphml\n"
        "from pcn.cli import run\n"
        "most = int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize() + "
        "(300 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most)); sys.exit(run(['topology', 'check', "
        "sys.argv[1]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "300,000" in done.stderr or "no format" in done.stderr) == (1, True), (
        done.stderr
    )


LONG_KEY = 1_000_000 * "k"
AT_ONE_SWITCH = [[f"h{number}", "s1"] for number in range(1, 2000)]
DOUBLED = {f"p{number}": f"${{p{number + 1}}}" * 10 for number in range(12)}
GROWING = [
    (
        {"topology": {"hosts": {LONG_KEY: {f"x{n}": 0 for n in range(20_000)}}, "switches": {},
                      "links": [[LONG_KEY, "s1"]]}},
        "node name 'kkk",
    ),
    ({LONG_KEY: {LONG_KEY: {}}, "hosts": [], "links": []}, "kkk...: no such field"),
    ({"hosts": [{f"x{n}": 0 for n in range(2000)}], "links": []}, "too many faults"),
    (
        {"topology": {"assignment_strategy": "l2", "hosts": {h: {} for h, _ in AT_ONE_SWITCH},
                      "switches": {"s1": {}}, "links": AT_ONE_SWITCH}},
        "hosts have more than 1,048,576 neighbours together",
    ),
    (
        {"nodes": [{"id": f"h{n}", "isHost": True, "ip": f"10.0.{n >> 8}.{n & 255}/16",
                    "mac": "00:00:00:00:00:01"} for n in range(2000)],
         "links": [{"node1": "h1", "node2": "s1", "port1": 0, "port2": 1}]},
        "hosts have more than 1,048,576 neighbours together",
    ),
    ({"targets": {"t": {"links": AT_ONE_SWITCH}}}, "from 1 to 254 are possible"),
    (
        {"targets": {"t": {"links": [[f"s{n}", f"s{n + 1}"] for n in range(300)]}}},
        "up to 255 are possible",
    ),
    (
        {"targets": {"t": {"links": [["h1", "s1", "${p0}"]], "parameters": DOUBLED}}},
        "is no time",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("document", "message"), GROWING)
def test_reader_refuses_document_that_grows(document, message):
    """What a file of a megabyte at most would make of itself has gigabytes."""
    source = Source(Path("t.json"), json.dumps(document))
    with pytest.raises(FormatError) as caught:
        format_of(source).read(source)
    assert message in str(caught.value)
    assert max(map(len, str(caught.value).splitlines())) < 1100


def test_large_mapping_is_looked_through_once():
    part = mapping_at(1, [(text_at(1, "a"), text_at(1, "b"))])
    document = Document(part.tree, lambda: part.lines)
    assert tree.read_tree(Path("t"), document, lambda node: node.get("a") is node.get("a"))


SHELL = "10.0.0.1; id"
P4APP = {"ip": "10.0.1.1/24", "mac": "00:00:00:00:00:01"}
WRITTEN = {"id": "h1", "isHost": True, **P4APP}


def p4app(host: dict[str, str]) -> dict[str, Any]:
    """Returns a network of p4-utils with one host."""
    return {"topology": {"hosts": {"h1": host}, "switches": {"s1": {}}, "links": [["h1", "s1"]]}}


def written(host: dict[str, Any], mac: str) -> dict[str, Any]:
    """Returns the same as p4-utils writes it; `mac`: of the switch."""
    link = {"node1": "h1", "node2": "s1", "port1": 0, "port2": 1, "addr2": mac}
    return {"nodes": [host, {"id": "s1", "isSwitch": True, "isP4Switch": True}], "links": [link]}


@pytest.mark.parametrize(
    "document",
    [
        p4app(P4APP | {"gw": SHELL}),
        p4app(P4APP | {"defaultRoute": f"via {SHELL}"}),
        p4app(P4APP | {"mac": "00:00:00:00:00:01; id"}),
        written(WRITTEN | {"defaultRoute": f"via {SHELL}"}, "00:00:00:00:00:02"),
        written(WRITTEN | {"defaultRoute": "via 10.0.1.2"}, "00:00:00:00:00:02; id"),
        written(WRITTEN | {"mac": "00:00:00:00:00:01\nid"}, "00:00:00:00:00:02"),
    ],
)
def test_addresses_bring_no_command_to_shell(document):
    """`pcn p4 run` gives the commands that it makes of addresses to a shell, as root."""
    source = Source(Path("p4app.json"), json.dumps(document))
    with pytest.raises(FormatError, match=r"id' is no MAC|Expected|not permitted|Only decimal"):
        p4_utils.exercise(source)


@pytest.mark.parametrize("strategy", ["l2", "mixed", "l3"])
def test_addresses_of_p4_utils_are_looked_for_once(strategy, monkeypatch):
    tried: list[str] = []
    proposed = p4_utils._proposed

    def noted(*arguments) -> Iterator[str]:
        for address in proposed(*arguments):
            tried.append(address)
            yield address

    monkeypatch.setattr(p4_utils, "_proposed", noted)
    hosts = [f"x{number}a" for number in range(200)]
    document = {
        "topology": {
            "assignment_strategy": strategy,
            "hosts": {name: {} for name in hosts},
            "switches": {"s1": {}},
            "links": [[name, "s1"] for name in hosts],
        }
    }
    source = Source(Path("p4app.json"), json.dumps(document))
    assert len(p4_utils.read(source).hosts) == len(hosts) == len(tried)


def test_nearest_doesnt_compare_long_names_or_all_of_many(monkeypatch):
    compared: list[int] = []
    monkeypatch.setattr(
        difflib,
        "get_close_matches",
        lambda name, known, *_: compared.append(len(list(known))) or [],
    )
    assert nearest(201 * "a", ["b"]) == "choose from b"
    assert nearest("a", [201 * "b", "b"]) == f"choose from {201 * 'b'}, b"
    assert nearest("a", map(str, range(20_000))) == "none of the first 10000 is like it"
    assert compared == [1, 10_000]


@given(st.sampled_from(sorted(FORMATS)), st.text(max_size=200))
def test_reader_refuses_any_text(name, text):
    with pytest.raises(FormatError):
        FORMATS[name].read(Source(Path("t"), text))


def plain(part: Tree):
    match part:
        case str():
            return str(part)
        case list():
            return [plain(item) for item in part]
        case MappingOf():
            return [(plain(key), plain(value)) for key, value in part.pairs]
        case _:
            return {None: "null", True: "true", False: "false"}[part]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def texts(value):
    """As a tree has it: numbers, truth values and nothing as JSON writes them."""
    match value:
        case str():
            return value
        case list():
            return [texts(element) for element in value]
        case dict():
            return [(key, texts(member)) for key, member in value.items()]
        case _:
            return json.dumps(value)


@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans())
def test_tree_of_json_is_what_json_has(value, indent, escaped):
    """The standard library's writer is the other side."""
    text = json.dumps(value, indent=indent, ensure_ascii=escaped)
    document = tree.compose(Path("t.json"), text)
    assert plain(document.tree) == texts(value)


@given(st.text(alphabet='[]{}:,"\\ \n0123456789.eE+-truefalsn', max_size=40))
def test_tree_of_json_takes_what_the_standard_library_takes(text):
    try:
        json.loads(text, parse_constant=lambda word: (_ for _ in ()).throw(ValueError(word)))
        valid = True
    except ValueError:
        valid = False
    try:
        valid_here = tree.compose(Path("t.json"), text) is not None
    except ComposeError:
        valid_here = False
    assert valid_here == valid


@given(VALUES, st.sampled_from([None, True, False]))
def test_tree_of_yaml_is_what_yaml_has(value, flow):
    """PyYAML's writer is the other side."""
    text = yaml.safe_dump(value, default_flow_style=flow)
    composed = tree.compose(Path("t.yaml"), text)
    if isinstance(value, list | dict):
        assert _keys(plain(composed.tree)) == _keys(texts(value))


def _keys(value):
    """Numbers as they compare: YAML writes them otherwise than JSON; mappings by key, as YAML sorts
    them."""
    match value:
        case list() if value and isinstance(value[0], tuple):
            return sorted((str(key), str(_keys(member))) for key, member in value)
        case list():
            return [_keys(element) for element in value]
        case str():
            try:
                return float(value)
            except ValueError:
                return value
    return value
