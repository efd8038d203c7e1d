"""Values on the command line: each reader takes a text, and raises ArgumentTypeError with what it
should have been."""

from __future__ import annotations

import argparse
import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # loaded where an option has such a value
    from pcn.base.units import Kind
    from pcn.softswitch.pace import Place

MAX_PORT: Final = 511
MAX_QUEUE: Final = 7
MESSAGE_BYTES: Final = 16_000_000
LOG_LEVELS: Final = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}
_LONGEST_S: Final = 60.0


def number(low: int, high: int) -> Callable[[str], int]:
    """Returns a reader of whole numbers in these bounds."""

    def parse_number(text: str) -> int:
        if not re.fullmatch(r"\d+", text) or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {low} to {high}")
        return int(text)

    return parse_number


def parse_rate(text: str) -> int:
    """Returns a rate in bit/s: 10M, 1.5G, 64k; 0: unshaped."""
    rate = _quantity("rate", text)
    if rate >= 2**63 or 0 < rate < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a rate from 1bit/s to 9e9Gbit/s, or 0: unshaped"
        )
    return round(rate)


def parse_delay(text: str) -> int:
    """Returns a time in ns: 1ms, 5us, 100ns; at most a minute."""
    delay_s = _quantity("time", text)
    if delay_s > _LONGEST_S:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time of at most a minute (as 5us or 1ms)"
        )
    return round(delay_s * 1e9)


def _quantity(kind: Kind, text: str) -> float:
    from pcn.base.units import quantity

    try:
        return quantity(kind, text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse_size(text: str) -> int:
    """Returns the bytes: 16MB, 1GB; at least 1MB, less than 2^31."""
    size = _quantity("size", text)
    if not 10**6 <= size < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size of 1MB to 2147MB")
    return round(size)


def per_port(parse_value: Callable[[str], int]) -> Callable[[str], tuple[int | None, int]]:
    """Returns a reader of [PORT=]VALUE; without a port: of all."""

    def parse_pair(text: str) -> tuple[int | None, int]:
        port, equals, value = text.rpartition("=")
        return (number(0, MAX_PORT)(port) if equals else None), parse_value(value)

    return parse_pair


def per_queue(
    parse_value: Callable[[str], int],
) -> Callable[[str], tuple[int | None, int | None, int]]:
    """Returns a reader of [PORT[/QUEUE]=]VALUE; without a port: of all, without a queue: of all of
    the port's."""

    def parse_triple(text: str) -> tuple[int | None, int | None, int]:
        place, equals, value = text.rpartition("=")
        port, slash, queue = place.partition("/")
        return (
            number(0, MAX_PORT)(port) if equals else None,
            number(0, MAX_QUEUE)(queue) if slash else None,
            parse_value(value),
        )

    return parse_triple


def parse_channel(text: str) -> tuple[int, tuple[int, int]]:
    """Reads PORT=DEVICE:PORT: a port, and the one at the other end of its link."""
    match = re.fullmatch(r"(\d+)=(\d+):(\d+)", text)
    if not match or max(int(match[1]), int(match[3])) > MAX_PORT or int(match[2]) >= 2**64:
        raise argparse.ArgumentTypeError(
            f"{text!r}: write PORT=DEVICE:PORT with ports up to {MAX_PORT}, as 4=2:1"
        )
    return int(match[1]), (int(match[2]), int(match[3]))


def parse_weights(text: str) -> tuple[int, tuple[int, ...]]:
    """Parses PORT=CLASS:WEIGHT,...: a port, and a weight a class, 0 where it has none."""
    match = re.fullmatch(r"(\d+)=((?:[0-7]:\d{1,5},)*[0-7]:\d{1,5})", text)
    pairs = [pair.split(":") for pair in match[2].split(",")] if match else []
    weights = {int(class_): int(weight) for class_, weight in pairs}
    if (
        not match
        or int(match[1]) > MAX_PORT
        or len(weights) < len(pairs)
        or not all(0 < weight < 2**16 for weight in weights.values())
    ):
        raise argparse.ArgumentTypeError(
            f"{text!r}: write PORT=CLASS:WEIGHT,... with a port up to {MAX_PORT}, each class once, "
            "and weights of 1 to 65535, as 2=3:3,4:1"
        )
    return int(match[1]), tuple(weights.get(class_, 0) for class_ in range(MAX_QUEUE + 1))


def parse_process_link(text: str) -> tuple[int, tuple[int, int, int]]:
    """Reads PORT=MEMORY:BELL:END: a port, two descriptors that this process was started with, and
    an end of the memory."""
    match = re.fullmatch(r"(\d+)=(\d{1,7}):(\d{1,7}):([01])", text)
    if not match or int(match[1]) > MAX_PORT:
        raise argparse.ArgumentTypeError(
            f"{text!r}: write PORT=MEMORY:BELL:END with a port up to {MAX_PORT} and an end, 0 or "
            "1, as 1=5:6:0"
        )
    return int(match[1]), (int(match[2]), int(match[3]), int(match[4]))


def parse_pace(text: str) -> tuple[int, Place]:
    """Reads TIME@FILE:SLOT: how late frames may be, in ns, and where to report."""
    from pcn.softswitch.pace import Place

    tolerance, _, place = text.partition("@")
    try:
        return parse_delay(tolerance), Place.parse(place)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
