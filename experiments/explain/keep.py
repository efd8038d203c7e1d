"""What an explanation leaves in its result's folder: all of it, or nothing."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pcn.experiments.explain.answers import Answer
from pcn.experiments.results.atomic_folder import whole
from pcn.softswitch import signals
from pcn.topologies import extras

FOLDER = "explain"
JSON, TEXT, TABLE = "explanation.json", "explanation.txt", "parts.parquet"


def keep(place: Path, answer: Answer, text: Sequence[str]) -> Path | None:
    """Writes an explanation into the folder `explain` of a result, in place of an earlier one. Returns the folder; None
    where it can't be written, and then nothing of it is there."""
    target = place / FOLDER
    work: Path | None = None
    try:
        work = Path(tempfile.mkdtemp(prefix=f".{FOLDER}-", dir=place))
        work.chmod(0o755)
        with whole(work / JSON) as file:
            file.write((json.dumps(answer.as_json(), indent=2) + "\n").encode())
        with whole(work / TEXT) as file:
            file.writelines(f"{line}\n".encode() for line in text)
        if answer.parts is not None and extras.installed("parquet"):
            from pcn.experiments.data import parquet  # an extra

            with whole(work / TABLE) as file:
                parquet.write(file, {"id": list(answer.ids), **answer.parts.columns()})
        with signals.deferred():
            if target.is_symlink() or target.is_file():
                target.unlink()
            elif target.exists():
                shutil.rmtree(target)
            work.rename(target)
    except OSError:
        return None
    finally:
        with signals.deferred():
            if work is not None:
                with contextlib.suppress(OSError):
                    shutil.rmtree(work)
    return target
