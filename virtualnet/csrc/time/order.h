/* Owns the order of events: clocks, rounds, turns, what is listed to arrive; runs the events of all nodes. It knows nodes and channels, and
 * of frames only which memory to fetch ahead. It promises that no result depends on by_node, nor on prefetching. */
#ifndef VN_ORDER_H
#define VN_ORDER_H

#include "time/events.h"
#include "time/kinds.h"
#include "virtualnet.h"

struct vn_node;

struct vn_order {
    bool by_node; /* a queue of events for each node; else one for all, strictly in order */
    const struct vn_event_kind *kinds; /* by enum vn_kind */
    bool shared; /* some nodes share a queue with others */
    struct vn_event_queue queue; /* events that concern all nodes; unless by_node, all */
    struct vn_group **groups; /* by node; NULL: it is in none (shared.h); none is in any */
    /* By node, that of a group by its first one. */
    uint64_t *next_event; /* the time of its first event; VN_NEVER: it has none */
    uint64_t *clock; /* all its events before then have happened */
    uint64_t barrier; /* nodes advance to this time, then wait for each other */
    uint64_t lookahead; /* the shortest delay of a channel between nodes that aren't in one group */
    uint64_t rounds; /* so far */
    uint64_t turn_end; /* of the current turn */
    uint32_t *order, turns, turn; /* the nodes in the order of their turns in a round, and their number; the current turn's index */
    bool ordered; /* until the barrier, all nodes' events happen in one order */
    bool return_due; /* the latest event was a VN_EV_RETURN */
    struct vn_listed *arrivals, *arrival_lists[2]; /* the current turn's, sorted: the next one; list and spare */
    uint32_t arrivals_capacity;
    /* What has to end before a run with `finish` does, and whether it can't in the next `within` picoseconds. */
    uint32_t unfinished;
    bool (*cannot_finish_yet)(struct vn_context *, uint64_t within);
    /* What an event at one node starts at another, at the same time; and whether no such event can happen in the next `within`. */
    uint32_t waiting;
    bool (*cannot_wake_yet)(struct vn_context *, uint64_t within);
};

/* See prefetch.h. */
struct vn_prefetch {
    bool enabled, active; /* active: the packets exceed the caches */
    const struct vn_node *upcoming[4]; /* by step: the node prefetched in the present turn, or NULL */
    uint32_t cursor, total; /* of the current turn's prefetches: the next one, and their number */
};

/* Before the first event. False: the run has failed. */
static bool vn_order_init(struct vn_context *);
static void vn_order_free(struct vn_context *);
/* Of register.h. */
static void vn_arrival_event(struct vn_context *, uint32_t channel);
static uint32_t vn_arrival_node(const struct vn_context *, uint32_t channel);
static void vn_return_event(struct vn_context *, uint32_t number);
static uint32_t vn_no_node(const struct vn_context *, uint32_t id);

/* Processes events until there is a reason to return to Python. */
static enum vn_reason vn_run_events(struct vn_context *);

#endif
