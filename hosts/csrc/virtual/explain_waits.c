/* A packet leaves a node: what it waited for, and logs of hops and lines. */
#include "virtual/explain_state.h"

static void log_hop(const struct vn_context *context, const struct vn_link *link, uint32_t id,
                    uint64_t idle)
{
    struct vn_packet *packet = vn_packet_at(context, id);
    const struct note *note = note_of(context, id);
    const struct trace *trace = trace_of(context, id);
    struct queue_state queue = load_queue(note);
    struct vn_explain_hop *hop = entry(context, VN_EXPLAIN_HOP);
    if (hop == NULL) return;
    *hop = (struct vn_explain_hop){.since_ps = came_at(note),
                                   .start_ps = context->now,
                                   .behind_ps = queue.behind,
                                   .without_ps = queue.without,
                                   .idle_ps = idle,
                                   .busy_ps = trace->busy,
                                   .flow = packet->flow,
                                   .serial = trace->serial,
                                   .link = (uint32_t)(link - context->links),
                                   .queue_bytes = trace->queue_bytes,
                                   .bytes = packet->bytes,
                                   .class = (uint8_t)class_of(note),
                                   .ecn_before = ecn_before(note),
                                   .ecn_after = ecn_after(context, id),
                                   .reason = (uint8_t)reason_of(context, link, id)};
}

/* A packet leaves a switch's queue, or an ACK its host: what it waited for. */
static void add_wait(const struct vn_context *context, const struct vn_link *link, uint32_t id,
                     bool at_switch)
{
    struct note *note = note_of(context, id);
    uint64_t wait = context->now - came_at(note), idle = 0;
    if (wait != 0) {
        uint32_t class = class_of(note);
        struct queue_state queue = load_queue(note);
        struct waited waited = load_waited(&note->way);
        if (explain_of(context)->stopped[link - context->links] && (at_switch || link->paid)) {
            idle = (idle_until(link, line_of(context, link, class), class, context->now) -
                    queue.idle) &
                   TIME_MASK;
        }
        uint64_t rest = wait - idle;
        uint64_t behind = queue.behind < rest ? queue.behind : rest;
        uint64_t without = queue.without < behind ? queue.without : behind;
        VN_ASSERT(idle <= wait);
        waited.contention += without;
        waited.backlog += behind - without;
        waited.paused += idle;
        waited.overtaken += rest - behind;
        store_waited(&note->way, waited);
    }
    if (!is_data(vn_packet_at(context, id))) return;
    if (is_logged(explain_of(context), vn_packet_at(context, id)->flow))
        log_hop(context, link, id, idle);
    if (__builtin_expect(explain_of(context)->marks != NULL, 0)) count_mark(context, link, id);
}

static void vn_explain_starts(const struct vn_context *context, const struct vn_link *link,
                              uint32_t id)
{
    struct explain *explain = explain_of(context);
    struct vn_packet *packet = vn_packet_at(context, id);
    uint64_t now = context->now, duration = vn_duration(link, packet->bytes);
    for (uint32_t left = link->closed; __builtin_expect(left != 0, 0); left &= left - 1) {
        struct line_class *of = line_of(context, link, (uint32_t)__builtin_ctz(left));
        idle_ends(context, link, of);
        of->idle_from = now + duration;
    }
    bool data = is_data(packet), at_switch = vn_near(context, link)->kind->holds;
    if (is_noted(packet)) {
        if (at_switch || !data) add_wait(context, link, id, at_switch);
        struct note *note = note_of(context, id);
        note->came &= ~(uint64_t)IN_QUEUE;
        bool cut = __builtin_expect(link->cut, 0) && packet->bytes > VN_CUT_BYTES;
        uint64_t wire = link->delay + (cut ? vn_duration(link, VN_CUT_BYTES) : duration);
        note->way.wire += wire;
        note->way.inside -= now + wire;
    } else if (at_switch && explain->stopped[link - context->links] &&
               vn_flow_control_of(link)->is_frame(vn_frame(context, packet))) {
        /* it was never queued, and goes before all others */
        add_work(context, link, 0xff, duration);
    }
    if (__builtin_expect(explain->logged_links == NULL, 1)) return;
    uint32_t number = (uint32_t)(link - context->links);
    bool chosen = number < explain->n_logged_links && explain->logged_links[number];
    if (!chosen || now > explain->to || now + duration < explain->from) return;
    struct vn_explain_line *logged = entry(context, VN_EXPLAIN_LINE);
    if (logged == NULL) return;
    *logged = (struct vn_explain_line){.start_ps = now,
                                       .link = number,
                                       .flow = data ? packet->flow : VN_NONE,
                                       .bytes = packet->bytes,
                                       .about = data ? VN_NONE : packet->flow};
}
