/* Packets in memory, and the FIFOs in which they wait. */
#ifndef VN_PACKETS_H
#define VN_PACKETS_H

#include "parts.h"

static uint32_t vn_packet_grow(struct vn_net *);

/* A packet's id is the index of its first cache line in the pool. */
static inline struct vn_packet *vn_packet_at(const struct vn_net *net, uint32_t id)
{
    return (struct vn_packet *)(void *)(net->pool + (size_t)id * 64);
}

static inline uint8_t *vn_frame(const struct vn_net *net, struct vn_packet *packet) { return (uint8_t *)packet + net->frame_at; }

/* Allocates a packet; its fields are undefined. VN_NONE: the run has failed. */
static inline uint32_t vn_packet_new(struct vn_net *net)
{
    uint32_t id = net->free_packet;
    if (__builtin_expect(id == VN_NONE, 0)) {
        id = vn_packet_grow(net);
        if (id == VN_NONE) return id;
    } else {
        net->free_packet = vn_packet_at(net, id)->next;
    }
    if (++net->in_use > net->most_in_use) net->most_in_use = net->in_use;
    return id;
}

/* The frame in flight with this index; 0 arrives first. */
static inline struct vn_in_flight *vn_in_flight_at(const struct vn_rx_port *rx, uint32_t index)
{
    return &rx->ring[(rx->head + index) & (rx->capacity - 1)];
}

/* Fills the frame: the template, then zeros. */
static inline uint8_t *vn_fill(const struct vn_net *net, struct vn_packet *packet, const uint8_t *template)
{
    uint8_t *frame = vn_frame(net, packet);
    memcpy(frame, template, VN_TEMPLATE_BYTES);
    if (!net->inplace) memset(frame + VN_TEMPLATE_BYTES, 0, VN_STORED - VN_TEMPLATE_BYTES);
    return frame;
}

static inline void vn_packet_free(struct vn_net *net, uint32_t id)
{
    vn_packet_at(net, id)->next = net->free_packet;
    net->free_packet = id;
    net->in_use--;
}

/* Frees a packet that goes no further; its flow counts it. */
static inline void vn_packet_lose(struct vn_net *net, uint32_t id)
{
    const struct vn_packet *packet = vn_packet_at(net, id);
    if (packet->data) net->flows[packet->flow].lost++;
    vn_packet_free(net, id);
}

static inline void vn_fifo_push(struct vn_net *net, struct vn_fifo *fifo, uint32_t id)
{
    if (fifo->packets++ != 0) vn_packet_at(net, fifo->tail)->next = id;
    else fifo->head = id;
    fifo->tail = id;
}

static inline uint32_t vn_fifo_pop(struct vn_net *net, struct vn_fifo *fifo)
{
    uint32_t id = fifo->head;
    fifo->head = vn_packet_at(net, id)->next;
    fifo->packets--;
    return id;
}

/* Control frames of a port, which are sent before all others. */
static inline void vn_control_push(struct vn_net *net, struct vn_link *link, uint32_t id)
{
    vn_fifo_push(net, &link->control, id);
    link->has_control = true;
}

static inline uint32_t vn_control_pop(struct vn_net *net, struct vn_link *link)
{
    uint32_t id = vn_fifo_pop(net, &link->control);
    link->has_control = link->control.packets != 0;
    return id;
}

#endif
