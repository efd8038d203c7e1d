"""RCCC, Ultra Ethernet's receiver-credit congestion control (Specification 1.0): a receiver grants
its line's rate to those who send to it, in turns. rccc.c is the same RP in C and rccc_np.c the same
NP, which virtual time runs.

A flow begins with a credit of `maxwnd`, unasked, that ends with the first answer. It may send while
it has any credit, and pays for each packet, repeated ones too. A packet demands the rest of its
flow, at most `maxwnd`. The receiver grants `mtus_per_pull` segments a turn, up to what was
demanded; a host's turns come one after the other, each when its line, at the part `pull_rate` of
its rate, has carried what the one before granted. Who has what it demanded gets turns that no other
flow wants, up to `maxwnd` beyond its demand. Who sent nothing for `rto` after a grant gets no
turns until its next packet.

What the specification leaves open is as uet-htsim runs it (ultraethernet/uet-htsim 40ccb05,
uec.cpp, BSD 2-clause), whose names the parameters have, without its congestion control for
oversubscribed networks; as there, `maxwnd` is 1.5 bandwidth-delay products. Its sender sprays as
`nscc` does. Here a demand isn't divided among a sender's flows; a flow waits once in each of a
host's lists; and where the retransmission timer finds no credit, a packet goes out where there the
headers of one do. So does one where no answer came for `rto`: the last grant may be lost when
nothing is in flight. There a flow that has ended gets its turns up to `maxwnd` all the same, which
is little; here, where `maxwnd` may be any size and flows may be stopped, turns end with the flow,
as Homa's receiver drops a message whose sender is silent. Virtual time alone has it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pcn.base.frames import MAX_FRAME

from .base import Ack, Demand, Grant, Loss, NetworkFacts, NotificationPoint, ReactionPoint, Turn
from .parameters import parameter
from .scheme import Rule, Scheme
from .spraying import SprayingParameters, spray

_UNIT = 256
"""Bytes: credit goes in these."""
_HEADERS = 62
"""Of a frame: what isn't payload."""
_NO_CREDIT_BPS = 1.0
_EMPTY_TURN_BYTES = 1024
"""What the line carries in a turn that grants nothing: uet-htsim's."""


@dataclass(frozen=True)
class RcccParameters(SprayingParameters):
    network_rtt_s: float = parameter(
        12e-6,
        "time",
        "RCCC: the network's largest empty round trip",
        name="network_rtt",
        least=1e-9,
        most=1,
    )
    maxwnd_bytes: float = parameter(
        225e3,
        "size",
        "RCCC: the most credit that a flow has or demands",
        name="maxwnd",
        least=64,
        most=1e12,
    )
    frame_bytes: float = parameter(
        1062, "size", "RCCC: a data packet's frame", name="frame", least=128, most=MAX_FRAME
    )
    mtus_per_pull: float = parameter(
        4, "count", "RCCC: segments that a turn grants", name="mtus_per_pull", least=1, most=1e3
    )
    pull_rate: float = parameter(
        0.99,
        "number",
        "RCCC: share of the line's rate that is granted",
        name="pull_rate",
        least=0.01,
        most=1,
    )
    paths: float = parameter(
        64, "count", "RCCC: UDP source ports of a flow, in turn", name="paths", least=1, most=256
    )
    ecn_low: float = parameter(
        0.2, "number",
        "RCCC: share of the bandwidth-delay product in a queue from which switches mark",
        name="ecn_low", most=100, up_to="ecn_high",
    )  # fmt: skip
    ecn_high: float = parameter(
        0.8, "number", "RCCC: share above which they mark all", name="ecn_high", most=100
    )


class RcccReactionPoint(ReactionPoint):
    in_c = "rccc.c"
    segment_bytes = 1

    def __init__(self, line_rate_bps: float, parameters: RcccParameters) -> None:
        self._parameters = parameters
        self._line_rate_bps = line_rate_bps
        spray(self, parameters)
        self.credit_bytes = parameters.maxwnd_bytes
        self._granted_bytes = 0
        self._spent_bytes = 0  # sent, and paid
        self._unasked = True  # nothing has come back so far
        self._heard = True  # an answer, since the latest look
        self._decide()

    def on_start(self, now_s: float) -> None:
        self.timer_s = now_s + self._parameters.rto_s
        self._decide()

    def on_timer(self, now_s: float) -> None:
        self._pay()
        if not self._heard:
            self.credit_bytes = max(self.credit_bytes, 1.0)
        self._heard = False
        self.timer_s = now_s + self._parameters.rto_s
        self._decide()

    def on_bytes_sent(self, now_s: float) -> None:
        self._decide()

    def on_ack(self, ack: Ack, now_s: float) -> None:
        self._answered()
        self._decide()

    def on_loss(self, loss: Loss, now_s: float) -> None:
        self._answered()
        if loss.timeout:
            self.credit_bytes = max(self.credit_bytes, 1.0)
        self._decide()

    def on_grant(self, grant: Grant, now_s: float) -> None:
        self._answered()
        if grant.granted_bytes > self._granted_bytes:
            more = grant.granted_bytes - self._granted_bytes
            self.credit_bytes = min(self.credit_bytes + more, self._parameters.maxwnd_bytes)
            self._granted_bytes = grant.granted_bytes
        self._decide()

    def _pay(self) -> None:
        self.credit_bytes -= self.sent_bytes - self._spent_bytes
        self._spent_bytes = self.sent_bytes

    def _answered(self) -> None:
        self._pay()
        self._heard = True
        if self._unasked:
            self._unasked = False
            self.credit_bytes = min(self.credit_bytes, 0.0)

    def _decide(self) -> None:
        self._pay()
        parameters = self._parameters
        self.rate_bps = self._line_rate_bps if self.credit_bytes > 0 else _NO_CREDIT_BPS
        self.due_bytes = self.sent_bytes + 1
        # Of the next packet: what there is when it has gone.
        left_bytes = (
            math.inf
            if self.left_bytes is None
            else max(self.left_bytes - parameters.frame_bytes, 0.0)
        )
        wanted = min(left_bytes, parameters.maxwnd_bytes) - (
            self.credit_bytes - parameters.frame_bytes
        )
        if self._unasked and left_bytes > 0:
            wanted = max(wanted, parameters.frame_bytes)
        self.demand_bytes = math.ceil(max(self._granted_bytes + wanted, 0.0) / _UNIT) * _UNIT

    def state(self) -> dict[str, float]:
        return {"credit_bytes": self.credit_bytes}


class RcccNotificationPoint(NotificationPoint):
    in_c = "rccc_np.c"
    grants = True

    def __init__(self, parameters: RcccParameters) -> None:
        segments_bytes = parameters.mtus_per_pull * (parameters.frame_bytes - _HEADERS)
        self._pull_bytes = max(int(segments_bytes // _UNIT), 1) * _UNIT
        self._most_unasked_bytes = int(parameters.maxwnd_bytes // _UNIT) * _UNIT
        self._pull_rate = parameters.pull_rate
        self._rto_s = parameters.rto_s
        self._demanded_bytes = self._granted_bytes = 0
        self._unanswered_s = math.inf  # the first grant since a packet came
        self._silent = False  # a turn found none for `rto` after that

    def on_demand(self, demand: Demand, now_s: float) -> None:
        # what it had demanded when its turns ended, it demands still
        before = self._granted_bytes if self._silent else self._demanded_bytes
        self._demanded_bytes = max(self._demanded_bytes, demand.demanded_bytes)
        wants = self._demanded_bytes > before or demand.trimmed
        self.turn = Turn.ACTIVE if wants else Turn.NONE
        self._unanswered_s, self._silent = math.inf, False

    def on_turn(self, turn: Turn, now_s: float) -> int:
        before = self._granted_bytes
        # without a grant it has nothing to send by: among many flows a turn may come after `rto`
        if now_s - self._unanswered_s > self._rto_s:
            self._silent, self.turn = True, Turn.NONE
            self.pace_bytes = _EMPTY_TURN_BYTES / self._pull_rate
            return before
        self._unanswered_s = min(self._unanswered_s, now_s)
        self._granted_bytes += self._pull_bytes
        if turn is Turn.ACTIVE:
            self._granted_bytes = max(min(self._granted_bytes, self._demanded_bytes), before)
            self.turn = Turn.ACTIVE if self._granted_bytes < self._demanded_bytes else Turn.IDLE
        else:
            unasked = self._granted_bytes - self._demanded_bytes
            self.turn = Turn.IDLE if 0 <= unasked < self._most_unasked_bytes else Turn.NONE
        self.pace_bytes = (self._granted_bytes - before or _EMPTY_TURN_BYTES) / self._pull_rate
        return self._granted_bytes


def recommended(facts: NetworkFacts) -> dict[str, float]:
    """Returns the network's round trip, and 1.5 bandwidth-delay products of it."""
    settings = {"network_rtt_s": facts.round_trip_s, "frame_bytes": facts.frame_bytes}
    if facts.bdp_bytes:
        settings["maxwnd_bytes"] = max(1.5 * facts.bdp_bytes, float(MAX_FRAME))
    return settings


def unfit(facts: NetworkFacts) -> Iterator[str]:
    """Yields a remark on switches that don't trim: none of a network's description does."""
    yield (
        "it is made for switches that trim: here what flows send unasked, 1.5 bandwidth-delay "
        "products each, waits, for 100 times as long as it takes to be sent"
    )


def holds(network: NetworkFacts, parameters: RcccParameters) -> dict[str, float]:
    """Returns the part of the line that receivers grant; what flows send unasked stands in a queue
    until then."""
    return {
        "utilisation": parameters.pull_rate,
        "queue_bytes": network.flows * parameters.maxwnd_bytes,
    }


RCCC = Scheme(
    "rccc",
    "RCCC (Ultra Ethernet 1.0)",
    "nscc",
    RcccParameters,
    RcccReactionPoint,
    RcccNotificationPoint,
    marking=("red_depth",),
    recommended=recommended,
    by_network={
        "network_rtt_s": Rule("the largest round trip", "uet-htsim's calculate_rtt"),
        "maxwnd_bytes": Rule("1.5 bandwidth-delay products, at least 9,216 B", "uet-htsim"),
        "frame_bytes": Rule("a data packet's frame", "uet-htsim's configured MTU"),
    },
    unfit=unfit,
    holds=holds,
)
