"""`pcn doctor`."""

from __future__ import annotations

from dataclasses import asdict

import click

from pcn.commands.common import print_json, print_table
from pcn.commands.output import output_options, say


@click.command()
@output_options
def doctor(as_json: bool) -> None:
    """Report software that this machine lacks.

    And the command that brings it. Fails if something that is needed is missing: for virtual time;
    as root, with the extra `live`, for live networks too.

    \b
    Examples:
      pcn doctor
      pcn doctor --json
    """
    from pcn.doctor import checks, missing

    checked = checks()
    lacking = missing(checked)
    if as_json:
        print_json([asdict(check) for check in checked])
    else:
        print_table(
            "PCN Lab on this machine",
            ("", "what", "for", "found"),
            [
                (
                    "ok" if check.present else "MISSING" if check.name in lacking else "optional",
                    check.name,
                    check.what_for,
                    check.found,
                )
                for check in checked
            ],
        )
        for check in checked:
            if not check.present:
                say(f"to get {check.name}: {check.remedy}")
    if lacking:
        raise click.ClickException(f"missing: {', '.join(lacking)}")
    if not as_json:
        live = [check.name for check in checked if check.live and not check.present]
        if live:
            say(f"virtual time has all that it needs; live networks need {', '.join(live)}")
        else:
            say("everything that is needed is here")
