/* A packet's hop: its way through a switch. Here by a program's in-place form, in which the frame
 * isn't copied and the packet holds the bridged metadata; phv.c has the general form. */
#include "switches/switch.h"

void vn_hop_ingress(struct vn_context *context, struct vn_node *node, uint16_t port, uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(context, id);
    VN_ASSERT(packet->bytes != 0 && packet->in_link < context->n_links &&
              vn_end_of(context, packet->in_link)->node == node->number);
    packet->counted = VN_LOSSY;
    context->totals.traversals++;
    if (VN_LENT || !context->pool.inplace) {
        vn_phv_ingress(context, node, port, id);
        return;
    }
    struct sw_instance *instance = vn_switch_of(node)->instance;
    instance->now = vn_ticks_of(instance, context->now);
    struct sw_inplace_packet in_place = {.frame = vn_frame(context, packet),
                                         .bridged = packet->bridged,
                                         .length = packet->bytes,
                                         .port = port};
    instance->program->inplace->ingress(instance, &in_place);
    uint32_t link = in_place.egress_spec < SW_MAX_PORTS
                        ? vn_switch_of(node)->out[in_place.egress_spec]
                        : VN_NONE;
    if (in_place.egress_spec == instance->drop_port || link == VN_NONE ||
        in_place.priority >= VN_CLASSES) {
        context->totals.dropped++;
        if (in_place.egress_spec != instance->drop_port && link == VN_NONE)
            context->totals.unlinked++;
        vn_packet_lose(context, id);
        return;
    }
    packet->enq_timestamp = (uint32_t)instance->now;
    vn_port_admit(context, link, id, in_place.priority);
}

/* By a program in place, of a packet that counts so many bytes there. */
VN_ALWAYS enum vn_verdict egress_in_place(struct vn_context *context, struct vn_node *node,
                                          uint16_t port, uint32_t id, uint32_t queue,
                                          uint32_t deq_qdepth, uint32_t bytes)
{
    struct vn_packet *packet = vn_packet_at(context, id);
    struct sw_instance *instance = vn_switch_of(node)->instance;
    instance->now = vn_ticks_of(instance, context->now);
    struct sw_inplace_packet in_place = {
        .frame = vn_frame(context, packet),
        .bridged = packet->bridged,
        .length = bytes,
        .port = port,
        .priority = (uint8_t)queue,
        .enq_timestamp = packet->enq_timestamp,
        .enq_qdepth = packet->enq_qdepth,
        .deq_qdepth = deq_qdepth,
    };
    instance->program->inplace->egress(instance, &in_place);
    if (in_place.egress_spec != instance->drop_port) return VN_SEND;
    context->totals.dropped++;
    vn_packet_lose(context, id);
    return VN_DROPPED;
}

static __attribute__((noinline)) enum vn_verdict egress_trimmed(struct vn_context *context,
                                                                struct vn_node *node, uint16_t port,
                                                                uint32_t id, uint32_t queue,
                                                                uint32_t deq_qdepth)
{
    uint32_t whole = vn_trim_whole(vn_frame(context, vn_packet_at(context, id)));
    enum vn_verdict verdict = egress_in_place(context, node, port, id, queue, deq_qdepth, whole);
    if (verdict != VN_SEND) return verdict;
    return vn_trim_finish(context, vn_link_of(context, vn_switch_of(node)->out[port]), id);
}

enum vn_verdict vn_hop_egress(struct vn_context *context, struct vn_node *node, uint16_t port,
                              uint32_t id, uint32_t queue, uint32_t deq_qdepth)
{
    if (VN_LENT || !context->pool.inplace)
        return vn_phv_egress(context, node, port, id, queue, deq_qdepth, 0);
    const struct vn_packet *packet = vn_packet_at(context, id);
    if (__builtin_expect(packet->data == VN_TRIMMED, 0))
        return egress_trimmed(context, node, port, id, queue, deq_qdepth);
    return egress_in_place(context, node, port, id, queue, deq_qdepth, packet->bytes);
}
