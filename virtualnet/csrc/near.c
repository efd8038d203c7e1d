/* Has brought near what a node's turn touches: nodes, packets and flows are more than the caches hold, so of each node nothing is
 * there any more when its turn comes. But whose turn comes is known, and what it needs, step by step as one thing names the next:
 * a step a turn. Nothing depends on this but the time that a run takes. */
#include "packets.h"

enum {
    STEPS = 4, /* the first so many turns before the node's own, the last one turn before */
    MANY = 4,  /* flows of a host: no more are brought near */
};

static void near_node(const struct vn_node *node)
{
    vn_near(node);
    vn_near(&node->turns);
}

static void near_ring(const struct vn_net *net, const struct vn_side *side)
{
    for (uint32_t i = 0; i < side->n && i < VN_AHEAD; i += 4) vn_near(vn_sent_at(side, i));
    vn_near(&net->links[side->link]);
}

/* What the NIC needs to make a frame. */
static void near_sender(const struct vn_flow *flow)
{
    vn_near(flow);
    vn_near(&flow->sent_bytes);
    vn_near(flow->data);
    vn_near(flow->data + VN_TEMPLATE_BYTES - 1);
}

static void near_host(const struct vn_net *net, const struct vn_node *node, uint32_t step)
{
    const struct vn_side *side = node->sides;
    if (step == 1) {
        vn_near(side);
        vn_near(node->turns);
        vn_near(&node->events.at[node->events.n]);
    } else if (step == 2) {
        near_ring(net, side);
        for (uint32_t i = 0; i < node->n_turns && i < MANY; i++) near_sender(&net->flows[node->turns[i].flow]);
    } else {
        for (uint32_t i = 0; i < side->n && i < VN_AHEAD; i++) vn_near_packet(net, vn_sent_at(side, i)->packet);
    }
}

static void near_switch(const struct vn_net *net, const struct vn_node *node, uint32_t step)
{
    for (uint32_t i = 0; step == 1 && i < node->events.n; i += 4) vn_near(&node->events.at[node->events.n + i]);
    for (uint32_t i = 0; step == 3 && i < node->lines.n; i += 8) vn_near(&node->lines.at[i]);
    if (step == 3) vn_near(&node->sw->asked);
    for (const struct vn_side *side = node->sides; side < node->sides + node->n_sides; side++) {
        const struct vn_link *out = &net->links[side->link], *in = &net->links[side->link ^ 1];
        if (step == 1) {
            vn_near(side);
        } else if (step == 2) {
            near_ring(net, side);
        } else {
            vn_near(&out->classes[out->last_class]);
            vn_near(&in->classes[out->last_class]);
            vn_near(&net->sides[out->far]);
        }
    }
}

/* Reads what a switch's packets need of its tables. Prefetches would do, too, were there fewer: some of so many at once are
 * dropped. */
static void read_tables(struct vn_node *node)
{
    if (node->asked != node->sw->asked) sw_instance_lines(node->instance, &node->lines);
    node->asked = node->sw->asked;
    for (uint32_t i = 0; i < node->lines.n; i++) (void)*(const volatile char *)node->lines.at[i];
}

void vn_near_turns(struct vn_net *net)
{
    struct vn_node *present = &net->nodes[net->round[net->turn]];
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t turn = net->turn + STEPS - step;
        if (turn >= net->n_nodes || net->first[net->round[turn]] >= net->limit) continue;
        const struct vn_node *node = &net->nodes[net->round[turn]];
        if (step == 0) near_node(node);
        else if (node->host) near_host(net, node, step);
        else near_switch(net, node, step);
    }
    if (!present->host) read_tables(present);
}

void vn_near_arrivals(const struct vn_net *net)
{
    bool host = net->nodes[net->round[net->turn]].host;
    for (const struct vn_coming *coming = net->coming; coming < net->coming + VN_AHEAD; coming++) {
        const struct vn_packet *packet = vn_packet_at(net, coming->packet);
        if (!host) {
            vn_near_packet(net, coming->packet);
        } else if (coming->time != VN_NEVER && packet->flow != VN_NONE) { /* the packet is near already, its flow isn't */
            vn_near(&net->flows[packet->flow].window_end);
            vn_near(&net->flows[packet->flow].expected);
        }
    }
}
