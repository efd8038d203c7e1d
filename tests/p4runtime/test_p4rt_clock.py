"""The manual clock over gRPC, beside P4Runtime: what its calls do and refuse, and that two runs are
the same."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
import waiting
from p4rt_client import Client, update
from p4rt_process import Process
from p4rt_switch import Program, Switch

from pcn.base.p4rt import p4r
from pcn.softswitch.clock import ClockError, ManualClock
from pcn.softswitch.clock_messages import PROTO, SERVICE, Moment, Span

ROOT = Path(__file__).resolve().parents[2]
TO_CPU, OUT = 0xAA, 0xBB


def frame(destination: int, source: int = 1, length: int = 60) -> bytes:
    return (destination.to_bytes(6, "big") + source.to_bytes(6, "big") + b"\x08\x00").ljust(
        length, b"\0"
    )


@pytest.fixture
def client(manual_switch: Switch, program: Program) -> Iterator[Client]:
    """The primary controller: 0xaa goes to it, 0xbb out of port 2."""
    names = program.names
    with Client(manual_switch.port) as client:
        client.arbitrate()
        client.set_pipeline(program.info, program.json)
        client.insert(
            names.entry("l2", {"dst_addr": TO_CPU}, names.action("send_to_cpu", reason=1))
        )
        client.insert(names.entry("l2", {"dst_addr": OUT}, names.action("forward", port=2)))
        yield client


def test_service_matches_its_proto_file():
    """Read as protoc would: every declaration of the text is in the messages, and nothing of it was
    left unread."""
    text = re.sub(r"//.*", "", PROTO.read_text())
    declared = set(re.findall(r"(?:message|service|rpc) (\w+)", text))
    file = SERVICE.file
    assert declared == {*file.message_types_by_name, SERVICE.name, *SERVICE.methods_by_name}
    fields = {
        field.name for message in file.message_types_by_name.values() for field in message.fields
    }
    assert fields == set(re.findall(r"(\w+) = \d+;", text))


@pytest.mark.usefixtures("client")
def test_time_goes_on_until_a_frame_leaves(clock: ManualClock, manual_switch: Switch):
    manual_switch.native.port_shape(2, rate_bps=8_000_000)
    clock.send(1, *[frame(OUT, length=1000)] * 5)
    assert clock.advance_until(2, 2, 10) == 0.002
    assert clock.advance_until(2, 1, 10) == 0.003
    assert clock.advance_until(2, 9, 10) == 10.003
    assert [time_ns for _, time_ns, _ in clock.received()] == [n * 1_000_000 for n in range(1, 6)]


@pytest.mark.usefixtures("client")
def test_frames_have_port_time_and_bytes(clock: ManualClock, manual_switch: Switch):
    manual_switch.native.port_shape(2, rate_bps=8_000_000, delay_ns=500_000)
    clock.advance(1.5)
    clock.send(1, frame(OUT, length=1000), frame(OUT, source=2, length=15))
    assert clock.received() == []
    assert clock.advance(0.002) == 1.502
    first, second = clock.received()
    assert (first.port, first.time_ns, first.data) == (2, 1_501_500_000, frame(OUT, length=1000))
    assert (second.port, second.time, len(second.data)) == (2, 1.501515, 15)
    assert clock.received() == []
    assert (clock.now, clock.now_ns) == (1.502, 1_502_000_000)


def test_what_a_call_causes_is_on_the_stream(client: Client, clock: ManualClock):
    """Packet-ins in order, before the call returns: what is sent afterwards comes after them."""
    clock.send(1, *[frame(TO_CPU, source) for source in range(50)])
    client.claim()
    heard = [client.receive() for _ in range(51)]
    assert [message.packet.payload[11] for message in heard[:50]] == list(range(50))
    assert heard[50].HasField("arbitration")


def test_a_packet_out_is_done_at_the_time_that_stands(client: Client, clock: ManualClock):
    clock.advance(3)
    metadata = [p4r.PacketMetadata(metadata_id=n, value=bytes([v])) for n, v in ((1, 2), (2, 0))]
    client.send(packet=p4r.PacketOut(payload=frame(OUT), metadata=metadata))
    client.send(packet=p4r.PacketOut(payload=frame(OUT), metadata=metadata[:1]))
    assert client.receive().HasField("error"), (
        "the answer to the second, so that the first has been taken"
    )
    ((port, time_ns, data),) = clock.received()
    assert (port, time_ns, data) == (2, 3_000_000_000, frame(OUT))


def test_a_meter_fills_with_the_switchs_time(client: Client, clock: ManualClock, program: Program):
    """Two packets a second: of three at once two pass, after a second two, after half a second
    one."""
    names = program.names
    key = {"src_addr": 1}
    meter = p4r.DirectMeterEntry(table_entry=names.entry("policing", key))
    meter.config.CopyFrom(p4r.MeterConfig(cir=2, cburst=2, pir=2, pburst=2))
    client.insert(names.entry("policing", key, names.action("police")))
    client.modify(meter)
    passed = []
    for seconds in (0, 1, 0.5, 0.499999, 0.000001):
        clock.advance(seconds)
        clock.send(1, frame(OUT), frame(OUT), frame(OUT))
        passed.append(len(clock.received()))
    assert passed == [2, 2, 1, 0, 1]


def test_what_is_refused(manual_switch: Switch, clock: ManualClock, empty_switch: Switch):
    with pytest.raises(ClockError, match="port 3 is none of those without interface"):
        clock.send(3, b"x")
    for call in (lambda: clock.send(70_000, b"x"), lambda: clock.advance_until(70_000, 1, 1)):
        with pytest.raises(ClockError, match="no port 70000: they are 0 to 511"):
            call()
    with pytest.raises(ClockError, match="a frame of 9217 bytes is longer than 9216"):
        clock.send(1, bytes(9217))
    for seconds in (-1, 1e30):
        with pytest.raises(ClockError, match=re.escape(f"can't be moved by {seconds:g} s")):
            clock.advance(seconds)
    years = 100 * 365 * 86400
    assert clock.advance(years) == years
    with pytest.raises(
        ClockError, match="a clock that stands at 3153600000000000000 ns can't be moved by 3153"
    ):
        clock.advance(years)
    with (
        ManualClock(f"127.0.0.1:{empty_switch.port}") as live,
        pytest.raises(ClockError, match="--clock manual"),
    ):
        live.advance(1)
    with (
        ManualClock("127.0.0.1:1") as nobody,
        pytest.raises(ClockError, match=r"the switch at 127\.0\.0\.1:1: "),
    ):
        nobody.advance(1)


def test_advance_ends_where_its_client_has_gone(manual_switch: Switch, clock: ManualClock):
    """A packet generator makes a step of each microsecond; the others' calls don't wait for 73
    years of them, of which a connection that isn't a primary's may have one at work."""
    manual_switch.native.generate(3, 1000, [1])
    takes, gives = Span, Moment
    with grpc.insecure_channel(f"127.0.0.1:{manual_switch.port}") as channel:
        call = channel.unary_unary(
            f"/{SERVICE.full_name}/Advance", takes.SerializeToString, gives.FromString
        )
        calls = [call.future(takes(ns=2**61)) for _ in range(20)]
        waiting.wait_until(lambda: manual_switch.native.now_ns > 0, "time to move")
        assert not any(call.done() for call in calls)
    assert clock.now_ns < 2**61


def record(program: Program) -> list[object]:
    """What a switch process does with a burst, in its own words."""
    process = Process(
        *(
            "--no-p4", "--device-id", "1", "--clock", "manual", "-i", "1", "-i", "2", "--rate",
            "2=1M", "--queue-depth", "80", "--cpu-port", "255",
        )
    )  # fmt: skip
    try:
        assert process.lines[-1].endswith("ports: 1 2\n")
        names = program.names
        with Client(process.port) as client, ManualClock(f"127.0.0.1:{process.port}") as clock:
            client.arbitrate()
            client.set_pipeline(program.info, program.json)
            for destination, action in (
                (OUT, names.action("mirror", port=2)),
                (TO_CPU, names.action("send_to_cpu", reason=1)),
            ):
                client.insert(names.entry("l2", {"dst_addr": destination}, action))
            replica = p4r.Replica(egress_port=1, instance=1)
            session = p4r.CloneSessionEntry(session_id=7, replicas=[replica])
            client.write(
                update(
                    "INSERT",
                    session,
                )
            )
            frames = [
                frame(OUT if source % 3 else TO_CPU, source, 60 + 10 * source)
                for source in range(60)
            ]
            clock.send(1, *frames)
            clock.advance(0.01)
            clock.send(2, *frames)
            clock.advance(1)
            heard = [client.receive().SerializeToString() for _ in range(40)]
            counters = client.read(p4r.CounterEntry(counter_id=names.id("counters", "received")))
            return [clock.received(), heard, [cell.SerializeToString() for cell in counters]]
    finally:
        process.end(signal.SIGKILL)


def test_two_runs_are_the_same(program: Program):
    first, second = record(program), record(program)
    assert first == second
    assert len(first[0]) == 160


def test_the_packet_generator_of_the_command_line(program: Program):
    """Its header, which a frame begins with, is the destination address here, by which the program
    forwards."""
    generator = f"508=3ms:{OUT},5"
    words = ("--no-p4", "--device-id", "1", "--clock", "manual", "-i", "1", "-i", "2")
    process = Process(*words, "--packet-generator", generator)
    try:
        with Client(process.port) as client, ManualClock(f"127.0.0.1:{process.port}") as clock:
            clock.advance(0.007)
            client.arbitrate()
            client.set_pipeline(program.info, program.json)
            action = program.names.action("forward", port=2)
            client.insert(program.names.entry("l2", {"dst_addr": OUT}, action))
            clock.advance(0.009)
            expected = OUT.to_bytes(6, "big").ljust(60, b"\0")
            assert clock.received() == [
                (2, 9_000_000, expected),
                (2, 12_000_000, expected),
                (2, 15_000_000, expected),
            ]
    finally:
        process.end(signal.SIGKILL)


def test_the_example_of_the_documentation(capsys):
    """docs/test-clock.md: the switch by the page's command line, and the page's program."""
    text = (ROOT / "docs/test-clock.md").read_text()
    command = re.search(r"^    softswitch (.*--clock manual.*)$", text, re.MULTILINE)
    code = re.search(r"```python\n(.*?)```\n+```\n(.*?)```", text, re.DOTALL)
    assert code is not None
    words = command[1].split()
    process = Process(*words)
    try:
        exec(
            compile(
                code[1].replace("127.0.0.1:9559", f"127.0.0.1:{process.port}"),
                "docs/test-clock.md",
                "exec",
            ),
            {},
        )
    finally:
        process.end(signal.SIGKILL)
    assert capsys.readouterr().out == code[2]
