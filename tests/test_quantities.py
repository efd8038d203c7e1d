"""Numbers with a unit: one reader for the command line, for schemes, topologies, switches and
files."""

import contextlib
import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path

import pytest
from click import BadParameter
from hypothesis import given, strategies as st

from pcn.base.errors import nearest
from pcn.base.units import KINDS, kind_of, quantity, quantity_text
from pcn.commands.common import Quantity
from pcn.controller.tofino import lab_file
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Parameter
from pcn.hosts.algorithms import SchemeError, find_scheme
from pcn.softswitch.values import parse_delay, parse_rate
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import TopologyError

UNIT = ("rate", "time", "size")


READ = """
rate 10G = 10e9
rate 2.5Gb/s = 2.5e9
rate 10 Gbit/s = 10e9
rate 10Gbit = 10e9
rate 1e3Mbps = 1e9
rate 5bps = 5
size 64KB = 64e3
size 64k = 64e3
size 1KiB = 1024
size 1.1KB = 1100
time 500us = 500e-6
time 500µs = 500e-6
time 10us = 1e-5
time 10min = 600
time 0 = 0
share 1% = 0.01
number 1% = 0.01
number 1/128 = 0.0078125
number -0.5 = -0.5
count 1e3 = 1000
"""


@pytest.mark.parametrize(("kind", "text", "value"), re.findall("(.+?) (.+) = (.+)", READ))
def test_quantity_reads_number_and_unit(kind, text, value):
    assert quantity(kind, text) == float(value)


REFUSED = """
rate 5 => '5' has no unit: write 5G, 5M or 5k
rate 25e9 => write 25G
rate 25123456789 => write 25.123456789G
time 10 => write 10s, 10ms or 10us
time 1e-5 => write 10us
size 64000 => write 64KB
size 64 => write 64KB, 64MB or 64B
size 64QB => '64QB' is no size in bytes: write it like 64KB
size 1.5B => must be whole bytes
rate -1G => must not be negative
rate 1G/2 => is no rate
rate 4/2 => is no rate
time  => write it like 500us
time 1e400s => is too much
count 2.5 => must be a whole number
number 1/0 => is too much
number x => is no number: write it like 0.025, 1% or 1/128
number inf => is no number
share 1/2/3 => is no share
"""


@pytest.mark.parametrize(("kind", "text", "message"), re.findall("(.+?) (.*) => (.+)", REFUSED))
def test_quantity_refuses_with_the_right_form(kind, text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        quantity(kind, text)


@given(st.sampled_from(KINDS), st.integers(0, 10**15), st.integers(-9, 3))
def test_quantity_text_is_read_again(kind, digits, exponent):
    value = float(digits) if kind in ("size", "count") else digits * 10.0**exponent
    text = quantity_text(kind, value)
    if kind != "size" or len(text) < 9:  # six digits of many bytes needn't be whole bytes
        assert quantity(kind, text) == pytest.approx(value, rel=1e-3, abs=1e-9)


@given(st.sampled_from(UNIT), st.floats(1e-9, 1e18, exclude_min=True))
def test_quantity_refuses_every_bare_number_of_a_unit(kind, value):
    with pytest.raises(ValueError, match=r"has no unit: write [0-9.]+"):
        quantity(kind, repr(value))
    assert kind == "size" or quantity(kind, repr(value), si=True) == value


@given(st.sampled_from(KINDS), st.text(max_size=12))
def test_quantity_raises_only_value_error(kind, text):
    with contextlib.suppress(ValueError):
        assert quantity(kind, text) >= 0 or kind == "number"


def _of_scheme(scheme: str, field: str) -> Callable[[str], float]:
    return lambda text: float(
        getattr(find_scheme(scheme).configure({field: text}).parameters, field)
    )


def _of_yaml(field: str, sample: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        path = Path("ports.yaml")
        path.write_text(
            lab_file.SAMPLE.read_text().replace(f"{field}: {sample}", f"{field}: {text}")
        )
        return float(getattr(lab_file.read(path).tcd, field))

    return read


@pytest.mark.parametrize(
    ("text", "readers"),
    [
        (
            "1%",
            [
                Parameter("p_max", "number", 0.1, "").parse,
                _of_scheme("dcqcn", "p_max"),
                lambda text: Quantity("share").convert(text, None, None),
                _of_yaml("p_max", "1%"),
            ],
        ),
        (
            "1/128",
            [
                Parameter("w_min", "number", 0.1, "").parse,
                _of_scheme("pcn", "w_min"),
                lambda text: Quantity("share").convert(text, None, None),
                _of_yaml("p_max", "1%"),
            ],
        ),
        (
            "10Gbit",
            [
                Parameter("rate", "rate", 1e9, "").parse,
                _of_scheme("dcqcn", "r_ai_bps"),
                lambda text: Quantity("rate").convert(text, None, None),
                lambda text: find_topology("dumbbell").build({"rate_bps": text}).links[-1].rate_bps,
                parse_rate,
            ],
        ),
        (
            "20us",
            [
                Parameter("T", "time", 1.0, "").parse,
                _of_scheme("pcn", "period_s"),
                lambda text: Quantity("time").convert(text, None, None),
                lambda text: parse_delay(text) / 1e9,
            ],
        ),
    ],
)
def test_all_readers_agree(text, readers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = [reader(text) for reader in readers]
    assert values == pytest.approx([values[0]] * len(values), rel=1e-12)
    bare = f"{values[0]:.9g}"
    if text in ("10Gbit", "20us"):
        for reader in readers:
            with pytest.raises(
                (ExperimentError, SchemeError, BadParameter, TopologyError, ArgumentTypeError),
                match="has no unit: write ",
            ):
                reader(bare)


def test_kind_of_follows_the_name_s_ending():
    assert [kind_of(name) for name in ("rate_bps", "rtt_s", "xoff_bytes", "pairs")] == [
        *UNIT,
        "number",
    ]


@pytest.mark.parametrize(
    ("name", "known", "text"),
    [
        ("w_mox", ["w_max", "w_min"], "did you mean 'w_max'?"),
        ("on_cnq", ["on_cnp", "on_cnm", "on_ack"], "did you mean 'on_cnp' or 'on_cnm'?"),
        ("W-MIN", ["w_min"], "did you mean 'w_min'?"),
        ("x", ["clos"], "choose from clos"),
        ("x", ["clos", "star"], "choose from clos, star"),
        ("x", [], "none exists"),
        ("z", [f"h{i}" for i in range(20)], "none of 20 is like it"),
    ],
)
def test_nearest_names_the_nearest_or_all_existing(name, known, text):
    assert nearest(name, known) == text


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("time", 1e-6, "1 us"),
        ("time", 1e-3, "1 ms"),
        ("time", 1e-9, "1 ns"),
        ("rate", 1e9, "1 Gbit/s"),
        ("size", 1e3, "1 KB"),
    ],
)
def test_quantity_text_begins_each_unit_with_one(kind, value, text):
    """1e-6 as a float is a little less than a microsecond."""
    assert quantity_text(kind, value) == text
