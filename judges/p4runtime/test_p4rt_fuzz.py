"""Messages that no sane client sends: each is carried out or refused with a code, never an
accident."""

import ctypes
from contextlib import suppress
from typing import Any

import fuzz_messages
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings, strategies as st
from p4rt_switch import PROGRAMS, Program, load

from pcn.base.p4rt import p4r
from pcn.softswitch.codegen.build import build_program
from pcn.softswitch.native import NativeSwitch
from pcn.softswitch.p4runtime.binding import bind
from pcn.softswitch.p4runtime.entities import Forwarding
from pcn.softswitch.p4runtime.errors import RpcError
from pcn.softswitch.program.load import load_program

SCALARS = {
    FieldDescriptor.CPPTYPE_INT32: st.integers(-3, 9) | st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: st.integers(-3, 5000) | st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
    FieldDescriptor.CPPTYPE_ENUM: st.just(0),
    FieldDescriptor.CPPTYPE_STRING: st.binary(max_size=8),
}


@pytest.fixture(scope="module", params=["bench", "indirect", "valuesets", "idle"])
def program(request) -> Program:
    return load(PROGRAMS / request.param)


@pytest.fixture(scope="module")
def state(library: ctypes.CDLL, program: Program):
    """The forwarding state of a switch without a server."""
    text = program.json.decode()
    with NativeSwitch(library) as native:
        native.load(build_program(text))
        yield Forwarding(bind(program.info, load_program(text)), native)


@st.composite
def messages(draw: st.DrawFn, message: Message, ids: list[int], depth: int = 0) -> Message:
    """Fills a message: some fields, with ids that the program has more often than not."""
    for field in message.DESCRIPTOR.fields:
        if (
            depth
            and field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE
            and field.message_type.name == "Any"
        ):
            continue
        if not draw(st.booleans()):
            continue
        target = getattr(message, field.name)
        if field.message_type is not None:
            parts = (
                [target.add() for _ in range(draw(st.integers(0, 3)))]
                if field.is_repeated
                else [target]
            )
            for part in parts:
                if not field.is_repeated:
                    part.SetInParent()
                if depth < 5:
                    draw(messages(part, ids, depth + 1))
        elif not field.is_repeated:
            setattr(message, field.name, draw(scalar(field, ids)))
    return message


def scalar(field: FieldDescriptor, ids: list[int]) -> st.SearchStrategy[Any]:
    if field.cpp_type == FieldDescriptor.CPPTYPE_UINT32:
        return st.sampled_from(ids) | st.integers(0, 4) | st.integers(0, 2**32 - 1)
    if field.type == FieldDescriptor.TYPE_STRING:
        return st.text(max_size=3)
    return SCALARS[field.cpp_type]


@given(st.data())
@settings(suppress_health_check=list(HealthCheck))
def test_any_entity_is_carried_out_or_refused(state: Forwarding, program: Program, data):
    info = program.info
    things = [
        *info.tables, *info.actions, *info.counters, *info.registers, *info.meters, *info.digests,
    ]  # fmt: skip
    things += [*info.action_profiles, *info.value_sets]
    ids = [thing.preamble.id for thing in things]
    name = data.draw(st.sampled_from([field.name for field in p4r.Entity.DESCRIPTOR.fields]))
    entity = p4r.Entity()
    getattr(entity, name).SetInParent()
    data.draw(messages(getattr(entity, name), ids))
    kind = data.draw(st.sampled_from(p4r.Update.Type.values()))
    # before the update: what is drawn mustn't depend on what earlier ones left
    undone = data.draw(st.booleans())
    update = p4r.Update(type=kind, entity=entity)
    with suppress(RpcError):
        undo = state.apply(update)
        if undone:
            undo()
    with suppress(RpcError):
        assert all(answer.WhichOneof("entity") == name for answer in state.read(entity))


@pytest.mark.parametrize("name", fuzz_messages.NAMES)
def test_what_coverage_guided_fuzzing_kept(name):
    """Inputs of fuzz_messages.py, the shortest that reach each place: no accident, and all state
    can be read."""
    target = fuzz_messages.Target(name)
    inputs = fuzz_messages.CORPUS.inputs(name)
    assert len(inputs) > 50
    for data in inputs:
        target.run(data)
