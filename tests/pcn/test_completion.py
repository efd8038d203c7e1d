"""Scripts of `pcn completion`, each in its shell: a word that Tab completes."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import needs
import pytest
from waiting import LIMIT_S

from pcn.base.python_process import python_command
from pcn.complete import _completer

SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], "source {script}"),
    "zsh": (["-f", "-i"], "autoload -Uz compinit; compinit -u -D; source {script}"),
    "fish": (["--no-config", "-i"], "source {script}"),
}


@pytest.mark.parametrize(
    "name", ["$(touch x)", "`x`", "a;b", "a b", "a\nb", "\x1b[2J", "'", '"', "a\\b", "~x", "*"]
)
def test_name_that_is_no_plain_word_is_not_offered(name):
    """A program's author chooses names, and any local user loads one into a network of `pcn p4
    run`."""
    complete = _completer(lambda _context: [name, "MyIngress.ipv4_lpm"])
    context = click.Context(click.Command("tables"))
    assert complete(context, click.Argument(["name"]), "") == ["MyIngress.ipv4_lpm"]


@pytest.mark.parametrize("shell", SHELLS)
def test_tab_completes_a_command_in_its_shell(shell, tmp_path):
    """As at a terminal: of `pcn tab`, `pcn tables`."""
    program = needs.program(shell, needs.SHELLS[shell])
    script = tmp_path / f"pcn.{shell}"
    completion = subprocess.run(
        python_command("pcn", "completion", shell), capture_output=True, text=True, check=True
    )
    script.write_text(completion.stdout)
    options, load = SHELLS[shell]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TERM": "xterm",
    }
    environment |= {"HOME": str(tmp_path), "PROMPT": "", "PS1": "$ ", "HISTFILE": ""}
    ours, theirs = pty.openpty()
    command = ["setsid", "--ctty", "--wait", program, *options]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=tmp_path
    ) as process:
        os.close(theirs)
        seen = b""

        def until(text: bytes):
            nonlocal seen
            while text not in seen:
                seen += os.read(ours, 65536)

        os.write(ours, f"{load.format(script=script)}; echo load''ed\n".encode())
        until(b"loaded\r")
        seen = b""
        os.write(ours, b"pcn tab\t")
        until(b"tables")
        os.write(ours, b"\x15exit\n")
        with_end = process.wait(LIMIT_S)
    os.close(ours)
    assert with_end == 0
