"""What an agent reports, as both its ends see it: this is the schema of the `stats` and `list`
commands.

Times are nominal seconds since the epoch, rates nominal bit/s, except where a name has `real`.
`bytes` are of Ethernet frames, `payload_bytes` of what the flow carries.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MOST_FLOWS = 4096
"""Limit of the flows that an agent sends at once, of finished ones that it remembers, and of those
that it receives."""


@dataclass(frozen=True)
class SentFlow:
    """A flow that this host sends. `state`: waiting (for its start), sending, done (all sent, or
    its time is over), stopped (by a command), failed (its RP raised `error`, else None).
    `limit_bps` is the application's own limit, None if none; `rate_bps` what the RP allows, and
    `window_bytes` in flight, None if it has no window; `in_flight_bytes` is sent and not
    acknowledged, 0 where nothing requests acknowledgements. `packets` and `bytes` have those in
    them that were sent again, `repeated_packets`; `timeouts`: how often nothing was acknowledged
    for too long. `rp` has the scheme's variables (PCN: w). `end_s` is when it ended, None before.
    `port`: of the NIC by which it leaves.
    """

    flow: int
    dst_ip: str
    state: str
    packets: int
    bytes: int
    payload_bytes: int
    rate_bps: float
    limit_bps: float | None
    rp: Mapping[str, float]
    cnps: int
    start_s: float
    end_s: float | None
    error: str | None
    window_bytes: float | None = None
    in_flight_bytes: int = 0
    repeated_packets: int = 0
    timeouts: int = 0
    port: int = 0


@dataclass(frozen=True)
class ReceivedFlow:
    """A flow that this host receives. `gaps` counts packets missing between those that came,
    `reordered` those that came late, `duplicates` those that came twice; of a flow whose sender
    goes back both are refused, `reordered` too early. `complete_s` is when the packet flagged as
    last came, whatever is missing, None before. `error`: its NP raised that and makes no CNPs any
    more, None before."""

    flow: int
    src_ip: str
    packets: int
    bytes: int
    payload_bytes: int
    marked_ce: int
    marked_ue: int
    gaps: int
    duplicates: int
    reordered: int
    cnps: int
    first_s: float
    last_s: float
    complete_s: float | None
    error: str | None


@dataclass(frozen=True)
class Pauses:
    """PFC frames that the NIC of a port received for one class: PAUSE, RESUME, and PAUSEs that ran
    out."""

    priority: int
    pause: int
    resume: int
    expired: int
    paused_s: float
    port: int = 0


@dataclass(frozen=True)
class AgentStats:
    """All of an agent.

    `unknown_cnps` are CNPs, CNMs and acknowledgements of which no flow is the source;
    `unusable_cnps` lack the RecRate that the scheme's RP needs. `forgotten_sent`,
    `forgotten_received`: flows beyond MOST_FLOWS, those that ended first, or were silent.
    `control_drops` are CNPs and acknowledgements that found too many waiting to be sent.
    `other_frames` are not RoCEv2 to this host nor PFC; `bad_frames` are malformed, or fail the IPv4
    checksum or the ICRC. `socket_drops` are frames that arrived but that this process was too slow
    to take: loss that no switch made. `send_retries` are frames that the kernel refused at first.
    `log_lost` lines had no room in the log; `log_errno` has the reason, 0 while the log is
    complete.

    `kept_pace`: in every window of a second (real) at least 95% of what the rates allowed was sent;
    `worst_pace` is the least such share. `lag_real_s` is what was allowed and not sent for
    lateness, as time at line rate; `late_real_s` the most that a frame left after it was due.
    `cpu_s` and `elapsed_real_s` count since the agent started or was reset. `realtime`: the agent
    runs at real-time priority.
    """

    name: str
    scheme: str
    parameters: Mapping[str, float]
    dilation: float
    line_rate_bps: float
    now_s: float
    sent: tuple[SentFlow, ...]
    received: tuple[ReceivedFlow, ...]
    pauses: tuple[Pauses, ...]
    unknown_cnps: int
    unusable_cnps: int
    forgotten_sent: int
    forgotten_received: int
    control_drops: int
    other_frames: int
    bad_frames: int
    socket_drops: int
    send_retries: int
    log_errno: int
    log_lost: int
    kept_pace: bool
    worst_pace: float
    lag_real_s: float
    late_real_s: float
    cpu_s: float
    realtime: bool
    elapsed_real_s: float

    def failed(self) -> Iterator[str]:
        """Yields what an RP or NP raised, flow by flow."""
        for sent in self.sent:
            if sent.error is not None:
                yield f"flow {sent.flow} failed at {self.name}: {sent.error}"
        for got in self.received:
            if got.error is not None:
                yield (
                    f"flow {got.flow} from {got.src_ip} gets no CNPs of {self.name} any more: "
                    f"{got.error}"
                )

    def refused(self) -> Iterator[str]:
        """Yields what this host dropped or forgot."""
        for count, text in (
            (self.bad_frames, "dropped {} frames that are malformed or damaged"),
            (self.unusable_cnps, f"dropped {{}} CNPs without the rate that {self.scheme} needs"),
            (self.socket_drops, "was too slow to take {} frames that came"),
            (self.control_drops, "dropped {} of its CNPs and acknowledgements: too many waited"),
            (
                self.forgotten_sent,
                f"forgot {{}} flows that it had sent: it keeps the latest {MOST_FLOWS}",
            ),
            (
                self.forgotten_received,
                f"forgot {{}} flows that it had received: it keeps the latest {MOST_FLOWS}",
            ),
        ):
            if count:
                yield f"{self.name} {text.format(count)}"
        if self.log_lost:
            yield f"{self.name}'s log lacks {self.log_lost} lines: {os.strerror(self.log_errno)}"

    def as_json(self) -> dict[str, Any]:
        """Returns the fields by name, nested ones too. `dataclasses.asdict` would copy each value
        deeply."""
        flat = {
            name: [vars(record) for record in getattr(self, name)]
            for name in ("sent", "received", "pauses")
        }
        return {**vars(self), **flat}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> AgentStats:
        """Raises TypeError if fields are missing or unknown: the agent is of another version."""
        nested = {
            "sent": tuple(SentFlow(**flow) for flow in fields["sent"]),
            "received": tuple(ReceivedFlow(**flow) for flow in fields["received"]),
            "pauses": tuple(Pauses(**pauses) for pauses in fields["pauses"]),
        }
        return cls(**{**fields, **nested})
