/* The scheduler between the program's ingress and its egress, for one class of an output link:
 * admit, next, release. Among classes port.c applies strict priority and the gate (gate.h);
 * fabric.c strict priority, and whether the buffer has room.
 *
 * It is a FIFO, in line here, or one of schedulers.c. A new one is a file, a vn_scheduler, and its
 * lines there; vn_set_scheduler gives it to a switch by its name. These functions keep a class's
 * queue.packets and queued_bytes and the link's `waiting`, which samples and ports read; no
 * other code reads a class's queue. */
#ifndef VN_SCHEDULER_H
#define VN_SCHEDULER_H

#include "links/faults.h"
#include "links/shared_buffer.h"
#include "switches/switch.h"

/* Order among the packets of a class at an output. Its state is vn_queues_of. */
struct vn_scheduler {
    const char *name;
    /* of a link that starts at this switch. NULL: out of memory */
    void *(*make)(const struct vn_node *);
    void (*push)(struct vn_context *, struct vn_link *, uint32_t class, uint32_t packet);
    uint32_t (*pop)(struct vn_context *, struct vn_link *, uint32_t class); /* a packet waits */
    /* Shows each packet that waits. */
    void (*for_each)(const struct vn_context *, const struct vn_link *, uint32_t class,
                     void (*see)(void *to, const struct vn_packet *, uint32_t class), void *to);
    /* Frees what it points to, before `free` frees it. NULL: nothing */
    void (*end)(void *queues);
    /* A lossy packet finds the class full (its `depth`): takes the one that is to be lost in its
     * place out of the queue, and returns it. VN_NONE: none. NULL: it is always the one that comes */
    uint32_t (*give_up)(struct vn_context *, struct vn_link *, uint32_t class, uint32_t packet);
    bool reads_left; /* serves by what packets report that their flow has left */
};

/* NULL: there is none. */
static const struct vn_scheduler *vn_scheduler_named(const char *name);

/* What the scheduler has made for the link. */
static inline void *vn_queues_of(const struct vn_link *link) { return vn_port_more(link)->queues; }

/* Bytes of an output queue above which it refuses lossy packets from links that have PFC. Without
 * PFC only a class's `depth` limits its queue. */
enum { VN_LOSSY_LIMIT = 16 << 20 };

/* A packet that leaves the queue for egress, and the ingress occupancy that its release gives
 * back. */
struct vn_departure {
    uint32_t packet, deq_qdepth; /* deq_qdepth: packets left in the queue */
    uint32_t in_link, bytes;
    uint8_t counted;       /* in the occupancy of in_link, as vn_packet.counted */
};

/* Packets in the queue. */
VN_ALWAYS uint32_t vn_scheduler_waiting(const struct vn_link *link, uint32_t class)
{
    return link->classes[class].queue.packets;
}

VN_ALWAYS bool vn_scheduler_full(const struct vn_class *to)
{
    return to->depth != 0 && (to->queue.packets >= to->depth || to->depth == VN_NO_QUEUE);
}

/* Whether a queue has room for a lossy packet that came in where `end` is. */
VN_ALWAYS bool vn_scheduler_room(const struct vn_link *end, const struct vn_class *to,
                                 uint32_t bytes)
{
    if (vn_scheduler_full(to)) return false;
    return to->queued_bytes + bytes <= VN_LOSSY_LIMIT || vn_pfc_of(end) == NULL ||
           vn_pfc_of(end)->lossless == 0;
}

/* Of a class that refuses packets: whether it does so with this one. */
static inline bool vn_scheduler_refuses(struct vn_context *context, struct vn_link *link,
                                        struct vn_link *end, uint32_t class, uint32_t id)
{
    const struct vn_packet *packet = vn_packet_at(context, id);
    const struct vn_class *in = &end->classes[class];
    if (!vn_is_shared(in) || vn_share_of(context, in)->lossless)
        return vn_fault_overrun(context, end, class, id);
    if (packet->counted) return false;
    if (!vn_scheduler_full(&link->classes[class]) && vn_share_has_room(context, in, packet->bytes))
        return false;
    link->refused[class]++;
    return true;
}

/* Queues a packet. False: there is no room, and the packet is the caller's. */
VN_ALWAYS bool vn_scheduler_admit(struct vn_context *context, struct vn_link *link, uint32_t class,
                                  uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(context, id);
    struct vn_class *to = &link->classes[class];
    struct vn_link *end = vn_end_of(context, packet->in_link);
    const struct vn_class *held = &end->classes[class];
    uint8_t lossless = held->lossless;
    VN_ASSERT((link->waiting >> class & 1) == (to->queue.packets != 0) &&
              (to->queue.packets != 0 || to->queued_bytes == 0));
    VN_ASSERT(!packet->counted || held->held_bytes >= packet->bytes || packet->counted == VN_OWN);
    if (!lossless && !vn_scheduler_room(end, to, packet->bytes)) {
        link->refused[class]++;
        return false;
    }
    if (__builtin_expect(held->refuses, 0) && vn_scheduler_refuses(context, link, end, class, id))
        return false;
    vn_observe_queued(context, link, class, id);
    if (!vn_port_of(link)->scheduled) {
        vn_fifo_push(context, &to->queue, id);
    } else {
        vn_port_more(link)->scheduler->push(context, link, class, id);
        to->queue.packets++;
    }
    to->queued_bytes += packet->bytes;
    link->waiting |= (uint8_t)(1u << class);
    if (lossless && !packet->counted) {
        packet->counted = lossless;
        vn_gate_admitted(context, lossless, end, class, packet->bytes);
    }
    return true;
}

/* Dequeues the next packet. The queue must not be empty. */
VN_ALWAYS struct vn_departure vn_scheduler_next(struct vn_context *context, struct vn_link *link,
                                                uint32_t class)
{
    struct vn_class *from = &link->classes[class];
    bool fifo = !vn_port_of(link)->scheduled;
    VN_ASSERT(from->queue.packets != 0 && link->waiting >> class & 1);
    uint32_t id = fifo ? vn_fifo_pop(context, &from->queue)
                       : vn_port_more(link)->scheduler->pop(context, link, class);
    uint32_t deq_qdepth = fifo ? from->queue.packets : --from->queue.packets;
    if (deq_qdepth == 0) link->waiting &= (uint8_t)~(1u << class);
    else if (fifo && context->prefetch.enabled) vn_prefetch_packet(context, from->queue.head);
    const struct vn_packet *packet = vn_packet_at(context, id);
    VN_ASSERT(from->queued_bytes >= packet->bytes &&
              (deq_qdepth != 0 || from->queued_bytes == packet->bytes));
    from->queued_bytes -= packet->bytes;
    return (struct vn_departure){id, deq_qdepth, packet->in_link, packet->bytes, packet->counted};
}

/* Where the packet's transmission starts, a fabric takes it, or egress drops it. A recirculated
 * packet stays in the ingress occupancy. */
VN_ALWAYS void vn_scheduler_release(struct vn_context *context, uint32_t class,
                                    const struct vn_departure *departure)
{
    if (departure->counted == VN_LOSSY) return;
    vn_gate_departed(context, departure->counted, vn_end_of(context, departure->in_link), class,
                     departure->bytes);
}

/* Shows each packet of a class that waits, in the order of each queue. */
static inline void
vn_scheduler_each(const struct vn_context *context, const struct vn_link *link, uint32_t class,
                  void (*see)(void *to, const struct vn_packet *, uint32_t class), void *to)
{
    if (vn_port_of(link)->scheduled) {
        vn_port_more(link)->scheduler->for_each(context, link, class, see, to);
        return;
    }
    vn_fifo_each(context, &link->classes[class].queue, class, see, to);
}

/* Prefetches a class's next packet. */
VN_ALWAYS void vn_scheduler_prefetch(const struct vn_context *context, const struct vn_link *link,
                                     uint32_t class)
{
    const struct vn_fifo *queue = &link->classes[class].queue;
    if (!vn_port_of(link)->scheduled && queue->packets != 0)
        vn_prefetch_packet(context, queue->head);
}

#endif
