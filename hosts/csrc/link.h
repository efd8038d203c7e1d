/* A host's link in memory, to a switch of another process (softswitch/csrc/channel.h), beside the
 * interface. */
#ifndef HOSTS_LINK_H
#define HOSTS_LINK_H

#include <stddef.h>

#include "../../softswitch/csrc/channel.h"

/* In memory that Python has mapped; `out` NULL: the host has none. The bell wakes the other end,
 * and ends with it; -1: it has. */
struct link {
    struct sw_channel *out, *in;
    int32_t bell;
};

/* Frames leave by it, not by the interface. */
static inline bool link_carries(const struct link *link)
{
    return link->out != NULL && link->bell >= 0 &&
           !__atomic_load_n(&link->out->watched, __ATOMIC_RELAXED);
}

/* When the first frame arrives; UINT64_MAX: there is none. */
static inline uint64_t link_next(const struct link *link)
{
    return link->in == NULL ? UINT64_MAX : sw_channel_next(link->in);
}

/* The bell has something to read. */
void link_rang(struct link *);
/* Frames were put, the first of which arrives at `at_ns`: wakes the switch, if it would sleep
 * longer. */
void link_ring(const struct link *, uint64_t at_ns);
/* Until when this end sleeps, or 0. Look at `link_next` again before sleeping. */
void link_announce(const struct link *, uint64_t until_ns);
/* Frames for the host take the way through the kernel, since somebody listens at its interface, or
 * no longer. */
void link_watch(const struct link *, bool watched);

#endif
