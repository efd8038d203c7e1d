/* Prefetching. A large network exceeds the caches: a node's state has been evicted by the time of its next turn. But order.c
 * knows the coming turns and their arrivals, so their state is fetched ahead. It changes no result; VirtualNetwork(prefetch=False)
 * switches it off, and `make bench-virtual` prints its gain. */
#ifndef VN_PREFETCH_H
#define VN_PREFETCH_H

#include "packets.h"

/* Compilers remove calls of functions that only prefetch; the empty assembly keeps them. */
SW_ALWAYS void vn_prefetch(const void *line)
{
    __builtin_prefetch(line);
    __asm__ volatile("");
}

static inline void vn_prefetch_packet(const struct vn_net *net, uint32_t id)
{
    const struct vn_packet *packet = vn_packet_at(net, id);
    vn_prefetch(packet);
    vn_prefetch(packet + 1);
}

/* At the start of a round: decides whether prefetching pays, by the size of the packet pool. */
static inline void vn_prefetch_round(struct vn_net *net)
{
    net->prefetch.active = net->prefetch.enabled && (uint64_t)net->n_packets * net->lines > 1 << 14;
}

/* At the start of a turn: plans the prefetches for the coming ones. */
static void vn_prefetch_turns(struct vn_net *);
/* With each arrival: does the next of these prefetches. */
static void vn_prefetch_next(struct vn_net *);
/* After a turn's arrivals were listed: prefetches for the first of them. */
static void vn_prefetch_arrivals(const struct vn_net *);

#endif
