/* The order of events. With by_node, conservative parallel simulation (Chandy, Misra, Bryant) in one thread: nodes affect each
 * other only through links, so a node may process its events up to the minimum, over its inbound links, of the neighbour's clock
 * plus the link's delay (its lookahead). It does so in one turn, while its state is in the caches; nodes that short links join have
 * one turn together (shared.h). A round gives each a turn; for events that concern all nodes (VN_EV_RETURN, a sample) they stop at
 * a barrier.
 *
 * Without by_node there is one queue for all nodes, strictly in order: the reference in tests. */
#include <stdlib.h>

#include "time/prefetch.h"
#include "time/schedule.h"

bool vn_channel_grow(struct vn_context *context, struct vn_channel *channel)
{
    uint32_t capacity = channel->capacity == 0 ? 8 : 2 * channel->capacity;
    struct vn_in_flight *ring = aligned_alloc(64, capacity * sizeof *ring);
    if (ring == NULL) {
        vn_fail(context, "out of memory for a link");
        return false;
    }
    for (uint32_t i = 0; i < channel->n; i++) ring[i] = *vn_in_flight_at(channel, i);
    free(channel->ring);
    channel->ring = ring;
    channel->capacity = capacity;
    channel->head = 0;
    return true;
}

/* The channel's first frame has arrived. */
VN_ALWAYS void take_arrival(struct vn_context *context, struct vn_channel *channel, uint32_t packet)
{
    VN_ASSERT(channel->n != 0 && vn_in_flight_at(channel, 0)->packet == packet);
    channel->head++;
    channel->n--;
    channel->arrival(context, channel, packet);
}

void vn_arrival_event(struct vn_context *context, uint32_t number)
{
    struct vn_channel *channel = &context->channels[number];
    uint32_t packet = vn_in_flight_at(channel, 0)->packet;
    if (channel->n > 1) vn_at(context, channel->to, vn_in_flight_at(channel, 1)->due, VN_EV_ARRIVAL, number);
    take_arrival(context, channel, packet);
}

uint32_t vn_arrival_node(const struct vn_context *context, uint32_t channel) { return context->channels[channel].to; }

uint32_t vn_no_node(const struct vn_context *context, uint32_t id)
{
    (void)context, (void)id;
    return VN_NONE;
}

void vn_return_event(struct vn_context *context, uint32_t number)
{
    context->order.return_due = true;
    context->exchange.flow = number;
}

static bool finished(const struct vn_context *context) { return context->exchange.finish && context->order.unfinished == 0; }

static enum vn_reason reached_until(struct vn_context *context)
{
    if (context->now < context->exchange.until_ps && context->exchange.until_ps != VN_NEVER)
        context->now = context->exchange.until_ps;
    return VN_UNTIL;
}

/* Whether a VN_EV_RETURN has happened, so that vn_run returns to Python. */
static bool return_due(struct vn_context *context)
{
    bool was = context->order.return_due;
    context->order.return_due = false;
    return was;
}

/* ---- one queue ---- */

static enum vn_reason run_in_order(struct vn_context *context, uint64_t max_events)
{
    while (!context->failed) {
        if (return_due(context)) return VN_RETURN;
        if (finished(context)) return VN_FINISHED;
        if (context->events_done == max_events) return VN_BUDGET;
        uint64_t next = vn_shared_first(context, &context->order.queue).time;
        if (next == VN_NEVER || next > context->exchange.until_ps) return reached_until(context);
        vn_run_shared(context, &context->order.queue);
    }
    return VN_FAILED;
}

/* ---- each node by itself ---- */

static void pop_other(struct vn_node *node)
{
    VN_ASSERT(node->others.n != 0);
    vn_pop(&node->others);
    if (node->others.n != 0) vn_tournament_set(&node->events, 0, node->others.events[0]);
}

/* Processes the node's first event other than arrivals. Its slot stays open: usually the event schedules the next one there. */
static inline void run_node_event(struct vn_context *context, uint32_t number)
{
    struct vn_node *node = &context->nodes[number];
    struct vn_tournament *events = &node->events;
    struct vn_event event = events->at[1];
    uint32_t slot = vn_slot_of(event);
    events->at[events->n + slot] = (struct vn_event){VN_NEVER, 0};
    events->open = slot;
    if (slot == 0) pop_other(node);
    vn_run_event(context, number, event);
    events->open = VN_CLOSED;
    vn_replay(events, slot);
}

/* ---- arrivals: listed and sorted before the turn in which they happen ---- */

static bool grow_arrival_lists(struct vn_context *context, uint32_t arrivals)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct vn_listed *list = realloc(context->order.arrival_lists[i], (arrivals + VN_AHEAD) * sizeof *list);
        if (list == NULL) {
            vn_fail(context, "out of memory for events");
            return false;
        }
        context->order.arrival_lists[i] = list;
    }
    context->order.arrivals_capacity = arrivals;
    return true;
}

/* Lists in order the arrivals at nodes `from` to `to` - 1 until the end of the turn. False: the run has failed. */
static bool list_arrivals(struct vn_context *context, uint32_t from, uint32_t to)
{
    const struct vn_channel *behind = context->nodes[to - 1].in + context->nodes[to - 1].n_in;
    uint64_t first = VN_NEVER, last = 0, end = context->order.turn_end;
    uint32_t n = 0, busy = 0; /* ports with arrivals */
    for (struct vn_channel *channel = context->nodes[from].in; channel < behind; channel++) {
        uint64_t due = channel->next_arrival;
        if (due >= end) continue;
        if (n + channel->n > context->order.arrivals_capacity && !grow_arrival_lists(context, 2 * (n + channel->n))) return false;
        if (due < first) first = due;
        uint32_t number = (uint32_t)(channel - context->channels), i = 0;
        struct vn_listed *next = context->order.arrival_lists[0] + n;
        do {
            *next++ = (struct vn_listed){due, number, vn_in_flight_at(channel, i)->packet};
            due = ++i < channel->n ? vn_in_flight_at(channel, i)->due : VN_NEVER;
        } while (due < end);
        n += i;
        if (next[-1].time > last) last = next[-1].time;
        channel->next_arrival = due;
        busy++;
    }
    struct vn_listed **lists = context->order.arrival_lists;
    context->order.arrivals = busy > 1 ? vn_sort(lists[0], lists[1], n, first, last) : lists[0];
    uint32_t behind_last = context->prefetch.active ? VN_AHEAD : 1; /* what looks ahead finds the end */
    for (uint32_t i = 0; i < behind_last; i++) context->order.arrivals[n + i] = (struct vn_listed){.time = VN_NEVER};
    return true;
}

static inline bool arrives_before(const struct vn_context *context, struct vn_event event)
{
    return vn_before(vn_event_of(context->order.arrivals->time, VN_EV_ARRIVAL, context->order.arrivals->channel, 0), event);
}

static inline void run_arrival(struct vn_context *context)
{
    struct vn_listed next = *context->order.arrivals++;
    struct vn_channel *channel = &context->channels[next.channel];
    VN_ASSERT(next.time < context->order.turn_end && next.time <= context->order.arrivals->time);
    vn_begin_event(context, channel->to, vn_event_of(next.time, VN_EV_ARRIVAL, next.channel, 0));
    take_arrival(context, channel, next.packet);
}

/* ---- turns ---- */

/* How far the node or group may advance: frames that others haven't sent yet arrive later. */
static uint64_t end_of_turn(const struct vn_context *context, uint32_t number)
{
    const struct vn_node *node = &context->nodes[number];
    const struct vn_group *group = vn_group_of(context, number);
    uint64_t end = context->order.barrier;
    if (__builtin_expect(group != NULL, 0)) return vn_end_of_group_turn(context, group, end);
    for (const struct vn_channel *channel = node->in; channel < node->in + node->n_in; channel++) {
        uint64_t other = context->order.clock[channel->from] + channel->delay;
        if (other < end) end = other;
    }
    return end;
}

static bool open_turn(struct vn_context *context, uint32_t number)
{
    if (context->prefetch.active) vn_prefetch_turns(context);
    if (!list_arrivals(context, number, number + 1)) return false;
    if (context->prefetch.active) vn_prefetch_arrivals(context);
    return true;
}

static void close_turn(struct vn_context *context, uint32_t number)
{
    VN_ASSERT(context->nodes[number].events.open == VN_CLOSED && vn_group_of(context, number) == NULL);
    const struct vn_node *node = &context->nodes[number];
    uint64_t first = node->events.at[1].time;
    for (const struct vn_channel *channel = node->in; channel < node->in + node->n_in; channel++) {
        if (channel->next_arrival < first) first = channel->next_arrival;
    }
    context->order.next_event[number] = first;
}

/* False: the run has failed. */
static bool run_turn(struct vn_context *context, uint32_t number)
{
    if (!open_turn(context, number)) return false;
    const struct vn_node *node = &context->nodes[number];
    while (!context->failed) {
        struct vn_event event = node->events.at[1];
        if (arrives_before(context, event)) {
            if (context->prefetch.active) {
                vn_prefetch_packet(context, context->order.arrivals[VN_AHEAD - 1].packet);
                vn_prefetch_next(context);
            }
            run_arrival(context);
        } else if (event.time < context->order.turn_end) {
            run_node_event(context, number);
        } else {
            close_turn(context, number);
            return true;
        }
    }
    return false;
}

/* Gives each node its turn, or the group for which it stands. False: the run has failed. */
static bool run_round(struct vn_context *context)
{
    context->order.rounds++;
    for (context->order.turn = 0; context->order.turn < context->order.turns; context->order.turn++) {
        uint32_t number = context->order.order[context->order.turn];
        context->order.turn_end = end_of_turn(context, number);
        VN_ASSERT(context->order.turn_end >= context->order.clock[number] && context->order.turn_end <= context->order.barrier);
        if (context->order.next_event[number] < context->order.turn_end) {
            struct vn_group *group = vn_group_of(context, number);
            if (!(group != NULL ? vn_group_turn(context, group) : run_turn(context, number))) return false;
        }
        if (context->order.turn_end > context->order.clock[number]) context->order.clock[number] = context->order.turn_end;
    }
    return true;
}

/* ---- all nodes in one order: for the event that completes the last flow and ends a run, and for those that start something at
 * another node ---- */

/* The first event, of a node other than arrivals, or of the group for which it stands. */
static struct vn_event first_event(const struct vn_context *context, uint32_t number)
{
    struct vn_group *group = vn_group_of(context, number);
    return group != NULL ? vn_shared_first(context, &group->queue) : context->nodes[number].events.at[1];
}

/* The node whose first event is the first of all; VN_NONE: there is none before the barrier. */
static uint32_t first_node(const struct vn_context *context, struct vn_event *first)
{
    uint32_t best = VN_NONE;
    *first = (struct vn_event){VN_NEVER, 0};
    for (uint32_t turn = 0; turn < context->order.turns; turn++) {
        struct vn_event event = first_event(context, context->order.order[turn]);
        if (event.time >= context->order.barrier || !vn_before(event, *first)) continue;
        *first = event;
        best = context->order.order[turn];
    }
    return best;
}

/* Processes all nodes' events in order, until the barrier or until all flows have arrived. False: the run has failed. */
static bool run_ordered(struct vn_context *context)
{
    context->order.turn_end = context->order.barrier;
    if (!list_arrivals(context, 0, context->n_nodes)) return false;
    while (!context->failed && !finished(context)) {
        struct vn_event event;
        uint32_t node = first_node(context, &event);
        if (arrives_before(context, event)) run_arrival(context);
        else if (node == VN_NONE) break;
        else if (vn_group_of(context, node) != NULL) vn_run_shared(context, &vn_group_of(context, node)->queue);
        else run_node_event(context, node);
    }
    if (context->failed) return false;
    for (; context->order.arrivals->time != VN_NEVER; context->order.arrivals++) { /* unlists the arrivals that are left */
        struct vn_channel *channel = &context->channels[context->order.arrivals->channel];
        if (context->order.arrivals->time < channel->next_arrival) channel->next_arrival = context->order.arrivals->time;
    }
    if (finished(context)) context->order.barrier = context->now;
    for (uint32_t turn = 0; turn < context->order.turns; turn++) {
        uint32_t i = context->order.order[turn];
        if (vn_group_of(context, i) != NULL) context->order.next_event[i] = first_event(context, i).time;
        else close_turn(context, i);
        context->order.clock[i] = context->order.barrier;
    }
    return true;
}

/* ---- rounds ---- */

static uint64_t earliest(const uint64_t *times, uint32_t n)
{
    uint64_t first = VN_NEVER;
    for (uint32_t i = 0; i < n; i++) {
        if (times[i] < first) first = times[i];
    }
    return first;
}

/* The barrier: after `last`; in a run that ends when all flows have arrived, or in which something waits for other nodes, at most the
 * lookahead after `start`. */
static void set_barrier(struct vn_context *context, uint64_t start, uint64_t last)
{
    struct vn_order *order = &context->order;
    bool finish = context->exchange.finish, waiting = order->waiting != 0;
    order->barrier = (finish || waiting) && last - start >= order->lookahead ? start + order->lookahead : last + 1;
    uint64_t within = order->barrier - start;
    order->ordered =
        (finish && !order->cannot_finish_yet(context, within)) || (waiting && !order->cannot_wake_yet(context, within));
}

/* After a round. True: all nodes are at the barrier. `budget_spent`: the barrier is moved back to the furthest clock. */
static bool at_barrier(struct vn_context *context, uint64_t start, bool budget_spent)
{
    uint64_t furthest = start < context->order.barrier ? start : context->order.barrier; /* no node has an event before `start` */
    bool all = true;
    for (uint32_t i = 0; i < context->n_nodes; i++) {
        if (context->order.clock[i] < furthest) context->order.clock[i] = furthest;
    }
    for (uint32_t i = 0; i < context->n_nodes; i++) {
        if (context->order.clock[i] > furthest) furthest = context->order.clock[i];
    }
    if (budget_spent) context->order.barrier = furthest;
    for (uint32_t i = 0; i < context->n_nodes; i++) all &= context->order.clock[i] == context->order.barrier;
    return all;
}

static enum vn_reason run_by_node(struct vn_context *context, uint64_t max_events)
{
    while (!return_due(context)) {
        if (!(context->order.ordered ? run_ordered(context) : run_round(context))) return VN_FAILED;
        uint64_t start = earliest(context->order.next_event, context->n_nodes);
        context->order.ordered = false;
        vn_prefetch_round(context);
        if (!at_barrier(context, start, context->events_done >= max_events)) continue;
        if (context->now + 1 < context->order.barrier) context->now = context->order.barrier - 1;
        if (finished(context)) return VN_FINISHED;
        if (context->events_done >= max_events) return VN_BUDGET;
        uint64_t common = context->order.queue.n != 0 ? context->order.queue.events[0].time : VN_NEVER;
        uint64_t next = start < common ? start : common;
        if (next > context->exchange.until_ps || next == VN_NEVER) return reached_until(context);
        if (common < start) vn_run_event(context, VN_NONE, vn_pop(&context->order.queue));
        else set_barrier(context, start, common < context->exchange.until_ps ? common : context->exchange.until_ps);
    }
    return VN_RETURN;
}

/* The node that the turn of another waits for by channel i; VN_NONE: it has no more than i. */
static uint32_t neighbour(const struct vn_context *context, uint32_t number, uint32_t i)
{
    const struct vn_group *group = vn_group_of(context, number);
    const struct vn_node *node = &context->nodes[number];
    if (group != NULL) return i < group->n_in ? context->channels[group->in[i]].from : VN_NONE;
    return i < node->n_in ? node->in[i].from : VN_NONE;
}

/* The order of turns: the two parts of the (nearly) bipartite graph, one after the other. At a node's turn its neighbours are then
 * a link's delay ahead of it, and it advances by two delays. */
static void order_nodes(struct vn_context *context, uint32_t *queue, uint8_t *part)
{
    for (uint32_t root = 0; root < context->n_nodes; root++) {
        uint32_t head = 0, tail = 0;
        if (part[root] != 0 || vn_first_of(context, root) != root) continue;
        part[root] = 1;
        queue[tail++] = root;
        while (head < tail) {
            uint32_t node = queue[head++], other;
            for (uint32_t i = 0; (other = neighbour(context, node, i)) != VN_NONE; i++) {
                if (part[other] != 0) continue;
                part[other] = part[node] ^ 3;
                queue[tail++] = other;
            }
        }
    }
    for (uint32_t which = 1; which <= 2; which++) {
        for (uint32_t i = 0; i < context->n_nodes; i++) {
            if (part[i] == which) context->order.order[context->order.turns++] = i;
        }
    }
}

bool vn_order_init(struct vn_context *context)
{
    if (!context->order.by_node) return true;
    uint32_t n = context->n_nodes, *queue = calloc(n + 1, sizeof *queue);
    uint8_t *part = calloc(n + 1, 1);
    context->order.order = calloc(n + 1, sizeof *context->order.order);
    context->order.clock = calloc(n + 1, sizeof *context->order.clock);
    bool ok = queue != NULL && part != NULL && context->order.order != NULL && context->order.clock != NULL;
    if (!ok) vn_fail(context, "out of memory for nodes");
    ok = ok && vn_groups_init(context);
    if (ok) order_nodes(context, queue, part);
    free(queue);
    free(part);
    return ok && grow_arrival_lists(context, 256);
}

void vn_order_free(struct vn_context *context)
{
    struct vn_order *order = &context->order;
    vn_groups_free(context);
    for (uint32_t i = 0; i < 2; i++) free(order->arrival_lists[i]);
    free(order->clock);
    free(order->order);
    free(order->queue.events);
    free(order->next_event);
}

enum vn_reason vn_run_events(struct vn_context *context)
{
    uint64_t before = context->events_done, budget = context->exchange.budget;
    enum vn_reason reason = context->order.by_node ? run_by_node(context, before + budget) : run_in_order(context, before + budget);
    uint64_t done = context->events_done - before;
    context->exchange.budget = done < budget ? budget - done : 0;
    return reason;
}
