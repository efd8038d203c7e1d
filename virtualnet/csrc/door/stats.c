/* Statistics of links, and totals. */
#include <errno.h>

#include "door/net.h"

int vn_link_stats(const struct vn_context *context, uint32_t number, struct vn_link_stats *out)
{
    if (number >= context->n_links) return -ENOENT;
    const struct vn_link *link = &context->links[number];
    *out = (struct vn_link_stats){
        .packets = link->packets,
        .bytes = link->bytes,
        .pause = vn_pauses(link),
        .resume = link->resume,
        .paused_ps = link->paused_ps,
        .refused = link->refused,
        .held_limit = link->limit[0],
        .expired = link->expired,
        .fc_packets = link->fc_packets,
        .starved_ps = link->starved_ps,
        .lost = link->lost,
        .repeated = link->repeated,
        .overrun = link->overrun,
    };
    const struct vn_link *back = &context->links[number ^ 1]; /* PFC frames over `link` pause what comes in over this one */
    memcpy(out->pause_by_class, link->pause, sizeof link->pause);
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        out->held_bytes += link->classes[class].held_bytes;
        out->output_bytes += vn_output_bytes(link, class);
        if (link->paid && vn_gate_closed(link, class))
            out->starved_ps += context->now - vn_flow_control_of(link)->stopped_since(link, class);
        if (link->classes[class].held_max > out->held_max) out->held_max = link->classes[class].held_max;
        if (back->classes[class].xoff_since != VN_NEVER) out->paused_ps += context->now - back->classes[class].xoff_since;
    }
    return 0;
}

uint64_t vn_rounds(const struct vn_context *context) { return context->order.rounds; }

void vn_totals(const struct vn_net *net, struct vn_totals *out)
{
    const struct vn_context *context = &net->context;
    uint64_t digest = context->digest;
    for (uint32_t i = 0; i < context->n_nodes; i++) digest = vn_digest_mix(digest, context->nodes[i].digest);
    *out = (struct vn_totals){
        .now_ps = context->now,
        .events = context->events_done,
        .digest = digest,
        .traversals = context->totals.traversals,
        .data_traversals = context->totals.data_traversals,
        .packets = context->pool.in_use - context->pool.flow_control,
        .packets_most = context->pool.most_in_use,
        .dropped = context->totals.dropped,
        .bad_frames = context->totals.bad_frames,
        .stray_frames = context->totals.stray_frames,
        .unusable_cnps = context->totals.unusable_cnps,
    };
}
