/* A flow control: what limits the ingress occupancy where a link ends by closing gates where it
 * starts. What it says to the sender travels as frames do, over the other direction of the
 * cable; it takes effect after the response time, in the order of arrival.
 *
 * A new one is a file: a vn_flow_control, and a function that sets its numbers on a link; and
 * its line in register.h. */
#ifndef VN_FLOW_CONTROL_H
#define VN_FLOW_CONTROL_H

#include "links/link.h"
#include "frames/ethernet.h"

struct vn_flow_control {
    /* A packet enters the ingress occupancy of the port by which it came, and leaves it. */
    void (*admitted)(struct vn_context *, struct vn_link *end, uint32_t class, uint32_t bytes);
    void (*departed)(struct vn_context *, struct vn_link *end, uint32_t class, uint32_t bytes);
    void (*refresh)(struct vn_context *, struct vn_link *end, uint32_t class); /* VN_EV_REFRESH */
    /* Whether a frame that came over the link is one of this flow control. */
    bool (*is_frame)(const uint8_t *frame);
    /* Any packet that arrives; `late`: takes effect so much later. NULL: only its own frames are
     * seen, vn_flow_control_arrived. */
    void (*arrival)(struct vn_context *, struct vn_channel *, uint32_t packet, uint64_t late);
    /* The oldest frame of `arrived` takes effect at this port. It reads it, gives it to the node
     * (vn_flow_control_seen), and acts. */
    void (*effect)(struct vn_context *, struct vn_link *end);
    /* Where the link starts: the frame has started. NULL: no matter. */
    void (*sent)(struct vn_context *, struct vn_link *, uint32_t class, uint32_t packet);
    /* Whether frames of so many bytes can be sent over it at all. NULL: they can. */
    bool (*fits)(const struct vn_link *, uint32_t bytes);
    /* Its rate, its state, or the longest frame has changed. NULL: no matter. */
    void (*limits)(struct vn_context *, uint32_t link);
    /* Of deadlock, between runs: since when the class of the link has been stopped (VN_NEVER: it
     * isn't); what a packet counts in the occupancy; with so much inside for ever, whether its gate
     * stays closed. */
    uint64_t (*stopped_since)(const struct vn_context *, uint32_t link, uint32_t class);
    uint32_t (*counts)(uint32_t bytes);
    bool (*stays_closed)(const struct vn_context *, uint32_t link, uint32_t class, uint64_t held);
    /* Every frame but its own needs what it gives, a host's notifications too: none can come twice
     * or late. */
    bool paid;
};

static const struct vn_flow_control *const vn_flow_controls[VN_OWN];
static inline const struct vn_flow_control *vn_flow_control_of(const struct vn_link *link)
{
    return vn_flow_controls[link->flow_control];
}

/* Takes in a flow-control frame that came over the link: it takes effect after the response time
 * and `late`. */
static void vn_flow_control_arrived(struct vn_context *, uint32_t link, uint32_t packet,
                                    uint64_t late);
/* Whether all links' flow controls have room for frames of so many bytes. */
static bool vn_flow_control_fits(const struct vn_context *, uint32_t bytes);
/* Gives the frame that came in by the port to the node, which frees it: programs may follow flow
 * control. */
static void vn_flow_control_seen(struct vn_context *, const struct vn_link *end, uint32_t packet);
/* Sends a flow-control frame from a port. */
static void vn_flow_control_send(struct vn_context *, struct vn_link *, uint32_t packet);
/* A VN_EV_REFRESH of the port's node. */
static void vn_flow_control_refresh_at(struct vn_context *, const struct vn_link *end,
                                       uint32_t class, uint64_t time);
static void vn_flow_control_effect(struct vn_context *, uint32_t link);
static void vn_flow_control_refresh(struct vn_context *, uint32_t id);
static void vn_flow_control_limits(struct vn_context *, uint32_t link);
/* Adds what credits count of a port to its statistics; what PFC does: pfc.h. */
static void vn_credit_stats(const struct vn_context *, const struct vn_link *,
                            struct vn_link_stats *);
/* What takes the frames of a channel whose flow control sees any that arrives. */
static void vn_flow_control_arrival(struct vn_context *, struct vn_channel *, uint32_t packet);

/* For kinds of nodes. */
static inline bool vn_flow_control_took(struct vn_context *context,
                                        const struct vn_channel *channel, uint32_t id)
{
    if (vn_load16(vn_frame(context, vn_packet_at(context, id)) + VN_TYPE) != VN_TYPE_MAC_CONTROL)
        return false;
    vn_flow_control_arrived(context, channel->link, id, 0);
    return true;
}
static void vn_link_arrival(struct vn_context *, struct vn_channel *, uint32_t packet);

#endif
