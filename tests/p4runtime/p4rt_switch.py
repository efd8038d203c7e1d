"""A switch in this process, with the real runtime and a real gRPC server, without interfaces; and
programs for it."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from google.protobuf import text_format
from needs import BY_ENGINE
from p4rt_client import Names

from pcn.base import packed
from pcn.base.p4rt import p4i
from pcn.softswitch.native import NativeSwitch
from pcn.softswitch.p4runtime.pipeline import Pipeline
from pcn.softswitch.p4runtime.server import Server
from pcn.softswitch.p4runtime.service import Service
from pcn.virtualnet.live import EngineSwitch

PROGRAMS = Path(__file__).parent / "programs"
CPU_PORT = 255


@dataclass(frozen=True)
class Switch:
    """A running switch: the port of its server, and the runtime behind it."""

    port: int
    native: NativeSwitch


@dataclass(frozen=True)
class Program:
    info: p4i.P4Info
    json: bytes

    @property
    def names(self) -> Names:
        return Names(self.info)


def load(path: Path) -> Program:
    info = text_format.Parse(packed.read_text(path.with_suffix(".p4info.txtpb")), p4i.P4Info())
    return Program(info, packed.read_bytes(path.with_suffix(".json")))


def unpacked(path: Path, folder: Path) -> dict[str, Path]:
    """A program's files, written there as they were before they were packed, for finsy's
    SwitchOptions."""
    files = {}
    for key, suffix in (("p4info", ".p4info.txtpb"), ("p4blob", ".json")):
        files[key] = folder / f"{path.name}{suffix}"
        files[key].write_bytes(packed.read_bytes(path.with_suffix(suffix)))
    return files


@contextmanager
def running_switch(
    library: ctypes.CDLL, cpu_port: int = CPU_PORT, *, manual: bool = False
) -> Iterator[Switch]:
    """A switch with device id 1; `manual`: its time stands, and it has the ports 1 and 2, without
    interface."""
    kind = EngineSwitch if BY_ENGINE and not manual else NativeSwitch
    with kind(library, cpu_port=cpu_port, manual=manual) as native:
        for port in (1, 2) if manual else ():
            native.port_add(port, None)
        native.start()
        pipeline = Pipeline(native, library)
        with Server(Service(native, pipeline, 1, cpu_port), "127.0.0.1:0") as server:
            yield Switch(server.port, native)
        pipeline.close()
