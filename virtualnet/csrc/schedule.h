/* Events: what kinds there are, where each happens, and how one is scheduled. Which comes next, order.c says. */
#ifndef VN_SCHEDULE_H
#define VN_SCHEDULE_H

#include "net.h"

/* In the order in which things happen that happen at the same time: what has been decided before what can change it. A
 * frame starts before news arrive; a window is over when a packet arrives at its very end. */
enum vn_kind {
    VN_EV_START = 1, /* id: flow. Its time has come; the NIC gets it */
    VN_EV_NIC,       /* id: link. The host's NIC has something to start or to end */
    VN_EV_PORT,    /* id: link. The switch's port is free, packets wait */
    VN_EV_WINDOW,  /* id: flow */
    VN_EV_TIMER,   /* id: flow */
    VN_EV_ARRIVAL, /* id: side. The first frame on its way to it has arrived */
    VN_EV_PFC,     /* id: link. A PFC frame that arrived over it takes effect */
    VN_EV_EXPIRY,  /* id: link and class. A PAUSE of it runs out */
    VN_EV_REFRESH, /* id: link and class. A PAUSE to be sent over it once more */
    VN_EV_CALL,    /* id: the caller's */
    VN_EV_SAMPLE,  /* id: sampler */
};

/* Where an event happens: what it changes belongs to that node. VN_NONE: everywhere. */
static inline uint32_t vn_place(const struct vn_net *net, enum vn_kind kind, uint32_t id)
{
    switch (kind) {
    case VN_EV_START:
    case VN_EV_TIMER: return net->flows[id].src;
    case VN_EV_WINDOW: return net->flows[id].dst;
    case VN_EV_NIC:
    case VN_EV_PORT: return net->links[id].node;
    case VN_EV_ARRIVAL: return net->sides[id].node;
    case VN_EV_PFC: return net->links[id].to;
    case VN_EV_EXPIRY: return net->links[id / VN_CLASSES].node;
    case VN_EV_REFRESH: return net->links[id / VN_CLASSES].to;
    case VN_EV_CALL:
    case VN_EV_SAMPLE: break;
    }
    return VN_NONE;
}

/* A key: kind, id, and the slot among its node's events, 0 if it is one of the others. */
static inline enum vn_kind vn_kind_of(struct vn_event event) { return (enum vn_kind)(event.key >> 48); }
static inline uint32_t vn_id_of(struct vn_event event) { return (uint32_t)(event.key >> 16); }
static inline uint32_t vn_slot_of(struct vn_event event) { return event.key & 0xffff; }
static inline struct vn_event vn_event_of(uint64_t time, enum vn_kind kind, uint32_t id, uint32_t slot)
{
    return (struct vn_event){time, (uint64_t)kind << 48 | (uint64_t)id << 16 | slot};
}

static void vn_queue_up(struct vn_net *, struct vn_queue *, struct vn_event);

/* An event at `time`, which isn't over. A port and a NIC have one: it takes the place of the one that was to come. */
static inline __attribute__((always_inline)) void vn_at(struct vn_net *net, uint64_t time, enum vn_kind kind, uint32_t id)
{
    uint32_t slot = kind == VN_EV_PORT || kind == VN_EV_NIC ? net->links[id].slot : 0, place = vn_place(net, kind, id);
    struct vn_event event = vn_event_of(time, kind, id, slot);
    if (!net->by_node || place == VN_NONE) {
        vn_queue_up(net, &net->schedule.queue, event);
        return;
    }
    struct vn_node *node = &net->nodes[place];
    if (slot == 0) {
        vn_queue_up(net, &node->others, event);
        if (net->failed) return;
        event = node->others.events[0];
    }
    vn_enter(&node->events, slot, event);
    if (time < net->schedule.first[place]) net->schedule.first[place] = time;
}

#endif
