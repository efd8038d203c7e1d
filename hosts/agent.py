"""The live host agent's command line: one process a host, with all of its NICs.

    python -m pcn.hosts.agent --name h0 --iface h0-eth0 --mac 00:00:00:00:00:01 --ip 10.0.0.1
        --line-rate 10e9 --dilation 500 --scheme pcn --param w_min=0.1/4 --param period_s=500e-6
        --control h0.sock --log h0.jsonl

A host with several NICs has --iface, --line-rate, --delay and --link once for each, in the order of
its ports.

Rates and times here and in commands are nominal; bare numbers, which programs write, are in SI
units. The agent writes a line "ready" to `--ready-fd` when it is ready, and ends with status 0 at
SIGTERM, SIGINT or the shutdown command; errors are one line on stderr and status 1.

Commands of the control socket (JSON lines, see `pcn.hosts.control`; `pcn.hosts.client` is their
Python face):

    start     flow dst_ip dst_mac [size_bytes] [duration_s] [rate_bps] [payload_bytes] [dscp] [at:
              time.monotonic()]
    stop      flow
    routes    usual now: ports on a shortest path, by IP address, with all links and with those that
              are up
    list      -> the flows sent, as in stats
    stats     -> pcn.hosts.stats.AgentStats
    clock     epoch: the reading of time.monotonic() from which reports count
    reset     forget flows that ended, and what was received; counters start anew
    shutdown
"""

from __future__ import annotations

if __name__ == "__main__":
    from pcn.base import startup

    startup.begin()

import argparse
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from pcn.softswitch.cache.objects import BuildError
from pcn.softswitch.errors import StartError
from pcn.softswitch.pace import Place
from pcn.softswitch.tick import TICK_NS

from .algorithms import SchemeError, find_scheme
from .control import CommandError, ControlError
from .host import Agent, AgentSettings, NicSettings
from .packet_socket import PortError
from .structures import LOOP_MOST_PORTS
from .wire import WireError


def parser() -> argparse.ArgumentParser:
    """Returns the options."""
    result = argparse.ArgumentParser(
        prog="python -m pcn.hosts.agent", description="PCN Lab's host agent."
    )
    result.add_argument("--name", required=True, help="the host's name in reports")
    result.add_argument(
        "--iface", required=True, action="append", help="network interface, e.g. h0-eth0"
    )
    result.add_argument("--mac", required=True)
    result.add_argument("--ip", required=True)
    result.add_argument(
        "--line-rate",
        required=True,
        action="append",
        type=_positive,
        metavar="BPS",
        help="nominal, e.g. 10e9",
    )
    result.add_argument(
        "--dilation", default=1.0, type=_positive, metavar="K", help="time passes K times slower"
    )
    result.add_argument(
        "--delay",
        default=[],
        action="append",
        type=_not_negative,
        metavar="S",
        help="delay of the link, nominal (0)",
    )
    result.add_argument(
        "--switch-tick",
        default=TICK_NS / 1e9,
        type=_positive,
        metavar="S",
        help="tick of the clock by which switches stamp telemetry, real time (1e-6)",
    )
    result.add_argument(
        "--seed", default=1, type=int, metavar="N", help="decides the phases of NP windows"
    )
    result.add_argument(
        "--scheme", default="pcn", help="a name of `pcn scheme list`, or FILE.py:NAME"
    )
    result.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="setting of the scheme"
    )
    result.add_argument(
        "--control", required=True, type=Path, metavar="PATH", help="the control socket"
    )
    result.add_argument("--log", type=Path, metavar="PATH", help="JSON lines, see hosts/log.py")
    result.add_argument(
        "--trace", type=_positive, metavar="S", help="log flows' progress every S nominal seconds"
    )
    result.add_argument(
        "--pace",
        type=_pace,
        metavar="S@FILE:SLOT",
        help=(
            "how late frames may leave, and the place on the network's board where the agent "
            "reports whether they do"
        ),
    )
    result.add_argument(
        "--link",
        default=[],
        action="append",
        type=_link,
        metavar="MEMORY:BELL",
        help="descriptors of a link in memory to the host's switch",
    )
    result.add_argument("--ready-fd", type=int, metavar="N")
    return result


def settings(arguments: argparse.Namespace) -> AgentSettings:
    """Raises SchemeError or CommandError."""
    number = len(arguments.iface)
    for name in ("line_rate", "delay", "link"):
        values = getattr(arguments, name)
        if values and len(values) != number:
            option = name.replace("_", "-")
            raise CommandError(
                f"--{option} is there {len(values)} times for {number} --iface: give one for each"
            )
    if number > LOOP_MOST_PORTS:
        raise CommandError(f"{number} NICs: a host has {LOOP_MOST_PORTS} at most")
    parameters: dict[str, str | float] = {}
    for setting in arguments.param:
        name, equals, value = setting.partition("=")
        if not equals:
            raise SchemeError(f"--param {setting!r}: write NAME=VALUE")
        parameters[name] = _setting(value)
    return AgentSettings(
        name=arguments.name,
        nics=tuple(
            NicSettings(*fields)
            for fields in zip(
                arguments.iface,
                arguments.line_rate,
                arguments.delay or [0.0] * number,
                arguments.link or [None] * number,
                strict=True,
            )
        ),
        mac=arguments.mac,
        ip=arguments.ip,
        dilation=arguments.dilation,
        scheme=find_scheme(arguments.scheme).configure(parameters),
        control=arguments.control,
        log=arguments.log,
        seed=arguments.seed,
        trace_s=arguments.trace,
        switch_tick_s=arguments.switch_tick,
        pace=arguments.pace,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the status of the process."""
    arguments = parser().parse_args(argv)
    # As soon as there is something to remove; once the agent runs, it takes signals itself.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with Agent(settings(arguments)) as agent:
            if arguments.ready_fd is not None:
                os.write(arguments.ready_fd, b"ready\n")
                os.close(arguments.ready_fd)
            agent.run()
    except (
        SchemeError,
        WireError,
        CommandError,
        ControlError,
        PortError,
        BuildError,
        StartError,
        OSError,
    ) as error:
        print(f"agent {arguments.name}: {error}", file=sys.stderr)
        return 1
    return 0


def _setting(text: str) -> str | float:
    """Returns a number in SI units, as programs write it, or text with a unit."""
    try:
        return float(text)
    except ValueError:
        return text


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} must be above 0")
    return value


def _pace(text: str) -> tuple[float, Place]:
    tolerance, _, place = text.partition("@")
    return _positive(tolerance), Place.parse(place)


def _link(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,7}):(\d{1,7})", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r}: write MEMORY:BELL, two descriptors, as 5:6")
    return int(match[1]), int(match[2])


def _not_negative(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} must be 0 or more")
    return value


if __name__ == "__main__":
    sys.exit(main())
