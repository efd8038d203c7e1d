/* A node is prefetched in four steps, a turn each, as one thing points to the next. A host's lines are fetched at one go; a
 * switch needs hundreds, and of so many prefetches at once the processor drops some, so these are spread over the arrivals of the
 * turn: one step of one port with each. */
#include "scheduler.h"

enum {
    STEPS = 4,
    FLOWS = 4,    /* of a host at most, and events */
    PACKETS = 16, /* on their way to a port at most */
    BEFORE = 32,  /* bytes of a Python object's header in front of it */
};

static void prefetch_node(const struct vn_node *node)
{
    vn_prefetch(node);
    vn_prefetch(&node->turns);
    vn_prefetch(&node->state);
}

static void prefetch_ring(const struct vn_net *net, const struct vn_side *side)
{
    for (uint32_t i = 0; i < side->n && i < PACKETS; i += 4) vn_prefetch(vn_sent_at(side, i));
    vn_prefetch(&net->links[side->link]);
}

/* What the NIC needs to make a frame. */
static void prefetch_sender(const struct vn_flow *flow)
{
    vn_prefetch(&flow->packets);
    vn_prefetch(flow->data);
}

/* Flows that start soon, and those whose window ends (step 1), with their NPs (2). */
static void prefetch_others(const struct vn_net *net, const struct vn_node *node, uint32_t step)
{
    for (uint32_t i = 0; i < node->others.n && i < FLOWS; i++) {
        struct vn_event event = node->others.events[i];
        const struct vn_flow *flow = &net->flows[vn_id_of(event)];
        if (event.time >= net->schedule.end) continue;
        if (vn_kind_of(event) == VN_EV_START && step == 1) {
            prefetch_sender(flow);
            vn_prefetch(&flow->start);
        }
        if (vn_kind_of(event) != VN_EV_WINDOW) continue;
        if (step == 1) {
            vn_prefetch(&flow->window_end);
            vn_prefetch(&flow->np);
            vn_prefetch(&flow->grid);
            vn_prefetch(flow->cnp); /* the CNP, more often than not */
            vn_prefetch(&net->links[node->sides->link].control);
        } else if (step == 2) {
            vn_prefetch(flow->np);
            vn_prefetch((const char *)flow->np - BEFORE);
        }
    }
}

static void prefetch_host(const struct vn_net *net, const struct vn_node *node, uint32_t step)
{
    const struct vn_side *side = node->sides;
    if (step == 0) {
        vn_prefetch(side);
        vn_prefetch(node->turns);
        vn_prefetch(&node->events.at[node->events.n]);
        vn_prefetch(node->others.events);
        vn_prefetch(&node->starts.events[node->starts.n - (node->starts.n != 0)]);
        return;
    }
    prefetch_others(net, node, step);
    if (step == 1) {
        prefetch_ring(net, side);
        for (uint32_t i = 0; i < node->n_turns && i < FLOWS; i++) prefetch_sender(&net->flows[node->turns[i].flow]);
    } else { /* in two steps: what was dropped comes with the second */
        for (uint32_t i = 0; i < side->n && i < PACKETS; i++) vn_prefetch_packet(net, vn_sent_at(side, i)->packet);
    }
}

/* Of a switch's tables: lines i, i + each, ... */
static void prefetch_lines(const struct sw_cache_lines *lines, uint32_t i, uint32_t each)
{
    for (; i < lines->n; i += each) vn_prefetch(lines->at[i]);
}

/* What comes in at the switch's port i, and what leaves there. */
static void prefetch_port(const struct vn_net *net, const struct vn_node *node, uint32_t step, uint32_t i)
{
    enum { EVENTS = 4, POINTERS = 8 }; /* in a line */
    const struct vn_side *side = &node->sides[i];
    if (step == 0) {
        vn_prefetch(side);
        for (uint32_t at = i * EVENTS; at < 2 * node->events.n; at += node->n_sides * EVENTS) vn_prefetch(&node->events.at[at]);
        return;
    }
    if (step == 1) {
        prefetch_ring(net, side);
        return;
    }
    const struct vn_link *out = &net->links[side->link], *in = &net->links[side->link ^ 1];
    const struct vn_side *far = &net->sides[out->far];
    if (step == 2) {
        vn_prefetch(&out->classes[out->last_class]);
        vn_prefetch(&in->classes[out->last_class]);
        vn_prefetch(far);
        if (side->n != 0) vn_prefetch_packet(net, vn_sent_at(side, 0)->packet);
        if (i * POINTERS < node->lines.n) vn_prefetch(&node->lines.at[i * POINTERS]);
        if (i == 0) vn_prefetch(&node->sw->table_generation);
    } else {
        /* The programs of this project keep what belongs to a port and class at this index (a hint, no more). */
        uint32_t index = (uint32_t)out->port * VN_CLASSES + out->last_class;
        if (index < node->state.size) vn_prefetch((const char *)node->state.cells + (size_t)index * node->state.stride);
        vn_scheduler_prefetch(net, out, out->last_class);
        for (uint32_t more = 0; far->n < far->capacity && more < 8; more += 4) vn_prefetch(vn_sent_at(far, far->n + more));
        prefetch_lines(&node->lines, i, node->n_sides);
    }
}

/* The node that has its turn after so many others; NULL: there is none, or it has nothing to do. */
static const struct vn_node *after(const struct vn_net *net, uint32_t turns)
{
    uint32_t turn = net->schedule.turn + turns;
    bool any = turn < net->n_nodes && net->schedule.first[net->schedule.round[turn]] < net->schedule.limit;
    return any ? &net->nodes[net->schedule.round[turn]] : NULL;
}

void vn_prefetch_piece(struct vn_net *net)
{
    if (net->prefetch.cursor == net->prefetch.pieces) return;
    uint32_t step = net->prefetch.cursor % STEPS, i = net->prefetch.cursor / STEPS;
    const struct vn_node *node = net->prefetch.upcoming[step];
    net->prefetch.cursor++;
    if (node == NULL || i >= node->n_sides) return;
    if (node->host) prefetch_host(net, node, step);
    else prefetch_port(net, node, step, i);
}

void vn_prefetch_turns(struct vn_net *net)
{
    struct vn_node *present = &net->nodes[net->schedule.round[net->schedule.turn]];
    const struct vn_node *last = after(net, STEPS + 1);
    while (net->prefetch.cursor < net->prefetch.pieces) vn_prefetch_piece(net); /* of the turn before */
    net->prefetch.cursor = net->prefetch.pieces = 0;
    if (last != NULL) prefetch_node(last);
    for (uint32_t step = 0; step < STEPS; step++) {
        const struct vn_node *node = net->prefetch.upcoming[step] = after(net, STEPS - step);
        if (node != NULL && node->n_sides * STEPS > net->prefetch.pieces) net->prefetch.pieces = node->n_sides * STEPS;
    }
    while (present->host && net->prefetch.cursor < net->prefetch.pieces) vn_prefetch_piece(net);
    if (present->host || present->table_generation == present->sw->table_generation) return;
    sw_instance_cache_lines(present->instance, &present->lines);
    present->table_generation = present->sw->table_generation;
}

void vn_prefetch_arrivals(const struct vn_net *net)
{
    bool host = net->nodes[net->schedule.round[net->schedule.turn]].host;
    for (const struct vn_coming *coming = net->schedule.coming; coming < net->schedule.coming + VN_AHEAD; coming++) {
        const struct vn_packet *packet = vn_packet_at(net, coming->packet);
        if (!host) {
            vn_prefetch_packet(net, coming->packet);
        } else if (coming->time != VN_NEVER && packet->flow != VN_NONE) { /* the packet was prefetched, its flow wasn't */
            const struct vn_flow *flow = &net->flows[packet->flow];
            if (packet->data) vn_prefetch(&flow->window_end);
            else vn_prefetch(&flow->ended);
        }
    }
}
