"""P4Data: every type that a register or a digest of BMv2 can have, as clients write and read it."""

import pytest

from pcn.base.p4rt import p4d, p4i, p4t
from pcn.softswitch.p4runtime import p4data
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, OUT_OF_RANGE, RpcError
from pcn.softswitch.p4runtime.p4data import Scalar

BYTE = p4t.P4DataTypeSpec(bitstring={"bit": {"bitwidth": 8}})
SIGNED = p4t.P4DataTypeSpec(bitstring={"int": {"bitwidth": 8}})
INFO = p4i.P4Info()
INFO.type_info.enums["colour_t"].members.add(name="GREEN")
INFO.type_info.enums["colour_t"].members.add(name="RED")
INFO.type_info.serializable_enums["kind_t"].underlying_type.bitwidth = 16
INFO.type_info.new_types["port_t"].original_type.CopyFrom(BYTE)
INFO.type_info.new_types["sdn_port_t"].translated_type.sdn_bitwidth = 32
INFO.type_info.structs["pair_t"].members.add(name="a", type_spec=BYTE)
INFO.type_info.structs["pair_t"].members.add(name="b", type_spec={"bool": {}})
INFO.type_info.headers["head_t"].members.add(name="a", type_spec={"bit": {"bitwidth": 8}})
TYPES = p4data.Types(INFO)


@pytest.mark.parametrize(
    ("spec", "value", "data"),
    [
        (BYTE, 5, p4d.P4Data(bitstring=b"\5")),
        (SIGNED, 0xFF, p4d.P4Data(bitstring=b"\xff")),
        (p4t.P4DataTypeSpec(bool={}), 1, p4d.P4Data(bool=True)),
        (p4t.P4DataTypeSpec(enum={"name": "colour_t"}), 1, p4d.P4Data(enum="RED")),
        (
            p4t.P4DataTypeSpec(serializable_enum={"name": "kind_t"}),
            0x300,
            p4d.P4Data(enum_value=b"\3\0"),
        ),
        (p4t.P4DataTypeSpec(new_type={"name": "port_t"}), 5, p4d.P4Data(bitstring=b"\5")),
        (p4t.P4DataTypeSpec(new_type={"name": "sdn_port_t"}), 5, p4d.P4Data(bitstring=b"\5")),
    ],
)
def test_numbers(spec, value, data):
    kind = TYPES.resolve(spec, "t")
    assert isinstance(kind, Scalar)
    assert kind.encode(value) == data
    assert kind.decode(data, "t") == value
    with pytest.raises(RpcError) as refusal:
        kind.decode(p4d.P4Data(), "t")
    assert refusal.value.code == INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("spec", "data"),
    [
        (BYTE, p4d.P4Data(bitstring=b"\1\0")),
        (BYTE, p4d.P4Data(bitstring=b"")),
        (SIGNED, p4d.P4Data(bitstring=b"\0\x80")),
        (
            p4t.P4DataTypeSpec(serializable_enum={"name": "kind_t"}),
            p4d.P4Data(enum_value=b"\1\0\0"),
        ),
    ],
)
def test_numbers_that_do_not_fit(spec, data):
    kind = TYPES.resolve(spec, "t")
    assert isinstance(kind, Scalar)
    with pytest.raises(RpcError) as refusal:
        kind.decode(data, "t")
    assert refusal.value.code == OUT_OF_RANGE


def test_composites():
    struct = TYPES.resolve(p4t.P4DataTypeSpec(struct={"name": "pair_t"}), "t")
    parts = [p4d.P4Data(bitstring=b"\7"), p4d.P4Data(bool=True)]
    assert p4data.encode(struct, [7, 1]) == p4d.P4Data(struct={"members": parts})
    members = p4t.P4DataTypeSpec(tuple={"members": [BYTE, {"struct": {"name": "pair_t"}}]})
    nested = p4d.P4Data(
        tuple={"members": [p4d.P4Data(bitstring=b"\1"), p4d.P4Data(struct={"members": parts})]}
    )
    assert p4data.encode(TYPES.resolve(members, "t"), [1, 7, 1]) == nested
    header = TYPES.resolve(p4t.P4DataTypeSpec(header={"name": "head_t"}), "t")
    assert p4data.encode(header, [9]) == p4d.P4Data(
        header={"is_valid": True, "bitstrings": [b"\t"]}
    )


def test_what_no_register_can_hold():
    with pytest.raises(RpcError) as refusal:
        TYPES.resolve(p4t.P4DataTypeSpec(header_stack={"header": {"name": "head_t"}}), "t")
    assert refusal.value.code == INVALID_ARGUMENT
