/* Prefetching. A large network exceeds the caches: a node's state has been evicted by the time of
 * its next turn. But order.c knows the coming turns and their arrivals, so their state is fetched
 * ahead. It changes no result; VirtualNetwork(prefetch=False) switches it off, and `make
 * bench-virtual` prints its gain. */
#ifndef VN_PREFETCH_H
#define VN_PREFETCH_H

#include "frames/packets.h"

enum { VN_PREFETCH_STEPS = 4 };

/* At the start of a round: decides whether prefetching pays, by the size of the packet pool. */
static inline void vn_prefetch_round(struct vn_context *context)
{
    context->prefetch.active =
        context->prefetch.enabled && vn_pool_exceeds(&context->pool, 1 << 14);
}

/* At the start of a turn: plans the prefetches for the coming ones. */
static void vn_prefetch_turns(struct vn_context *);
/* With each arrival: does the next of these prefetches. */
static void vn_prefetch_next(struct vn_context *);
/* After a turn's arrivals were listed: prefetches for the first of them. */
static void vn_prefetch_arrivals(const struct vn_context *);

#endif
