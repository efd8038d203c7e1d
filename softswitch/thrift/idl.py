"""The types and services of bmv2.thrift, which thriftpy2 makes at run time."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from pcn.softswitch.errors import StartError

PATH = Path(__file__).with_name("bmv2.thrift")


@lru_cache(maxsize=1)
def load() -> Any:
    """Returns the module. Raises StartError without thriftpy2, which has types for some of itself
    only."""
    try:
        import thriftpy2
    except ImportError:
        raise StartError("--thrift-port needs thriftpy2: pip install 'pcn-lab[bmv2]'") from None
    return thriftpy2.load(str(PATH), module_name="softswitch_bmv2_thrift")
