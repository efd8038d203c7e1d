"""Colours of figures and report, light and dark. The first four of flows are Okabe and Ito's, which
colour-blind people can distinguish; in the dark they are lighter."""

from __future__ import annotations

from dataclasses import dataclass

from pcn.experiments.define.charts import Stroke

_AGAIN: tuple[Stroke, ...] = ("solid", "dashed", "dotted", "dashdot")


@dataclass(frozen=True)
class Theme:
    """One look. `flows` colours flows in order of their id, everywhere; `others` is for ports and
    links."""

    name: str
    background: str
    ink: str
    muted: str
    grid: str
    accent: str
    flows: tuple[str, ...]
    others: tuple[str, ...]

    def colour(self, name: str) -> str:
        """Returns the colour of a name: `ink`, ..., `flow0`, `other3`."""
        name = palette_name(name)
        for kind, colours in (("flow", self.flows), ("other", self.others)):
            if name.startswith(kind):
                return colours[int(name[len(kind) :])]
        colour: str = getattr(self, name)
        return colour

    def css(self) -> str:
        """Returns all of them as CSS variables."""
        names = {name: self.colour(name) for name in ("ink", "muted", "grid", "accent")}
        names |= {f"flow{index}": colour for index, colour in enumerate(self.flows)}
        names |= {f"other{index}": colour for index, colour in enumerate(self.others)}
        return " ".join(f"--{name}: {colour};" for name, colour in names.items())


LIGHT = Theme(
    name="light",
    background="#ffffff",
    ink="#16202b",
    muted="#5a6673",
    grid="#e3e8ee",
    accent="#b23a00",
    flows=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a67300", "#7b4fa0"),
    others=("#16202b", "#a67300", "#a3123e", "#8a8f98", "#7b4fa0"),
)
DARK = Theme(
    name="dark",
    background="#131a22",
    ink="#e8edf2",
    muted="#9aa7b4",
    grid="#2a3440",
    accent="#ff9a62",
    flows=("#4aa8e0", "#f08a3c", "#2fc79b", "#e19cc4", "#e6b450", "#b58fd6"),
    others=("#e8edf2", "#e6b450", "#ff7a96", "#8b95a1", "#b58fd6"),
)


def palette_name(name: str) -> str:
    """Returns the name, or that of a colour that comes again where there are more things than
    colours: `flow6` is `flow0`."""
    for kind, colours in (("flow", LIGHT.flows), ("other", LIGHT.others)):
        if name.startswith(kind):
            return f"{kind}{int(name[len(kind) :]) % len(colours)}"
    return name


def stroke_of(name: str) -> Stroke:
    """Returns the stroke that goes with a colour's name: where colours come again, as of `flow6`,
    another one."""
    for kind, colours in (("flow", LIGHT.flows), ("other", LIGHT.others)):
        if name.startswith(kind):
            return _AGAIN[int(name[len(kind) :]) // len(colours) % len(_AGAIN)]
    return "solid"


def dot(name: str) -> str:
    """Returns the classes of a dot of this colour on a page: hollow where the colour comes
    again."""
    return palette_name(name) if stroke_of(name) == "solid" else f"{palette_name(name)} again"
