"""`pcn host` on the two ends of a veth pair, each in a separate network namespace, in real time."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from others import NOBODY, umask
from waiting import LIMIT_S, wait_until

from pcn import cli
from pcn.hosts import wire
from pcn.hosts.algorithms import SchemeError
from pcn.lab import journal as records
from pcn.lab.nic_host import NicError, find_nic, settings

ROOT = Path(__file__).resolve().parent.parent.parent
MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02")
IPS = ("10.0.0.1", "10.0.0.2")


def run(line: str):
    subprocess.run(line.split(), check=True, capture_output=True, text=True, timeout=LIMIT_S)


READY = re.compile(r"eth2: [\d.]+, [\d:a-f]+, .*; Ctrl-C ends it\n")


class Cable:
    """eth2 of two hosts, and the `pcn` command there."""

    def __init__(self, tag: str):
        self.namespaces = [f"{tag}a", f"{tag}b"]

    def up(self):
        for namespace in self.namespaces:
            run(f"ip netns add {namespace}")
            for scope in ("all", "default"):
                run(f"ip netns exec {namespace} sysctl -qw net.ipv6.conf.{scope}.disable_ipv6=1")
        a, b = self.namespaces
        run(f"ip -n {a} link add eth2 type veth peer name eth2 netns {b}")
        for namespace, mac, ip in zip(self.namespaces, MACS, IPS, strict=True):
            run(f"ip -n {namespace} link set eth2 address {mac}")
            run(f"ip -n {namespace} addr add {ip}/24 dev eth2")
            run(f"ip -n {namespace} link set eth2 up")

    def down(self):
        for namespace in self.namespaces:
            subprocess.run(
                ["ip", "netns", "del", namespace], capture_output=True, timeout=LIMIT_S, check=False
            )

    @contextmanager
    def start(self, side: int, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        program = "import sys; from pcn import cli; sys.exit(cli.run(sys.argv[1:]))"
        inside = ["ip", "netns", "exec", self.namespaces[side], sys.executable, "-c", program]
        with subprocess.Popen(
            [*inside, "host", "--iface", "eth2", *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def run(self, side: int, *arguments: str) -> tuple[int, str, str]:
        """Returns a command's exit code, its output, and stderr without the line of a host that is
        ready."""
        with self.start(side, *arguments) as process:
            out, err = process.communicate(timeout=LIMIT_S)
            lines = [line for line in err.splitlines(keepends=True) if not READY.match(line)]
            return process.returncode, out, "".join(lines).lstrip("\n")

    def refused(self, side: int, *lines: Sequence[str]) -> list[list[Any]]:
        """Returns the exit code and what is on stderr of several commands that one process runs,
        one after another."""
        program = (
            "import contextlib, io, json, sys\n"
            "from pcn import cli\n"
            "for line in json.loads(sys.argv[1]):\n"
            "    with contextlib.redirect_stdout(None), contextlib.redirect_stderr(io.StringIO()) "
            "as err:\n"
            "        code = cli.run(['host', '--iface', 'eth2', *line])\n"
            "    print(json.dumps([code, err.getvalue()]))\n"
        )
        inside = [
            "ip", "netns", "exec", self.namespaces[side], sys.executable, "-c", program,
            json.dumps(lines),
        ]  # fmt: skip
        done = subprocess.run(
            inside, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=True
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    def inject(self, side: int, frame: bytes):
        """A frame that leaves this side's interface."""
        program = (
            "import socket, sys; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); "
            "s.bind(('eth2', 0))\n"
            "s.send(bytes.fromhex(sys.argv[1]))"
        )
        inside = [
            "ip", "netns", "exec", self.namespaces[side], sys.executable, "-c", program,
            frame.hex(),
        ]  # fmt: skip
        subprocess.run(inside, check=True, timeout=LIMIT_S)


@pytest.fixture
def cable() -> Iterator[Cable]:
    link = Cable(f"pcnh{os.getpid()}")
    try:
        link.up()
        yield link
    finally:
        link.down()


@pytest.mark.root
def test_a_host_that_is_killed_leaves_nothing(cable: Cable, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with cable.start(0) as host:
        assert READY.match(host.stderr.readline())
        (agent,) = sockets()
        host.kill()
        host.wait(LIMIT_S)
    wait_until(lambda: not agent.exists(), "the agent's end")
    assert list(tmp_path.iterdir()) == list(records.RUN_DIR.glob("host.*")) == []


def sockets() -> list[Path]:
    return list(records.RUN_DIR.glob("host.*.sock"))


@pytest.mark.root
def test_agent_of_a_host_is_this_user_s_whatever_the_umask(cable: Cable):
    with umask(0), cable.start(0) as host:
        assert READY.match(host.stderr.readline())
        (agent,) = sockets()
        assert [stat.S_IMODE(path.stat().st_mode) for path in (agent.parent, agent)] == [
            0o700,
            0o600,
        ]


@pytest.mark.root
def test_another_user_can_t_take_an_interface(cable: Cable):
    """By any name that a process of his can bind in the host's network namespace."""
    with cable.start(0) as host:
        assert READY.match(host.stderr.readline())
        (agent,) = sockets()
    taking = (
        "import socket, sys, time\n"
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind('\\0pcn-host eth2')\n"
        "try: socket.socket(socket.AF_UNIX).bind(sys.argv[1])\n"
        "except PermissionError: print('refused', flush=True)\n"
        "sys.stdin.read()"
    )
    inside = [
        "ip", "netns", "exec", cable.namespaces[0], "setpriv", "--reuid", str(NOBODY),
        "--clear-groups",
    ]  # fmt: skip
    command = [*inside, "/usr/bin/python3", "-c", taking, str(agent)]
    with subprocess.Popen(
        [*command, "/usr/bin/python3", "-c", taking, str(agent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as popen:
        assert popen.stdout.readline() == "refused\n"
        code, _, err = cable.run(0, "--for", "1ms")
        popen.communicate()
    assert (code, err) == (0, "")


@pytest.mark.root
def test_a_flow_of_a_size_arrives_whole(cable: Cable):
    with cable.start(1) as receiver:
        assert (
            receiver.stderr.readline()
            == "eth2: 10.0.0.2, 02:00:00:00:00:02, 1 Gbit/s, pcn; Ctrl-C ends it\n"
        )
        code, out, err = cable.run(
            0, "--to", IPS[1], "--via", MACS[1], "--rate", "80M", "--size", "1MB", "--json"
        )
        assert (code, err) == (0, "")
        receiver.send_signal(signal.SIGINT)
        output, _ = receiver.communicate(timeout=LIMIT_S)
    (sent,) = json.loads(out)["sent"]
    assert (sent["state"], sent["packets"], sent["payload_bytes"]) == ("done", 1000, 1_000_000)
    assert json.loads(out)["parameters"]["period_s"] == 1e-3
    row = next(line.split() for line in output.splitlines() if IPS[0] in line)
    # flow, from, packets, payload, goodput, marked, missing, CNPs
    assert row[:4] == ["1", IPS[0], "1000", "1.000"]
    assert 0 < float(row[4]) < 1.05 * 0.08 * 1000 / 1058  # a busy machine sends later, never faster
    assert row[5:7] == ["0.0%", "0"]
    assert int(row[7]) >= 50  # a CNP a millisecond


@pytest.mark.root
def test_host_whose_flow_fails_ends_with_its_error(cable: Cable, tmp_path):
    scheme = tmp_path / "fragile.py"
    scheme.write_text(
        "from pcn import Parameters, ReactionPoint, Scheme\n"
        "class Rp(ReactionPoint):\n"
        "    timer_s = 0.0\n"
        "    def __init__(self, line_rate_bps, parameters):\n"
        "        self.rate_bps = line_rate_bps\n"
        "    def on_timer(self, now_s):\n"
        "        raise LookupError('own')\n"
        "FRAGILE = Scheme('fragile', 'fails at once', 'pcn', Parameters, Rp)\n"
    )
    code, out, err = cable.run(0, "--to", IPS[1], "--size", "1GB", "--scheme", f"{scheme}:FRAGILE")
    assert code == 1
    assert next(line.split() for line in out.splitlines() if IPS[1] in line)[2] == "failed"
    assert err.endswith(
        "flow 1 failed at eth2: its RP raised LookupError: own (fragile.py, line 7)\n"
    )


@pytest.mark.root
def test_it_obeys_pfc_frames_that_reach_it(cable: Cable, tmp_path):
    """65,535 quanta of 512 bits at 1 Gbit/s are 33.6 ms."""
    log = tmp_path / "log"
    with cable.start(0, "--to", IPS[1], "--rate", "50M", "--log", str(log)) as sender:
        assert READY.match(sender.stderr.readline())
        cable.inject(1, wire.encode_pfc(wire.PfcFrame(wire.parse_mac(MACS[1]), {3: 65535})))
        wait_until(lambda: "expiry" in log.read_text(), "the expiry")
        sender.send_signal(signal.SIGINT)
        output, _ = sender.communicate(timeout=LIMIT_S)
    # flow, to, state, packets, payload, rate, CNPs
    assert next(line.split() for line in output.splitlines() if IPS[1] in line)[5] == "0.050"
    assert "class 3: 1 PAUSE and 0 RESUME, paused 0.034 s\n" in output


@pytest.mark.root
def test_host_refuses_impossible_arguments_with_the_way_out(cable: Cable):
    wrong = (
        (["--to", "nonsense"], 1, "'nonsense' is not an IPv4 address"),
        (["--to", IPS[1], "--via", "nonsense"], 1, "'nonsense'"),
        (
            ["--to", IPS[1], "--payload", "9KB"],
            1,
            "eth2 carries 1456 at most; take fewer, or raise its MTU",
        ),
        (["--line-rate", "100G"], 1, "eth2 has 10 Gbit/s: 100 Gbit/s can't be its line rate"),
        (["--scheme", "pnc"], 2, "no scheme 'pnc'"),
        (["--param", "w=1"], 2, "pcn has no parameter 'w'"),
        (["--param", "w_min"], 2, "write it as name=value"),
        (["--to", IPS[0]], 2, f"{IPS[0]}: that is this host's own address"),
        (["--size", "10MB"], 2, "give a flow's destination with --to ADDRESS"),
    )
    answers = cable.refused(0, *(arguments for arguments, _, _ in wrong))
    for (_, code, message), (got, err) in zip(wrong, answers, strict=True):
        assert got == code, err
        *_, line = err.splitlines()
        assert message in line
    run(f"ip -n {cable.namespaces[0]} addr flush dev eth2")
    assert "eth2 has no IPv4 address" in cable.run(0)[2]
    run(f"ip -n {cable.namespaces[0]} link set eth2 down")
    assert cable.run(0, "--ip", IPS[0])[2].endswith("interface eth2 is down: ip link set eth2 up\n")


@pytest.mark.root
def test_an_interface_has_one_agent_and_loses_it_with_the_cable(cable: Cable):
    with cable.start(0) as first:
        assert READY.match(first.stderr.readline())
        code, _, err = cable.run(0)
        assert (code, err) == (
            1,
            "pcn: eth2 has an agent already, of another `pcn host`: end that one first\n",
        )
        run(f"ip -n {cable.namespaces[0]} link delete eth2")
        _, err = first.communicate(timeout=LIMIT_S)
    assert first.returncode == 1
    assert "went down or was removed" in err


def test_interfaces_that_are_none(capsys):
    with pytest.raises(NicError, match=r"no interface 'eht0'; (did you mean|choose from)"):
        find_nic("eht0")
    with pytest.raises(NicError, match="lo is no Ethernet interface"):
        find_nic("lo")
    for name in ("", "a" * 300, "../eth0", "eth0\n", "%s"):
        with pytest.raises(NicError, match="no interface"):
            find_nic(name)
    assert cli.run(["host", "--iface", "eht0"]) == 1
    assert cli.run(["host"]) == 2
    assert "Missing option '--iface'" in capsys.readouterr().err


def test_what_is_not_given_is_the_interface_s_or_what_a_raw_socket_carries():
    from pcn.lab.nic_host import Nic

    fast, slow, silent = (
        Nic("f", MACS[0], IPS[0], 100e9),
        Nic("s", MACS[0], IPS[0], 1e8),
        Nic("q", MACS[0], None, None),
    )
    assert settings(fast).line_rate_bps == 1e9
    assert settings(slow).line_rate_bps == 1e8
    assert settings(silent, ip=IPS[1]).line_rate_bps == 1e9
    assert settings(silent, ip=IPS[1]).ip == IPS[1]
    assert settings(fast).parameters == {"period_s": 0.001}
    assert settings(fast, parameters={"period_s": "2ms"}).parameters == {"period_s": "2ms"}
    assert settings(fast, scheme="dcqcn").parameters == {}
    with pytest.raises(NicError, match="has no IPv4 address"):
        settings(silent)
    with pytest.raises(NicError, match="can't be its line rate"):
        settings(slow, line_rate_bps=1e9)
    with pytest.raises(SchemeError):
        settings(fast, parameters={"w_min": "2"})
