"""TLS: the server's certificate, clients' certificates, and files that are no good."""

import asyncio
import ctypes
import queue
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import finsy as fy
import grpc
import needs
import pytest
import waiting
from p4rt_client import WAIT_S, Client, RefusedError
from p4rt_process import COMMAND, Process
from p4rt_switch import PROGRAMS, load, unpacked

from pcn.base.p4rt import p4r, rpc_code
from pcn.softswitch.native import NativeSwitch
from pcn.softswitch.options import parse
from pcn.softswitch.p4runtime import tls
from pcn.softswitch.p4runtime.calls import Call, Kind, Method
from pcn.softswitch.p4runtime.pipeline import Pipeline
from pcn.softswitch.p4runtime.server import Server, ServerError
from pcn.softswitch.p4runtime.service import Service
from pcn.softswitch.tls_files import Tls


class Authority:
    """Signs certificates. Each is a pair of files, NAME.crt and NAME.key, in one folder."""

    def __init__(self, folder: Path, name: str):
        self._folder, self._name = folder, name
        self._openssl(
            name, "-x509", "-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE",
            "-addext", "keyUsage=critical,keyCertSign",
        )  # fmt: skip

    @property
    def certificate(self) -> Path:
        return self._folder / f"{self._name}.crt"

    def sign(self, name: str) -> tuple[Path, Path]:
        """Certificate and key of a server on this machine, or of a client."""
        signer = ("-CA", str(self.certificate), "-CAkey", str(self._folder / f"{self._name}.key"))
        names = ("-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1")
        return self._openssl(name, "-x509", *signer, *names, "-addext", "basicConstraints=CA:FALSE")

    def _openssl(self, name: str, *options: str) -> tuple[Path, Path]:
        certificate, key = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        new = (
            "openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes",
        )  # fmt: skip
        files = ("-keyout", str(key), "-out", str(certificate), "-days", "2")
        subprocess.run([*new, *files, *options], check=True, capture_output=True)
        return certificate, key


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    needs.program("openssl", needs.OPENSSL)
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return Authority(folder, "authority")


@pytest.fixture(scope="module")
def server_files(authority: Authority) -> list[str]:
    certificate, key = authority.sign("server")
    return [
        "--grpc-server-ssl",
        "--grpc-server-cert",
        str(certificate),
        "--grpc-server-key",
        str(key),
    ]


def contents(server_files: list[str]) -> Tls:
    return Tls(*(Path(server_files[place]).read_bytes() for place in (2, 4)))


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def switch(*arguments: str) -> Iterator[int]:
    """A switch process; gives its port."""
    process = Process("--no-p4", "--device-id", "1", *arguments)
    try:
        yield process.port
    finally:
        process.end(signal.SIGKILL)


def credentials(
    authority: Authority, key_pair: tuple[Path, Path] | None = None
) -> grpc.ChannelCredentials:
    """The channel of a client that trusts the authority, with or without a client certificate."""
    root = authority.certificate.read_bytes()
    if key_pair is None:
        return grpc.ssl_channel_credentials(root)
    return grpc.ssl_channel_credentials(root, key_pair[1].read_bytes(), key_pair[0].read_bytes())


def outcome(port: int, tls: grpc.ChannelCredentials | None):
    """What arbitration ends with: OK, or the status of a connection that failed."""
    with Client(port, tls=tls) as client:
        try:
            return client.arbitrate().status.code
        except RefusedError as error:
            return error.code


def test_a_server_with_a_certificate(authority: Authority, folder: Path, server_files: list[str]):
    stranger = Authority(folder, "stranger")
    with switch(*server_files) as port:
        assert outcome(port, credentials(authority)) == rpc_code.OK
        assert outcome(port, credentials(stranger)) == grpc.StatusCode.UNAVAILABLE, (
            "it has to be the server we trust"
        )
        assert outcome(port, None) == grpc.StatusCode.UNAVAILABLE, "nothing is spoken in the clear"


def test_clients_need_a_certificate(authority: Authority, folder: Path, server_files: list[str]):
    ours, theirs = authority.sign("client"), Authority(folder, "another").sign("intruder")
    demand = ["--grpc-server-cacert", str(authority.certificate), "--grpc-server-with-client-auth"]
    with switch(*server_files, *demand) as port:
        assert outcome(port, credentials(authority, ours)) == rpc_code.OK
        assert outcome(port, credentials(authority)) == grpc.StatusCode.UNAVAILABLE
        assert outcome(port, credentials(authority, theirs)) == grpc.StatusCode.UNAVAILABLE
        assert outcome(port, credentials(authority, ours)) == rpc_code.OK, "and the switch goes on"


def test_finsy_with_certificates(authority: Authority, server_files: list[str], tmp_path):
    certificate, key = authority.sign("finsy")
    demand = ["--grpc-server-cacert", str(authority.certificate), "--grpc-server-with-client-auth"]
    tls = fy.GRPCCredentialsTLS(cacert=authority.certificate, cert=certificate, private_key=key)
    options = fy.SwitchOptions(
        **unpacked(PROGRAMS / "bench", tmp_path), device_id=1, channel_credentials=tls
    )

    async def use(port: int):
        async with fy.Switch("s1", f"127.0.0.1:{port}", options) as device:
            assert device.is_primary

    with switch(*server_files, *demand) as port:
        asyncio.run(asyncio.wait_for(use(port), 60))


def test_bad_files_are_named(folder: Path, authority: Authority, server_files: list[str]):
    _, other_key = authority.sign("other")
    (folder / "text.crt").write_text("no certificate")
    cases = {
        "cannot read": [
            "--grpc-server-cert", str(folder / "none.crt"), "--grpc-server-key", str(other_key),
        ],
        "PEM": [
            "--grpc-server-cert", str(folder / "text.crt"), "--grpc-server-key", str(other_key),
        ],
        "PEM files": [*server_files[1:3], "--grpc-server-key", str(other_key)],
    }  # fmt: skip
    for why, files in cases.items():
        command = [
            *COMMAND, "--no-p4", "--grpc-server-addr", "127.0.0.1:0", "--grpc-server-ssl", *files,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert why in done.stderr


def test_server_listens_only_on_this_machine_by_default():
    """By the kernel's table, whose addresses are little endian; of IPv6 sockets, the IPv4 part."""

    def listening(port: int) -> set[str]:
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        lines += [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
        return {
            words[1].split(":")[0][-8:]
            for words in lines
            if words[3] == "0A" and words[1].endswith(f":{port:04X}")
        }

    assert parse(["--no-p4"]).grpc_address == "127.0.0.1:9559"
    with switch() as port:
        assert listening(port) == {"0100007F"}
    with switch("--grpc-server-addr", "0.0.0.0:0") as port:
        assert listening(port) == {"00000000"}


def test_calls_without_a_request_hold_up_no_primary(authority: Authority, server_files: list[str]):
    """As without TLS."""
    never = threading.Event()
    with switch(*server_files) as port, ExitStack() as stack:
        stack.callback(never.set)
        client = stack.enter_context(Client(port, tls=credentials(authority)))
        client.arbitrate()
        for _ in range(4):
            stranger = stack.enter_context(Client(port, tls=credentials(authority)))
            method = stranger.channel.stream_unary("/p4.v1.P4Runtime/Write")
            stack.callback(list, [method.future(_awaited(never)) for _ in range(100)])
        for _ in range(5):
            assert client.get_pipeline() is None


def _awaited(event: threading.Event) -> Iterator[bytes]:
    event.wait()
    yield from ()


def test_silent_connections_make_room(authority: Authority, server_files: list[str]):
    """More than may shake hands at once, and some that end in the middle: clients get in."""
    with switch(*server_files) as port, ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            for _ in range(tls.HANDSHAKES + 20)
        ]
        silent[-1].shutdown(socket.SHUT_WR)
        assert outcome(port, credentials(authority)) == rpc_code.OK
        silent[0].settimeout(WAIT_S)
        assert silent[0].recv(1) == b"", "the oldest has made room"


def test_connection_that_the_front_ends_goes_though_its_client_reads_nothing(
    authority: Authority, server_files: list[str], monkeypatch
):
    """As much waits for it as may, so that nothing more is read of the front."""
    listening, adopted = socket.create_server(("127.0.0.1", 0)), queue.SimpleQueue[socket.socket]()
    address = listening.getsockname()
    gate = tls.Gate(contents(server_files), [listening])
    gate.start(adopted.put, 1)
    with ExitStack() as stack:
        stack.callback(gate.stop)
        outer = stack.enter_context(socket.socket())
        outer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
        outer.connect(address)
        context = ssl.create_default_context(cafile=authority.certificate)
        stack.enter_context(context.wrap_socket(outer, server_hostname="127.0.0.1"))
        front = stack.enter_context(adopted.get(timeout=WAIT_S))
        front.setblocking(False)

        def full() -> bool:
            try:
                while True:
                    front.send(bytes(1 << 16))
            except BlockingIOError:
                return all(len(link._out) >= tls.BUFFER for link in gate._links)

        waiting.wait_until(full, "as much to wait as may")
        monkeypatch.setattr(tls, "PEER_S", 0.05)
        front.shutdown(socket.SHUT_RDWR)
        waiting.wait_until(lambda: not gate._links, "the connection to end")


@pytest.mark.parametrize("refused", ["p4runtime-tls", "p4runtime"])
def test_server_with_tls_is_refused_where_the_system_gives_no_threads(
    library: ctypes.CDLL, server_files: list[str], monkeypatch, refused
):
    """Its port is free again."""
    start = threading.Thread.start

    def refuse(thread: threading.Thread):
        if thread.name == refused:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with NativeSwitch(library) as native:
        native.start()
        pipeline = Pipeline(native, library)
        server = Server(Service(native, pipeline, 1, 0), "127.0.0.1:0", contents(server_files))
        with pytest.raises(ServerError, match="no threads"), server:
            pass
        pipeline.close()
        assert not listens(server.port)


def test_server_with_tls_takes_no_more_connections_while_it_ends(
    library: ctypes.CDLL, authority: Authority, server_files: list[str]
):
    """Clients get the end of their streams, and the answers that are being made."""
    began, may_end = threading.Event(), threading.Event()

    def answer(request, call: Call) -> p4r.CapabilitiesResponse:
        began.set()
        may_end.wait(WAIT_S)
        return p4r.CapabilitiesResponse()

    method = Method("/x/Slow", Kind.UNARY, answer, p4r.CapabilitiesRequest.FromString)
    with NativeSwitch(library) as native, ExitStack() as stack:
        native.start()
        pipeline = Pipeline(native, library)
        stack.callback(pipeline.close)
        server = Server(
            Service(native, pipeline, 1, 0), "127.0.0.1:0", contents(server_files), [method]
        )
        stack.enter_context(server)
        client = stack.enter_context(Client(server.port, tls=credentials(authority)))
        client.arbitrate()
        slow = client.channel.unary_unary("/x/Slow").future(b"", timeout=WAIT_S)
        assert began.wait(WAIT_S)
        server.end()
        with pytest.raises(StopIteration):
            client.receive()
        waiting.wait_until(lambda: not listens(server.port), "the address to be free")
        may_end.set()
        slow.result()


def test_large_configuration_and_answer_pass(authority: Authority, server_files: list[str]):
    """Of 15 MB each way, in many records."""
    program = load(PROGRAMS / "bench")
    padded = program.json + b" " * (15_000_000 - len(program.json))
    with switch(*server_files) as port, Client(port, tls=credentials(authority)) as client:
        client.arbitrate()
        client.set_pipeline(program.info, padded)
        config = client.get_pipeline()
        assert config.p4_device_config == padded
