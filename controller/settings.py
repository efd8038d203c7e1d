"""Thresholds and marking parameters of a running switch, by port: read, changed, and read back.

    change(lab.primary("s1"), {"xoff": 256e3})                # every port
    change(lab.primary("s1"), {"xoff": 256e3}, ports=[3])     # one
    read(lab.switches["s1"])[3]["xoff"]

The switch's program determines the settings: those whose tables it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pcn.base.errors import LabError, error_text
from pcn.controller import marking, pfc
from pcn.controller.control_plane import ControlPlane, TableAction, TableEntry
from pcn.controller.errors import UnknownNameError
from pcn.controller.marking_contract import PortEntries, PortTable, SettableTable, Setting


class SettingError(LabError):
    """A value that can't be: names the port and the reason."""


def known() -> tuple[Setting, ...]:
    """Returns every setting, whether a switch's program has it or not."""
    return tuple(setting for table in _known_tables() for setting in table.SETTINGS)


def available(client: ControlPlane) -> tuple[Setting, ...]:
    """Returns the settings that this switch's program has."""
    return tuple(setting for table in _tables(client) for setting in table.SETTINGS)


def read(client: ControlPlane) -> dict[int, dict[str, float]]:
    """Returns every setting of every port that is configured: by port, then by name."""
    by_port: dict[int, dict[str, float]] = {}
    for table in _tables(client):
        for port, arguments in _entries(client, table).items():
            with _named(table):
                by_port.setdefault(port, {}).update(table.show(arguments))
    return dict(sorted(by_port.items()))


def change(
    client: ControlPlane, values: Mapping[str, float], ports: Iterable[int] | None = None
) -> dict[int, dict[str, float]]:
    """Sets values by name at the given ports, or at all; what these ports then have, read from the
    switch.

    `client` must be its switch's primary controller. Nothing is written unless all of it can be.
    Raises UnknownNameError, SettingError or SwitchError.
    """
    there = {setting.name: setting for setting in available(client)}
    for name, value in values.items():
        if name not in there:
            raise UnknownNameError("setting", name, list(there))
        least, most = there[name].minimum, there[name].maximum
        if not least <= value <= most:
            raise SettingError(
                f"{client.name}: {name}={value:g}: it must be from {least:g} to {most:g}"
            )
    entries: list[TableEntry] = []
    wanted = None if ports is None else list(ports)
    for table in _tables(client):
        mine = {
            setting.name: values[setting.name]
            for setting in table.SETTINGS
            if setting.name in values
        }
        if mine:
            configured = _entries(client, table)
            for port in configured if wanted is None else wanted:
                if port not in configured:
                    raise UnknownNameError(
                        "port", str(port), [str(known_port) for known_port in configured]
                    )
                try:
                    with _named(table):
                        entries += table.change(port, configured[port], mine).entries()
                except ValueError as error:
                    raise SettingError(f"{client.name}:{port}: {error}") from None
    if entries:
        client.modify(entries)
    after = read(client)
    return after if wanted is None else {port: after[port] for port in wanted}


def check(table: SettableTable, ports: Iterable[PortEntries]) -> str:
    """Checks that `show` and `change` of a marking point agree, for these ports; returns a
    description of the check.

    Raises SettingError where they don't: no port has an entry, a setting isn't shown, the value
    that it shows is refused, or it shows another value than it was changed to.
    """
    names, seen = [setting.name for setting in table.SETTINGS], 0
    with _named(table):
        for port in ports:
            for arguments in _arguments(table, port):
                seen += 1
                shown = table.show(arguments)
                if sorted(shown) != sorted(names):
                    raise SettingError(f"show has {', '.join(shown)}, SETTINGS {', '.join(names)}")
                for setting in table.SETTINGS:
                    value = shown[setting.name]
                    if not _takes(table, port.port, arguments, setting, value):
                        raise SettingError(f"{setting.name}={value:g}, as it shows, is refused")
                    if setting.minimum <= value / 2:
                        _takes(table, port.port, arguments, setting, value / 2)
    if seen == 0:
        raise SettingError("no port has an entry of it")
    return f"{', '.join(names)} of {seen} ports"


def _takes(
    table: SettableTable, port: int, arguments: Mapping[str, Any], setting: Setting, value: float
) -> bool:
    """Returns whether it is taken; False: refused, as what can't be beside the others. Raises
    SettingError if it then shows another value."""
    try:
        changed = table.change(port, arguments, {setting.name: value})
    except ValueError:
        return False
    entries = _arguments(table, changed)
    if not entries:
        raise SettingError(f"a change of {setting.name} has no entry of the table")
    for after in (table.show(entry)[setting.name] for entry in entries):
        if abs(after - value) > max(1e-3 * abs(value), 0.5 if setting.kind != "share" else 1e-6):
            raise SettingError(f"changed to {setting.name}={value:g}, it shows {after:g}")
    return True


def _arguments(table: SettableTable, port: PortEntries) -> list[dict[str, Any]]:
    """Returns those of this table's entries."""
    return [
        dict(entry.action.args)
        for entry in port.entries()
        if entry.table_id == table.TABLE and isinstance(entry.action, TableAction)
    ]


@contextmanager
def _named(table: SettableTable) -> Iterator[None]:
    """Adds the file's name to an error in a user's marking point: most often it reads fields that
    the table lacks."""
    try:
        yield
    except (LookupError, TypeError, AttributeError) as error:
        raise SettingError(f"marking point of table {table.TABLE}: {error_text(error)}") from error


def _known_tables() -> list[SettableTable]:
    """Returns PFC's and those of all marking points that have settings."""
    tables: list[PortTable] = [pfc, *marking.known()]
    return [table for table in tables if isinstance(table, SettableTable)]


def _tables(client: ControlPlane) -> list[SettableTable]:
    """Lists the tables of a switch's program that have settings."""
    there = client.tables()
    return [table for table in _known_tables() if table.TABLE in there]


def _entries(client: ControlPlane, table: SettableTable) -> dict[int, dict[str, Any]]:
    """Returns the arguments of each port's entry."""
    return {
        entry.match["port"]: dict(entry.action.args)
        for entry in client.read_table(table.TABLE)
        if not entry.is_default_action
        and entry.match is not None
        and isinstance(entry.action, TableAction)
    }
