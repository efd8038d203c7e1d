/* Links: what takes what arrives over them, and which node an event of one concerns. */
#include "links/link.h"

#include "links/faults.h"
#include "links/flow_control.h"

void vn_link_receiver(struct vn_context *context, uint32_t number)
{
    struct vn_link *link = vn_link_of(context, number);
    struct vn_channel *channel = &context->channels[link->channel];
    if (vn_end_of(context, number)->faults != NULL) channel->arrival = vn_fault_arrival;
    else if (vn_flow_controls[link->flow_control]->arrival != NULL)
        channel->arrival = vn_flow_control_arrival;
    else if (vn_far(context, link)->kind->arrival != NULL)
        channel->arrival = vn_far(context, link)->kind->arrival;
    else channel->arrival = vn_link_arrival;
}

void vn_set_rate(struct vn_link *link, uint64_t rate_bps)
{
    link->rate_bps = rate_bps;
    uint64_t ps = 8000000000000u / rate_bps;
    link->ps_per_byte =
        8000000000000u % rate_bps == 0 && ps <= UINT32_MAX && link->tick == 1 ? (uint32_t)ps : 0;
}

void vn_link_event(struct vn_context *context, uint32_t number)
{
    struct vn_link *link = vn_link_of(context, number);
    VN_ASSERT(link->pending);
    link->pending = false;
    vn_link_may_send(context, link, number);
}

uint32_t vn_link_near(const struct vn_context *context, uint32_t id)
{
    return context->links[id].node;
}
uint32_t vn_link_far(const struct vn_context *context, uint32_t id)
{
    return context->links[id].to;
}
uint32_t vn_class_near(const struct vn_context *context, uint32_t id)
{
    return context->links[id / VN_CLASSES].node;
}
uint32_t vn_class_far(const struct vn_context *context, uint32_t id)
{
    return context->links[id / VN_CLASSES].to;
}
