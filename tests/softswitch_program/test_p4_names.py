"""Names of P4 files before p4c, which puts them into a shell's command line: no name is more than a
name."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pcn.softswitch import p4c

# As p4c's preprocessor: the name goes into a shell's line. It "compiles" by writing the two files.
COMPILER = """#!/bin/sh
for last; do :; done
case "$1" in --version) echo "Version 1.2.5 (SHA: abc)"; exit;; esac
while [ $# -gt 1 ]; do
    case "$1" in -o) json=$2;; --p4runtime-files) info=$2;; esac
    shift
done
sh -c "cat $last" > "$json" || exit 1
echo > "$info"
"""


@pytest.fixture
def compiler(tmp_path) -> Path:
    path = tmp_path / "p4c-bm2-ss"
    path.write_text(COMPILER)
    path.chmod(0o755)
    return path


NAMES = (
    "x$(touch PWNED).p4",
    "x`touch PWNED`.p4",
    "x;touch PWNED;.p4",
    "x y.p4",
    "x\ny.p4",
    "x'.p4",
    "ä.p4",
    "x|y.p4",
)


@pytest.mark.parametrize("name", NAMES)
def test_name_with_more_than_letters_is_refused(compiler: Path, tmp_path, monkeypatch, name):
    monkeypatch.setenv("P4C", str(compiler))
    folder = tmp_path / "exercise"
    folder.mkdir()
    (folder / name).write_text("{}")
    with pytest.raises(p4c.P4Error, match="rename it"):
        p4c.compiled(folder / name, (), tmp_path)
    assert not list(tmp_path.rglob("PWNED"))


def test_name_of_the_folder_reaches_no_shell(compiler: Path, tmp_path, monkeypatch):
    monkeypatch.setenv("P4C", str(compiler))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "my $(touch PWNED) folder"
    folder.mkdir()
    (folder / "-x.p4").write_text("{}")
    json, _ = p4c.compiled(folder / "-x.p4", (), tmp_path)
    assert json.read_text() == "{}"
    assert not list(tmp_path.rglob("PWNED"))


@given(st.text(max_size=12))
def test_names_that_a_compiler_gets_are_words_of_a_shell(name):
    """By the shell itself: what isn't refused comes out of it as it went in, as one word."""
    source = f"{name}.p4"
    if p4c._PLAIN.fullmatch(source):
        done = subprocess.run(
            ["sh", "-c", f'printf "%s\\n" ./{source}'], capture_output=True, text=True, check=True
        )
        assert done.stdout == f"./{source}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"// \xff\n", "p4c refused"),
        (b'#include "' + 5000 * b"a" + b'"', "a: File name too long"),
        (1_000_000 * b"\n", "p4c refused"),
    ],
    ids=["latin", "long", "empty lines"],
)
def test_source_that_is_no_text_or_names_no_file_is_refused_in_a_line(
    text, message, tmp_path, monkeypatch
):
    compiler, source = tmp_path / "p4c", tmp_path / "x.p4"
    compiler.write_text("#!/bin/sh\necho Version 1.2.5\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("P4C", str(compiler))
    source.write_bytes(text)
    with pytest.raises(p4c.P4Error, match=message) as caught:
        p4c.compiled(source, (), tmp_path)
    assert len(str(caught.value)) < 1000
