"""BF Runtime's messages as this project uses them, in our own words: numbers and types are the
protocol's. Stands where a lab has its SDE's bfruntime_pb2.py; only the fields that the client uses
are here."""

from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# Field: number and type; `*` repeats it, `/NAME` puts it into a oneof.
_MESSAGES = {
    "TargetDevice": {
        "device_id": "1 uint32", "pipe_id": "2 uint32", "direction": "3 uint32",
        "prsr_id": "4 uint32",
    },
    "WriteRequest": {
        **{
            "target": "1 TargetDevice", "client_id": "2 uint32", "updates": "3 Update*",
            "p4_name": "5 string",
        }
    },
    "WriteResponse": {"status": "1 Error*"},
    "ReadRequest": {
        **{
            "target": "1 TargetDevice", "client_id": "2 uint32", "entities": "3 Entity*",
            "p4_name": "4 string",
        }
    },
    "ReadResponse": {"entities": "1 Entity*", "status": "2 Error*"},
    "Update": {"type": "1 Update.Type", "entity": "2 Entity"},
    "Entity": {"table_entry": "1 TableEntry/entity"},
    "TableEntry": {
        **{
            "table_id": "1 uint32", "key": "2 TableKey/value", "data": "3 TableData",
            "is_default_entry": "4 bool",
        },
        **{"table_flags": "9 TableFlags"},
    },
    "TableFlags": {"from_hw": "1 bool"},
    "TableKey": {"fields": "1 KeyField*"},
    "KeyField": {
        **{
            "field_id": "1 uint32",
            "exact": "2 Exact/match_type",
            "ternary": "3 Ternary/match_type",
        },
        **{"lpm": "4 LPM/match_type", "range": "5 Range/match_type"},
    },
    "Exact": {"value": "1 bytes"},
    "Ternary": {"value": "1 bytes", "mask": "2 bytes"},
    "LPM": {"value": "1 bytes", "prefix_len": "2 int32"},
    "Range": {"low": "1 bytes", "high": "2 bytes"},
    "TableData": {"action_id": "1 uint32", "fields": "2 DataField*"},
    "DataField": {
        **{"field_id": "1 uint32", "stream": "2 bytes/value", "str_val": "4 string/value"},
        **{"int_arr_val": "5 IntArray/value", "bool_val": "8 bool/value"},
    },
    "IntArray": {"val": "1 uint32*"},
    "Status": {"code": "1 int32", "message": "2 string"},
    "Subscribe": {"device_id": "2 uint32", "status": "4 Status"},
    "StreamMessageRequest": {"client_id": "1 uint32", "subscribe": "2 Subscribe/update"},
    "StreamMessageResponse": {
        **{"subscribe": "1 Subscribe/update"},
        **{
            "set_forwarding_pipeline_config_response": (
                "5 SetForwardingPipelineConfigResponse/update"
            )
        },
    },
    "SetForwardingPipelineConfigRequest": {
        **{
            "device_id": "1 uint32",
            "client_id": "2 uint32",
            "action": "3 SetForwardingPipelineConfigRequest.Action",
        },
        **{"base_path": "5 string", "config": "6 ForwardingPipelineConfig*"},
    },
    "SetForwardingPipelineConfigResponse": {
        "set_forwarding_pipeline_config_response_type": "1 SetForwardingPipelineConfigResponseType"
    },
    "ForwardingPipelineConfig": {
        "p4_name": "1 string",
        "bfruntime_info": "2 bytes",
        "profiles": "3 Profile*",
    },
    "Profile": {
        "profile_name": "1 string", "context": "2 bytes", "binary": "3 bytes",
        "pipe_scope": "4 uint32*",
    },
    "NonP4Config": {"bfruntime_info": "1 bytes"},
    "GetForwardingPipelineConfigRequest": {"device_id": "1 uint32", "client_id": "2 uint32"},
    "GetForwardingPipelineConfigResponse": {
        **{"config": "1 ForwardingPipelineConfig*", "non_p4_config": "2 NonP4Config"}
    },
    "Error": {
        "canonical_code": "1 int32", "message": "2 string", "space": "3 string",
        "code": "4 int32",
    },
}  # fmt: skip
_ENUMS = {
    "Update.Type": ("UNSPECIFIED", "INSERT", "MODIFY", "MODIFY_INC", "DELETE"),
    "SetForwardingPipelineConfigRequest.Action": (
        *("BIND", "VERIFY", "VERIFY_AND_WARM_INIT_BEGIN", "VERIFY_AND_WARM_INIT_BEGIN_AND_END"),
    ),
    "SetForwardingPipelineConfigResponseType": ("WARM_INIT_STARTED", "WARM_INIT_FINISHED"),
}
_PACKAGE = "bfrt_proto"


def _pool() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(
        name="bfruntime.proto", package=_PACKAGE, syntax="proto3"
    )
    messages = {name: file.message_type.add(name=name) for name in _MESSAGES}
    for name, values in _ENUMS.items():
        *outer, last = name.split(".")
        enum = (messages[outer[0]].enum_type if outer else file.enum_type).add(name=last)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    for name, fields in _MESSAGES.items():
        for field, text in fields.items():
            number, kind = text.split()
            kind, _, choice = kind.partition("/")
            descriptor = messages[name].field.add(name=field, number=int(number))
            descriptor.label = (
                descriptor.LABEL_REPEATED if kind.endswith("*") else descriptor.LABEL_OPTIONAL
            )
            kind = kind.rstrip("*")
            if kind in _MESSAGES or kind in _ENUMS:
                descriptor.type = (
                    descriptor.TYPE_ENUM if kind in _ENUMS else descriptor.TYPE_MESSAGE
                )
                descriptor.type_name = f".{_PACKAGE}.{kind}"
            else:
                descriptor.type = getattr(descriptor, f"TYPE_{kind.upper()}")
            if choice:
                oneofs = messages[name].oneof_decl
                if not oneofs:
                    oneofs.add(name=choice)
                descriptor.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


_POOL = _pool()
MESSAGES = {
    name: message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
    for name in _MESSAGES
}
WARM_INIT_STARTED, WARM_INIT_FINISHED = 0, 1
_MODULE = """\
import sys

sys.path.append({folder!r})
import bfrt_description

globals().update(bfrt_description.MESSAGES)
WARM_INIT_FINISHED = bfrt_description.WARM_INIT_FINISHED
"""


def install(folder: Path):
    """Makes a folder look like an SDE's: with a module that has the names that protoc writes."""
    there = folder / "lib/python3.11/site-packages/tofino/bfrt_grpc"
    there.mkdir(parents=True)
    (there / "bfruntime_pb2.py").write_text(
        _MODULE.format(folder=str(Path(__file__).resolve().parent))
    )
