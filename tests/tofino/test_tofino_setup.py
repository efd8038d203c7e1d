"""What P4Runtime doesn't reach: Stratum's chassis configuration, and the script for the traffic
manager."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from pcn.controller.tofino.buffers import FIXED, pfc_script, settings
from pcn.controller.tofino.chassis import chassis_config
from pcn.controller.tofino.chips import TOFINO
from pcn.controller.tofino.lab_file import SAMPLE, read
from pcn.controller.tofino.model import Class, Pfc

# Of Stratum's ChassisConfig, the part that is used: fields by message. The text form has names
# only.
_ENUMS = {
    "Platform": ("PLT_UNKNOWN", "PLT_GENERIC_BAREFOOT_TOFINO", "PLT_GENERIC_BAREFOOT_TOFINO2"),
    "AdminState": ("ADMIN_STATE_UNKNOWN", "ADMIN_STATE_ENABLED"),
    "TriState": ("TRI_STATE_UNKNOWN", "TRI_STATE_TRUE", "TRI_STATE_FALSE"),
    "FecMode": ("FEC_MODE_UNKNOWN", "FEC_MODE_ON", "FEC_MODE_OFF"),
}
_MESSAGES = {
    "Chassis": {"platform": "Platform", "name": "string"},
    "Node": {"id": "number", "slot": "number", "index": "number"},
    "Parameters": {
        "admin_state": "AdminState", "mtu": "number", "autoneg": "TriState",
        "fec_mode": "FecMode",
    },
    "Port": {
        **{
            "id": "number", "name": "string", "slot": "number", "port": "number",
            "channel": "number",
        },
        **{"speed_bps": "number", "config_params": "Parameters", "node": "number"},
    },
    "Config": {
        "description": "string", "chassis": "Chassis", "nodes": "Node*",
        "singleton_ports": "Port*",
    },
}  # fmt: skip


def parse(text: str):
    """The text as such a message. Raises ParseError for an unknown name or value."""
    file = descriptor_pb2.FileDescriptorProto(
        name="chassis.proto", package="chassis", syntax="proto3"
    )
    for name, values in _ENUMS.items():
        enum = file.enum_type.add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields.items(), 1):
            descriptor = message.field.add(name=field, number=number)
            descriptor.label = (
                descriptor.LABEL_REPEATED if kind.endswith("*") else descriptor.LABEL_OPTIONAL
            )
            if kind in ("string", "number"):
                descriptor.type = (
                    descriptor.TYPE_STRING if kind == "string" else descriptor.TYPE_UINT64
                )
            else:
                descriptor.type = (
                    descriptor.TYPE_ENUM if kind in _ENUMS else descriptor.TYPE_MESSAGE
                )
                descriptor.type_name = f".chassis.{kind.rstrip('*')}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    kind_of = message_factory.GetMessageClass(pool.FindMessageTypeByName("chassis.Config"))
    return text_format.Parse(text, kind_of())


def test_the_chassis_has_the_ports():
    lab = read(SAMPLE)
    config = parse(chassis_config(lab))
    assert [node.id for node in config.nodes] == [lab.device]
    assert [(port.id, port.port, port.channel, port.name) for port in config.singleton_ports] == [
        (128, 1, 0, "1/0"),
        (136, 3, 0, "3/0"),
        (144, 5, 0, "5/0"),
    ]
    for port in config.singleton_ports:
        assert (port.speed_bps, port.node, port.slot) == (100_000_000_000, 1, 1)
        assert port.config_params.mtu == 1518
        assert port.config_params.fec_mode == 1
        assert port.config_params.autoneg == 2


def test_chassis_of_tofino_2_has_its_platform_and_lanes(sample_of_tofino2: Path):
    """A port of 100 Gbit/s is half a connector there."""
    text = sample_of_tofino2.read_text().replace("port: 152", "port: 156")
    sample_of_tofino2.write_text(
        text.replace("panel: 5/0\n    speed: 400G", "panel: 5/4\n    speed: 100G")
    )
    config = parse(chassis_config(read(sample_of_tofino2)))
    assert config.chassis.platform == 2
    assert [(port.id, port.channel, port.speed_bps) for port in config.singleton_ports] == [
        (136, 0, 400_000_000_000),
        (144, 0, 400_000_000_000),
        (156, 5, 100_000_000_000),
    ]


def test_a_port_of_some_lanes_is_a_channel():
    lab = read(SAMPLE)
    ports = (
        replace(
            lab.ports[0], number=130, lane=2, speed_bps=25_000_000_000, autoneg=True, fec=False
        ),
        replace(lab.ports[1], speed_bps=50_000_000_000),
    )
    config = parse(chassis_config(replace(lab, ports=ports)))
    assert [port.channel for port in config.singleton_ports] == [3, 1]
    assert config.singleton_ports[0].config_params.autoneg == 1
    assert config.singleton_ports[0].config_params.fec_mode == 2


# What the driver's description of its fixed tables has: keys and data, by table and action. `pipe`
# goes with any.
_COS = {f"icos_{cos}" for cos in range(8)}
_FIELDS = {
    "port.port": ({"DEV_PORT"}, {"TX_PFC_EN_MAP", "RX_PFC_EN_MAP"}),
    "TM.pool.cfg": ({"pool"}, {"size_cells"}),
    "TM.pool.app_pfc": ({"pool", "cos"}, {"pfc_limit_cells"}),
    "TM.port.flowcontrol": ({"dev_port"}, {"mode_tx", "mode_rx", "cos_to_icos"}),
    "TM.port.buffer": ({"dev_port"}, {"skid_limit_cells"}),
    "TM.port.cfg": ({"dev_port"}, set[str]()),
    "TM.ppg.cfg": (
        {"ppg_id"},
        {
            *(
                "dev_port", "pfc_enable", "pfc_skid_max_cells", "guaranteed_cells",
                "hysteresis_cells",
            ),
            *("pool_id", "pool_max_cells", "dynamic_baf"),
            *_COS,
        },
    ),
    "TM.queue.sched_cfg": ({"pg_id", "pg_queue"}, {"min_priority", "max_priority"}),
    "TM.queue.cfg": ({"pg_id", "pg_queue"}, {"pfc_cos"}),
    "TM.queue.buffer": ({"pg_id", "pg_queue"}, {"tail_drop_enable", "pool_id"}),
}  # fmt: skip
_ACTIONS = {"TM.ppg.cfg": "add_with_dev_port", "TM.queue.buffer": "mod_with_shared_pool"}
Call = tuple[str, dict[str, Any]]


class Driver:
    """Stands for `bfrt` of the driver's shell: has the names above, TM for `tables`, refuses what
    the driver refuses, keeps what is written, and records its calls. `loses`: a field of which it
    keeps nothing."""

    def __init__(
        self,
        calls: list[Call],
        loses: str = "",
        tables: str = "tf1.tm",
        held: dict[Any, dict[str, Any]] | None = None,
    ):
        self._calls, self._loses, self._tables, self._name = calls, loses, tables, ""
        self._held = {} if held is None else held

    def __getattr__(self, part: str) -> Driver:
        driver = Driver(self._calls, self._loses, self._tables, self._held)
        driver._name = f"{self._name}.{part}" if self._name else part
        tables = {*(field.replace("TM", self._tables) for field in _FIELDS), "complete_operations"}
        assert any(
            f"{driver._name}.".startswith(f"{table}.") or table.startswith(f"{driver._name}.")
            for table in tables
        ), part
        return driver

    def __call__(self, **fields):
        self._calls.append((self._name, dict(fields)))
        if self._name == "complete_operations":
            return None
        table, verb = self._name.replace(self._tables, "TM").rsplit(".", 1)
        keys, data = _FIELDS[table]
        entry = (
            table,
            fields.pop("pipe", None),
            *sorted((name, fields.pop(name)) for name in keys),
        )
        if verb == "get":
            assert fields == {"print_ents": False}
            return type("Entry", (), {"data": self._get(table, entry)})()
        assert verb == _ACTIONS.get(table, "mod")
        assert set(fields) <= data, (self._name, fields)
        if verb.startswith("add"):
            assert entry not in self._held
            assert 1 <= dict(entry[2:])["ppg_id"] <= 255, "the driver takes 0 for no group"
        stored = {
            name: "LOW" if value == "0" else value
            for name, value in fields.items()
            if name != self._loses
        }
        self._held.setdefault(entry, {}).update(stored)
        return None

    def _get(self, table: str, entry) -> dict[bytes, Any]:
        if table == "TM.port.cfg":  # four ports a group, eight queues each
            port = dict(entry[2:])["dev_port"]
            queues = [port % 4 * 8 + queue for queue in range(8)]
            return {b"pg_id": port % 128 // 4, b"egress_qid_queues": queues}
        prefix = "$" if table == "port.port" else ""
        return {
            f"{prefix}{name}".encode(): value for name, value in self._held.get(entry, {}).items()
        }


def run(script: str, loses: str = "", tables: str = "tf1.tm") -> list[Call]:
    calls: list[Call] = []
    # As the driver's shell may: names that the script makes aren't global.
    exec(compile(script, "pfc.py", "exec"), {"bfrt": Driver(calls, loses, tables)}, {})
    return calls


def written(calls: list[Call], name: str) -> list[dict[str, Any]]:
    return [fields for table, fields in calls if table == name]


@pytest.mark.parametrize("file", ["sample", "sample_of_tofino2"])
def test_pfc_script_writes_the_sample_s_ports(file, request, capsys):
    lab = read(request.getfixturevalue(file))
    tables, cell = f"{lab.chip.tables}.tm", lab.chip.cell_bytes
    calls = run(pfc_script(lab), tables=tables)
    fields = sum(len(setting.data) for setting in settings(lab))
    assert (
        capsys.readouterr().out
        == f"PFC of classes [3] at 3 ports: {fields} fields were written and read back\n"
    )
    assert [fields["DEV_PORT"] for fields in written(calls, "port.port.mod")] == [
        port.number for port in lab.ports
    ]
    assert {fields["TX_PFC_EN_MAP"] for fields in written(calls, "port.port.mod")} == {0b1000}
    # Tofino 2's driver keeps neither map where the second one is of some classes.
    obeyed = {"tofino": 0b1000, "tofino2": 0xFF}[lab.chip.name]
    assert {fields["RX_PFC_EN_MAP"] for fields in written(calls, "port.port.mod")} == {obeyed}
    for port, group in zip(
        lab.ports, written(calls, f"{tables}.ppg.cfg.add_with_dev_port"), strict=True
    ):
        assert (group["dev_port"], group["pipe"], group["icos_3"], group["pfc_enable"]) == (
            port.number, 1, True, True,
        )  # fmt: skip
        assert 0 <= group["pool_max_cells"] * cell - port.pfc.xoff_bytes < cell
        resumes_at = port.pfc.xoff_bytes - group["hysteresis_cells"] * cell
        assert port.pfc.xon_bytes - 9 * cell < resumes_at <= port.pfc.xon_bytes
        assert 0 <= group["pfc_skid_max_cells"] * cell - port.pfc.headroom_bytes < cell


def test_pfc_script_reads_back_each_setting():
    """After the driver completed what was written."""
    lab = read(SAMPLE)
    calls = run(pfc_script(lab))
    names = [name for name, _ in calls]
    assert len(names[names.index("complete_operations") :]) - 1 == len(settings(lab))


@pytest.mark.parametrize(
    "name",
    sorted({name for setting in settings(read(SAMPLE)) for name in setting.data} - set(FIXED)),
)
def test_pfc_script_reports_each_field_that_the_driver_loses(name, capsys):
    with pytest.raises(RuntimeError, match=r"\d+ of \d+ fields don't hold what was written"):
        run(pfc_script(read(SAMPLE)), loses=name.lstrip("$"))
    out = capsys.readouterr().out
    assert f"{name} is None" in out
    assert "PFC WON'T WORK" in out


def test_pfc_script_accepts_that_the_driver_only_reads_mode_rx(capsys):
    run(pfc_script(read(SAMPLE)), loses="mode_rx")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4  # a line a port, and the last
    assert all(
        "mode_rx is None, 'PFC' was written; this does no harm" in line for line in lines[:-1]
    )


def test_every_class_has_its_queue_and_priority():
    lab = read(SAMPLE)
    classes = tuple(
        Class(traffic_class.number, 7 - traffic_class.number, traffic_class.number in (3, 4))
        for traffic_class in lab.classes
    )
    calls = run(pfc_script(replace(lab, classes=classes)))
    scheduled = written(calls, "tf1.tm.queue.sched_cfg.mod")
    assert len(scheduled) == 8 * len(lab.ports)
    assert {fields["pg_id"] for fields in scheduled} == {0, 2, 4}
    assert [fields["max_priority"] for fields in scheduled[:8]] == [
        *map(str, range(7, 0, -1)),
        "LOW",
    ]
    assert [fields["pg_queue"] for fields in scheduled[:8]] == list(range(8))
    stopped = written(calls, "tf1.tm.queue.cfg.mod")
    assert [(fields["pg_queue"], fields["pfc_cos"]) for fields in stopped] == [
        (3, 3),
        (4, 4),
    ] * len(lab.ports)
    assert all(
        not fields["tail_drop_enable"]
        for fields in written(calls, "tf1.tm.queue.buffer.mod_with_shared_pool")
    )
    groups = written(calls, "tf1.tm.ppg.cfg.add_with_dev_port")
    assert [group["ppg_id"] for group in groups] == [1, 2, 3, 4, 5, 6]


def test_priority_groups_count_from_1_in_each_pipe():
    lab = read(SAMPLE)
    ports = tuple(
        replace(port, number=number) for port, number in zip(lab.ports, (0, 128, 8), strict=True)
    )
    groups = [
        setting
        for setting in settings(replace(lab, ports=ports))
        if setting.table == "tf1.tm.ppg.cfg"
    ]
    assert [(group.pipe, group.keys["ppg_id"]) for group in groups] == [(0, 1), (1, 1), (0, 2)]


def test_lab_refuses_more_priority_groups_than_a_pipe_has():
    lab = read(SAMPLE)
    ports = tuple(
        replace(lab.ports[0], number=128 + lane, connector=lane + 1) for lane in range(17)
    )
    classes = tuple(replace(traffic_class, lossless=True) for traffic_class in lab.classes)
    assert [
        text
        for _, text in replace(lab, ports=ports[:16], classes=classes).faults()
        if "groups" in text
    ] == []
    (fault,) = [
        text for _, text in replace(lab, ports=ports, classes=classes).faults() if "groups" in text
    ]
    assert fault.startswith("pipe 1 needs 136 priority groups")


def test_pools_hold_what_the_groups_may_take():
    lab = read(SAMPLE)
    odd = replace(
        lab, ports=tuple(replace(port, pfc=Pfc(200_001, 190_000, 50_001)) for port in lab.ports)
    )
    calls = run(pfc_script(odd))
    groups = written(calls, "tf1.tm.ppg.cfg.add_with_dev_port")
    sizes = {
        fields["pool"]: fields["size_cells"] for fields in written(calls, "tf1.tm.pool.cfg.mod")
    }
    assert sizes[groups[0]["pool_id"]] == sum(group["pool_max_cells"] for group in groups)
    assert sizes["IG_SKID_POOL"] == sum(group["pfc_skid_max_cells"] for group in groups)
    limits = written(calls, "tf1.tm.port.buffer.mod")
    assert sum(limit["skid_limit_cells"] for limit in limits) == sizes["IG_SKID_POOL"]
    # Part of a cell is a cell.
    assert groups[0]["pool_max_cells"] * TOFINO.cell_bytes - 200_001 in range(TOFINO.cell_bytes)
