"""The real BMv2 as a process: simple_switch_grpc without interfaces."""

import contextlib
import socket
import subprocess
from collections.abc import Iterator

import grpc

START_S = 60


@contextlib.contextmanager
def running(program: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Its P4Runtime server's port on 127.0.0.1, and the process. The device is 1, the CPU port
    255."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        "setpriv", "--pdeathsig", "KILL", program, "--no-p4", "--device-id", "1", "--thrift-port",
        "0", "-L", "off",
    ]  # fmt: skip
    options = ["--grpc-server-addr", f"127.0.0.1:{port}", "--cpu-port", "255"]
    with subprocess.Popen(
        [*command, "--", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                grpc.channel_ready_future(channel).result(START_S)
            yield port, process
        finally:
            process.kill()
