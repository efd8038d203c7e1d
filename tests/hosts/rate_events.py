"""What makes an RP increase its rate: its timer, and its byte counter."""

from pcn.hosts.algorithms import ReactionPoint


def expire(rp: ReactionPoint, times: int = 1):
    """The timers; those that are due together expire together."""
    for _ in range(times):
        assert rp.timer_s is not None
        rp.on_timer(rp.timer_s)


def send(rp: ReactionPoint, times: int = 1):
    """The byte counter's bytes, `times` times."""
    for _ in range(times):
        assert rp.due_bytes is not None
        rp.sent_bytes = rp.due_bytes
        rp.on_bytes_sent(0.0)
