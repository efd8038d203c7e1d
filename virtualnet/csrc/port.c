/* A switch's ports: a queue a class, strict priorities, PFC frames before all. The egress half runs when a packet starts to
 * leave.
 *
 * A packet that the program sends round instead of out uses no time of the wire, but its class waits as long as if it
 * had, as in the live switch. */
#include "prefetch.h"

enum { LOSSY_LIMIT = 16 << 20 /* bytes a queue of a class that PFC doesn't protect may hold */ };

void vn_port_admit(struct vn_net *net, uint32_t number, uint32_t id, uint32_t queue)
{
    struct vn_link *link = vn_link_of(net, number);
    struct vn_packet *packet = vn_packet_at(net, id);
    struct vn_class *class = &link->classes[queue];
    packet->enq_qdepth = class->queue.packets & 0x7ffffu; /* bit<19> */
    const struct vn_link *in = vn_link_of(net, packet->in_link);
    bool lossless = in->classes[queue].lossless;
    if (!lossless && in->lossless != 0 && class->queued_bytes + packet->bytes > LOSSY_LIMIT) {
        link->refused++;
        vn_packet_free(net, id);
        return;
    }
    vn_fifo_push(net, &class->queue, id);
    class->queued_bytes += packet->bytes;
    link->waiting |= (uint8_t)(1u << queue);
    if (lossless && !packet->held) {
        packet->held = 1;
        vn_pfc_admitted(net, packet->in_link, queue, packet->bytes);
    }
    if (!link->pending) vn_port_serve(net, link, number);
}

static void later(struct vn_net *net, struct vn_link *link, uint32_t number, uint64_t time)
{
    link->pending = true;
    vn_at(net, time, VN_EV_PORT, number);
}

/* Classes whose packets went round wait until it is their turn again; when, if there is nothing else. */
static uint32_t without_looping(struct vn_link *link, uint32_t mask, uint64_t now, uint64_t *next)
{
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        if (!(link->looping >> class & 1)) continue;
        if (link->loop_free[class] <= now) {
            link->looping &= (uint8_t)~(1u << class);
        } else if (mask >> class & 1) {
            mask &= ~(1u << class);
            if (link->loop_free[class] < *next) *next = link->loop_free[class];
        }
    }
    return mask;
}

static void serve(struct vn_net *net, struct vn_link *link, uint32_t number)
{
    while (link->up && !net->failed) {
        uint32_t mask = link->waiting & ~(uint32_t)link->paused;
        if (mask == 0 && !link->urgent) return;
        if (net->now < link->free) {
            if (!link->pending) later(net, link, number, link->free);
            return;
        }
        if (link->urgent) {
            vn_transmit(net, link, vn_urgent_pop(net, link));
            continue;
        }
        uint64_t next = VN_NEVER;
        if (link->looping != 0) mask = without_looping(link, mask, net->now, &next);
        if (mask == 0) {
            if (!link->pending) later(net, link, number, next);
            return;
        }
        uint32_t class = 31u - (uint32_t)__builtin_clz(mask);
        struct vn_class *from = &link->classes[class];
        link->last_class = (uint8_t)class;
        uint32_t id = vn_fifo_pop(net, &from->queue), left = from->queue.packets;
        if (left == 0) link->waiting &= (uint8_t)~(1u << class);
        else if (net->prefetch.enabled) vn_prefetch_packet(net, from->queue.head);
        const struct vn_packet *packet = vn_packet_at(net, id);
        uint32_t in_link = packet->in_link, admitted = packet->bytes;
        from->queued_bytes -= admitted;
        bool held = packet->held;
        enum vn_verdict verdict = vn_hop_egress(net, &net->nodes[link->node], link->port, id, class, left);
        if (verdict == VN_AGAIN) {
            link->looping |= (uint8_t)(1u << class);
            link->loop_free[class] = net->now + vn_duration(link, admitted);
            continue;
        }
        if (verdict == VN_SEND) vn_transmit(net, link, id);
        if (held) vn_pfc_departed(net, in_link, class, admitted);
    }
}

void vn_port_serve(struct vn_net *net, struct vn_link *link, uint32_t number)
{
    if (link->serving) return; /* a packet that leaves had another one admitted: its turn comes */
    link->serving = true;
    serve(net, link, number);
    link->serving = false;
}
