/* Owns what a host is beside its links: its address, its endpoints, and the queues of frames that
 * they want to be sent. It may touch its links, their gates, packets and the order of events; it
 * knows neither switches nor what its endpoints' frames are. It promises that a frame is offered to
 * the endpoints in their order, by whatever port it came, and counted as stray where none takes
 * it. */
#ifndef VN_HOST_H
#define VN_HOST_H

#include "hosts/endpoint.h"
#include "links/gate.h"

enum { VN_HOST_STATE = 128 };

struct vn_host {
    uint8_t ip[4];
    uint32_t link, others; /* of the first port; of the next one; VN_NONE: none yet */
    uint32_t n;
    uint8_t endpoints[4]; /* numbers of kinds */
    /* what the first endpoint keeps of the first port */
    uint8_t state[VN_HOST_STATE] __attribute__((aligned(8)));
};
_Static_assert(sizeof(struct vn_host) <= VN_NODE_STATE, "a node has room for it");

/* A port, in its link's `own`; of other ports than the first, also in its `kept`: most hosts have
 * one port, and nearby what it needs. */
struct vn_host_port {
    uint64_t scheduled; /* the time of its VN_EV_HOST; VN_NEVER: none */
};
_Static_assert(sizeof(struct vn_host_port) <= VN_PORT_STATE, "a link has room for it");
struct vn_host_more {
    /* what the first endpoint keeps of the port */
    uint8_t state[VN_HOST_STATE] __attribute__((aligned(8)));
    uint32_t next; /* the link of the next port; VN_NONE: this is the last one */
};

static inline struct vn_host *vn_host_of(struct vn_node *node)
{
    return (struct vn_host *)(void *)node->state;
}
static inline struct vn_host_port *vn_host_port(struct vn_link *link)
{
    return (struct vn_host_port *)(void *)link->state;
}
static inline void *vn_host_own(const struct vn_context *context, const struct vn_link *link)
{
    return link->slot == 1 ? vn_host_of(vn_near(context, link))->state
                           : ((struct vn_host_more *)link->more)->state;
}
/* The host's port behind this one; VN_NONE: it is the last. */
static inline uint32_t vn_host_next(const struct vn_context *context, uint32_t port)
{
    const struct vn_link *link = &context->links[port];
    return link->slot == 1 ? vn_host_of(vn_near(context, link))->others
                           : ((struct vn_host_more *)link->more)->next;
}

static const struct vn_node_kind vn_host_kind;

/* NULL: the node isn't a host that has a link and this endpoint. */
static struct vn_node *vn_host_with(struct vn_context *, uint32_t node, enum vn_endpoint_number);

/* Queues a frame at a port (a link), to be sent when its class may; `first`: before all others,
 * whatever the gate. */
static void vn_host_send(struct vn_context *, uint32_t port, uint32_t packet, uint32_t class);
VN_OFFERED void vn_host_send_first(struct vn_context *, uint32_t port, uint32_t packet);

/* For an endpoint that decides what starts when: a queued frame may start; starts it. */
static inline bool vn_host_waits(const struct vn_link *link)
{
    return link->has_control || vn_gate_passes(link, link->waiting) != 0;
}
static void vn_host_send_queued(struct vn_context *, struct vn_link *);
/* The port acts at `when`, or earlier if it said so before. */
static inline void vn_host_at(struct vn_context *context, struct vn_link *link, uint64_t when)
{
    struct vn_host_port *port = vn_host_port(link);
    if (when < context->now) when = context->now;
    if (when >= port->scheduled) return;
    port->scheduled = when;
    vn_link_at(context, link, when, VN_EV_HOST, (uint32_t)(link - context->links));
}

/* Of register.h. */
static void vn_host_event(struct vn_context *, uint32_t link);
static bool vn_host_replaced(const struct vn_context *, uint32_t link, uint64_t time);
static void vn_endpoint_start(struct vn_context *, uint32_t id);
static void vn_endpoint_window(struct vn_context *, uint32_t id);
static void vn_endpoint_timer(struct vn_context *, uint32_t id);
static uint32_t vn_endpoint_start_node(const struct vn_context *, uint32_t id);
static uint32_t vn_endpoint_window_node(const struct vn_context *, uint32_t id);
static uint32_t vn_endpoint_timer_node(const struct vn_context *, uint32_t id);

/* Whether some endpoint has what a run with `finish` waits for, and it can't end within a link's
 * delay. */
static bool vn_endpoints_cannot_finish(struct vn_context *, uint64_t within);
static bool vn_endpoints_cannot_wake(struct vn_context *, uint64_t within);
static void vn_endpoints_answer(struct vn_context *, const struct vn_question *);
static void *vn_endpoints_hold(struct vn_context *);
static void vn_endpoints_release(struct vn_context *, void *held, bool raise);

#endif
