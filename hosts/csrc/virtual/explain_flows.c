/* A flow's two ends: parts of the sender's time, and all parts when its last packet arrives; what
 * opened its window. */
#include "virtual/explain_state.h"

/* Brings a sender's parts up to now. What the scheme holds back is the scheme's, whether or not the
 * port is PAUSEd meanwhile; what is left is PAUSE's while the line is idle; and then other
 * frames'. */
static void account(const struct vn_context *context, const struct vn_link *link,
                    struct sender *sender, const struct pacing_flow *flow)
{
    uint64_t now = context->now, at = sender->at + sender->frame;
    if (at > now) return; /* its latest frame is on the line */
    sender->parts[VN_PART_OWN] += sender->frame;
    sender->frame = 0;
    sender->at = now;
    if (pacing_closed(flow)) {
        sender->parts[sender->closed_by] += now - at;
        return;
    }
    if (flow->next > at) {
        uint64_t until = flow->next < now ? flow->next : now;
        sender->parts[VN_PART_RATE] += until - at;
        at = until;
    }
    if (at == now) return;
    uint64_t paused = idle_since(context, link, flow->priority, at);
    VN_ASSERT(paused <= now - at);
    sender->parts[VN_PART_PAUSED] += paused;
    sender->parts[VN_PART_NIC] += now - at - paused;
}

static void vn_explain_begins(const struct vn_context *context, uint32_t number)
{
    explain_of(context)->senders[number] =
        (struct sender){.at = vn_flow_at(context, number)->start, .closed_by = VN_PART_WINDOW};
}

static void vn_explain_changes(const struct vn_context *context, const struct vn_link *link,
                               const struct pacing_flow *flow)
{
    account(context, link, &explain_of(context)->senders[flow->number], flow);
}

/* With all packets sent, and none known to be lost, it waits for news of the last ones: for a
 * timer, if one is lost. */
static void vn_explain_closes(const struct vn_context *context, uint32_t number)
{
    const struct vn_flow *flow = vn_flow_at(context, number);
    bool all = flow->repeats && flow->packets != 0 && flow->transport->sent == flow->packets;
    bool recovers = all && vn_repeat_of(flow)->reliable.lost == 0;
    explain_of(context)->senders[number].closed_by = recovers ? VN_PART_RECOVER : VN_PART_WINDOW;
}

static void vn_explain_lost(const struct vn_context *context, uint32_t number)
{
    explain_of(context)->senders[number].closed_by = VN_PART_RECOVER;
}

/* Adds `ps` to parts in proportion to weights: in whole ps, which sum to it. */
static void split(uint64_t ps, const uint64_t *weights, uint32_t n, uint64_t *parts)
{
    uint64_t total = 0, below = 0, shared = 0;
    for (uint32_t i = 0; i < n; i++) total += weights[i];
    for (uint32_t i = 0; i < n; i++) {
        if (weights[i] == 0) continue;
        below += weights[i];
        uint64_t until = (ps | below) >> 32 == 0
                             ? ps * below / total
                             : (uint64_t)((unsigned __int128)ps * below / total);
        parts[i] += until - shared;
        shared = until;
    }
}

static void vn_explain_answered(const struct vn_context *context, uint32_t number, uint32_t id)
{
    struct window *window = &explain_of(context)->windows[number];
    window->at = context->now;
    window->way = note_of(context, id)->way;
}

static void vn_explain_opens(const struct vn_context *context, uint32_t number)
{
    struct window *window = &explain_of(context)->windows[number];
    uint64_t wait = explain_of(context)->senders[number].parts[VN_PART_WINDOW];
    for (uint32_t part = 0; part < VN_WINDOW_PARTS; part++) wait -= window->parts[part];
    if (window->at != context->now) {
        window->parts[VN_WINDOW_TIMER] += wait;
        return;
    }
    uint64_t way[VN_PARTS - VN_PARTS_SENDER];
    parts_of_way(&window->way, context->now, way);
    split(wait, way, VN_PARTS - VN_PARTS_SENDER, window->parts);
}

static inline bool may_overtake(const struct explain *explain, const struct vn_flow *flow)
{
    return flow->repeats || flow->sprays || explain->unordered;
}

static void vn_explain_sends(const struct vn_context *context, const struct vn_link *link,
                             const struct pacing_flow *flow, uint32_t id)
{
    struct explain *explain = explain_of(context);
    struct sender *sender = &explain->senders[flow->number];
    uint32_t bytes = vn_packet_at(context, id)->bytes;
    account(context, link, sender, flow);
    sender->frame = (uint32_t)vn_duration(link, bytes);
    *note_of(context, id) = (struct note){0};
    bool logged = is_logged(explain, flow->number);
    if (logged || may_overtake(explain, vn_flow_at(context, flow->number))) {
        struct trace *trace = trace_of(context, id);
        memcpy(trace->sender, sender->parts, sizeof trace->sender);
        if (logged) trace->serial = explain->serials[flow->number]++;
    }
    if (!logged) return;
    struct vn_explain_sent *sent = entry(context, VN_EXPLAIN_SENT);
    if (sent == NULL) return;
    *sent = (struct vn_explain_sent){.time_ps = context->now,
                                     .flow = flow->number,
                                     .serial = trace_of(context, id)->serial,
                                     .bytes = bytes,
                                     .link = (uint32_t)(link - context->links)};
    memcpy(sent->parts_ps, sender->parts, sizeof sent->parts_ps);
    memcpy(sent->window_ps, explain->windows[flow->number].parts, sizeof sent->window_ps);
}

/* ---- its receiver ---- */

static void vn_explain_completes(const struct vn_context *context, uint32_t number, uint32_t id)
{
    struct explain *explain = explain_of(context);
    const struct vn_flow *flow = vn_flow_at(context, number);
    const struct note *note = note_of(context, id);
    struct vn_explained *of = &explain->flows[number];
    const uint64_t *sender = may_overtake(explain, flow) ? trace_of(context, id)->sender
                                                         : explain->senders[number].parts;
    of->start_ps = flow->start;
    of->complete_ps = context->now;
    memcpy(of->parts_ps, sender, VN_PARTS_SENDER * sizeof *sender);
    parts_of_way(&note->way, context->now, of->parts_ps + VN_PARTS_SENDER);
}

static void vn_explain_answers(const struct vn_context *context, const struct vn_link *link,
                               uint32_t id, uint32_t cause)
{
    struct note *note = note_of(context, id);
    uint32_t class = vn_frame(context, vn_packet_at(context, id))[WIRE_TOS] >> 5;
    uint64_t idle = 0; /* PAUSE doesn't stop it */
    if (link->paid)
        idle = idle_until(link, line_of(context, link, class), class, context->now) & TIME_MASK;
    note->came = context->now << 8 | IN_QUEUE | class;
    store_queue(note,
                (struct queue_state){.idle = idle, .behind = MOST_WORK, .without = MOST_WORK});
    note->way = cause != VN_NONE ? note_of(context, cause)->way : (struct way){0};
    note->way.inside += context->now; /* where the packet arrived, or the CNP begins */
}

/* What a flow's window waited for until the packet left that completed the flow. Where packets
 * overtake each other it may have opened since: then, as all of its waits. False: there is less. */
static bool window_parts(const struct window *window, uint64_t ps, uint64_t parts[VN_WINDOW_PARTS])
{
    uint64_t sum = 0;
    for (uint32_t part = 0; part < VN_WINDOW_PARTS; part++) sum += window->parts[part];
    memset(parts, 0, VN_WINDOW_PARTS * sizeof *parts);
    if (sum != 0) split(ps, window->parts, VN_WINDOW_PARTS, parts);
    return sum >= ps;
}
