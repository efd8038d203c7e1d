/* Virtual output queues, seen from the output: each class of an output link has a FIFO for each
 * input port, served round robin, a packet each. So inputs share an output equally, where one FIFO
 * serves them in proportion to their arrivals. */
#include <stdlib.h>

#include "switches/scheduler.h"

struct vn_inputs {
    uint32_t n, last[VN_CLASSES]; /* input ports; the one that was served last */
    struct vn_fifo queues[];      /* by class, then by input port */
};

static void *round_robin_make(const struct vn_node *node)
{
    struct vn_inputs *inputs =
        calloc(1, sizeof *inputs + (size_t)node->n_in * VN_CLASSES * sizeof *inputs->queues);
    if (inputs != NULL) inputs->n = node->n_in;
    return inputs;
}

static void round_robin_push(struct vn_context *context, struct vn_link *link, uint32_t class,
                             uint32_t id)
{
    struct vn_inputs *inputs = vn_queues_of(link);
    const struct vn_link *in = vn_link_of(context, vn_packet_at(context, id)->in_link);
    uint32_t port = in->channel - (uint32_t)(vn_near(context, link)->in - context->channels);
    VN_ASSERT(port < inputs->n);
    vn_fifo_push(context, &inputs->queues[class * inputs->n + port], id);
}

static uint32_t round_robin_pop(struct vn_context *context, struct vn_link *link, uint32_t class)
{
    struct vn_inputs *inputs = vn_queues_of(link);
    struct vn_fifo *queues = &inputs->queues[class * inputs->n];
    uint32_t port = inputs->last[class];
    VN_ASSERT(port < inputs->n && link->classes[class].queue.packets != 0);
    do port = port + 1 == inputs->n ? 0 : port + 1;
    while (queues[port].packets == 0);
    inputs->last[class] = port;
    return vn_fifo_pop(context, &queues[port]);
}

static void round_robin_each(const struct vn_context *context, const struct vn_link *link,
                             uint32_t class,
                             void (*see)(void *to, const struct vn_packet *, uint32_t class),
                             void *to)
{
    const struct vn_inputs *inputs = vn_queues_of(link);
    for (uint32_t port = 0; port < inputs->n; port++) {
        vn_fifo_each(context, &inputs->queues[class * inputs->n + port], class, see, to);
    }
}

static const struct vn_scheduler vn_scheduler_round_robin = {
    .name = "round_robin",
    .make = round_robin_make,
    .push = round_robin_push,
    .pop = round_robin_pop,
    .for_each = round_robin_each,
};
