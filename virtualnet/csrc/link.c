/* Links: frames on their way. They arrive in order, so one event a link is enough. */
#include "net.h"

void vn_transmit(struct vn_net *net, uint32_t number, uint32_t id)
{
    struct vn_link *link = vn_link_of(net, number);
    struct vn_packet *packet = vn_packet_at(net, id);
    link->free = net->now + vn_duration(link, packet->bytes);
    link->packets++;
    link->bytes += packet->bytes;
    if (link->capture != NULL) vn_capture_frame(net, link->capture, packet, link->free);
    /* Who is on the wire knows of the next ones: to handle one, the others needn't be at hand. */
    uint64_t due = link->free + link->delay;
    if (link->wire.packets == 0) vn_at(net, due, VN_EV_ARRIVAL, number);
    else vn_packet_at(net, link->wire.tail)->next_due = due;
    if (link->wire.packets > 1) vn_packet_at(net, link->before_last)->after_next = id;
    link->before_last = link->wire.tail;
    vn_fifo_push(net, &link->wire, id);
}

static bool is_mac_control(const uint8_t *frame) { return frame[12] == 0x88 && frame[13] == 0x08; }

/* Has the packet after the next one brought near, and what the next one will need. */
static void look_ahead_on(const struct vn_net *net, const struct vn_link *link, const struct vn_packet *packet)
{
    struct vn_packet *next = vn_packet_at(net, link->wire.head);
    if (link->wire.packets > 1) vn_fetch_packet(net, packet->after_next);
    if (!link->to_host && net->inplace) {
        const struct sw_instance *instance = net->nodes[link->to].instance;
        instance->program->inplace->prepare(instance, vn_frame(net, next), link->to_port);
    } else if (link->to_host && next->data) {
        __builtin_prefetch(&net->flows[next->flow].window_end, 1);
        __builtin_prefetch(&net->flows[next->flow].expected, 1);
    }
}

void vn_arrival(struct vn_net *net, uint32_t number)
{
    struct vn_link *link = vn_link_of(net, number);
    uint32_t id = vn_fifo_pop(net, &link->wire);
    struct vn_packet *packet = vn_packet_at(net, id);
    if (link->wire.packets != 0) {
        vn_at(net, packet->next_due, VN_EV_ARRIVAL, number);
        if (vn_large(net)) look_ahead_on(net, link, packet);
    }
    if (is_mac_control(vn_frame(net, packet))) {
        vn_pfc_arrived(net, number, id);
        return;
    }
    struct vn_node *node = &net->nodes[link->to];
    if (link->to_host) {
        vn_host_receive(net, node, id);
        return;
    }
    packet->in_link = number;
    if (packet->data) net->data_traversals++;
    vn_hop_ingress(net, node, link->to_port, id);
}
