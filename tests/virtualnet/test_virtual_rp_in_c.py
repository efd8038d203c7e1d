"""An RP in C beside its Python text: the same decisions at each event, in the engine and outside;
bad files."""

from dataclasses import replace
from pathlib import Path

import pytest
from networks import flow_stats, star, with_flows

from pcn.hosts.algorithms import Ack, Cnm, Cnp, Configured, Mark, Scheme, SchemeError, find_scheme
from pcn.hosts.algorithms.check import check, decided
from pcn.hosts.compiled import CompiledReactionPoint, Ends
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec
from pcn.virtualnet import CallbackError, VirtualError

PYTHON = """
from dataclasses import dataclass

from pcn import Mark, NotificationPoint, Cnp, Parameters, ReactionPoint, Scheme, parameter


@dataclass(frozen=True)
class AllParameters(Parameters):
    cut: float = parameter(0.5, "number", "what a mark takes", least=0, most=1)
    rise_bps: float = parameter(50e6, "rate", "what a timer and a byte counter add", least=1)
    wait_s: float = parameter(20e-6, "time", "of the timer", least=1e-9)
    wait_bytes: float = parameter(20e3, "size", "of the byte counter", least=1)


class Rp(ReactionPoint):
    in_c = "all.c"
    segment_bytes = 2000

    def __init__(self, line_rate_bps, parameters):
        self.line, self.p = line_rate_bps, parameters
        self.rate_bps = line_rate_bps / 2
        self.window_bytes = 40e3
        self.started_s = self.events = 0.0

    def on_start(self, now_s):
        self.started_s = now_s
        self.timer_s = now_s + self.p.wait_s
        self.due_bytes = int(self.p.wait_bytes)

    def _to(self, rate_bps):
        self.events += 1
        self.rate_bps = min(max(rate_bps, 10e6), self.line)

    def on_cnp(self, cnp, now_s):
        if cnp.mark is Mark.CE:
            self._to(self.rate_bps * (1 - self.p.cut) + cnp.rec_rate_bps / 1e6)
        elif cnp.mark is Mark.UE:
            self.timer_s = None

    def on_cnm(self, cnm, now_s):
        self._to(self.rate_bps * (1 - cnm.feedback / 128))

    def on_ack(self, ack, now_s):
        self.window_bytes += ack.acked_bytes / 100 if ack.mark is Mark.NONE else -self.window_bytes / 8
        self.window_bytes = min(max(self.window_bytes + ack.rtt_s + ack.psn / 1e6 + ack.path / 1e6, 500.0), 60e3)

    def on_timer(self, now_s):
        self._to(self.rate_bps + self.p.rise_bps)
        self.timer_s = now_s + self.p.wait_s

    def on_bytes_sent(self, now_s):
        self._to(self.rate_bps + self.p.rise_bps)
        self.due_bytes = self.sent_bytes + int(self.p.wait_bytes)
        if self.timer_s is None:
            self.timer_s = now_s + self.p.wait_s

    def state(self):
        return {"events": self.events, "started_s": self.started_s}


class Np(NotificationPoint):
    period_s = 50e-6

    def __init__(self, parameters):
        pass

    def on_window(self, window):
        mark = Mark.CE if window.marked_ce else Mark.UE if window.packets % 2 else Mark.NONE
        return Cnp(mark, 8e6 * window.packets)


ALL = Scheme("all", "reacts to every event", "pcn", AllParameters, Rp, Np)
"""  # noqa: E501
C = """
#include "reaction_point.h"

#include <math.h>

struct all {
    double started_s, events;
};
RP_OWN(struct all)

static void begin(struct reaction_point *rp)
{
    rp->rate_bps = rp->line_rate_bps / 2;
    rp->window_bytes = 40e3;
}

static void on_start(struct reaction_point *rp, double now_s)
{
    own(rp)->started_s = now_s;
    rp->timer_s = now_s + rp->parameters->wait_s;
    rp->due_bytes = (uint64_t)rp->parameters->wait_bytes;
}

static void to(struct reaction_point *rp, double rate_bps)
{
    own(rp)->events++;
    rp->rate_bps = fmin(fmax(rate_bps, 10e6), rp->line_rate_bps);
}

static void on_cnp(struct reaction_point *rp, enum rp_mark mark, double rec_rate_bps, double now_s)
{
    (void)now_s;
    if (mark == RP_CE) to(rp, rp->rate_bps * (1 - rp->parameters->cut) + rec_rate_bps / 1e6);
    else if (mark == RP_UE) rp->timer_s = INFINITY;
}

static void on_cnm(struct reaction_point *rp, uint32_t feedback, double now_s)
{
    (void)now_s;
    to(rp, rp->rate_bps * (1 - feedback / 128.0));
}

static void on_ack(struct reaction_point *rp, const struct rp_ack *ack, double now_s)
{
    (void)now_s;
    rp->window_bytes += ack->mark == RP_NONE ? (double)ack->acked_bytes / 100 : -rp->window_bytes / 8;
    rp->window_bytes = fmin(fmax(rp->window_bytes + ack->rtt_s + ack->psn / 1e6 + ack->path / 1e6, 500), 60e3);
}

static void on_timer(struct reaction_point *rp, double now_s)
{
    to(rp, rp->rate_bps + rp->parameters->rise_bps);
    rp->timer_s = now_s + rp->parameters->wait_s;
}

static void on_bytes_sent(struct reaction_point *rp, double now_s)
{
    to(rp, rp->rate_bps + rp->parameters->rise_bps);
    rp->due_bytes = rp->sent_bytes + (uint64_t)rp->parameters->wait_bytes;
    if (rp->timer_s == INFINITY) rp->timer_s = now_s + rp->parameters->wait_s;
}

const struct reaction_point_events reaction_point = {
    .begin = begin,
    .on_start = on_start,
    .on_cnp = on_cnp,
    .on_cnm = on_cnm,
    .on_ack = on_ack,
    .on_timer = on_timer,
    .on_bytes_sent = on_bytes_sent,
    .logged = {{"events", offsetof(struct reaction_point, own) + offsetof(struct all, events)},
               {"started_s", offsetof(struct reaction_point, own) + offsetof(struct all, started_s)}},
};
"""  # noqa: E501
FLOWS = [
    FlowSpec(1, "h0", "r0"),
    FlowSpec(2, "h1", "r0", start_s=1e-4),
    FlowSpec(3, "h2", "r0", size_bytes=300_000),
]


@pytest.fixture(scope="module")
def every_event(tmp_path_factory) -> Scheme:
    folder = tmp_path_factory.mktemp("all")
    (folder / "all.py").write_text(PYTHON)
    (folder / "all.c").write_text(C)
    return find_scheme(f"{folder}/all.py:ALL")


def with_c(scheme: Scheme, folder: Path, text: str) -> Scheme:
    (folder / "other.c").write_text(text)
    return replace(scheme, reaction_point=rp_class_with(scheme, str(folder / "other.c")))


def rp_class_with(scheme: Scheme, file: str):
    """Returns the RP's class with another C file."""
    return type("Other", (scheme.reaction_point,), {"in_c": file})


@pytest.fixture(autouse=True)
def fewer_events(monkeypatch):
    """Of those of `check`, each of which comes hundreds of times all the same."""
    monkeypatch.setattr("pcn.hosts.algorithms.check_events.EVENTS", 1000)


def test_rp_in_c_and_its_python_text_decide_the_same_at_each_event(every_event: Scheme):
    findings = check(every_event)
    assert [finding for finding in findings if not finding.kept] == []
    assert any("RP in C" in finding.rule for finding in findings)


@pytest.mark.parametrize("program", ["pcn", "qcn"])
def test_rp_in_c_gives_the_same_run_to_the_bit(every_event: Scheme, program):
    """CNPs, or a switch's messages; windows, timers, byte counters."""
    marking = () if program == "pcn" else find_scheme(program).marking
    parameters = every_event.parameters if program == "pcn" else find_scheme(program).parameters
    seen = []
    for in_c in (True, False):
        configured = replace(every_event, program=program, marking=marking).configure()
        if program == "qcn":
            fields = {**vars(parameters()), **vars(configured.parameters)}
            configured = Configured(configured.scheme, type("Both", (), fields)())
        log: list[object] = []
        with VirtualNetwork(star(3), configured, in_c=in_c) as network:
            network.on_rate = lambda flow, now_s, to=log: to.append(
                (flow.spec.id, now_s, decided(flow.rp))
            )
            with_flows(network, FLOWS).run(until_s=3e-3)
            assert all(
                isinstance(flow.rp, CompiledReactionPoint) == in_c
                for flow in network.flows.values()
            )
            seen.append((network.totals(), log, flow_stats(network)))
    assert seen[0] == seen[1]
    assert len(seen[0][1]) > 1000


def test_rp_in_c_gives_the_same_run_without_a_watcher(every_event: Scheme):
    with VirtualNetwork(star(3), every_event.configure()) as network:
        with_flows(network, FLOWS).run(until_s=3e-3)
        again = network.totals().digest
    with VirtualNetwork(star(3), every_event.configure(), in_c=False) as network:
        with_flows(network, FLOWS).run(until_s=3e-3)
        assert network.totals().digest == again


def test_check_names_the_event_at_which_the_rp_in_c_differs(every_event: Scheme, tmp_path):
    changed = with_c(
        every_event, tmp_path, C.replace("-rp->window_bytes / 8", "-rp->window_bytes / 9")
    )
    (finding,) = [finding for finding in check(changed) if not finding.kept]
    assert "the RP in C" in finding.rule
    assert "on_ack(Ack(" in finding.seen
    assert "window_bytes" in finding.seen


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "all: its RP in C, .*other.c: .*failed with exit code"),
        ("int reaction;", "all: its RP in C, .*other.c: .*reaction_point"),
        (C.replace("40e3;", "rp->parameters->nosuch;"), "nosuch"),
    ],
)
def test_file_without_an_rp_is_refused(every_event: Scheme, tmp_path, text, message):
    configured = with_c(every_event, tmp_path, text).configure()
    with pytest.raises(SchemeError, match=message):
        Ends(configured).new_rp(10e9)
    with (
        VirtualNetwork(star(1), configured) as network,
        pytest.raises(VirtualError, match="flow 1: all: its RP in C"),
    ):
        network.add_flow(FLOWS[0])


def test_file_that_is_not_there_is_refused(every_event: Scheme, tmp_path):
    missing = replace(
        every_event, reaction_point=rp_class_with(every_event, str(tmp_path / "missing.c"))
    ).configure()
    with pytest.raises(SchemeError, match=r"all: its RP in C, .*missing.c: No such file"):
        Ends(missing).new_rp(10e9)


@pytest.mark.parametrize(
    ("set_", "message"),
    [
        ("rp->rate_bps = 0", "rate_bps is 0: a rate is finite, and above 0"),
        ("rp->rate_bps = NAN", "rate_bps is -?nan"),
        ("rp->window_bytes = -1", "window_bytes is -1: a window is above 0"),
        ("rp->timer_s = -1", "a time that picoseconds"),
    ],
)
def test_impossible_decision_of_an_rp_in_c_ends_the_run(
    every_event: Scheme, tmp_path, set_, message
):
    changed = with_c(
        every_event,
        tmp_path,
        C.replace(
            "(void)now_s;\n    rp->window_bytes +=", f"{set_};\n return;\n    rp->window_bytes +="
        ),
    )
    with VirtualNetwork(star(1), changed.configure()) as network:
        network.add_flow(FLOWS[0])
        with pytest.raises(CallbackError, match=f"RP of flow 1, at .*{message}"):
            network.run(until_s=1e-3)


def test_class_that_is_derived_from_one_in_c_runs_in_python(every_event: Scheme):
    derived = type("Derived", (every_event.reaction_point,), {})
    configured = replace(every_event, reaction_point=derived).configure()
    assert type(Ends(configured).new_rp(10e9)) is derived


def test_rp_in_c_is_a_reaction_point_like_any_other(every_event: Scheme):
    configured = every_event.configure()
    for end in (rp := Ends(configured).new_rp(10e9)), configured.new_rp(10e9):
        end.on_start(1e-3)
        end.on_cnp(Cnp(Mark.CE, 8e6), 1.1e-3)
        end.on_cnm(Cnm(32), 1.2e-3)
        end.sent_bytes = 20_000
        end.on_bytes_sent(1.3e-3)
        end.on_timer(1.4e-3)
        end.on_ack(Ack(1e-5, Mark.CE, 1058, 7, 0xC001), 1.5e-3)
    assert isinstance(rp, CompiledReactionPoint)
    assert decided(rp) == decided(end)
    assert rp.state()["events"] == 4
    assert (rp.segment_bytes, rp.needs_rec_rate, rp.sent_bytes) == (2000, False, 20_000)
