"""The manual page that `make dist` puts into the wheels."""

import re
import subprocess
from collections.abc import Iterator

import click
import needs
import pytest

from pcn.cli import pcn
from release import man

GROFF = needs.Need("no groff on PATH; with it", "make unit", optional=True)


@pytest.fixture(scope="module")
def page() -> str:
    return man.page("1.2.3", "2026-01-02")


def commands(context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            assert command is not None
            yield from commands(click.Context(command, parent=context, info_name=name))


def test_page_has_each_command_with_its_options_and_examples(page: str):
    assert page.startswith('.TH PCN 1 "2026-01-02" "PCN Lab 1.2.3"\n.SH NAME\npcn \\- ')
    sections = dict(re.findall(r'^\.SS "(.*)"\n((?:(?!\.S[SH] ).*\n)*)', page, re.MULTILINE))
    contexts = list(commands(click.Context(pcn, info_name="pcn", **pcn.context_settings)))[1:]
    assert list(sections) == [context.command_path for context in contexts]
    for context in contexts:
        text = sections[context.command_path].replace("\\-", "-")
        for param in context.command.get_params(context):
            if isinstance(param, click.Option) and not param.hidden:
                assert all(
                    re.search(rf"^\.B .*{re.escape(name)}\b", text, re.MULTILINE)
                    for name in param.opts
                )
        for line in (context.command.help or "").partition("Examples:\n")[2].splitlines():
            assert line.strip() in text
    assert "dumbbell" in sections["pcn run"].partition("Scenarios")[2]


def test_groff_finds_no_fault_in_the_page(page: str):
    groff = needs.program("groff", GROFF)
    done = subprocess.run(
        [groff, "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "Exit code 3 where a check isn't met" in " ".join(done.stdout.split())


def test_line_that_begins_as_a_request_is_text():
    assert man._text(".venv 'a' \\b -c") == "\\&.venv 'a' \\eb \\-c"
    assert man._text("'a") == "\\&'a"
