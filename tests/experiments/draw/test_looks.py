"""Looks of schemes, ports and groups: colour, mark and stroke, once for all pictures and pages."""

import itertools

import pytest

from pcn.experiments.define.charts import curve
from pcn.experiments.define.looks import LOOKS, MARKS, flow_colours
from pcn.experiments.draw.line_looks import looks
from pcn.experiments.draw.palette import DARK, LIGHT, stroke_of
from pcn.hosts.algorithms import schemes

LEAST_APART = 20.0
"""CIE 1976: two colours at a glance."""
LEAST_CONTRAST = 2.9
"""Of a line and the page (WCAG 2.1 wants 3 of graphics)."""


def linear(colour: str) -> list[float]:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def lab(colour: str) -> tuple[float, float, float]:
    red, green, blue = linear(colour)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (
        component ** (1 / 3) if component > 0.008856 else 7.787 * component + 16 / 116
        for component in (x, luminance(colour), z)
    )
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def apart(first: str, second: str) -> float:
    return float(sum((a - b) ** 2 for a, b in zip(lab(first), lab(second), strict=True)) ** 0.5)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_all_schemes_differ(theme):
    """In colour and stroke, and, without colours, in mark and stroke."""
    assert set(LOOKS) == set(schemes), "each scheme of `pcn scheme list` has a look"
    for (name, look), (rival, rival_look) in itertools.combinations(LOOKS.items(), 2):
        assert (look.mark, look.stroke) != (rival_look.mark, rival_look.stroke), (name, rival)
        if look.stroke == rival_look.stroke:
            distance = apart(theme.colour(look.colour), theme.colour(rival_look.colour))
            assert distance > LEAST_APART, (name, rival, distance)
    assert {look.mark for look in LOOKS.values()} <= set(MARKS)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_colours_stand_out_from_the_page(theme):
    for colour in (*theme.flows, *theme.others):
        dark, light = sorted((luminance(colour), luminance(theme.background)))
        assert (light + 0.05) / (dark + 0.05) > LEAST_CONTRAST, colour


def test_twenty_ports_and_flows_differ():
    for kind in ("other", "flow"):
        lines = [curve("", [0, 1], [0, 1]) for _ in range(20)]
        named = [
            type(line)(f"{kind} {n}", line.x, line.y, f"{kind}{n}") for n, line in enumerate(lines)
        ]
        assert len({(look.colour, look.stroke) for look in looks(named)}) == 20
    assert stroke_of("flow5") == "solid" != stroke_of("flow6")


def test_groups_have_their_colours_in_whichever_order_their_flows_come():
    assert flow_colours(["XL", "S", "L"]) == {"S": "flow0", "L": "flow2", "XL": "flow3"}
    assert flow_colours(["flow 0", "bursts", "flow 1", "flow 0"]) == {
        "flow 0": "flow0", "bursts": "flow1", "flow 1": "flow2",
    }  # fmt: skip
    assert list(flow_colours(["XL", "S", "flow 1"])) == ["S", "XL", "flow 1"]
    assert len(set(flow_colours([*"ABCDEFG", "M"]).values())) == 8
