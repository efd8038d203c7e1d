/* The scheduler between the program's ingress and its egress, for one class of an output link: admit, next, release. Among
 * classes port.c applies strict priority and the gate (gate.h); fabric.c strict priority, and whether the buffer has room.
 *
 * It is a FIFO, or a queue for each input port with round robin (round_robin.h). Another scheduler is a file beside that one, and a
 * choice in these functions. It keeps a class's queue.packets and queued_bytes and the link's `waiting`, which sample.c, port.c and
 * fabric.c read; no other code reads a class's queue. */
#ifndef VN_SCHEDULER_H
#define VN_SCHEDULER_H

#include "gate.h"
#include "prefetch.h"
#include "round_robin.h"

/* Bytes of an output queue above which it refuses lossy packets from links that have PFC. Without PFC no queue is limited. */
enum { VN_LOSSY_LIMIT = 16 << 20 };

/* A packet that leaves the queue for egress, and the ingress occupancy that its release gives back. */
struct vn_departure {
    uint32_t packet, deq_qdepth; /* deq_qdepth: packets left in the queue */
    uint32_t in_link, bytes;
    uint8_t counted;       /* in the occupancy of in_link, as vn_packet.counted */
};

/* Packets in the queue. */
SW_ALWAYS uint32_t vn_scheduler_waiting(const struct vn_link *link, uint32_t class) { return link->classes[class].queue.packets; }

/* Queues a packet. False: there is no room, and the packet is the caller's. */
SW_ALWAYS bool vn_scheduler_admit(struct vn_net *net, struct vn_link *link, uint32_t class, uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(net, id);
    struct vn_class *to = &link->classes[class];
    const struct vn_link *in = vn_link_of(net, packet->in_link);
    const struct vn_class *held = &in->classes[class];
    uint8_t lossless = held->lossless;
    if (!lossless && in->lossless != 0 && to->queued_bytes + packet->bytes > VN_LOSSY_LIMIT) {
        link->refused++;
        return false;
    }
    if (__builtin_expect(held->overruns, 0) && vn_fault_overrun(net, packet->in_link, class, id)) return false;
    if (!link->round_robin) {
        vn_fifo_push(net, &to->queue, id);
    } else {
        vn_inputs_push(net, link, class, id);
        to->queue.packets++;
    }
    to->queued_bytes += packet->bytes;
    link->waiting |= (uint8_t)(1u << class);
    if (lossless && !packet->counted) {
        packet->counted = lossless;
        vn_gate_admitted(net, lossless, packet->in_link, class, packet->bytes);
    }
    return true;
}

/* Dequeues the next packet. The queue must not be empty. */
SW_ALWAYS struct vn_departure vn_scheduler_next(struct vn_net *net, struct vn_link *link, uint32_t class)
{
    struct vn_class *from = &link->classes[class];
    bool fifo = !link->round_robin;
    uint32_t id = fifo ? vn_fifo_pop(net, &from->queue) : vn_inputs_pop(net, link, class);
    uint32_t deq_qdepth = fifo ? from->queue.packets : --from->queue.packets;
    if (deq_qdepth == 0) link->waiting &= (uint8_t)~(1u << class);
    else if (fifo && net->prefetch.enabled) vn_prefetch_packet(net, from->queue.head);
    const struct vn_packet *packet = vn_packet_at(net, id);
    from->queued_bytes -= packet->bytes;
    return (struct vn_departure){id, deq_qdepth, packet->in_link, packet->bytes, packet->counted};
}

/* Where the packet's transmission starts, a fabric takes it, or egress drops it. A recirculated packet stays in the ingress
 * occupancy. */
SW_ALWAYS void vn_scheduler_release(struct vn_net *net, uint32_t class, const struct vn_departure *departure)
{
    if (departure->counted) vn_gate_departed(net, departure->counted, departure->in_link, class, departure->bytes);
}

/* Shows each packet of a class that waits, in the order of each queue. */
static inline void vn_scheduler_each(const struct vn_net *net, const struct vn_link *link, uint32_t class,
                                     void (*see)(void *to, const struct vn_packet *, uint32_t class), void *to)
{
    const struct vn_fifo *queue = link->round_robin ? &link->inputs->queues[class * link->inputs->n] : &link->classes[class].queue;
    for (uint32_t queues = link->round_robin ? link->inputs->n : 1; queues != 0; queues--, queue++) {
        uint32_t id = queue->head;
        for (uint32_t n = queue->packets; n != 0; n--) {
            const struct vn_packet *packet = vn_packet_at(net, id);
            see(to, packet, class);
            id = packet->next;
        }
    }
}

/* Prefetches a class's next packet. */
SW_ALWAYS void vn_scheduler_prefetch(const struct vn_net *net, const struct vn_link *link, uint32_t class)
{
    const struct vn_fifo *queue = &link->classes[class].queue;
    if (!link->round_robin && queue->packets != 0) vn_prefetch_packet(net, queue->head);
}

#endif
