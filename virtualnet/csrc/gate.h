/* The gate below the pipeline: may a class start a frame on this link? A flow control closes and opens it (pfc.c, by what the
 * far end says); a switch's port and a host's NIC ask it. Frames of the flow control, and a host's CNPs and ACKs, pass it. */
#ifndef VN_GATE_H
#define VN_GATE_H

#include "parts.h"

/* Of these classes, the ones that may start a frame. */
static inline uint32_t vn_gate_passes(const struct vn_link *link, uint32_t classes) { return classes & ~(uint32_t)link->closed; }

static inline bool vn_gate_closed(const struct vn_link *link, uint32_t class) { return link->closed >> class & 1; }
static inline void vn_gate_close(struct vn_link *link, uint32_t class) { link->closed |= (uint8_t)(1u << class); }
static inline void vn_gate_open(struct vn_link *link, uint32_t class) { link->closed &= (uint8_t)~(1u << class); }

/* After all that one frame closed and opened: the sender of link `number` decides anew. */
static inline void vn_gate_changed(struct vn_net *net, uint32_t number)
{
    struct vn_link *link = vn_link_of(net, number);
    if (link->host) vn_nic_changed(net, &net->nodes[link->node]);
    else if (!link->pending) vn_port_serve(net, link, number);
}

#endif
