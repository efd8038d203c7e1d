"""Settings of marking points: what somebody's own module gets wrong is named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from controller import settings
from controller.port_tables import SettableTable, Setting


def test_a_setting_has_a_unit_that_can_be_written() -> None:
    with pytest.raises(ValueError, match="setting k: no kind 'bytes': there is rate, time, size, count, number, share"):
        Setting("k", "bytes", "queue above which it marks")


def test_a_fault_in_a_marking_point_is_named_with_its_line() -> None:
    table = cast(SettableTable, SimpleNamespace(TABLE="two_config"))
    place = r"\(test_settings.py, line \d+\)"
    with (
        pytest.raises(settings.SettingError, match=f"marking point of table two_config: KeyError: 'k_hi' {place}"),
        settings._named(table),
    ):
        {"k_high": 1}["k_hi"]
