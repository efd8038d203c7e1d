"""The `softswitch` command, with an `EngineSwitch` in place of each switch."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from dataplane.engine_switch import EngineSwitch  # noqa: E402

from pcn.softswitch import serve  # noqa: E402
from pcn.softswitch.cli import main  # noqa: E402

if __name__ == "__main__":
    with mock.patch.object(serve, "NativeSwitch", EngineSwitch):
        sys.exit(main())
