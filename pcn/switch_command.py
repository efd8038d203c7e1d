"""The `softswitch` command, and `python -m pcn.switch_command`: softswitch, with an engine for
--engine."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from pcn.base import startup

startup.begin()
# until the switch is ready, as softswitch/__main__.py
gc.disable()

from pcn.softswitch import cli  # noqa: E402

if TYPE_CHECKING:
    from pcn.virtualnet.live import EngineSwitch


def load_engine() -> type[EngineSwitch]:
    """Returns what makes the switches of --engine."""
    from pcn.virtualnet.live import EngineSwitch  # late: few switches have it

    return EngineSwitch


def main() -> int:
    """Runs the command."""
    return cli.main(load_engine=load_engine)


if __name__ == "__main__":
    sys.exit(main())
