"""The Mininet side with real namespaces, switches and agents: what is up, and that nothing is left,
however it ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import forks
import pytest
from waiting import wait_until

from pcn.base import signals
from pcn.base.errors import LabError
from pcn.lab import journal as records
from pcn.lab.lab import Lab
from pcn.lab.launch import NetworkError
from pcn.lab.network import Network
from pcn.lab.process import StartError
from pcn.lab.target import SoftswitchTarget
from pcn.topologies.dumbbell import dumbbell

pytestmark = pytest.mark.root
STEPS = ("namespaces and links", "switches", "agents")


@pytest.fixture
def name() -> Iterator[str]:
    """A network name of this test's own; at its end nothing of it may be left."""
    name = f"t{os.getpid()}-{uuid.uuid4().hex[:8]}"
    mark = f"PCN_TEST_MARK={name}"
    os.environ["PCN_TEST_MARK"] = name
    yield name
    del os.environ["PCN_TEST_MARK"]
    left = marked(mark)
    assert not left, f"left behind: {left}"
    assert not records.directory(name).exists()
    assert not (records.RUN_DIR / f"{name}.lock").exists()


def marked(mark: str) -> list[str]:
    """Command lines of the processes that inherited the mark, except this one."""
    commands = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if int(path.name) != os.getpid() and mark.encode() in (path / "environ").read_bytes():
                commands.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return commands


def network(
    name: str, tmp_path: Path, progress: Callable[[str], None] = lambda _text: None
) -> Network:
    return Network(dumbbell(pairs=1), log_dir=tmp_path, name=name, dilation=400, progress=progress)


def test_everything_is_up_and_gone(name: str, tmp_path):
    with network(name, tmp_path) as net:
        assert set(net.switches) == {"s0", "s1"}
        assert set(net.hosts) == {"h0", "r0"}
        for host in net.hosts.values():
            assert host.agent.stats().name == host.name
        record = records.load(name)
        assert record.owner.pid == os.getpid()
        assert all(process.alive() for process in record.processes())
        processes = record.processes()
        assert records.is_held(name)
    assert not any(process.alive() for process in processes)
    net.stop()  # the second time it does nothing


def test_exec_reports_a_node_s_ended_shell(name: str, tmp_path):
    """Mininet's own cleanup kills every node's shell of the machine."""
    with network(name, tmp_path):
        record = records.load(name)
        record.state = "up"
        record.save()
        os.kill(record.nodes["s1"].shell.pid, signal.SIGKILL)
        wait_until(lambda: not record.nodes["s1"].shell.alive())
        done = forks.run("pcn", "exec", "-n", name, "s1", "true")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("pcn: the process that holds s1's namespace has ended")


def test_attaching_to_a_switch_loads_no_schemes(name: str, tmp_path):
    """Loading them took a fifth of the processor time of `pcn counters`, which waits for it beside
    a busy network."""
    code = (
        "import sys; from pcn.lab.attach import attach\n"
        "with attach(sys.argv[1]) as lab: print(lab.switches['s0'].read_counter('marked', 0))\n"
        "print([name for name in sys.modules if name.startswith('pcn.hosts.algorithms')])"
    )
    with Lab(dumbbell(pairs=1), log_dir=tmp_path, name=name, dilation=400):
        done = subprocess.run(
            [sys.executable, "-c", code, name], capture_output=True, text=True, check=True
        )
    assert done.stdout.splitlines() == ["Counter(packets=0, bytes=0)", "[]"]


def test_interfaces_are_quiet_and_named_after_their_ports(name: str, tmp_path):
    with network(name, tmp_path) as net:
        for node in ("s0", "h0"):
            inside = ["nsenter", "-t", str(net.node_pid(node)), "-n"]
            links = json.loads(subprocess.check_output([*inside, "ip", "-j", "addr"]))
            names = {link["ifname"] for link in links} - {"lo"}
            assert names == {f"{node}-eth{port}" for port in net.topology.ports(node)}
            for link in links:
                if link["ifname"] == "lo":
                    continue
                assert link["addr_info"] == []
                assert (link["mtu"], link["operstate"]) == (9202, "UP")
                assert "NOARP" in link["flags"]
                features = subprocess.check_output(
                    [*inside, "ethtool", "-k", link["ifname"]], text=True
                )
                for feature in (
                    "rx-checksumming",
                    "tx-checksumming",
                    "generic-receive-offload",
                    "rx-vlan-offload",
                ):
                    assert f"{feature}: off" in features
        assert not any(interface.startswith("s0-eth") for _, interface in socket.if_nameindex())
        assert net.topology.host("h0").mac in subprocess.check_output(
            ["nsenter", "-t", str(net.node_pid("h0")), "-n", "ip", "link"], text=True
        )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("step", STEPS)
def test_a_signal_at_each_step_of_the_start(name: str, tmp_path, step, number):
    def kill(text: str):
        if text == step:
            os.kill(os.getpid(), number)

    expected = KeyboardInterrupt if number == signal.SIGINT else signals.Terminated
    before = {signum: signal.getsignal(signum) for signum in signals.SIGNALS}
    with pytest.raises(expected), network(name, tmp_path, kill):
        pytest.fail("it came up")
    assert {signum: signal.getsignal(signum) for signum in signals.SIGNALS} == before


@pytest.mark.parametrize("step", STEPS)
def test_an_error_at_each_step_of_the_start(name: str, tmp_path, step):
    def fail(text: str):
        if text == step:
            raise ZeroDivisionError(text)

    with pytest.raises(ZeroDivisionError, match=step), network(name, tmp_path, fail):
        pytest.fail("it came up")


def test_a_signal_and_another_one_during_the_end(name: str, tmp_path):
    def interrupted(net: Network):
        # While the network is taken down, a second signal comes.
        net._stack.callback(os.kill, os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("the signal didn't come through")

    with pytest.raises(signals.Terminated), network(name, tmp_path) as net:
        interrupted(net)


def test_a_second_network_of_the_name_is_refused_and_harms_nothing(name: str, tmp_path):
    with network(name, tmp_path) as net:
        with (
            pytest.raises(records.NameInUseError, match=f"network named {name} is running already"),
            network(name, tmp_path / "second"),
        ):
            pytest.fail("it came up")
        assert net.hosts["h0"].agent.stats().name == "h0"
        with pytest.raises(records.NameInUseError):
            records.remove_leftovers(name)


def test_an_interface_of_the_name_in_the_root_namespace_is_named(name: str, tmp_path):
    """In a namespace that stands for the root one, so that this test collides with no other
    network."""
    script = (
        "import sys; from pathlib import Path\n"
        "from pcn.topologies.dumbbell import dumbbell; from pcn.lab.network import Network\n"
        "from pcn.lab.journal import NameInUseError\n"
        "try:\n"
        "    with Network(dumbbell(), log_dir=Path(sys.argv[1]), name=sys.argv[2]): print('up')\n"
        "except NameInUseError as error: print(error)\n"
    )
    command = f'ip link add s0-eth4 type veth peer name x0; exec {sys.executable} -c "$0" "$1" "$2"'
    done = subprocess.run(
        [
            "unshare", "-n", "--mount-proc", "-f", "-p", "sh", "-c", command, script,
            str(tmp_path), name,
        ],
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    assert "interface s0-eth4 exists already" in done.stdout
    assert "`ip link delete s0-eth4`" in done.stdout


@pytest.mark.parametrize("processes", [True, False])
def test_a_program_that_ends_at_its_start_is_shown_with_what_it_wrote(
    processes, name: str, tmp_path, monkeypatch
):
    fails = ["sh", "-c", "echo the disk is full >&2; exit 3"]
    monkeypatch.setattr(SoftswitchTarget, "together", lambda *_: fails)
    net = Network(dumbbell(pairs=1), log_dir=tmp_path, name=name, dilation=400, processes=processes)
    with (
        pytest.raises(
            StartError, match=r"(?s)s0 ended with status 3 at its start.*the disk is full"
        ),
        net,
    ):
        pytest.fail("it came up")


def test_bad_arguments_are_refused_before_anything_is_made(tmp_path):
    def make(**arguments) -> Network:
        return Network(dumbbell(), log_dir=tmp_path, **arguments)

    with pytest.raises(LabError, match="no target 'bmv3'; choose from softswitch, engine, bmv2"):
        make(target="bmv3")
    with pytest.raises(NetworkError, match="pnc"):
        make(scheme="pnc")
    with pytest.raises(NetworkError, match="dilation 0"):
        make(dilation=0)
