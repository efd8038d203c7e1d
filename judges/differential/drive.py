"""Runs cases through BMv2 and writes what came out. Starts itself again in a separate network
namespace.

    python judges/differential/drive.py --record            make recordings/ anew
    python judges/differential/drive.py --seed 7 --out F    the same with other cases, elsewhere

The namespace and its veth pairs end with the process. Needs root, and PYTHONPATH at the checkout if
it isn't installed.
"""

import argparse
import contextlib
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[1] / "tests"
sys.path[:0] = [str(HERE), str(TESTS / "p4runtime"), str(TESTS)]

from control import Digests, Result, change, load, prepare, state  # noqa: E402
from generate import PORTS, PROGRAMS, Packet, Setup, generate  # noqa: E402
from p4rt_client import Client, RefusedError  # noqa: E402
from recording import write  # noqa: E402
from waiting import LIMIT_S, wait_until  # noqa: E402

from pcn.lab.target import Bmv2Target, LaunchSpec, PortSpec  # noqa: E402

RECORDINGS = HERE / "recordings"
SEEDS = (1,)
PACKETS = {"expressions": 50}  # of a recording; others have 150
GRPC_PORT = 9559
# A packet's outputs are complete after a silence. BMv2 has no other sign, so record on a machine
# that isn't busy.
SILENCE_S = 0.1  # after a frame; where none came yet, five times that
SOL_PACKET, PACKET_IGNORE_OUTGOING, SO_RCVBUFFORCE = 263, 23, 33


class Ports:
    """Our ends of the veth pairs; the switch's are veth1, veth2, ..."""

    def __init__(self):
        self._sockets = {}
        for port in PORTS:
            near, far = f"veth{port}", f"far{port}"
            _run("ip", "link", "add", near, "type", "veth", "peer", "name", far)
            for end in (near, far):
                quiet = Path(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6")
                if quiet.exists():
                    quiet.write_text("1")
                _run(
                    "ethtool",
                    "-K",
                    end,
                    *(w for n in ("tx", "rx", "tso", "gso", "gro") for w in (n, "off")),
                )
                _run("ip", "link", "set", end, "up")
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
            sock.bind((far, 3))  # ETH_P_ALL from here on: before, it would hear all interfaces
            self._sockets[port] = sock

    def exchange(self, packet: Packet) -> dict[str, list[str]]:
        """Sends a packet and returns what leaves, by port: frames in hex, sorted, as two copies may
        overtake."""
        self._sockets[packet.port].send(packet.frame)
        frames: dict[str, list[str]] = {}
        while True:
            silence_s = SILENCE_S * (1 if frames else 5)
            ready, _, _ = select.select(list(self._sockets.values()), [], [], silence_s)
            if not ready:
                return {port: sorted(received) for port, received in sorted(frames.items())}
            for port, sock in self._sockets.items():
                if sock in ready:
                    frames.setdefault(str(port), []).append(sock.recv(16384).hex())


def _run(*command: str):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")


@contextlib.contextmanager
def running(kind: Bmv2Target) -> Iterator[tuple[Client, int, Callable[[], bool]]]:
    """A switch without a program, its controller, its process id, and whether that lives."""
    ports = tuple(PortSpec(port, f"veth{port}", 0.0, 0.0) for port in PORTS)
    spec = LaunchSpec("differential", 1, ports, f"127.0.0.1:{GRPC_PORT}")
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *kind.command(spec)], stdout=log, stderr=log
        )
        try:
            with contextlib.closing(_controller(child)) as client:
                yield client, child.pid, lambda: child.poll() is None
        except RefusedError as error:
            log.seek(0)
            raise SystemExit(
                f"{error}; {kind.name} prints: {log.read().decode(errors='replace')}"
            ) from error
        finally:
            child.terminate()
            try:
                child.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _controller(child: subprocess.Popen[bytes]) -> Client:
    end = time.monotonic() + LIMIT_S
    while True:
        client = Client(GRPC_PORT)
        try:
            client.arbitrate()
        except RefusedError:
            client.close()
            if child.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return client


def run(
    kind: Bmv2Target, ports: Ports, program: str, setup: Setup, packets: list[Packet]
) -> Result:
    """One case in a separate switch."""
    names, compiled = load(program)
    with running(kind) as (client, pid, alive):
        client.set_pipeline(names.info, compiled)
        prepare(client, names, setup)
        wait_until(lambda: kind.ready(pid), "BMv2's Thrift server")
        outputs = []
        learned = Digests(client)
        for number, packet in enumerate(packets):
            if number == len(packets) // 2:
                change(client, names, setup)
            outputs.append(ports.exchange(packet))
            if not alive():
                raise SystemExit(f"{kind.name} died of packet {number} of {program}: {packet}")
        digests = learned.take(None)
        return {
            "outputs": outputs,
            "digests": digests,
            "state": state(client, names, setup, kind.registers(pid)),
        }


def version() -> str:
    """Who made a recording."""
    done = subprocess.run(
        ["simple_switch_grpc", "--version"], capture_output=True, text=True, check=True
    )
    return f"BMv2 {done.stdout.strip()}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", choices=PROGRAMS, action="append")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--packets", type=int, help="a case")
    parser.add_argument("--record", action="store_true", help="write into recordings/")
    parser.add_argument("--out", type=Path, help="write into that folder")
    options = parser.parse_args()
    if "DIFFERENTIAL_INSIDE" not in os.environ:
        os.environ["DIFFERENTIAL_INSIDE"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    _run("ip", "link", "set", "lo", "up")
    kind, ports = Bmv2Target(), Ports()
    folder = RECORDINGS if options.record else options.out
    folder.mkdir(exist_ok=True)
    for program in options.program or PROGRAMS:
        for seed in options.seed or SEEDS:
            setup, packets = generate(program, seed, options.packets or PACKETS.get(program, 150))
            recording = run(kind, ports, program, setup, packets)
            recording |= {
                "made_by": version(), "program": program, "seed": seed, "packets": len(packets),
            }  # fmt: skip
            write(folder / f"{program}-{seed}.recording", recording)
    return 0


if __name__ == "__main__":
    sys.exit(main())
