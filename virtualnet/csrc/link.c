/* Links and their frames in flight, which arrive in order. */
#include <stdlib.h>

#include "packets.h"

/* Doubles a ring. False: the run has failed. */
static bool grow_ring(struct vn_net *net, struct vn_rx_port *rx)
{
    uint32_t capacity = rx->capacity == 0 ? 8 : 2 * rx->capacity;
    struct vn_in_flight *ring = aligned_alloc(64, capacity * sizeof *ring);
    if (ring == NULL) {
        vn_fail(net, "out of memory for a link");
        return false;
    }
    for (uint32_t i = 0; i < rx->n; i++) ring[i] = *vn_in_flight_at(rx, i);
    free(rx->ring);
    rx->ring = ring;
    rx->capacity = capacity;
    rx->head = 0;
    return true;
}

void vn_transmit(struct vn_net *net, struct vn_link *link, uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(net, id);
    struct vn_rx_port *to = &net->rx_ports[link->rx_port];
    link->free_at = net->now + vn_duration(link, packet->bytes);
    link->packets++;
    link->bytes += packet->bytes;
    if (link->captured) vn_capture_frame(net, link->capture, packet, link->free_at);
    if (__builtin_expect(to->n == to->capacity, 0) && !grow_ring(net, to)) return;
    uint64_t due = link->free_at + link->delay;
    *vn_in_flight_at(to, to->n++) = (struct vn_in_flight){due, id};
    if (!net->by_node) {
        if (to->n == 1) vn_at(net, due, VN_EV_ARRIVAL, link->rx_port);
    } else if (to->next_arrival == VN_NEVER) {
        to->next_arrival = due;
        if (due < net->schedule.next_event[to->node]) net->schedule.next_event[to->node] = due;
    }
}

static bool is_mac_control(const uint8_t *frame) { return wire_load16(frame + WIRE_TYPE) == WIRE_TYPE_MAC_CONTROL; }

void vn_flow_control_effect(struct vn_net *net, uint32_t number)
{
    if (net->links[number].credits) vn_credit_effect(net, number);
    else vn_pfc_effect(net, number);
}

void vn_flow_control_arrived(struct vn_net *net, uint32_t number, uint32_t id, uint64_t late)
{
    struct vn_link *link = vn_link_of(net, number);
    uint64_t at = net->now + net->response + late;
    if (at < link->effect_at) at = link->effect_at;
    vn_fifo_push(net, &link->arrived, id);
    if (at == net->now && link->arrived.packets == 1) {
        vn_flow_control_effect(net, number);
    } else {
        link->effect_at = at;
        vn_at(net, at, VN_EV_PFC, number);
    }
}

void vn_deliver(struct vn_net *net, const struct vn_rx_port *rx, uint32_t link, uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(net, id);
    struct vn_node *node = &net->nodes[rx->node];
    if (rx->host) {
        vn_host_receive(net, node, id);
    } else {
        packet->in_link = link;
        if (packet->data) net->data_traversals++;
        vn_hop_ingress(net, node, rx->port, id);
    }
}

void vn_arrival(struct vn_net *net, uint32_t number, uint32_t id)
{
    struct vn_rx_port *rx = &net->rx_ports[number];
    uint32_t link = rx->out_link ^ 1;
    rx->head++;
    rx->n--;
    if (__builtin_expect(rx->special, 0)) {
        if (net->links[link].faults != NULL) vn_fault_arrival(net, rx, link, id);
        else vn_credit_arrival(net, rx, link, id, 0);
    } else if (is_mac_control(vn_frame(net, vn_packet_at(net, id)))) vn_flow_control_arrived(net, link, id, 0);
    else vn_deliver(net, rx, link, id);
}
