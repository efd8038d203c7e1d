/* Owns what a host is beside its link: its address, its endpoints, and the queue of frames that they want to be sent. It may touch its link,
 * that link's gates, packets and the order of events; it knows neither switches nor what its endpoints' frames are. It promises that a
 * frame is offered to the endpoints in their order, and counted as stray where none takes it. */
#ifndef VN_HOST_H
#define VN_HOST_H

#include "hosts/endpoint.h"
#include "links/gate.h"

enum { VN_HOST_OWN = 128 };

struct vn_host {
    uint8_t ip[4];
    uint32_t link; /* VN_NONE: none yet */
    uint64_t scheduled; /* the time of its VN_EV_HOST; VN_NEVER: none */
    uint32_t n;
    uint8_t endpoints[4]; /* numbers of kinds */
    uint8_t own[VN_HOST_OWN] __attribute__((aligned(8))); /* the first endpoint's */
};
_Static_assert(sizeof(struct vn_host) <= VN_NODE_OWN, "a node has room for it");

static inline struct vn_host *vn_host_of(struct vn_node *node) { return (struct vn_host *)(void *)node->own; }

static const struct vn_node_kind vn_host_kind;

/* NULL: the node isn't a host that has a link and this endpoint. */
static struct vn_node *vn_host_with(struct vn_context *, uint32_t node, enum vn_endpoint_number);

/* Queues a frame, to be sent when its class may; `first`: before all others, whatever the gate. */
static void vn_host_send(struct vn_context *, struct vn_node *, uint32_t packet, uint32_t class);
VN_OFFERED void vn_host_send_first(struct vn_context *, struct vn_node *, uint32_t packet);

/* For an endpoint that decides what starts when: a queued frame may start; starts it. */
static inline bool vn_host_waits(const struct vn_link *link)
{
    return link->has_control || vn_gate_passes(link, link->waiting) != 0;
}
static void vn_host_send_queued(struct vn_context *, struct vn_link *);
/* It acts at `when`, or earlier if it said so before. */
static inline void vn_host_at(struct vn_context *context, struct vn_node *node, uint64_t when)
{
    struct vn_host *host = vn_host_of(node);
    if (when < context->now) when = context->now;
    if (when >= host->scheduled) return;
    host->scheduled = when;
    vn_link_at(context, &context->links[host->link], when, VN_EV_HOST, host->link);
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

/* Whether some endpoint has what a run with `finish` waits for, and it can't end within a link's delay. */
static bool vn_endpoints_cannot_finish(struct vn_context *, uint64_t within);
static bool vn_endpoints_cannot_wake(struct vn_context *, uint64_t within);
static void vn_endpoints_answer(struct vn_context *, const struct vn_question *);
static void *vn_endpoints_hold(struct vn_context *);
static void vn_endpoints_release(struct vn_context *, void *held, bool raise);

#endif
