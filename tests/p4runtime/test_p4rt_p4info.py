"""P4infos that no compiler writes: each is bound to the program or refused with a code and a name,
at once."""

import ctypes
import random
from collections.abc import Callable, Iterator
from contextlib import suppress

import fuzz_messages
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from p4rt_switch import PROGRAMS, Program, load

from pcn.base.p4rt import p4i, p4r
from pcn.softswitch.codegen.build import build_program
from pcn.softswitch.native import NativeSwitch
from pcn.softswitch.p4runtime import packetio
from pcn.softswitch.p4runtime.binding import bind
from pcn.softswitch.p4runtime.entities import Forwarding
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, RpcError
from pcn.softswitch.program.load import load_program
from pcn.softswitch.program.model import Program as Model

Change = Callable[[p4i.P4Info], object]


def struct(info: p4i.P4Info, name: str, *parts: str):
    members = info.type_info.structs[name].members
    for number, part in enumerate(parts):
        members.add(name=f"m{number}").type_spec.struct.name = part


def register_of(info: p4i.P4Info, name: str):
    info.registers[0].type_spec.Clear()
    info.registers[0].type_spec.struct.name = name


def doubled(info: p4i.P4Info):
    """A p4info of 3 KB; with each struct written out, of 2^40 members."""
    for number in range(40):
        struct(info, f"s{number}", f"s{number + 1}", f"s{number + 1}")
    info.type_info.structs["s40"].SetInParent()
    register_of(info, "s0")


def chain(info: p4i.P4Info):
    """No member twice, but deep."""
    for number in range(5000):
        struct(info, f"s{number}", f"s{number + 1}")
    register_of(info, "s0")


def circle(info: p4i.P4Info):
    for name, next_name in (("a", "b"), ("b", "c"), ("c", "a")):
        info.type_info.new_types[name].original_type.new_type.name = next_name
    info.registers[0].type_spec.Clear()
    info.registers[0].type_spec.new_type.name = "a"


def itself(info: p4i.P4Info):
    struct(info, "mine", "mine")
    register_of(info, "mine")


def long_number(info: p4i.P4Info):
    """More digits than Python reads by default."""
    table = info.tables[0]
    new = info.type_info.new_types["named_t"]
    new.translated_type.sdn_string.SetInParent()
    new.annotations.append('@p4runtime_translation_mappings({{"x", ' + "9" * 10_000 + "}})")
    table.match_fields[0].type_name.name = "named_t"


def many(info: p4i.P4Info):
    for number in range(1 << 16):
        info.tables.add().preamble.id = number + 1


def with_params(info: p4i.P4Info):
    return next(action.params for action in info.actions if action.params)


def widths(info: p4i.P4Info):
    info.registers[0].type_spec.bitstring.int.bitwidth = 0


def wide(info: p4i.P4Info):
    info.registers[0].type_spec.bitstring.bit.bitwidth = 2**31 - 1


def wider(info: p4i.P4Info):
    info.registers[0].type_spec.bitstring.bit.bitwidth = 33


CASES = [
    (doubled, "has more than 4096 members in all"),
    (chain, "more than 64 types contain each other, at 's64'"),
    (circle, "the new_type 'a' contains itself"),
    (itself, "the struct 'mine' contains itself"),
    (lambda info: register_of(info, "nowhere"), "has no struct 'nowhere'"),
    (long_number, "does not fit into"),
    (widths, "gives it 0 bits"),
    (wide, "gives it 2147483647 bits"),
    (
        lambda info: info.tables[0].direct_resource_ids.append(info.direct_meters[0].preamble.id),
        "no such direct",
    ),
    (many, "things; 65536 may be"),
    (wider, "has 32 bits in the program, not 33"),
    (lambda info: info.tables.add().CopyFrom(info.tables[0]), "twice"),
    (
        lambda info: setattr(info.tables[1].preamble, "id", info.tables[0].preamble.id),
        "the p4info has the id",
    ),
    (
        lambda info: setattr(info.counters[0].preamble, "id", info.tables[0].preamble.id),
        "the p4info has the id",
    ),
    (
        lambda info: setattr(info.tables[1].preamble, "name", info.tables[0].preamble.name),
        "has the name tables ",
    ),
    (lambda info: info.tables[0].match_fields.add(id=1), "has the match field 1 twice"),
    (lambda info: info.tables[0].action_refs.add(id=info.tables[0].action_refs[0].id), "twice"),
    (lambda info: info.tables[0].action_refs.add(id=1), "the p4info has no action with id 1"),
    (lambda info: with_params(info).add(id=1), "has the parameter 1 twice"),
    (lambda info: setattr(info.tables[0].match_fields[0], "bitwidth", -1), "has -1 bits"),
    (
        lambda info: setattr(info.controller_packet_metadata[0].metadata[0], "bitwidth", -1),
        "has -1 bits",
    ),
    (lambda info: info.digests[0].type_spec.struct.Clear(), "has no struct ''"),
    (
        lambda info: info.digests[0].type_spec.bitstring.bit.__setattr__("bitwidth", 9),
        "fields in the program",
    ),
]


@pytest.fixture(scope="module")
def model(program: Program) -> Model:
    return load_program(program.json.decode())


@pytest.mark.parametrize(("change", "why"), CASES)
def test_p4info_that_makes_no_sense_is_refused(program: Program, model: Model, change, why):
    info = p4i.P4Info()
    info.CopyFrom(program.info)
    change(info)
    with pytest.raises(RpcError, match=why) as refusal:
        bind(info, model)
    assert refusal.value.code == INVALID_ARGUMENT


def test_types_are_shared_and_not_written_out(program: Program, model: Model):
    """Ten levels of pairs are a thousand members, and taken: a digest isn't one of them, but its
    type is looked at."""
    info = p4i.P4Info()
    info.CopyFrom(program.info)
    for number in range(10):
        struct(info, f"s{number}", f"s{number + 1}", f"s{number + 1}")
    info.type_info.structs["s10"].members.add(name="x").type_spec.bitstring.bit.bitwidth = 8
    info.digests[0].type_spec.struct.name = "s0"
    with pytest.raises(RpcError, match="fields in the program"):
        bind(info, model)


# ---- fuzzing ----


class Bound:
    """A program in a switch, to which a p4info may be bound."""

    def __init__(self, library: ctypes.CDLL, name: str):
        self.info = load(PROGRAMS / name).info
        text = load(PROGRAMS / name).json.decode()
        self.model, self._object = load_program(text), build_program(text)
        self.native = NativeSwitch(library)

    def use(self, info: p4i.P4Info):
        """What clients and the data plane do, with ids and widths as a p4info has them. Raises what
        is no RpcError."""
        schema = bind(info, self.model)
        self.native.load(self._object)
        state = Forwarding(schema, self.native)
        for data in fuzz_messages.starts(self.info):
            for message in fuzz_messages.messages(data):
                if isinstance(message, p4r.WriteRequest):
                    for update in message.updates:
                        with suppress(RpcError):
                            state.apply(update)
                elif isinstance(message, p4r.StreamMessageRequest):
                    with suppress(RpcError):
                        packetio.pack_out(schema.packet_out, message.packet)
        packetio.unpack_in(schema.packet_in, bytes(range(256)) * 40)
        for digest in schema.digests.values():
            for learned in state.digests.learned(digest.list_id, bytes(range(200)), 0):
                assert learned.data
        list(state.snapshot())
        for field in p4r.Entity.DESCRIPTOR.fields:
            with suppress(RpcError):
                list(state.read(p4r.Entity(**{field.name: {}})))


@pytest.fixture(scope="module", params=["bench", "indirect", "valuesets", "idle"])
def bound(library: ctypes.CDLL, request) -> Iterator[Bound]:
    target = Bound(library, request.param)
    yield target
    target.native.close()


@given(st.integers(0, 2**64), st.integers(1, 6))
@settings(settings.get_profile("few"), suppress_health_check=list(HealthCheck))
def test_any_p4info_is_bound_or_refused(bound: Bound, seed, changes):
    """Structure-aware: fields that exist, with values at edges, and ids that the p4info has."""
    rng, mutator = random.Random(seed), fuzz_messages.Mutator(bound.info)
    info = p4i.P4Info()
    info.CopyFrom(bound.info)
    for _ in range(changes):
        mutator.change(info, rng)
    with suppress(RpcError):
        bound.use(info)
