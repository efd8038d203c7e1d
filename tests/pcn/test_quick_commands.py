"""What keeps commands quick beside a network that takes half of the machine: they load little, and
write tables that need no folding without rich, which look the same."""

import contextlib
import io
import string
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st
from waiting import LIMIT_S

from pcn.commands import common, output

# Without spaces at the ends, which rich takes away
_WORD = st.text(string.ascii_letters + string.digits + "-+.,/%", min_size=1, max_size=30)
_MARKED = st.text("[]:/\\ab", min_size=1, max_size=12)
_CELL = st.one_of(
    st.just(""), _WORD, _MARKED, st.integers(-9, 10**9), st.builds("{} {}".format, _WORD, _WORD)
)
_TABLES = st.integers(1, 6).flatmap(
    lambda columns: st.tuples(
        st.lists(
            st.builds("\n".join, st.lists(_WORD, min_size=1, max_size=3)),
            min_size=columns,
            max_size=columns,
        ),
        st.lists(st.lists(_CELL, min_size=columns, max_size=columns), max_size=6),
    )
)


def _printed(columns: list[str], rows: list[list[object]]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        common.print_table("a title", columns, rows)
    return out.getvalue()


@given(_TABLES)
def test_table_looks_as_rich_prints_it(table):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(common, "_print_folded", lambda *_: pytest.fail("it needs no folding"))
        plain = _printed(*table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(common, "_plain", lambda *_: [])
        assert plain == _printed(*table)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("terminal", "bold"), [("xterm", 2), ("dumb", 0)])
def test_header_is_bold_where_the_terminal_can(terminal, bold, monkeypatch):
    monkeypatch.setenv("TERM", terminal)
    with contextlib.redirect_stdout(_Terminal()) as out:
        common.print_table("a title", ["flow"], [["1"]])
    assert out.getvalue().count("\x1b[") == bold


@pytest.mark.parametrize("cell", ["\u6f22", "two\nlines", "long " * 200])
def test_cell_that_is_wide_or_no_text_is_left_to_rich(cell, monkeypatch):
    folded: list[str] = []
    monkeypatch.setattr(common, "_print_folded", lambda title, *_: folded.append(title))
    assert _printed(["one", "two"], [["a", cell]]) == ""
    assert folded == ["a title"]


@pytest.mark.parametrize("beside", ["a", "\u6f22"])
def test_names_of_a_table_do_not_command_the_terminal(beside):
    """A program's names are its author's, and a switch's program is whose client loaded it."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        common.print_table(
            "s1 \x1b]0;title\x07", ["one", "two"], [["\x1b[2J\x9b1m\r", f"{beside}[/b][red]x"]]
        )
    printed = out.getvalue()
    assert "s1 \\x1b]0;title\\x07" in printed
    assert "\\x1b[2J\\x9b1m\\r" in printed
    assert f"{beside}[/b][red]x" in printed
    assert not set(printed) & {"\x1b", "\x07", "\x9b", "\r"}


@pytest.mark.parametrize("printed_by", [output.say, output.tell, output.note])
def test_lines_do_not_command_the_terminal(printed_by, capsys):
    printed_by("a\tb \x1b[2J\r\nc")
    printed = "".join(capsys.readouterr())
    assert printed.removeprefix("note: ") == "a\tb \\x1b[2J\\r\nc\n"


@pytest.mark.parametrize(
    "module",
    ["pcn.commands.network", "pcn.lab.links", "pcn.lab.flows", "pcn.lab.pace", "pcn.lab.attach"],
)
def test_module_of_status_and_flow_list_loads_no_grpc(module):
    """They take longer to load than all else that `pcn status` does."""
    code = (
        f"import sys, {module}; slow = {{'grpc', 'google.protobuf', 'rich', 'numpy'}}; "
        "print(sorted(slow & {*sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LIMIT_S
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("code", "without"),
    [
        (
            "import pcn.hosts.agent; pcn.hosts.agent.find_scheme('pcn-w')",
            "pcn.hosts.algorithms.swift",
        ),
        ("import pcn.lab.nodes", "setuptools"),
        ("import pcn.softswitch.cli, pcn.softswitch.serve", "dataclasses"),
        ("import pcn.cli; pcn.cli.run(['--help'])", "pcn.hosts.client"),
        ("import pcn.cli; pcn.cli.run(['run', 'traffic', '--help'])", "pcn.virtualnet"),
    ],
)
def test_process_of_a_network_loads_what_it_uses(code, without):
    # traceback loads dataclasses itself from Python 3.14 on
    text = (
        f"import sys, traceback; early = {{*sys.modules}}; {code}; late = {{*sys.modules}} - early"
    )
    words = [sys.executable, "-c", f"{text}; print({without!r} in late)"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=LIMIT_S)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.filterwarnings(
    "ignore:distutils:DeprecationWarning"
)  # of setuptools', which Mininet compares by
def test_mininet_without_setuptools_compares_versions():
    from mininet.node import StrictVersion

    import pcn.lab.nodes  # noqa: F401

    assert StrictVersion("1.9") < StrictVersion("1.10")
