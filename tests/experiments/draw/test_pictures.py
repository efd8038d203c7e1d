"""What pictures of figures show: nothing hides anything, nothing is cut without a word, seeds
show."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from pcn.experiments.data.failures import Failures, IncompleteError
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.draw.pictures import draw

ROOT = Path(__file__).resolve().parents[3]
SCHEMES = ("pcn", "qcn", "dcqcn", "timely", "pcn-x")
X = (4.0, 16.0, 64.0, 256.0, 1024.0)


def equal_lines() -> list[Line]:
    return [curve(scheme, X, [1.0] * len(X), scheme, points=True) for scheme in SCHEMES]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def test_equal_lines_stand_side_by_side():
    (axes,) = draw([Chart("a", "x", "y", equal_lines(), log_x=True)]).axes
    drawn = [line for line in axes.lines if len(line.get_xdata()) == len(X)]
    assert len(drawn) == len(SCHEMES)
    assert len({tuple(line.get_xdata()) for line in drawn}) == len(SCHEMES)
    assert len({line.get_marker() for line in drawn}) == len(SCHEMES)
    # each nearer to its own x than to the next
    assert all(
        0.7 < place / x < 1.4
        for line in drawn
        for place, x in zip(line.get_xdata(), X, strict=True)
    )


def test_points_beside_a_line_without_any_stand_at_their_x():
    """In one panel, although its declaration has three a row."""
    lines = [curve("a", X, X, points=True), curve("b", X, X, stroke="dashed")]
    figure = draw([Chart("a", "x", "y", lines, columns=3)])
    assert [tuple(line.get_xdata()) for line in figure.axes[0].lines] == [X, X]
    assert figure.axes[0].get_gridspec().ncols == 1


def test_points_of_one_x_stand_at_its_tick():
    lines = [curve(name, [120.0], [1.0], points=True) for name in "ab"]
    (axes,) = draw([Chart("a", "x", "y", lines)]).axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["120"]


@pytest.mark.parametrize(
    "below", ["x", "Flows up to\n5 seeds, 40,025 flows each\n95% intervals by bootstrap"]
)
@pytest.mark.parametrize("same", [True, False])
def test_legends_lie_on_no_curve_and_no_text(same, below):
    names = itertools.count()
    lines = [
        [curve("one" if same else f"line {next(names)}", X, X) for _ in range(1 if same else 4)]
        for _ in range(3)
    ]
    panels = [Chart(line[0].label, below, "y", line) for line in lines]
    figure = draw(panels)
    figure.canvas.draw()
    legends = [*figure.legends, *(legend for axes in figure.axes if (legend := axes.get_legend()))]
    assert len(legends) == (1 if same else 3)
    for legend, axes in itertools.product(legends, figure.axes):
        for there in (axes, axes.xaxis.label, axes.title):
            assert not legend.get_window_extent().overlaps(there.get_window_extent())


@pytest.mark.parametrize(
    "names",
    [
        ["a"],
        ["DCQCN, topology", "PCN, topology", "DCQCN, fat40", "PCN, fat40"],
        ["DCQCN, fat-tree, load 0.5, K_min 400 KB"] * 3,
    ],
)
@pytest.mark.parametrize("panels", [1, 3])
def test_legend_above_all_charts_is_as_wide_as_the_picture_at_most(names, panels):
    lines = [curve(f"{name}{number}", [1, 2], [1, 2]) for number, name in enumerate(names)]
    figure = draw([Chart(str(number), "x", "y", lines) for number in range(panels)])
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width


def test_axis_has_room_above_the_highest_value_or_states_the_cut():
    lines = [curve("one", [0.0, 1.0], [35.7, 3.0], points=True, seeds=[[30.0, 41.4], [2.0, 4.0]])]
    free, cut = draw([Chart("free", "x", "y", lines), Chart("cut", "x", "y", lines, top=15)]).axes
    assert free.get_ylim()[1] > 41.4
    assert free.get_title("right") == ""
    assert cut.get_ylim()[1] == 15
    assert cut.get_title("right") == "cut: up to 41.4"


def test_an_axis_that_begins_above_zero_has_room_below_what_is_lowest():
    lines = [curve("one", [0.0, 1.0], [0.99, 0.89])]
    (axes,) = draw([Chart("utilisation", "x", "y", lines, bottom=0.9)]).axes
    assert 0.8 < axes.get_ylim()[0] < 0.89


def test_bars_of_zero_are_labelled_and_seeds_are_dots():
    bars = [
        curve("PCN", [0.0], [2.0], "pcn", seeds=[[1.0, 3.0]]),
        curve("QCN", [0.0], [0.0], "qcn", seeds=[[0.0, 0.0]]),
    ]
    figure = draw([Chart("PFC", "", "1/s", bars, bars=["all links"])])
    (axes,) = figure.axes
    assert "0" in [text.get_text() for text in axes.texts]
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [sorted(line.get_ydata()) for line in dots] == [[1.0, 3.0]]
    assert any(text.startswith("points and bars: means over the seeds") for text in texts(figure))


def test_user_without_a_home_gets_pictures_without_a_word_of_matplotlib(tmp_path):
    """As a service's, whose user has no entry in /etc/passwd, whose cache is where XDG_CACHE_HOME
    has it."""
    (tmp_path / "sitecustomize.py").write_text(
        "import pwd\ndef none(uid):\n    raise KeyError(uid)\npwd.getpwuid = none\n"
    )
    homes = ("HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR")
    environment = {name: value for name, value in os.environ.items() if name not in homes}
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    environment |= {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"}
    code = (
        "from pathlib import Path\ntry:\n    Path.home()\nexcept RuntimeError:\n    print('no "
        "home')\n"
        "from pcn.experiments.draw.pictures import matplotlib\nprint(matplotlib.get_configdir())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["no home", str(cache / "pcn-lab" / "matplotlib")]


def test_line_of_an_incomplete_result_has_one_period_at_a_sentence_s_end():
    failures = Failures()
    failures.note("rates.png", RuntimeError("no home."))
    assert str(IncompleteError(Path("g"), failures)).endswith(
        "RuntimeError: no home. The rest is there"
    )
