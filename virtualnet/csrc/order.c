/* In which order events happen. Nodes meet over links alone: what one sends reaches another after the link's delay at the
 * earliest. So in a stretch of time as long as the shortest delay no node can influence another, and each takes its events of
 * it at one go, while all that it touches stays in the caches. What concerns all nodes (a call, a sample) ends a stretch.
 *
 * One queue for all nodes, strictly in order, is the reference that this is tested against. */
#include "net.h"

static inline void dispatch(struct vn_net *net, struct vn_event event)
{
    uint32_t id = vn_id_of(event);
    switch (vn_kind_of(event)) {
    case VN_EV_START: vn_nic_start(net, id); break;
    case VN_EV_NIC: vn_nic_event(net, id); break;
    case VN_EV_PORT:
        net->links[id].pending = false;
        vn_port_serve(net, id);
        break;
    case VN_EV_WINDOW: vn_window_event(net, id); break;
    case VN_EV_TIMER:
        if (net->flows[id].timer == net->now && net->flows[id].ended == VN_NEVER) {
            net->flows[id].timer = VN_NEVER;
            vn_ask(net, VN_TIMER, id);
        }
        break;
    case VN_EV_ARRIVAL: vn_arrival(net, id); break;
    case VN_EV_PFC: vn_pfc_effect(net, id); break;
    case VN_EV_EXPIRY: vn_pfc_expiry(net, id / VN_CLASSES, id % VN_CLASSES); break;
    case VN_EV_REFRESH: vn_pfc_refresh(net, id / VN_CLASSES, id % VN_CLASSES); break;
    case VN_EV_CALL: vn_ask(net, VN_CALL, id); break;
    case VN_EV_SAMPLE: vn_sample(net, id); break;
    }
}

static inline __attribute__((always_inline)) void happen(struct vn_net *net, uint32_t place, struct vn_event event)
{
    uint64_t what = event.time ^ event.key << 8;
    net->now = event.time;
    net->events_done++;
    if (place != VN_NONE) vn_note(net, place, what);
    else net->digest = vn_mixed(net->digest, what);
    dispatch(net, event);
}

static bool stopped(const struct vn_net *net) { return net->reason != VN_FAILED || net->failed; }

static bool finished(const struct vn_net *net) { return net->exchange.finish && net->unfinished == 0; }

static enum vn_reason until(struct vn_net *net)
{
    if (net->now < net->exchange.until_ps && net->exchange.until_ps != VN_NEVER) net->now = net->exchange.until_ps;
    return VN_UNTIL;
}

/* ---- one queue ---- */

/* Another event took its place: what the NIC has to do came to be due earlier. */
static bool replaced(const struct vn_net *net, struct vn_event event)
{
    return vn_kind_of(event) == VN_EV_NIC && net->nodes[net->links[vn_id_of(event)].node].scheduled != event.time;
}

static enum vn_reason run_in_order(struct vn_net *net, uint64_t enough)
{
    while (!stopped(net)) {
        if (finished(net)) return VN_FINISHED;
        if (net->events_done == enough) return VN_BUDGET;
        if (net->queue.n == 0 || net->queue.events[0].time > net->exchange.until_ps) return until(net);
        struct vn_event event = vn_pop(&net->queue);
        if (replaced(net, event)) continue;
        happen(net, vn_place(net, vn_kind_of(event), vn_id_of(event)), event);
    }
    return net->reason;
}

/* ---- a queue a node ---- */

static void next_other(struct vn_node *node)
{
    vn_pop(&node->others);
    if (node->others.n != 0) vn_enter(&node->events, 0, node->others.events[0]);
}

/* The first event happens. Its slot stays open meanwhile: most often another event comes into it. */
static inline void take(struct vn_net *net, uint32_t number)
{
    struct vn_node *node = &net->nodes[number];
    struct vn_tournament *events = &node->events;
    struct vn_event event = events->at[1];
    uint32_t slot = vn_slot_of(event);
    events->at[events->n + slot].time = VN_NEVER;
    events->open = slot;
    if (slot == 0) next_other(node);
    happen(net, number, event);
    events->open = VN_CLOSED;
    vn_play(events, slot);
}

static uint64_t first_time(const struct vn_node *node) { return node->events.at[1].time; }

/* The node that has the first event of all; VN_NONE: there is none before `end`. */
static uint32_t first_node(const struct vn_net *net, uint64_t end)
{
    uint32_t best = VN_NONE;
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        if (net->first[i] >= end) continue;
        if (best == VN_NONE || vn_before(net->nodes[i].events.at[1], net->nodes[best].events.at[1])) best = i;
    }
    return best;
}

/* What a node's first events touch is brought near before its turn, step by step as one thing names the next. */
static void look_ahead(const struct vn_net *net, uint32_t number, uint32_t step)
{
    if (number >= net->n_nodes || net->first[number] >= net->end) return;
    const struct vn_tournament *events = &net->nodes[number].events;
    if (step == 0) __builtin_prefetch(events);
    for (uint32_t i = 0; step == 1 && i < events->n; i += 4) __builtin_prefetch(&events->at[events->n + i]);
    for (uint32_t i = events->n; step > 1 && i < 2 * events->n; i++) {
        if (events->at[i].time >= net->end) continue;
        enum vn_kind kind = vn_kind_of(events->at[i]);
        if (kind != VN_EV_ARRIVAL && kind != VN_EV_PORT && kind != VN_EV_NIC) continue;
        const struct vn_link *link = &net->links[vn_id_of(events->at[i])];
        if (step == 2) {
            __builtin_prefetch(link, 1);
            __builtin_prefetch(&link->packets, 1);
        } else if (kind == VN_EV_ARRIVAL) {
            if (step == 3) vn_fetch_packet(net, link->wire.head);
            else if (link->wire.packets > 1) vn_fetch_packet(net, vn_packet_at(net, link->wire.head)->next);
        } else if (kind == VN_EV_PORT && link->waiting != 0) {
            const struct vn_class *class = &link->classes[31 - __builtin_clz(link->waiting)];
            if (step == 3) __builtin_prefetch(class, 1);
            else vn_fetch_packet(net, class->queue.head);
        }
    }
}

/* Goes on with the stretch; true: it is over. */
static bool run_stretch(struct vn_net *net)
{
    if (net->ordered) {
        uint32_t number;
        while (!stopped(net) && !finished(net) && (number = first_node(net, net->end)) != VN_NONE) {
            take(net, number);
            net->first[number] = first_time(&net->nodes[number]);
        }
        return !stopped(net) && !finished(net);
    }
    bool large = vn_large(net);
    for (; net->turn < net->n_nodes; net->turn++) {
        if (net->first[net->turn] >= net->end) continue;
        for (uint32_t step = 0; large && step < 5; step++) look_ahead(net, net->turn + 5 - step, step);
        const struct vn_node *node = &net->nodes[net->turn];
        while (!stopped(net) && first_time(node) < net->end) take(net, net->turn);
        net->first[net->turn] = first_time(node);
        if (stopped(net)) return false;
    }
    return true;
}

/* Whether some flow can't have arrived whole within a stretch: more of it is missing than is on the last link. A run that ends
 * when all have arrived needs that, for it ends with the event with which they have. */
static bool unfinished(struct vn_net *net)
{
    for (uint32_t i = 0; i < net->n_flows; i++) {
        const struct vn_flow *flow = &net->flows[net->witness];
        uint32_t last_link = net->nodes[flow->dst].link ^ 1;
        if (flow->packets > flow->received + net->links[last_link].wire.packets) return true;
        net->witness = (net->witness + 1) % net->n_flows;
    }
    return false;
}

static void open_stretch(struct vn_net *net, uint64_t start, uint64_t last)
{
    net->end = last - start < net->lookahead ? last + 1 : start + net->lookahead;
    net->ordered = net->lookahead == 0 || (net->exchange.finish && !unfinished(net));
    if (net->lookahead == 0) net->end = start + 1;
    net->turn = 0;
}

static enum vn_reason run_by_node(struct vn_net *net, uint64_t enough)
{
    while (!stopped(net) && run_stretch(net)) {
        if (net->now + 1 < net->end) net->now = net->end - 1;
        if (finished(net)) return VN_FINISHED;
        if (net->events_done >= enough) return VN_BUDGET;
        uint64_t start = VN_NEVER, common = net->queue.n != 0 ? net->queue.events[0].time : VN_NEVER;
        for (uint32_t i = 0; i < net->n_nodes; i++) {
            if (net->first[i] < start) start = net->first[i];
        }
        uint64_t next = start < common ? start : common;
        if (next > net->exchange.until_ps || next == VN_NEVER) return until(net);
        if (common < start) happen(net, VN_NONE, vn_pop(&net->queue));
        else open_stretch(net, start, common < net->exchange.until_ps ? common : net->exchange.until_ps);
    }
    return finished(net) && !stopped(net) ? VN_FINISHED : net->reason;
}

enum vn_reason vn_run_events(struct vn_net *net)
{
    uint64_t before = net->events_done, budget = net->exchange.budget;
    enum vn_reason reason = net->by_node ? run_by_node(net, before + budget) : run_in_order(net, before + budget);
    uint64_t done = net->events_done - before;
    net->exchange.budget = done < budget ? budget - done : 0;
    return reason;
}
