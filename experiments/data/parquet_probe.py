"""Reads a Parquet file in a process of `parquet.read_of_others`, which names the file, the columns,
the most rows and the bytes of memory, as JSON."""

from __future__ import annotations

import contextlib
import json
import resource
import sys
from pathlib import Path


def main() -> None:
    """Ends well where the file can be read, or has too many rows, which its reader reports."""
    from pcn.experiments.data import parquet  # an extra

    path, names, most, memory = json.loads(sys.argv[1])
    _, limit = resource.getrlimit(resource.RLIMIT_AS)
    bound = memory if limit == resource.RLIM_INFINITY else min(memory, limit)
    resource.setrlimit(resource.RLIMIT_AS, (bound, limit))
    with contextlib.suppress(parquet.TooManyRowsError):
        parquet.read(Path(path), names, most)


if __name__ == "__main__":
    main()
