/* Statistics of flows, of links, and totals. */
#include <errno.h>

#include "parts.h"

static uint64_t payload_sent(const struct vn_flow *flow)
{
    bool whole = flow->packets != 0 && flow->sent == flow->packets;
    return whole ? (flow->sent - 1) * flow->payload_bytes + flow->last_payload_bytes : flow->sent * flow->payload_bytes;
}

int vn_flow_stats(const struct vn_net *net, uint32_t number, struct vn_flow_stats *out)
{
    if (number >= net->n_flows) return -ENOENT;
    const struct vn_flow *flow = &net->flows[number];
    *out = (struct vn_flow_stats){
        .sent = flow->sent,
        .sent_payload = payload_sent(flow),
        .sent_bytes = flow->sent_bytes,
        .received = flow->received,
        .received_bytes = flow->received_bytes,
        .received_payload = flow->received_payload,
        .marked_ce = flow->marked_ce,
        .marked_ue = flow->marked_ue,
        .out_of_order = flow->out_of_order,
        .lost = flow->lost,
        .cnps_sent = flow->cnps_sent,
        .cnps_received = flow->cnps_received,
        .start_ps = flow->start,
        .ended_ps = flow->ended,
        .first_ps = flow->first,
        .last_ps = flow->last,
        .complete_ps = flow->complete,
        .rate_bps = flow->rate_bps,
    };
    return 0;
}

int vn_link_stats(const struct vn_net *net, uint32_t number, struct vn_link_stats *out)
{
    if (number >= net->n_links) return -ENOENT;
    const struct vn_link *link = &net->links[number];
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
    const struct vn_link *back = &net->links[number ^ 1]; /* PFC frames over `link` pause what comes in over this one */
    memcpy(out->pause_by_class, link->pause, sizeof link->pause);
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        out->held_bytes += link->classes[class].held_bytes;
        out->output_bytes += vn_output_bytes(link, class);
        out->starved_ps += vn_credit_starved(net, link, class);
        if (link->classes[class].held_max > out->held_max) out->held_max = link->classes[class].held_max;
        if (back->classes[class].xoff_since != VN_NEVER) out->paused_ps += net->now - back->classes[class].xoff_since;
    }
    return 0;
}

void vn_totals(const struct vn_net *net, struct vn_totals *out)
{
    uint64_t digest = net->digest;
    for (uint32_t i = 0; i < net->n_nodes; i++) digest = vn_digest_mix(digest, net->nodes[i].digest);
    *out = (struct vn_totals){
        .now_ps = net->now,
        .events = net->events_done,
        .digest = digest,
        .traversals = net->traversals,
        .data_traversals = net->data_traversals,
        .packets = net->in_use - net->flow_control,
        .packets_most = net->most_in_use,
        .dropped = net->dropped,
        .bad_frames = net->bad_frames,
        .stray_frames = net->stray_frames,
        .unusable_cnps = net->unusable_cnps,
    };
}
