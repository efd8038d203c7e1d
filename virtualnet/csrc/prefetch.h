/* Prefetching. A large network doesn't fit into the caches: a node's state has been evicted by the time of its next turn. But
 * order.c knows whose turn comes and what arrives in it, so that is fetched ahead. Nothing but time depends on it, and
 * VirtualNetwork(prefetch=False) does without; `make bench-virtual` prints what it gives. */
#ifndef VN_PREFETCH_H
#define VN_PREFETCH_H

#include "packets.h"

/* Compilers leave out calls of functions that do nothing but prefetch; the empty assembly keeps them. */
static inline __attribute__((always_inline)) void vn_prefetch(const void *line)
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

/* At the start of a round: whether it is worth while. */
static inline void vn_prefetch_round(struct vn_net *net)
{
    net->prefetch.active = net->prefetch.enabled && (uint64_t)net->n_packets * net->lines > 1 << 14;
}

/* As a turn begins: what is to be fetched for the next ones while it lasts. */
static void vn_prefetch_turns(struct vn_net *);
/* With each arrival, a piece of that. */
static void vn_prefetch_piece(struct vn_net *);
/* As arrivals are listed: what the first of them need. */
static void vn_prefetch_arrivals(const struct vn_net *);

#endif
