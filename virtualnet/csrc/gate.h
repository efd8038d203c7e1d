/* A link's transmission gates: may a class start a frame? Flow control closes and opens them (pfc.c, on PAUSE and RESUME). A
 * switch's port checks them before it dequeues for egress, or, behind a fabric, before it sends from the output buffer; a host's
 * NIC before it starts a frame. Flow-control frames, and a host's CNPs and ACKs, bypass them. */
#ifndef VN_GATE_H
#define VN_GATE_H

#include "parts.h"

/* The subset of these classes that may start a frame. */
static inline uint32_t vn_gate_passes(const struct vn_link *link, uint32_t classes) { return classes & ~(uint32_t)link->closed; }

static inline bool vn_gate_closed(const struct vn_link *link, uint32_t class) { return link->closed >> class & 1; }
static inline void vn_gate_close(struct vn_link *link, uint32_t class) { link->closed |= (uint8_t)(1u << class); }
static inline void vn_gate_open(struct vn_link *link, uint32_t class) { link->closed &= (uint8_t)~(1u << class); }

/* After all changes by one PFC frame: the port or NIC that sends on link `number` checks the gate again. */
static inline void vn_gate_changed(struct vn_net *net, uint32_t number)
{
    struct vn_link *link = vn_link_of(net, number);
    if (link->host) vn_nic_changed(net, &net->nodes[link->node]);
    else if (!link->pending) vn_port_serve(net, link, number);
}

#endif
