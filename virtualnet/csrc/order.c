/* In which order events happen. Nodes meet over links alone: what one sends reaches another after the link's delay at the
 * earliest. So in a stretch of time as long as the shortest delay no node can influence another, and each takes its events of
 * it at one go, while all that it touches stays in the caches. What concerns all nodes (a call, a sample) ends a stretch.
 *
 * One queue for all nodes, strictly in order, is the reference that this is tested against. */
#include "net.h"

static void dispatch(struct vn_net *net, uint64_t key)
{
    uint32_t id = (uint32_t)key;
    switch ((enum vn_kind)(key >> 32)) {
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

static void happen(struct vn_net *net, uint32_t place, struct vn_event event)
{
    uint64_t what = event.time ^ event.key << 20;
    net->now = event.time;
    net->events_done++;
    if (net->exchange.budget != 0) net->exchange.budget--;
    if (place != VN_NONE) vn_note(net, place, what);
    else net->digest = vn_mixed(net->digest, what);
    dispatch(net, event.key);
}

static bool stopped(const struct vn_net *net) { return net->reason != VN_FAILED || net->failed; }

static bool finished(const struct vn_net *net) { return net->exchange.finish && net->unfinished == 0; }

static enum vn_reason until(struct vn_net *net)
{
    if (net->now < net->exchange.until_ps && net->exchange.until_ps != VN_NEVER) net->now = net->exchange.until_ps;
    return VN_UNTIL;
}

/* ---- one queue ---- */

static enum vn_reason run_in_order(struct vn_net *net)
{
    while (!stopped(net)) {
        if (finished(net)) return VN_FINISHED;
        if (net->exchange.budget == 0) return VN_BUDGET;
        if (net->queue.n == 0 || net->queue.events[0].time > net->exchange.until_ps) return until(net);
        struct vn_event event = vn_pop(&net->queue);
        happen(net, vn_place(net, (enum vn_kind)(event.key >> 32), (uint32_t)event.key), event);
    }
    return net->reason;
}

/* ---- a queue a node ---- */

static void take(struct vn_net *net, uint32_t number)
{
    happen(net, number, vn_pop(&net->nodes[number].queue));
}

static void note_first(struct vn_net *net, uint32_t number)
{
    const struct vn_queue *queue = &net->nodes[number].queue;
    net->first[number] = queue->n != 0 ? queue->events[0].time : VN_NEVER;
}

/* The node that has the first event of all; VN_NONE: there is none before `end`. */
static uint32_t first_node(const struct vn_net *net, uint64_t end)
{
    uint32_t best = VN_NONE;
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        if (net->first[i] >= end) continue;
        if (best == VN_NONE || vn_before(net->nodes[i].queue.events[0], net->nodes[best].queue.events[0])) best = i;
    }
    return best;
}

/* What a node's first events touch is brought near before its turn, step by step as one thing names the next. */
static void look_ahead(const struct vn_net *net, uint32_t number, uint32_t step)
{
    if (number >= net->n_nodes || net->first[number] >= net->end) return;
    const struct vn_queue *queue = &net->nodes[number].queue;
    if (step == 0) __builtin_prefetch(queue);
    if (step == 1) __builtin_prefetch(queue->events);
    for (uint32_t i = 0; step > 1 && i < queue->n; i++) {
        if (queue->events[i].time >= net->end) continue;
        uint64_t key = queue->events[i].key;
        enum vn_kind kind = (enum vn_kind)(key >> 32);
        if (kind != VN_EV_ARRIVAL && kind != VN_EV_PORT && kind != VN_EV_NIC) continue;
        const struct vn_link *link = &net->links[(uint32_t)key];
        if (step == 2) {
            __builtin_prefetch(link, 1);
            __builtin_prefetch(&link->packets, 1);
        } else if (kind == VN_EV_ARRIVAL) {
            if (step == 3) vn_fetch_packet(net, link->wire.head);
            else if (link->wire.packets > 1) vn_fetch_packet(net, vn_packet_at(net, link->wire.head)->next);
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
            note_first(net, number);
        }
        return !stopped(net) && !finished(net);
    }
    for (; net->turn < net->n_nodes; net->turn++) {
        if (net->first[net->turn] >= net->end) continue;
        for (uint32_t step = 0; step < 5; step++) look_ahead(net, net->turn + 5 - step, step);
        const struct vn_queue *queue = &net->nodes[net->turn].queue;
        while (!stopped(net) && queue->n != 0 && queue->events[0].time < net->end) take(net, net->turn);
        note_first(net, net->turn);
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

static enum vn_reason run_by_node(struct vn_net *net)
{
    while (!stopped(net) && run_stretch(net)) {
        if (net->now + 1 < net->end) net->now = net->end - 1;
        if (finished(net)) return VN_FINISHED;
        if (net->exchange.budget == 0) return VN_BUDGET;
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
    return net->by_node ? run_by_node(net) : run_in_order(net);
}
