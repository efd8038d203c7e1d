"""`pcn doctor`."""

from __future__ import annotations

from dataclasses import asdict

import click

from controller.commands.common import json_option, print_json, print_table


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Say what this machine lacks.

    And the command that brings it. Fails if something that is needed is missing.

    \b
    Examples:
      pcn doctor
      pcn doctor --json
    """
    from controller.doctor import checks

    found = checks()
    if as_json:
        print_json([asdict(check) for check in found])
    else:
        print_table(
            "PCN Lab on this machine",
            ("", "what", "for", "found"),
            [
                (
                    "ok" if check.present else "MISSING" if check.needed else "optional",
                    check.name,
                    check.what_for,
                    check.found,
                )
                for check in found
            ],
        )
        for check in found:
            if not check.present:
                click.echo(f"to get {check.name}: {check.remedy}")
    missing = [check.name for check in found if check.needed and not check.present]
    if missing:
        raise click.ClickException(f"missing: {', '.join(missing)}")
    if not as_json:
        click.echo("everything that is needed is here")
