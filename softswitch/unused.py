"""What libraries import at their start and a switch never uses: 11 MB of its process, and a third of its start.

For a process that runs switches alone, or a host's agent. Each such module is imported at its first use, except
OpenSSL, which never is. The variable SOFTSWITCH_ALL_MODULES, not empty, makes all imports as usual: to exclude this
module as a cause.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any

LAZY = frozenset(
    {"asyncio", "grpc.aio", "google.protobuf.internal.python_message"}
    | {f"finsy.proto.{name}_pb2" for name in ("gnmi1.gnmi", "gnmi1.gnmi_ext", "p4testgen1.p4testgen")}
    | {"finsy.proto.gnmi1.gnmi_pb2_grpc"}
)
"""Loaded at the first use of one of their names: gRPC for servers of another kind, protobuf without its C part,
messages of gNMI."""


class _Lazy:
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in LAZY else None
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


def _shorten(name: str, **part: object) -> None:
    """Puts a part of a module in its place, until more of it is needed. `LazyLoader` would load at a second import."""
    spec = importlib.util.find_spec(name) if name not in sys.modules else None
    if spec is None or spec.loader is None:
        return
    loader, loading, begun = spec.loader, RLock(), list[bool]()

    def whole(attribute: str) -> Any:
        if attribute.startswith("__") and attribute != "__all__":  # which Python asks of each module
            raise AttributeError(attribute)
        with loading:  # another thread waits for all of it; what the module itself lacks meanwhile, it lacks
            if not begun:
                begun.append(True)
                loader.exec_module(short)
        if attribute in vars(short):
            return vars(short)[attribute]
        raise AttributeError(f"module {name!r} has no attribute {attribute!r}")

    short = importlib.util.module_from_spec(spec)
    vars(short).update(part, __getattr__=whole)
    sys.modules[name] = short


def _get_annotations(one: Any, **options: Any) -> dict[str, Any]:
    """Returns what `inspect.get_annotations` does, all that dataclasses need of it since Python 3.13."""
    if isinstance(one, type) and not options:
        return dict(vars(one).get("__annotations__") or {})
    import inspect

    _ = inspect.signature  # makes it whole
    return inspect.get_annotations(one, **options)


def leave_out(*, switch: bool) -> None:
    """Before any other of the process's modules is imported. A switch leaves out parts of gRPC and finsy, too: an agent
    loads neither, except with a user's scheme whose file imports a controller."""
    if os.environ.get("SOFTSWITCH_ALL_MODULES"):
        return
    if switch:
        sys.meta_path.insert(0, _Lazy())
        # Of finsy the switch needs the protobuf modules, not the client that the package begins with.
        spec = importlib.util.find_spec("finsy") if "finsy" not in sys.modules else None
        if spec is not None:
            sys.modules["finsy"] = importlib.util.module_from_spec(spec)
        _shorten("typing_extensions", override=lambda method: method)  # all that gRPC's server needs of it
    _shorten("inspect", get_annotations=_get_annotations)
    # OpenSSL, for hashlib, which goes on without; gRPC has its own TLS. Some systems have no other SHA-256.
    if any(importlib.util.find_spec(name) for name in ("_sha256", "_sha2")):
        sys.modules.setdefault("_hashlib", None)  # type: ignore[arg-type]
