"""`pcn deploy` against a P4Runtime server that checks the package, and the entries by the
p4info."""

import contextlib
import ipaddress
import json
import socket
import threading
from pathlib import Path

import pytest
from deploying import interrupt, run
from stratum import DEVICE, DeviceConfig, Serving

from pcn.base import packed
from pcn.base.p4rt import p4i, p4r, p4r_grpc
from pcn.controller.programs import COMPILED
from pcn.controller.switch import SwitchClient
from pcn.controller.tofino.chips import TOFINO
from pcn.controller.tofino.deploy import check
from pcn.controller.tofino.lab_file import SAMPLE, read
from pcn.controller.tofino.package import Package, driver_files
from pcn.controller.tofino.tcd import curve


def number(value: bytes) -> int:
    return int.from_bytes(value, "big")


def test_program_and_entries_reach_the_switch(stratum: Serving, sample: Path, capsys):
    code, out, err = run(capsys, "--grpc", stratum.address, "--ports", sample)
    assert (code, err) == (0, "")
    assert stratum.service.requests == ["SetForwardingPipelineConfig", "Write"]
    device = stratum.service.loaded.device
    assert device.pipelines[0].binary == driver_files(COMPILED / "tna/tofino/pcn")[0]

    lab, held = read(sample), stratum.service.entries()
    routes = {
        ipaddress.IPv4Network(
            (number(entry.match[0].lpm.value), entry.match[0].lpm.prefix_len)
        ): tuple(number(param.value) for param in entry.action.action.params)
        for entry in held["ipv4_lpm"]
    }
    assert routes == {
        route.network: (int(route.mac.replace(":", ""), 16), route.port) for route in lab.routes
    }
    info = stratum.service.loaded.config.p4info
    names = {action.preamble.id: action.preamble.alias for action in info.actions}
    marking = {
        tuple(number(match.exact.value) for match in entry.match): (
            names[entry.action.action.action_id],
            number(entry.action.action.params[0].value),
        )
        for entry in held["rest_config"]
    }
    # A frame of 1514 B, a PAUSE and a RESUME, each with 24 B around it: 13,648 bits at 100 Gbit/s.
    assert marking == {
        (port.number, traffic_class): ("set_rest" if traffic_class == 3 else "goes_before", 137)
        for port in lab.ports
        for traffic_class in range(3, 8)
    }
    rows = [line.split() for line in out.splitlines()]
    assert ["ipv4_lpm", "3"] in rows
    assert ["rest_config", "15"] in rows
    assert ["transmitted", "136", "3/0", "3", "1000", "1058000"] in rows
    assert ["marked", "136", "3/0", "3", "400", "423200"] in rows
    assert ["dropped", "128", "1/0", "0", "2", "120"] in rows
    assert not any(row[1:2] == ["7"] for row in rows)


def test_tcd_s_program_and_entries_reach_the_switch(stratum: Serving, sample: Path, capsys):
    """Two tables have an entry a port, RED's curve one a step, each with its range."""
    code, out, err = run(
        capsys, "--grpc", stratum.address, "--ports", sample, "--program", "tcd", "--json"
    )
    assert (code, err) == (0, "")
    device = stratum.service.loaded.device
    assert device.pipelines[0].binary == driver_files(COMPILED / "tna/tofino/tcd")[0]
    steps = curve(read(sample).tcd, TOFINO)
    written = {
        "ipv4_lpm": 3,
        "rest_config": 15,
        "tcd_config": 3,
        "red_config": 3,
        "red_curves": len(steps),
    }
    assert json.loads(out)["entries"] == written
    draws = {
        tuple(
            number(value) for value in (entry.match[1].range.low, entry.match[1].range.high)
        ): number(entry.action.action.params[0].value)
        for entry in stratum.service.entries()["red_curves"]
    }
    assert draws == {(step.low, step.high): step.draws - 1 for step in steps}


def test_json_has_what_the_tables_show(stratum: Serving, sample: Path, capsys):
    code, out, _ = run(capsys, "--grpc", stratum.address, "--ports", sample, "--json")
    assert code == 0
    report = json.loads(out)
    assert report["entries"] == {"ipv4_lpm": 3, "rest_config": 15}
    counted = {
        (cell["counter"], cell["port"], cell["number"]): cell["value"]
        for cell in report["counters"]
    }
    assert counted["transmitted", 136, 3] == {"packets": 1000, "bytes": 1058000}
    assert counted["marked", 128, 3] == {"packets": 0, "bytes": 0}
    assert len(counted) == 3 * 3 * 8


def test_it_can_be_deployed_again(stratum: Serving, sample: Path, capsys):
    for _ in range(2):
        assert run(capsys, "--grpc", stratum.address, "--ports", sample)[0] == 0
    assert len(stratum.service.entries()["ipv4_lpm"]) == 3


def test_reading_changes_nothing(stratum: Serving, sample: Path, capsys):
    code, _, err = run(capsys, "--grpc", stratum.address, "--ports", sample, "--read")
    assert (code, err) == (1, "pcn: tofino: no program is loaded\n")
    assert run(capsys, "--grpc", stratum.address, "--ports", sample)[0] == 0
    stratum.service.requests.clear()
    with SwitchClient.connect("other", stratum.address, DEVICE) as rival:
        rival.become_primary(7)
        code, out, _ = run(capsys, "--grpc", stratum.address, "--ports", sample, "--read", "--json")
    assert code == 0
    assert json.loads(out)["entries"] == {"ipv4_lpm": 3, "rest_config": 15}
    assert stratum.service.requests == []


def test_only_the_primary_controller_may(stratum: Serving, sample: Path, capsys):
    with SwitchClient.connect("other", stratum.address, DEVICE) as rival:
        rival.become_primary(7)
        code, _, err = run(capsys, "--grpc", stratum.address, "--ports", sample)
        assert code == 1
        assert "another controller is primary, with election id 7 (ours is 1)" in err
        assert stratum.service.requests == []
        assert (
            run(capsys, "--grpc", stratum.address, "--ports", sample, "--election-id", "8")[0] == 0
        )


def test_nothing_is_sent_of_a_file_with_a_fault(stratum: Serving, sample: Path, capsys):
    sample.write_text(sample.read_text().replace("02:00:00:00:00:03", "02:00:00:00:00"))
    code, out, err = run(capsys, "--grpc", stratum.address, "--ports", sample)
    assert (code, out) == (1, "")
    assert err.startswith(f"pcn: {sample}:")
    assert "routes[2].mac" in err
    assert stratum.service.requests == []


def test_another_device_id_is_refused_by_the_switch(stratum: Serving, sample: Path, capsys):
    sample.write_text(sample.read_text().replace("device: 1 ", "device: 2 "))
    code, _, err = run(capsys, "--grpc", stratum.address, "--ports", sample)
    assert code == 1
    assert "this switch is device 1, not 2" in err


def test_more_routes_than_the_table_has(stratum: Serving, sample: Path, capsys):
    text = sample.read_text()
    many = [
        f"  - {{to: 10.{1 + i // 250}.{i % 250}.0/24, port: 128, mac: 02:00:00:00:00:01}}\n"
        for i in range(4100)
    ]
    sample.write_text(text[: text.index("  - {to: 10.0.0.1,")] + "".join(many))
    code, _, err = run(capsys, "--grpc", stratum.address, "--ports", sample)
    assert code == 1
    assert err == "pcn: tofino: 4100 entries for ipv4_lpm, which holds 4096 in program pcn\n"
    assert stratum.service.requests == []


def test_many_routes_go_in_batches(stratum: Serving, sample: Path, capsys):
    text = sample.read_text()
    many = [f"  - {{to: 10.1.0.{i}, port: 128, mac: 02:00:00:00:00:01}}\n" for i in range(250)]
    sample.write_text(text[: text.index("  - {to: 10.0.0.1,")] + "".join(many))
    assert run(capsys, "--grpc", stratum.address, "--ports", sample)[0] == 0
    assert stratum.service.requests == ["SetForwardingPipelineConfig", "Write", "Write", "Write"]
    assert len(stratum.service.entries()["ipv4_lpm"]) == 250


def test_the_server_refuses_what_is_no_package(stratum: Serving):
    """That it checks: a device configuration of another form, and a p4info of another program."""
    package = Package.compiled("pcn")
    stub = p4r_grpc.P4RuntimeStub
    with SwitchClient.connect("switch", stratum.address, DEVICE) as client:
        client.become_primary()
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=DEVICE,
            election_id=p4r.Uint128(low=1),
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
            config=package.schema.get_pipeline_config(),
        )
        stub = client._stub
        request.config.p4_device_config = packed.read_bytes(COMPILED / "pcn.json")
        with pytest.raises(Exception, match="Unknown format for p4_device_config"):
            stub.SetForwardingPipelineConfig(request)
        device = DeviceConfig.FromString(package.data)
        del device.pipelines[:]
        request.config.p4_device_config = device.SerializeToString()
        with pytest.raises(Exception, match="one pipeline are wanted"):
            stub.SetForwardingPipelineConfig(request)
        request.config.p4_device_config = package.data
        request.config.p4info.CopyFrom(p4i.P4Info())
        extra = request.config.p4info.counters.add()
        extra.preamble.id, extra.preamble.name = 1, "nobody.knows.this"
        with pytest.raises(Exception, match="Unable to find bfrt ID"):
            stub.SetForwardingPipelineConfig(request)


def test_a_check_sends_nothing_and_writes_all(tmp_path, sample: Path, capsys):
    out = tmp_path / "deep" / "tofino"
    code, output, err = run(capsys, "--ports", sample, "--check", "--out", out)
    assert (code, err) == (0, "")
    assert "3 ports, 3 routes; program pcn takes their 18 entries. Nothing was sent" in output
    assert {path.name for path in out.iterdir()} == {
        "p4_device_config.pb.bin",
        "chassis_config.pb.txt",
        "pfc.py",
    }
    assert (out / "p4_device_config.pb.bin").read_bytes() == Package.compiled("pcn").data
    assert run(capsys, "--ports", sample, "--check", "--out", out)[0] == 0  # over the older ones
    assert json.loads(run(capsys, "--ports", sample, "--check", "--json")[1])["entries"] == 18
    code, _, err = run(capsys, "--ports", sample, "--check", "--out", sample / "no")
    assert code == 1
    assert err == f"pcn: {sample / 'no'}: Not a directory\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "name the lab's file with --ports FILE"),
        (["--ports", "PORTS"], 2, "its driver with --bfrt HOST:PORT, or take --check"),
        (
            ["--ports", "PORTS", "--grpc", "tofino"],
            2,
            "write it as HOST:PORT; Stratum's port is 9559, the driver's 50052",
        ),
        (["--ports", "PORTS", "--grpc", "a:0"], 2, "write it as HOST:PORT"),
        (["--ports", "PORTS", "--grpc", "a:65536"], 2, "write it as HOST:PORT"),
        (["--ports", "PORTS", "--grpc", "a b:1"], 2, "write it as HOST:PORT"),
        (["--ports", "PORTS", "--grpc", "::1:9559"], 2, "write it as HOST:PORT"),
        (["--ports", "PORTS", "--target", "bmv2", "--check"], 2, "'bmv2' is not 'tofino'"),
        (["--ports", "PORTS", "--election-id", "0", "--check"], 2, "is not in the range"),
        (
            ["--ports", "PORTS", "--check", "--read"],
            2,
            "take --check, which sends nothing, or --read",
        ),
    ],
)
def test_command_lines_that_are_wrong(arguments, code, message, sample: Path, capsys):
    got, _, err = run(capsys, *(str(sample) if word == "PORTS" else word for word in arguments))
    assert got == code
    assert message in err


def test_the_sample_is_printed(capsys):
    assert run(capsys, "--sample") == (0, SAMPLE.read_text(), "")


@pytest.mark.parametrize(
    ("host", "reason"),
    [("127.0.0.1", "Connection refused"), ("absent.invalid", "errors resolving absent.invalid")],
)
def test_deploy_without_a_server_prints_the_reason(host, reason, sample: Path, capsys, monkeypatch):
    monkeypatch.setattr("pcn.controller.tofino.deploy.CONNECT_LIMIT_S", 0.5)
    code, _, err = run(capsys, "--grpc", f"{host}:1", "--ports", sample)
    assert code == 1
    assert f"no P4Runtime server answers at {host}:1 within 0.5 s: " in err
    assert reason in err


def test_deploy_reports_a_port_of_another_service(sample: Path, capsys, monkeypatch):
    """A port with another service, or with TLS."""
    monkeypatch.setattr("pcn.controller.tofino.deploy.CONNECT_LIMIT_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "{}:{}".format(*server.getsockname())

        def hang_up():
            with contextlib.suppress(OSError):  # of an accept that the shutdown ends
                while True:
                    server.accept()[0].close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        try:
            code, _, err = run(capsys, "--grpc", address, "--ports", sample)
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
    assert code == 1
    assert f"no P4Runtime server answers at {address} within 1 s: " in err


def test_ctrl_c_ends_deploy_while_no_server_answers(sample: Path, capsys, monkeypatch):
    """It needn't wait for the limit."""
    monkeypatch.setattr("pcn.controller.tofino.deploy.CONNECT_LIMIT_S", 3600.0)
    assert interrupt(capsys, "--grpc", sample) == (130, "pcn: interrupted")


def test_a_slower_port_has_a_longer_gap_and_its_own_may_be_given(sample: Path):
    text = sample.read_text().replace(
        "{port: 128, panel: 1/0, speed: 100G", "{port: 128, panel: 1/0, speed: 25G"
    )
    sample.write_text(text.replace("    autoneg: no", "    autoneg: no\n    gap: 2us"))
    assert [port.gap_ns for port in read(sample).ports] == [546, 137, 2000]


def test_the_classes_that_go_before_follow_the_priorities(sample: Path):
    """Priorities turned round: 0 to 2 are served before class 3 now, 4 to 7 after it."""
    turned = "".join(
        f"  {number}: {{priority: {7 - number}{', lossless: yes' if number == 3 else ''}}}\n"
        for number in range(8)
    )
    text = sample.read_text()
    start, end = text.index("  3: {priority"), text.index("pfc:  ")
    sample.write_text(text[:start] + turned + "\n" + text[end:])
    marking = {
        (entry.match["port"], entry.match["class"]): entry.action.name
        for entry in check(read(sample), Package.compiled("pcn"))
        if entry.table_id == "rest_config"
    }
    assert {number: action for (port, number), action in marking.items() if port == 136} == {
        0: "goes_before", 1: "goes_before", 2: "goes_before", 3: "set_rest",
    }  # fmt: skip
