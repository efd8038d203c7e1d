/* Switches' packet generators (softswitch/csrc/generator.h): at each period a batch of frames for ingress, before all else that
 * happens at that time. */
#include "generator.h"

#include "packets.h"

void vn_generators_start(struct vn_net *net)
{
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        const struct vn_node *node = &net->nodes[i];
        if (node->host || node->sw->generator.n == 0) continue;
        if (node->n_ports == 0) vn_fail(net, "a switch without links has a packet generator");
        else vn_at(net, net->now + node->sw->generator.period_ns * 1000, VN_EV_GENERATE, i);
    }
}

void vn_generate(struct vn_net *net, uint32_t number)
{
    struct vn_node *node = &net->nodes[number];
    const struct sw_generator *generator = &node->sw->generator;
    for (uint32_t i = 0; i < generator->n && !net->failed; i++) {
        uint32_t id = vn_packet_new(net);
        if (id == VN_NONE) return;
        struct vn_packet *packet = vn_packet_at(net, id);
        static const uint8_t zeros[VN_TEMPLATE_BYTES];
        sw_generated_frame(vn_fill(net, packet, zeros), generator->packet_ids[i]);
        packet->bytes = SW_GENERATED_BYTES;
        packet->flow = VN_NONE;
        packet->data = false;
        packet->in_link = node->rx_ports->out_link ^ 1; /* no link's: any of the switch stands for it */
        vn_hop_ingress(net, node, generator->port, id);
    }
    vn_at(net, net->now + generator->period_ns * 1000, VN_EV_GENERATE, number);
}
