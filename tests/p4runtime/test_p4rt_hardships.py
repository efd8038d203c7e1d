"""What a switch meets: controllers and switches that are killed, disks that are full, interfaces
that vanish."""

import ctypes
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import grpc
import needs
import pytest
import waiting
import warm_compiler
from p4rt_client import WAIT_S, Client, RefusedError
from p4rt_process import COMMAND, Process
from p4rt_switch import PROGRAMS, Program, running_switch

from pcn.base.p4rt import p4r, rpc_code
from pcn.softswitch.codegen.build import build_program, build_runtime
from pcn.softswitch.p4runtime import service
from pcn.softswitch.p4runtime.server import ServerError


@pytest.fixture
def processes() -> Iterator[Callable[..., Process]]:
    """Starts switch processes; they are gone after the test."""
    started: list[Process] = []

    def start(*arguments: str) -> Process:
        started.append(Process("--device-id", "1", *arguments))
        return started[-1]

    yield start
    for process in started:
        process.end(signal.SIGKILL)


@pytest.mark.parametrize("manual", [False, True])
def test_its_end_waits_for_no_interval(library: ctypes.CDLL, monkeypatch, *, manual):
    monkeypatch.setattr(service, "PUMP_WAIT_NS", 3600 * 10**9)
    with running_switch(library, manual=manual):
        pass


# A controller of its own process: batches of entries, inserted and deleted without end.
CONTROLLER = """
import faulthandler
import sys
import threading
faulthandler.enable()
from pathlib import Path
sys.path[:0] = [sys.argv[1], f"{sys.argv[1]}/.."]  # tests/, for needs
from p4rt_client import Client, update
from p4rt_switch import PROGRAMS, load
bench = load(PROGRAMS / "bench")
names = bench.names
with Client(int(sys.argv[2]), election_id=int(sys.argv[3])) as client:
    client.arbitrate()
    client.set_pipeline(bench.info, bench.json)
    action = names.action("send_to_cpu", reason=1)
    entries = [names.entry("l2", {"dst_addr": n}, action) for n in range(1, 501)]
    print("ready", flush=True)
    while True:
        for kind in ("INSERT", "DELETE"):
            client.write(*(update(kind, entry) for entry in entries), atomicity="ROLLBACK_ON_ERROR")
"""


def test_a_controller_is_killed_at_any_moment(processes: Callable[..., Process], program: Program):
    """Its batches are there as a whole or not at all, its place is free, and the next controller
    goes on at once."""
    switch = processes("--no-p4")
    rng = random.Random(1)
    for election_id in range(1, 5):
        words = [
            sys.executable, "-c", CONTROLLER, str(Path(__file__).parent), str(switch.port),
            str(election_id),
        ]  # fmt: skip
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as controller:
            assert controller.stdout.readline() == "ready\n"
            time.sleep(rng.uniform(0, 0.2))
            controller.kill()
        with Client(switch.port, election_id=election_id + 1) as client:
            assert client.arbitrate().status.code == rpc_code.OK
            table = p4r.TableEntry(table_id=program.names.tables["l2"].preamble.id)
            assert len(client.read(table)) in (0, 500)
            client.write()
    assert switch.end() == 0


def test_a_switch_is_killed_and_started_again(processes: Callable[..., Process]):
    """On the same address at once; its clients learn of it."""
    first = processes("--no-p4")
    with Client(first.port) as client:
        client.arbitrate()
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
        with pytest.raises(RefusedError) as failure:
            client.receive()
        assert failure.value.code == grpc.StatusCode.UNAVAILABLE
    second = processes("--no-p4", "--grpc-server-addr", f"127.0.0.1:{first.port}")
    assert second.port == first.port
    with Client(second.port) as client:
        assert client.arbitrate().status.code == rpc_code.OK


def test_it_ends_in_the_middle_of_a_write(processes: Callable[..., Process], tmp_path):
    switch = processes("--no-p4")
    words = [sys.executable, "-c", CONTROLLER, str(Path(__file__).parent), str(switch.port), "1"]
    with (
        (tmp_path / "said").open("w+") as errors,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True) as controller,
    ):
        assert controller.stdout.readline() == "ready\n"
        assert switch.end(signal.SIGTERM) == 0
        try:
            status = controller.wait(2 * WAIT_S)  # each of its calls has WAIT_S
        except subprocess.TimeoutExpired:
            controller.send_signal(signal.SIGABRT)  # its stacks
            controller.wait()
            pytest.fail(
                f"the switch is gone, its controller waits:\n{(tmp_path / 'said').read_text()}"
            )
        assert status > 0, "it detected that the switch is gone"
    assert len(switch.lines) == 1, "no word beyond the ready line"


# Lines of a compiler: of a program it writes its process id, and never ends.
HANGS = """
for word; do case $word in *program.c) echo $$ > "$HANGS.new"; mv "$HANGS.new" "$HANGS"; exec sleep 3600 ;; esac; done
"""  # noqa: E501
# Ends once a second compiler is at work as well. Alone it waits for as long as its switch lives: on
# a busy machine the second one, of a text that has to be generated first, may come minutes later.
MEETS = """
touch "$MET/$$"
while [ "$(ls "$MET" | wc -l)" -lt 2 ]; do
    sleep 0.1
done
"""


@pytest.fixture
def compile_by(tmp_path, monkeypatch, program: Program) -> Callable[..., None]:
    """Gives processes a compiler with these lines, which copies what it makes, these variables, and
    an empty cache."""

    def compile_by(lines: str, **variables: Path):
        objects = {
            "libsoftswitch": build_runtime(),
            "program": build_program(program.json.decode()),
        }
        compiler = warm_compiler.write(tmp_path / "cc", objects, first=lines)
        for name, value in {
            **variables,
            "CC": compiler,
            "XDG_CACHE_HOME": tmp_path / "cache",
        }.items():
            monkeypatch.setenv(name, str(value))

    return compile_by


own_queues = needs.own_queues("the engine is compiled, too")


@own_queues
def test_switch_ends_in_the_middle_of_a_compilation(
    processes: Callable[..., Process], program: Program, compile_by: Callable[..., None], tmp_path
):
    """SIGTERM waits for no compiler."""
    hangs = tmp_path / "pid"
    compile_by(HANGS, HANGS=hangs)
    switch = processes("--no-p4")
    with Client(switch.port) as client:
        client.arbitrate()
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=1, election_id=p4r.Uint128(low=1), action="VERIFY_AND_COMMIT"
        )
        request.config.p4info.CopyFrom(program.info)
        request.config.p4_device_config = program.json
        call = client.stub.SetForwardingPipelineConfig.future(request)
        waiting.wait_until(hangs.exists, "the compiler to start")
        compiling = os.pidfd_open(int(hangs.read_text()))
        try:
            switch.process.terminate()
            assert switch.process.wait(WAIT_S) == 0
            assert call.code() is not grpc.StatusCode.OK
        finally:
            with suppress(ProcessLookupError):  # whoever compiles may have ended it
                signal.pidfd_send_signal(compiling, signal.SIGKILL)
            os.close(compiling)


@own_queues
def test_switch_compiles_runtime_and_program_side_by_side(
    processes: Callable[..., Process], compile_by: Callable[..., None], tmp_path
):
    """And the runtime's files, too: one compiler waits here until there is another."""
    met = tmp_path / "met"
    met.mkdir()
    compile_by(MEETS, MET=met)
    assert processes(str(PROGRAMS / "bench.json")).end() == 0
    assert len(list(met.iterdir())) > 2


def test_a_full_disk_for_the_log(processes: Callable[..., Process], program: Program):
    """/dev/full takes no byte. The switch reports it once and serves."""
    switch = processes(str(PROGRAMS / "bench.json"), "--log-file", "/dev/full", "-L", "debug")
    with Client(switch.port) as client:
        client.arbitrate()
        for _ in range(3):
            client.set_pipeline(program.info, program.json)  # each writes a line
    assert switch.end() == 0
    complaints = [line for line in switch.lines if "listening" not in line]
    assert len(complaints) == 1
    assert "/dev/full: [Errno 28] No space left on device; the switch goes on" in complaints[0]


def test_a_full_disk_for_its_own_output(program: Program):
    """Where not even the ready line can be written."""
    address = f"unix:/tmp/p4rt-{os.getpid()}.socket"
    with Path("/dev/full").open("w") as full:
        switch = subprocess.Popen([*COMMAND, "--no-p4", "--grpc-server-addr", address], stderr=full)
    try:
        with grpc.insecure_channel(address) as channel:
            grpc.channel_ready_future(channel).result(WAIT_S)
    finally:
        switch.terminate()
        assert switch.wait(WAIT_S) == 0
        Path(address.removeprefix("unix:")).unlink(missing_ok=True)


@pytest.mark.root
def test_an_interface_vanishes_and_returns(processes: Callable[..., Process]):
    """One line each, at the default log level; the kernel takes an interface down before it removes
    it, and a reader between the two sees that."""
    ends = [f"p4h{os.getpid()}{end}" for end in "ab"]
    veth = ["ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1]]
    subprocess.run(veth, check=True)
    try:
        switch = processes("--no-p4", "-i", f"1@{ends[0]}")
        stderr = switch.process.stderr
        subprocess.run(["ip", "link", "delete", ends[0]], check=True)
        gone = stderr.readline()
        if gone.endswith("is down; what is to leave by it is lost\n"):
            gone = stderr.readline()
        assert gone.endswith(
            f"WARNING port 1: interface {ends[0]} is gone; the other ports go on\n"
        )
        subprocess.run(veth, check=True)
        assert select.select([stderr], [], [], WAIT_S)[0]
        assert stderr.readline().endswith(f"WARNING port 1: interface {ends[0]} is back\n")
        assert switch.end() == 0
    finally:
        subprocess.run(["ip", "link", "delete", ends[0]], check=False)


def test_server_goes_on_with_its_workers_when_the_system_gives_no_more(
    library: ctypes.CDLL, monkeypatch, caplog
):
    def refuse(_: threading.Thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(ServerError, match="no threads"), running_switch(library):
            pass
    with running_switch(library) as switch, Client(switch.port) as client:
        with monkeypatch.context() as patched:
            start = threading.Thread.start
            patched.setattr(
                threading.Thread,
                "start",
                lambda thread: refuse(thread) if thread.name == "p4runtime" else start(thread),
            )
            client.stub.Capabilities(p4r.CapabilitiesRequest(), timeout=WAIT_S)
            assert "the system gives the switch no more threads" in caplog.text
        client.stub.Capabilities(p4r.CapabilitiesRequest(), timeout=WAIT_S)
