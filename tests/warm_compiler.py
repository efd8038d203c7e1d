"""A C compiler that copies objects which exist already, for tests of what happens around a
compilation."""

from collections.abc import Mapping
from pathlib import Path


def write(
    path: Path, objects: Mapping[str, str | Path], otherwise: str = "", first: str = ""
) -> Path:
    """Of objects whose names begin so it makes copies, of others what the shell's line `otherwise`
    does. `first`: lines that go before."""
    copies = "\n".join(
        f'*/{name}-*.so) exec cp "{source}" "$word" ;;' for name, source in objects.items()
    )
    path.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec cc --version\n{first}\n'
        f"for word; do case $word in\n{copies}\nesac; done\n{otherwise}\n"
    )
    path.chmod(0o755)
    return path
