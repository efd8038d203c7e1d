/* The order of events. With by_node, conservative parallel simulation (Chandy, Misra, Bryant) in
 * one thread: nodes affect each other only through links, so a node may process its events up to
 * the minimum, over its inbound links, of the neighbour's clock plus the link's delay (its
 * lookahead). It does so in one turn, while its state is in the caches; nodes that short links
 * join have one turn together (shared.h). A round gives each a turn; for events that concern all
 * nodes (VN_EV_RETURN, a sample) they stop at a barrier.
 *
 * Without by_node there is one queue for all nodes, strictly in order: the reference in tests. */
#include <stdlib.h>

#include <string.h>

#include "time/arrivals.h"
#include "time/crew.h"
#include "time/parts.h"
#include "time/phases.h"
#include "time/prefetch.h"

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

/* What all parts of the network have in sum. */
static uint64_t all_events(const struct vn_context *context)
{
    const struct vn_parts *parts = context->order.parts;
    return parts != NULL ? parts->all.events : context->events_done;
}

static bool all_waiting(const struct vn_context *context)
{
    const struct vn_parts *parts = context->order.parts;
    return parts != NULL ? parts->all.waiting != 0 : context->turns.waiting != 0;
}

static bool finished(const struct vn_context *context)
{
    const struct vn_parts *parts = context->order.parts;
    int64_t unfinished = parts != NULL ? parts->all.unfinished : context->turns.unfinished;
    return context->exchange.finish && unfinished == 0;
}

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

/* VN_BUDGET is for a moment that is over: a caller may change the network then, and a run that ends
 * at that time, `until_ps`, has done the same events before. */
static enum vn_reason run_in_order(struct vn_context *context, uint64_t max_events)
{
    while (!context->failed) {
        if (return_due(context)) return VN_RETURN;
        if (finished(context)) return VN_FINISHED;
        uint64_t next = vn_shared_first(context, &context->order.queue).time;
        if (context->events_done >= max_events && next > context->now) return VN_BUDGET;
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

/* Processes the node's first event other than arrivals. Its slot stays open: usually the event
 * schedules the next one there. */
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

/* ---- turns ---- */

/* How far the node or group may advance: frames that others haven't sent yet arrive later. */
static uint64_t end_of_turn(const struct vn_context *context, uint32_t number)
{
    const struct vn_node *node = &context->nodes[number];
    const struct vn_group *group = vn_group_of(context, number);
    uint64_t end = context->turns.barrier;
    if (__builtin_expect(group != NULL, 0)) return vn_end_of_group_turn(context, group, end);
    for (const struct vn_channel *channel = node->in; channel < node->in + node->n_in; channel++) {
        uint64_t arrival = context->order.clock[channel->from] + channel->delay;
        if (arrival < end) end = arrival;
    }
    return end;
}

static bool open_turn(struct vn_context *context, uint32_t number)
{
    if (context->prefetch.active) vn_prefetch_turns(context);
    if (!vn_arrivals_list(context, number, number + 1)) return false;
    if (context->prefetch.active) vn_prefetch_arrivals(context);
    return true;
}

static void close_turn(struct vn_context *context, uint32_t number)
{
    VN_ASSERT(context->nodes[number].events.open == VN_CLOSED &&
              vn_group_of(context, number) == NULL);
    const struct vn_node *node = &context->nodes[number];
    uint64_t first = node->events.at[1].time;
    for (const struct vn_channel *channel = node->in; channel < node->in + node->n_in; channel++) {
        if (channel->next_arrival < first) first = channel->next_arrival;
    }
    context->order.next_event[number] = first;
}

/* False: the run has failed, or an event asks. */
static bool run_turn(struct vn_context *context, uint32_t number)
{
    if (!open_turn(context, number)) return false;
    const struct vn_node *node = &context->nodes[number];
    while (!context->failed) {
        struct vn_event event = node->events.at[1];
        if (vn_arrives_before(context, event)) {
            if (context->prefetch.active) {
                vn_prefetch_packet(context, context->turns.arrivals[VN_AHEAD - 1].packet);
                vn_prefetch_next(context);
            }
            vn_run_arrival(context);
        } else if (event.time < context->turns.end) {
            run_node_event(context, number);
        } else {
            close_turn(context, number);
            return true;
        }
        if (__builtin_expect(context->turns.has_question, 0)) break;
    }
    if (context->failed) return false;
    vn_arrivals_unlist(context);
    close_turn(context, number);
    return false;
}

void vn_turn_failed(struct vn_context *context, uint32_t number)
{
    struct vn_fault *fault = &context->turns.fault;
    void *held = context->raised ? context->order.hold(context) : NULL;
    /* VN_NONE is the last */
    bool lost = context->raised && held == NULL, first = number < fault->node;
    context->failed = context->raised = false;
    void *dropped = first ? fault->held : held;
    if (dropped != NULL) context->order.release(context, dropped, false);
    if (!first) return;
    *fault = (struct vn_fault){.node = number, .now = context->now, .held = held};
    if (lost)
        snprintf(fault->error, sizeof fault->error,
                 "out of memory for an error that an algorithm raised");
    else memcpy(fault->error, context->error, sizeof fault->error);
}

void vn_run_turns(struct vn_context *context)
{
    struct vn_turns *turns = &context->turns;
    for (; turns->turn < turns->n; turns->turn++) {
        uint32_t number = turns->order[turns->turn];
        struct vn_group *group = vn_group_of(context, number);
        turns->end = end_of_turn(context, number);
        VN_ASSERT(turns->end >= context->order.clock[number] && turns->end <= turns->barrier);
        if (context->order.next_event[number] < turns->end &&
            !(group != NULL ? vn_group_turn(context, group) : run_turn(context, number))) {
            if (context->failed) vn_turn_failed(context, number);
            turns->has_question = false;
        } else if (turns->end > context->order.clock[number]) {
            context->order.clock[number] = turns->end;
        }
    }
}

/* ---- all nodes in one order: for the event that completes the last flow and ends a run, and for
 * those that start something at another node ---- */

/* The first event, of a node other than arrivals, or of the group for which it stands. */
static struct vn_event first_event(const struct vn_context *context, uint32_t number)
{
    struct vn_group *group = vn_group_of(context, number);
    return group != NULL ? vn_shared_first(context, &group->queue)
                         : context->nodes[number].events.at[1];
}

/* The node whose first event is the first of all; VN_NONE: there is none before the barrier. */
static uint32_t first_node(const struct vn_context *context, struct vn_event *first)
{
    uint32_t best = VN_NONE;
    *first = (struct vn_event){VN_NEVER, 0};
    for (uint32_t turn = 0; turn < context->order.n_turns; turn++) {
        struct vn_event event = first_event(context, context->order.turns[turn]);
        if (event.time >= context->turns.barrier || !vn_before(event, *first)) continue;
        *first = event;
        best = context->order.turns[turn];
    }
    return best;
}

/* Groups schedule what others have sent to them. */
static void take_in(struct vn_context *context)
{
    for (uint32_t turn = 0; turn < context->order.n_turns; turn++) {
        const struct vn_group *group = vn_group_of(context, context->order.turns[turn]);
        if (group != NULL) vn_group_take_in(context, group);
    }
}

/* Processes the first event of all, if it comes before `stop`. False: none does. */
static bool run_first(struct vn_context *context, struct vn_event stop, struct vn_event *event)
{
    uint32_t node = first_node(context, event);
    bool arrives = vn_arrives_before(context, *event);
    if (arrives)
        *event = vn_event_of(context->turns.arrivals->time, VN_EV_ARRIVAL,
                             context->turns.arrivals->channel, 0);
    if ((!arrives && node == VN_NONE) || !vn_before(*event, stop)) return false;
    if (arrives) vn_run_arrival(context);
    else if (vn_group_of(context, node) != NULL)
        vn_run_shared(context, &vn_group_of(context, node)->queue);
    else run_node_event(context, node);
    return true;
}

/* The event that ends the run, of all parts'; VN_NEVER: none does before the barrier, which is at
 * most the lookahead away: no part's events matter to another's before. */
static struct vn_event run_to_finish(struct vn_context *context)
{
    static const struct vn_event never = {VN_NEVER, 0};
    bool finish = context->exchange.finish;
    struct vn_event event, last = {0, 0};
    while (!context->failed && !(finish && context->turns.unfinished == 0)) {
        if (run_first(context, never, &event)) last = event;
        else break;
    }
    if (!finish) return never;
    if (context->order.parts == NULL) return context->turns.unfinished == 0 ? last : never;
    if (context->turns.unfinished != 0 && !context->failed) last = never;
    struct vn_event last_here = last;
    last = vn_parts_last(context, last_here);
    /* what the event that ends the run has brought about at its own time comes behind it */
    bool ends = last_here.time == last.time && last_here.key == last.key;
    while (!context->failed && !ends && run_first(context, last, &event)) continue;
    return last;
}

/* Processes all nodes' events in order, until the barrier or until all flows have arrived. False:
 * the run has failed. */
static bool run_ordered(struct vn_context *context)
{
    context->turns.end = context->turns.barrier;
    take_in(context);
    if (!vn_arrivals_list(context, 0, context->n_nodes)) return false;
    struct vn_event last = run_to_finish(context);
    if (context->failed) return context->order.parts != NULL && vn_parts_exchange(context, VN_NONE);
    vn_arrivals_unlist(context);
    if (last.time != VN_NEVER) context->turns.barrier = context->now = last.time;
    take_in(context);
    for (uint32_t turn = 0; turn < context->order.n_turns; turn++) {
        uint32_t i = context->order.turns[turn];
        if (vn_group_of(context, i) != NULL)
            context->order.next_event[i] = first_event(context, i).time;
        else close_turn(context, i);
        context->order.clock[i] = context->turns.barrier;
    }
    return context->order.parts == NULL || vn_parts_exchange(context, VN_NONE);
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

/* How many times the lookahead a round covers where it is known that the run can't end in it. */
enum { FAR = 16 };

/* Sets a barrier further away than the lookahead, where what a run with `finish` waits for needs
 * more time than that: turns are as long as in a run without. False: it may need less. It is looked
 * at again FAR rounds later, as that may take a look at all flows. */
static bool set_far_barrier(struct vn_context *context, uint64_t start, uint64_t last)
{
    struct vn_order *order = &context->order;
    if (order->near_rounds != 0) {
        order->near_rounds--;
        return false;
    }
    uint64_t barrier =
        (last - start) / FAR >= order->lookahead ? start + FAR * order->lookahead : last + 1;
    context->turns.barrier = barrier;
    if (vn_parts_any(context, order->cannot_finish_yet(context, barrier - start))) return true;
    order->near_rounds = FAR;
    return false;
}

/* Sets the barrier: after `last`; in a run that ends when all flows have arrived, or in which
 * something waits for other nodes, at most the lookahead after `start`, if less is known. */
static void set_barrier(struct vn_context *context, uint64_t start, uint64_t last)
{
    struct vn_order *order = &context->order;
    bool finish = context->exchange.finish, waiting = all_waiting(context);
    if (finish && !waiting && set_far_barrier(context, start, last)) return;
    uint64_t barrier = (finish || waiting) && last - start >= order->lookahead
                           ? start + order->lookahead
                           : last + 1;
    uint64_t within = barrier - start;
    context->turns.barrier = barrier;
    enum { UNFINISHED = 1, WAKES = 2 };
    uint64_t flags = 0;
    if (finish && order->cannot_finish_yet(context, within)) flags |= UNFINISHED;
    if (waiting && !order->cannot_wake_yet(context, within)) flags |= WAKES;
    if (finish || waiting) flags = vn_parts_any(context, flags);
    order->ordered = (finish && !(flags & UNFINISHED)) || flags & WAKES;
}

/* After a round. True: all nodes are at the barrier. `budget_spent`: the barrier is moved back to
 * the furthest clock. */
static bool at_barrier(struct vn_context *context, uint64_t start, bool budget_spent)
{
    /* no node has an event before `start` */
    uint64_t furthest = start < context->turns.barrier ? start : context->turns.barrier;
    bool all = true;
    for (uint32_t i = 0; i < context->n_nodes; i++) {
        if (context->order.clock[i] < furthest) context->order.clock[i] = furthest;
    }
    for (uint32_t i = 0; i < context->n_nodes; i++) {
        if (context->order.clock[i] > furthest) furthest = context->order.clock[i];
    }
    const struct vn_parts *parts = context->order.parts;
    if (parts != NULL && parts->all.furthest > furthest) furthest = parts->all.furthest;
    if (budget_spent) context->turns.barrier = furthest;
    for (uint32_t i = 0; i < context->n_nodes; i++)
        all &= context->order.clock[i] == context->turns.barrier;
    return all;
}

static enum vn_reason run_by_node(struct vn_context *context, uint64_t max_events)
{
    while (!return_due(context)) {
        if (!(context->order.ordered ? run_ordered(context) : vn_crew_round(context)))
            return VN_FAILED;
        uint64_t start = context->order.parts != NULL
                             ? context->order.parts->all.next
                             : earliest(context->order.next_event, context->n_nodes);
        context->order.ordered = false;
        vn_prefetch_round(context);
        if (!at_barrier(context, start, all_events(context) >= max_events)) continue;
        if (context->now + 1 < context->turns.barrier) context->now = context->turns.barrier - 1;
        if (finished(context)) return VN_FINISHED;
        uint64_t common =
            context->order.queue.n != 0 ? context->order.queue.events[0].time : VN_NEVER;
        /* Events of all nodes come behind the nodes' own of their time, or before them. */
        bool moment_over = context->now < context->turns.barrier && common > context->now;
        if (all_events(context) >= max_events && moment_over) return VN_BUDGET;
        uint64_t next = start < common ? start : common;
        if (next > context->exchange.until_ps || next == VN_NEVER) return reached_until(context);
        if (common < start) {
            vn_run_event(context, VN_NONE, vn_pop(&context->order.queue));
            /* all parts have it, and it is counted once */
            if (context->order.parts != NULL && context->order.parts->number != 0)
                context->events_done--;
        } else {
            set_barrier(context, start,
                        common < context->exchange.until_ps ? common : context->exchange.until_ps);
            if (context->failed) return VN_FAILED;
        }
    }
    return VN_RETURN;
}

bool vn_turns_init(struct vn_context *context, const uint32_t *owners)
{
    struct vn_turns *turns = &context->turns;
    uint32_t n = context->order.n_turns, at = 0;
    turns->nodes = calloc(n + 1, sizeof *turns->nodes);
    turns->again = calloc(n + 1, sizeof *turns->again);
    turns->phase_end = calloc(context->order.n_phases + 1, sizeof *turns->phase_end);
    turns->fault.node = VN_NONE;
    if (turns->nodes == NULL || turns->again == NULL || turns->phase_end == NULL) {
        vn_fail(context, "out of memory for nodes");
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number = context->order.turns[i];
        if (owners != NULL && owners[number] != context->number) continue;
        turns->nodes[at++] = number;
        turns->phase_end[context->order.phase[number]] = at;
    }
    /* it may have no node in one */
    for (uint32_t phase = 1; phase < context->order.n_phases; phase++) {
        if (turns->phase_end[phase] == 0) turns->phase_end[phase] = turns->phase_end[phase - 1];
    }
    return vn_arrivals_grow(context, 256);
}

void vn_turns_free(struct vn_turns *turns)
{
    for (uint32_t i = 0; i < 2; i++) free(turns->arrival_lists[i]);
    free(turns->nodes);
    free(turns->again);
    free(turns->phase_end);
    free(turns->questions);
}

bool vn_order_init(struct vn_context *context, uint32_t threads)
{
    if (!context->order.by_node) {
        for (uint32_t i = 0; i < context->n_links; i++) context->channels[i].inside = true;
        return true;
    }
    context->order.clock = calloc(context->n_nodes + 1, sizeof *context->order.clock);
    if (context->order.clock == NULL) vn_fail(context, "out of memory for nodes");
    return !context->failed && vn_groups_init(context) && vn_phases_init(context) &&
           vn_parts_init(context) && vn_crew_init(context, threads);
}

void vn_order_free(struct vn_context *context)
{
    struct vn_order *order = &context->order;
    vn_crew_free(context);
    vn_parts_free(context);
    vn_groups_free(context);
    free(order->clock);
    free(order->turns);
    free(order->phase);
    free(order->queue.events);
    free(order->next_event);
}

enum vn_reason vn_run_events(struct vn_context *context)
{
    vn_crew_share(context);
    if (context->failed) return VN_FAILED;
    uint64_t before = all_events(context), budget = context->exchange.budget;
    enum vn_reason reason = context->order.by_node ? run_by_node(context, before + budget)
                                                   : run_in_order(context, before + budget);
    uint64_t done = all_events(context) - before;
    context->exchange.budget = done < budget ? budget - done : 0;
    return reason;
}
