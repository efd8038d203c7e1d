/* Has brought near what a node's turn touches: nodes, packets and flows are more than the caches hold, so of each node nothing is
 * there any more when its turn comes. But whose turn comes is known, and what it needs, step by step as one thing names the next:
 * a step a turn. What a host needs comes at one go; a switch needs hundreds of lines, and of so many prefetches at once the
 * processor drops some, so these go along with arrivals: of one step and one port with each. Nothing depends on all this but the
 * time that a run takes. */
#include "packets.h"

enum {
    FLOWS = 4,    /* of a host: no more are brought near, nor events */
    PACKETS = 16, /* on their way to a port: neither */
    BEFORE = 32,  /* bytes that Python keeps in front of an object */
    FIELDS = 32,  /* bytes of its fields, from the first on */
};

static void near_node(const struct vn_node *node)
{
    vn_near(node);
    vn_near(&node->turns);
    vn_near(&node->state);
}

static void near_ring(const struct vn_net *net, const struct vn_side *side)
{
    for (uint32_t i = 0; i < side->n && i < PACKETS; i += 4) vn_near(vn_sent_at(side, i));
    vn_near(&net->links[side->link]);
}

/* What the NIC needs to make a frame. */
static void near_sender(const struct vn_flow *flow)
{
    vn_near(&flow->packets);
    vn_near(flow->data);
}

/* Flows that start soon, and those whose window ends (step 1); their NPs, which are asked (2), and these NPs' fields (3). */
static void near_others(const struct vn_net *net, const struct vn_node *node, uint32_t step)
{
    for (uint32_t i = 0; i < node->others.n && i < FLOWS; i++) {
        struct vn_event event = node->others.events[i];
        const struct vn_flow *flow = &net->flows[vn_id_of(event)];
        if (event.time >= net->end) continue;
        if (vn_kind_of(event) == VN_EV_START && step == 1) {
            near_sender(flow);
            vn_near(&flow->start);
        }
        if (vn_kind_of(event) != VN_EV_WINDOW) continue;
        if (step == 1) {
            vn_near(&flow->window_end);
            vn_near(&flow->np);
            vn_near(&flow->grid);
            vn_near(flow->cnp); /* the CNP, more often than not */
            vn_near(&net->links[node->sides->link].control);
        } else if (step == 2) {
            vn_near(flow->np);
            vn_near((const char *)flow->np - BEFORE);
        } else if (flow->np_fields != 0) {
            const char *fields = *(const char *const *)(const void *)((const char *)flow->np - flow->np_fields);
            vn_near(fields);
            vn_near(fields + FIELDS);
        }
    }
}

static void near_host(const struct vn_net *net, const struct vn_node *node, uint32_t step)
{
    const struct vn_side *side = node->sides;
    if (step == 0) {
        vn_near(side);
        vn_near(node->turns);
        vn_near(&node->events.at[node->events.n]);
        vn_near(node->others.events);
        vn_near(&node->starts.events[node->starts.n - (node->starts.n != 0)]);
        return;
    }
    near_others(net, node, step);
    if (step == 1) {
        near_ring(net, side);
        for (uint32_t i = 0; i < node->n_turns && i < FLOWS; i++) near_sender(&net->flows[node->turns[i].flow]);
        if (node->n_turns != 0) vn_near(&net->links[side->link].classes[node->turns->priority]);
    } else { /* twice: what was dropped comes then */
        for (uint32_t i = 0; i < side->n && i < PACKETS; i++) vn_near_packet(net, vn_sent_at(side, i)->packet);
    }
}

/* Of a switch's tables: lines i, i + each, ... */
static void near_lines(const struct sw_lines *lines, uint32_t i, uint32_t each)
{
    for (; i < lines->n; i += each) vn_near(lines->at[i]);
}

/* What comes in at the switch's port i, and what leaves there. */
static void near_port(const struct vn_net *net, const struct vn_node *node, uint32_t step, uint32_t i)
{
    enum { EVENTS = 4, POINTERS = 8 }; /* in a line */
    const struct vn_side *side = &node->sides[i];
    if (step == 0) {
        vn_near(side);
        for (uint32_t at = i * EVENTS; at < 2 * node->events.n; at += node->n_sides * EVENTS) vn_near(&node->events.at[at]);
        return;
    }
    if (step == 1) {
        near_ring(net, side);
        return;
    }
    const struct vn_link *out = &net->links[side->link], *in = &net->links[side->link ^ 1];
    const struct vn_class *class = &out->classes[out->last_class];
    const struct vn_side *far = &net->sides[out->far];
    if (step == 2) {
        vn_near(class);
        vn_near(&in->classes[out->last_class]);
        vn_near(far);
        if (side->n != 0) vn_near_packet(net, vn_sent_at(side, 0)->packet);
        if (i * POINTERS < node->lines.n) vn_near(&node->lines.at[i * POINTERS]);
        if (i == 0) vn_near(&node->sw->asked);
    } else {
        /* The programs of this project keep what belongs to a port and class at this index (a hint, no more). */
        uint32_t index = (uint32_t)out->port * VN_CLASSES + out->last_class;
        if (index < node->state.size) vn_near((const char *)node->state.cells + (size_t)index * node->state.stride);
        if (class->queue.packets != 0) vn_near_packet(net, class->queue.head);
        for (uint32_t more = 0; far->n < far->capacity && more < 8; more += 4) vn_near(vn_sent_at(far, far->n + more));
        near_lines(&node->lines, i, node->n_sides);
    }
}

/* The node that has its turn after so many others; NULL: there is none, or it has nothing to do. */
static const struct vn_node *after(const struct vn_net *net, uint32_t turns)
{
    uint32_t turn = net->turn + turns;
    bool any = turn < net->n_nodes && net->first[net->round[turn]] < net->limit;
    return any ? &net->nodes[net->round[turn]] : NULL;
}

void vn_near_some(struct vn_net *net)
{
    if (net->piece == net->pieces) return;
    uint32_t step = net->piece % VN_STEPS, i = net->piece / VN_STEPS;
    const struct vn_node *node = net->later[step];
    net->piece++;
    if (node == NULL || i >= node->n_sides) return;
    if (node->host) near_host(net, node, step);
    else near_port(net, node, step, i);
}

void vn_near_turns(struct vn_net *net)
{
    struct vn_node *present = &net->nodes[net->round[net->turn]];
    const struct vn_node *last = after(net, VN_STEPS + 1);
    while (net->piece < net->pieces) vn_near_some(net); /* of the turn before */
    net->piece = net->pieces = 0;
    if (last != NULL) near_node(last);
    for (uint32_t step = 0; step < VN_STEPS; step++) {
        const struct vn_node *node = net->later[step] = after(net, VN_STEPS - step);
        if (node != NULL && node->n_sides * VN_STEPS > net->pieces) net->pieces = node->n_sides * VN_STEPS;
    }
    while (present->host && net->piece < net->pieces) vn_near_some(net);
    if (present->host || present->asked == present->sw->asked) return;
    sw_instance_lines(present->instance, &present->lines);
    present->asked = present->sw->asked;
}

void vn_near_arrivals(const struct vn_net *net)
{
    bool host = net->nodes[net->round[net->turn]].host;
    for (const struct vn_coming *coming = net->coming; coming < net->coming + VN_AHEAD; coming++) {
        const struct vn_packet *packet = vn_packet_at(net, coming->packet);
        if (!host) {
            vn_near_packet(net, coming->packet);
        } else if (coming->time != VN_NEVER && packet->flow != VN_NONE) { /* the packet is near already, its flow isn't */
            const struct vn_flow *flow = &net->flows[packet->flow];
            if (packet->data) vn_near(&flow->window_end);
            else vn_near(&flow->ended);
        }
    }
}
