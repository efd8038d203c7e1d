"""A folder in which modules lie under everybody's names: who imports one of them is found out."""

import sys
from pathlib import Path

from distributions import PACKAGES

_OTHERS = (
    "click", "finsy", "grpc", "mininet", "numpy", "p4runtime_sh", "ptf", "rich", "scapy",
    "distributed",
)  # fmt: skip


def plant(folder: Path):
    """Python's own modules, ours and some of others; each notes that it ran."""
    ran = repr(str(folder / "ran"))
    for name in {*sys.stdlib_module_names, *PACKAGES, "pcn", *_OTHERS} - {"__main__"}:
        (folder / f"{name}.py").write_text(f"open({ran}, 'a').write({name + ' '!r})\n")


def check(folder: Path):
    """Fails if one of them was imported."""
    assert (folder / "signal.py").exists(), "they were there"
    ran = folder / "ran"
    assert not ran.exists(), f"imported from the current folder: {ran.read_text()}"
