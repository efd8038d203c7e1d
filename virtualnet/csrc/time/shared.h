/* Nodes that share a queue of events, in which these happen strictly in order. Over a link that is
 * shorter than a frame a node would get turns of an event or none. So nodes that such links join
 * are a group: it has one turn, which ends where the links from other groups say. In the reference,
 * by_node false, all nodes are in the one queue of struct vn_order. */
#ifndef VN_SHARED_H
#define VN_SHARED_H

#include "context.h"

/* what a short link's rate takes longer for than its delay: measured,
 * docs/notebook/virtualnet.md */
enum { VN_SHORT_BYTES = 512 };

struct vn_group {
    struct vn_event_queue queue; /* its nodes' events, arrivals too */
    uint32_t first; /* of its nodes; order.c has it for the whole group */
    uint32_t *in, n_in; /* channels that come from other groups */
};

/* The group of a node; NULL: it is alone. */
VN_ALWAYS struct vn_group *vn_group_of(const struct vn_context *context, uint32_t node)
{
    return context->order.groups != NULL ? context->order.groups[node] : NULL;
}

/* The node that stands for this one in order.c: of its group, or itself. */
static inline uint32_t vn_first_of(const struct vn_context *context, uint32_t node)
{
    const struct vn_group *group = vn_group_of(context, node);
    return group != NULL ? group->first : node;
}

/* Whether the node's events are in a queue that it shares with others. */
VN_ALWAYS bool vn_shares(const struct vn_context *context, uint32_t node)
{
    if (__builtin_expect(!context->order.shared, 1)) return false;
    return !context->order.by_node || context->order.groups[node] != NULL;
}

/* Before the first event: groups, and who waits for whom: vn_channel.from. False: the run has
 * failed. */
static bool vn_groups_init(struct vn_context *);
static void vn_groups_free(const struct vn_context *);
/* Schedules an event in a shared queue; `node` VN_NONE: in that of all nodes. */
static void vn_share(struct vn_context *, uint32_t node, struct vn_event);
/* The queue's first event that hasn't been replaced by another one, which it removes; time
 * VN_NEVER: none. */
static struct vn_event vn_shared_first(const struct vn_context *, struct vn_event_queue *);
/* Processes the first event of a queue, which vn_shared_first has returned. */
static void vn_run_shared(struct vn_context *, struct vn_event_queue *);
/* How far the group may advance, at most to `end`. */
static uint64_t vn_end_of_group_turn(const struct vn_context *, const struct vn_group *,
                                     uint64_t end);
/* Schedules what other groups have sent. */
static void vn_group_take_in(struct vn_context *, const struct vn_group *);
/* Its turn. One that has very many events ends early, and lowers the turn's end. False: the run has
 * failed, or an event asks. */
static bool vn_group_turn(struct vn_context *, struct vn_group *);

#endif
