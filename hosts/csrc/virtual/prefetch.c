/* What a NIC and its flows will need in their turn, fetched into the caches
 * (virtualnet/csrc/time/prefetch.h). */
#include "virtual/flow.h"

/* The lines from which the NIC makes a frame. */
static void prefetch_sender(const struct vn_flow *flow)
{
    vn_prefetch(&flow->packets);
    vn_prefetch(flow->data);
}

enum {
    FLOWS = 4,   /* most flows, and events, of a host that are prefetched */
    BEFORE = 32, /* bytes: Python keeps part of an object's header in front of it */
};

/* Flows that start or whose window ends in the turn (step 1), and the latter's NPs (step 2). */
static void prefetch_others(const struct vn_context *context, const struct vn_node *node,
                            const struct vn_link *link, uint32_t step)
{
    for (uint32_t i = 0; i < node->others.n && i < FLOWS; i++) {
        struct vn_event event = node->others.events[i];
        if (event.time >= context->turns.end || vn_id_of(event) >> 24 != VN_ENDPOINT_rdma) continue;
        if (vn_kind_of(event) == VN_EV_START && step == 1) {
            const struct vn_flow *flow = &vn_rdma_of(context)->flows[vn_id_of(event)];
            prefetch_sender(flow);
            vn_prefetch(&flow->start);
        }
        if (vn_kind_of(event) != VN_EV_WINDOW) continue;
        const struct vn_flow *flow = &vn_rdma_of(context)->flows[vn_id_of(event)];
        if (step == 1) {
            vn_prefetch(&flow->window_end);
            vn_prefetch(&flow->np);
            vn_prefetch(&flow->grid);
            vn_prefetch(flow->cnp); /* usually, a CNP is sent */
            vn_prefetch(&link->control);
        } else if (step == 2) {
            vn_prefetch(flow->np_in_c != NULL ? (const void *)flow->np_in_c : flow->np);
            if (flow->np_in_c == NULL) vn_prefetch((const char *)flow->np - BEFORE);
        }
    }
}

void vn_rdma_prefetch(const struct vn_context *context, const struct vn_node *node,
                      const struct vn_link *link, uint32_t step)
{
    const struct vn_nic *nic = vn_nic_of(context, link);
    if (step == 0) {
        vn_prefetch(nic->tx_flows);
        vn_prefetch(&nic->starts.events[nic->starts.n - (nic->starts.n != 0)]);
        return;
    }
    prefetch_others(context, node, link, step);
    for (uint32_t i = 0; step == 1 && i < nic->n_tx_flows && i < FLOWS; i++) {
        prefetch_sender(&vn_rdma_of(context)->flows[nic->tx_flows[i].number]);
    }
}

/* The packet was prefetched, its flow wasn't. */
void vn_rdma_prefetch_arrival(const struct vn_context *context, uint32_t id)
{
    const struct vn_packet *packet = vn_packet_at(context, id);
    if (packet->flow == VN_NONE) return;
    const struct vn_flow *flow = &vn_rdma_of(context)->flows[packet->flow];
    if (packet->data) vn_prefetch(&flow->window_end);
    else vn_prefetch(&flow->ended);
}
