"""The cache of compiled programs: never stale, nothing bad in it, and what is damaged in it is made
again."""

import ctypes
import hashlib
import json
import os
import pickle
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import needs
import pytest
from others import NOBODY, UMASKS, as_nobody, refused, shared_folder, umask
from program_json import Builder, assign, field, primitive, value

from pcn import softswitch
from pcn.base import packed
from pcn.base.p4rt import p4r
from pcn.softswitch.cache.objects import (
    COMMON_FLAGS,
    BuildError,
    build_folder,
    cache_dir,
    digest,
    intact,
)
from pcn.softswitch.codegen.build import build_program, read_program
from pcn.softswitch.p4runtime.checked_config import of_json, verify
from pcn.softswitch.p4runtime.errors import RpcError
from pcn.softswitch.p4runtime.schema import Schema
from pcn.softswitch.p4runtime.translation import Strings
from pcn.softswitch.program.errors import ProgramError, UnsupportedProgram
from pcn.softswitch.program.model import Program
from pcn.virtualnet.native import engine

SOFTSWITCH = Path(softswitch.__file__).resolve().parent
PCN = SOFTSWITCH.parent / "p4src" / "compiled" / "pcn.json"
FOLDERS = ("program", "codegen", "csrc")


def program(number: int = 1) -> str:
    builder = Builder().header("h", [["a", 8]])
    return json.dumps(builder.run([assign(field("h", "a"), value(number))]).json())


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "pcn-lab"


# Says of each program whether it was found by its JSON, and its object. An argument is JSON, or
# starts with `!` and is what happens meanwhile.
BUILD = """
import sys
import pcn.softswitch.codegen.build as build
for word in sys.argv[1:]:
    if word[0] == "!":
        exec(word[1:])
        continue
    built = build.build_program(word)
    print("generated" if "pcn.softswitch.codegen.generate" in sys.modules else "found", built)
"""


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A copy of the sources, to be changed; with their bytecode, which a changed file's time or
    size makes void."""
    package = tmp_path / "checkout" / "pcn"
    copy = shutil.copytree(SOFTSWITCH, package / "softswitch")
    shutil.copytree(SOFTSWITCH.parent / "base", package / "base")
    shutil.copy(SOFTSWITCH.parent / "pcn" / "__init__.py", package)
    return Path(copy)


def build(checkout: Path, *words: str, **environment: str) -> list[tuple[str, str]]:
    """BUILD's output in a process that has only these sources."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(checkout.parents[1]),
        "PYTHONDONTWRITEBYTECODE": "1",
        **environment,
    }
    command = [sys.executable, "-c", BUILD, *words]
    output = subprocess.run(
        command, env=environment, cwd=checkout, check=True, capture_output=True, text=True
    ).stdout
    return [(how, path) for how, path in (line.split() for line in output.splitlines())]


def add(path: Path, text: str):
    path.write_text(path.read_text() + text)


def test_found_without_the_generator(checkout: Path):
    (first,) = build(checkout, program())
    (again,) = build(checkout, program())
    (second,) = build(checkout, program(2))
    assert first[0] == "generated"
    assert again == ("found", first[1])
    assert second[0] == "generated"
    assert second[1] != first[1]


def test_changed_sources(checkout: Path):
    """Of loader, generator and headers."""
    build(checkout, program())
    for name in (
        "program/load.py",
        "codegen/statements.py",
        "codegen/support.h",
        "csrc/pipeline.h",
        "program/added.py",
    ):
        path = checkout / name
        path.touch()
        add(path, "\n#\n")
        assert build(checkout, program())[0][0] == "generated", name
    assert build(checkout, program())[0][0] == "found"


def test_another_installation_finds_the_same_objects(checkout: Path, monkeypatch):
    """In this user's cache, where the engine of these sources is."""
    for name in ("virtualnet", "topologies"):
        shutil.copytree(SOFTSWITCH.parent / name, checkout.parent / name)
    script = "from pcn.virtualnet.native import engine; print(engine()._name)"
    monkeypatch.undo()
    environment = {
        **os.environ,
        "PYTHONPATH": str(checkout.parents[1]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", script]
    output = subprocess.run(
        command, env=environment, cwd=checkout, check=True, capture_output=True, text=True
    ).stdout
    assert output == f"{engine()._name}\n"


def test_changed_compiler(checkout: Path):
    (first,) = build(checkout, program())
    (recompiled,) = build(checkout, program(), CC="cc -g")
    assert recompiled[0] == "generated"
    assert recompiled[1] != first[1]
    assert build(checkout, program(), CC="cc -g") == [("found", recompiled[1])]
    assert build(checkout, program()) == [("found", first[1])]


def test_processors_that_share_a_home_have_separate_objects(monkeypatch):
    """Their compilers may print equal versions."""
    here = os.uname()
    native = build_program(program())
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((*here[:4], "another")))
    foreign = build_program(program())
    assert foreign != native
    monkeypatch.undo()
    assert intact(native)
    assert intact(foreign)


def test_products_and_sums_are_rounded_by_themselves(tmp_path):
    """Whatever the processor offers: a fused operation has another result in the last bit."""
    if platform.machine() == "x86_64" and " fma " not in Path("/proc/cpuinfo").read_text():
        needs.missing(needs.FUSED)
    (tmp_path / "sum.c").write_text(
        "double sum(double a, double b, double c) { return a * b + c; }\n"
    )
    target = ("-mfma",) if platform.machine() == "x86_64" else ()
    library = ctypes.CDLL(str(build_folder("sum", tmp_path, (*COMMON_FLAGS, *target))))
    library.sum.argtypes, library.sum.restype = [ctypes.c_double] * 3, ctypes.c_double
    factor = 1 + 2**-30
    assert library.sum(factor, factor, -(1 + 2**-29)) == 0.0


def test_flags_and_forms(cache: Path):
    built = [
        build_program(program()),
        build_program(program(), ("-g",)),
        build_program(program(), inplace=True),
    ]
    assert len(set(built)) == 3
    assert built == [
        build_program(program()),
        build_program(program(), ("-g",)),
        build_program(program(), inplace=True),
    ]


def test_a_loader_that_refuses_more(checkout: Path):
    """What is in the cache doesn't make it accept what it refuses."""
    build(checkout, program())
    load = checkout / "program" / "load.py"
    load.write_text(
        load.read_text().replace("root = parse(json_text)\n", "raise ValueError('not any more')\n")
    )
    with pytest.raises(subprocess.CalledProcessError) as caught:
        build(checkout, program())
    assert "not any more" in caught.value.stderr


def test_sources_that_change_while_a_process_runs(checkout: Path):
    """What it makes counts neither as what the sources before make, nor as what those now do."""
    load = checkout / "program" / "load.py"
    before = load.read_text()
    change = (
        "!from pathlib import Path; path = Path('program/load.py'); "
        "path.write_text(path.read_text() + '#\\n')"
    )
    build(checkout, change, program(1))  # it imports the new ones
    build(checkout, program(2), change, program(3))  # it has imported those before
    for number in (1, 3):
        assert build(checkout, program(number))[0][0] == "generated"
    load.write_text(before)
    assert build(checkout, program(1))[0][0] == "generated"


# Loads a program and generates its C in both forms, and says which files of softswitch/ that read.
READ = """
import sys
from importlib.util import source_from_cache
from pathlib import Path
opened = set()
sys.addaudithook(lambda event, arguments: event == "open" and opened.add(str(arguments[0])))
sys.dont_write_bytecode = True
from pcn import softswitch
root = Path(softswitch.__file__).resolve().parent
from pcn.softswitch.codegen.generate import generate
from pcn.softswitch.program.load import load_program
loaded = load_program(sys.stdin.read())
generate(loaded), generate(loaded, inplace=True)
sources = [Path(source_from_cache(name) if name.endswith(".pyc") else name).resolve() for name in opened]
print("\\n".join(str(path.relative_to(root)) for path in sources if root in path.parents))
"""  # noqa: E501


def test_what_decides_about_the_c_text():
    """Are files of these folders, and one beside them, all of which are in the key."""
    output = subprocess.run(
        [sys.executable, "-c", READ],
        input=packed.read_text(PCN),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    read = {Path(line) for line in output.splitlines()}
    assert {Path("codegen/support.h"), Path("program/load.py")} < read
    others = {
        path for path in read if path.parent.name not in FOLDERS or path.suffix not in (".py", ".h")
    }
    assert others == {Path("__init__.py")}, "which is empty"
    assert not (SOFTSWITCH / "__init__.py").read_text()


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "one bit": lambda path: path.write_bytes(
        bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:]
    ),
    "vanished": lambda path: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_program(damage, cache: Path):
    built = build_program(program())
    damage(built)
    assert build_program(program()) == built
    assert intact(built)
    ctypes.CDLL(str(built))
    assert len(list(cache.iterdir())) == 2  # the object, and its name by the JSON


READ_PROGRAM = """
import sys, zlib
from pcn.softswitch.codegen.build import read_program
read, keep = read_program(sys.argv[1])
keep()
print(zlib.crc32(repr(read).encode()), "pcn.softswitch.program.load" in sys.modules)
"""


def test_a_kept_program_is_read_without_the_loader(checkout: Path):
    """Until the sources change."""

    def read(number: int) -> list[str]:
        words = [sys.executable, "-c", READ_PROGRAM, program(number)]
        return subprocess.run(
            words, cwd=checkout.parents[1], check=True, capture_output=True, text=True
        ).stdout.split()

    reads = [read(1), read(1), read(2)]
    with (checkout / "program" / "limits.py").open("a") as file:
        file.write("# changed\n")
    reads.append(read(2))
    assert [loads for _, loads in reads] == ["True", "False", "True", "True"]
    assert reads[0][0] == reads[1][0] != reads[2][0] == reads[3][0]


def kept_program() -> Program:
    read, keep = read_program(program())
    keep()
    return read


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_kept_program_is_read_anew(damage, cache: Path):
    first = kept_program()
    (cached,) = cache.iterdir()
    damage(cached)
    assert kept_program() == first
    assert intact(cached)


@pytest.mark.parametrize("mask", UMASKS)
def test_kept_program_is_found_again_whatever_the_umask(mask, cache: Path):
    with umask(mask):
        first = kept_program()
    (cached,) = cache.iterdir()
    before = cached.stat()
    assert intact(cached)
    assert kept_program() == first
    assert cached.stat().st_ino == before.st_ino, "not written anew"


def test_program_that_its_p4info_does_not_fit_leaves_nothing(cache: Path):
    """Or a client could fill the disk faster than the compiler does."""
    config = p4r.ForwardingPipelineConfig(p4_device_config=packed.read_bytes(PCN))
    config.p4info.tables.add().preamble.name = "none"
    with pytest.raises(RpcError, match="nothing of what the p4info describes"):
        verify(config)
    assert not list(cache.glob("*"))


VERIFY = """
import sys
from pcn.base.p4rt import p4r
from pcn.softswitch.p4runtime.checked_config import loaded, verify
from pcn.softswitch.p4runtime.described import describe
config = p4r.ForwardingPipelineConfig(p4_device_config=sys.argv[1].encode())
config.p4info.CopyFrom(describe(loaded(sys.argv[1])[0]))
config.p4info.pkg_info.name = sys.argv[2]
schema = verify(config).schema
print(schema.p4info == config.p4info, "pcn.softswitch.p4runtime.binding" in sys.modules)
"""


def test_kept_schema_is_read_without_binding_its_program(checkout: Path):
    """Until its p4info, its program, or the sources that decide about it are others."""

    def reads(number: int, name: str) -> bool:
        words = [sys.executable, "-c", VERIFY, program(number), name]
        equal, bound = subprocess.run(
            words, cwd=checkout.parents[1], check=True, capture_output=True, text=True
        ).stdout.split()
        assert equal == "True"
        return bound == "False"

    assert [reads(1, "a"), reads(1, "a"), reads(1, "b"), reads(2, "a")] == [
        False, True, False, False,
    ]  # fmt: skip
    for name in ("p4runtime/schema.py", "program/limits.py"):
        add(checkout / name, "\n# changed\n")
        assert [reads(2, "a"), reads(2, "a")] == [False, True], name


def kept_schema() -> Schema:
    return verify(of_json(program()).config).schema


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_kept_schema_is_bound_anew(damage, cache: Path):
    first = kept_schema()
    (cached,) = cache.glob("schema-*")
    damage(cached)
    assert kept_schema() == first
    assert intact(cached)


def test_kept_strings_are_the_fixed_ones_alone():
    strings = Strings(8, [(b"host", 1)])
    strings.number(b"spine", "port")
    unpickled = pickle.loads(pickle.dumps(strings))
    assert unpickled.number(b"host", "port", known=True) == 1
    with pytest.raises(RpcError, match="nothing is called 'spine'"):
        unpickled.number(b"spine", "port", known=True)


def test_system_without_blake2_hashes_sources_too(monkeypatch):
    """As one in FIPS mode."""

    def refuse(**_):
        raise ValueError("_blake2 is not available in FIPS mode")

    monkeypatch.setattr(hashlib, "blake2b", refuse)
    assert digest([SOFTSWITCH / "serve.py"]) != digest([SOFTSWITCH / "cli.py"])


def test_another_python_keeps_its_own_program(cache: Path, monkeypatch):
    first = kept_program()
    monkeypatch.setattr(sys.implementation, "cache_tag", "another-1")
    assert kept_program() == first
    assert len(list(cache.iterdir())) == 2


def test_a_program_is_read_without_a_cache(tmp_path, monkeypatch):
    first = kept_program()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert kept_program() == first


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_name(damage, cache: Path):
    built = build_program(program())
    (name,) = cache.glob("json-*")
    content = name.read_bytes()
    name.unlink()
    name.write_bytes(content)
    damage(name)
    assert build_program(program()) == built
    assert name.is_symlink()
    assert name.resolve() == built
    assert len(list(cache.iterdir())) == 2


def test_a_damaged_library(tmp_path):
    """The runtime is built so."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "answer.c").write_text("int answer(void) { return 42; }")
    built = build_folder("libanswer", folder, ("-shared", "-fPIC"))
    built.write_bytes(built.read_bytes()[:-100])
    assert build_folder("libanswer", folder, ("-shared", "-fPIC")) == built
    assert ctypes.CDLL(str(built)).answer() == 42


def test_bad_programs_leave_nothing(cache: Path):
    """They are refused again with the same words, by the loader or the generator."""
    unsupported = Builder().header("h", [["a", 8]]).run([primitive("no_such_primitive", line=9)])
    for text, error in (
        ("{", ProgramError),
        ("{}", ProgramError),
        (json.dumps(unsupported.json()), UnsupportedProgram),
    ):
        words = []
        for _ in range(2):
            with pytest.raises(error) as caught:
                build_program(text)
            words.append(str(caught.value))
        assert words[0] == words[1] != ""
    assert "test.p4:9" in words[0]
    assert not list(cache.glob("*"))


@pytest.mark.root
@pytest.mark.parametrize("set_up", ["sticky", "home"])
def test_cache_of_another_user_is_refused(set_up, monkeypatch):
    """XDG_CACHE_HOME is a folder for all, where he was first; or HOME is his, as sudo may keep
    it."""
    with shared_folder() as shared:
        monkeypatch.delenv("XDG_CACHE_HOME")
        theirs = shared / ("pcn-lab" if set_up == "sticky" else ".cache")
        monkeypatch.setenv(
            *(("XDG_CACHE_HOME", str(shared)) if set_up == "sticky" else ("HOME", str(shared)))
        )
        as_nobody(theirs.mkdir)
        for make in (cache_dir, lambda: build_program(program())):
            with pytest.raises(BuildError) as refusal:
                make()
            message = str(refusal.value)
            assert message.startswith(f"no cache there: {theirs} belongs to nobody (uid {NOBODY})")
            assert message.endswith(": set XDG_CACHE_HOME to a folder of your own")
        assert list(theirs.iterdir()) == []


@pytest.mark.root
@pytest.mark.parametrize("mask", UMASKS)
def test_another_user_can_put_nothing_into_the_cache(mask, monkeypatch):
    with shared_folder() as shared:
        monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "new" / "cache"))
        with umask(mask):
            built = build_program(program())
            inner = [cache_dir(name) for name in ("runs", "p4")]

        def tries() -> list[str]:
            paths = [
                built,
                *(folder / "planted" for folder in (built.parent, built.parent.parent, *inner)),
            ]
            return [refused(lambda path=path: path.write_bytes(b"")) for path in paths]

        assert as_nobody(tries) == ["PermissionError"] * 5


@pytest.mark.root
def test_object_of_another_user_is_built_again():
    """As if one had come there when the folder was open to all; and one that all may write."""
    built = build_program(program())
    content = built.read_bytes()
    for spoil in (lambda: os.chown(built, NOBODY, NOBODY), lambda: built.chmod(0o777)):
        spoil()
        assert not intact(built)
        assert build_program(program()) == built
        assert (built.stat().st_uid, built.stat().st_mode & 0o022) == (0, 0)
        assert built.read_bytes() == content


def test_cache_that_others_may_write_is_refused_with_its_way_out(cache: Path):
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(BuildError) as refusal:
        cache_dir()
    assert str(refusal.value) == (
        f"no cache there: {cache} may be written by others (mode 0777): "
        "remove it, or set XDG_CACHE_HOME to a folder of your own"
    )


def test_cache_that_is_mounted_noexec_is_named_in_one_line(tmp_path):
    program = (
        "from pathlib import Path; from pcn.softswitch.cache.objects import COMMON_FLAGS, "
        "BuildError, build, load\n"
        "try: load(build('libanswer', ['int answer;'], 'of a test', COMMON_FLAGS, Path('.')))\n"
        "except BuildError as error: print(error)\n"
    )
    script = 'mount -t tmpfs -o noexec tmpfs "$1" && XDG_CACHE_HOME="$1" exec "$2" -c "$3"'
    words = [
        "unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", str(tmp_path),
        sys.executable,
    ]  # fmt: skip
    done = subprocess.run([*words, program], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stdout.startswith(f"cannot load {tmp_path}/pcn-lab/libanswer")
    assert "mounted noexec? Set XDG_CACHE_HOME" in done.stdout
