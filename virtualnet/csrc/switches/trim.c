/* Packet trimming at a switch's outputs: see softswitch/csrc/trim.h. A trimmed packet is one of
 * VN_TRIMMED, and as short as it will be, from its admission to the end of the program's egress;
 * then its frame says so, too.
 *
 * A packet of a lossless class isn't trimmed: its queue refuses none. Nor is one with padding,
 * or none of IPv4. */
#include "switches/scheduler.h"

uint32_t vn_trim_whole(const uint8_t *frame) { return 14 + ((uint32_t)frame[16] << 8 | frame[17]); }

bool vn_trim(struct vn_context *context, const struct vn_link *link, uint32_t class, uint32_t id,
             uint32_t *queue)
{
    const struct sw_trimming *trimming = &vn_port_more(link)->trimming;
    struct vn_packet *packet = vn_packet_at(context, id);
    bool lossless = vn_end_of(context, packet->in_link)->classes[class].lossless;
    if (packet->data != VN_WHOLE || lossless || !sw_trims(trimming, class, packet->bytes))
        return false;
    if (vn_trim_whole(vn_frame(context, packet)) != packet->bytes) return false;
    vn_port_more(link)->trimmed[class]++;
    packet->data = VN_TRIMMED;
    packet->bytes = trimming->size;
    if (!context->pool.inplace) vn_phv_truncate(context, id, trimming->size);
    *queue = trimming->queue_index;
    return true;
}

enum vn_verdict vn_trim_finish(struct vn_context *context, const struct vn_link *link, uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(context, id);
    packet->data = VN_WHOLE;
    if (sw_trim(vn_frame(context, packet), packet->bytes, vn_port_more(link)->trimming.dscp_value))
        return VN_SEND;
    context->totals.dropped++;
    vn_packet_lose(context, id);
    return VN_DROPPED;
}
