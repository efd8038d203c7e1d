/* Groups of flows: sums of their counts for samplers, at a cost by the flows that are under way. */
#include <stdlib.h>
#include <string.h>

#include "virtual/flow.h"

bool vn_flow_group_exists(struct vn_rdma *rdma, uint32_t group)
{
    if (group == VN_NO_GROUP || group < rdma->n_groups) return true;
    if (group > rdma->n_groups) return false;
    struct vn_flow_group *groups = realloc(rdma->groups, (rdma->n_groups + 1) * sizeof *groups);
    if (groups == NULL) return false;
    rdma->groups = groups;
    groups[rdma->n_groups++] = (struct vn_flow_group){.at = VN_NEVER};
    return true;
}

bool vn_flow_group_started(struct vn_rdma *rdma, uint32_t flow)
{
    if (rdma->flows[flow].group == VN_NO_GROUP) return true;
    struct vn_flow_group *group = &rdma->groups[rdma->flows[flow].group];
    uint32_t *flows = vn_grown(group->flows, group->n, &group->capacity, sizeof *flows);
    if (flows == NULL) return false;
    group->flows = flows;
    flows[group->n++] = flow;
    return true;
}

bool vn_flow_group_arrives(struct vn_context *context, uint32_t flow)
{
    struct vn_rdma *rdma = vn_rdma_of(context);
    pthread_mutex_lock(&rdma->starting);
    bool ok = vn_flow_group_started(rdma, flow);
    pthread_mutex_unlock(&rdma->starting);
    if (!ok) vn_fail(context, "out of memory for flows");
    return ok;
}

static void add(uint64_t *sums, const struct vn_flow *flow)
{
    sums[VN_FLOW_SENT_BYTES - VN_FLOW_SENT_BYTES] += flow->sent_bytes;
    sums[VN_FLOW_RECEIVED_PAYLOAD - VN_FLOW_SENT_BYTES] += flow->received_payload;
    sums[VN_FLOW_RECEIVED_PACKETS - VN_FLOW_SENT_BYTES] += flow->received;
    sums[VN_FLOW_MARKED_PACKETS - VN_FLOW_SENT_BYTES] += flow->marked_ce;
    sums[VN_FLOW_MARKED_UE_PACKETS - VN_FLOW_SENT_BYTES] += flow->marked_ue;
}

double vn_flow_group_sum(const struct vn_context *context, uint32_t number,
                         enum vn_flow_source source)
{
    const struct vn_rdma *rdma = vn_rdma_of(context);
    struct vn_flow_group *group = &rdma->groups[number];
    if (group->at != context->now) { /* samples are taken when all else of a time has happened */
        uint32_t left = 0;
        for (uint32_t i = 0; i < group->n; i++) {
            const struct vn_flow *flow = &rdma->flows[group->flows[i]];
            bool complete = flow->complete != VN_NEVER || !vn_receives_here(context, flow);
            if (complete && (flow->ended != VN_NEVER || !vn_sends_here(context, flow)))
                add(group->complete, flow); /* they stay so: nothing more is sent, or taken */
            else group->flows[left++] = group->flows[i];
        }
        group->n = left;
        memcpy(group->sums, group->complete, sizeof group->sums);
        for (uint32_t i = 0; i < left; i++) add(group->sums, &rdma->flows[group->flows[i]]);
        group->at = context->now;
    }
    return (double)group->sums[source - VN_FLOW_SENT_BYTES];
}

void vn_flow_groups_free(struct vn_rdma *rdma)
{
    for (uint32_t i = 0; i < rdma->n_groups; i++) free(rdma->groups[i].flows);
    free(rdma->groups);
}
