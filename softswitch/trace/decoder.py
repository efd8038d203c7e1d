"""Steps of a traced program, with the program's names.

The runtime keeps them as numbers (csrc/pipeline.h, enum sw_trace_kind); the program's model has the
names.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from pcn.softswitch.program.errors import Source
from pcn.softswitch.program.model import Program

_HEAD: Final = struct.Struct("=QQIIII")
_DECISION: Final = struct.Struct("=IIIiiii")
_QUEUE: Final = struct.Struct("=IIIIIII")
_NONE: Final = 2**32 - 1
PIPELINES: Final = ("ingress", "egress")
CHECKSUM_RESULTS: Final = ("not updated", "updated", "passed", "failed", "not verified", "invalid")
INSTANCES: Final = (
    "normal",
    "ingress clone",
    "egress clone",
    "coalesced",
    "recirculated",
    "replica",
    "resubmitted",
)


class Step(NamedTuple):
    """What a program did with a packet. `packet`: the number of a packet's way through ingress,
    from 1 on; its replicas and clones have it as well. `fields`: by name, as JSON has them."""

    packet: int
    time_ns: int
    kind: str
    fields: dict[str, Any]


class Decoder:
    """Names the steps of one switch. `loading` gets the model of a program that is about to be
    loaded, whose steps follow once it is."""

    def __init__(self) -> None:
        self._next: list[Program] = []
        self._program: Program | None = None

    def loading(self, program: Program) -> None:
        """Takes note of a program that is about to be loaded."""
        self._next.append(program)

    def not_loaded(self) -> None:
        """That program was refused."""
        self._next.pop()

    def steps(self, data: bytes) -> Iterator[Step]:
        """Yields the steps in bytes of `NativeSwitch.take_trace`."""
        at = 0
        while at < len(data):
            packet, time_ns, kind, a, b, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            content = data[at : at + length]
            at += (length + 7) // 8 * 8
            if kind == 0:
                self._program = self._next.pop(0)
            elif self._program is not None:
                name, fields = _KINDS[kind]
                yield Step(packet, time_ns, name, fields(self._program, a, b, content))


def _received(_program: Program, a: int, b: int, data: bytes) -> dict[str, Any]:
    instance = a >> 16
    return {
        "port": a & 0xFFFF,
        "instance": INSTANCES[instance] if instance < len(INSTANCES) else str(instance),
        "length": b,
        "frame": data.hex(),
    }


def _state(program: Program, a: int, _b: int, _data: bytes) -> dict[str, Any]:
    return {"parser": program.parser.name, "state": program.parser.states[a].name}


def _extracted(program: Program, a: int, b: int, data: bytes) -> dict[str, Any]:
    number = program.stacks[a].headers[b - 1] if b else a
    header = program.headers[number]
    return {"header": header.name, "fields": _fields(program, header.type, data)}


def _fields(program: Program, header_type: int, data: bytes) -> dict[str, str]:
    """Values in hexadecimal digits: a field may have more bits than a number of JSON."""
    kind = program.header_types[header_type]
    value, left = int.from_bytes(data, "big"), 8 * len(data)
    values = {}
    for field in kind.fields:
        width = 8 * len(data) - kind.fixed_bits if field.varbit else field.width
        left -= width
        values[field.name] = f"0x{value >> left & (1 << width) - 1:x}"
    return values


def _key(program: Program, a: int, b: int, data: bytes) -> dict[str, Any]:
    return {"state": program.parser.states[a].name, "key": data.hex() or None, "bytes": b}


def _parsed(program: Program, a: int, b: int, _data: bytes) -> dict[str, Any]:
    errors = {number: name for name, number in program.errors.items()}
    return {"error": errors.get(a, str(a)), "bytes": b}


def _checksum(program: Program, a: int, b: int, _data: bytes) -> dict[str, Any]:
    return {"checksum": program.checksums[a].name, "result": CHECKSUM_RESULTS[b]}


def _stage(program: Program, a: int, b: int, _data: bytes) -> dict[str, Any]:
    names = (*PIPELINES, program.deparser.name, program.parser.name)
    return {
        "stage": ("pipeline", "pipeline", "deparser", "parser")[a],
        "name": names[a],
        "begins": b == 0,
    }


def _condition(program: Program, a: int, b: int, _data: bytes) -> dict[str, Any]:
    control = program.egress if a >> 16 else program.ingress
    node = control.nodes[a & 0xFFFF]
    return {"condition": node.name, **_place(getattr(node, "source", None)), "result": bool(b)}


def _table(program: Program, a: int, _b: int, data: bytes) -> dict[str, Any]:
    key, at = {}, 0
    for field in program.tables[a].key:
        size = (field.width + 7) // 8
        key[field.name] = data[at : at + size].hex()
        at += size
    return {"table": program.tables[a].name, "key": key}


def _entry(program: Program, a: int, b: int, _data: bytes) -> dict[str, Any]:
    return {"table": program.tables[a].name, "hit": b != _NONE, "handle": None if b == _NONE else b}


def _action(program: Program, a: int, _b: int, data: bytes) -> dict[str, Any]:
    action, words = program.actions[a], [data[i : i + 8] for i in range(0, len(data), 8)]
    values = {}
    for parameter in action.parameters:
        count = (parameter.width + 63) // 64
        mine, words = words[:count], words[count:]
        values[parameter.name] = (
            f"0x{sum(int.from_bytes(w, 'little') << 64 * i for i, w in enumerate(mine)):x}"
        )
    return {"action": action.name, **_place(action.source), "arguments": values}


def _primitive(program: Program, a: int, b: int, _data: bytes) -> dict[str, Any]:
    return {"action": program.actions[a].name, **_place(program.actions[a].statements[b].source)}


def _parser_step(program: Program, a: int, b: int, _data: bytes) -> dict[str, Any]:
    state = program.parser.states[a]
    return {"state": state.name, **_place(state.statements[b].source)}


def _decided(program: Program, a: int, b: int, data: bytes) -> dict[str, Any]:
    length, group, drop_port, clone, resubmit, recirculate, digest = _DECISION.unpack(data)
    decision: dict[str, Any] = {"pipeline": PIPELINES[a], "egress_spec": b, "length": length}
    if a == 0 and resubmit != -1:
        return {**decision, "resubmitted": True}
    decision["dropped"] = b == drop_port and not (a == 0 and group)
    if a == 0 and group:
        decision["multicast_group"] = group
    if clone != -1:
        decision["clone_session"] = clone
    if a == 0 and digest != -1:
        decision["digest"] = next(
            (learn_list.name for learn_list in program.learn_lists if learn_list.id == digest),
            str(digest),
        )
    if a == 1 and recirculate != -1:
        decision["recirculated"] = True
    return decision


def _dequeued(_program: Program, a: int, b: int, data: bytes) -> dict[str, Any]:
    enq_qdepth, deq_qdepth, waited_us, enqueued_us, rid, instance, length = _QUEUE.unpack(data)
    return {
        "port": a,
        "queue": b,
        "enq_timestamp_us": enqueued_us,
        "deq_timedelta_us": waited_us,
        "enq_qdepth": enq_qdepth,
        "deq_qdepth": deq_qdepth,
        "egress_rid": rid,
        "instance": INSTANCES[instance] if instance < len(INSTANCES) else str(instance),
        "length": length,
    }


def _emitted(program: Program, a: int, _b: int, _data: bytes) -> dict[str, Any]:
    return {"header": program.headers[a].name}


def _sent(_program: Program, a: int, b: int, data: bytes) -> dict[str, Any]:
    return {"port": a, "length": b, "frame": data.hex()}


def _place(source: Source | None) -> dict[str, Any]:
    if source is None:
        return {"source": None, "text": None}
    return {"source": f"{source.file}({source.line})", "text": source.fragment}


_KINDS: Final[dict[int, tuple[str, Callable[[Program, int, int, bytes], dict[str, Any]]]]] = {
    1: ("received", _received),
    2: ("state", _state),
    3: ("extracted", _extracted),
    4: ("key", _key),
    5: ("parsed", _parsed),
    6: ("checksum", _checksum),
    7: ("stage", _stage),
    8: ("condition", _condition),
    9: ("table", _table),
    10: ("entry", _entry),
    11: ("action", _action),
    12: ("primitive", _primitive),
    13: ("statement", _parser_step),
    14: ("decided", _decided),
    15: ("dequeued", _dequeued),
    16: ("emitted", _emitted),
    17: ("sent", _sent),
}
KINDS: Final = tuple(name for name, _ in _KINDS.values())
