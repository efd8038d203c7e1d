"""Texts of traffic's pages and tables, as a reader meets them who has seen the run alone."""

import json

import pytest

from pcn.cli import run as pcn
from pcn.experiments.compare.stored_results import read
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.outcomes import number_text
from pcn.experiments.draw.pictures import draw
from pcn.experiments.results.over_time import QUEUE
from pcn.experiments.traffic import page
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import parse_spec

RUN = ["run", "traffic", "--clock", "virtual", "--topology", "star", "--scheme", "dcqcn"]


def test_text_names_sizes_with_units_and_starts_at_once(tmp_path):
    file = tmp_path / "flows.csv"
    file.write_text(
        "src,dst,start_s,size_bytes\n" + "".join(f"h{i},r0,0,2000000\n" for i in range(4))
    )
    text = dict(page.about(Traffic(parse_spec("star", flows=str(file))).plan("pcn", 1, {})))[
        "topology"
    ]
    assert (
        "4 flows of 2 MB on average, 0.8 a host, start at once; the run ends when all have arrived."
        in text
    )
    later = Traffic(parse_spec("star", "WebSearch")).plan("pcn", 1, {"count": 50})
    assert "50 flows of " in dict(page.about(later))["topology"]
    assert "a host, start within " in dict(page.about(later))["topology"]
    assert "e+" not in dict(page.about(later))["topology"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (1234.5, "1,234 KB"), (999.4, "999 KB"), (0.01234, "0.0123 KB")],
)
def test_number_has_no_exponent_where_it_is_large(value, text):
    assert number_text(value, "KB") == text


def test_run_without_claims_has_no_column_of_them(tmp_path, capsys):
    command = [*RUN, "--workload", "W1", "--set", "count=30", "--series", "flows=all"]
    assert pcn([*command, "--out", str(tmp_path / "run")]) == 0
    heads = [line.split() for line in capsys.readouterr().out.splitlines() if "verdict" in line]
    assert heads == [["what", "paper", "theory", "measured", "unit", "verdict"]]
    text = (tmp_path / "run" / "report.html").read_text()
    assert "<h2>Checks</h2>" in text
    assert "<th>claim</th>" not in text
    assert "<h2>Sending rates of single flows, the first 8 of 30</h2>" in text
    (run,) = read(tmp_path / "run")
    assert QUEUE in run.curves
    assert not [name for name in run.numbers if name.startswith("steady")]


def test_logarithmic_axis_of_many_values_has_powers_of_ten():
    x = [0.003 * 1.3**number for number in range(30)]
    figure = draw([Chart("Times", "Time (ms)", "Flows (%)", [curve("a", x, x)], log_x=True)])
    figure.draw_without_rendering()
    low, high = figure.axes[0].get_xlim()
    ticks = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    inside = {text for text in ticks if text and low <= float(text) <= high}
    assert inside == {"0.01", "0.1", "1"}


def test_list_names_texts_with_their_values(capsys):
    assert (
        pcn(
            [
                "run", "traffic", "--topology", "fat-tree", "--set", "ecmp=polarised", "--list",
                "--json",
            ]
        )
        == 0
    )  # fmt: skip
    texts = {
        topology["name"]: topology["default"]
        for topology in json.loads(capsys.readouterr().out)
        if topology["kind"] == "text"
    }
    assert texts == {"ecmp": "polarised", "lossless_classes": "3", "order": ""}
    assert pcn(["run", "traffic", "--topology", "fat-tree", "--list"]) == 0
    assert "ecmp " in capsys.readouterr().out
