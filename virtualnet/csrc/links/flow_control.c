/* What flow controls have in common: their frames wait for the response time, and are seen by the far end first. */
#include "links/flow_control.h"

#define VN_FLOW_CONTROL(name) static const struct vn_flow_control vn_flow_control_##name;
VN_FLOW_CONTROLS(VN_FLOW_CONTROL)
#undef VN_FLOW_CONTROL

#define VN_FLOW_CONTROL(name) [VN_FLOW_CONTROL_##name] = &vn_flow_control_##name,
static const struct vn_flow_control *const vn_flow_controls[VN_OWN] = {VN_FLOW_CONTROLS(VN_FLOW_CONTROL)};
#undef VN_FLOW_CONTROL

void vn_flow_control_arrived(struct vn_context *context, uint32_t number, uint32_t id, uint64_t late)
{
    struct vn_link *link = vn_link_of(context, number);
    uint64_t at = context->now + context->response + late;
    if (at < link->effect_at) at = link->effect_at;
    vn_fifo_push(context, &link->arrived, id);
    if (at == context->now && link->arrived.packets == 1) {
        vn_flow_control_of(link)->effect(context, number);
    } else {
        link->effect_at = at;
        vn_at(context, link->to, at, VN_EV_CONTROL, number);
    }
}

void vn_flow_control_arrival(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    vn_flow_control_of(vn_link_of(context, channel->link))->arrival(context, channel, id, 0);
}

void vn_link_arrival(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    if (!vn_flow_control_took(context, channel, id)) context->nodes[channel->to].kind->take(context, channel, id);
}

void vn_flow_control_seen(struct vn_context *context, const struct vn_link *link, uint32_t id)
{
    vn_packet_at(context, id)->in_link = (uint32_t)(link - context->links);
    vn_far(context, link)->kind->control(context, &context->channels[link->channel], id);
}

void vn_flow_control_send(struct vn_context *context, uint32_t number, uint32_t id)
{
    struct vn_link *link = vn_link_of(context, number);
    vn_control_push(context, link, id);
    vn_link_may_send(context, link, number);
}

void vn_flow_control_effect(struct vn_context *context, uint32_t number)
{
    VN_ASSERT(vn_link_of(context, number)->arrived.packets != 0);
    vn_flow_control_of(vn_link_of(context, number))->effect(context, number);
}

void vn_flow_control_refresh(struct vn_context *context, uint32_t id)
{
    vn_flow_control_of(vn_link_of(context, id / VN_CLASSES))->refresh(context, id / VN_CLASSES, id % VN_CLASSES);
}

bool vn_flow_control_fits(const struct vn_context *context, uint32_t bytes)
{
    for (uint32_t i = 0; i < context->n_links; i++) {
        const struct vn_link *link = &context->links[i];
        if (vn_flow_control_of(link)->fits != NULL && !vn_flow_control_of(link)->fits(link, bytes)) return false;
    }
    return true;
}

void vn_flow_control_limits(struct vn_context *context, uint32_t number)
{
    const struct vn_flow_control *kind = vn_flow_control_of(vn_link_of(context, number));
    if (kind->limits != NULL) kind->limits(context, number);
}
