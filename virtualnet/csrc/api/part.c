/* A network that several processes share: its partition, and what they know of each other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/net.h"
#include "links/build.h"
#include "time/parts.h"
#include "time/phases.h"

int vn_partition_of(struct vn_context *context, uint32_t n, uint32_t *owners)
{
    if (context->pool.base != NULL || context->order.clock != NULL)
        return vn_refuse(context, -EBUSY, "a network that runs has its partition");
    if (!vn_links_init(context) || !vn_order_init(context, 1)) return -EINVAL;
    if (n == 0 || n > context->order.n_turns) {
        char why[128];
        snprintf(why, sizeof why, "%u processes: links of some length join %u parts", n,
                 context->order.n_turns);
        return vn_refuse(context, -EINVAL, why);
    }
    if (!vn_partition(context, n, owners)) return vn_refuse(context, -ENOMEM, "out of memory");
    for (uint32_t i = 0; i < context->n_nodes; i++) owners[i] = owners[vn_first_of(context, i)];
    return 0;
}

int vn_split(struct vn_context *context, uint32_t n, uint32_t number, const uint32_t *owners,
             uint32_t n_nodes, int (*exchange)(uint32_t, const struct vn_mail *, struct vn_mail *))
{
    if (context->n_nodes != 0 || context->order.parts != NULL || !context->order.by_node)
        return vn_refuse(context, -EBUSY, "a network is split before its first node, by nodes");
    struct vn_parts *parts = calloc(1, sizeof *parts);
    if (parts == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
    context->order.parts = parts;
    *parts = (struct vn_parts){.n = n, .number = number, .exchange = exchange, .fault = VN_NONE};
    parts->owners = malloc((n_nodes + 1) * sizeof *owners);
    parts->neighbours = calloc(n, sizeof *parts->neighbours);
    parts->out = calloc(n, sizeof *parts->out);
    parts->in = calloc(n, sizeof *parts->in);
    if (parts->owners == NULL || parts->neighbours == NULL || parts->out == NULL ||
        parts->in == NULL)
        return vn_refuse(context, -ENOMEM, "out of memory");
    memcpy(parts->owners, owners, n_nodes * sizeof *owners);
    return 0;
}

void vn_part_stats(const struct vn_context *context, struct vn_part_stats *out)
{
    *out = context->order.parts != NULL ? context->order.parts->stats : (struct vn_part_stats){0};
    out->rounds = context->order.rounds;
    out->events = context->events_done;
    out->lookahead_ps = context->order.lookahead;
}

void vn_digests(struct vn_context *context, uint64_t *digests, bool set)
{
    for (uint32_t i = 0; i < context->n_nodes; i++) {
        if (set) context->nodes[i].digest = digests[i];
        else digests[i] = context->nodes[i].digest;
    }
}
