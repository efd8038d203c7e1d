"""A network as PNG: its SVG (`svg`), drawn again by matplotlib, an extra."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcn.topologies import extras
from pcn.topologies.model import Topology
from pcn.topologies.picture.svg import svg

if TYPE_CHECKING:
    from xml.etree import ElementTree

_SVG = "{http://www.w3.org/2000/svg}"
_DPI = 100
"""Of the SVG's pixels."""
_SHARP, _MOST_PIXELS = 2.0, 16_000
"""Pixels a pixel of the SVG, unless that makes the picture larger than this, which viewers still
open."""
_LETTERS, _FONT = 12 * 72 / _DPI, "DejaVu Sans Mono"
_SMALL = 9.5 / 12
"""A port's letters, of the others'."""
_NUMBER = re.compile(r"-?[\d.]+(?:e[-+]?\d+)?")
_INK, _EDGE, _FILLS = "#0f172a", "#334155", {"host": "#eaf2ec", "switch": "#f4f6f8"}


def png(topology: Topology) -> bytes:
    """Raises MissingExtraError."""
    extras.require("figures")
    from xml.etree import ElementTree

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.path import Path

    picture = ElementTree.fromstring(svg(topology))
    width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
    scale = min(_SHARP, _MOST_PIXELS / max(width, height))
    figure = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI * scale, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    for order, element in enumerate(_shapes(picture)):
        of = element.attrib
        if element.tag == f"{_SVG}path":
            numbers = [float(number) for number in _NUMBER.findall(of["d"])]
            if "h" in of["d"]:
                x, y, length = numbers
                numbers = [x, y, x + length, y]
            points = list(zip(numbers[::2], numbers[1::2], strict=True))
            codes = [
                Path.MOVETO,
                *([Path.CURVE3, Path.CURVE3] if "Q" in of["d"] else [Path.LINETO]),
            ]
            wide = _NUMBER.findall(of.get("style", "")) or ["1.2"]
            line_width = float(wide[-1]) * 72 / _DPI
            drawn = PathPatch(
                Path(points, codes),
                fill=False,
                ec=of["stroke"],
                lw=line_width,
                alpha=0.75,
                zorder=order,
            )
            axes.add_patch(drawn)
        elif element.tag == f"{_SVG}rect":
            place = (float(of["x"]), float(of["y"]))
            box = f"round,pad=0,rounding_size={of['rx']}"
            size = (float(of["width"]), float(of["height"]))
            fill = _FILLS[of["class"]]
            axes.add_patch(
                FancyBboxPatch(place, *size, box, fc=fill, ec=_EDGE, lw=72 / _DPI, zorder=order)
            )
        else:
            kind = of.get("class")
            align = "left" if kind == "legend" else "center"
            x, y = float(of["x"]), float(of["y"])
            axes.text(
                x,
                y,
                element.text or "",
                family=_FONT,
                size=_LETTERS * (_SMALL if kind == "port" else 1),
                color=_INK,
                ha=align,
                zorder=order,
            )
    canvas = FigureCanvasAgg(figure)
    data = io.BytesIO()
    canvas.print_png(data, metadata={"Software": None})  # type: ignore[no-untyped-call]
    return data.getvalue()


def _shapes(picture: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """Yields what is drawn, in order."""
    return (
        shape
        for shape in picture.iter()
        if shape.tag in (f"{_SVG}path", f"{_SVG}rect", f"{_SVG}text")
    )
