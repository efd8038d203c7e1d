/* A link's transmission gates: may a class start a frame? Flow control closes and opens them: PFC on PAUSE and RESUME (pfc.c),
 * credits as they are used and come (credit.c). A switch's port checks them before it dequeues for egress, or, behind a fabric,
 * before it sends from the output buffer; a host's NIC before it starts a frame. Flow-control frames bypass them, and with PFC a
 * host's CNPs and ACKs. Also what both keep account of: the ingress occupancy, and, with credits, what is sent. */
#ifndef VN_GATE_H
#define VN_GATE_H

#include "parts.h"

/* The subset of these classes that may start a frame. */
static inline uint32_t vn_gate_passes(const struct vn_link *link, uint32_t classes) { return classes & ~(uint32_t)link->closed; }

static inline bool vn_gate_closed(const struct vn_link *link, uint32_t class) { return link->closed >> class & 1; }
static inline void vn_gate_close(struct vn_link *link, uint32_t class) { link->closed |= (uint8_t)(1u << class); }
static inline void vn_gate_open(struct vn_link *link, uint32_t class) { link->closed &= (uint8_t)~(1u << class); }

/* A frame of the class has started on the link. */
static inline void vn_gate_sent(struct vn_net *net, struct vn_link *link, uint32_t class, uint32_t id)
{
    if (__builtin_expect(link->credits, 0)) vn_credit_sent(net, link, class, id);
}

/* A packet enters the ingress occupancy of a link; it leaves it. `by`: enum vn_flow_control, not VN_LOSSY. */
static inline void vn_gate_admitted(struct vn_net *net, uint8_t by, uint32_t in_link, uint32_t class, uint32_t bytes)
{
    if (by == VN_PFC) vn_pfc_admitted(net, in_link, class, bytes);
    else if (by == VN_CREDITS) vn_credit_admitted(net, in_link, class, bytes);
}

static inline void vn_gate_departed(struct vn_net *net, uint8_t by, uint32_t in_link, uint32_t class, uint32_t bytes)
{
    if (by == VN_PFC) vn_pfc_departed(net, in_link, class, bytes);
    else if (by == VN_CREDITS) vn_credit_departed(net, in_link, class, bytes);
}

/* After all changes by one flow-control frame: the port or NIC that sends on link `number` checks the gate again. */
static inline void vn_gate_changed(struct vn_net *net, uint32_t number)
{
    struct vn_link *link = vn_link_of(net, number);
    if (link->host) vn_nic_changed(net, &net->nodes[link->node]);
    else if (!link->pending) vn_port_serve(net, link, number);
}

#endif
