/* Priority flow control (IEEE 802.1Qbb) by the switch itself, without the P4 program: XOFF and
 * XON on a link's ingress occupancy, PAUSE and RESUME frames in the other direction, and the
 * gate that they close and open.
 *
 * A frame takes effect after the response time: first the program's ingress gets it, since
 * programs may track pauses, then the gate changes. So the egress of a departing packet sees the
 * program's state after the frame. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "links/pfc.h"

#include "links/faults.h"
#include "links/gate.h"
#include "links/pfc_log.h"
#include "links/shared_buffer.h"

/* A PAUSE lasts so many bit times of the link that it stops: at another rate it has to be sent
 * again after another time. The latest one may have begun at either rate: the next is due by the
 * shorter time. */
static void follow_rate(struct vn_context *context, struct vn_link *end, uint64_t rate_bps)
{
    struct vn_pfc *pfc = vn_pfc_of(end);
    uint64_t refresh = (uint64_t)((unsigned __int128)pfc->refresh_set * pfc->rate_set / rate_bps);
    if (refresh == 0) refresh = 1;
    if (refresh == pfc->refresh) return;
    for (uint32_t class = 0; class < VN_CLASSES && refresh < pfc->refresh; class++) {
        if (pfc->again_at[class] == VN_NEVER) continue;
        uint64_t left = pfc->again_at[class] - context->now, less = pfc->refresh - refresh;
        pfc->again_at[class] = context->now + (left > less ? left - less : 0);
        vn_flow_control_refresh_at(context, end, class, pfc->again_at[class]);
    }
    pfc->refresh = refresh;
}

/* XOFF and PFC headroom, the bytes that can still come in after XOFF. They come while the PAUSE
 * waits for the frame being sent and up to seven other PFC frames, while it is sent, during both
 * propagation delays, and in the far end's response time; or are in this end's pipeline. Besides,
 * three frames count whole: the one that passed XOFF; the one of which a part had come in by then;
 * the one that the far end has started when its gate closes. */
static void pfc_limits(struct vn_context *context, uint32_t number)
{
    const struct vn_link *link = vn_link_of(context, number);
    struct vn_link *end = vn_end_of(context, number);
    if (vn_pfc_of(end) == NULL || vn_pfc_of(end)->lossless == 0) return;
    follow_rate(context, end, link->rate_bps);
    uint64_t frame = context->longest_frame;
    uint64_t delay = vn_duration(end, frame + VN_CLASSES * VN_PFC_BYTES) + end->delay +
                     context->response + link->delay;
    const struct vn_node *node = vn_near(context, end);
    if (node->kind->latency != NULL) delay += node->kind->latency(node);
    uint64_t bytes = (uint64_t)(((unsigned __int128)delay * link->rate_bps) / 8000000000000u) + 1;
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        const struct vn_class *in = &end->classes[class];
        uint64_t limit = bytes + 3 * frame;
        if (vn_is_shared(in)) {
            vn_share_needs(context, in, limit);
            limit = vn_share_of(context, in)->buffer->size;
        } else {
            limit += vn_pfc_class(&end->classes[class])->xoff;
        }
        if (limit > end->limit[class]) end->limit[class] = limit;
    }
}

/* Returns a PFC frame for one class; 0 quanta is a RESUME. VN_NONE: the run has failed. */
static uint32_t pfc_frame(struct vn_context *context, const uint8_t mac[6], uint32_t class,
                          uint16_t quanta)
{
    uint32_t id = vn_packet_new(context);
    if (id == VN_NONE) return id;
    struct vn_packet *packet = vn_packet_at(context, id);
    static const uint8_t zeros[VN_TEMPLATE_BYTES];
    uint8_t *frame = vn_fill(context, packet, zeros);
    memcpy(frame, "\x01\x80\xc2\x00\x00\x01", 6);
    memcpy(frame + 6, mac, 6);
    vn_store16(frame + VN_TYPE, VN_TYPE_MAC_CONTROL);
    vn_store16(frame + VN_PFC_OPCODE, VN_OPCODE_PFC);
    frame[VN_PFC_ENABLED] = (uint8_t)(1u << class);
    vn_store16(frame + VN_PFC_QUANTA + 2 * class, quanta);
    packet->bytes = VN_PFC_BYTES;
    packet->flow = VN_NONE;
    packet->data = false;
    return id;
}

static void send_pfc(struct vn_context *context, struct vn_link *end, uint32_t class,
                     uint16_t quanta)
{
    struct vn_pfc *pfc = vn_pfc_of(end);
    VN_ASSERT(pfc != NULL && (quanta != 0) == (vn_pfc_class(&end->classes[class])->passed != 0));
    uint32_t id = pfc_frame(context, pfc->mac, class, quanta);
    if (id == VN_NONE) return;
    if (quanta != 0) pfc->pause[class]++;
    else pfc->resume++;
    vn_pfc_note(context, end, class, quanta != 0 ? VN_PAUSE_QUEUED : VN_RESUME_QUEUED);
    vn_flow_control_send(context, end, id);
}

static void send_pause(struct vn_context *context, struct vn_link *end, uint32_t class)
{
    struct vn_pfc *pfc = vn_pfc_of(end);
    VN_ASSERT(pfc->lossless >> class & 1 && end->classes[class].held_bytes > 0);
    pfc->again_at[class] = context->now + pfc->refresh;
    vn_flow_control_refresh_at(context, end, class, pfc->again_at[class]);
    send_pfc(context, end, class, pfc->quanta);
}

void vn_pfc_stop(struct vn_context *context, struct vn_link *end, uint32_t class)
{
    VN_ASSERT(vn_pfc_class(&end->classes[class])->passed == 0);
    vn_observe_pauses(context, end, class, true);
    vn_pfc_class(&end->classes[class])->passed = context->now + 1;
    send_pause(context, end, class);
}

void vn_pfc_go(struct vn_context *context, struct vn_link *end, uint32_t class)
{
    struct vn_pfc_class *in = vn_pfc_class(&end->classes[class]);
    VN_ASSERT(in->passed != 0 && in->passed - 1 <= context->now);
    vn_observe_pauses(context, end, class, false);
    vn_pfc_of(end)->paused_ps += context->now - (in->passed - 1);
    in->passed = 0;
    vn_pfc_of(end)->again_at[class] = VN_NEVER;
    send_pfc(context, end, class, 0);
}

void vn_pfc_above_xoff(struct vn_context *context, struct vn_link *end, uint32_t class)
{
    struct vn_class *in = &end->classes[class];
    VN_ASSERT(in->held_bytes > vn_pfc_class(in)->xoff &&
              end->limit[class] > vn_pfc_class(in)->xoff);
    if (in->held_bytes > end->limit[class]) {
        vn_fail(context,
                "link %u class %u has %llu bytes inside: more than XOFF and what can be in flight, "
                "%llu",
                vn_into(context, end), class, (unsigned long long)in->held_bytes,
                (unsigned long long)end->limit[class]);
    }
    if (vn_pfc_class(in)->passed == 0) vn_pfc_stop(context, end, class);
}

void vn_pfc_below_xon(struct vn_context *context, struct vn_link *end, uint32_t class)
{
    VN_ASSERT(end->classes[class].held_bytes <= vn_pfc_class(&end->classes[class])->xoff);
    vn_pfc_go(context, end, class);
}

static void pfc_admitted(struct vn_context *context, struct vn_link *end, uint32_t class,
                         uint32_t bytes)
{
    vn_pfc_hold(context, end, class, bytes);
}

static void pfc_departed(struct vn_context *context, struct vn_link *end, uint32_t class,
                         uint32_t bytes)
{
    vn_pfc_release(context, end, class, bytes);
}

/* Not static: a test calls it without a packet. */
void vn_pfc_admitted(struct vn_context *context, uint32_t number, uint32_t class, uint32_t bytes)
{
    vn_pfc_hold(context, vn_end_of(context, number), class, bytes);
}

static void pfc_refresh(struct vn_context *context, struct vn_link *end, uint32_t class)
{
    const struct vn_pfc *pfc = vn_pfc_of(end);
    VN_ASSERT(pfc->again_at[class] >= context->now);
    if (pfc->again_at[class] == context->now) send_pause(context, end, class);
}

/* Applies a PAUSE or RESUME to one class of the port. */
static void pfc_apply(struct vn_context *context, struct vn_link *link, uint32_t class,
                      uint32_t quanta)
{
    bool ignored = vn_pfc_of(link) != NULL && vn_pfc_of(link)->ignored >> class & 1;
    if (quanta == 0) {
        struct vn_pfc_class *out = vn_pfc_class(&link->classes[class]);
        vn_gate_open(context, link, class);
        if (out->paused_until > context->now) out->paused_until = context->now;
        return;
    }
    if (!ignored) vn_gate_close(context, link, class);
    unsigned __int128 bit_times = (unsigned __int128)quanta * VN_QUANTUM_BITS * 1000000000000u;
    unsigned __int128 lasts = bit_times / link->rate_bps, most = UINT64_C(1) << 62; /* 53 days */
    uint64_t until = context->now + (uint64_t)(lasts < most ? lasts : most);
    vn_pfc_class(&link->classes[class])->paused_until = until;
    if (ignored) return;
    vn_at(context, link->node, until, VN_EV_EXPIRY,
          (uint32_t)(link - context->links) * VN_CLASSES + class);
}

static void pfc_effect(struct vn_context *context, struct vn_link *end)
{
    uint32_t id = vn_fifo_pop(context, &end->arrived);
    const uint8_t *frame = vn_frame(context, vn_packet_at(context, id));
    uint8_t enabled = vn_load16(frame + VN_PFC_OPCODE) == VN_OPCODE_PFC ? frame[VN_PFC_ENABLED] : 0;
    if (vn_near(context, end)->kind->holds)
        enabled &= vn_pfc_of(end) != NULL ? vn_pfc_of(end)->lossless : 0;
    uint16_t quanta[VN_CLASSES];
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        quanta[class] = (uint16_t)vn_load16(frame + VN_PFC_QUANTA + 2 * class);
    }
    vn_flow_control_seen(context, end, id); /* a program drops it */
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        if ((enabled >> class & 1) == 0) continue;
        vn_pfc_note(context, end, class, quanta[class] != 0 ? VN_PAUSED : VN_RESUMED);
        pfc_apply(context, end, class, quanta[class]);
    }
    if (enabled != 0) vn_gate_changed(context, end);
}

void vn_pfc_receive(struct vn_context *context, uint32_t number, const uint8_t mac[6],
                    uint32_t class, uint16_t quanta)
{
    uint32_t id = pfc_frame(context, mac, class, quanta);
    if (id != VN_NONE) vn_flow_control_arrived(context, number, id, 0);
}

void vn_pfc_expiry(struct vn_context *context, uint32_t id)
{
    struct vn_link *link = vn_link_of(context, id / VN_CLASSES);
    uint32_t class = id % VN_CLASSES;
    if (!vn_gate_closed(link, class) ||
        vn_pfc_class(&link->classes[class])->paused_until != context->now)
        return;
    vn_gate_open(context, link, class);
    link->expired++;
    vn_pfc_note(context, link, class, VN_EXPIRED);
    vn_gate_changed(context, link);
}

void vn_pfc_stats(const struct vn_context *context, const struct vn_link *link,
                  struct vn_link_stats *out)
{
    const struct vn_pfc *pfc = vn_pfc_of(link);
    if (pfc == NULL) return;
    memcpy(out->pause_by_class, pfc->pause, sizeof pfc->pause);
    out->pause = vn_pfc_pauses(pfc);
    out->resume = pfc->resume;
    out->paused_ps = pfc->paused_ps;
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        uint64_t since = vn_pfc_stopped_since(link, class);
        if (since != VN_NEVER) out->paused_ps += context->now - since;
    }
}

static bool pfc_is_frame(const uint8_t *frame)
{
    return vn_load16(frame + VN_TYPE) == VN_TYPE_MAC_CONTROL;
}

static uint64_t pfc_stopped_since(const struct vn_context *context, uint32_t number, uint32_t class)
{
    return vn_pfc_stopped_since(vn_end_of(context, number), class);
}

static uint32_t pfc_counts(uint32_t bytes) { return bytes; }

static bool pfc_stays_closed(const struct vn_context *context, uint32_t number, uint32_t class,
                             uint64_t held)
{
    /* see vn_pfc_release */
    return held != 0 && held >= vn_pfc_class(&vn_end_of(context, number)->classes[class])->xon;
}

static const struct vn_flow_control vn_flow_control_pfc = {
    .admitted = pfc_admitted,
    .departed = pfc_departed,
    .refresh = pfc_refresh,
    .is_frame = pfc_is_frame,
    .effect = pfc_effect,
    .limits = pfc_limits,
    .stopped_since = pfc_stopped_since,
    .counts = pfc_counts,
    .stays_closed = pfc_stays_closed,
};

int vn_set_pfc(struct vn_context *context, uint32_t number, uint32_t xoff, uint32_t xon,
               uint16_t quanta, uint64_t refresh_ps, uint8_t lossless, const uint8_t mac[6])
{
    if (number >= context->n_links || !vn_far(context, &context->links[number])->kind->holds) {
        return vn_refuse(context, -EINVAL, "no link that ends at a switch");
    }
    if (refresh_ps == 0 || quanta == 0)
        return vn_refuse(context, -EINVAL, "PAUSE frames need quanta and a refresh time");
    struct vn_link *end = vn_end_of(context, number);
    if (end->flow_control != VN_FLOW_CONTROL_pfc)
        return vn_refuse(context, -EINVAL, "the link has another flow control");
    struct vn_pfc *pfc = vn_pfc_of(end);
    if (pfc == NULL) {
        pfc = end->controlled = calloc(1, sizeof *pfc);
        if (pfc == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
        memset(pfc->again_at, 0xff, sizeof pfc->again_at); /* VN_NEVER */
    }
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        if (vn_is_shared(&end->classes[class]))
            return vn_refuse(context, -EBUSY, "the link's classes share a buffer already");
    }
    if (context->pool.base != NULL && pfc->quanta != 0 && lossless != pfc->lossless)
        return vn_refuse(context, -EBUSY, "the network runs already: lossless classes stay");
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        vn_pfc_class(&end->classes[class])->xoff = xoff;
        vn_pfc_class(&end->classes[class])->xon = xon;
        end->classes[class].lossless = lossless >> class & 1 ? VN_FLOW_CONTROL_pfc : VN_LOSSY;
    }
    /* Packets are inside by another threshold, or may come after a PAUSE that was longer. */
    if (context->pool.base != NULL) vn_fault_overruns(end);
    pfc->quanta = quanta;
    pfc->refresh = pfc->refresh_set = refresh_ps;
    pfc->rate_set = context->links[number].rate_bps;
    pfc->lossless = lossless;
    memcpy(pfc->mac, mac, sizeof pfc->mac);
    pfc_limits(context, number);
    return 0;
}
