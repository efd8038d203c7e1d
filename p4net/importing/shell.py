"""Commands that a script gives a node or the machine, read as far as they are a network's:
addresses, routes, neighbours, and simple_switch_CLI with a file of commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator
from typing import NamedTuple

from pcn.p4net.importing.recorder import RECORDER, TableCommands

_PARTS = re.compile(r"\s*(?:;|&&|\n)\s*")
_CLI = re.compile(r"(?i)(?:^|[/_])(?:simple_switch|runtime|sswitch|bm)_?cli(?:\.py)?$")
_SAFE = re.compile(r"[\w./:-]+\Z", re.ASCII)
_MUTE = re.compile(
    r"(?:\S*/)?(?:sysctl\b.*ipv6|ethtool\b|echo\b|true\b|sleep\b|ping6?\b|wait\b|kill\b|pkill\b"
    r"|killall\b|ifconfig\s+\S+\s+(?:up|promisc)|ip\s+link\s+set\s+(?:dev\s+)?\S+\s+up|rm\b|mkdir\b"
    r"|mn\s+-c|clear\b|chmod\b|chown\b|ls\b|cat\b|pwd\b|route\s*(?:-n)?$|ifconfig\s*\S*$"
    r"|arp\s*(?:-[an]+)?$|ip\s+(?:a|addr|r|route|neigh)(?:\s+show)?$)"
)
"""Commands without an effect on the network as it runs here: IPv6 and offloads are off."""


class Configured(NamedTuple):
    """A command of a host: one of its routes or neighbours (`command`), or its address or MAC."""

    command: str = ""
    ip: str = ""
    mac: str = ""


def parts(command: str) -> Iterator[str]:
    """Yields the commands of a line of shell, without `sudo` and without what waits for them."""
    for part in _PARTS.split(command):
        text = part.strip().removesuffix("&").strip()
        text = re.sub(r"^(?:sudo(?:\s+-\w+)*\s+)+", "", text)
        if text:
            yield text


def is_mute(command: str) -> bool:
    """Returns whether a command changes nothing of a network as it runs here."""
    return _MUTE.match(command) is not None


def configured(command: str, host: str, further: Collection[str] = ()) -> Configured | None:
    """Returns what a command configures of a host; None: nothing that a network's file has, as of
    its `further` interfaces, by which it doesn't send. The first gets the name that it has here,
    eth0."""
    try:
        words = [
            word if word in further else re.sub(rf"\A{re.escape(host)}-eth\d+\Z", "eth0", word)
            for word in _words(command)
        ]
    except ValueError:
        return None
    if not all(_SAFE.match(word) and word not in further for word in words):
        return None
    text = " ".join(words)
    match words:
        case ["arp", *rest] if "-s" in rest and len(rest) > rest.index("-s") + 2:
            return Configured(command=text)
        case ["ip", "neigh" | "neighbor" | "neighbour", "add" | "replace" | "change", *rest] if (
            "lladdr" in rest
        ):
            return Configured(command=text)
        case ["route", "add", _, *_] | ["ip", "route", "add" | "replace" | "change", _, *_]:
            return Configured(command=text)
        case ["ifconfig", _, "hw", "ether", mac]:
            return Configured(mac=mac)
        case ["ip", "link", "set", *rest] if "address" in rest[:-1]:
            return Configured(mac=rest[rest.index("address") + 1])
        case ["ip", "addr" | "address" | "a", "add", ip, "dev", _, *_] if ":" not in ip:
            return Configured(ip=ip)
        case ["ifconfig", _, ip, "netmask", mask, *_]:
            return Configured(ip=f"{ip}/{mask}")
        case ["ifconfig", _, ip, *_] if re.fullmatch(r"[0-9.]+(?:/[0-9]+)?", ip):
            return Configured(ip=ip)
    return None


def _words(command: str) -> list[str]:
    words = shlex.split(command)
    return [words[0].rpartition("/")[2], *words[1:]] if words else words


def table_commands(command: str, switch: str = "") -> bool:
    """Records a switch's commands that a line of shell gives simple_switch_CLI; returns whether it
    is such a line. `switch`: on which the line runs."""
    text, _, piped = command.rpartition("|")
    words, source = _redirected(piped if text else command)
    if not words or (
        not _CLI.search(words[0]) and not any(_CLI.search(word) for word in words[:3])
    ):
        return False
    echo = re.match(r"\s*(?:echo(?:\s+-\w+)*|printf)\s+(.*)\Z", text, re.DOTALL) if text else None
    listed = re.match(r"\s*cat\s+(\S+)\s*\Z", text) if text else None
    lines = echo[1].strip().strip("\"'").replace("\\n", "\n") if echo else ""
    path = source or (listed[1] if listed else "")
    if path or lines:
        RECORDER.tables.append(TableCommands(switch, port_of(words), path, lines))
    return True


def _redirected(command: str) -> tuple[list[str], str]:
    """Returns a command's words, and the file that it reads."""
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars="<>")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return [], ""
    source, words_left, place = "", list[str](), 0
    while place < len(words):
        if words[place] in ("<", ">", ">>", "<<<") and place + 1 < len(words):
            source = words[place + 1] if words[place] == "<" else source
            place += 2
            continue
        words_left.append(words[place])
        place += 1
    return [word for word in words_left if word != "sudo"], source


def is_cli(words: list[str]) -> bool:
    """Returns whether words start simple_switch_CLI, or a script of its name."""
    return any(_CLI.search(word) for word in words[:3])


def port_of(words: list[str]) -> int:
    """Returns the Thrift port that words name; 9090 where they name none."""
    for place, word in enumerate(words):
        name, equals, number = word.partition("=")
        if name == "--thrift-port":
            number = number if equals else next(iter(words[place + 1 : place + 2]), "")
            return int(number) if number.isdigit() else 0
    numbers = [int(word) for word in words[1:] if word.isdigit() and len(word) <= 5]
    return numbers[-1] if numbers else 9090
