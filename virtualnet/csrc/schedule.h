/* Events: their kinds, their nodes, and how one is scheduled. order.c decides which comes next. */
#ifndef VN_SCHEDULE_H
#define VN_SCHEDULE_H

#include "net.h"

/* Events at the same time happen in this order: a decision comes before events that could change it, but for the fabric's, which
 * comes when all that arrives has. A frame starts before feedback arrives; a window doesn't include a packet that arrives exactly at its end. */
enum vn_kind {
    VN_EV_GENERATE, /* id: switch. Its packet generator makes a batch */
    VN_EV_START, /* id: flow. It starts, and joins the NIC's round robin */
    VN_EV_NIC,       /* id: link. The host's NIC performs its next action */
    VN_EV_PORT,    /* id: link. The switch's port is free, and packets wait */
    VN_EV_WINDOW,  /* id: flow */
    VN_EV_TIMER,   /* id: flow */
    VN_EV_ARRIVAL, /* id: receive port. Its first frame in flight has arrived */
    VN_EV_PFC,     /* id: link. A flow-control frame that arrived over it takes effect */
    VN_EV_EXPIRY,  /* id: link and class. The PAUSE expires */
    VN_EV_REFRESH, /* id: link and class. The PAUSE is sent again; with credits, a flow control packet */
    VN_EV_LATE,    /* id: link. A late notification is delivered */
    VN_EV_FABRIC,  /* id: link. The fabric can take the next packet for this output */
    VN_EV_CROSSED, /* id: link. A packet has crossed the fabric */
    VN_EV_RETURN,  /* id: vn_return_at's number */
    VN_EV_SAMPLE,  /* id: sampler */
};

/* The node whose state an event changes; VN_NONE: all nodes'. */
static inline uint32_t vn_node_of(const struct vn_net *net, enum vn_kind kind, uint32_t id)
{
    switch (kind) {
    case VN_EV_GENERATE: return id;
    case VN_EV_START:
    case VN_EV_TIMER: return net->flows[id].src;
    case VN_EV_WINDOW: return net->flows[id].dst;
    case VN_EV_NIC:
    case VN_EV_FABRIC:
    case VN_EV_CROSSED:
    case VN_EV_PORT: return net->links[id].node;
    case VN_EV_ARRIVAL: return net->rx_ports[id].node;
    case VN_EV_LATE:
    case VN_EV_PFC: return net->links[id].to;
    case VN_EV_EXPIRY: return net->links[id / VN_CLASSES].node;
    case VN_EV_REFRESH: return net->links[id / VN_CLASSES].to;
    case VN_EV_RETURN:
    case VN_EV_SAMPLE: break;
    }
    return VN_NONE;
}

/* A key: kind, id, and the slot in its node's tournament, 0 for one of `others`. */
static inline enum vn_kind vn_kind_of(struct vn_event event) { return (enum vn_kind)(event.key >> 48); }
static inline uint32_t vn_id_of(struct vn_event event) { return (uint32_t)(event.key >> 16); }
static inline uint32_t vn_slot_of(struct vn_event event) { return event.key & 0xffff; }
static inline struct vn_event vn_event_of(uint64_t time, enum vn_kind kind, uint32_t id, uint32_t slot)
{
    return (struct vn_event){time, (uint64_t)kind << 48 | (uint64_t)id << 16 | slot};
}

static void vn_push_or_fail(struct vn_net *, struct vn_event_queue *, struct vn_event);

/* Schedules an event, not before now. A port or NIC has one event. By node, a new one replaces it; in the single queue
 * order.c skips a NIC's old one, and a port's is scheduled only while none is `pending`. */
SW_ALWAYS void vn_at(struct vn_net *net, uint64_t time, enum vn_kind kind, uint32_t id)
{
    uint32_t slot = kind == VN_EV_PORT || kind == VN_EV_NIC ? net->links[id].slot : 0, place = vn_node_of(net, kind, id);
    struct vn_event event = vn_event_of(time, kind, id, slot);
    if (!net->by_node || place == VN_NONE) {
        vn_push_or_fail(net, &net->schedule.queue, event);
        return;
    }
    struct vn_node *node = &net->nodes[place];
    if (slot == 0) {
        vn_push_or_fail(net, &node->others, event);
        if (net->failed) return;
        event = node->others.events[0];
    }
    vn_tournament_set(&node->events, slot, event);
    if (time < net->schedule.next_event[place]) net->schedule.next_event[place] = time;
}

#endif
