"""Files that the user names to be written: another user's links, names and pipes have no part in
where the bytes go."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from others import NOBODY, as_nobody, shared_folder

from pcn.base import owner_only
from pcn.base.owner_only import NotPrivateError

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "base", "softswitch", "topologies", "p4src", "virtualnet", "controller", "hosts", "p4net",
    "lab", (
        "experiments"
    ),
    "pcn",
)  # fmt: skip


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that all users may write, as /tmp, without what the kernel refuses there."""
    with shared_folder() as folder:
        folder.chmod(0o777)
        yield folder


def write(path: Path, content: bytes = b"new", *, append: bool = False, overwrite: bool = True):
    with os.fdopen(owner_only.output(path, append=append, overwrite=overwrite), "wb") as file:
        file.write(content)


def test_files_are_made_and_overwritten_and_appended_to(tmp_path):
    path = tmp_path / "file"
    write(path, b"a long text")
    write(path, b"text")
    write(path, b" and more", append=True)
    assert path.read_bytes() == b"text and more"
    with pytest.raises(FileExistsError):
        write(path, overwrite=False)
    with pytest.raises(IsADirectoryError):
        write(tmp_path)
    with pytest.raises(NotADirectoryError):
        write(path / "file")
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "none" / "file")
    assert path.read_bytes() == b"text and more"


def test_one_s_own_links_are_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "other").symlink_to("folder")
    (tmp_path / "folder" / "link").symlink_to("../folder/file")
    write(tmp_path / "other" / "link")
    assert (tmp_path / "folder" / "file").read_bytes() == b"new"
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "round")


def test_pipes_and_devices_are_written():
    """As a shell's >(command), /dev/stdout and /dev/null are."""
    code = "import os; from pathlib import Path; from pcn.base import owner_only; "
    code += (
        "[os.write(owner_only.output(Path(p)), b'x') for p in ('/dev/stdout', '/dev/null', "
        "'/proc/self/fd/1')]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"xx"


@pytest.mark.root
@pytest.mark.parametrize("kind", ["link", "link of the folder", "other name"])
@pytest.mark.parametrize("append", [False, True])
def test_another_user_s_links_are_refused(shared: Path, tmp_path, kind, append):
    secret = tmp_path / "file"
    secret.write_bytes(b"secret")
    place = shared / "file"
    if kind == "link":
        as_nobody(lambda: place.symlink_to(secret))
    elif kind == "link of the folder":
        as_nobody(lambda: (shared / "folder").symlink_to(tmp_path))
        place = shared / "folder" / "file"
    else:
        here = secret.rename(shared / "mine")
        place.hardlink_to(here)  # as nobody does where the kernel lets him (fs.protected_hardlinks)
        secret = here
    with pytest.raises(NotPrivateError):
        write(place, append=append)
    assert secret.read_bytes() == b"secret"


@pytest.mark.root
def test_pipe_without_a_reader_holds_up_no_one(shared: Path):
    as_nobody(lambda: os.mkfifo(shared / "pipe"))
    with pytest.raises(OSError, match="No such device"):
        write(shared / "pipe")


@pytest.mark.root
def test_another_user_s_pipe_with_a_reader_is_refused(shared: Path):
    """It would get what is written, and hold the writer up once it is full."""
    pipe = shared / "pipe"
    as_nobody(lambda: os.mkfifo(pipe))
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(NotPrivateError, match=f"{pipe} is a pipe of .* .uid {NOBODY}"):
            write(pipe)
        os.chown(pipe, 0, 0)
        write(pipe)
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)


@pytest.mark.root
def test_pipe_that_another_user_has_opened_is_written():
    """As `sudo pcn ... --json /dev/stdout | less` does."""
    reader, writer = os.pipe()
    os.fchown(writer, NOBODY, NOBODY)
    write(Path(f"/proc/self/fd/{writer}"))
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    os.close(writer)


ANYWHERE = ("--clock", "manual", "--grpc-server-addr", "127.0.0.1:0")
COMMANDS = {
    "switch's steps": ("softswitch", "{program}", *ANYWHERE, "--trace", "{}"),
    "switch's captures": ("softswitch", "--no-p4", *ANYWHERE, "-i", "1", "--pcap", "{folder}"),
    "coverage": ("pcn", "p4", "run", "{router}", "--clock", "virtual", "--coverage", "{}.json"),
    "drawing": ("pcn", "topology", "draw", "clos", "{}.svg"),
    "topology": ("pcn", "topology", "convert", "clos", "{}.json"),
    "steps": ("pcn", "p4", "trace", "{router}", "--send", "h1,h3", "--json", "{}"),
}


@pytest.mark.root
@pytest.mark.parametrize("which", COMMANDS)
def test_commands_follow_no_link_of_another_user(shared: Path, tmp_path, which):
    """Each ends in one line that names the link, and the file behind it is as it was."""
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    words = [
        word.format(
            str(shared / "out"),
            folder=shared,
            program=ROOT / "tests/p4runtime/programs/bench.json",
            router=ROOT / "examples/router",
        )
        for word in COMMANDS[which]
    ]
    names = ("out", "out.svg", "out.json", "1_in.pcap", "1_out.pcap")
    as_nobody(lambda: [(shared / name).symlink_to(secret) for name in names] and None)
    command = [str(Path(sys.executable).parent / words[0]), *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert f"symbolic link of {owner_only.owner(NOBODY)}" in done.stderr.splitlines()[-1]
    assert secret.read_bytes() == b"secret"


@pytest.mark.root
def test_log_file_of_the_switch_follows_no_link_of_another_user(shared: Path, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    as_nobody(lambda: (shared / "out").symlink_to(secret))
    command = [sys.executable, "-m", "pcn.softswitch", "--no-p4", "--log-file", str(shared / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, f"symbolic link of {owner_only.owner(NOBODY)}" in done.stderr) == (
        1,
        True,
    )
    assert secret.read_bytes() == b"secret"


# What opens files to write by itself: in folders that are new, or this user's alone, or opened by a
# descriptor.
_ELSEWHERE = {
    "base/owner_only.py",
    "base/packed.py",  # into memory
    "softswitch/cli.py",  # stderr's descriptor
    "softswitch/cache/objects.py",
    "lab/log_folder.py",
    "lab/journal.py",
    "lab/target.py",
    "lab/standalone.py",
    "hosts/log.py",
    "hosts/virtual/paths.py",
    "experiments/sweep/store.py",
    "p4net/importing/child.py",  # /proc/self
}
_WRITES = re.compile(r"fopen\([^)]*\"[wa]|\bO_CREAT\b|\bcreat\(")


def writers() -> set[str]:
    """Files of the packages that open others to write."""
    result = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.*"):
            in_c = (
                path.suffix in (".c", ".h")
                and "tools" not in path.parts
                and _WRITES.search(path.read_text())
            )
            if in_c or (
                path.suffix == ".py"
                and "build" not in path.stem
                and _opens(ast.parse(path.read_text()))
            ):
                result.add(str(path.relative_to(ROOT)))
    return result


def _opens(tree: ast.AST) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in (
            "write_text",
            "write_bytes",
            "O_CREAT",
        ):
            return True
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in (
            "open",
            "File",
        ):
            modes = [
                constant.value
                for constant in ast.walk(node)
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
            ]
            if any(re.fullmatch(r"[wax]b?\+?", mode) for mode in modes):
                return True
    return False


def test_one_place_opens_the_files_that_a_user_names():
    assert writers() <= _ELSEWHERE, "use owner_only.output"


# ---- groups ----


@pytest.mark.root
def test_group_that_is_another_user_s_own_is_shared(tmp_path, monkeypatch):
    """`useradd -g alice bob`: bob is no member by group(5), and may write."""
    import grp
    import pwd

    def user(name: str, number: int, group: int) -> pwd.struct_passwd:
        return pwd.struct_passwd((name, "x", number, group, "", "/", "/bin/sh"))

    listed = [user("alice", 2001, 2001)]
    monkeypatch.setattr(pwd, "getpwuid", lambda _number: user("alice", 2001, 2001))
    monkeypatch.setattr(grp, "getgrgid", lambda _number: grp.struct_group(("alice", "x", 2001, [])))
    monkeypatch.setattr(pwd, "getpwall", lambda: listed)
    assert owner_only._own_group(2001)
    listed.append(user("bob", 2002, 2001))
    assert not owner_only._own_group(2001)
    listed[:] = [user("bob", 2002, 2002)]
    assert not owner_only._own_group(2001), "a directory that lists no users"
