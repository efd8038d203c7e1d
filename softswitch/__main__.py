"""The `softswitch` command, and `python -m pcn.softswitch`."""

import gc
import sys

from pcn.base import startup

startup.begin()
# until the switch is ready: collections would look through modules, a tenth of a start
gc.disable()

from pcn.softswitch.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
