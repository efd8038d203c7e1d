"""`pcn watch`: ports and flows, live, on the terminal or a page."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from pcn.commands.common import (
    Quantity,
    control_option,
    network_option,
    port_option,
    print_json,
    refuse,
)
from pcn.commands.output import described_output, is_quiet
from pcn.looks import LEAST_S, Looks

if TYPE_CHECKING:
    from pcn.lab.attach import Attached

_EVERY_S, _MOST_S = 1.0, 3600.0
_LOG_LINES = 20
"""Of a node's log, at most, each look."""


class _Address(click.ParamType):  # type: ignore[type-arg]  # generic in newer releases alone
    """[ADDRESS:]PORT, of loopback where there is no address."""

    name = "address"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        address, _, port = str(value).rpartition(":")
        if not port.isascii() or not port.isdigit() or int(port) > 65535:
            self.fail(
                f"{value!r}: a port is from 0 to 65535, as in 9500 or 192.0.2.1:9500", param, ctx
            )
        return address or "127.0.0.1", int(port)


@click.command()
@click.option(
    "--every",
    type=Quantity("time"),
    default=f"{_EVERY_S:g}s",
    show_default=True,
    metavar="TIME",
    help="Real time from one look to the next, at least 0.1s.",
)
@click.option("--once", is_flag=True, help="One look, printed, of the ports in use.")
@network_option
@described_output("A JSON object a line; with --once one, indented.")
@click.option(
    "--web", is_flag=True, help="A page for a browser on this machine; prints its address."
)
@port_option
@control_option
@click.option(
    "--prometheus",
    type=_Address(),
    metavar="[ADDRESS:]PORT",
    help="Metrics for Prometheus at /metrics (default address: loopback; port 0: a free one).",
)
def watch(
    every: float,
    once: bool,
    network: str | None,
    as_json: bool,
    web: bool,
    port: int,
    control: bool,
    prometheus: tuple[str, int] | None,
) -> None:
    """Watch ports and flows, live.

    Of each port of each switch: queue, pn (packets that a pause held up), PAUSE frames, marks, what
    it sends. Of each flow: rate, window and what of it is in flight, goodput, marks. All is
    nominal, over the time between two looks. Of any P4 network (`pcn p4 run`): queues and rates of
    its ports, and what hosts send and receive. On a terminal, arrows choose a port or a flow, whose
    series stand below; `?` lists the keys, `q` or Ctrl-C ends it.

    \b
    Examples:
      pcn watch
      pcn watch --once
      pcn watch --once --json
      pcn watch --web --control
      pcn watch --prometheus 9500
    """
    if is_quiet() and not (as_json or prometheus):
        raise click.UsageError("--quiet leaves nothing to see: add --json or --prometheus")
    if prometheus:
        refuse("not beside --prometheus", "once", "web")
    if web:
        refuse("not beside --web", "once", "as_json")
    if (port or control) and not web:
        raise click.UsageError("--port and --control are of the page: add --web")
    if not LEAST_S <= every <= _MOST_S:
        raise click.UsageError(f"--every: from {LEAST_S:g}s to {_MOST_S:g}s are possible")
    if web:
        from pcn.topologies import extras

        extras.require("web")
    with contextlib.ExitStack() as stack, contextlib.suppress(KeyboardInterrupt):
        with _notice("connecting ..."):
            from pcn.lab.attach import attach
            from pcn.lab.observe import Observer

            lab = stack.enter_context(attach(network))
            looks = Looks(lambda: Observer(lab), every)
        if web:
            _page(lab, looks, port, control)
        elif once:
            _once(lab, looks, as_json)
        elif prometheus:
            _metrics(lab, looks, prometheus, as_json)
        elif as_json or not sys.stdout.isatty():
            _lines(lab, looks, as_json)
        else:
            _live(lab, looks)


@contextlib.contextmanager
def _notice(text: str) -> Iterator[None]:
    """Prints a text on a terminal while the block runs, and removes it afterwards."""
    if is_quiet() or not sys.stderr.isatty():
        yield
        return
    click.echo(text, nl=False, err=True)
    try:
        yield
    finally:
        click.echo("\r\x1b[K", nl=False, err=True)


def page_of(name: str, port: int, control: bool) -> None:
    """Serves the page of a network that is up, with a look a second, until Ctrl-C or its end.
    Raises LabError."""
    from pcn.lab.attach import attach
    from pcn.lab.observe import Observer

    with attach(name) as lab:
        _page(lab, Looks(lambda: Observer(lab), _EVERY_S), port, control)


def _page(lab: Attached, looks: Looks, port: int, control: bool) -> None:
    from pcn.web.show import show_network

    show_network(lab, looks.look, looks.wait, port, control)


def _once(lab: Attached, looks: Looks, as_json: bool) -> None:
    if as_json:
        looks.wait()
        print_json(asdict(looks.look()))
        return
    from rich.console import Console  # while there is time

    from pcn.view import picture

    looks.wait()
    now = looks.look()
    console = Console(highlight=False)
    console.print(picture(lab.record, now, console.width, idle=False))


def _lines(lab: Attached, looks: Looks, as_json: bool) -> None:
    from rich.console import Console

    from pcn.view import picture

    console = Console(highlight=False)
    while True:
        looks.wait()
        now = looks.look()
        if as_json:
            click.echo(json.dumps(asdict(now)))
        else:
            console.print(picture(lab.record, now, console.width))


def _metrics(lab: Attached, looks: Looks, place: tuple[str, int], as_json: bool) -> None:
    """Serves the newest look; prints the address, and with --json each look."""
    from pcn.prometheus import serving, text

    now = ""
    with serving(*place, lambda: now) as url:
        click.echo(url, err=True)
        while True:
            looks.wait()
            look = looks.look()
            now = text(look, lab.record.name)
            if as_json:
                click.echo(json.dumps(asdict(look)))


def _live(lab: Attached, looks: Looks) -> None:
    from pcn.commands.log import as_text
    from pcn.escape import visible
    from pcn.lab.logs import PERIODIC, Reader
    from pcn.terminal import watch

    log = Reader(lab.record, without=PERIODIC)
    watch(lab.record, looks, lambda: [visible(as_text(line)) for line in log.new(_LOG_LINES)])
