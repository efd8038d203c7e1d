/* Flows that start when others have arrived whole, or when their senders have the last
 * acknowledgement. One may start at another host than that where the other is over, at that very
 * time: while that is possible, the events of all nodes happen in one order (vn_order). */
#include <errno.h>
#include <stdlib.h>

#include "virtual/flow.h"

/* `acknowledged`: whether the flow waits for the other's last acknowledgement. */
static bool elsewhere(const struct vn_context *context, const struct vn_flow *flow,
                      const struct vn_flow *earlier, bool acknowledged)
{
    return vn_sender_of(context, flow) !=
           (acknowledged ? vn_sender_of(context, earlier) : vn_receiver_of(context, earlier));
}

/* Whether the flow's last packet is acknowledged, too. */
static bool last_is_acknowledged(const struct vn_flow *flow)
{
    return flow->repeats || (flow->transport != NULL && flow->transport->every != 0);
}

int vn_flow_after(struct vn_context *context, uint32_t number, uint32_t earlier_number,
                  uint64_t delay_ps, uint64_t back_ps, uint64_t least_ps)
{
    struct vn_rdma *rdma = vn_rdma_of(context);
    if (number >= rdma->n_flows || earlier_number >= rdma->n_flows)
        return vn_refuse(context, -ENOENT, "no such flow");
    struct vn_flow *flow = &rdma->flows[number], *earlier = &rdma->flows[earlier_number];
    if (!vn_sends_here(context, flow) || !vn_receives_here(context, earlier))
        return vn_refuse(context, -EINVAL, "it would wait for an arrival in another process");
    if (flow->start != VN_NEVER) return vn_refuse(context, -EINVAL, "the flow has a start");
    if (earlier->packets == 0)
        return vn_refuse(context, -EINVAL, "it would wait for a flow without an end");
    if (earlier->complete != VN_NEVER)
        return vn_refuse(context, -EINVAL, "the flow that it would wait for has arrived");
    struct vn_wait *waits =
        vn_grown(rdma->waits, rdma->n_waits, &rdma->waits_capacity, sizeof *waits);
    if (waits == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
    rdma->waits = waits;
    bool acknowledged = back_ps != VN_NEVER && last_is_acknowledged(earlier);
    if (acknowledged && !vn_sends_here(context, earlier))
        return vn_refuse(context, -EINVAL, "it would wait for another process's acknowledgement");
    if (back_ps != VN_NEVER && !acknowledged) delay_ps += back_ps;
    if (elsewhere(context, flow, earlier, acknowledged)) {
        bool before = earlier->awaited,
             started = earlier->start <= context->now || !vn_sends_here(context, earlier);
        earlier->awaited = true;
        if (!before && started && !vn_wait_started(rdma, earlier_number)) {
            return vn_refuse(context, -ENOMEM, "out of memory");
        }
        context->turns.waiting++;
    }
    waits[rdma->n_waits] = (struct vn_wait){delay_ps, number, earlier->followers, acknowledged};
    earlier->followers = rdma->n_waits++;
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

void vn_wait_over(struct vn_context *context, uint32_t number, bool acknowledged)
{
    const struct vn_flow *earlier = vn_flow_at(context, number);
    const struct vn_rdma *rdma = vn_rdma_of(context);
    for (uint32_t i = earlier->followers; i != VN_NONE; i = rdma->waits[i].next) {
        struct vn_flow *flow = vn_flow_at(context, rdma->waits[i].flow);
        if (rdma->waits[i].acknowledged != acknowledged) continue;
        if (elsewhere(context, flow, earlier, acknowledged)) context->turns.waiting--;
        if (context->now + rdma->waits[i].delay > flow->due)
            flow->due = context->now + rdma->waits[i].delay;
        if (--flow->waits != 0) continue;
        flow->start = flow->due;
        vn_nic_await(context, rdma->waits[i].flow);
    }
}

/* Whether no flow starts any more because this one is over. A lossless sender's flow ends when its
 * last packet has left, before that is acknowledged. */
static bool over(const struct vn_flow *flow)
{
    if (flow->complete == VN_NEVER) return false;
    if (!last_is_acknowledged(flow)) return true;
    return flow->repeats ? flow->ended != VN_NEVER : flow->transport->acked == flow->packets;
}

/* A flow that starts in the meantime takes at least a link's delay to arrive, which is no less than
 * the look ahead; unless nodes share a queue, which shorter links join. Its last acknowledgement
 * comes later than it arrives; of one that has arrived, any time may be that of the last
 * acknowledgement. */
bool vn_wait_cannot_end_yet(struct vn_context *context, uint64_t within)
{
    struct vn_rdma *rdma = vn_rdma_of(context);
    if (rdma == NULL) return true;
    if (context->order.shared) return false;
    for (uint32_t i = 0; i < rdma->n_awaited;) {
        const struct vn_flow *flow = &rdma->flows[rdma->awaited[i]];
        if (over(flow)) rdma->awaited[i] = rdma->awaited[--rdma->n_awaited];
        else if (vn_flow_cannot_complete(context, flow, within)) i++;
        else return false;
    }
    return true;
}
