"""Settings of marking points: faults of a user's module are named."""

from contextlib import ExitStack
from types import SimpleNamespace
from typing import cast

import pytest
from planes import KINDS, opened

from pcn import entry_text
from pcn.controller import settings
from pcn.controller.configure import plan, program_switch
from pcn.controller.errors import UnknownNameError
from pcn.controller.marking_contract import SettableTable, Setting
from pcn.controller.programs import Program
from pcn.hosts.algorithms import find_scheme
from pcn.topologies.dumbbell import dumbbell


def test_a_setting_has_a_unit_that_can_be_written():
    with pytest.raises(
        ValueError,
        match="setting k: no kind 'bytes': choose from rate, time, size, count, number, share",
    ):
        Setting("k", "bytes", "queue above which it marks")


def test_a_fault_in_a_marking_point_is_named_with_its_line():
    table = cast(SettableTable, SimpleNamespace(TABLE="two_config"))
    place = r"\(test_settings.py, line \d+\)"
    with (
        pytest.raises(
            settings.SettingError,
            match=f"marking point of table two_config: KeyError: 'k_hi' {place}",
        ),
        settings._named(table),
    ):
        {"k_high": 1}["k_hi"]


@pytest.mark.parametrize("scheme", ["pcn", "dcqcn", "tcd", "qcn", "pcn-time"])
def test_switch_of_either_kind_shows_and_takes_the_same_settings(scheme):
    configured, seen = find_scheme(scheme).configure(), []
    with ExitStack() as stack:
        for kind in KINDS:
            control = opened(stack, kind, Program.find(configured.scheme.program)).control
            program_switch(control, plan(dumbbell(), "s0", 1.0, configured))
            before = settings.read(control)
            after = settings.change(control, {"xoff": 256e3}, ports=[3])
            assert after == {
                3: before[3]
                | {"xoff": 256e3, "xon": 256e3 - (before[3]["xoff"] - before[3]["xon"])}
            }
            assert {
                port for port, values in settings.read(control).items() if values != before[port]
            } == {3}
            with pytest.raises(UnknownNameError, match="no setting 'xof'; did you mean 'xoff'"):
                settings.change(control, {"xof": 1.0})
            entries = [
                entry_text.entry(control, entry)
                for table in control.tables()
                for entry in control.read_table(table)
            ]
            seen.append((settings.available(control), before, after, entries))
    assert seen[0] == seen[1]
    assert [
        entry
        for entry in seen[0][3]
        if entry["table"] == "pfc_config" and entry["match"] == {"port": 3}
    ]
