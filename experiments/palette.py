"""Colours of figures and report, light and dark: Okabe and Ito's, which colour-blind people can tell apart."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Theme:
    """One look. `flows` colours flows in order of their id, everywhere; `others` is for ports and links."""

    name: str
    background: str
    ink: str
    muted: str
    grid: str
    accent: str
    flows: tuple[str, ...]
    others: tuple[str, ...]

    def flow(self, index: int) -> str:
        """Colour of the index-th flow, from 0; colours come again when there are more flows than colours."""
        return self.flows[index % len(self.flows)]

    def other(self, index: int) -> str:
        return self.others[index % len(self.others)]


LIGHT = Theme(
    name="light",
    background="#ffffff",
    ink="#16202b",
    muted="#5a6673",
    grid="#e3e8ee",
    accent="#b23a00",
    flows=("#0072b2", "#d55e00", "#009e73", "#cc79a7"),
    others=("#16202b", "#a67300", "#3b8fc4", "#8a8f98", "#7b4fa0"),
)
DARK = Theme(
    name="dark",
    background="#131a22",
    ink="#e8edf2",
    muted="#9aa7b4",
    grid="#2a3440",
    accent="#ff9a62",
    flows=("#4aa8e0", "#f08a3c", "#2fc79b", "#e19cc4"),
    others=("#e8edf2", "#e6b450", "#7cc4ee", "#8b95a1", "#b58fd6"),
)
