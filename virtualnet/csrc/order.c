/* The order of events. With by_node, conservative parallel simulation (Chandy, Misra, Bryant) in one thread: nodes affect each
 * other only through links, so a node may process its events up to the minimum, over its inbound links, of the neighbour's clock
 * plus the link's delay (its lookahead). It does so in one turn, while its state is in the caches. A round gives each node a turn;
 * for events that concern all nodes (VN_EV_RETURN, a sample) they stop at a barrier.
 *
 * Without by_node there is one queue for all nodes, strictly in order: the reference in tests. */
#include <stdlib.h>

#include "prefetch.h"

static inline void dispatch(struct vn_net *net, struct vn_event event)
{
    uint32_t id = vn_id_of(event);
    switch (vn_kind_of(event)) {
    case VN_EV_GENERATE: vn_generate(net, id); break;
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
        if (net->rx_ports[id].n > 1) vn_at(net, vn_in_flight_at(&net->rx_ports[id], 1)->due, VN_EV_ARRIVAL, id);
        vn_arrival(net, id, vn_in_flight_at(&net->rx_ports[id], 0)->packet);
        break;
    case VN_EV_PFC: vn_flow_control_effect(net, id); break;
    case VN_EV_EXPIRY: vn_pfc_expiry(net, id / VN_CLASSES, id % VN_CLASSES); break;
    case VN_EV_REFRESH:
        if (net->links[id / VN_CLASSES].credits) vn_credit_timer(net, id / VN_CLASSES, id % VN_CLASSES);
        else vn_pfc_refresh(net, id / VN_CLASSES, id % VN_CLASSES);
        break;
    case VN_EV_LATE: vn_fault_late(net, id); break;
    case VN_EV_FABRIC: vn_fabric_ready(net, id); break;
    case VN_EV_CROSSED: vn_fabric_crossed(net, id); break;
    case VN_EV_RETURN:
        net->return_due = true;
        net->exchange.flow = id;
        break;
    case VN_EV_SAMPLE: vn_sample(net, id); break;
    }
}

SW_ALWAYS void begin_event(struct vn_net *net, uint32_t place, struct vn_event event)
{
    uint64_t word = event.time ^ event.key << 8;
    net->now = event.time;
    net->events_done++;
    if (place != VN_NONE) vn_digest_note(&net->nodes[place], word);
    else net->digest = vn_digest_mix(net->digest, word);
}

SW_ALWAYS void run_event(struct vn_net *net, uint32_t place, struct vn_event event)
{
    begin_event(net, place, event);
    dispatch(net, event);
}

static bool finished(const struct vn_net *net) { return net->exchange.finish && net->unfinished == 0; }

static enum vn_reason reached_until(struct vn_net *net)
{
    if (net->now < net->exchange.until_ps && net->exchange.until_ps != VN_NEVER) net->now = net->exchange.until_ps;
    return VN_UNTIL;
}

/* Whether a VN_EV_RETURN has happened, so that vn_run returns to Python. */
static bool return_due(struct vn_net *net)
{
    bool was = net->return_due;
    net->return_due = false;
    return was;
}

/* ---- one queue ---- */

/* An earlier event of the NIC has replaced this one. */
static bool replaced(const struct vn_net *net, struct vn_event event)
{
    return vn_kind_of(event) == VN_EV_NIC && net->nodes[net->links[vn_id_of(event)].node].scheduled != event.time;
}

static enum vn_reason run_in_order(struct vn_net *net, uint64_t max_events)
{
    while (!net->failed) {
        if (return_due(net)) return VN_RETURN;
        if (finished(net)) return VN_FINISHED;
        if (net->events_done == max_events) return VN_BUDGET;
        if (net->schedule.queue.n == 0 || net->schedule.queue.events[0].time > net->exchange.until_ps) return reached_until(net);
        struct vn_event event = vn_pop(&net->schedule.queue);
        if (replaced(net, event)) continue;
        run_event(net, vn_node_of(net, vn_kind_of(event), vn_id_of(event)), event);
    }
    return VN_FAILED;
}

/* ---- each node by itself ---- */

static void pop_other(struct vn_node *node)
{
    vn_pop(&node->others);
    if (node->others.n != 0) vn_tournament_set(&node->events, 0, node->others.events[0]);
}

/* Processes the node's first event other than arrivals. Its slot stays open: usually the event schedules the next one there. */
static inline void run_node_event(struct vn_net *net, uint32_t number)
{
    struct vn_node *node = &net->nodes[number];
    struct vn_tournament *events = &node->events;
    struct vn_event event = events->at[1];
    uint32_t slot = vn_slot_of(event);
    events->at[events->n + slot] = (struct vn_event){VN_NEVER, 0};
    events->open = slot;
    if (slot == 0) pop_other(node);
    run_event(net, number, event);
    events->open = VN_CLOSED;
    vn_replay(events, slot);
}

/* ---- arrivals: listed and sorted before the turn in which they happen ---- */

static bool grow_arrival_lists(struct vn_net *net, uint32_t arrivals)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct vn_listed *list = realloc(net->schedule.arrival_lists[i], (arrivals + VN_AHEAD) * sizeof *list);
        if (list == NULL) {
            vn_fail(net, "out of memory for events");
            return false;
        }
        net->schedule.arrival_lists[i] = list;
    }
    net->schedule.arrivals_capacity = arrivals;
    return true;
}

/* Lists in order the arrivals at nodes `from` to `to` - 1 until the end of the turn. False: the run has failed. */
static bool list_arrivals(struct vn_net *net, uint32_t from, uint32_t to)
{
    const struct vn_rx_port *end = net->nodes[to - 1].rx_ports + net->nodes[to - 1].n_ports;
    uint64_t first = VN_NEVER, last = 0;
    uint32_t n = 0, busy = 0; /* ports with arrivals */
    for (struct vn_rx_port *rx = net->nodes[from].rx_ports; rx < end; rx++) {
        uint64_t due = rx->next_arrival;
        if (due >= net->schedule.turn_end) continue;
        if (n + rx->n > net->schedule.arrivals_capacity && !grow_arrival_lists(net, 2 * (n + rx->n))) return false;
        if (due < first) first = due;
        uint32_t number = (uint32_t)(rx - net->rx_ports), i = 0;
        do {
            net->schedule.arrival_lists[0][n++] = (struct vn_listed){due, number, vn_in_flight_at(rx, i)->packet};
            due = ++i < rx->n ? vn_in_flight_at(rx, i)->due : VN_NEVER;
        } while (due < net->schedule.turn_end);
        if (net->schedule.arrival_lists[0][n - 1].time > last) last = net->schedule.arrival_lists[0][n - 1].time;
        rx->next_arrival = due;
        busy++;
    }
    struct vn_listed **lists = net->schedule.arrival_lists;
    net->schedule.arrivals = busy > 1 ? vn_sort(lists[0], lists[1], n, first, last) : lists[0];
    for (uint32_t i = 0; i < VN_AHEAD; i++) net->schedule.arrivals[n + i] = (struct vn_listed){.time = VN_NEVER};
    return true;
}

static inline bool arrives_before(const struct vn_net *net, struct vn_event event)
{
    return vn_before(vn_event_of(net->schedule.arrivals->time, VN_EV_ARRIVAL, net->schedule.arrivals->rx, 0), event);
}

static inline void run_arrival(struct vn_net *net)
{
    struct vn_listed next = *net->schedule.arrivals++;
    begin_event(net, net->rx_ports[next.rx].node, vn_event_of(next.time, VN_EV_ARRIVAL, next.rx, 0));
    vn_arrival(net, next.rx, next.packet);
}

/* ---- turns ---- */

/* How far the node may advance: frames that its neighbours haven't sent yet arrive later. */
static uint64_t end_of_turn(const struct vn_net *net, uint32_t number)
{
    const struct vn_node *node = &net->nodes[number];
    uint64_t end = net->schedule.barrier;
    for (const struct vn_rx_port *rx = node->rx_ports; rx < node->rx_ports + node->n_ports; rx++) {
        uint64_t other = net->schedule.clock[rx->from] + rx->delay;
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
    for (const struct vn_rx_port *rx = node->rx_ports; rx < node->rx_ports + node->n_ports; rx++) {
        if (rx->next_arrival < first) first = rx->next_arrival;
    }
    net->schedule.next_event[number] = first;
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
                vn_prefetch_packet(net, net->schedule.arrivals[VN_AHEAD - 1].packet);
                vn_prefetch_next(net);
            }
            run_arrival(net);
        } else if (event.time < net->schedule.turn_end) {
            run_node_event(net, number);
        } else {
            close_turn(net, number);
            return true;
        }
    }
    return false;
}

/* Gives each node its turn. False: the run has failed. */
static bool run_round(struct vn_net *net)
{
    for (net->schedule.turn = 0; net->schedule.turn < net->n_nodes; net->schedule.turn++) {
        uint32_t number = net->schedule.order[net->schedule.turn];
        net->schedule.turn_end = end_of_turn(net, number);
        if (net->schedule.next_event[number] < net->schedule.turn_end && !run_turn(net, number)) return false;
        if (net->schedule.turn_end > net->schedule.clock[number]) net->schedule.clock[number] = net->schedule.turn_end;
    }
    return true;
}

/* ---- all nodes in one order: for the end of a run that stops with the event that completes the last flow ---- */

/* The node with the first event other than arrivals; VN_NONE: there is none before the barrier. */
static uint32_t first_node(const struct vn_net *net)
{
    uint32_t best = VN_NONE;
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        if (net->nodes[i].events.at[1].time >= net->schedule.barrier) continue;
        if (best == VN_NONE || vn_before(net->nodes[i].events.at[1], net->nodes[best].events.at[1])) best = i;
    }
    return best;
}

/* Processes all nodes' events in order, until the barrier or until all flows have arrived. False: the run has failed. */
static bool run_ordered(struct vn_net *net)
{
    net->schedule.turn_end = net->schedule.barrier;
    if (!list_arrivals(net, 0, net->n_nodes)) return false;
    while (!net->failed && !finished(net)) {
        uint32_t node = first_node(net);
        struct vn_event event = node != VN_NONE ? net->nodes[node].events.at[1] : (struct vn_event){VN_NEVER, 0};
        if (arrives_before(net, event)) run_arrival(net);
        else if (node != VN_NONE) run_node_event(net, node);
        else break;
    }
    if (net->failed) return false;
    for (; net->schedule.arrivals->time != VN_NEVER; net->schedule.arrivals++) { /* unlists the arrivals that are left */
        struct vn_rx_port *rx = &net->rx_ports[net->schedule.arrivals->rx];
        if (net->schedule.arrivals->time < rx->next_arrival) rx->next_arrival = net->schedule.arrivals->time;
    }
    if (finished(net)) net->schedule.barrier = net->now;
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        close_turn(net, i);
        net->schedule.clock[i] = net->schedule.barrier;
    }
    return true;
}

/* Whether some flow can't complete within a link's delay: more of its packets are missing than are in flight on the last link. Then
 * a run that ends when all flows have arrived can't end in this step, which therefore needs no common order of events. */
static bool cannot_finish_yet(struct vn_net *net)
{
    for (uint32_t i = 0; i < net->n_flows; i++) {
        const struct vn_flow *flow = &net->flows[net->schedule.unfinished_hint];
        if (flow->packets > flow->received + net->nodes[flow->dst].rx_ports->n) return true;
        net->schedule.unfinished_hint = (net->schedule.unfinished_hint + 1) % net->n_flows;
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

/* The barrier: after `last`; in a run that ends when all flows have arrived, at most a link's delay after `start`. */
static void set_barrier(struct vn_net *net, uint64_t start, uint64_t last)
{
    uint64_t step = net->schedule.lookahead != 0 ? net->schedule.lookahead : 1;
    bool steps = net->exchange.finish || net->schedule.lookahead == 0;
    net->schedule.barrier = steps && last - start >= step ? start + step : last + 1;
    net->schedule.ordered = net->schedule.lookahead == 0 || (net->exchange.finish && !cannot_finish_yet(net));
}

/* After a round. True: all nodes are at the barrier. `budget_spent`: the barrier is moved back to the furthest clock. */
static bool at_barrier(struct vn_net *net, uint64_t start, bool budget_spent)
{
    uint64_t furthest = start < net->schedule.barrier ? start : net->schedule.barrier; /* no node has an event before `start` */
    bool all = true;
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        if (net->schedule.clock[i] < furthest) net->schedule.clock[i] = furthest;
    }
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        if (net->schedule.clock[i] > furthest) furthest = net->schedule.clock[i];
    }
    if (budget_spent) net->schedule.barrier = furthest;
    for (uint32_t i = 0; i < net->n_nodes; i++) all &= net->schedule.clock[i] == net->schedule.barrier;
    return all;
}

static enum vn_reason run_by_node(struct vn_net *net, uint64_t max_events)
{
    while (!return_due(net)) {
        if (!(net->schedule.ordered ? run_ordered(net) : run_round(net))) return VN_FAILED;
        uint64_t start = earliest(net->schedule.next_event, net->n_nodes);
        net->schedule.ordered = false;
        vn_prefetch_round(net);
        if (!at_barrier(net, start, net->events_done >= max_events)) continue;
        if (net->now + 1 < net->schedule.barrier) net->now = net->schedule.barrier - 1;
        if (finished(net)) return VN_FINISHED;
        if (net->events_done >= max_events) return VN_BUDGET;
        uint64_t common = net->schedule.queue.n != 0 ? net->schedule.queue.events[0].time : VN_NEVER;
        uint64_t next = start < common ? start : common;
        if (next > net->exchange.until_ps || next == VN_NEVER) return reached_until(net);
        if (common < start) run_event(net, VN_NONE, vn_pop(&net->schedule.queue));
        else set_barrier(net, start, common < net->exchange.until_ps ? common : net->exchange.until_ps);
    }
    return VN_RETURN;
}

/* The order of turns: the two parts of the (nearly) bipartite graph, one after the other. At a node's turn its neighbours are then
 * a link's delay ahead of it, and it advances by two delays. */
static void order_nodes(struct vn_net *net, uint32_t *queue, uint8_t *part)
{
    for (uint32_t root = 0; root < net->n_nodes; root++) {
        uint32_t head = 0, tail = 0;
        if (part[root] != 0) continue;
        part[root] = 1;
        queue[tail++] = root;
        while (head < tail) {
            const struct vn_node *node = &net->nodes[queue[head]];
            uint8_t other = part[queue[head++]] ^ 3;
            for (uint32_t i = 0; i < node->n_ports; i++) {
                uint32_t neighbour = node->rx_ports[i].from;
                if (part[neighbour] != 0) continue;
                part[neighbour] = other;
                queue[tail++] = neighbour;
            }
        }
    }
    for (uint32_t which = 1, at = 0; which <= 2; which++) {
        for (uint32_t i = 0; i < net->n_nodes; i++) {
            if (part[i] == which) net->schedule.order[at++] = i;
        }
    }
}

bool vn_order_init(struct vn_net *net)
{
    uint32_t n = net->n_nodes, *queue = calloc(n + 1, sizeof *queue);
    uint8_t *part = calloc(n + 1, 1);
    net->schedule.order = calloc(n + 1, sizeof *net->schedule.order);
    net->schedule.clock = calloc(n + 1, sizeof *net->schedule.clock);
    bool ok = queue != NULL && part != NULL && net->schedule.order != NULL && net->schedule.clock != NULL;
    if (ok) order_nodes(net, queue, part);
    else vn_fail(net, "out of memory for nodes");
    free(queue);
    free(part);
    return ok && grow_arrival_lists(net, 256);
}

enum vn_reason vn_run_events(struct vn_net *net)
{
    uint64_t before = net->events_done, budget = net->exchange.budget;
    enum vn_reason reason = net->by_node ? run_by_node(net, before + budget) : run_in_order(net, before + budget);
    uint64_t done = net->events_done - before;
    net->exchange.budget = done < budget ? budget - done : 0;
    return reason;
}
