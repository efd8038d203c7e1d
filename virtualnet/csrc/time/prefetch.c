/* A node is prefetched in four steps, in the four turns before its own, after its vn_node in the
 * turn before these: each step reads its addresses from lines that the one before has fetched. What
 * a step fetches, the node's kind decides. A node that packets stay in needs many lines, and the
 * processor drops some of so many at once, so in such a node's turn they are spread over the
 * arrivals, one step of one channel with each; in another node's turn all of them are done at its
 * start. */
#include "time/prefetch.h"

static void prefetch_node(const struct vn_node *node)
{
    for (uint32_t line = 0; line < 3; line++) vn_prefetch((const char *)node + 64 * line);
}

/* The node whose turn comes so many turns later; NULL: there is none, or it has no events. */
static const struct vn_node *node_after(const struct vn_context *context, uint32_t turns)
{
    uint32_t turn = context->turns.turn + turns;
    bool any = turn < context->turns.ahead &&
               context->order.next_event[context->turns.order[turn]] < context->turns.barrier;
    return any ? &context->nodes[context->turns.order[turn]] : NULL;
}

void vn_prefetch_next(struct vn_context *context)
{
    if (context->prefetch.cursor == context->prefetch.total) return;
    uint32_t step = context->prefetch.cursor % VN_PREFETCH_STEPS,
             i = context->prefetch.cursor / VN_PREFETCH_STEPS;
    const struct vn_node *node = context->prefetch.upcoming[step];
    context->prefetch.cursor++;
    if (node != NULL && i < node->n_in && node->kind->prefetch != NULL)
        node->kind->prefetch(context, node, step, i);
}

void vn_prefetch_turns(struct vn_context *context)
{
    struct vn_node *current = &context->nodes[context->turns.order[context->turns.turn]];
    const struct vn_node *last = node_after(context, VN_PREFETCH_STEPS + 1);
    /* the rest of the previous turn's */
    while (context->prefetch.cursor < context->prefetch.total) vn_prefetch_next(context);
    context->prefetch.cursor = context->prefetch.total = 0;
    if (last != NULL) prefetch_node(last);
    for (uint32_t step = 0; step < VN_PREFETCH_STEPS; step++) {
        const struct vn_node *node = context->prefetch.upcoming[step] =
            node_after(context, VN_PREFETCH_STEPS - step);
        if (node != NULL && node->n_in * VN_PREFETCH_STEPS > context->prefetch.total)
            context->prefetch.total = node->n_in * VN_PREFETCH_STEPS;
    }
    while (!current->kind->holds && context->prefetch.cursor < context->prefetch.total)
        vn_prefetch_next(context);
    if (current->kind->turn != NULL) current->kind->turn(context, current);
}

void vn_prefetch_arrivals(const struct vn_context *context)
{
    const struct vn_node *node = &context->nodes[context->turns.order[context->turns.turn]];
    for (const struct vn_listed *next = context->turns.arrivals;
         next < context->turns.arrivals + VN_AHEAD; next++) {
        if (node->kind->prefetch_arrival == NULL) vn_prefetch_packet(context, next->packet);
        else if (next->time != VN_NEVER) node->kind->prefetch_arrival(context, node, next->packet);
    }
}
