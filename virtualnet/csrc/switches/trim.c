/* Packet trimming at a switch's outputs: see softswitch/csrc/trim.h. A trimmed packet is one of
 * VN_TRIMMED, and as short as it will be, from its admission to the end of the program's egress;
 * then its frame says so, too.
 *
 * A packet of a lossless class isn't trimmed: its queue refuses none. Nor is one with padding,
 * or none of IPv4. Of a live switch those are, as by its own queues (softswitch/csrc/traffic.c). */
#include "switches/scheduler.h"

uint32_t vn_trim_whole(const uint8_t *frame) { return 14 + ((uint32_t)frame[16] << 8 | frame[17]); }

/* Whether a packet of a class would be trimmed. */
static bool can_be_trimmed(const struct vn_context *context, const struct vn_link *link,
                           uint32_t class, struct vn_packet *packet)
{
    if (VN_LENT) {
        uint32_t bytes = packet->lent->p.length_register;
        return packet->data != VN_TRIMMED && sw_trims(&vn_port_more(link)->trimming, class, bytes);
    }
    bool lossless = vn_end_of(context, packet->in_link)->classes[class].lossless;
    return packet->data == VN_WHOLE && !lossless &&
           sw_trims(&vn_port_more(link)->trimming, class, packet->bytes) &&
           vn_trim_whole(vn_frame(context, packet)) == packet->bytes;
}

/* Whether what is trimmed can be queued. In virtual time what waits last is lost where it can't. */
static bool fits_trimmed(const struct vn_link *link, const struct sw_trimming *trimming)
{
    return !VN_LENT || !vn_scheduler_full(&link->classes[trimming->queue_index]);
}

uint32_t vn_trim_refused(struct vn_context *context, struct vn_link *link, uint32_t class,
                         uint32_t id)
{
    struct sw_trimming *trimming = &vn_port_more(link)->trimming;
    struct vn_class *to = &link->classes[class];
    /* What isn't counted by packets, or waits in another order, has no last place to take. */
    if (trimming->tail_percent == 0 || vn_port_of(link)->scheduled || to->queue.packets == 0 ||
        !vn_scheduler_full(to) || context->paths != NULL)
        return id;
    uint32_t last = to->queue.tail;
    struct vn_packet *come = vn_packet_at(context, id);
    struct vn_packet *waits = vn_packet_at(context, last);
    if (come->counted || waits->counted || !can_be_trimmed(context, link, class, come) ||
        !can_be_trimmed(context, link, class, waits) || !fits_trimmed(link, trimming) ||
        !sw_trims_tail(trimming))
        return id;
    vn_fifo_replace_last(context, &to->queue, id);
    to->queued_bytes = to->queued_bytes + come->bytes - waits->bytes;
    come->enq_qdepth = (to->queue.packets - 1) & 0x7ffffu; /* bit<19> */
    vn_observe_queued(context, link, class, id);
    return last;
}

bool vn_trim(struct vn_context *context, const struct vn_link *link, uint32_t class, uint32_t id,
             uint32_t *queue)
{
    const struct sw_trimming *trimming = &vn_port_more(link)->trimming;
    struct vn_packet *packet = vn_packet_at(context, id);
    if (!can_be_trimmed(context, link, class, packet)) return false;
    vn_port_more(link)->trimmed[class]++;
    packet->data = VN_TRIMMED;
    packet->bytes = trimming->size;
    if (VN_LENT || !context->pool.inplace) vn_phv_truncate(context, id, trimming->size);
    *queue = trimming->queue_index;
    return true;
}

enum vn_verdict vn_trim_finish(struct vn_context *context, const struct vn_link *link, uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(context, id);
    packet->data = VN_WHOLE;
    if (sw_trim(vn_frame(context, packet), packet->bytes, vn_port_more(link)->trimming.dscp_value))
        return VN_SEND;
    vn_port_more(link)->uncut++;
    context->totals.dropped++;
    vn_packet_lose(context, id);
    return VN_DROPPED;
}
