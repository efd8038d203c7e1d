/* Virtual output queues, seen from the output: each class of an output link has a FIFO for each input port, served round robin, a
 * packet each. So inputs share an output equally, where one FIFO serves them in proportion to their arrivals. */
#ifndef VN_ROUND_ROBIN_H
#define VN_ROUND_ROBIN_H

#include <stdlib.h>

#include "packets.h"

struct vn_inputs {
    uint32_t n, last[VN_CLASSES]; /* input ports; the one that was served last */
    struct vn_fifo queues[];      /* by class, then by input port */
};

/* NULL: out of memory. */
static inline struct vn_inputs *vn_inputs_new(uint32_t ports)
{
    struct vn_inputs *inputs = calloc(1, sizeof *inputs + (size_t)ports * VN_CLASSES * sizeof *inputs->queues);
    if (inputs != NULL) inputs->n = ports;
    return inputs;
}

static inline void vn_inputs_push(struct vn_net *net, struct vn_link *link, uint32_t class, uint32_t id)
{
    const struct vn_link *in = vn_link_of(net, vn_packet_at(net, id)->in_link);
    uint32_t port = in->rx_port - (uint32_t)(net->nodes[link->node].rx_ports - net->rx_ports);
    vn_fifo_push(net, &link->inputs->queues[class * link->inputs->n + port], id);
}

/* A packet of this class waits. */
static inline uint32_t vn_inputs_pop(struct vn_net *net, struct vn_link *link, uint32_t class)
{
    struct vn_inputs *inputs = link->inputs;
    struct vn_fifo *queues = &inputs->queues[class * inputs->n];
    uint32_t port = inputs->last[class];
    do port = port + 1 == inputs->n ? 0 : port + 1;
    while (queues[port].packets == 0);
    inputs->last[class] = port;
    return vn_fifo_pop(net, &queues[port]);
}

#endif
