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

static __attribute__((noinline, cold)) void
log_wait(const struct vn_context *context, const struct vn_link *link, uint32_t id, uint64_t idle)
{
    if (!is_data(vn_packet_at(context, id))) return;
    if (is_logged(explain_of(context), vn_packet_at(context, id)->flow))
        log_hop(context, link, id, idle);
    if (explain_of(context)->marks != NULL) count_mark(context, link, id);
}

/* A packet leaves a port where a gate was closed: what it waited for. Its idle time by PAUSE. */
static __attribute__((noinline)) uint64_t wait_of_stopped(const struct vn_context *context,
                                                          const struct vn_link *link,
                                                          struct note *note, uint64_t wait)
{
    uint32_t class = class_of(note);
    struct queue_state queue = load_queue(note);
    struct waited waited = load_waited(&note->way);
    const struct line_class *of = line_of(context, link, class);
    uint64_t idle = (idle_until(link, of, class, context->now) - queue.idle) & TIME_MASK;
    VN_ASSERT(idle <= wait);
    uint64_t rest = wait - idle;
    uint64_t behind = queue.behind < rest ? queue.behind : rest;
    uint64_t without = queue.without < behind ? queue.without : behind;
    waited.contention += without;
    waited.backlog += behind - without;
    waited.paused += idle;
    waited.overtaken += rest - behind;
    store_waited(&note->way, waited);
    return idle;
}

/* A packet leaves a switch's queue, or an ACK its host: what it waited for. PAUSE stops no ACK at
 * its host, what it has to pay for does. */
VN_ALWAYS void add_wait(const struct vn_context *context, const struct vn_link *link, uint32_t id)
{
    const struct explain *explain = explain_of(context);
    struct note *note = note_of(context, id);
    uint64_t wait = context->now - came_at(note), idle = 0;
    if (wait != 0) {
        if (explain->stopped[link - context->links] &&
            (link->paid || vn_near(context, link)->kind->holds)) {
            idle = wait_of_stopped(context, link, note, wait);
        } else {
            uint64_t behind = load_queue(note).behind;
            uint64_t contention = behind < wait ? behind : wait;
            add_waited(&note->way, contention, wait - contention);
        }
    }
    if (__builtin_expect(explain->inspects, 0)) log_wait(context, link, id, idle);
}

/* Flow control's frame was never queued, and goes before all others. */
static __attribute__((noinline, cold)) void add_control(const struct vn_context *context,
                                                        const struct vn_link *link, uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(context, id);
    if (vn_near(context, link)->kind->holds &&
        explain_of(context)->stopped[link - context->links] &&
        vn_flow_control_of(link)->is_frame(vn_frame(context, packet)))
        add_work(context, link, 0xff, vn_duration(link, packet->bytes));
}

/* The line of closed gates isn't idle until the frame ends. */
static __attribute__((noinline)) void idle_goes_on(const struct vn_context *context,
                                                   const struct vn_link *link, uint64_t end)
{
    for (uint32_t left = link->closed; left != 0; left &= left - 1) {
        struct line_class *of = line_of(context, link, (uint32_t)__builtin_ctz(left));
        idle_ends(context, link, of);
        of->idle_from = end;
    }
}

static __attribute__((noinline, cold)) void
log_line(const struct vn_context *context, const struct vn_link *link, uint32_t id, uint64_t end)
{
    const struct explain *explain = explain_of(context);
    const struct vn_packet *packet = vn_packet_at(context, id);
    uint32_t number = (uint32_t)(link - context->links);
    bool chosen = number < explain->n_logged_links && explain->logged_links[number];
    if (!chosen || context->now > explain->to || end < explain->from) return;
    struct vn_explain_line *logged = entry(context, VN_EXPLAIN_LINE);
    if (logged == NULL) return;
    bool data = is_data(packet);
    *logged = (struct vn_explain_line){.start_ps = context->now,
                                       .link = number,
                                       .flow = data ? packet->flow : VN_NONE,
                                       .bytes = packet->bytes,
                                       .about = data ? VN_NONE : packet->flow};
}

static void vn_explain_starts(const struct vn_context *context, const struct vn_link *link,
                              uint32_t id)
{
    const struct vn_packet *packet = vn_packet_at(context, id);
    struct note *note = note_of(context, id);
    uint64_t end = context->now + vn_duration(link, packet->bytes), arrived = end;
    if (__builtin_expect(link->closed != 0, 0)) idle_goes_on(context, link, end);
    if (__builtin_expect(link->cut, 0) && packet->bytes > VN_CUT_BYTES)
        arrived = context->now + vn_duration(link, VN_CUT_BYTES);
    if (__builtin_expect(is_noted(packet), 1)) {
        if (note->came & IN_QUEUE) add_wait(context, link, id);
        note->came &= ~(uint64_t)IN_QUEUE;
        arrived += link->delay;
        note->way.wire += arrived - context->now;
        note->way.inside -= arrived;
    } else {
        add_control(context, link, id);
    }
    if (__builtin_expect(explain_of(context)->logged_links != NULL, 0))
        log_line(context, link, id, end);
}
