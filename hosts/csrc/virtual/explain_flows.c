/* A flow's two ends: parts of the sender's time, and all parts when its last packet arrives. */
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
    struct waited waited = load_waited(note);
    of->parts_ps[VN_PART_CONTENTION] = waited.contention;
    of->parts_ps[VN_PART_PAUSE_BACKLOG] = waited.backlog;
    of->parts_ps[VN_PART_PAUSE_IDLE] = waited.paused;
    of->parts_ps[VN_PART_OVERTAKEN] = waited.overtaken;
    of->parts_ps[VN_PART_WIRE] = note->wire;
    /* where a frame ends its way it comes into no queue */
    of->parts_ps[VN_PART_INSIDE] = note->inside + context->now;
}
