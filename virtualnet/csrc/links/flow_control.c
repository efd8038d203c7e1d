/* What flow controls have in common: their frames wait for the response time, and are seen by the
 * far end first. */
#include "links/flow_control.h"

#define VN_FLOW_CONTROL(name) static const struct vn_flow_control vn_flow_control_##name;
VN_FLOW_CONTROLS(VN_FLOW_CONTROL)
#undef VN_FLOW_CONTROL

#define VN_FLOW_CONTROL(name) [VN_FLOW_CONTROL_##name] = &vn_flow_control_##name,
static const struct vn_flow_control *const vn_flow_controls[VN_OWN] = {
    VN_FLOW_CONTROLS(VN_FLOW_CONTROL)};
#undef VN_FLOW_CONTROL

void vn_flow_control_arrived(struct vn_context *context, uint32_t number, uint32_t id,
                             uint64_t late)
{
    struct vn_link *end = vn_end_of(context, number);
    uint64_t at = context->now + context->response + late;
    if (at < end->effect_at) at = end->effect_at;
    VN_ASSERT(at >= context->now + late);
    vn_fifo_push(context, &end->arrived, id);
    if (at == context->now && end->arrived.packets == 1) {
        vn_flow_control_of(end)->effect(context, end);
    } else {
        end->effect_at = at;
        vn_at(context, end->node, at, VN_EV_CONTROL, number);
    }
}

void vn_flow_control_arrival(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    vn_flow_control_of(vn_end_of(context, channel->link))->arrival(context, channel, id, 0);
}

void vn_link_arrival(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    if (!vn_flow_control_took(context, channel, id))
        context->nodes[channel->to].kind->take(context, channel, id);
}

void vn_flow_control_seen(struct vn_context *context, const struct vn_link *end, uint32_t id)
{
    uint32_t number = vn_into(context, end);
    vn_packet_at(context, id)->in_link = number;
    vn_near(context, end)
        ->kind->control(context, &context->channels[context->links[number].channel], id);
}

void vn_flow_control_send(struct vn_context *context, struct vn_link *link, uint32_t id)
{
    vn_control_push(context, link, id);
    vn_link_may_send(context, link, (uint32_t)(link - context->links));
}

void vn_flow_control_effect(struct vn_context *context, uint32_t number)
{
    struct vn_link *end = vn_end_of(context, number);
    VN_ASSERT(end->arrived.packets != 0 && end->effect_at >= context->now);
    vn_flow_control_of(end)->effect(context, end);
}

void vn_flow_control_refresh_at(struct vn_context *context, const struct vn_link *end,
                                uint32_t class, uint64_t time)
{
    vn_at(context, end->node, time, VN_EV_REFRESH, vn_into(context, end) * VN_CLASSES + class);
}

void vn_flow_control_refresh(struct vn_context *context, uint32_t id)
{
    struct vn_link *end = vn_end_of(context, id / VN_CLASSES);
    vn_flow_control_of(end)->refresh(context, end, id % VN_CLASSES);
}

bool vn_flow_control_fits(const struct vn_context *context, uint32_t bytes)
{
    for (uint32_t i = 0; i < context->n_links; i++) {
        const struct vn_link *link = &context->links[i];
        if (vn_flow_control_of(link)->fits != NULL && !vn_flow_control_of(link)->fits(link, bytes))
            return false;
    }
    return true;
}

void vn_flow_control_limits(struct vn_context *context, uint32_t number)
{
    const struct vn_flow_control *kind = vn_flow_control_of(vn_link_of(context, number));
    if (kind->limits != NULL) kind->limits(context, number);
}
