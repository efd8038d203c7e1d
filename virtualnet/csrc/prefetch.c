/* A node is prefetched in four steps, in the four turns before its own, after its vn_node in the turn before these: each step reads
 * its addresses from lines that the one before has fetched. A host's step is done at once. A switch's needs many lines, and the
 * processor drops some of so many at once, so in a switch's turn they are spread over the arrivals, one step of one port with each;
 * a host's turn does all of them at its start. */
#include "scheduler.h"

enum {
    STEPS = 4,
    FLOWS = 4, /* most flows, and events, of a host */
    PACKETS = 16, /* most in flight to a port */
    BEFORE = 32, /* bytes: Python keeps part of an object's header in front of it */
};

static void prefetch_node(const struct vn_node *node)
{
    vn_prefetch(node);
    vn_prefetch(&node->tx_flows);
    vn_prefetch(&node->reg);
}

static void prefetch_ring(const struct vn_net *net, const struct vn_rx_port *rx)
{
    for (uint32_t i = 0; i < rx->n && i < PACKETS; i += 4) vn_prefetch(vn_in_flight_at(rx, i));
    vn_prefetch(&net->links[rx->out_link]);
}

/* The lines from which the NIC makes a frame. */
static void prefetch_sender(const struct vn_flow *flow)
{
    vn_prefetch(&flow->packets);
    vn_prefetch(flow->data);
}

/* Flows that start or whose window ends in the turn (step 1), and the latter's NPs (step 2). */
static void prefetch_others(const struct vn_net *net, const struct vn_node *node, uint32_t step)
{
    for (uint32_t i = 0; i < node->others.n && i < FLOWS; i++) {
        struct vn_event event = node->others.events[i];
        const struct vn_flow *flow = &net->flows[vn_id_of(event)];
        if (event.time >= net->schedule.turn_end) continue;
        if (vn_kind_of(event) == VN_EV_START && step == 1) {
            prefetch_sender(flow);
            vn_prefetch(&flow->start);
        }
        if (vn_kind_of(event) != VN_EV_WINDOW) continue;
        if (step == 1) {
            vn_prefetch(&flow->window_end);
            vn_prefetch(&flow->np);
            vn_prefetch(&flow->grid);
            vn_prefetch(flow->cnp); /* usually, a CNP is sent */
            vn_prefetch(&net->links[node->rx_ports->out_link].control);
        } else if (step == 2) {
            vn_prefetch(flow->np);
            vn_prefetch((const char *)flow->np - BEFORE);
        }
    }
}

static void prefetch_host(const struct vn_net *net, const struct vn_node *node, uint32_t step)
{
    const struct vn_rx_port *rx = node->rx_ports;
    if (step == 0) {
        vn_prefetch(rx);
        vn_prefetch(node->tx_flows);
        vn_prefetch(&node->events.at[node->events.n]);
        vn_prefetch(node->others.events);
        vn_prefetch(&node->starts.events[node->starts.n - (node->starts.n != 0)]);
        return;
    }
    prefetch_others(net, node, step);
    if (step == 1) {
        prefetch_ring(net, rx);
        for (uint32_t i = 0; i < node->n_tx_flows && i < FLOWS; i++) prefetch_sender(&net->flows[node->tx_flows[i].number]);
    } else { /* step 3 repeats the prefetches of step 2 that the processor dropped */
        for (uint32_t i = 0; i < rx->n && i < PACKETS; i++) vn_prefetch_packet(net, vn_in_flight_at(rx, i)->packet);
    }
}

/* Lines i, i + stride, ... of a switch's tables. */
static void prefetch_lines(const struct sw_cache_lines *lines, uint32_t i, uint32_t stride)
{
    for (; i < lines->n; i += stride) vn_prefetch(lines->at[i]);
}

/* Input and output of the switch's port i. */
static void prefetch_port(const struct vn_net *net, const struct vn_node *node, uint32_t step, uint32_t i)
{
    enum { EVENTS = 4, POINTERS = 8 }; /* per cache line */
    const struct vn_rx_port *rx = &node->rx_ports[i];
    if (step == 0) {
        vn_prefetch(rx);
        for (uint32_t at = i * EVENTS; at < 2 * node->events.n; at += node->n_ports * EVENTS) vn_prefetch(&node->events.at[at]);
        return;
    }
    if (step == 1) {
        prefetch_ring(net, rx);
        return;
    }
    const struct vn_link *out = &net->links[rx->out_link], *in = &net->links[rx->out_link ^ 1];
    const struct vn_rx_port *far = &net->rx_ports[out->rx_port];
    if (step == 2) {
        vn_prefetch(&out->classes[out->last_class]);
        vn_prefetch(&in->classes[out->last_class]);
        vn_prefetch(far);
        if (rx->n != 0) vn_prefetch_packet(net, vn_in_flight_at(rx, 0)->packet);
        if (i * POINTERS < node->lines.n) vn_prefetch(&node->lines.at[i * POINTERS]);
        if (i == 0) vn_prefetch(&node->sw->table_generation);
    } else {
        /* A hint: programs of this project index registers by port and class. */
        uint32_t index = (uint32_t)out->port * VN_CLASSES + out->last_class;
        if (index < node->reg.size) vn_prefetch((const char *)node->reg.cells + (size_t)index * node->reg.stride);
        vn_scheduler_prefetch(net, out, out->last_class);
        for (uint32_t more = 0; far->n < far->capacity && more < 8; more += 4) vn_prefetch(vn_in_flight_at(far, far->n + more));
        prefetch_lines(&node->lines, i, node->n_ports);
    }
}

/* The node whose turn comes so many turns later; NULL: there is none, or it has no events. */
static const struct vn_node *node_after(const struct vn_net *net, uint32_t turns)
{
    uint32_t turn = net->schedule.turn + turns;
    bool any = turn < net->n_nodes && net->schedule.next_event[net->schedule.order[turn]] < net->schedule.barrier;
    return any ? &net->nodes[net->schedule.order[turn]] : NULL;
}

void vn_prefetch_next(struct vn_net *net)
{
    if (net->prefetch.cursor == net->prefetch.total) return;
    uint32_t step = net->prefetch.cursor % STEPS, i = net->prefetch.cursor / STEPS;
    const struct vn_node *node = net->prefetch.upcoming[step];
    net->prefetch.cursor++;
    if (node == NULL || i >= node->n_ports) return;
    if (node->host) prefetch_host(net, node, step);
    else prefetch_port(net, node, step, i);
}

void vn_prefetch_turns(struct vn_net *net)
{
    struct vn_node *current = &net->nodes[net->schedule.order[net->schedule.turn]];
    const struct vn_node *last = node_after(net, STEPS + 1);
    while (net->prefetch.cursor < net->prefetch.total) vn_prefetch_next(net); /* the rest of the previous turn's */
    net->prefetch.cursor = net->prefetch.total = 0;
    if (last != NULL) prefetch_node(last);
    for (uint32_t step = 0; step < STEPS; step++) {
        const struct vn_node *node = net->prefetch.upcoming[step] = node_after(net, STEPS - step);
        if (node != NULL && node->n_ports * STEPS > net->prefetch.total) net->prefetch.total = node->n_ports * STEPS;
    }
    while (current->host && net->prefetch.cursor < net->prefetch.total) vn_prefetch_next(net);
    if (current->host || current->table_generation == current->sw->table_generation) return;
    sw_instance_cache_lines(current->instance, &current->lines);
    current->table_generation = current->sw->table_generation;
}

void vn_prefetch_arrivals(const struct vn_net *net)
{
    bool host = net->nodes[net->schedule.order[net->schedule.turn]].host;
    for (const struct vn_listed *next = net->schedule.arrivals; next < net->schedule.arrivals + VN_AHEAD; next++) {
        const struct vn_packet *packet = vn_packet_at(net, next->packet);
        if (!host) {
            vn_prefetch_packet(net, next->packet);
        } else if (next->time != VN_NEVER && packet->flow != VN_NONE) { /* the packet was prefetched, its flow wasn't */
            const struct vn_flow *flow = &net->flows[packet->flow];
            if (packet->data) vn_prefetch(&flow->window_end);
            else vn_prefetch(&flow->ended);
        }
    }
}
