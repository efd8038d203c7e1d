"""Writes a lock: `python release/lock.py FILE OPTION...`, which `make lock` runs for each of them.
Of a FILE.txt, which is a part of requirements.lock, the packages' names alone (part.sh).

uv resolves (the options are those of `uv pip compile`) and names every file that a version has. A
lock keeps the hashes of those that `make setup` can install: wheels for CPython's supported
versions on Linux with glibc, of x86_64 and arm64, and the sources, of which pip builds elsewhere,
unless there is a wheel for any machine.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MACHINES = ("x86_64", "aarch64")
_FILE = re.compile(r'url = "[^"]*/(?P<name>[^"/]+)".*?sha256 = "(?P<hash>[0-9a-f]{64})"')


class LockError(Exception):
    """The message names what can't be locked."""


def supported() -> list[str]:
    """Returns CPython's versions that pyproject.toml names, as wheels have them (`cp310`)."""
    text = (ROOT / "pyproject.toml").read_text()
    return [f"cp3{minor}" for minor in re.findall(r'"Programming Language .* 3\.(\d+)"', text)]


def installable(name: str, pythons: list[str]) -> bool:
    """Returns whether pip can install a file of this name here: sources, or a wheel for one of
    these CPythons."""
    if not name.endswith(".whl"):
        return True
    python, abi, platform = name.removesuffix(".whl").split("-")[-3:]
    if not any(
        tag == "any" or (tag.startswith(("linux", "manylinux")) and tag.endswith(MACHINES))
        for tag in platform.split(".")
    ):
        return False
    if abi in ("none", "abi3"):
        # of the lowest version that it is for: cp39-abi3 and py3-none run on later ones, too
        return any(tag.startswith(("cp3", "py3")) for tag in python.split("."))
    return abi in pythons


def lock(resolved: str, pythons: list[str]) -> str:
    """Returns a requirements file, with hashes, of uv's pylock.toml. Raises LockError: a package
    has nothing that pip can install here."""
    lines = []
    for entry in resolved.split("[[packages]]\n")[1:]:
        name, version, marker = (
            match[1] if (match := re.search(rf'^{key} = "(.*)"$', entry, re.M)) else None
            for key in ("name", "version", "marker")
        )
        hashes = {
            file["name"]: file["hash"]
            for file in _FILE.finditer(entry)
            if installable(file["name"], pythons)
        }
        if any(file.endswith("-none-any.whl") for file in hashes):
            hashes = {file: hashes[file] for file in hashes if file.endswith(".whl")}
        if not hashes:
            raise LockError(f"{name} {version} has neither sources nor a wheel for Linux")
        lines.append(f"{name}=={version}" + (f" ; {marker}" if marker else ""))
        lines += [f"    --hash=sha256:{digest}" for digest in sorted(hashes.values())]
    return re.sub(r"\n(?= )", " \\\n", "\n".join(lines)) + "\n"


def main(arguments: list[str]) -> None:
    """Resolves by uv, and writes the lock. `--python-version V` without `--universal`: a lock for
    that CPython alone."""
    file, *options = arguments
    command = [sys.executable, "-m", "uv", "pip", "compile", "-q", "--format", "pylock.toml"]
    resolved = subprocess.run([*command, *options], check=True, stdout=subprocess.PIPE, text=True)
    pythons = supported()
    if "--universal" not in options:
        pythons = ["cp" + options[options.index("--python-version") + 1].replace(".", "")]
    text = lock(resolved.stdout, pythons)
    if file.endswith(".txt"):
        text = "".join(f"{name}\n" for name in dict.fromkeys(re.findall(r"^(\S+)==", text, re.M)))
    Path(file).write_text(text)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (LockError, subprocess.CalledProcessError) as error:
        sys.exit(f"lock: {error}")
