"""GraphML, as networkx writes it. The XML is read by expat, element by element: it has no entities
and no DTD."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from xml.parsers import expat

from pcn.topologies.formats import graph
from pcn.topologies.formats.graph import GraphEdge, GraphNode
from pcn.topologies.formats.source import Format, FormatError, Source
from pcn.topologies.model import Topology
from pcn.topologies.tree_parts import DEEPEST, MOST_VALUES

_LONGEST_TEXT = 1000
"""Of an attribute: what is longer is none that matters."""


class _Reader:
    """What expat calls."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.nodes: list[GraphNode] = []
        self.edges: list[GraphEdge] = []
        self.directed = False
        self.name = ""
        self._keys: dict[str, str] = {}
        self._graph: dict[str, str] = {}
        self._attributes = self._graph
        self._data: list[str] | None = None
        self._key = ""
        self._path: list[str] = []
        self._elements = 0
        # The text is UTF-8 by now, whatever the file declares: expat would look for a codec of that
        # name.
        self._parser = expat.ParserCreate("UTF-8", " ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._doctype

    def parse(self) -> None:
        try:
            self._parser.Parse(self.source.text.encode(), True)
        except expat.ExpatError as error:
            raise self.source.error(
                error.lineno, f"this is no XML: {expat.ErrorString(error.code)}"
            ) from None
        self.name = self._graph.get("name", "")

    def _fail(self, text: str) -> FormatError:
        return self.source.error(self._parser.CurrentLineNumber, text)

    def _doctype(self, *_declared: object) -> None:
        raise self._fail("a DTD: GraphML has none, and entities aren't read")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if self._elements > MOST_VALUES or len(self._path) > DEEPEST:
            raise self._fail(
                f"more than {MOST_VALUES:,} elements, or more than {DEEPEST} in each other"
            )
        tag = name.rpartition(" ")[2]
        line = self._parser.CurrentLineNumber
        if tag == "key":
            self._keys[attributes.get("id", "")] = attributes.get("attr.name", "")
        elif tag == "graph":
            if "graph" in self._path:
                raise self._fail("a graph in a graph: one is read")
            self.directed = attributes.get("edgedefault") == "directed"
        elif tag == "node":
            self._attributes = {}
            self.nodes.append(GraphNode(line, self._needed(attributes, "id"), self._attributes))
        elif tag == "edge":
            self._attributes = {}
            ends = self._needed(attributes, "source"), self._needed(attributes, "target")
            self.edges.append(GraphEdge(line, *ends, self._attributes))
        elif tag == "hyperedge":
            raise self._fail("a hyperedge: links have two ends")
        elif tag == "data":
            self._key, self._data = self._keys.get(attributes.get("key", ""), ""), []
        self._path.append(tag)

    def _needed(self, attributes: dict[str, str], name: str) -> str:
        if not attributes.get(name):
            raise self._fail(f"{name}: missing")
        return attributes[name]

    def _text(self, text: str) -> None:
        if (
            self._data is not None
            and self._path[-1:] == ["data"]
            and len(self._data) < _LONGEST_TEXT
        ):
            self._data.append(text[:_LONGEST_TEXT])

    def _end(self, _name: str) -> None:
        tag = self._path.pop()
        if tag == "data" and self._data is not None:
            if self._key:
                self._attributes[self._key] = "".join(self._data)[:_LONGEST_TEXT].strip()
            self._data = None
        elif tag in ("node", "edge"):
            self._attributes = self._graph


def read(
    source: Source,
    rate_bps: float | None = None,
    delay_s: float | None = None,
    split_hosts: int = 0,
) -> Topology:
    """Returns the topology of a file. `rate_bps`, `delay_s`: of edges that give none. Raises
    FormatError."""
    reader = _Reader(source)
    reader.parse()
    if not reader.nodes:
        raise FormatError(f"{source.path}: no node: GraphML has <graph>, and <node id=...> in it")
    return graph.topology(
        source,
        reader.nodes,
        reader.edges,
        reader.directed,
        reader.name,
        rate_bps,
        delay_s,
        split_hosts,
    )


def write(topology: Topology) -> str:
    """Returns what `networkx.read_graphml` reads."""
    nodes, edges = graph.attributes(topology)
    kinds: dict[tuple[str, str], str] = {("graph", "name"): "string"}
    for element, many in (("node", nodes), ("edge", edges)):
        for attributes in many:
            for name, value in attributes.items():
                if name not in ("id", "source", "target"):
                    kinds[element, name] = {int: "long", float: "double"}.get(type(value), "string")
    keys = {place: f"d{number}" for number, place in enumerate(kinds)}
    return "\n".join(_written(topology.name, nodes, edges, kinds, keys))


def _written(
    name: str,
    nodes: list[dict[str, str | int]],
    edges: list[dict[str, str | float]],
    kinds: dict[tuple[str, str], str],
    keys: dict[tuple[str, str], str],
) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for (element, attribute), kind in kinds.items():
        key = keys[element, attribute]
        yield f'  <key id="{key}" for="{element}" attr.name="{attribute}" attr.type="{kind}"/>'
    yield '  <graph edgedefault="undirected">'
    yield f'    <data key="{keys["graph", "name"]}">{escape(name)}</data>'
    for node in nodes:
        data = "".join(
            _data(keys["node", key], value) for key, value in node.items() if key != "id"
        )
        yield f'    <node id="{escape(str(node["id"]))}">{data}</node>'
    for number, edge in enumerate(edges):
        ends = " ".join(f'{end}="{escape(str(edge[end]))}"' for end in ("source", "target"))
        data = "".join(
            _data(keys["edge", key], value)
            for key, value in edge.items()
            if key not in ("source", "target")
        )
        yield f'    <edge id="{number}" {ends}>{data}</edge>'
    yield from ("  </graph>", "</graphml>", "")


def _data(key: str, value: str | float) -> str:
    return f'<data key="{key}">{escape(str(value))}</data>'


FORMAT = Format(
    name="graphml",
    summary="GraphML, of networkx and others",
    read=read,
    write=write,
    suffix=".graphml",
    recognises=lambda source: source.path.suffix == ".graphml" or "<graphml" in source.text[:1000],
    fields=graph.FIELDS,
)
