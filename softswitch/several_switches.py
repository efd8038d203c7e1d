"""A file that starts several switches in one process: a line for each, with its options."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from pcn.base import inputs
from pcn.softswitch.options import Channel, OptionError, Options, parse

MOST = 1024
_OPTION = "--together"


def parse_all(arguments: Sequence[str]) -> list[Options]:
    """Returns the switches of a command line: one, or those of a file. Raises OptionError."""
    words = list(arguments)
    if _OPTION not in words:
        options = parse(words)
        if options.channels or options.process_links or options.namespace is not None:
            raise OptionError(
                f"--channel, --process-link and --namespace stand in a file of {_OPTION}"
            )
        return [options]
    if len(words) != 2 or words[0] != _OPTION:
        raise OptionError(
            f"{_OPTION} FILE stands alone: each line of the file has a switch's options"
        )
    return parse_file(Path(words[1]))


def parse_file(path: Path) -> list[Options]:
    """Returns the switches of a file; empty lines, and what follows #, count for nothing. Raises
    OptionError."""
    try:
        lines = inputs.read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        ) from error
    by_device: dict[int, Options] = {}
    for number, line in enumerate(lines, start=1):
        where = f"{path}, line {number}"
        try:
            words = shlex.split(line, comments=True)
            if not words:
                continue
            if _OPTION in words:
                raise OptionError(f"{_OPTION} stands on the command line alone")
            options = parse(words)
        except (OptionError, ValueError) as error:
            raise OptionError(f"{where}: {error}") from None
        if options.manual_clock:
            raise OptionError(f"{where}: switches of one process have the live clock")
        if options.device_id in by_device:
            raise OptionError(
                f"{where}: device id {options.device_id} is another line's: each switch has its own"
            )
        by_device[options.device_id] = options
    if not 0 < len(by_device) <= MOST:
        raise OptionError(f"{path} has {len(by_device)} switches: there may be 1 to {MOST}")
    for options in by_device.values():
        for channel in options.channels:
            _check(options, channel, by_device, path)
        for port in options.process_links:
            if port not in dict(options.interfaces) or port in {
                channel.port for channel in options.channels
            }:
                raise OptionError(
                    f"{path}: device {options.device_id}: --process-link {port}=...: port {port} "
                    "needs an interface, and no --channel"
                )
    return list(by_device.values())


def _check(options: Options, channel: Channel, switches: dict[int, Options], path: Path) -> None:
    """Both ends of a link in memory are ports, and name each other."""
    here = (
        f"{path}: device {options.device_id}: --channel "
        f"{channel.port}={channel.device_id}:{channel.other_port}"
    )
    if channel.port not in dict(options.interfaces):
        raise OptionError(
            f"{here}: port {channel.port} has no interface: add -i {channel.port}@INTERFACE"
        )
    peer = switches.get(channel.device_id)
    if peer is None:
        raise OptionError(f"{here}: no line has device id {channel.device_id}")
    back = Channel(channel.other_port, options.device_id, channel.port)
    if back not in peer.channels or (peer is options and channel.port == channel.other_port):
        raise OptionError(
            f"{here}: the other end needs --channel {back.port}={back.device_id}:{back.other_port}"
        )
