/* A switch's own time: from a frame's arrival to its ingress a fixed latency, and cut-through: a
 * frame arrives with its first bytes, so that it can leave while it comes in. By a faster link it
 * leaves later: so that its last bit has come when it is to be sent. */
#include "switches/pipeline.h"

#include "switches/scheduler.h"

/* The port by which a frame came in. */
static struct vn_port_more *came_in(const struct vn_context *context, uint32_t in_link)
{
    return vn_port_more(vn_end_of(context, in_link));
}

void vn_pipeline_take(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    uint64_t latency = vn_switch_of(&context->nodes[channel->to])->latency;
    if (latency == 0) {
        switch_take(context, channel, id);
        return;
    }
    vn_fifo_push(context, &came_in(context, channel->link)->pipeline, id);
    vn_at(context, channel->to, context->now + latency, VN_EV_PIPELINE, channel->link);
}

uint64_t vn_pipeline_latency(const struct vn_node *node)
{
    return vn_switch_of((struct vn_node *)node)->latency;
}

void vn_pipeline_event(struct vn_context *context, uint32_t in_link)
{
    uint32_t id = vn_fifo_pop(context, &came_in(context, in_link)->pipeline);
    switch_take(context, &context->channels[context->links[in_link].channel], id);
}

bool vn_pipeline_holds(struct vn_context *context, struct vn_link *link, uint32_t class,
                       uint32_t id)
{
    const struct vn_packet *packet = vn_packet_at(context, id);
    const struct vn_link *in = &context->links[packet->in_link];
    struct vn_port_more *more = came_in(context, packet->in_link);
    uint32_t first = packet->bytes < VN_CUT_BYTES ? packet->bytes : VN_CUT_BYTES;
    uint64_t rest = vn_duration(in, packet->bytes) - vn_duration(in, first),
             out = vn_duration(link, packet->bytes);
    if (rest <= out || more->held != VN_NONE)
        return false; /* a frame comes after the other: if one is held, this one is its copy */
    more->held = id;
    more->held_class = (uint8_t)class;
    more->held_link = (uint32_t)(link - context->links);
    vn_at(context, link->node, context->now + rest - out, VN_EV_HELD, packet->in_link);
    return true;
}

void vn_pipeline_held(struct vn_context *context, uint32_t in_link)
{
    struct vn_port_more *more = came_in(context, in_link);
    uint32_t id = more->held;
    VN_ASSERT(id != VN_NONE);
    more->held = VN_NONE;
    vn_port_admit_held(context, more->held_link, id, more->held_class);
}
