"""What the tutorial's text claims beyond the numbers that its programs print: by those numbers, or
by a run of the lesson's programs with a log. test_tutorial.py compares the numbers with runs."""

import json
import math
import re
import runpy
from collections import defaultdict
from dataclasses import replace
from itertools import groupby
from types import SimpleNamespace

import forks
import pytest
from test_tutorial import shown

import examples
from examples import ROOT
from pcn import Cnp, FlowSpec, Mark, ReactionPoint, Scheme, VirtualNetwork, dumbbell, find_scheme
from pcn.topologies.star import star


def numbers(name: str) -> list[list[float]]:
    """The numbers of each line that a page shows below a program."""
    printed = shown(f"tutorial/{name}")
    return [
        [float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", line)]
        for line in printed.splitlines()
    ]


class Log:
    """CNPs of all flows of a run: (time in s, whether marked, the rate then), by flow in the order
    of their first ones' RPs."""

    def __init__(self, scheme: Scheme):
        self.cnps = defaultdict(list)
        log = self

        class Logs(scheme.reaction_point):
            def __init__(self, line_rate_bps: float, parameters):
                super().__init__(line_rate_bps, parameters)
                self._place = len(log.points)
                log.points.append(self)

            def on_cnp(self, cnp: Cnp, now_s: float):
                super().on_cnp(cnp, now_s)
                log.cnps[self._place].append((now_s, cnp.mark is Mark.CE, self.rate_bps))

        self.points: list[ReactionPoint] = []
        self.scheme = replace(scheme, name="logs", reference="logs", reaction_point=Logs)

    def falls(self, place: int, from_s: float) -> int:
        return sum(marked for time_s, marked, _ in self.cnps[place] if time_s >= from_s)

    def sums(self, flows: int, from_s: float) -> list[float]:
        """The sum of all rates after each CNP."""
        events = sorted(
            (time_s, place, rate_bps)
            for place, cnps in self.cnps.items()
            for time_s, _, rate_bps in cnps
        )
        rates: dict[int, float] = {}
        sums = []
        for time_s, place, rate_bps in events:
            rates[place] = rate_bps
            if time_s > from_s and len(rates) == flows:
                sums.append(sum(rates.values()))
        return sums

    def in_a_row(self, from_s: float) -> list[int]:
        """How many marked CNPs follow one another, each time, of any flow."""
        return [
            len(list(group))
            for cnps in self.cnps.values()
            for marked, group in groupby(marked for time_s, marked, _ in cnps if time_s > from_s)
            if marked
        ]


@pytest.fixture
def lessons(tmp_path, monkeypatch) -> SimpleNamespace:
    """The current folder has the files that lessons 3 and 4 name for saving."""
    for lesson in ("3-marking.md-1", "4-reaction.md-1"):
        for file, text in examples.files(f"tutorial/{lesson}").items():
            (tmp_path / file).write_text(text)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return SimpleNamespace(**runpy.run_path("mine.py"))


def test_lesson_1_more_harm_comes_with_fewer_pause_frames():
    without, _, h0, _, burst, s0, h0_burst, _ = numbers("1-pause.md-1")
    share = 40 * 1000 / 1058 / 2
    assert without[0] == pytest.approx(share, rel=0.01)  # half of the link
    assert burst[0] == pytest.approx(without[0] * (1 - 0.41), rel=0.01)
    assert h0_burst[0] < h0[0]
    assert h0_burst[1] > 1.4 * h0[1]
    assert h0[1] / h0[0] == pytest.approx(21, abs=0.5)
    assert s0[1] / s0[0] == pytest.approx(155, abs=1)


def test_lesson_1_marks_of_f0_are_of_the_link_that_it_shares():
    pfc, _, pcn, shared, to_r1, to_r0, marked = numbers("1-pause.md-2")
    assert pcn[0] == 0
    assert pcn[1] > 2 * pfc[1]
    assert to_r0[-1] == 0
    assert 0 < marked[-1] <= shared[-1]
    assert to_r1[-1] > 0


def test_lesson_3_k_by_rate_gains_no_throughput():
    _, slow, _, _, fixed, by_rate, _, *small_cut = numbers("3-marking.md-3")
    assert slow[0] / fixed[0] == pytest.approx(13, abs=0.5)
    assert slow[0] / by_rate[0] == pytest.approx(3, abs=0.5)
    assert by_rate[1] <= fixed[1]
    assert all(used > fixed[1] + 5 for _, used in small_cut)


@pytest.mark.parametrize("reference", ["examples/aimd/aimd.py:AIMD", "by_rate.py:BY_RATE"])
def test_lesson_3_cuts_follow_one_another(lessons: SimpleNamespace, reference):
    log = Log(find_scheme(reference))
    topology = dumbbell(rate_bps=40e9)
    with VirtualNetwork(topology, log.scheme.configure()) as network:
        for flow in topology.flows:
            network.add_flow(flow)
        network.run(until_s=80e-3)
    rows = log.in_a_row(from_s=40e-3)
    assert max(rows) == 4
    assert sum(row >= 3 for row in rows) >= 0.8 * len(rows)
    sums = log.sums(4, from_s=40e-3)
    assert min(sums) < 0.75 * 40e9 < max(sums)
    assert (40e9 - min(sums)) / 0.4e9 * 0.5e-3 > 10e-3


def diverged(scheme: Scheme, second_s: float, until_s: float) -> tuple[Log, float]:
    """The CNPs of lesson 4's two flows, and flow 2's rate over flow 1's in the last 50 ms."""
    log = Log(scheme)
    with VirtualNetwork(star(2), log.scheme.configure()) as network:
        for number, start_s in ((1, 0.0), (2, second_s)):
            network.add_flow(FlowSpec(number, f"h{number - 1}", "r0", start_s=start_s))
        network.run(until_s=until_s - 50e-3)
        before = [flow.stats().received_bytes for flow in network.flows.values()]
        network.run(until_s=until_s)
        after = [flow.stats().received_bytes for flow in network.flows.values()]
    first, second = (late - early for early, late in zip(before, after, strict=True))
    return log, second / first


def test_lesson_4_falls_that_a_flow_has_alone_set_the_shares(lessons: SimpleNamespace):
    equal, later, last = numbers("4-reaction.md-2")
    assert equal[2] == equal[3]
    assert last[3] / last[2] > later[3] / later[2] > 1.5
    assert later[4] == pytest.approx(8, abs=0.2)  # Gbit/s: a fifth is idle
    log, ratio = diverged(lessons.MINE, 20e-3, 400e-3)
    assert ratio == pytest.approx(last[3] / last[2], rel=0.01)
    falls = [log.falls(place, from_s=20e-3) for place in (0, 1)]
    assert falls == [319, 310]
    # flow 1 begins these 380 ms with the rate that 20 ms alone left it
    assert ratio == pytest.approx((1.02 / 0.8) ** (falls[0] - falls[1]), rel=0.5)
    rows = log.in_a_row(from_s=30e-3)
    assert sum(row in (4, 5) for row in rows) > 0.9 * len(rows)
    rates = log.sums(2, from_s=30e-3)
    assert 0.35 * 10e9 < min(rates) < 0.5 * 10e9
    assert math.log(10e9 / min(rates)) / math.log(1.02) * 100e-6 == pytest.approx(4e-3, rel=0.2)


def test_lesson_4_with_another_start_the_other_flow_loses(lessons: SimpleNamespace):
    assert diverged(lessons.MINE, 20.05e-3, 200e-3)[1] < 0.5


def test_lesson_6_a_gentler_increase_costs_time_and_no_throughput():
    used, cnps = zip(*((line[1:-2], line[-1]) for line in numbers("6-figure.md-2")), strict=True)
    assert [len(shares) for shares in used] == [3, 3]
    assert all(gentle > steep for steep, gentle in zip(*used, strict=True))
    assert cnps == (8, 12), "four more, each 500 us"


def test_lesson_6_a_marked_period_takes_the_rate_below_what_was_received():
    rates = []
    for w_min in (0.1, 0.025):
        point = find_scheme("pcn").configure({"w_min": w_min}).new_rp(10e9)
        point.on_cnp(Cnp(Mark.CE, rec_rate_bps=2.5e9), 0.0)
        rates.append(point.rate_bps)
    assert rates == pytest.approx([2.25e9, 2.4375e9])


def test_lesson_3_without_a_k_the_ports_have_the_default(lessons: SimpleNamespace):
    """The exercise names the K of its solution, as it isn't the default, 100 KB."""
    exercise = (ROOT / "docs/tutorial/3-marking.md").read_text().partition("## Exercise")[2]
    assert 'configure({"k_bytes": 80e3})' in exercise.partition("## Solution")[0]
    assert find_scheme("by_rate.py:BY_RATE").configure().parameters.k_bytes == 100e3


def test_lesson_7_which_flows_are_gone_decides_what_is_saved():
    printed = numbers("7-explain.md-2")
    (time_us, _), e0, a0, c0, faster, without_01, without_02, without_23 = printed
    assert faster[-2:] == without_23[-2:]
    assert faster[-1] < e0[-5] == 33  # %: the share of the time, above what the port's rate saves
    assert without_01[-1] > without_02[-1] > without_23[-1]
    assert without_01[-2] == pytest.approx(time_us * (1 - 0.66), rel=0.01)
    assert [row[-1] for row in (e0, a0, c0)] == [3, 4, 4]  # the last flow in the root's queue


HOPS = """
run(["explain", "incast", *(f"--flow={flow}" for flow in (2, 3, 4)), "-q"])
flows = json.loads(Path("incast/explain/explanation.json").read_text())["flows"]
print(json.dumps({flow["id"]: [hop["port"] for hop in flow["hops"]] for flow in flows}))
"""


def test_lesson_7_flows_2_and_3_share_no_port_with_flow_4(tmp_path):
    program = examples.python()["tutorial/7-explain.md-2"]
    (tmp_path / "example.py").write_text(program.partition("\n(flow,) =")[0] + HOPS)
    done = forks.run("example.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    hops = {int(flow): set(ports) for flow, ports in json.loads(done.stdout).items()}
    assert all("e0:1" in hops[flow] and not hops[flow] & hops[4] for flow in (2, 3))
    assert {"a0:1", "c0:1"} <= hops[4]
