/* Owns the order of events: clocks, rounds, turns, what is listed to arrive; runs the events of all
 * nodes. It knows nodes and channels, and of frames only which memory to fetch ahead. It promises
 * that no result depends on by_node, on prefetching, nor on the number of threads. */
#ifndef VN_ORDER_H
#define VN_ORDER_H

#include "time/events.h"
#include "time/kinds.h"
#include "virtualnet.h"

struct vn_node;
struct vn_crew;
struct vn_parts;
struct vn_question;

struct vn_order {
    bool by_node; /* a queue of events for each node; else one for all, strictly in order */
    const struct vn_event_kind *kinds; /* by enum vn_kind */
    bool shared; /* some nodes share a queue with others */
    struct vn_event_queue queue; /* events that concern all nodes; unless by_node, all */
    struct vn_group **groups; /* by node; NULL: it is in none (shared.h); none is in any */
    /* By node, that of a group by its first one. */
    uint64_t *next_event; /* the time of its first event; VN_NEVER: it has none */
    uint64_t *clock; /* all its events before then have happened */
    uint64_t lookahead; /* the shortest delay of a channel between nodes that aren't in one group */
    uint64_t rounds; /* so far */
    uint32_t near_rounds; /* for so many more a barrier is at most the lookahead away */
    /* the nodes that have turns, in the order of these in a round, and their number ... */
    uint32_t *turns, n_turns;
    /* ... by node, in which part of a round: no link joins nodes of one phase ... */
    uint8_t *phase;
    uint32_t n_phases; /* ... and how many there are */
    struct vn_crew *crew;
    struct vn_parts *parts; /* parts.h; NULL: all nodes are this process's */
    bool ordered; /* until the barrier, all nodes' events happen in one order */
    bool return_due; /* the latest event was a VN_EV_RETURN */
    /* Whether what a run with `finish` waits for can't end in the next `within` picoseconds
     * (`unfinished` of struct vn_turns). */
    bool (*cannot_finish_yet)(struct vn_context *, uint64_t within);
    /* Whether no event can happen in the next `within` that starts something at another node
     * (`waiting`). */
    bool (*cannot_wake_yet)(struct vn_context *, uint64_t within);
    bool watched; /* Python sees in which order questions are answered */
    void (*answer)(struct vn_context *, const struct vn_question *);
    /* Takes Python's error away, to raise it later or never. NULL: no memory. */
    void *(*hold)(struct vn_context *);
    void (*release)(struct vn_context *, void *held, bool raise);
};

/* Before the first event. False: the run has failed. */
static bool vn_order_init(struct vn_context *, uint32_t threads);
static void vn_order_free(struct vn_context *);
/* Of register.h. */
static void vn_arrival_event(struct vn_context *, uint32_t channel);
static uint32_t vn_arrival_node(const struct vn_context *, uint32_t channel);
static void vn_return_event(struct vn_context *, uint32_t number);
static uint32_t vn_no_node(const struct vn_context *, uint32_t id);

/* Processes events until there is a reason to return to Python. */
static enum vn_reason vn_run_events(struct vn_context *);

#endif
