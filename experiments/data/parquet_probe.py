"""Reads a Parquet file whole, in a process that `parquet.probe` starts with FILE and BYTES of
memory."""

from __future__ import annotations

import io
import resource
import sys
from pathlib import Path


def main() -> None:
    """Ends well where the file can be read."""
    from arro3.io import read_parquet  # an extra

    path, most = sys.argv[1:]
    _, limit = resource.getrlimit(resource.RLIMIT_AS)
    bound = int(most) if limit == resource.RLIM_INFINITY else min(int(most), limit)
    resource.setrlimit(resource.RLIMIT_AS, (bound, limit))
    for batch in read_parquet(io.BytesIO(Path(path).read_bytes())):
        for name in batch.schema.names:
            batch.column(name).to_pylist()


if __name__ == "__main__":
    main()
