/* An endpoint: what makes frames at a host, and what takes them. A host has one or several; the
 * RDMA NIC is one (hosts/csrc/virtual), a source of frames at given times another (source.c).
 *
 * A new kind is a file: a vn_endpoint_kind `vn_endpoint_NAME`, and `X(NAME)` in register.h;
 * vn_add_endpoint gives it to a host. Numbers are its own, below 2^24: of events, and of what it
 * keeps of the whole network, `context->endpoints[VN_ENDPOINT_NAME]`. */
#ifndef VN_ENDPOINT_H
#define VN_ENDPOINT_H

#include "links/link.h"

struct vn_endpoint_kind {
    const char *name;
    /* A host has it now. False: no memory. NULL: nothing to do. */
    bool (*added)(struct vn_context *, struct vn_node *);
    /* A host has this port, too: sets up what the first endpoint keeps of it, VN_HOST_STATE bytes.
     * NULL: nothing to do. */
    void (*port_added)(void *state);
    /* A packet has arrived, by the port that is the start of link `port`. False: it isn't for this
     * endpoint, which leaves it to the next. */
    bool (*take)(struct vn_context *, struct vn_node *, uint32_t port, uint32_t packet);
    /* Only the first endpoint of a host, which then decides what starts when, port by port. What
     * waits to be sent has changed, or the gate, or the link; the time is there that it gave
     * vn_host_at. NULL: what waits starts as soon as it can. */
    void (*may_send)(struct vn_context *, struct vn_link *);
    void (*act)(struct vn_context *, struct vn_link *);
    /* Events by number (vn_endpoint_at), and the node of one. NULL: it has no such event. */
    void (*start)(struct vn_context *, uint32_t number);
    void (*window)(struct vn_context *, uint32_t number);
    void (*timer)(struct vn_context *, uint32_t number);
    uint32_t (*node_of)(const struct vn_context *, enum vn_kind, uint32_t number);
    /* What one of its events has asked (vn_ask of time/crew.h), in the first thread; the last step
     * of the event. NULL: none asks. */
    void (*answer)(struct vn_context *, const void *about);
    /* Of the one kind that calls Python: see struct vn_order. */
    void *(*hold)(struct vn_context *);
    void (*release)(struct vn_context *, void *held, bool raise);
    /* Samples: whether there is such a value (enum vn_source), and what it is now. NULL: it has
     * none. */
    bool (*has)(const struct vn_context *, const struct vn_source_spec *);
    double (*value)(const struct vn_context *, const struct vn_source_spec *);
    /* Something has to end before a run with `finish` does, and can't in the next `within`
     * picoseconds. NULL: no. */
    bool (*cannot_finish_yet)(struct vn_context *, uint64_t within);
    /* Likewise: no event in the next `within` starts something at another node (`waiting` of
     * vn_order). NULL: none ever does. */
    bool (*cannot_wake_yet)(struct vn_context *, uint64_t within);
    /* See vn_node_kind. NULL: nothing. */
    /* of one port */
    void (*prefetch)(const struct vn_context *, const struct vn_node *, const struct vn_link *,
                     uint32_t step);
    void (*prefetch_arrival)(const struct vn_context *, uint32_t packet);
    void (*free_port)(void *state);
    void (*free)(struct vn_context *); /* what it keeps of the whole network */
};

static inline void vn_endpoint_at(struct vn_context *context, uint32_t node, uint64_t time,
                                  enum vn_kind kind, enum vn_endpoint_number endpoint,
                                  uint32_t number)
{
    VN_ASSERT(number < 1u << 24 &&
              (kind == VN_EV_START || kind == VN_EV_WINDOW || kind == VN_EV_TIMER));
    vn_at(context, node, time, kind, (uint32_t)endpoint << 24 | number);
}

#endif
