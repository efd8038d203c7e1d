"""`pcn set`, `pcn pause`, `pcn resume`: what changes a network that is up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from pcn.commands.common import (
    Quantity,
    class_option,
    election_id_option,
    listing,
    network_option,
    print_json,
    print_table,
)
from pcn.commands.output import output_options, say, tell
from pcn.complete import complete_node, complete_port, complete_setting, complete_switch

if TYPE_CHECKING:
    from pcn.controller.marking_contract import Setting
    from pcn.lab.running import Running


def _settings() -> Iterator[tuple[str, str]]:
    from pcn.controller.settings import known

    for setting in known():
        yield setting.name, setting.meaning


@click.command("set", cls=listing("Settings, where the switch's program has them", _settings))
@click.argument("switch", shell_complete=complete_switch)
@click.argument(
    "words", nargs=-1, metavar="[PORT] [NAME=VALUE]...", shell_complete=complete_setting
)
@election_id_option()
@network_option
@output_options
def set_(
    switch: str, words: tuple[str, ...], election_id: int | None, network: str | None, as_json: bool
) -> None:
    """Change thresholds of SWITCH while it runs.

    At all its ports, or at PORT. Without NAME=VALUE it shows them. XON follows XOFF at its distance
    unless it is set too.

    \b
    Examples:
      pcn set s1
      pcn set s1 xoff=256KB
      pcn set s1 2 xoff=128KB xon=64KB
    """
    from pcn.controller import settings
    from pcn.lab.attach import attach
    from pcn.lab.running import endpoint

    ports = [int(word) for word in words if word.isdecimal()]
    texts = [word for word in words if not word.isdecimal()]
    with attach(network, election_id) as lab:
        client = lab.switches[switch]
        if len(ports) > 1 or (ports and words[0] != str(ports[0])):
            raise click.UsageError("write it as SWITCH [PORT] NAME=VALUE...")
        for port in ports:
            endpoint(lab.topology, switch, port)
        values = dict(_value(text, settings.available(client)) for text in texts)
        if values:
            by_port = settings.change(lab.primary(switch), values, ports or None)
        else:
            by_port = {
                port: row
                for port, row in settings.read(client).items()
                if port in (ports or [port])
            }
        if as_json:
            print_json({str(port): row for port, row in by_port.items()})
            return
        _show_settings(lab, switch, by_port, settings.available(client))


def _show_settings(
    lab: Running, switch: str, by_port: dict[int, dict[str, float]], settings: Sequence[Setting]
) -> None:
    print_table(
        f"{switch}: settings",
        ("port", "link", *(_heading(setting) for setting in settings)),
        [
            (
                port,
                lab.topology.link_name(switch, port),
                *(_shown(row[setting.name], setting.kind) for setting in settings),
            )
            for port, row in by_port.items()
        ],
    )


def _heading(setting: Setting) -> str:
    return f"{setting.name}\nKB" if setting.kind == "size" else setting.name


def _shown(value: float, kind: str) -> str:
    return {"size": f"{value / 1e3:.3f}", "share": f"{value:.3%}"}.get(kind, f"{value:g}")


def _value(text: str, settings: Sequence[Setting]) -> tuple[str, float]:
    from pcn.controller.errors import UnknownNameError

    name, equals, raw = text.partition("=")
    kinds = {setting.name: setting.kind for setting in settings}
    if not (name and equals and raw):
        raise click.UsageError(f"{text!r}: write it as name=value, for instance xoff=256KB")
    if name not in kinds:
        raise UnknownNameError("setting", name, list(kinds))
    return name, Quantity(kinds[name], zero=True).convert(raw, None, None)


@click.command()
@click.argument("node", shell_complete=complete_node)
@click.argument("port", type=int, required=False, shell_complete=complete_port)
@click.option(
    "--for",
    "duration",
    type=Quantity("time"),
    help="Nominal time, e.g. 2ms (default: until `pcn resume`).",
)
@class_option
@network_option
@output_options
def pause(
    node: str,
    port: int | None,
    duration: float | None,
    traffic_class: int,
    network: str | None,
    as_json: bool,
) -> None:
    """Pause PORT of NODE by real PFC frames.

    The port receives them as if its neighbour had sent them: PAUSE again and again, RESUME at the
    end. Ctrl-C ends the pause early. NODE is a switch or a host, which has one port.

    \b
    Examples:
      pcn pause s1 3 --for 2ms
      pcn pause h0 --for 500us
    """
    from pcn.controller.texts import dilated_text
    from pcn.lab.attach import attach
    from pcn.lab.pause import pause as send
    from pcn.lab.running import endpoint

    with attach(network) as lab:
        end = endpoint(lab.topology, node, port)
        lasts = (
            "until `pcn resume`"
            if duration is None
            else f"for {dilated_text(duration, lab.record.dilation)}"
        )
        tell(f"{end} is paused {lasts}; Ctrl-C ends it")
        paused = send(lab, node, port, duration_s=duration, traffic_class=traffic_class)
    if as_json:
        print_json(asdict(paused))
        return
    ended = ", ended by `pcn resume`" if paused.resumed else ""
    say(
        f"{paused.port} class {paused.traffic_class} was paused for {paused.paused_s * 1e3:.3f} ms "
        f"nominal, by {paused.frames} PFC frames{ended}"
    )


@click.command()
@click.argument("node", shell_complete=complete_node)
@click.argument("port", type=int, required=False, shell_complete=complete_port)
@class_option
@network_option
@output_options
def resume(
    node: str, port: int | None, traffic_class: int, network: str | None, as_json: bool
) -> None:
    """Send a PFC RESUME to PORT of NODE.

    The port receives it as if its neighbour had sent it, and sends again. It ends a `pcn pause` of
    the port, too.

    \b
    Examples:
      pcn resume s1 3
      pcn resume h0
    """
    from pcn.lab.attach import attach
    from pcn.lab.pause import resume as send

    with attach(network) as lab:
        name = send(lab, node, port, traffic_class=traffic_class)
    if as_json:
        print_json({"port": name, "traffic_class": traffic_class})
    else:
        say(f"sent RESUME to {name}, class {traffic_class}")
