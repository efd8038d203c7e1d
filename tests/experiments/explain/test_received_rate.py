"""What PAUSE did to the rates that PCN's senders took, and a second account of it: by the lines of
all ports, the times at which their gates were closed, and Algorithm 1."""

import math
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pcn.cli import run as pcn
from pcn.experiments.data.recording import flow_entity
from pcn.experiments.data.records import LogChoice
from pcn.experiments.explain import answers
from pcn.experiments.explain.again import Again, KeptResult
from pcn.experiments.explain.received_rate import Gap, Held, Period, ReceivedRate, periods
from pcn.experiments.explain.words import received_rates
from pcn.experiments.run.progress import Silent
from pcn.hosts.explain_log import CLOSES, OPENS, SENDER_PARTS
from pcn.virtualnet.times import picoseconds

FLOWS = 80
WORDS = (
    "traffic", "--topology", "fat-tree", "--workload", "websearch",
    "--set", f"count={FLOWS}", "--set", "xoff_bytes=60KB",
)  # fmt: skip


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> KeptResult:
    out = tmp_path_factory.mktemp("received") / "run"
    words = [*WORDS, "--scheme", "pcn", "--clock", "virtual", "-q", "--out", str(out)]
    assert pcn(["run", *words]) == 0
    return KeptResult(out)


class Account:
    """Of a run that logged the lines of all ports, and when gates closed and opened."""

    def __init__(self, again: Again):
        self.again = again
        self.starts = defaultdict(lambda: defaultdict(list))
        """By flow and port."""
        self.busy = defaultdict(list)
        self.answers = defaultdict(list)
        """By flow: when its CNPs came to its host."""
        columns = ("start_ps", "link", "flow", "bytes", "about")
        for start, link, flow, size, about in zip(
            *(again.logs.lines[name].tolist() for name in columns), strict=True
        ):
            end = start + self.duration(link, size)
            self.busy[link].append((start, end))
            if 0 <= flow < FLOWS:
                self.starts[flow][link].append(start)
            elif 0 <= about < FLOWS:
                cable, near = self.cable(link), again.logs.ports[link].node
                far = cable.b.node if near == cable.a.node else cable.a.node
                if far == again.plan.topology.flows[about].src:
                    self.answers[about].append(end + picoseconds(cable.delay_s))
        self.closed = defaultdict(list)
        since: dict[int, int] = {}
        for time, link, event in zip(
            *(again.logs.causes[name].tolist() for name in ("time_ps", "link", "kind")), strict=True
        ):
            if event == CLOSES:
                since[link] = time
            elif event == OPENS and link in since:
                self.closed[link].append((since.pop(link), time))
        self.idle = {link: self.paused_and_idle(link) for link in self.busy}

    def cable(self, link: int):
        end = self.again.logs.ports[link]
        return self.again.plan.topology.link_at(end.node, end.port)

    def duration(self, link: int, size: int) -> int:
        rate_bps = self.cable(link).rate_bps
        return round(size * 8e12 / rate_bps)

    def paused_and_idle(self, link: int) -> list[tuple[int, int]]:
        spans = []
        for begin, end in self.closed[link]:
            at = begin
            for start, stop in self.busy[link]:
                if stop > at and start < end:
                    spans += [(at, start)] if start > at else []
                    at = max(at, stop)
            spans += [(at, end)] if at < end else []
        return spans

    def held(self, link: int, begin: int, end: int) -> int:
        return sum(max(0, min(b, end) - max(a, begin)) for a, b in self.idle[link])

    def gaps(self, flow: int) -> list[tuple[int, int, int]]:
        """Returns between arrivals: from when until when, and how much longer by PAUSE. The
        sender's part is that of the parts, of which there is another account."""
        starts = self.starts[flow]
        nic, *way = sorted(starts, key=lambda link: starts[link][0])
        sent = self.again.logs.sent[self.again.logs.sent["flow"] == flow]
        paused = sent["parts_ps"][:, SENDER_PARTS.index("paused")].astype(np.int64).tolist()
        sizes = sent["bytes"].tolist()
        arrivals, waits = [], []
        for place, size in enumerate(sizes):
            waited, at = 0, starts[nic][place]
            for link, following in zip([nic, *way], [*way, None], strict=True):
                at += self.duration(link, size) + picoseconds(self.cable(link).delay_s)
                if following is not None:
                    start = starts[following][place]
                    waited += self.held(following, at, start)
                    at = start
            arrivals.append(at)
            waits.append(waited)
        return [
            (
                arrivals[i - 1],
                arrivals[i],
                min(
                    paused[i] - paused[i - 1] + waits[i] - waits[i - 1],
                    arrivals[i] - arrivals[i - 1],
                ),
            )
            for i in range(1, len(arrivals))
        ]

    def received_rate(self, flow: int) -> tuple[int, list[tuple[int, float, float]]]:
        """Returns how often it slowed down, and of the periods by which it did: d, the rate that
        was reported, and the one without PAUSE."""
        series, entity = self.again.series, flow_entity(flow)
        ends, rates = series.get(entity, "rec_rate_bps")
        packets, marked = (
            series.get(entity, name)[1].tolist() for name in ("window_packets", "window_marked")
        )
        parameters = self.again.plan.scheme_parameters
        period, w_min = picoseconds(parameters["period_s"]), parameters["w_min"]
        gaps = self.gaps(flow)
        arrivals = [gaps[0][0], *(end for _, end, _ in gaps)]
        sent = self.again.logs.sent[self.again.logs.sent["flow"] == flow]
        sizes, last = sent["bytes"].tolist(), int(sent["time_ps"][-1])
        line = self.cable(next(iter(self.starts[flow]))).rate_bps

        def by(time: int) -> int:
            """Returns by how much all gaps until then were longer."""
            total = 0
            for begin, end, longer in gaps:
                if end <= time:
                    total += longer
                elif begin < time:
                    total += longer * (time - begin) // (end - begin)
            return total

        rate, w, slowed, changed = line, w_min, 0, []
        for time_s, reported, n, marks, answer in zip(
            ends.tolist(), rates.tolist(), packets, marked, sorted(self.answers[flow]), strict=True
        ):
            end = round((time_s - self.again.plan.start_s) * 1e12)
            begin = end - period
            inside = [i for i, time in enumerate(arrivals) if begin <= time < end]
            assert len(inside) == n
            if n == 1 and inside[0] > 0:
                gap = arrivals[inside[0]] - arrivals[inside[0] - 1]
                if gap > period:
                    begin, end = arrivals[inside[0] - 1], arrivals[inside[0]]
            size = sum(sizes[i] for i in inside)
            units = math.floor(size * 8e12 / (end - begin) / 1e6 + 0.5)
            assert reported == 1e6 * max(units, 1)
            if answer >= last:  # it has sent all
                continue
            if marks and marks >= 0.95 * n - 1e-9:
                lower = reported * (1 - w_min)
                if lower < rate:
                    rate, slowed = lower, slowed + 1
                    longer = by(end) - by(begin)
                    without = line
                    if end - begin > longer:
                        without = min(line, reported * (end - begin) / (end - begin - longer))
                    changed.append((longer, reported, without))
                w = w_min
            else:
                rate, w = rate * (1 - w) + line * w, w * (1 - w) + 0.5 * w
        return slowed, changed


def test_a_second_account_finds_the_same_rates(result: KeptResult):
    numbers = result.slowest(12, Silent())
    again = result.run(
        LogChoice(
            flows=numbers,
            ports=tuple(end for link in result.plan.topology.links for end in (link.a, link.b)),
            causes=True,
        ),
        Silent(),
    )
    account = Account(again)
    longer = shorter = 0
    for item in answers.of_flows(result, numbers, None, Silent()).flows:
        of = item.received_rate
        slowed, changed = account.received_rate(item.id)
        assert of.decreases == slowed
        for shift, rows in (
            (of.longer, [row for row in changed if row[0] > 0]),
            (of.shorter, [row for row in changed if row[0] < 0]),
        ):
            assert (shift.n, shift.ps) == (len(rows), sum(row[0] for row in rows))
            if rows:
                assert shift.reported_bps == pytest.approx(np.mean([row[1] for row in rows]))
                assert shift.without_bps == pytest.approx(np.mean([row[2] for row in rows]))
                assert sum(shift.roots.values()) == pytest.approx(1, abs=1e-9)
        longer, shorter = longer + of.longer.n, shorter + of.shorter.n
    assert longer > 3
    assert shorter > 3


def test_rates_that_pause_changed_are_printed(result: KeptResult):
    items = answers.of_flows(result, result.slowest(12, Silent()), None, Silent()).flows
    for item in items:
        text = "\n".join(received_rates(item))
        assert ("longer" in text) == bool(item.received_rate.longer.n)
        assert ("shorter" in text) == bool(item.received_rate.shorter.n)
        assert bool(text) == bool(item.received_rate.decreases)
        assert "received_rate" in item.as_json()


@given(
    st.integers(0, 10**6),
    st.integers(1, 10**6),
    st.integers(-(10**6), 10**6),
    st.lists(st.integers(-(10**6), 3 * 10**6), min_size=1, max_size=5),
)
def test_spans_that_follow_each_other_have_all_of_a_gap(begin, length, longer, cuts):
    gap = Gap(begin, begin + length, (Held(0, (0, 1), longer),))
    edges = [-(10**7), *sorted(cuts), 10**7]
    parts = [gap.within(a, b) for a, b in pairwise(edges)]
    assert sum(parts) == gap.longer_ps == min(longer, length)


def test_period_of_a_single_packet_is_the_gap_before_it():
    """As PCN's NP divides by the time between two packets where that is longer than T."""
    gap = Gap(100, 300, (Held(0, (0, 150), 150),))
    (period,) = periods([gap], [310], [1], [8e9], 50)
    assert (period.from_ps, period.to_ps, period.longer_ps) == (100, 300, 150)
    assert period.without_bps(40e9) == 8e9 * 200 / 50
    assert period.without_bps(10e9) == 10e9
    assert Period(0, 10, 8e9, 10, ()).without_bps(10e9) == 10e9
    (several,) = periods([gap], [310], [2], [8e9], 50)
    assert (several.from_ps, several.to_ps, several.longer_ps) == (260, 310, 30)


def test_other_schemes_have_no_receiving_rate(tmp_path):
    out = tmp_path / "run"
    words = ["traffic", "--topology", "star", "--set", "count=10", "--scheme", "dcqcn"]
    assert pcn(["run", *words, "--clock", "virtual", "-q", "--out", str(out)]) == 0
    (item,) = answers.of_flows(KeptResult(out), [0], None, Silent()).flows
    assert item.received_rate is None
    assert not list(received_rates(item))
    assert ReceivedRate.__doc__
