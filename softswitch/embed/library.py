"""The switch's C for an engine that runs switches itself: the runtime's functions, and the headers'
folder.

`pcn.softswitch.embed.HEADERS` names those that it may include.
"""

from __future__ import annotations

from pcn.softswitch.codegen.build import CSRC, build_program, build_runtime
from pcn.softswitch.native import load_library

__all__ = ["CSRC", "build_program", "build_runtime", "load_library"]
