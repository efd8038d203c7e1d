/* A switch on the manual clock whose packets the engine of virtual time moves: nodes that stand for
 * its ports without interface, and calls in place of those of softswitch/csrc/clock.c, with their
 * order of a moment: all ingress of a frame comes before any port serves. */
#include <errno.h>
#include <string.h>

#include "api/net.h"
#include "links/build.h"
#include "switches/switch.h"

/* A node beyond a port. What arrives there has left the switch. */
struct edge {
    struct sw_switch *sw;
    uint32_t link; /* from here to the switch */
    uint16_t port;
    bool leads_out; /* false: frames that leave by the port are lost, as where none is */
};

static struct edge *edge_of(struct vn_node *node) { return (struct edge *)(void *)node->state; }

static bool edge_attach(struct vn_context *context, struct vn_node *node, uint16_t port,
                        uint32_t link)
{
    (void)context, (void)port;
    edge_of(node)->link = link;
    return true;
}

static void edge_take(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    const struct edge *edge = edge_of(&context->nodes[channel->to]);
    struct vn_packet *packet = vn_packet_at(context, id);
    if (edge->leads_out) {
        struct sw_port_stats *stats = &edge->sw->ports[edge->port]->stats;
        sw_events_put(&edge->sw->departed, SW_EVENT_FRAME, edge->port, vn_frame(context, packet),
                      packet->bytes, context->now / 1000);
        stats->tx_packets++;
        stats->tx_bytes += packet->bytes;
    }
    vn_packet_free(context, id);
}

static void edge_sends(struct vn_context *context, struct vn_link *link, uint32_t number)
{
    (void)context, (void)link, (void)number; /* nothing waits here */
}

static const struct vn_node_kind edge_kind = {
    .name = "edge",
    .attach = edge_attach,
    .take = edge_take,
    .arrival = edge_take,
    .may_send = edge_sends,
};

int64_t vn_add_edge(struct vn_context *context, struct sw_switch *sw, uint16_t port, bool leads_out)
{
    struct vn_node *node = vn_node_new(context, &edge_kind);
    if (node == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
    *edge_of(node) = (struct edge){.sw = sw, .port = port, .leads_out = leads_out};
    return node->number;
}

/* From now on. Whole nanoseconds, as the switch has them; rate 0: frames take no time. */
int vn_shape_edge(struct vn_context *context, uint32_t number, uint64_t rate_bps, uint64_t delay_ns)
{
    struct vn_link *link = vn_link_of(context, number);
    link->tick = rate_bps == 0 ? 1 : 1000;
    vn_set_rate(link, rate_bps == 0 ? VN_AT_ONCE : rate_bps);
    link->delay = delay_ns * 1000;
    return 0;
}

/* While `serving` is set, a port takes packets and doesn't serve. */
static void hold(struct vn_context *context, uint32_t node, bool holds)
{
    for (uint32_t i = 0; i < context->n_links; i++) {
        if (context->links[i].node == node) vn_port_of(&context->links[i])->serving = holds;
    }
    for (uint32_t i = 0; !holds && i < context->n_links; i++) {
        struct vn_link *link = &context->links[i];
        if (link->node == node && !link->pending) vn_port_serve(context, link, i);
    }
}

/* All that is due now. 0 or -EINVAL: vn_error says why. */
static int run_moment(struct vn_net *net, struct sw_switch *sw)
{
    net->context.exchange.until_ps = net->context.now;
    net->context.exchange.budget = UINT64_MAX / 2;
    vn_run(net);
    sw->clock_ns = net->context.now / 1000;
    return net->context.failed ? -EINVAL : 0;
}

int vn_edge_frame(struct vn_net *net, uint32_t node, uint32_t edge_node, const uint8_t *bytes,
                  uint32_t length)
{
    struct vn_context *context = &net->context;
    const struct edge *edge = edge_of(&context->nodes[edge_node]);
    if (run_moment(net, edge->sw) != 0) return -EINVAL; /* before the first packet */
    uint32_t id = vn_packet_new(context);
    if (id == VN_NONE) return -ENOMEM;
    struct vn_packet *packet = vn_packet_at(context, id);
    memset(vn_frame(context, packet), 0, context->pool.stored);
    memcpy(vn_frame(context, packet), bytes, length);
    packet->bytes = (uint16_t)length;
    packet->flow = VN_NONE;
    packet->data = true;
    packet->stamp = VN_NEVER;
    packet->in_link = edge->link;
    edge->sw->ports[edge->port]->stats.rx_packets++;
    edge->sw->ports[edge->port]->stats.rx_bytes += length;
    hold(context, node, true);
    vn_hop_ingress(context, &context->nodes[node], edge->port, id);
    hold(context, node, false);
    return run_moment(net, edge->sw);
}

int vn_edge_packet_out(struct vn_net *net, struct sw_switch *sw, uint32_t node,
                       const uint8_t *bytes, uint32_t length)
{
    if (run_moment(net, sw) != 0) return -EINVAL;
    hold(&net->context, node, true);
    int code = vn_packet_out(&net->context, node, bytes, length);
    hold(&net->context, node, false);
    return code != 0 ? code : run_moment(net, sw);
}

/* As sw_advance. */
int vn_edge_advance(struct vn_net *net, struct sw_switch *sw, uint64_t until_ns, uint16_t port,
                    uint64_t frames)
{
    struct vn_context *context = &net->context;
    uint64_t put_before = sw->events.put, until_ps = until_ns * 1000;
    int status = 1;
    while (status == 1 && sw->events.put == put_before &&
           (frames == 0 || sw->ports[port]->stats.tx_packets < frames)) {
        context->exchange.until_ps = until_ps < context->now ? context->now : until_ps;
        context->exchange.budget = 1; /* a moment */
        enum vn_reason reason = vn_run(net);
        if (reason == VN_FAILED) return -EINVAL;
        if (reason == VN_UNTIL) status = 0;
    }
    sw->clock_ns = context->now / 1000;
    return status;
}
