"""What a traced program does besides: it reports each step (csrc/pipeline.h, enum sw_trace_kind).
Without tracing, nothing of this is in its text."""

from __future__ import annotations

from collections.abc import Sequence

_PIPELINES = {"ingress": 0, "egress": 1}

SUPPORT = """#define TRACE(kind, a, b, data, length) sw_trace(s, h->trace_packet, SW_TRACE_##kind, a, b, data, length)
SW_INLINE size_t traced_bytes(size_t length) { return length < SW_TRACE_FRAME ? length : SW_TRACE_FRAME; }
static void trace_decision(struct sw_instance *s, const struct sw_packet *p, uint64_t packet, uint32_t pipeline) {
    const struct sw_trace_decision made = {p->length, p->std.mcast_grp, s->drop_port, p->req.clone_session,
        p->req.resubmit_list, p->req.recirculate_list, p->req.digest_list};
    sw_trace(s, packet, SW_TRACE_DECIDED, pipeline, p->std.egress_spec, &made, sizeof made);
}
static void trace_queue(struct sw_instance *s, const struct sw_packet *p, uint64_t packet) {
    uint64_t waited = p->std.deq_timedelta;
    const struct sw_trace_queue queue = {p->std.enq_qdepth, p->std.deq_qdepth, (uint32_t)sw_us_of(s, waited),
        (uint32_t)sw_us_of(s, p->std.egress_global_timestamp - waited), p->std.egress_rid,
        p->std.instance_type, p->std.packet_length};
    sw_trace(s, packet, SW_TRACE_DEQUEUED, p->std.egress_port, p->std.qid, &queue, sizeof queue);
}
"""  # noqa: E501


class Tracing:
    """Lines of C that report a step; none, if the program isn't traced."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def step(
        self, kind: str, a: object = 0, b: object = 0, data: str = "NULL", length: object = 0
    ) -> list[str]:
        """Reports a step. `kind`: without SW_TRACE_."""
        return (
            [f"TRACE({kind}, (uint32_t)({a}), (uint32_t)({b}), {data}, {length});"]
            if self.enabled
            else []
        )

    def lines(self, *lines: str) -> list[str]:
        """Returns these lines."""
        return list(lines) if self.enabled else []

    def arguments(self, action: int, widths: Sequence[int]) -> list[str]:
        """Reports that an action begins, with the words of its parameters."""
        return self.step(
            "ACTION", action, 0, "args", 8 * sum((width + 63) // 64 for width in widths)
        )

    def condition(self, pipeline: str, node: int) -> list[str]:
        """Reports the value of a condition."""
        return self.step("CONDITION", 65536 * _PIPELINES[pipeline] + node, f"taken_{node}")

    def pipelines(self) -> str:
        """Returns the functions that the runtime calls for ingress, egress and an ingress clone."""
        return """static void parse(struct sw_instance *s, struct sw_packet *p) {
    struct phv *h = p->phv;
    struct locals locals;
    memset(&locals, 0, sizeof locals);
    h->trace_packet = sw_trace_latest(s);
    parse_headers(s, p, h, &locals);
}

static void ingress(struct sw_instance *s, struct sw_packet *p) {
    struct phv *h = p->phv;
    struct locals locals;
    memset(&locals, 0, sizeof locals);
    h->trace_packet = sw_trace_begin(s);
    TRACE(RECEIVED, p->std.ingress_port + 65536u * p->std.instance_type, p->length, p->data, traced_bytes(p->length));
    parse_headers(s, p, h, &locals);
    TRACE(STAGE, 0, 0, NULL, 0);
    run_ingress(s, p, h, &locals);
    TRACE(STAGE, 0, 1, NULL, 0);
    trace_decision(s, p, h->trace_packet, 0);
}

static void egress(struct sw_instance *s, struct sw_packet *p) {
    struct phv *h = p->phv;
    struct locals locals;
    memset(&locals, 0, sizeof locals);
    trace_queue(s, p, h->trace_packet);
    TRACE(STAGE, 1, 0, NULL, 0);
    run_egress(s, p, h, &locals);
    TRACE(STAGE, 1, 1, NULL, 0);
    trace_decision(s, p, h->trace_packet, 1);
}
"""  # noqa: E501

    def sent(self) -> list[str]:
        """Reports that the deparser has ended, and the frame that leaves, unless it is
        recirculated."""
        return self.lines(
            "    TRACE(STAGE, 2, 1, NULL, 0);",
            "    if (p->req.recirculate_list == SW_NONE) {",
            (
                "        uint32_t length = p->length < p->req.truncate_to ? p->length : "
                "p->req.truncate_to;"
            ),
            "        TRACE(SENT, p->std.egress_port, length, p->data, traced_bytes(length));",
            "    }",
        )
