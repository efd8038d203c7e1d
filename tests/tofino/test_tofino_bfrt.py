"""`pcn deploy --bfrt`: a gRPC server of the BF Runtime service in the test's process, with our own
description of the messages in place of an SDE's."""

import json
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bfrt_description import MESSAGES, install
from bfrt_driver import Driver, description, serving
from deploying import interrupt, run
from hypothesis import given, strategies as st
from stratum import TRAFFIC
from waiting import LIMIT_S

from pcn import doctor
from pcn.controller.control_plane import (
    CloneSession,
    RegisterEntry,
    TableAction,
    TableEntry,
    TableMatch,
)
from pcn.controller.errors import SwitchError, WriteError
from pcn.controller.tofino import bfrt, bfrt_messages, qcn
from pcn.controller.tofino.bfrt import BfRuntimeSwitch
from pcn.controller.tofino.bfrt_entities import MOST_PRIORITY, Entities
from pcn.controller.tofino.bfrt_info import Info
from pcn.controller.tofino.buffers import FIXED, port_settings, settings
from pcn.controller.tofino.chips import TOFINO2
from pcn.controller.tofino.deploy import check, sessions
from pcn.controller.tofino.lab_file import SAMPLE, read
from pcn.controller.tofino.package import Package

SDE = os.environ.get("SDE_INSTALL", "")
PROGRAMS = ("pcn", "tcd", "qcn", "qcn_in")


@pytest.fixture
def sde(tmp_path, monkeypatch) -> Path:
    """Has the messages of the SDE that the environment names, or else of our description."""
    if SDE:
        monkeypatch.setenv("SDE_INSTALL", SDE)
        return Path(SDE)
    install(tmp_path / "sde")
    monkeypatch.setenv("SDE_INSTALL", str(tmp_path / "sde"))
    return tmp_path / "sde"


@pytest.fixture
def driver(sde: Path) -> Driver:
    return Driver(TRAFFIC)


@pytest.fixture
def address(driver: Driver) -> Iterator[str]:
    with serving(driver) as there:
        yield there


def held(driver: Driver, table: str) -> list[Any]:
    return [entry for (name, _), entry in driver.held.items() if name.endswith(table)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_deploy_writes_each_program_and_its_entries(
    program, driver: Driver, address: str, sample: Path, capsys
):
    code, out, err = run(
        capsys, "--bfrt", address, "--ports", sample, "--program", program, "--json"
    )
    assert (code, err) == (0, "")
    lab, package = read(sample), Package.compiled(program)
    entries = check(lab, package)
    assert driver.loaded.p4_name == program
    (profile,) = driver.loaded.profiles
    assert (profile.profile_name, profile.binary) == ("pipe", package.binary)
    assert driver.writes[0] == len(entries) + len(sessions(lab, package))  # one call
    report = json.loads(out)
    assert sum(report["entries"].values()) == len(entries)
    assert report["settings"] == sum(
        len(setting.data) for setting in [*port_settings(lab), *settings(lab)]
    )
    assert [line.split(": ")[-1] for line in report["ignored"]] == [
        "mode_rx is None, not 'PFC'"
    ] * 3
    assert len(held(driver, "$mirror.cfg")) == (lab.pipes if program in qcn.PROGRAMS else 0)
    assert [
        int.from_bytes(session.data.fields[2].stream, "big")
        for session in held(driver, "$mirror.cfg")
    ] == [pipe * 128 + 68 for pipe in range(lab.pipes if program in qcn.PROGRAMS else 0)]
    assert len(held(driver, "$PORT")) == len(held(driver, "ppg.cfg")) == 3


def test_deploy_loads_nothing_into_another_chip(sde: Path, sample: Path, capsys):
    driver = Driver(TRAFFIC, chip=TOFINO2)
    with serving(driver) as there:
        code, _, err = run(capsys, "--bfrt", there, "--ports", sample)
    assert (code, driver.loaded) == (1, None)
    assert err == (
        "pcn: tofino: the driver's chip is a Tofino 2, not a Tofino 1: write `chip: tofino2` in "
        "ports.yaml, with the ports of that chip\n"
    )


def test_deploy_refuses_an_unknown_chip(sde: Path, sample: Path, capsys):
    driver = Driver(TRAFFIC, chip=replace(TOFINO2, tables="tf9"))
    with serving(driver) as there:
        code, _, err = run(capsys, "--bfrt", there, "--ports", sample)
    assert (code, driver.loaded) == (1, None)
    assert "the driver's chip is neither a Tofino 1 nor a Tofino 2" in err


def test_deploy_prints_counters_and_what_was_read_back(
    driver: Driver, address: str, sample: Path, capsys
):
    code, out, err = run(capsys, "--bfrt", address, "--ports", sample)
    assert (code, err) == (0, "")
    assert "fields of ports, PFC, buffers and queues were written and read back" in out
    assert out.count("the driver ignores, without harm: tf1.tm.port.flowcontrol") == 3
    rows = [line.split() for line in out.splitlines()]
    assert ["ipv4_lpm", "3"] in rows
    assert ["transmitted", "136", "3/0", "3", "1000", "1058000"] in rows
    assert ["dropped", "128", "1/0", "0", "2", "120"] in rows


def test_deploy_reads_without_writing(driver: Driver, address: str, sample: Path, capsys):
    code, _, err = run(capsys, "--bfrt", address, "--ports", sample, "--read")
    assert (code, err) == (1, "pcn: tofino: no program is loaded\n")
    assert run(capsys, "--bfrt", address, "--ports", sample)[0] == 0
    before, driver.writes = dict(driver.held), []
    code, out, _ = run(capsys, "--bfrt", address, "--ports", sample, "--read", "--json")
    assert code == 0
    assert json.loads(out)["entries"] == {"ipv4_lpm": 3, "rest_config": 15}
    assert (driver.held, driver.writes) == (before, [])


def test_deploy_can_be_repeated(driver: Driver, address: str, sample: Path, capsys):
    """Ports stay while a program is loaded."""
    for _ in range(2):
        assert run(capsys, "--bfrt", address, "--ports", sample)[0] == 0
    assert len(held(driver, "ipv4_lpm")) == len(held(driver, "$PORT")) == 3


def test_deploy_replaces_ports_of_single_lanes(driver: Driver, address: str, sample: Path, capsys):
    """With which the driver of a model begins."""
    text = sample.read_text()
    lanes = "".join(
        f"  - {{port: {128 + lane}, panel: 1/{lane}, speed: 10G, fec: yes}}\n" for lane in range(4)
    )
    sample.write_text(text.replace("  - {port: 128, panel: 1/0, speed: 100G, fec: yes}\n", lanes))
    assert run(capsys, "--bfrt", address, "--ports", sample)[0] == 0
    assert len(held(driver, "$PORT")) == 6
    sample.write_text(text)
    code, _, err = run(capsys, "--bfrt", address, "--ports", sample)
    assert (code, err) == (0, "")
    assert {port.data.fields[0].str_val for port in held(driver, "$PORT")} == {"BF_SPEED_100G"}
    assert len(held(driver, "$PORT")) == 3


@pytest.mark.parametrize(
    "name", sorted({n for setting in settings(read(SAMPLE)) for n in setting.data} - set(FIXED))
)
def test_deploy_refuses_each_setting_that_the_driver_loses(name, sde: Path):
    lab, driver = read(SAMPLE), Driver(loses=name)
    with serving(driver) as address, BfRuntimeSwitch.connect("tofino", address) as switch:
        switch.set_pipeline(Package.compiled("pcn"))
        with pytest.raises(SwitchError, match="didn't keep") as failure:
            switch.apply(
                [
                    *port_settings(lab),
                    *(setting for setting in settings(lab) if name in setting.data),
                ]
            )
    assert f"{name} is None" in str(failure.value)


@pytest.mark.parametrize(
    ("program", "lost", "message"),
    [
        ("pcn", "ipv4_lpm", "3 of 18 entries don't read back as they were written: "),
        ("pcn", "gap_ns", "15 of 18 entries don't read back"),
        ("tcd", "red_curves", "of 41 entries don't read back"),
        ("qcn", "$mirror.cfg", "$mirror.cfg: no such entry"),
        ("qcn", "$max_pkt_len", "2 of 73 entries don't read back"),
    ],
)
def test_deploy_refuses_entries_that_the_driver_loses(
    program, lost, message, sde: Path, sample: Path, capsys
):
    with serving(Driver(loses=lost)) as address:
        code, _, err = run(capsys, "--bfrt", address, "--ports", sample, "--program", program)
    assert code == 1
    assert message in err


def test_long_write_reports_progress(sde: Path, monkeypatch):
    """The driver answers once the client has reported that it waits."""
    monkeypatch.setattr(bfrt, "_PROGRESS_S", bfrt._LOOK_S)
    lab, driver, lines = read(SAMPLE), Driver(), []
    driver.slow = threading.Event()

    def progress(line: str):
        lines.append(line)
        if line.startswith("insert of"):
            driver.slow.set()

    with (
        serving(driver) as address,
        BfRuntimeSwitch.connect("tofino", address, progress=progress) as switch,
    ):
        switch.set_pipeline(Package.compiled("pcn"))
        switch.insert(check(lab, Package.compiled("pcn")))
    assert any(
        line.startswith("insert of 18 entries: ") and "s so far, of 1800 at most" in line
        for line in lines
    )


def test_driver_tables_are_read_by_name(driver: Driver, address: str):
    with BfRuntimeSwitch.connect("tofino", address) as switch:
        switch.set_pipeline(Package.compiled("pcn"))
        switch.apply(port_settings(read(SAMPLE)))
        assert switch.held("$PORT", {"$DEV_PORT": 136})["$SPEED"] == "BF_SPEED_100G"


def test_refused_entries_are_named(driver: Driver, address: str):
    route = TableEntry(
        "ipv4_lpm",
        match=TableMatch(dst_addr="10.0.0.1/32"),
        action=TableAction("ipv4_forward", dst_mac="02:00:00:00:00:01", port=128),
    )
    table_entry = TableEntry(
        "rest_config", match=TableMatch({"port": 1, "class": 3}), action=TableAction("no_rest")
    )
    with BfRuntimeSwitch.connect("tofino", address) as switch:
        switch.set_pipeline(Package.compiled("pcn"))
        switch.insert([route])
        with pytest.raises(
            WriteError, match=r"2 entries failed; ipv4_lpm dst_addr=10\.0\.0\.1/32"
        ) as failure:
            switch.insert([table_entry, route])
        assert [entry for entry, _ in failure.value.refused] == [route]
        assert "ALREADY_EXISTS" in str(failure.value)
        switch.delete([route])
        with pytest.raises(WriteError, match="NOT_FOUND"):
            switch.modify([route])
        assert [entry.is_default_action for entry in switch.read_table("rest_config")] == [
            False,
            True,
        ]


def test_registers_are_read_in_the_pipe_of_their_port(sde: Path):
    """`busy` has a pair by port: `since`, then `until`."""
    driver = Driver(registers={("busy", 136): {"since": [1, 7], "until": [2, 9]}})
    with serving(driver) as address, BfRuntimeSwitch.connect("tofino", address) as switch:
        switch.set_pipeline(Package.compiled("pcn"))
        assert switch.read_register("busy", 136) == 7 << 32 | 9
        assert switch.read_registers("busy")[135] == 0


def test_only_one_client_writes_to_a_program(driver: Driver, address: str):
    with (
        BfRuntimeSwitch.connect("first", address) as first,
        BfRuntimeSwitch.connect("second", address) as second,
    ):
        first.set_pipeline(Package.compiled("pcn"))
        with pytest.raises(
            SwitchError,
            match="second: insert of 1 entries failed: INVALID_ARGUMENT: the client is not",
        ):
            second.insert([CloneSession(4, packet_length_bytes=62, replicas=[68])])
        assert [entry.is_default_action for entry in second.read_table("ipv4_lpm")] == [True]


def test_bf_runtime_refuses_what_it_has_none_of(driver: Driver, address: str):
    with BfRuntimeSwitch.connect("tofino", address) as switch:
        switch.set_pipeline(Package.compiled("pcn"))
        with pytest.raises(SwitchError, match="no register entry is written here"):
            switch.insert([RegisterEntry("busy", index=0)])
        with pytest.raises(SwitchError, match="BF Runtime sends no packets"):
            switch.packet_out(b"")
        with pytest.raises(SwitchError, match="brings no packet here"):
            switch.packets_in()


def test_a_missing_server_is_one_line(sde: Path, monkeypatch):
    with pytest.raises(
        SwitchError,
        match=r"^tofino: no BF Runtime server answers at 127.0.0.1:1 \(is bf_switchd up\?\): ",
    ):
        BfRuntimeSwitch.connect("tofino", "127.0.0.1:1")


def test_messages_find_google_s_common_ones(tmp_path):
    """protoc's file imports them; no package has to be installed for it."""
    install(tmp_path)
    (file,) = tmp_path.rglob("bfruntime_pb2.py")
    file.write_text("from google.rpc import status_pb2 as common\n" + file.read_text())
    assert bfrt_messages.load({"SDE_INSTALL": str(tmp_path)}).common.Status(code=3).code == 3
    assert "google.rpc" not in sys.modules


def test_ctrl_c_ends_deploy_while_no_driver_answers(sde: Path, sample: Path, capsys, monkeypatch):
    """It needn't wait for the limit."""
    monkeypatch.setattr("pcn.controller.tofino.deploy.CONNECT_LIMIT_S", 3600.0)
    assert interrupt(capsys, "--bfrt", sample) == (130, "pcn: interrupted")


def test_stream_that_a_server_closes_is_one_line(sde: Path, monkeypatch):
    driver = Driver()
    monkeypatch.setattr(driver, "stream", lambda _requests, _context: iter(()))
    with (
        serving(driver) as address,
        pytest.raises(SwitchError, match=r"up\?\): the server closed the stream"),
    ):
        BfRuntimeSwitch.connect("tofino", address)


def test_stream_of_a_lying_server_is_bounded(sde: Path, monkeypatch):
    """Neither messages that no call waits for nor long ones stay with the client."""
    driver, sent = Driver(), threading.Semaphore(0)

    def stream(_requests, context) -> Iterator[Any]:
        answer = MESSAGES["StreamMessageResponse"]()
        answer.subscribe.device_id = 0
        yield answer
        long, short = MESSAGES["StreamMessageResponse"](), MESSAGES["StreamMessageResponse"]()
        long.subscribe.status.message = "x" * 1_000_000
        while context.is_active():
            yield long
            yield short
            sent.release()

    monkeypatch.setattr(driver, "stream", stream)
    with serving(driver) as address, BfRuntimeSwitch.connect("tofino", address) as switch:
        for _ in range(100):
            assert sent.acquire(timeout=LIMIT_S)
        assert switch._incoming.qsize() == 0


@pytest.mark.parametrize(
    "document", [b"[" * 100_000, b'{"tables": ' + b"[" * 100_000, b'{"tables": {"a": ']
)
def test_description_of_a_lying_server_is_refused(document):
    with pytest.raises(SwitchError, match=r"^tofino: no BF-RT description: "):
        Info("tofino", [document])


def test_description_that_is_too_large_is_not_parsed():
    with pytest.raises(
        SwitchError, match=r"^tofino: a BF-RT description of 16 MB: 16 MB are the most$"
    ):
        Info("tofino", [b'{"tables": []}', b" " * ((16 << 20) + 1)])


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (None, "no bfruntime_pb2.py below lib/python3"),
        (
            "import nothing_of_this_name",
            "ModuleNotFoundError: No module named 'nothing_of_this_name'",
        ),
        ("raise TypeError", "TypeError: no details"),
    ],
)
def test_messages_that_cannot_be_loaded_are_one_line(file, message, tmp_path):
    folder = tmp_path / "lib/python3.9/site-packages/bfrt_grpc"
    folder.mkdir(parents=True)
    if file is not None:
        (folder / "bfruntime_pb2.py").write_text(file)
    with pytest.raises(SwitchError) as failure:
        bfrt_messages.load({"SDE_INSTALL": str(tmp_path)})
    assert message in str(failure.value)
    with pytest.raises(SwitchError, match="set SDE_INSTALL to the folder"):
        bfrt_messages.load({})


def test_doctor_reports_the_sde(sde: Path, monkeypatch):
    part = doctor._bf_runtime()
    assert (part.present, part.needed) == (True, False)
    assert part.found.startswith(str(sde))
    monkeypatch.delenv("SDE_INSTALL")
    absent = doctor._bf_runtime()
    assert (absent.present, absent.found) == (False, "not found")
    assert "SDE_INSTALL" in absent.remedy


def test_deploy_takes_one_of_two_servers(sample: Path, capsys, monkeypatch):
    code, _, err = run(capsys, "--bfrt", "a:50052", "--grpc", "a:9559", "--ports", sample)
    assert code == 2
    assert "--grpc: --bfrt reaches the driver" in err
    monkeypatch.delenv("SDE_INSTALL", raising=False)
    assert "SDE_INSTALL" in run(capsys, "--bfrt", "a:50052", "--ports", sample)[2]


def test_what_is_no_description_is_refused():
    for document in (b"", b"[]", b'{"tables": [{}]}', b'{"tables": 3}'):
        with pytest.raises(SwitchError, match="tofino: no BF-RT description: "):
            Info("tofino", [document])


@pytest.mark.parametrize("program", PROGRAMS)
def test_entries_come_back_as_they_were_written(program, sde: Path):
    """Each kind of match, priorities, and actions: P4Runtime's entry, BF Runtime's, and P4Runtime's
    again."""
    package, messages = Package.compiled(program), bfrt_messages.load()
    translate = Entities(messages, Info("tofino", [package.bf_rt, description()]), package.schema)
    lab = read(SAMPLE)
    for entry in check(lab, package):
        update = messages.Update(type=messages.Update.Type.Value("INSERT"))
        translate._entry(
            entry.encode(package.schema).table_entry, update.entity.table_entry, with_data=True
        )
        (back,) = translate.entities(update.entity.table_entry)
        assert back == entry.encode(package.schema)


@pytest.fixture(scope="module")
def qcn_entities() -> Entities:
    package = Package.compiled("qcn")
    messages = type("Messages", (), dict(MESSAGES))
    return Entities(messages, Info("tofino", [package.bf_rt, description()]), package.schema)


@given(first=st.integers(1, MOST_PRIORITY), second=st.integers(1, MOST_PRIORITY))
def test_the_higher_priority_becomes_the_lower_number(qcn_entities: Entities, first, second):
    """The driver serves the lowest number first."""
    schema, numbers = Package.compiled("qcn").schema, []
    for priority in (first, second):
        entry = TableEntry(
            "feedback_steps",
            match=TableMatch(q_eq=1, most=0),
            action=TableAction("set_feedback", quantised=1),
            priority=priority,
        )
        driver_entry = MESSAGES["TableEntry"]()
        qcn_entities._entry(entry.encode(schema).table_entry, driver_entry, with_data=True)
        numbers.append(int.from_bytes(driver_entry.key.fields[-1].exact.value, "big"))
    assert (numbers[0] < numbers[1]) == (first > second)
