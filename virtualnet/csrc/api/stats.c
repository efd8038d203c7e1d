/* Statistics of links, and totals. */
#include <errno.h>

#include "api/net.h"
#include "time/parts.h"

int vn_link_stats(const struct vn_context *context, uint32_t number, struct vn_link_stats *out)
{
    if (number >= context->n_links) return -ENOENT;
    const struct vn_link *link = &context->links[number];
    const struct vn_link *end = &context->links[number ^ 1];
    *out = (struct vn_link_stats){
        .packets = link->packets,
        .bytes = link->bytes,
        .expired = link->expired,
        .held_limit = end->limit[0],
        .lost = end->lost,
        .repeated = end->repeated,
        .overrun = end->overrun,
    };
    vn_pfc_stats(context, link, out);
    vn_credit_stats(context, link, out);
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        out->refused += out->refused_by_class[class] = link->refused[class];
        bool queues = vn_is_switch(vn_near(context, link)) && link->more != NULL;
        if (queues) out->trimmed_by_class[class] = vn_port_more(link)->trimmed[class];
        out->output_bytes += vn_output_bytes(context, link, class);
        out->held_bytes += end->classes[class].held_bytes;
        if (end->classes[class].held_max > out->held_max)
            out->held_max = end->classes[class].held_max;
    }
    return 0;
}

uint64_t vn_rounds(const struct vn_context *context) { return context->order.rounds; }

void vn_totals(const struct vn_net *net, struct vn_totals *out)
{
    const struct vn_context *context = &net->context;
    uint64_t digest = context->digest;
    for (uint32_t i = 0; i < context->n_nodes; i++)
        digest = vn_digest_mix(digest, context->nodes[i].digest);
    struct vn_moment all = {
        .events = context->events_done,
        .packets = context->packets.in_use - context->packets.flow_control,
        .packets_most = context->packets.most_in_use,
        .unfinished = context->turns.unfinished,
        .counts = context->totals,
    };
    /* of several processes: as of their latest exchange, once there was one */
    if (context->order.parts != NULL && context->order.parts->stats.exchanges != 0)
        all = context->order.parts->all;
    *out = (struct vn_totals){
        .now_ps = context->now,
        .events = all.events,
        .digest = digest,
        .traversals = all.counts.traversals,
        .data_traversals = all.counts.data_traversals,
        .packets = (uint64_t)all.packets,
        .packets_most = (uint64_t)all.packets_most,
        .dropped = all.counts.dropped,
        .unlinked = all.counts.unlinked,
        .ungrouped = all.counts.ungrouped,
        .bad_frames = all.counts.bad_frames,
        .stray_frames = all.counts.stray_frames,
        .unusable_cnps = all.counts.unusable_cnps,
        .unfinished = (uint64_t)all.unfinished,
    };
}

void vn_sizes(struct vn_sizes *out)
{
    *out = (struct vn_sizes){
        .node = sizeof(struct vn_node),
        .link = sizeof(struct vn_link) + sizeof(struct vn_channel),
        .port = sizeof(struct vn_port_more) + sizeof(struct vn_pfc),
        .event = sizeof(struct vn_event),
        .packet = vn_aligned(sizeof(struct vn_packet) + VN_TEMPLATE_BYTES) + 64 * VN_OBSERVED_LINES,
        .in_flight = sizeof(struct vn_in_flight),
    };
}
