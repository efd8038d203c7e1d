/* Groups of nodes, and their turns. */
#include "time/shared.h"

#include <stdlib.h>

#include "time/schedule.h"

void vn_push_or_fail(struct vn_context *context, struct vn_event_queue *queue,
                     struct vn_event event)
{
    if (!vn_push(queue, event)) vn_fail(context, "out of memory for events");
}

void vn_share(struct vn_context *context, uint32_t node, struct vn_event event)
{
    struct vn_group *group = node != VN_NONE ? vn_group_of(context, node) : NULL;
    vn_push_or_fail(context, group != NULL ? &group->queue : &context->order.queue, event);
    if (group == NULL) return;
    uint64_t *first = &context->order.next_event[group->first];
    if (event.time < *first) *first = event.time;
}

struct vn_event vn_shared_first(const struct vn_context *context, struct vn_event_queue *queue)
{
    for (; queue->n != 0; vn_pop(queue)) {
        struct vn_event event = queue->events[0];
        const struct vn_event_kind *kind = &context->order.kinds[vn_kind_of(event)];
        if (kind->replaced == NULL || !kind->replaced(context, vn_id_of(event), event.time))
            return event;
    }
    return (struct vn_event){VN_NEVER, 0};
}

void vn_run_shared(struct vn_context *context, struct vn_event_queue *queue)
{
    struct vn_event event = vn_pop(queue);
    vn_run_event(context, context->order.kinds[vn_kind_of(event)].node_of(context, vn_id_of(event)),
                 event);
}

uint64_t vn_end_of_group_turn(const struct vn_context *context, const struct vn_group *group,
                              uint64_t end)
{
    for (uint32_t i = 0; i < group->n_in; i++) {
        const struct vn_channel *channel = &context->channels[group->in[i]];
        uint64_t arrival = context->order.clock[channel->from] + channel->delay;
        if (arrival < end) end = arrival;
    }
    return end;
}

void vn_group_take_in(struct vn_context *context, const struct vn_group *group)
{
    for (uint32_t i = 0; i < group->n_in; i++) {
        struct vn_channel *channel = &context->channels[group->in[i]];
        if (channel->next_arrival == VN_NEVER) continue;
        vn_share(context, channel->to,
                 vn_event_of(channel->next_arrival, VN_EV_ARRIVAL, group->in[i], 0));
        channel->next_arrival = VN_NEVER;
    }
}

bool vn_group_turn(struct vn_context *context, struct vn_group *group)
{
    enum { MOST = 1 << 16 }; /* so that the caller can look at the wall clock */
    /* At a barrier Python may schedule for the moment that is just over. */
    VN_ASSERT(context->order.next_event[group->first] + 1 >= context->order.clock[group->first]);
    uint64_t end = context->turns.end, most = context->events_done + MOST, next = VN_NEVER;
    vn_group_take_in(context, group);
    while (!context->failed) {
        next = vn_shared_first(context, &group->queue).time;
        if (next >= end || context->events_done == most || context->turns.has_question) break;
        vn_run_shared(context, &group->queue);
    }
    VN_ASSERT(context->failed || next == VN_NEVER ||
              next + 1 >= context->order.clock[group->first]);
    context->order.next_event[group->first] = next;
    if (next < end) context->turns.end = next;
    return !context->failed && !context->turns.has_question;
}

/* ---- groups ---- */

/* The first node of those that `of` says are joined to this one. */
static uint32_t root(uint32_t *of, uint32_t node)
{
    while (of[node] != node) node = of[node] = of[of[node]];
    return node;
}

static void join(uint32_t *of, uint32_t a, uint32_t b)
{
    a = root(of, a);
    b = root(of, b);
    if (a < b) of[b] = a;
    else of[a] = b;
}

/* What has been scheduled at the node so far is its group's. */
static void move_events(struct vn_context *context, struct vn_node *node)
{
    static const struct vn_event none = {VN_NEVER, 0};
    context->order.next_event[node->number] = VN_NEVER;
    for (uint32_t i = 0; i < node->others.n; i++)
        vn_share(context, node->number, node->others.events[i]);
    node->others.n = 0;
    vn_tournament_set(&node->events, 0, none);
    for (uint32_t slot = 1; slot < node->events.n; slot++) {
        struct vn_event event = node->events.at[node->events.n + slot];
        if (event.time != VN_NEVER) vn_share(context, node->number, event);
        vn_tournament_set(&node->events, slot, none);
    }
}

static bool add_to_group(struct vn_context *context, uint32_t first, struct vn_node *node)
{
    struct vn_order *order = &context->order;
    if (order->groups == NULL) order->groups = calloc(context->n_nodes, sizeof(struct vn_group *));
    if (order->groups == NULL) return false;
    order->shared = true;
    if (order->groups[first] == NULL) {
        order->groups[first] = calloc(1, sizeof(struct vn_group));
        if (order->groups[first] == NULL) return false;
        order->groups[first]->first = first;
        move_events(context, &context->nodes[first]);
    }
    order->groups[node->number] = order->groups[first];
    move_events(context, node);
    return true;
}

static bool add_inbound(struct vn_group *group, uint32_t channel)
{
    if ((group->n_in & (group->n_in - 1)) == 0) {
        uint32_t *in = realloc(group->in, (group->n_in == 0 ? 1 : 2 * group->n_in) * sizeof *in);
        if (in == NULL) return false;
        group->in = in;
    }
    group->in[group->n_in++] = channel;
    return true;
}

bool vn_groups_init(struct vn_context *context)
{
    /* picoseconds: the caller looks at the wall clock between two barriers */
    enum { LONGEST = 100000000 };
    uint32_t *of = malloc((context->n_nodes + 1) * sizeof *of);
    bool ok = of != NULL;
    for (uint32_t i = 0; ok && i < context->n_nodes; i++) of[i] = i;
    for (uint32_t i = 0; ok && i < context->n_links; i++) {
        if (context->channels[i].inside)
            join(of, context->channels[i].from, context->channels[i].to);
    }
    for (uint32_t i = 0; ok && i < context->n_nodes; i++) {
        if (root(of, i) != i) ok = add_to_group(context, root(of, i), &context->nodes[i]);
    }
    context->order.lookahead = LONGEST;
    for (uint32_t i = 0; ok && i < context->n_links; i++) {
        struct vn_channel *channel = &context->channels[i];
        struct vn_group *group = vn_group_of(context, channel->to);
        channel->from = root(of, channel->from);
        channel->inside = group != NULL && channel->from == root(of, channel->to);
        if (channel->inside) continue;
        if (channel->delay < context->order.lookahead) context->order.lookahead = channel->delay;
        if (group != NULL) ok = add_inbound(group, i);
    }
    free(of);
    if (!ok) vn_fail(context, "out of memory for nodes");
    return !context->failed;
}

void vn_groups_free(const struct vn_context *context)
{
    /* a group's first node comes last */
    for (uint32_t i = context->order.groups != NULL ? context->n_nodes : 0; i-- > 0;) {
        struct vn_group *group = context->order.groups[i];
        if (group == NULL || group->first != i) continue;
        free(group->queue.events);
        free(group->in);
        free(group);
    }
    free(context->order.groups);
}
