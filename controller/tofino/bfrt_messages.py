"""Messages of BF Runtime: those of the lab's own SDE.

    $SDE_INSTALL/lib/python3.*/site-packages/**/bfruntime_pb2.py

The SDE's licence and release are the lab's; this project has none of its files.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from pcn.controller.errors import SwitchError

VARIABLE = "SDE_INSTALL"
SERVICE = "/bfrt_proto.BfRuntime"
_FILE = "bfruntime_pb2.py"


def load(environment: Mapping[str, str] = os.environ) -> ModuleType:
    """Returns the module with the messages. Raises SwitchError with the way out."""
    folder = environment.get(VARIABLE, "")
    if not folder:
        raise SwitchError(
            f"BF Runtime needs the messages of your SDE: set {VARIABLE} to the folder in which it "
            "is installed"
        )
    paths = sorted(Path(folder).glob(f"lib/python3*/site-packages/**/{_FILE}"))
    if not paths:
        raise SwitchError(
            f"{VARIABLE}={folder}: no {_FILE} below lib/python3*/site-packages: build the "
            f"SDE with GRPC=ON, or set {VARIABLE} to where it is installed"
        )
    spec = importlib.util.spec_from_file_location("bfruntime_pb2", paths[0])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        with _common_messages():
            spec.loader.exec_module(module)
    except Exception as error:  # anything that this foreign file raises
        raise SwitchError(
            f"{paths[0]}: {type(error).__name__}: "
            f"{str(error).splitlines()[0] if str(error) else 'no details'}: these messages don't "
            "fit this Python's protobuf: make the file again with a newer protoc"
        ) from None
    return module


@contextlib.contextmanager
def _common_messages() -> Iterator[None]:
    """Lends the SDE's file `google.rpc`, where no package has it (googleapis-common-protos)."""
    from google.protobuf import descriptor_pool  # only here: `pcn doctor` runs without it

    from pcn.base import protos

    try:
        importlib.import_module("google.rpc.status_pb2")
    except ImportError:
        pass
    else:
        yield
        return
    # where protoc's files look; once a process has them, it can't load that package's
    pool = descriptor_pool.Default()
    for name in ("google/protobuf/any.proto", "google/rpc/code.proto", "google/rpc/status.proto"):
        with contextlib.suppress(KeyError):
            pool.FindFileByName(name)
            continue
        pool.AddSerializedFile(protos.load(name).serialized_pb)
    modules = {"google.rpc": ModuleType("google.rpc")}
    for name in ("code", "status"):
        file = pool.FindFileByName(f"google/rpc/{name}.proto")
        module = modules[f"google.rpc.{name}_pb2"] = ModuleType(f"google.rpc.{name}_pb2")
        vars(module).update(DESCRIPTOR=file)
        for key, descriptor in file.message_types_by_name.items():
            setattr(module, key, protos.message(descriptor))
        setattr(modules["google.rpc"], f"{name}_pb2", module)
    before = {name: sys.modules[name] for name in modules if name in sys.modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
        sys.modules.update(before)
