"""NPs in C, beside their Python texts: the same CNPs at the same times; what they can't decide ends
the run."""

from dataclasses import replace
from pathlib import Path

import pytest
from networks import flow_stats, star, with_flows

from pcn.hosts.algorithms import Cnp, Mark, Scheme, SchemeError, Window, find_scheme
from pcn.hosts.algorithms.check import check
from pcn.hosts.compiled import CompiledNotificationPoint, Ends
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec
from pcn.virtualnet import CallbackError

PYTHON = """
from dataclasses import dataclass

from pcn.hosts.algorithms.red import RedParameters
from pcn import Cnp, Mark, NotificationPoint, ReactionPoint, Scheme, parameter


@dataclass(frozen=True)
class BothParameters(RedParameters):
    period_s: float = parameter(20e-6, "time", "of windows", least=1e-6)
    quiet_s: float = parameter(15e-6, "time", "without a CNP of a mark", least=1e-9)
    step_bps: float = parameter(1e6, "rate", "of a window", least=1)


class Rp(ReactionPoint):
    def __init__(self, line_rate_bps, parameters):
        self.line = self.rate_bps = line_rate_bps

    def on_cnp(self, cnp, now_s):
        if cnp.mark is Mark.CE:
            self.rate_bps = max(self.rate_bps / 2, 1e9)
        else:
            self.rate_bps = min(self.rate_bps + cnp.rec_rate_bps, self.line)


class Np(NotificationPoint):
    in_c = "both.c"

    def __init__(self, parameters):
        self.p, self.period_s, self.seen = parameters, parameters.period_s, 0

    def on_window(self, window):
        self.seen += window.marked_ce
        if window.packets % 3 == 0:
            return None
        mark = Mark.UE if window.marked_ue else Mark.NONE
        return Cnp(mark, self.p.step_bps * (window.packets + self.seen % 7 + (window.last_s > window.first_s)))

    def on_marked(self, now_s):
        if now_s < self.marked_from_s:
            return None
        self.marked_from_s = now_s + self.p.quiet_s
        return Cnp(Mark.CE)


BOTH = Scheme("both", "an NP of windows and marks", "dcqcn", BothParameters, Rp, Np, marking=("red_ecn",))
"""  # noqa: E501
C = """
#include "notification_point.h"

static bool on_window(struct notification_point *np, const struct np_window *window, struct np_cnp *cnp)
{
    np->own[0] += (double)window->marked_ce;
    if (window->packets % 3 == 0) return false;
    uint64_t steps = window->packets + (uint64_t)np->own[0] % 7 + (window->last_s > window->first_s);
    *cnp = (struct np_cnp){window->marked_ue != 0 ? RP_UE : RP_NONE, np->parameters->step_bps * (double)steps};
    return true;
}

static bool on_marked(struct notification_point *np, double now_s, struct np_cnp *cnp)
{
    if (now_s < np->marked_from_s) return false;
    np->marked_from_s = now_s + np->parameters->quiet_s;
    *cnp = (struct np_cnp){.mark = RP_CE};
    return true;
}

const struct notification_point_events notification_point = {on_window, on_marked};
"""  # noqa: E501
FLOWS = [FlowSpec(i + 1, f"h{i}", "r0", start_s=i * 7e-6) for i in range(3)]


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> Scheme:
    folder = tmp_path_factory.mktemp("both")
    (folder / "both.py").write_text(PYTHON)
    (folder / "both.c").write_text(C)
    return find_scheme(f"{folder}/both.py:BOTH")


def with_c(scheme: Scheme, folder: Path, text: str) -> Scheme:
    file = folder / "other.c"
    file.write_text(text)
    return replace(
        scheme, notification_point=type("Other", (scheme.notification_point,), {"in_c": str(file)})
    )


def outcome(scheme: Scheme, watched: bool, **more) -> tuple[object, ...]:
    seen: list[object] = []
    with VirtualNetwork(star(3), scheme.configure(), **more) as network:
        if watched:
            network.on_window = lambda flow, now_s, window, cnp: seen.append(
                (flow.spec.id, now_s, window, cnp)
            )
        with_flows(network, FLOWS).run(until_s=2e-3)
        totals = replace(network.totals(), packets_most=0)
        return totals, flow_stats(network), seen


@pytest.fixture(autouse=True)
def fewer_events(monkeypatch):
    """Of those of `check`, each of which comes hundreds of times all the same."""
    monkeypatch.setattr("pcn.hosts.algorithms.check_events.EVENTS", 1000)


def test_np_in_c_and_its_python_text_decide_the_same_at_each_event(both: Scheme):
    findings = check(both)
    assert [finding for finding in findings if not finding.kept] == []
    assert any("NP in C" in finding.rule for finding in findings)


@pytest.mark.parametrize("name", ["pcn", "pcn-w", "dcqcn", "both"])
def test_np_in_c_gives_the_same_run_to_the_bit(name, both: Scheme):
    """With a watcher, whose calls are of Python, and without; on one thread and on two."""
    scheme = both if name == "both" else find_scheme(name)
    for watched in (False, True):
        expected = outcome(scheme, watched, in_c=False)
        for threads in (1, 2):
            assert outcome(scheme, watched, threads=threads) == expected
    assert sum(stats.cnps_sent for stats in expected[1]) > 3


def test_run_with_both_ends_in_c_calls_no_python():
    for name in ("pcn", "dcqcn"):
        with VirtualNetwork(star(3), find_scheme(name).configure(), threads=2) as network:
            with_flows(network, FLOWS).run(until_s=1e-3)
            assert sum(flow.stats().cnps_received for flow in network.flows.values()) > 3
            assert network.threads().questions == 0


def test_check_names_the_event_at_which_the_np_in_c_differs(both: Scheme, tmp_path):
    changed = with_c(both, tmp_path, C.replace("% 7", "% 8"))
    (finding,) = [finding for finding in check(changed) if not finding.kept]
    assert "the NP in C" in finding.rule
    assert "on_window(Window(" in finding.seen


@pytest.mark.parametrize(
    ("set_", "message"),
    [
        ("cnp->rec_rate_bps = -1", "rec_rate_bps is -1: bit/s, from 0"),
        ("cnp->rec_rate_bps = 1e300", "rec_rate_bps is 1e.300: bit/s, from 0"),
        ("cnp->mark = 0", "a Cnp's mark is one of Mark"),
        ("cnp->mark = 256 + 2", "a Cnp's mark is one of Mark"),
    ],
)
def test_impossible_cnp_of_an_np_in_c_ends_the_run(both: Scheme, tmp_path, set_, message):
    changed = with_c(
        both,
        tmp_path,
        C.replace(
            "};\n    return true;\n}\n\nstatic bool on_marked",
            f"}};\n    {set_};\n    return true;\n}}\n\nstatic bool on_marked",
        ),
    )
    with VirtualNetwork(star(1), changed.configure()) as network:
        network.add_flow(FLOWS[0])
        with pytest.raises(CallbackError, match=f"NP of flow 1, at .*{message}"):
            network.run(until_s=1e-3)


def test_impossible_time_of_an_np_in_c_ends_the_run(both: Scheme, tmp_path):
    changed = with_c(both, tmp_path, C.replace("now_s + np->parameters->quiet_s", "1e300"))
    with VirtualNetwork(star(3), changed.configure()) as network:
        with_flows(network, FLOWS)
        with pytest.raises(CallbackError, match=r"NP of flow \d, at .*a time that picoseconds"):
            network.run(until_s=2e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "both: its NP in C, .*other.c: .*failed with exit code"),
        ("int none;", "both: its NP in C, .*other.c: .*notification_point"),
    ],
)
def test_file_without_an_np_is_refused(both: Scheme, tmp_path, text, message):
    with pytest.raises(SchemeError, match=message):
        Ends(with_c(both, tmp_path, text).configure()).new_np()


def test_class_that_is_derived_from_one_in_c_runs_in_python(both: Scheme):
    derived = type("Derived", (both.notification_point,), {})
    assert type(Ends(replace(both, notification_point=derived).configure()).new_np()) is derived


def test_np_in_c_is_a_notification_point_like_any_other(both: Scheme):
    configured = both.configure()
    np = Ends(configured).new_np()
    assert isinstance(np, CompiledNotificationPoint)
    for point in (np, configured.new_np()):
        assert point.on_window(Window(4, 2, 1, 4000, 1e-6, 2e-6)) == Cnp(Mark.UE, 7e6)
        assert point.on_window(Window(3, 0, 0, 3000, 1e-6, 2e-6)) is None
        assert point.on_marked(1e-3) == Cnp(Mark.CE)
        assert point.on_marked(1.001e-3) is None
        assert point.marked_from_s == 1e-3 + 15e-6
        assert point.period_s == 20e-6
