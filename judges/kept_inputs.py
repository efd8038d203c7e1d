"""A coverage-guided fuzzer's inputs, by program: what it begins with, and what is kept of it."""

import lzma
from collections.abc import Iterable
from pathlib import Path


class Corpus:
    """The inputs that a judge keeps in `folder`: NAME.hex.xz has one a line, in hexadecimal."""

    def __init__(self, folder: Path):
        self._folder = folder

    def inputs(self, name: str) -> list[bytes]:
        with lzma.open(self._folder / f"{name}.hex.xz", "rt") as lines:
            return [bytes.fromhex(line) for line in lines]

    def write(self, name: str, inputs: Iterable[bytes]):
        self._folder.mkdir(exist_ok=True)
        with lzma.open(self._folder / f"{name}.hex.xz", "wt") as lines:
            lines.writelines(data.hex() + "\n" for data in inputs)

    def begin(
        self, name: str, first: Iterable[bytes], folder: Path, seconds: str, longest: int
    ) -> list[str]:
        """Writes the first inputs and those that are kept into FOLDER, beside what it has. Returns
        libFuzzer's options for a run from there, with inputs of up to `longest` bytes."""
        folder.mkdir(parents=True, exist_ok=True)
        known = self.inputs(name) if (self._folder / f"{name}.hex.xz").exists() else []
        for number, data in enumerate([*first, *known]):
            (folder / f"start-{number}").write_bytes(data)
        return [
            f"-max_total_time={seconds}", f"-max_len={longest}", "-timeout=300",
            f"-artifact_prefix={folder}/../{name}-", "-print_final_stats=1", str(folder),
        ]  # fmt: skip
