"""The messages and the service of clock.proto."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pcn.base import protos

PROTO: Final = Path(__file__).with_name("clock.proto")
_FILE = protos.load("softswitch/clock.proto", PROTO.parent.parent)
SERVICE: Final = _FILE.services_by_name["ManualClock"]


def _message(name: str) -> Any:
    return protos.message(_FILE.message_types_by_name[name])


Span: Final = _message("Span")
Moment: Final = _message("Moment")
Frame: Final = _message("Frame")
Frames: Final = _message("Frames")
