/* Flows that start when others have arrived whole. One may start at another host than the other
 * arrives at, at that very time: while that is possible, the events of all nodes happen in one
 * order (vn_order). */
#include <errno.h>
#include <stdlib.h>

#include "virtual/flow.h"

static bool elsewhere(const struct vn_context *context, const struct vn_flow *flow,
                      const struct vn_flow *other)
{
    return vn_sender_of(context, flow) != vn_receiver_of(context, other);
}

int vn_flow_after(struct vn_context *context, uint32_t number, uint32_t other_number,
                  uint64_t delay_ps, uint64_t least_ps)
{
    struct vn_rdma *rdma = vn_rdma_of(context);
    if (number >= rdma->n_flows || other_number >= rdma->n_flows)
        return vn_refuse(context, -ENOENT, "no such flow");
    struct vn_flow *flow = &rdma->flows[number], *other = &rdma->flows[other_number];
    if (!vn_sends_here(context, flow) || !vn_receives_here(context, other))
        return vn_refuse(context, -EINVAL, "it would wait for an arrival in another process");
    if (flow->start != VN_NEVER) return vn_refuse(context, -EINVAL, "the flow has a start");
    if (other->packets == 0)
        return vn_refuse(context, -EINVAL, "it would wait for a flow without an end");
    if (other->complete != VN_NEVER)
        return vn_refuse(context, -EINVAL, "the flow that it would wait for has arrived");
    struct vn_wait *waits =
        vn_grown(rdma->waits, rdma->n_waits, &rdma->waits_capacity, sizeof *waits);
    if (waits == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
    rdma->waits = waits;
    if (elsewhere(context, flow, other)) {
        bool before = other->awaited,
             started = other->start <= context->now || !vn_sends_here(context, other);
        other->awaited = true;
        if (!before && started && !vn_wait_started(rdma, other_number)) {
            return vn_refuse(context, -ENOMEM, "out of memory");
        }
        context->turns.waiting++;
    }
    waits[rdma->n_waits] = (struct vn_wait){delay_ps, number, other->followers};
    other->followers = rdma->n_waits++;
    flow->waited = true;
    flow->waits++;
    if (least_ps > flow->due) flow->due = least_ps;
    return 0;
}

bool vn_wait_started(struct vn_rdma *rdma, uint32_t number)
{
    if (!rdma->flows[number].awaited) return true;
    uint32_t *awaited =
        vn_grown(rdma->awaited, rdma->n_awaited, &rdma->awaited_capacity, sizeof *awaited);
    if (awaited == NULL) return false;
    rdma->awaited = awaited;
    awaited[rdma->n_awaited++] = number;
    return true;
}

void vn_wait_arrived(struct vn_context *context, uint32_t number)
{
    const struct vn_flow *other = vn_flow_at(context, number);
    const struct vn_rdma *rdma = vn_rdma_of(context);
    for (uint32_t i = other->followers; i != VN_NONE; i = rdma->waits[i].next) {
        struct vn_flow *flow = vn_flow_at(context, rdma->waits[i].flow);
        if (elsewhere(context, flow, other)) context->turns.waiting--;
        if (context->now + rdma->waits[i].delay > flow->due)
            flow->due = context->now + rdma->waits[i].delay;
        if (--flow->waits != 0) continue;
        flow->start = flow->due;
        vn_nic_await(context, rdma->waits[i].flow);
    }
}

/* A flow that starts in the meantime takes at least a link's delay to arrive, which is no less than
 * the look ahead; unless nodes share a queue, which shorter links join. */
bool vn_wait_cannot_end_yet(struct vn_context *context, uint64_t within)
{
    struct vn_rdma *rdma = vn_rdma_of(context);
    if (rdma == NULL) return true;
    if (context->order.shared) return false;
    for (uint32_t i = 0; i < rdma->n_awaited;) {
        const struct vn_flow *flow = &rdma->flows[rdma->awaited[i]];
        if (flow->complete != VN_NEVER) rdma->awaited[i] = rdma->awaited[--rdma->n_awaited];
        else if (vn_flow_cannot_complete(context, flow, within)) i++;
        else return false;
    }
    return true;
}
