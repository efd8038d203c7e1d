/* A link's transmission gates: may a class start a frame? Flow control closes and opens them: PFC
 * on PAUSE and RESUME (pfc.c), credits as they are used and come (credit.c). A switch's port checks
 * them before it dequeues for egress, or, behind a fabric, before it sends from the output buffer;
 * a host's NIC before it starts a frame. Flow-control frames bypass them, and with PFC a host's
 * CNPs and ACKs. Also what flow controls keep account of: the ingress occupancy, and what is
 * sent. */
#ifndef VN_GATE_H
#define VN_GATE_H

#include "links/flow_control.h"
#include "links/pfc.h"
#include "links/shared_buffer.h"

/* The subset of these classes that may start a frame. */
static inline uint32_t vn_gate_passes(const struct vn_link *link, uint32_t classes)
{
    return classes & ~(uint32_t)link->closed;
}

static inline bool vn_gate_closed(const struct vn_link *link, uint32_t class)
{
    return link->closed >> class & 1;
}
static inline void vn_gate_close(const struct vn_context *context, struct vn_link *link,
                                 uint32_t class)
{
    VN_ASSERT(class < VN_CLASSES);
    vn_observe_gate(context, link, class, true);
    link->closed |= (uint8_t)(1u << class);
}
static inline void vn_gate_open(const struct vn_context *context, struct vn_link *link,
                                uint32_t class)
{
    VN_ASSERT(class < VN_CLASSES);
    vn_observe_gate(context, link, class, false);
    link->closed &= (uint8_t)~(1u << class);
}

/* A frame of the class has started on the link. */
static inline void vn_gate_sent(struct vn_context *context, struct vn_link *link, uint32_t class,
                                uint32_t id)
{
    if (__builtin_expect(link->paid, 0))
        vn_flow_controls[link->flow_control]->sent(context, link, class, id);
}

/* A packet enters the ingress occupancy of the port by which it came in; it leaves it. `by`: enum
 * vn_flow_control_number, not VN_LOSSY. PFC's account and that of shared buffers are in line. */
VN_ALWAYS void vn_gate_admitted(struct vn_context *context, uint8_t by, struct vn_link *end,
                                uint32_t class, uint32_t bytes)
{
    VN_ASSERT(by != VN_LOSSY && class < VN_CLASSES &&
              (by == VN_OWN || by == end->classes[class].lossless));
    if (__builtin_expect(by == VN_FLOW_CONTROL_pfc, 1)) vn_pfc_hold(context, end, class, bytes);
    else if (by == VN_FLOW_CONTROL_shared_buffer) vn_share_hold(context, end, class, bytes);
    else if (by != VN_OWN) vn_flow_controls[by]->admitted(context, end, class, bytes);
}

VN_ALWAYS void vn_gate_departed(struct vn_context *context, uint8_t by, struct vn_link *end,
                                uint32_t class, uint32_t bytes)
{
    VN_ASSERT(by != VN_LOSSY && (by == VN_OWN || end->classes[class].held_bytes >= bytes));
    if (__builtin_expect(by == VN_FLOW_CONTROL_pfc, 1)) vn_pfc_release(context, end, class, bytes);
    else if (by == VN_FLOW_CONTROL_shared_buffer) vn_share_release(context, end, class, bytes);
    else if (by != VN_OWN) vn_flow_controls[by]->departed(context, end, class, bytes);
}

/* After all changes by one flow-control frame: what sends from the port checks the gate again. */
static inline void vn_gate_changed(struct vn_context *context, struct vn_link *link)
{
    if (!link->pending) vn_link_may_send(context, link, (uint32_t)(link - context->links));
}

#endif
