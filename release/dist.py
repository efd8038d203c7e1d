"""Builds what a release has: `python release/dist.py FOLDER "ZIG cc"`, which `make dist` runs.

A source archive of git's commit, a wheel whose first run compiles, and for each processor of
MACHINES a wheel for manylinux with the objects that zig compiled. Equal commits give equal bytes,
whichever machine builds, of either processor: each file has the commit's time (or
SOURCE_DATE_EPOCH), archives are sorted, the compiler is locked in tools.lock. After `make figures`
the papers' figures as well, whose pictures aren't in git.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GLIBC = "2.28"
"""The oldest: of Debian 10, RHEL 8, Ubuntu 18.10."""
MACHINES = ("x86_64", "aarch64")
# -z undefs: programs and engine find the switch's functions when they are loaded.
ZIG_FLAGS = "-g0 -Wl,-s -Wl,-z,undefs"
SHIPPED = "softswitch/cache/shipped"
COMMIT = "experiments/run/commit.txt"

Files = dict[str, tuple[int, bytes]]
"""By path: the mode, the content; of a symbolic link `LINK`, its target."""
LINK = 0o120777


class DistError(Exception):
    """The message names what stands against a release, and the way out."""


def git(*words: str) -> bytes:
    """Returns git's output. The checkout may be another user's."""
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), *words]
    return subprocess.run(command, check=True, capture_output=True).stdout


def committed() -> tuple[Files, int]:
    """Returns the commit's files, with one that names it, and its time, s. Raises DistError:
    something isn't in it."""
    if changed := git("status", "--porcelain").decode().splitlines():
        raise DistError(
            f"{changed[0][3:]} isn't as committed: a release is of a commit, so commit or stash it"
        )
    with tarfile.open(fileobj=io.BytesIO(git("archive", "HEAD"))) as archive:
        files = {**unpacked(archive), COMMIT: (0o644, git("rev-parse", "HEAD"))}
    return files, int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct"))


def unpacked(archive: tarfile.TarFile) -> Files:
    """Returns an archive's files and symbolic links."""
    files: Files = {}
    for member in archive:
        if member.issym():
            files[member.name] = LINK, member.linkname.encode()
        elif (file := archive.extractfile(member)) is not None:
            files[member.name] = 0o755 if member.mode & 0o100 else 0o644, file.read()
    return files


def built(files: Files) -> tuple[str, Files]:
    """Returns the name of the wheel that setuptools builds of them and of the messages' stubs, and
    what is in it."""
    with tempfile.TemporaryDirectory() as folder:
        tree, out = write(Path(folder) / "tree", files), Path(folder) / "out"
        out.mkdir()
        run(
            [sys.executable, str(tree / "lint/messages.py")],
            tree,
            {**os.environ, "PYTHONPATH": str(tree)},
        )
        command = [
            "-c",
            "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])",
            str(out),
        ]
        run([sys.executable, *command], tree, os.environ)
        (wheel,) = out.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return wheel.name, {
                member.filename: (0o644, archive.read(member)) for member in archive.infolist()
            }


def zig_compilers(zig: str) -> dict[str, str]:
    """Returns a command of zig's compiler for each machine."""
    return {
        machine: f"{zig} -target {machine}-linux-gnu.{GLIBC} {ZIG_FLAGS}" for machine in MACHINES
    }


def platform(machine: str) -> str:
    """Returns the platform of a machine's wheel."""
    return f"manylinux_{GLIBC.replace('.', '_')}_{machine}"


def compiled(files: Files, compiler: str) -> Files:
    """Returns the objects of a wheel's sources, by their paths in the wheel, and what made them."""
    with tempfile.TemporaryDirectory() as folder:
        tree, cache = write(Path(folder) / "tree", files), Path(folder) / "cache"
        # others change what is made
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        environment = {
            **inherited,
            "CC": compiler,
            "XDG_CACHE_HOME": str(cache),
            "PYTHONPATH": str(tree),
        }
        run(
            [sys.executable, str(ROOT / "release/compile.py"), str(tree / SHIPPED)],
            tree,
            environment,
        )
        return {
            f"pcn/{SHIPPED}/{path.name}": (0o644, path.read_bytes())
            for path in (tree / SHIPPED).iterdir()
        }


def manual(files: Files, version: str, seconds: int) -> bytes:
    """Returns the manual page of a wheel's `pcn`."""
    with tempfile.TemporaryDirectory() as folder:
        tree, page = write(Path(folder) / "tree", files), Path(folder) / "pcn.1"
        date = time.strftime("%Y-%m-%d", time.gmtime(seconds))
        command = [sys.executable, str(ROOT / "release/man.py"), str(page), version, date]
        run(command, tree, {**os.environ, "PYTHONPATH": str(tree)})
        return page.read_bytes()


def for_machine(wheel: Files, objects: Files, machine: str) -> Files:
    """Returns a wheel with these objects, and with metadata that names the platform."""
    (tags,) = (name for name in wheel if name.endswith(".dist-info/WHEEL"))
    text = wheel[tags][1].decode()
    text = text.replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
    return {
        **wheel,
        **objects,
        tags: (0o644, text.replace("-any\n", f"-{platform(machine)}\n").encode()),
    }


def pack_wheel(path: Path, files: Files, seconds: int) -> None:
    """Writes a wheel, with the list of its files (RECORD) made anew."""
    (record,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    lines = [
        f"{name},sha256={_sha256(content)},{len(content)}"
        for name, (_, content) in sorted(files.items())
    ]
    lines = [f"{record},," if line.startswith(f"{record},") else line for line in lines]
    pack_zip(path, {**files, record: (0o644, "\n".join([*lines, ""]).encode())}, seconds)


def pack_zip(path: Path, files: Files, seconds: int) -> None:
    """Writes a zip archive of files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (mode, content) in sorted(files.items()):
            member = zipfile.ZipInfo(name, max(time.gmtime(seconds)[:6], (1980, 1, 1, 0, 0, 0)))
            member.external_attr, member.create_system = (0o100000 | mode) << 16, 3
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content)


def pack_source(path: Path, files: Files, seconds: int) -> None:
    """Writes a source archive, in one folder of its name."""
    inner = path.name.removesuffix(".tar.gz")
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, (mode, content) in sorted(files.items()):
            member = tarfile.TarInfo(f"{inner}/{name}")
            member.mode, member.mtime = mode & 0o777, seconds
            if mode == LINK:
                member.type, member.linkname = tarfile.SYMTYPE, content.decode()
            else:
                member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    path.write_bytes(gzip.compress(plain.getvalue(), mtime=seconds))


def write(folder: Path, files: Files) -> Path:
    """Writes files into a folder that it makes, and returns it."""
    for name, (mode, content) in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if mode == LINK:
            path.symlink_to(content.decode())
        else:
            path.write_bytes(content)
            path.chmod(mode)
    return folder


def run(command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    """Runs a command without output. Raises DistError with what it printed."""
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise DistError(f"{' '.join(command[:2])} failed:\n{done.stdout}{done.stderr}")


def _sha256(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def make(out: Path, compilers: Mapping[str, str] | None = None) -> list[Path]:
    """Writes the release into a folder, and returns its files. `compilers`: a command for each
    machine whose wheel has objects. Raises DistError."""
    files, seconds = committed()
    name, wheel = built(files)
    (metadata,) = (path for path in wheel if path.endswith(".dist-info/METADATA"))
    whole = name.removesuffix("-py3-none-any.whl")
    page = manual(wheel, whole.partition("-")[2], seconds)
    wheel[f"{whole}.data/data/share/man/man1/pcn.1"] = 0o644, page
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"{whole}.tar.gz", out / name]
    pack_source(paths[0], {**files, "PKG-INFO": wheel[metadata]}, seconds)
    pack_wheel(paths[1], wheel, seconds)
    if pictures := figures():
        paths.append(out / f"{whole}-figures.zip")
        pack_zip(paths[-1], pictures, seconds)
    for machine, compiler in (compilers or {}).items():
        paths.append(out / f"{whole}-py3-none-{platform(machine)}.whl")
        pack_wheel(paths[-1], for_machine(wheel, compiled(wheel, compiler), machine), seconds)
    return paths


def figures() -> Files:
    """Returns the pictures of docs/results.md with their numbers; nothing unless all are drawn."""
    files: Files = {}
    folder = ROOT / "docs/figures"
    if not (path := folder / "numbers.tar.xz").is_file():
        return {}
    with tarfile.open(path) as archive:
        for member in sorted(archive.getnames()):
            picture = (folder / member).with_suffix(".png")
            numbers = archive.extractfile(member)
            if numbers is None or not picture.is_file():
                return {}
            files[member] = (0o644, numbers.read())
            files[picture.name] = (0o644, picture.read_bytes())
    return files


def main(out: str, zig: str = "") -> None:
    """Prints each file with its size and hash."""
    for path in make(Path(out), zig_compilers(zig) if zig else None):
        content = path.read_bytes()
        print(f"{path}  {len(content) / 1e6:.1f} MB  sha256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except DistError as error:
        sys.exit(f"dist: {error}")
