/* A switch's CPU port: what its controller sends in, and what the program sends to its controller, packet-ins and digests. These wait
 * in the switch's queue of events (softswitch/csrc/events.h), with the time of the hop. */
#include <errno.h>

#include "packets.h"

int vn_packet_out(struct vn_net *net, uint32_t number, const uint8_t *bytes, uint32_t length)
{
    start(net);
    if (net->failed) return -EINVAL;
    if (number >= net->n_nodes || net->nodes[number].host || net->nodes[number].sw->cpu_port == 0) {
        return refuse(net, -EINVAL, "no such switch, or it has no CPU port");
    }
    struct vn_node *node = &net->nodes[number];
    if (node->n_ports == 0) return refuse(net, -EINVAL, "a switch without links takes no packet");
    for (uint32_t i = VN_STORED; i < length; i++) {
        if (bytes[i] != 0)
            return refuse(net, -EINVAL, "virtual time stores the first 128 bytes of a frame: the others must be zeros");
    }
    int code = allow_frame(net, length);
    if (code != 0) return code;
    uint32_t id = vn_packet_new(net);
    if (id == VN_NONE) return -ENOMEM;
    struct vn_packet *packet = vn_packet_at(net, id);
    uint8_t *frame = vn_frame(net, packet);
    memset(frame, 0, VN_STORED);
    memcpy(frame, bytes, length < VN_STORED ? length : VN_STORED);
    packet->bytes = (uint16_t)length;
    packet->flow = VN_NONE;
    packet->data = false;
    packet->in_link = node->rx_ports->out_link ^ 1; /* no link's: any of the switch stands for it */
    vn_hop_ingress(net, node, node->sw->cpu_port, id);
    return net->failed ? -EINVAL : 0;
}

void vn_packet_in(const struct vn_net *net, const struct vn_node *node, const struct vn_packet *packet, const uint8_t *data,
                  uint32_t length)
{
    uint8_t frame[SW_MAX_FRAME];
    uint32_t kept = length < sizeof frame ? length : (uint32_t)sizeof frame;
    const uint8_t *end = (const uint8_t *)packet + net->frame_at + VN_STORED;
    uint32_t stored = data + kept < end ? kept : (uint32_t)(end - data);
    memcpy(frame, data, stored);
    memset(frame + stored, 0, kept - stored);
    sw_events_put(&node->sw->events, SW_EVENT_PACKET_IN, 0, frame, kept, net->now / 1000);
}

void vn_digest(const struct vn_net *net, const struct vn_node *node, const struct sw_packet *p)
{
    uint8_t packed[4096];
    int32_t list = p->req.digest_list;
    uint32_t length = node->instance->program->pack_digest(list, p, packed, sizeof packed);
    sw_events_put(&node->sw->events, SW_EVENT_DIGEST, (uint32_t)list, packed, length, net->now / 1000);
}
