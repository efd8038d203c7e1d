/* Switches' packet generators (softswitch/csrc/generator.h): at each period a batch of frames for
 * ingress, before all else that happens at that time. */
#include "generator.h"

#include "switches/switch.h"

bool vn_generator_start(struct vn_context *context, struct vn_node *node)
{
    const struct sw_switch *sw = vn_switch_of(node)->sw;
    /* a live switch makes its frames itself */
    if (sw->generator.n == 0 || sw->engine != NULL) return true;
    if (node->n_in == 0) vn_fail(context, "a switch without links has a packet generator");
    else
        vn_at(context, node->number, context->now + sw->generator.period_ns * 1000, VN_EV_GENERATE,
              node->number);
    return !context->failed;
}

uint32_t vn_generate_node(const struct vn_context *context, uint32_t node)
{
    (void)context;
    return node;
}

void vn_generate(struct vn_context *context, uint32_t number)
{
    struct vn_node *node = &context->nodes[number];
    const struct sw_generator *generator = &vn_switch_of(node)->sw->generator;
    for (uint32_t i = 0; i < generator->n && !context->failed; i++) {
        uint32_t id = vn_packet_new(context);
        if (id == VN_NONE) return;
        struct vn_packet *packet = vn_packet_at(context, id);
        static const uint8_t zeros[VN_TEMPLATE_BYTES];
        sw_generated_frame(vn_fill(context, packet, zeros), generator->packet_ids[i]);
        packet->bytes = SW_GENERATED_BYTES;
        packet->flow = VN_NONE;
        packet->data = false;
        packet->in_link = node->in->link; /* no link's: any of the switch stands for it */
        vn_hop_ingress(context, node, generator->port, id);
    }
    vn_at(context, number, context->now + generator->period_ns * 1000, VN_EV_GENERATE, number);
}
