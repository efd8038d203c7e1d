"""The figures of a run of long flows through one bottleneck, as PNG. Time and rates nominal, units on every axis."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import AutoMinorLocator

from experiments import analysis, metrics
from experiments.metrics import Array
from experiments.palette import LIGHT, Theme
from experiments.recording import Recording
from experiments.scenarios.base import Plan

ZOOM_S = 15e-3
"""The start is shown enlarged up to here."""
BIN_S = 1e-3
"""Rates of events and shares of packets are of bins this long."""


@dataclass(frozen=True)
class Look:
    """Theme, and whether for a narrow screen: there panels stand below one another."""

    theme: Theme = LIGHT
    narrow: bool = False


def draw(plan: Plan, recording: Recording, look: Look | None = None) -> dict[str, bytes]:
    """All figures by name, as PNG data: rates, queue, pause, marked."""
    look = look or Look()
    return {name: figure(plan, recording, look) for name, figure in FIGURES.items()}


def rates(plan: Plan, recording: Recording, look: Look) -> bytes:
    """Sending rate of each flow and their sum."""
    canvas = _Canvas(look, "Sending rate (Gbit/s)", recording.duration_s)
    total = analysis.aggregate_rate(recording, plan.topology)
    for axes in canvas.panels:
        for index, flow in enumerate(recording.flows):
            series = recording.series.get(flow.entity, "rate_bps")
            label = f"flow {flow.id}: {flow.src} to {flow.dst}"
            _steps(axes, series, recording.duration_s, 1e-9, look.theme.flow(index), label, width=1.3)
        _steps(axes, total, recording.duration_s, 1e-9, look.theme.ink, "sum", width=1.9)
        capacity = plan.capacity_bps / 1e9
        axes.axhline(capacity, color=look.theme.accent, lw=1.1, ls=(0, (5, 3)), label=f"capacity, {capacity:g} Gbit/s")
        axes.set_ylim(0, None)
    peak = float(total[1].max()) / 1e9 if total[1].size else 0.0
    if peak > 1.4 * capacity:
        canvas.panels[0].set_ylim(0, 1.25 * capacity)
    _mark(canvas.start, analysis.capacity_reached(recording, plan.topology, plan.capacity_bps), "at capacity", look)
    return canvas.png(columns=3)


def queue(plan: Plan, recording: Recording, look: Look) -> bytes:
    """The bottleneck's queue."""
    canvas = _Canvas(look, f"Queue at {plan.bottleneck} (KB)", recording.duration_s)
    series = recording.series.get(str(plan.bottleneck), "waiting_bytes")
    unmarked = recording.series.get(str(plan.bottleneck), "pn")
    times, values = _until(series, recording.duration_s)
    for axes in canvas.panels:
        axes.plot(times * 1e3, values / 1e3, color=look.theme.ink, lw=1.4, label="waiting, sampled")
        axes.fill_between(times * 1e3, values / 1e3, color=look.theme.ink, alpha=0.08, lw=0)
        if unmarked[1].any():
            held_t, held = _until(unmarked, recording.duration_s)
            axes.plot(
                held_t * 1e3,
                held * plan.frame_bytes / 1e3,
                color=look.theme.other(1),
                lw=1.2,
                label="of these let through unmarked after a pause",
            )
        axes.set_ylim(0, None)
    _mark(canvas.start, analysis.drained(recording, plan.bottleneck), "five packets", look)
    steady = values[times >= plan.steady_from_s]
    if steady.size:
        canvas.panels[0].set_ylim(0, max(float(np.max(steady)) * 1.6, float(np.max(values)) * 0.12, 1e3) / 1e3)
        canvas.panels[0].axvspan(
            plan.steady_from_s * 1e3,
            recording.duration_s * 1e3,
            color=look.theme.muted,
            alpha=0.08,
            lw=0,
            label="last third",
        )
    return canvas.png(columns=3)


def pause(plan: Plan, recording: Recording, look: Look) -> bytes:
    """PAUSE frames a second, by the link that they are sent over."""
    canvas = _Canvas(look, "PAUSE frames (1/ms)", recording.duration_s)
    active = [name for name, link in recording.links.items() if link.pause]
    for axes in canvas.panels:
        for index, name in enumerate(active):
            starts, rate = metrics.binned_rate(*recording.series.get(name, "pause"), BIN_S, recording.duration_s)
            edges = np.append(starts, recording.duration_s) * 1e3
            axes.stairs(rate / 1e3, edges, color=look.theme.other(index), lw=1.5, label=_arrow(name), baseline=None)
        axes.set_ylim(0, None if active else 1)
        if not active:
            axes.text(0.5, 0.5, "no PAUSE was sent", transform=axes.transAxes, ha="center", color=look.theme.muted)
    return canvas.png(columns=4)


def marked(plan: Plan, recording: Recording, look: Look) -> bytes:
    """Share of the packets that each port marked, of those it transmitted."""
    canvas = _Canvas(look, "Marked packets (%)", recording.duration_s)
    ports = [name for name, port in recording.ports.items() if port.transmitted]
    ports.sort(key=lambda name: name != str(plan.bottleneck))
    for axes in canvas.panels:
        for index, name in enumerate(ports):
            series = recording.series
            starts, share = metrics.binned_share(
                series.get(name, "marked_packets"),
                series.get(name, "transmitted_packets"),
                BIN_S,
                recording.duration_s,
            )
            edges = np.append(starts, recording.duration_s) * 1e3
            bottleneck = name == str(plan.bottleneck)
            label = f"{name} (bottleneck)" if bottleneck else name
            style = "-" if bottleneck else (0, (4, 1 + index))
            axes.stairs(
                share * 100,
                edges,
                color=look.theme.other(index),
                lw=1.8 if bottleneck else 1.3,
                ls=style,
                label=label,
                baseline=None,
            )
        axes.set_ylim(-3, 103)
    return canvas.png(columns=4)


FIGURES: Mapping[str, Callable[[Plan, Recording, Look], bytes]] = {
    "rates": rates,
    "queue": queue,
    "pause": pause,
    "marked": marked,
}


class _Canvas:
    """A figure with two panels: the whole run, and its start enlarged."""

    def __init__(self, look: Look, y_label: str, duration_s: float) -> None:
        self.look = look
        theme = look.theme
        size = (4.6, 6.2) if look.narrow else (10.4, 3.9)
        self.figure = Figure(figsize=size, dpi=160, facecolor=theme.background, layout="constrained")
        FigureCanvasAgg(self.figure)
        rows, columns = (2, 1) if look.narrow else (1, 2)
        grid = self.figure.add_gridspec(rows, columns, width_ratios=None if look.narrow else [1.65, 1])
        self.panels: list[Axes] = [self.figure.add_subplot(grid[i // columns, i % columns]) for i in range(2)]
        self.start = self.panels[1]
        zoom = min(ZOOM_S, duration_s)
        for axes, end, title in zip(
            self.panels, (duration_s, zoom), ("whole run", f"first {zoom * 1e3:g} ms"), strict=True
        ):
            axes.set_facecolor(theme.background)
            axes.set_title(title, loc="left", fontsize=9.5, color=theme.muted)
            axes.set_xlim(0, end * 1e3)
            axes.set_xlabel("Time (ms, nominal)", fontsize=9.5, color=theme.ink)
            axes.xaxis.set_minor_locator(AutoMinorLocator())
            axes.grid(True, color=theme.grid, lw=0.8)
            axes.set_axisbelow(True)
            axes.tick_params(which="both", colors=theme.muted, labelsize=9)
            for side, spine in axes.spines.items():
                spine.set_visible(side in ("left", "bottom"))
                spine.set_color(theme.muted)
        self.panels[0].set_ylabel(y_label, fontsize=9.5, color=theme.ink)
        if look.narrow:
            self.start.set_ylabel(y_label, fontsize=9.5, color=theme.ink)

    def png(self, columns: int) -> bytes:
        handles, labels = self.panels[0].get_legend_handles_labels()
        if handles:
            legend = self.figure.legend(
                handles,
                labels,
                loc="outside upper left",
                ncols=2 if self.look.narrow else columns + 1,
                frameon=False,
                fontsize=9 if not self.look.narrow else 8,
                handlelength=1.8,
                columnspacing=1.4,
            )
            for text in legend.get_texts():
                text.set_color(self.look.theme.ink)
        data = io.BytesIO()
        self.figure.savefig(data, format="png", facecolor=self.figure.get_facecolor())
        return data.getvalue()


def _steps(
    axes: Axes, series: tuple[Array, Array], end_s: float, unit: float, color: str, label: str, width: float
) -> None:
    times, values = series
    if times.size:
        times, values = np.append(times, max(end_s, times[-1])), np.append(values, values[-1])
    axes.plot(times * 1e3, values * unit, drawstyle="steps-post", color=color, lw=width, label=label)


def _until(series: tuple[Array, Array], end_s: float) -> tuple[Array, Array]:
    inside = series[0] <= end_s
    return series[0][inside], series[1][inside]


def _mark(axes: Axes, time_s: float | None, text: str, look: Look) -> None:
    """A thin vertical line with a label, where it falls into the panel."""
    if time_s is None or not 0 < time_s * 1e3 <= axes.get_xlim()[1]:
        return
    axes.axvline(time_s * 1e3, color=look.theme.accent, lw=1, ls=":")
    right = time_s * 1e3 > 0.6 * axes.get_xlim()[1]
    axes.annotate(
        f"{text}: {time_s * 1e3:.2g} ms",
        (time_s * 1e3, 0.9),
        xycoords=("data", "axes fraction"),
        xytext=(-5 if right else 5, 0),
        textcoords="offset points",
        ha="right" if right else "left",
        fontsize=9,
        color=look.theme.accent,
    )


def _arrow(link: str) -> str:
    return link.replace("->", " to ")


def names() -> Iterable[str]:
    """Names of the figures, in the order of the report."""
    return FIGURES.keys()
