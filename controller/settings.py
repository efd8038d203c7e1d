"""Thresholds and marking parameters of a running switch, by port: read, changed, and read back.

change(lab.primary("s1"), {"xoff": 256e3})                # every port
change(lab.primary("s1"), {"xoff": 256e3}, ports=[3])     # one
read(lab.switches["s1"])[3]["xoff"]

Which settings there are, the switch's program says: it has the table they stand in, or it hasn't.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.configure import PfcPort, QcnPort, RedPort, pfc_entry, qcn_entry, red_entry
from controller.errors import UnknownNameError
from controller.switch import SwitchClient, TableAction, TableEntry
from topologies.errors import LabError


class SettingError(LabError):
    """A value that can't be: names the port and the reason."""


@dataclass(frozen=True)
class Setting:
    """A parameter of each port. `kind` is its unit: "size" (bytes), "count" or "share" (0 to 1)."""

    name: str
    kind: str
    what: str


@dataclass(frozen=True)
class _Table:
    """A table with an entry a port, and what of it can be set. `change` takes the entry's arguments and new values, and
    returns the new entry; it raises ValueError. `show` gives the values of an entry's arguments."""

    name: str
    settings: tuple[Setting, ...]
    show: Callable[[Mapping[str, int]], dict[str, float]]
    change: Callable[[int, Mapping[str, int], Mapping[str, float]], TableEntry]


def _show_pfc(arguments: Mapping[str, int]) -> dict[str, float]:
    return {
        "xoff": arguments["xoff_bytes"],
        "xon": arguments["xon_bytes"],
        "quanta": arguments["quanta"],
    }


def _change_pfc(port: int, arguments: Mapping[str, int], values: Mapping[str, float]) -> TableEntry:
    """XON keeps its distance from XOFF, unless it is given too."""
    fields = ("xoff_bytes", "xon_bytes", "quanta", "quantum_q16_us", "lossless")
    old = PfcPort(port, **{name: arguments[name] for name in fields})
    xoff = round(values.get("xoff", old.xoff_bytes))
    xon = round(values.get("xon", xoff - (old.xoff_bytes - old.xon_bytes)))
    return pfc_entry(replace(old, xoff_bytes=xoff, xon_bytes=xon, quanta=round(values.get("quanta", old.quanta))))


def _show_red(arguments: Mapping[str, int]) -> dict[str, float]:
    k_min, k_max = arguments["k_min_bytes"], arguments["k_max_bytes"]
    return {"k_min": k_min, "k_max": k_max, "p_max": arguments["slope_q48"] * (k_max - k_min) / 2**48}


def _change_red(port: int, arguments: Mapping[str, int], values: Mapping[str, float]) -> TableEntry:
    new = {**_show_red(arguments), **values}
    return red_entry(RedPort(port, round(new["k_min"]), round(new["k_max"]), new["p_max"]))


def _show_qcn(arguments: Mapping[str, int]) -> dict[str, float]:
    sample = (arguments["sample_min_bytes"] + arguments["sample_max_bytes"]) / 2
    return {"q_eq": arguments["q_eq_bytes"], "w": arguments["w"], "sample": round(sample)}


def _change_qcn(port: int, arguments: Mapping[str, int], values: Mapping[str, float]) -> TableEntry:
    new = {**_show_qcn(arguments), **values}
    return qcn_entry(QcnPort(port, round(new["q_eq"]), round(new["w"]), round(new["sample"])))


_TABLES = (
    _Table(
        "pfc_config",
        (
            Setting("xoff", "size", "bytes of an ingress port inside the switch above which it sends PAUSE"),
            Setting("xon", "size", "below which it sends RESUME; follows xoff unless given"),
            Setting("quanta", "count", "of its PAUSE frames, 512 bit times each"),
        ),
        _show_pfc,
        _change_pfc,
    ),
    _Table(
        "red_config",
        (
            Setting("k_min", "size", "queue of an egress port above which RED marks (DCQCN)"),
            Setting("k_max", "size", "queue above which it marks every packet"),
            Setting("p_max", "share", "probability of a mark at k_max"),
        ),
        _show_red,
        _change_red,
    ),
    _Table(
        "qcn_config",
        (
            Setting("q_eq", "size", "set point of an egress port's queue (QCN)"),
            Setting("w", "count", "weight of the queue's growth"),
            Setting("sample", "size", "bytes between two samples, on average"),
        ),
        _show_qcn,
        _change_qcn,
    ),
)


def known() -> tuple[Setting, ...]:
    """Every setting, whether a switch's program has it or not."""
    return tuple(setting for table in _TABLES for setting in table.settings)


def available(client: SwitchClient) -> tuple[Setting, ...]:
    """The settings that this switch's program has."""
    return tuple(setting for table in _tables(client) for setting in table.settings)


def read(client: SwitchClient) -> dict[int, dict[str, float]]:
    """Every setting of every port that is configured: by port, then by name."""
    found: dict[int, dict[str, float]] = {}
    for table in _tables(client):
        for port, arguments in _entries(client, table).items():
            found.setdefault(port, {}).update(table.show(arguments))
    return dict(sorted(found.items()))


def change(
    client: SwitchClient, values: Mapping[str, float], ports: Iterable[int] | None = None
) -> dict[int, dict[str, float]]:
    """Sets values by name at the given ports, or at all; what these ports then have, read from the switch.

    `client` must be its switch's primary controller. Nothing is written unless all of it can be. Raises
    UnknownNameError, SettingError or SwitchError.
    """
    names = [setting.name for setting in available(client)]
    for name in values:
        if name not in names:
            raise UnknownNameError("setting", name, names)
    entries: list[TableEntry] = []
    wanted = None if ports is None else list(ports)
    for table in _tables(client):
        mine = {setting.name: values[setting.name] for setting in table.settings if setting.name in values}
        if mine:
            configured = _entries(client, table)
            for port in configured if wanted is None else wanted:
                if port not in configured:
                    raise UnknownNameError("port", str(port), [str(one) for one in configured])
                try:
                    entries.append(table.change(port, configured[port], mine))
                except ValueError as error:
                    raise SettingError(f"{client.name}:{port}: {error}") from None
    if entries:
        client.modify(entries)
    after = read(client)
    return after if wanted is None else {port: after[port] for port in wanted}


def _tables(client: SwitchClient) -> list[_Table]:
    there = client.tables()
    return [table for table in _TABLES if table.name in there]


def _entries(client: SwitchClient, table: _Table) -> dict[int, dict[str, Any]]:
    """Arguments of each port's entry."""
    return {
        entry.match["port"]: dict(entry.action.args)
        for entry in client.read_table(table.name)
        if not entry.is_default_action and entry.match is not None and isinstance(entry.action, TableAction)
    }
