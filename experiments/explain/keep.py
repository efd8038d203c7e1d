"""What an explanation leaves in its result's folder: all of it, or nothing."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path

from pcn.base import owner_only, signals
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.explain.answers import Answer
from pcn.experiments.results.atomic_folder import held, whole
from pcn.topologies import extras

FOLDER = "explain"
JSON, TEXT, TABLE = "explanation.json", "explanation.txt", "parts.parquet"
PAGE = "explanation.html"
_FILES = {JSON, TEXT, TABLE, PAGE}


def keep(place: Path, answer: Answer, text: Sequence[str], page: str = "") -> Path:
    """Writes an explanation into the folder `explain` of a result, with its page if there is one,
    in place of an earlier one. Returns the folder. Raises ExperimentError where it can't be
    written, as where there is more than an earlier one's files; then nothing of it is there."""
    undo = contextlib.ExitStack()
    try:
        with signals.deferred():
            folder = undo.enter_context(held(place))
            work = undo.enter_context(owner_only.scratch(folder, f".{FOLDER}-")) / FOLDER
        work.mkdir()
        work.chmod(owner_only.PUBLIC)
        with whole(work / JSON) as file:
            file.write((json.dumps(answer.as_json(), indent=2) + "\n").encode())
        with whole(work / TEXT) as file:
            file.writelines(f"{line}\n".encode() for line in text)
        if page:
            with whole(work / PAGE) as file:
                file.write(page.encode())
        if answer.parts is not None and extras.installed("parquet"):
            from pcn.experiments.data import parquet  # an extra

            with whole(work / TABLE) as file:
                parquet.write(file, {"id": list(answer.ids), **answer.parts.columns()})
        with signals.deferred():
            target = folder / FOLDER
            if target.is_symlink() or target.is_file():
                target.unlink()
            elif target.exists():
                with held(target) as earlier:
                    others = sorted({path.name for path in earlier.iterdir()} - _FILES)
                    if others:
                        raise ExperimentError(
                            f"{place / FOLDER} has other files, as {others[0]}, and may have an "
                            "earlier explanation: move them away"
                        )
                    # Parts of all flows are the run's, so the next explanation keeps them.
                    if not (work / TABLE).exists():
                        with contextlib.suppress(FileNotFoundError):
                            (earlier / TABLE).rename(work / TABLE)
                    for name in _FILES:
                        (earlier / name).unlink(missing_ok=True)
                target.rmdir()
            work.rename(target)
    except OSError as error:
        raise ExperimentError(f"{place} can't be written: {error.strerror}") from None
    finally:
        with signals.deferred():
            undo.close()
    return place / FOLDER
