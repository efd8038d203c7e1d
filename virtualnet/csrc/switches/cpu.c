/* A switch's CPU port: what its controller sends in, and what the program sends to its controller,
 * packet-ins and digests. These wait in the switch's queue of events (softswitch/csrc/events.h),
 * with the time of the hop. */
#include <errno.h>
#include <string.h>

#include "links/build.h"
#include "switches/switch.h"

int vn_cpu_out(struct vn_context *context, uint32_t number, const uint8_t *bytes, uint32_t length)
{
    struct vn_node *node = number < context->n_nodes ? &context->nodes[number] : NULL;
    if (node == NULL || !vn_is_switch(node) || vn_switch_of(node)->sw->cpu_port == 0) {
        return vn_refuse(context, -EINVAL, "no such switch, or it has no CPU port");
    }
    if (node->n_in == 0)
        return vn_refuse(context, -EINVAL, "a switch without links takes no packet");
    for (uint32_t i = context->pool.stored; i < length; i++) {
        if (bytes[i] != 0) {
            return vn_refuse(
                context, -EINVAL,
                "virtual time stores the first 128 bytes of a frame: the others must be zeros");
        }
    }
    int code = vn_allow_frame(context, length);
    if (code != 0) return code;
    uint32_t id = vn_packet_new(context);
    if (id == VN_NONE) return -ENOMEM;
    struct vn_packet *packet = vn_packet_at(context, id);
    uint8_t *frame = vn_frame(context, packet);
    VN_ASSERT(!context->pool.inplace);
    memset(frame, 0, context->pool.stored);
    memcpy(frame, bytes, length < context->pool.stored ? length : context->pool.stored);
    packet->bytes = (uint16_t)length;
    packet->flow = VN_NONE;
    packet->data = false;
    packet->stamp = VN_NEVER;
    packet->in_link = node->in->link; /* no link's: any of the switch stands for it */
    vn_hop_ingress(context, node, vn_switch_of(node)->sw->cpu_port, id);
    return context->failed ? -EINVAL : 0;
}

static uint64_t traced_ns(void *context)
{
    return ((const struct vn_context *)context)->now / 1000;
}

int vn_trace(struct vn_context *context, uint32_t number)
{
    struct vn_node *node = number < context->n_nodes ? &context->nodes[number] : NULL;
    if (node == NULL || !vn_is_switch(node)) return vn_refuse(context, -EINVAL, "no such switch");
    sw_trace_clock(vn_switch_of(node)->sw, traced_ns, context);
    return 0;
}

/* Python is called now, after all else that happens at this time; once. */
static void call(struct vn_context *context, struct vn_node *node)
{
    struct vn_switch *self = vn_switch_of(node);
    if (self->call == VN_NONE || self->called == context->now) return;
    self->called = context->now;
    vn_at(context, VN_NONE, context->now, VN_EV_RETURN, self->call);
}

int vn_call_for_cpu(struct vn_context *context, uint32_t number, uint32_t call_number)
{
    struct vn_node *node = number < context->n_nodes ? &context->nodes[number] : NULL;
    if (node == NULL || !vn_is_switch(node)) return vn_refuse(context, -EINVAL, "no such switch");
    if (context->order.by_node) return vn_refuse(context, -EINVAL, VN_STRICT_ONLY);
    vn_switch_of(node)->call = call_number;
    vn_switch_of(node)->called = VN_NEVER;
    return 0;
}

void vn_cpu_in(struct vn_context *context, struct vn_node *node, const struct vn_packet *packet,
               const uint8_t *data, uint32_t length)
{
    uint8_t frame[SW_MAX_FRAME];
    uint32_t bytes = length < sizeof frame ? length : (uint32_t)sizeof frame;
    const uint8_t *end = (const uint8_t *)packet + context->pool.frame_at + context->pool.stored;
    uint32_t stored = VN_LENT || data + bytes < end ? bytes : (uint32_t)(end - data);
    memcpy(frame, data, stored);
    memset(frame + stored, 0, bytes - stored);
    sw_events_put(&vn_switch_of(node)->sw->events, SW_EVENT_PACKET_IN, 0, frame, bytes,
                  context->now / 1000);
    call(context, node);
}

void vn_cpu_digest(struct vn_context *context, struct vn_node *node, const struct sw_packet *p)
{
    uint8_t packed[4096];
    int32_t list = p->req.digest_list;
    uint32_t length =
        vn_switch_of(node)->instance->program->pack_digest(list, p, packed, sizeof packed);
    sw_events_put(&vn_switch_of(node)->sw->events, SW_EVENT_DIGEST, (uint32_t)list, packed, length,
                  context->now / 1000);
    call(context, node);
}
