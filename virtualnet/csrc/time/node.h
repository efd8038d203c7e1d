/* A node as the order of events sees it: its events, the channels that end at it, and its kind:
 * what that does with what arrives. What a kind keeps of a node is its `state`; its file casts it.
 *
 * A new kind is a file: a vn_node_kind, and a function that adds a node of it by vn_node_new
 * (links/build.h). */
#ifndef VN_NODE_H
#define VN_NODE_H

#include "time/channel.h"
#include "time/events.h"

enum { VN_NODE_STATE = 192 };

struct vn_context;
struct vn_node;
struct vn_link;

struct vn_node_kind {
    const char *name;
    /* Packets stay in it, counted by the link that they came by, until it sends them: there is an
     * ingress occupancy, which flow control limits. Otherwise it takes in whatever arrives. */
    bool holds;
    /* A link starts at this port. False: there is no such port, or it has one. */
    bool (*attach)(struct vn_context *, struct vn_node *, uint16_t port, uint32_t link);
    /* All links are there: before the first event. False: the run has failed. NULL: nothing to
     * do. */
    bool (*start)(struct vn_context *, struct vn_node *);
    /* Takes a packet that isn't flow control; and any packet (NULL: by vn_link_arrival of
     * links/flow_control.h, which calls `take`). */
    void (*take)(struct vn_context *, struct vn_channel *, uint32_t packet);
    void (*arrival)(struct vn_context *, struct vn_channel *, uint32_t packet);
    /* Where links to it are cut: takes a frame that starts on one now, instead of its arrival. NULL:
     * it arrives. */
    void (*started)(struct vn_context *, struct vn_link *, uint32_t packet);
    /* From a frame's arrival until its bytes count. NULL: none. */
    uint64_t (*latency)(const struct vn_node *);
    /* Takes a flow-control packet that takes effect, before it does. */
    void (*control)(struct vn_context *, struct vn_channel *, uint32_t packet);
    /* Whether frames of so many bytes fit all its buffers. NULL: they do. */
    bool (*fits)(const struct vn_node *, uint32_t bytes);
    /* The link that starts here may have become free to send: its gate, its rate, what waits on it
     * has changed. */
    void (*may_send)(struct vn_context *, struct vn_link *, uint32_t link);
    /* Fetches state into the caches before the node's turn, in steps (prefetch.h): `i`: of n_in.
     * NULL: none. */
    void (*prefetch)(const struct vn_context *, const struct vn_node *, uint32_t step, uint32_t i);
    /* The same for a packet that arrives in this turn (NULL: the packet itself); and at a turn's
     * start. */
    void (*prefetch_arrival)(const struct vn_context *, const struct vn_node *, uint32_t packet);
    void (*turn)(struct vn_context *, struct vn_node *);
    void (*free)(struct vn_context *, struct vn_node *); /* what it keeps; NULL: nothing */
};

struct vn_node {
    /* a slot a port; slot 0: the first of `others`. Arrivals are listed (order.c) */
    struct vn_tournament events;
    struct vn_event_queue others; /* events other than arrivals and those of ports */
    uint64_t digest;
    struct vn_channel *in; /* the channels that end here */
    uint32_t n_in, number;
    const struct vn_node_kind *kind;
    _Alignas(64) uint8_t state[VN_NODE_STATE];
} __attribute__((aligned(64)));

#endif
