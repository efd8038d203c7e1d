/* Links: frames on their way. They arrive in order. */
#include <stdlib.h>

#include "packets.h"

/* False: the run has failed. */
static bool widen(struct vn_net *net, struct vn_side *side)
{
    uint32_t capacity = side->capacity == 0 ? 8 : 2 * side->capacity;
    struct vn_sent *ring = aligned_alloc(64, capacity * sizeof *ring);
    if (ring == NULL) {
        vn_fail(net, "out of memory for a link");
        return false;
    }
    for (uint32_t i = 0; i < side->n; i++) ring[i] = *vn_sent_at(side, i);
    free(side->ring);
    side->ring = ring;
    side->capacity = capacity;
    side->head = 0;
    return true;
}

void vn_transmit(struct vn_net *net, struct vn_link *link, uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(net, id);
    struct vn_side *to = &net->sides[link->far];
    link->free = net->now + vn_duration(link, packet->bytes);
    link->packets++;
    link->bytes += packet->bytes;
    if (link->captured) vn_capture_frame(net, link->capture, packet, link->free);
    if (__builtin_expect(to->n == to->capacity, 0) && !widen(net, to)) return;
    uint64_t due = link->free + link->delay;
    *vn_sent_at(to, to->n++) = (struct vn_sent){due, id};
    if (!net->by_node) {
        if (to->n == 1) vn_at(net, due, VN_EV_ARRIVAL, link->far);
    } else if (to->arrives == VN_NEVER) {
        to->arrives = due;
        if (due < net->schedule.first[to->node]) net->schedule.first[to->node] = due;
    }
}

static bool is_mac_control(const uint8_t *frame) { return wire_load16(frame + WIRE_TYPE) == WIRE_TYPE_MAC_CONTROL; }

void vn_arrival(struct vn_net *net, uint32_t number, uint32_t id)
{
    struct vn_side *side = &net->sides[number];
    uint32_t link = side->link ^ 1;
    side->head++;
    side->n--;
    struct vn_packet *packet = vn_packet_at(net, id);
    struct vn_node *node = &net->nodes[side->node];
    if (is_mac_control(vn_frame(net, packet))) {
        vn_pfc_arrived(net, link, id);
    } else if (side->host) {
        vn_host_receive(net, node, id);
    } else {
        packet->in_link = link;
        if (packet->data) net->data_traversals++;
        vn_hop_ingress(net, node, side->port, id);
    }
}
