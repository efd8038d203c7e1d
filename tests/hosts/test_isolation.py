"""What a CNP, a CNM or an acknowledgement makes a scheme do wrong ends that flow's RP or NP; the
others go on."""

import json
import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st
from test_loop import PEER
from whole_host import BAD_BPS, LINE, Fragile, NoParameters, WholeHost, fragile, fragile_np

from pcn.hosts import wire
from pcn.hosts.algorithms import Cnm, Cnp, Mark, NotificationPoint, Scheme, find_scheme, schemes
from pcn.hosts.sent_flow import FlowError


def setting(name: str, value) -> Callable[[Fragile], None]:
    return lambda rp: setattr(rp, name, value)


def raising(error: Exception) -> Callable[[Fragile], None]:
    def wrong(rp: Fragile):
        raise error

    return wrong


def standing_timer(rp: Fragile):
    rp.timer_s = 0.5
    rp.on_timer = lambda now_s: None


# ---- RPs ----


@pytest.mark.parametrize("mark", list(Mark))
@pytest.mark.parametrize("name", ["pcn", "pcn-time", "pcn-x"])
def test_sender_drops_cnp_without_the_rate_that_its_scheme_needs(name, mark):
    host = WholeHost(find_scheme(name).configure())
    host.start(1)
    host.sender.on_cnp(1, PEER, Cnp(mark, 0.0), 0.1)
    (flow,) = host.sender.stats()
    assert (flow.rate_bps, flow.cnps, flow.error) == (LINE, 1, None)
    assert (host.sender.unusable_cnps, host.sender.unknown_cnps) == (1, 0)
    host.sender.on_cnp(1, PEER, Cnp(Mark.CE, 128e6), 0.2)
    assert host.sender.stats()[0].rate_bps < 128e6
    host.sender.reset()
    assert host.sender.unusable_cnps == 0


def test_sender_takes_cnp_without_rate_where_the_scheme_has_none():
    host = WholeHost(find_scheme("dcqcn").configure())
    host.start(1)
    host.sender.on_cnp(1, PEER, Cnp(Mark.CE, 0.0), 0.1)
    assert host.sender.stats()[0].rate_bps < LINE
    assert host.sender.unusable_cnps == 0


MESSAGES = st.one_of(
    st.tuples(
        st.just("cnp"), st.sampled_from(list(Mark)), st.sampled_from([0, 1, 7, 2**31, 2**32 - 1])
    ),
    st.tuples(st.just("cnm"), st.integers(0, 63), st.just(0)),
    st.tuples(st.just("ack"), st.sampled_from(list(Mark)), st.integers(0, 3)),
)
STEPS_S = st.sampled_from([0.0, 1e-9, 1e-6, 1e-4, 3e-3])


@pytest.mark.parametrize(
    "name", [name for name in schemes if not find_scheme(name).configure().new_np().grants]
)
@settings(settings.get_profile("few"))
@given(messages=st.lists(st.tuples(MESSAGES, STEPS_S), max_size=40))
def test_nothing_that_the_wire_carries_ends_a_flow(name, messages):
    # live hosts have one path
    host = WholeHost(find_scheme(name).configure({"paths": 1} if name == "nscc" else {}))
    host.start(1, payload_bytes=1000)
    now_s = 0.0
    for (kind, first, second), step_s in messages:
        now_s += step_s
        host.nic.advance(now_s)
        while host.nic.due(now_s) is not None:
            pass
        host.sender.on_timer(now_s)
        if kind == "cnp":
            host.sender.on_cnp(1, PEER, Cnp(first, second * 1e6), now_s)
        elif kind == "cnm":
            host.sender.on_cnm(1, PEER, Cnm(first), now_s)
        else:
            host.sender.on_ack(1, PEER, 64 * second + 63, first, now_s)
    (flow,) = host.sender.stats()
    assert flow.error is None
    assert 0 < flow.rate_bps <= LINE


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (raising(ZeroDivisionError("own")), "ZeroDivisionError: own"),
        (raising(RecursionError("deep")), "RecursionError: deep"),
        (raising(MemoryError("much")), "MemoryError: much"),
        (raising(AssertionError()), "AssertionError"),
        (setting("rate_bps", 0.0), "rate_bps is 0"),
        (setting("rate_bps", math.nan), "rate_bps is nan"),
        (setting("rate_bps", "fast"), "TypeError"),
        (setting("timer_s", math.nan), "timer_s is nan"),
        (setting("timer_s", "soon"), "TypeError"),
        (setting("due_bytes", 1.5), "TypeError"),
        (setting("variables", {"alpha": object()}), "TypeError"),
        (setting("variables", {"flow": 1}), "TypeError"),
        (standing_timer, "timer_s is 0.5 after 0.5 s"),
    ],
)
def test_rp_that_fails_ends_its_flow_alone(wrong, error, tmp_path):
    log = tmp_path / "log"
    host = WholeHost(fragile(wrong), log)
    host.start(1)
    host.start(2)
    host.run(1e-3)
    host.sender.on_cnp(1, PEER, Cnp(Mark.NONE, BAD_BPS), 0.4)
    host.sender.on_timer(0.6)
    assert host.states() == {1: "failed", 2: "sending"}
    failed, survivor = host.sender.stats()
    assert error in (failed.error or "")
    assert (survivor.error, failed.rate_bps, survivor.rate_bps) == (None, LINE, LINE)
    json.dumps(vars(failed))
    host.log.flush()
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(event["flow"], event["error"]) for event in events if event["ev"] == "failed"] == [
        (1, failed.error)
    ]
    # It is out of the NIC, and out of the RPs' timers; its number may be taken again
    assert [flow.request.flow for flow in host.nic.flows] == [2]
    host.sender.on_cnp(1, PEER, Cnp(Mark.NONE, BAD_BPS), 0.7)
    assert host.sender.timer_s == math.inf
    host.start(1, now_s=1.0)
    assert host.states() == {1: "waiting", 2: "sending"}


def test_rp_that_begins_wrongly_is_an_answer_to_start():
    def on_start(rp: Fragile, now_s: float):
        raise LookupError("own")

    configured = fragile(setting("rate_bps", 1.0))
    configured.scheme.reaction_point.on_start = on_start
    host = WholeHost(configured)
    with pytest.raises(
        FlowError, match=r"flow 1: its RP begins wrongly: LookupError: own \(test_isolation.py"
    ):
        host.start(1)
    assert host.states() == {}


# ---- NPs ----


@pytest.mark.parametrize("ecn", [wire.ECN_ECT0, wire.ECN_CE])
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: 1 // 0, "ZeroDivisionError"),
        (lambda: True, "an NP's answer is a Cnp"),
        (lambda: Cnp(3), "an NP's answer is a Cnp"),
        (lambda: Cnp(Mark.CE, math.nan), "rec_rate_bps is nan"),
        (lambda: Cnp(Mark.CE, 1e300), "rec_rate_bps is 1e+300"),
        (lambda: Cnp(Mark.CE, "fast"), "TypeError"),
    ],
)
def test_np_that_fails_ends_its_own_cnps_alone(wrong, error, ecn):
    host = WholeHost(fragile_np(wrong))
    for psn in range(3):
        host.packet(1.0, flow=1, psn=psn, ecn=ecn)
    host.packet(1.0, flow=2)
    host.timers(2.0)
    host.packet(3.0, flow=1, psn=3, ecn=ecn)
    host.packet(3.0, flow=2, psn=1)
    host.timers(4.0)
    failed, survivor = host.receiver.stats()
    assert error in (failed.error or "")
    assert (failed.packets, failed.cnps, survivor.packets, survivor.cnps, survivor.error) == (
        4, 0, 2, 2, None,
    )  # fmt: skip
    assert [packet.flow for packet in host.sent if isinstance(packet, wire.CnpPacket)] == [2, 2]
    assert host.receiver.timer_s == math.inf


def test_np_that_cannot_be_made_leaves_its_flow_counted():
    configured = Scheme(
        "none", "", "pcn", NoParameters, Fragile,
        lambda _: type("Np", (NotificationPoint,), {"period_s": -1.0})(),
    ).configure()  # fmt: skip
    host = WholeHost(configured)
    host.packet(1.0)
    (flow,) = host.receiver.stats()
    assert flow.packets == 1
    assert "period_s is -1" in (flow.error or "")
