/* The packet replication engine: clone sessions and multicast groups, by number. */
#ifndef SW_PRE_H
#define SW_PRE_H

#include "switch.h"

struct sw_pre_group {
    uint32_t id, n, truncate_to; /* truncate_to: bytes, for clone sessions; 0: don't */
    struct sw_replica *replicas;
};

/* Groups sorted by id. */
struct sw_pre {
    struct sw_pre_group *groups;
    uint32_t n, capacity;
};

void sw_pre_free(struct sw_pre *);
/* n = 0 deletes. 0, -ENOENT (nothing to delete) or -ENOMEM. */
int sw_pre_set(struct sw_pre *, uint32_t id, const struct sw_replica *, uint32_t n,
               uint32_t truncate_to);
const struct sw_pre_group *sw_pre_find(const struct sw_pre *, uint32_t id);

#endif
