"""Messages of BF Runtime: those of the lab's own SDE.

    $SDE_INSTALL/lib/python3.*/site-packages/**/bfruntime_pb2.py

The SDE's licence and release are the lab's; this project has none of its files.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from controller.errors import SwitchError

VARIABLE = "SDE_INSTALL"
SERVICE = "/bfrt_proto.BfRuntime"
_FILE = "bfruntime_pb2.py"


def load(environment: Mapping[str, str] = os.environ) -> ModuleType:
    """Returns the module with the messages. Raises SwitchError with the way out."""
    folder = environment.get(VARIABLE, "")
    if not folder:
        raise SwitchError(
            f"BF Runtime needs the messages of your SDE: set {VARIABLE} to the folder in which it is installed"
        )
    found = sorted(Path(folder).glob(f"lib/python3*/site-packages/**/{_FILE}"))
    if not found:
        raise SwitchError(
            f"{VARIABLE}={folder}: there is no {_FILE} below lib/python3*/site-packages: build the SDE with GRPC=ON, "
            f"or set {VARIABLE} to where it is installed"
        )
    spec = importlib.util.spec_from_file_location("bfruntime_pb2", found[0])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever this foreign file, or a package that it needs, raises
        raise SwitchError(
            f"{found[0]}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no details'}: these "
            "messages don't fit this Python: `pip install googleapis-common-protos` if google.rpc is missing, else run "
            "the SDE's protoc again"
        ) from None
    return module
