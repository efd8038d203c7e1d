"""What P4Runtime doesn't reach: Stratum's chassis configuration, and the script for the traffic manager."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from controller.tofino.buffers import pfc_script
from controller.tofino.chassis import chassis_config
from controller.tofino.lab_file import SAMPLE, read
from controller.tofino.model import CELL_BYTES, Class, Pfc

# Of Stratum's ChassisConfig, the part that is used: fields by message. The text form has names only.
_ENUMS = {
    "Platform": ("PLT_UNKNOWN", "PLT_GENERIC_BAREFOOT_TOFINO"),
    "AdminState": ("ADMIN_STATE_UNKNOWN", "ADMIN_STATE_ENABLED"),
    "TriState": ("TRI_STATE_UNKNOWN", "TRI_STATE_TRUE", "TRI_STATE_FALSE"),
    "FecMode": ("FEC_MODE_UNKNOWN", "FEC_MODE_ON", "FEC_MODE_OFF"),
}
_MESSAGES: Mapping[str, Mapping[str, str]] = {
    "Chassis": {"platform": "Platform", "name": "string"},
    "Node": {"id": "number", "slot": "number", "index": "number"},
    "Parameters": {"admin_state": "AdminState", "mtu": "number", "autoneg": "TriState", "fec_mode": "FecMode"},
    "Port": {
        **{"id": "number", "name": "string", "slot": "number", "port": "number", "channel": "number"},
        **{"speed_bps": "number", "config_params": "Parameters", "node": "number"},
    },
    "Config": {"description": "string", "chassis": "Chassis", "nodes": "Node*", "singleton_ports": "Port*"},
}


def parse(text: str) -> Any:
    """The text as such a message. Raises ParseError for an unknown name or value."""
    file = descriptor_pb2.FileDescriptorProto(name="chassis.proto", package="chassis", syntax="proto3")
    for name, values in _ENUMS.items():
        enum = file.enum_type.add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields.items(), 1):
            made = message.field.add(name=field, number=number)
            made.label = made.LABEL_REPEATED if kind.endswith("*") else made.LABEL_OPTIONAL
            if kind in ("string", "number"):
                made.type = made.TYPE_STRING if kind == "string" else made.TYPE_UINT64
            else:
                made.type = made.TYPE_ENUM if kind in _ENUMS else made.TYPE_MESSAGE
                made.type_name = f".chassis.{kind.rstrip('*')}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    kind_of = message_factory.GetMessageClass(pool.FindMessageTypeByName("chassis.Config"))
    return text_format.Parse(text, kind_of())


def test_the_chassis_has_the_ports() -> None:
    lab = read(SAMPLE)
    made = parse(chassis_config(lab))
    assert [node.id for node in made.nodes] == [lab.device]
    assert [(port.id, port.port, port.channel, port.name) for port in made.singleton_ports] == [
        (128, 1, 0, "1/0"),
        (136, 3, 0, "3/0"),
        (144, 5, 0, "5/0"),
    ]
    for port in made.singleton_ports:
        assert (port.speed_bps, port.node, port.slot) == (100_000_000_000, 1, 1)
        assert port.config_params.mtu == 1518
        assert port.config_params.fec_mode == 1
        assert port.config_params.autoneg == 2


def test_a_port_of_some_lanes_is_a_channel() -> None:
    lab = read(SAMPLE)
    ports = (
        replace(lab.ports[0], number=130, lane=2, speed_bps=25_000_000_000, autoneg=True, fec=False),
        replace(lab.ports[1], speed_bps=50_000_000_000),
    )
    made = parse(chassis_config(replace(lab, ports=ports)))
    assert [port.channel for port in made.singleton_ports] == [3, 1]
    assert made.singleton_ports[0].config_params.autoneg == 1
    assert made.singleton_ports[0].config_params.fec_mode == 2


# What the driver's description of its fixed tables has: keys and data, by table. `pipe` goes with any.
_COS = {f"icos_{cos}" for cos in range(8)}
_TABLES = {
    "port.port.mod": {"DEV_PORT", "TX_PFC_EN_MAP", "RX_PFC_EN_MAP"},
    "tf1.tm.pool.cfg.mod": {"pool", "size_cells"},
    "tf1.tm.pool.app_pfc.mod": {"pool", "cos", "pfc_limit_cells"},
    "tf1.tm.port.flowcontrol.mod": {"dev_port", "mode_tx", "mode_rx", "cos_to_icos"},
    "tf1.tm.port.buffer.mod": {"dev_port", "skid_limit_cells"},
    "tf1.tm.port.cfg.get": {"dev_port", "print_ents"},
    "tf1.tm.ppg.cfg.add_with_dev_port": {
        *("pipe", "ppg_id", "dev_port", "pfc_enable", "pfc_skid_max_cells", "guaranteed_cells", "hysteresis_cells"),
        *("pool_id", "pool_max_cells", "dynamic_baf"),
        *_COS,
    },
    "tf1.tm.queue.sched_cfg.mod": {"pipe", "pg_id", "pg_queue", "min_priority", "max_priority"},
    "tf1.tm.queue.cfg.mod": {"pipe", "pg_id", "pg_queue", "pfc_cos"},
    "tf1.tm.queue.buffer.mod_with_shared_pool": {"pipe", "pg_id", "pg_queue", "tail_drop_enable", "pool_id"},
    "complete_operations": set(),
}


class Driver:
    """Stands for `bfrt` of the driver's shell: has the names above, and records its calls."""

    def __init__(self, calls: list[tuple[str, dict[str, Any]]], name: str = "") -> None:
        self._calls, self._name = calls, name

    def __getattr__(self, part: str) -> Driver:
        name = f"{self._name}.{part}" if self._name else part
        assert any(table == name or table.startswith(name + ".") for table in _TABLES), name
        return Driver(self._calls, name)

    def __call__(self, **fields: Any) -> Any:
        assert set(fields) <= _TABLES[self._name], (self._name, fields)
        self._calls.append((self._name, fields))
        if self._name.endswith("port.cfg.get"):
            port = fields["dev_port"]
            # Four ports a group, eight queues each.
            queues = [port % 4 * 8 + queue for queue in range(8)]
            return type("Entry", (), {"data": {b"pg_id": port % 128 // 4, b"egress_qid_queues": queues}})()
        return None


def run(script: str) -> list[tuple[str, dict[str, Any]]]:
    calls: list[tuple[str, dict[str, Any]]] = []
    # As the driver's shell may: names that the script makes aren't global.
    exec(compile(script, "pfc.py", "exec"), {"bfrt": Driver(calls)}, {})
    return calls


def told(calls: list[tuple[str, dict[str, Any]]], name: str) -> list[dict[str, Any]]:
    return [fields for table, fields in calls if table == name]


def test_pfc_of_the_sample(capsys: pytest.CaptureFixture[str]) -> None:
    lab = read(SAMPLE)
    calls = run(pfc_script(lab))
    assert capsys.readouterr().out == "PFC of classes [3] at 3 ports\n"
    assert [one["DEV_PORT"] for one in told(calls, "port.port.mod")] == [128, 136, 144]
    assert {one["TX_PFC_EN_MAP"] for one in told(calls, "port.port.mod")} == {0b1000}
    for port, group in zip(lab.ports, told(calls, "tf1.tm.ppg.cfg.add_with_dev_port"), strict=True):
        assert (group["dev_port"], group["pipe"], group["icos_3"], group["pfc_enable"]) == (port.number, 1, True, True)
        assert group["pool_max_cells"] * CELL_BYTES == port.pfc.xoff_bytes
        resumes_at = port.pfc.xoff_bytes - group["hysteresis_cells"] * CELL_BYTES
        assert port.pfc.xon_bytes - 8 * CELL_BYTES < resumes_at <= port.pfc.xon_bytes
        assert group["pfc_skid_max_cells"] * CELL_BYTES == port.pfc.headroom_bytes
    assert calls[-1] == ("complete_operations", {})


def test_every_class_has_its_queue_and_priority() -> None:
    lab = read(SAMPLE)
    classes = tuple(Class(one.number, 7 - one.number, one.number in (3, 4)) for one in lab.classes)
    calls = run(pfc_script(replace(lab, classes=classes)))
    scheduled = told(calls, "tf1.tm.queue.sched_cfg.mod")
    assert len(scheduled) == 8 * len(lab.ports)
    assert {one["pg_id"] for one in scheduled} == {0, 2, 4}
    assert [one["max_priority"] for one in scheduled[:8]] == [str(7 - number) for number in range(8)]
    assert [one["pg_queue"] for one in scheduled[:8]] == list(range(8))
    stopped = told(calls, "tf1.tm.queue.cfg.mod")
    assert [(one["pg_queue"], one["pfc_cos"]) for one in stopped] == [(3, 3), (4, 4)] * len(lab.ports)
    assert all(not one["tail_drop_enable"] for one in told(calls, "tf1.tm.queue.buffer.mod_with_shared_pool"))
    groups = told(calls, "tf1.tm.ppg.cfg.add_with_dev_port")
    assert [one["ppg_id"] for one in groups] == list(range(6))


def test_pools_hold_what_the_groups_may_take() -> None:
    lab = read(SAMPLE)
    odd = replace(lab, ports=tuple(replace(port, pfc=Pfc(200_001, 190_000, 50_001)) for port in lab.ports))
    calls = run(pfc_script(odd))
    groups = told(calls, "tf1.tm.ppg.cfg.add_with_dev_port")
    sizes = {one["pool"]: one["size_cells"] for one in told(calls, "tf1.tm.pool.cfg.mod")}
    assert sizes[groups[0]["pool_id"]] == sum(one["pool_max_cells"] for one in groups)
    assert sizes["IG_SKID_POOL"] == sum(one["pfc_skid_max_cells"] for one in groups)
    limits = told(calls, "tf1.tm.port.buffer.mod")
    assert sum(one["skid_limit_cells"] for one in limits) == sizes["IG_SKID_POOL"]
    # Part of a cell is a cell.
    assert groups[0]["pool_max_cells"] * CELL_BYTES - 200_001 in range(CELL_BYTES)
