/* What lies between the program's ingress and its egress, a class of an output link at a time: admit, next, release. Between
 * classes port.c has strict priorities, and the gate (gate.h).
 *
 * Here it is FIFO, the output-queued switch. Another scheduler (round robin over inputs, buffers behind a fabric) is a file
 * beside this one, and a choice in these functions: nothing else reads a class's queue. */
#ifndef VN_SCHEDULER_H
#define VN_SCHEDULER_H

#include "prefetch.h"

enum { VN_LOSSY_LIMIT = 16 << 20 /* bytes a queue of a class that PFC doesn't protect may hold */ };

/* A packet that leaves the queue for egress, and the room that it has until it is released. */
struct vn_departure {
    uint32_t packet, left; /* packets of the class behind it */
    uint32_t in_link, bytes;
    bool inside;           /* flow control counts it */
};

/* Packets that wait, before one is admitted. */
SW_ALWAYS uint32_t vn_scheduler_waiting(const struct vn_link *link, uint32_t class)
{
    return link->classes[class].queue.packets;
}

/* False: there is no room for it. */
SW_ALWAYS bool vn_scheduler_admit(struct vn_net *net, struct vn_link *link, uint32_t class, uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(net, id);
    struct vn_class *to = &link->classes[class];
    const struct vn_link *in = vn_link_of(net, packet->in_link);
    bool lossless = in->classes[class].lossless;
    if (!lossless && in->lossless != 0 && to->queued_bytes + packet->bytes > VN_LOSSY_LIMIT) return false;
    vn_fifo_push(net, &to->queue, id);
    to->queued_bytes += packet->bytes;
    link->waiting |= (uint8_t)(1u << class);
    if (lossless && !packet->inside) {
        packet->inside = true;
        vn_pfc_admitted(net, packet->in_link, class, packet->bytes);
    }
    return true;
}

/* Takes the packet that is next; one waits. */
SW_ALWAYS struct vn_departure vn_scheduler_next(struct vn_net *net, struct vn_link *link, uint32_t class)
{
    struct vn_class *from = &link->classes[class];
    uint32_t id = vn_fifo_pop(net, &from->queue), left = from->queue.packets;
    if (left == 0) link->waiting &= (uint8_t)~(1u << class);
    else if (net->prefetch.enabled) vn_prefetch_packet(net, from->queue.head);
    const struct vn_packet *packet = vn_packet_at(net, id);
    from->queued_bytes -= packet->bytes;
    return (struct vn_departure){id, left, packet->in_link, packet->bytes, packet->inside};
}

/* It starts to leave, or egress dropped it. One that is recirculated stays inside, and keeps its room. */
SW_ALWAYS void vn_scheduler_release(struct vn_net *net, uint32_t class, const struct vn_departure *departure)
{
    if (departure->inside) vn_pfc_departed(net, departure->in_link, class, departure->bytes);
}

/* What the next departure of a class needs. */
SW_ALWAYS void vn_scheduler_prefetch(const struct vn_net *net, const struct vn_link *link, uint32_t class)
{
    if (link->classes[class].queue.packets != 0) vn_prefetch_packet(net, link->classes[class].queue.head);
}

#endif
