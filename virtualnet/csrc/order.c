/* In which order events happen. Nodes meet over links alone: what one sends reaches another after the link's delay at the
 * earliest. So when a node's neighbours have had their turn, nothing can come from them for as long as that, and the node takes
 * all its events until then at one go, while what it touches stays in the caches. What concerns all nodes (a call, a sample)
 * they wait for.
 *
 * One queue for all nodes, strictly in order, is the reference that this is tested against. */
#include <stdlib.h>

#include "prefetch.h"

static inline void dispatch(struct vn_net *net, struct vn_event event)
{
    uint32_t id = vn_id_of(event);
    switch (vn_kind_of(event)) {
    case VN_EV_START: vn_nic_start(net, id); break;
    case VN_EV_NIC: vn_nic_event(net, id); break;
    case VN_EV_PORT:
        net->links[id].pending = false;
        vn_port_serve(net, &net->links[id], id);
        break;
    case VN_EV_WINDOW: vn_window_event(net, id); break;
    case VN_EV_TIMER:
        if (net->flows[id].timer == net->now && net->flows[id].ended == VN_NEVER) {
            net->flows[id].timer = VN_NEVER;
            vn_call_back(net, &(struct vn_callback){.method = VN_ON_TIMER, .flow = id});
        }
        break;
    case VN_EV_ARRIVAL:
        if (net->sides[id].n > 1) vn_at(net, vn_sent_at(&net->sides[id], 1)->due, VN_EV_ARRIVAL, id);
        vn_arrival(net, id, vn_sent_at(&net->sides[id], 0)->packet);
        break;
    case VN_EV_PFC: vn_pfc_effect(net, id); break;
    case VN_EV_EXPIRY: vn_pfc_expiry(net, id / VN_CLASSES, id % VN_CLASSES); break;
    case VN_EV_REFRESH: vn_pfc_refresh(net, id / VN_CLASSES, id % VN_CLASSES); break;
    case VN_EV_CALL:
        net->called = true;
        net->exchange.flow = id;
        break;
    case VN_EV_SAMPLE: vn_sample(net, id); break;
    }
}

static inline __attribute__((always_inline)) void begin(struct vn_net *net, uint32_t place, struct vn_event event)
{
    uint64_t what = event.time ^ event.key << 8;
    net->now = event.time;
    net->events_done++;
    if (place != VN_NONE) vn_note(&net->nodes[place], what);
    else net->digest = vn_mixed(net->digest, what);
}

static inline __attribute__((always_inline)) void happen(struct vn_net *net, uint32_t place, struct vn_event event)
{
    begin(net, place, event);
    dispatch(net, event);
}

static bool finished(const struct vn_net *net) { return net->exchange.finish && net->unfinished == 0; }

static enum vn_reason until(struct vn_net *net)
{
    if (net->now < net->exchange.until_ps && net->exchange.until_ps != VN_NEVER) net->now = net->exchange.until_ps;
    return VN_UNTIL;
}

/* Whether Python has a call to make. */
static bool called(struct vn_net *net)
{
    bool was = net->called;
    net->called = false;
    return was;
}

/* ---- one queue ---- */

/* Another event took its place: what the NIC has to do came to be due earlier. */
static bool replaced(const struct vn_net *net, struct vn_event event)
{
    return vn_kind_of(event) == VN_EV_NIC && net->nodes[net->links[vn_id_of(event)].node].scheduled != event.time;
}

static enum vn_reason run_in_order(struct vn_net *net, uint64_t enough)
{
    while (!net->failed) {
        if (called(net)) return VN_CALL;
        if (finished(net)) return VN_FINISHED;
        if (net->events_done == enough) return VN_BUDGET;
        if (net->schedule.queue.n == 0 || net->schedule.queue.events[0].time > net->exchange.until_ps) return until(net);
        struct vn_event event = vn_pop(&net->schedule.queue);
        if (replaced(net, event)) continue;
        happen(net, vn_place(net, vn_kind_of(event), vn_id_of(event)), event);
    }
    return VN_FAILED;
}

/* ---- each node by itself ---- */

static void next_other(struct vn_node *node)
{
    vn_pop(&node->others);
    if (node->others.n != 0) vn_enter(&node->events, 0, node->others.events[0]);
}

/* The node's first event, which isn't an arrival, happens. Its slot stays open meanwhile: most often another event comes into it. */
static inline void take(struct vn_net *net, uint32_t number)
{
    struct vn_node *node = &net->nodes[number];
    struct vn_tournament *events = &node->events;
    struct vn_event event = events->at[1];
    uint32_t slot = vn_slot_of(event);
    events->at[events->n + slot] = (struct vn_event){VN_NEVER, 0};
    events->open = slot;
    if (slot == 0) next_other(node);
    happen(net, number, event);
    events->open = VN_CLOSED;
    vn_play(events, slot);
}

/* ---- arrivals: each is listed before the turn that it is in ---- */

static bool make_room(struct vn_net *net, uint32_t arrivals)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct vn_coming *list = realloc(net->schedule.lists[i], (arrivals + VN_AHEAD) * sizeof *list);
        if (list == NULL) {
            vn_fail(net, "out of memory for events");
            return false;
        }
        net->schedule.lists[i] = list;
    }
    net->schedule.most_coming = arrivals;
    return true;
}

/* What arrives until the end of the turn at nodes `from` to `to` - 1, in its order. False: the run has failed. */
static bool list_arrivals(struct vn_net *net, uint32_t from, uint32_t to)
{
    const struct vn_side *end = net->nodes[to - 1].sides + net->nodes[to - 1].n_sides;
    uint64_t first = VN_NEVER, last = 0;
    uint32_t n = 0, sides = 0;
    for (struct vn_side *side = net->nodes[from].sides; side < end; side++) {
        uint64_t due = side->arrives;
        if (due >= net->schedule.end) continue;
        if (n + side->n > net->schedule.most_coming && !make_room(net, 2 * (n + side->n))) return false;
        if (due < first) first = due;
        uint32_t number = (uint32_t)(side - net->sides), i = 0;
        do {
            net->schedule.lists[0][n++] = (struct vn_coming){due, number, vn_sent_at(side, i)->packet};
            due = ++i < side->n ? vn_sent_at(side, i)->due : VN_NEVER;
        } while (due < net->schedule.end);
        if (net->schedule.lists[0][n - 1].time > last) last = net->schedule.lists[0][n - 1].time;
        side->arrives = due;
        sides++;
    }
    net->schedule.coming = sides > 1 ? vn_sort(net->schedule.lists[0], net->schedule.lists[1], n, first, last) : net->schedule.lists[0];
    for (uint32_t i = 0; i < VN_AHEAD; i++) net->schedule.coming[n + i] = (struct vn_coming){.time = VN_NEVER};
    return true;
}

static inline bool arrives_before(const struct vn_net *net, struct vn_event event)
{
    return vn_before(vn_event_of(net->schedule.coming->time, VN_EV_ARRIVAL, net->schedule.coming->side, 0), event);
}

static inline void take_arrival(struct vn_net *net)
{
    struct vn_coming coming = *net->schedule.coming++;
    begin(net, net->sides[coming.side].node, vn_event_of(coming.time, VN_EV_ARRIVAL, coming.side, 0));
    vn_arrival(net, coming.side, coming.packet);
}

/* ---- turns ---- */

/* How far the node can go: what its neighbours haven't sent yet arrives later. */
static uint64_t end_of_turn(const struct vn_net *net, uint32_t number)
{
    const struct vn_node *node = &net->nodes[number];
    uint64_t end = net->schedule.limit;
    for (const struct vn_side *side = node->sides; side < node->sides + node->n_sides; side++) {
        uint64_t other = net->schedule.done[side->from] + side->delay;
        if (other < end) end = other;
    }
    return end;
}

static bool open_turn(struct vn_net *net, uint32_t number)
{
    if (net->prefetch.active) vn_prefetch_turns(net);
    if (!list_arrivals(net, number, number + 1)) return false;
    if (net->prefetch.active) vn_prefetch_arrivals(net);
    return true;
}

static void close_turn(struct vn_net *net, uint32_t number)
{
    const struct vn_node *node = &net->nodes[number];
    uint64_t first = node->events.at[1].time;
    for (const struct vn_side *side = node->sides; side < node->sides + node->n_sides; side++) {
        if (side->arrives < first) first = side->arrives;
    }
    net->schedule.first[number] = first;
}

/* False: the run has failed. */
static bool run_turn(struct vn_net *net, uint32_t number)
{
    if (!open_turn(net, number)) return false;
    const struct vn_node *node = &net->nodes[number];
    while (!net->failed) {
        struct vn_event event = node->events.at[1];
        if (arrives_before(net, event)) {
            if (net->prefetch.active) {
                vn_prefetch_packet(net, net->schedule.coming[VN_AHEAD - 1].packet);
                vn_prefetch_piece(net);
            }
            take_arrival(net);
        } else if (event.time < net->schedule.end) {
            take(net, number);
        } else {
            close_turn(net, number);
            return true;
        }
    }
    return false;
}

/* Each node's turn. False: the run has failed. */
static bool run_round(struct vn_net *net)
{
    for (net->schedule.turn = 0; net->schedule.turn < net->n_nodes; net->schedule.turn++) {
        uint32_t number = net->schedule.round[net->schedule.turn];
        net->schedule.end = end_of_turn(net, number);
        if (net->schedule.first[number] < net->schedule.end && !run_turn(net, number)) return false;
        if (net->schedule.end > net->schedule.done[number]) net->schedule.done[number] = net->schedule.end;
    }
    return true;
}

/* ---- all nodes in step, where a run ends with the event with which all flows have arrived ---- */

/* The node that has the first event of all but arrivals; VN_NONE: there is none before the limit. */
static uint32_t first_node(const struct vn_net *net)
{
    uint32_t best = VN_NONE;
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        if (net->nodes[i].events.at[1].time >= net->schedule.limit) continue;
        if (best == VN_NONE || vn_before(net->nodes[i].events.at[1], net->nodes[best].events.at[1])) best = i;
    }
    return best;
}

/* All nodes' events until the limit, in their order, or until all flows have arrived. False: the run has failed. */
static bool run_ordered(struct vn_net *net)
{
    net->schedule.end = net->schedule.limit;
    if (!list_arrivals(net, 0, net->n_nodes)) return false;
    while (!net->failed && !finished(net)) {
        uint32_t node = first_node(net);
        struct vn_event event = node != VN_NONE ? net->nodes[node].events.at[1] : (struct vn_event){VN_NEVER, 0};
        if (arrives_before(net, event)) take_arrival(net);
        else if (node != VN_NONE) take(net, node);
        else break;
    }
    if (net->failed) return false;
    for (; net->schedule.coming->time != VN_NEVER; net->schedule.coming++) { /* those to come are no longer listed */
        struct vn_side *side = &net->sides[net->schedule.coming->side];
        if (net->schedule.coming->time < side->arrives) side->arrives = net->schedule.coming->time;
    }
    if (finished(net)) net->schedule.limit = net->now;
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        close_turn(net, i);
        net->schedule.done[i] = net->schedule.limit;
    }
    return true;
}

/* Whether some flow can't have arrived whole within a link's delay: more of it is missing than is on the last link. A run that
 * ends when all have arrived needs that, for it ends with the event with which they have. */
static bool unfinished(struct vn_net *net)
{
    for (uint32_t i = 0; i < net->n_flows; i++) {
        const struct vn_flow *flow = &net->flows[net->schedule.witness];
        if (flow->packets > flow->received + net->nodes[flow->dst].sides->n) return true;
        net->schedule.witness = (net->schedule.witness + 1) % net->n_flows;
    }
    return false;
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

/* Nodes go until after `last`, and wait for each other there; in steps of a link's delay, in a run that ends when all flows have
 * arrived. */
static void set_limit(struct vn_net *net, uint64_t start, uint64_t last)
{
    uint64_t step = net->schedule.lookahead != 0 ? net->schedule.lookahead : 1;
    bool steps = net->exchange.finish || net->schedule.lookahead == 0;
    net->schedule.limit = steps && last - start >= step ? start + step : last + 1;
    net->schedule.ordered = net->schedule.lookahead == 0 || (net->exchange.finish && !unfinished(net));
}

/* After a round. True: all nodes have come to the limit; there is no need to go as far if it is enough. */
static bool at_limit(struct vn_net *net, uint64_t start, bool enough)
{
    uint64_t furthest = start < net->schedule.limit ? start : net->schedule.limit; /* nothing happens anywhere before `start` */
    bool all = true;
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        if (net->schedule.done[i] < furthest) net->schedule.done[i] = furthest;
    }
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        if (net->schedule.done[i] > furthest) furthest = net->schedule.done[i];
    }
    if (enough) net->schedule.limit = furthest;
    for (uint32_t i = 0; i < net->n_nodes; i++) all &= net->schedule.done[i] == net->schedule.limit;
    return all;
}

static enum vn_reason run_by_node(struct vn_net *net, uint64_t enough)
{
    while (!called(net)) {
        if (!(net->schedule.ordered ? run_ordered(net) : run_round(net))) return VN_FAILED;
        uint64_t start = earliest(net->schedule.first, net->n_nodes);
        net->schedule.ordered = false;
        vn_prefetch_round(net);
        if (!at_limit(net, start, net->events_done >= enough)) continue;
        if (net->now + 1 < net->schedule.limit) net->now = net->schedule.limit - 1;
        if (finished(net)) return VN_FINISHED;
        if (net->events_done >= enough) return VN_BUDGET;
        uint64_t common = net->schedule.queue.n != 0 ? net->schedule.queue.events[0].time : VN_NEVER, next = start < common ? start : common;
        if (next > net->exchange.until_ps || next == VN_NEVER) return until(net);
        if (common < start) happen(net, VN_NONE, vn_pop(&net->schedule.queue));
        else set_limit(net, start, common < net->exchange.until_ps ? common : net->exchange.until_ps);
    }
    return VN_CALL;
}

/* The order of turns: first one half of the nodes, then the other, which are each other's neighbours as far as can be. Then a
 * node's neighbours are a link's delay ahead of it at its turn, and it goes on for two. */
static void order_nodes(struct vn_net *net, uint32_t *queue, uint8_t *half)
{
    for (uint32_t root = 0; root < net->n_nodes; root++) {
        uint32_t head = 0, tail = 0;
        if (half[root] != 0) continue;
        half[root] = 1;
        queue[tail++] = root;
        while (head < tail) {
            const struct vn_node *node = &net->nodes[queue[head]];
            uint8_t other = half[queue[head++]] ^ 3;
            for (uint32_t i = 0; i < node->n_sides; i++) {
                uint32_t neighbour = node->sides[i].from;
                if (half[neighbour] != 0) continue;
                half[neighbour] = other;
                queue[tail++] = neighbour;
            }
        }
    }
    for (uint32_t which = 1, at = 0; which <= 2; which++) {
        for (uint32_t i = 0; i < net->n_nodes; i++) {
            if (half[i] == which) net->schedule.round[at++] = i;
        }
    }
}

bool vn_order_init(struct vn_net *net)
{
    uint32_t n = net->n_nodes, *queue = calloc(n + 1, sizeof *queue);
    uint8_t *half = calloc(n + 1, 1);
    net->schedule.round = calloc(n + 1, sizeof *net->schedule.round);
    net->schedule.done = calloc(n + 1, sizeof *net->schedule.done);
    bool ok = queue != NULL && half != NULL && net->schedule.round != NULL && net->schedule.done != NULL;
    if (ok) order_nodes(net, queue, half);
    else vn_fail(net, "out of memory for nodes");
    free(queue);
    free(half);
    return ok && make_room(net, 256);
}

enum vn_reason vn_run_events(struct vn_net *net)
{
    uint64_t before = net->events_done, budget = net->exchange.budget;
    enum vn_reason reason = net->by_node ? run_by_node(net, before + budget) : run_in_order(net, before + budget);
    uint64_t done = net->events_done - before;
    net->exchange.budget = done < budget ? budget - done : 0;
    return reason;
}
