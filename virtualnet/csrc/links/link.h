/* Owns links: their rate and state, what they send and count, their gates and faults, and the
 * ingress occupancy of what came in over them. It may touch channels, packets and the order of
 * events; of nodes it calls what their kind says (time/node.h), and knows none of them. It
 * promises that a frame reaches the far end by the channel alone.
 *
 * A link is one direction of a cable; link ^ 1 is the other one. Its struct is the port of the
 * node where it starts: what that node sends over it, and what it keeps of the other direction,
 * which ends there (vn_end_of). No node's events change another one's ports. */
#ifndef VN_LINK_H
#define VN_LINK_H

#include "frames/packets.h"
#include "links/observer.h"
#include "time/schedule.h"
#include "virtualnet.h"

/* Flow controls, by number. Of a class: what protects it where the link ends; for a packet, by what
 * it is counted in its link's ingress occupancy. */
enum vn_flow_control_number {
    VN_LOSSY, /* nothing; not counted */
#define VN_FLOW_CONTROL_KIND(name) VN_FLOW_CONTROL_##name,
    VN_FLOW_CONTROLS(VN_FLOW_CONTROL_KIND)
#undef VN_FLOW_CONTROL_KIND
    /* a packet that the switch made: not counted where a sender has to pay for what is
         * counted */
    VN_OWN,
};

enum { VN_PORT_STATE = 8, VN_CLASS_STATE = 24 };
/* the rate of a link on which a frame takes no time */
#define VN_AT_ONCE (UINT64_C(1) << 63)
enum { VN_CUT_BYTES = 64 };
/* a class without an output queue: lossy packets of it are refused */
enum { VN_NO_QUEUE = UINT16_MAX };

/* One class of a port, in one cache line: the output queue, and the ingress occupancy (the bytes of
 * the class that came in by this port and haven't left the switch). A hop seldom needs more of the
 * ports that its packet comes in and leaves by. */
struct vn_class {
    struct vn_fifo queue;
    uint8_t lossless; /* enum vn_flow_control_number: what protects it where it comes in */
    /* its packets may be refused: by a shared buffer, or where a PAUSE may be lost or late
     * (faults.c) */
    bool refuses;
    /* of its output queue, in packets: where it is full, lossy packets are refused; 0: unlimited;
     * VN_NO_QUEUE */
    uint16_t depth;
    uint64_t queued_bytes;
    uint64_t held_bytes, held_max; /* the ingress occupancy; its maximum */
    _Alignas(
        8) uint8_t state[VN_CLASS_STATE]; /* what the flow control keeps of it; at first zeros */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct vn_class) == 64, "a cache line");

struct vn_faults;

/* The first cache line has what every hop needs. */
struct vn_link {
    uint64_t free_at; /* when the frame being sent has left completely */
    uint64_t delay;
    uint64_t packets, bytes; /* sent */
    uint32_t ps_per_byte; /* 0: no whole number, or too large, or there are ticks */
    uint32_t channel, node; /* where it ends; the node where it starts */
    /* where it starts; its slot in the node's tournament, for VN_EV_PORT or VN_EV_HOST */
    uint16_t port, slot;
    uint8_t waiting, closed; /* bit masks of classes: packets wait; gate closed */
    bool pending, has_control; /* a VN_EV_PORT is scheduled; `control` isn't empty */
    bool up, captured; /* captured: `capture` is set */
    bool paid : 1; /* flow control counts what starts: it has `sent` */
    bool cut : 1; /* the far end cuts through: a frame arrives with its first VN_CUT_BYTES */
    uint8_t flow_control; /* enum vn_flow_control_number, of both directions */
    uint8_t state[VN_PORT_STATE]; /* what the node's kind keeps of the port ... */

    void *more __attribute__((aligned(64))); /* ... and more of it; `free` frees it */
    void *controlled; /* what the flow control keeps of the port, or NULL; likewise */
    void *capture; /* capture.c's file, or NULL */
    int capture_error; /* why it isn't whole, as errno has it */
    uint64_t rate_bps;
    struct vn_fifo control; /* sent first: flow-control frames, CNPs, ACKs */
    uint32_t to;
    uint32_t tick; /* ps; see vn_set_tick */
    uint16_t to_port;

    struct vn_class classes[VN_CLASSES];

    uint64_t expired; /* see vn_link_stats */
    /* Of the other direction, which ends here. */
    struct vn_faults *faults; /* NULL: none yet */
    struct vn_fifo arrived; /* flow-control frames that await the response time ... */
    uint64_t effect_at; /* ... and when the last one of them takes effect */
    uint64_t lost, repeated, overrun;
    /* XOFF plus headroom, or the buffer: the most that the ingress occupancy can be */
    uint64_t limit[VN_CLASSES];
    uint64_t refused[VN_CLASSES]; /* see vn_link_stats */
} __attribute__((aligned(64)));

static inline struct vn_link *vn_link_of(const struct vn_context *context, uint32_t link)
{
    return &context->links[link];
}
/* The port where the link ends. */
static inline struct vn_link *vn_end_of(const struct vn_context *context, uint32_t link)
{
    return &context->links[link ^ 1];
}
/* The link that ends at the port. */
static inline uint32_t vn_into(const struct vn_context *context, const struct vn_link *port)
{
    return (uint32_t)(port - context->links) ^ 1;
}

/* The node where the link starts; where it ends. */
static inline struct vn_node *vn_near(const struct vn_context *context, const struct vn_link *link)
{
    return &context->nodes[link->node];
}
static inline struct vn_node *vn_far(const struct vn_context *context, const struct vn_link *link)
{
    return &context->nodes[link->to];
}

/* In whole ticks, cut off; at least one. */
static inline uint64_t vn_ticks(const struct vn_link *link, uint64_t ps)
{
    if (link->tick == 1) return ps;
    return ps < link->tick ? link->tick : ps - ps % link->tick;
}

/* Serialisation time of so many bytes at the link's rate, rounded to whole picoseconds, and cut off
 * to whole ticks. */
static inline uint64_t vn_rounded_duration(const struct vn_link *link, uint64_t bytes)
{
    return vn_ticks(link,
                    (uint64_t)(((unsigned __int128)bytes * 8000000000000u + link->rate_bps / 2) /
                               link->rate_bps));
}
VN_ALWAYS uint64_t vn_duration(const struct vn_link *link, uint64_t bytes)
{
    if (link->ps_per_byte != 0) return bytes * (uint64_t)link->ps_per_byte;
    return link->rate_bps == VN_AT_ONCE ? 0 : vn_rounded_duration(link, bytes);
}

/* Control frames of a port, which are sent before all others. */
static inline void vn_control_push(struct vn_context *context, struct vn_link *link, uint32_t id)
{
    VN_ASSERT(link->has_control == (link->control.packets != 0));
    vn_fifo_push(context, &link->control, id);
    link->has_control = true;
}

static inline uint32_t vn_control_pop(struct vn_context *context, struct vn_link *link)
{
    VN_ASSERT(link->has_control && link->control.packets != 0);
    uint32_t id = vn_fifo_pop(context, &link->control);
    link->has_control = link->control.packets != 0;
    return id;
}

/* What is to be sent at the link's start has changed. */
static inline void vn_link_may_send(struct vn_context *context, struct vn_link *link,
                                    uint32_t number)
{
    vn_near(context, link)->kind->may_send(context, link, number);
}

/* Schedules the event of the port where the link starts. */
VN_ALWAYS void vn_link_at(struct vn_context *context, const struct vn_link *link, uint64_t time,
                          enum vn_kind kind, uint32_t number)
{
    vn_at_slot(context, link->node, time, kind, number, link->slot);
}

static void vn_capture_frame(const struct vn_context *, struct vn_link *, struct vn_packet *,
                             uint64_t at);
static void vn_capture_end(struct vn_link *, int error);

/* Starts to send the packet now. The link must be free. */
VN_ALWAYS void vn_transmit(struct vn_context *context, struct vn_link *link, uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(context, id);
    VN_ASSERT(link->up && link->free_at <= context->now && packet->bytes != 0);
    VN_ASSERT(context->channels[link->channel].link == (uint32_t)(link - context->links));
    vn_observe_starts(context, link, id);
    link->free_at = context->now + vn_duration(link, packet->bytes);
    link->packets++;
    link->bytes += packet->bytes;
    if (link->captured) vn_capture_frame(context, link, packet, link->free_at);
    uint64_t arrived = link->free_at;
    if (__builtin_expect(link->cut, 0)) {
        if (vn_far(context, link)->kind->started != NULL) {
            vn_far(context, link)->kind->started(context, link, id);
            return;
        }
        if (packet->bytes > VN_CUT_BYTES) arrived = context->now + vn_duration(link, VN_CUT_BYTES);
    }
    vn_channel_push(context, link->channel, arrived + link->delay, id);
}

/* Schedules, unless it is, the event in which the port where the link starts may send again (its
 * kind's may_send). */
static inline void vn_link_await(struct vn_context *context, struct vn_link *link, uint64_t time,
                                 uint32_t number)
{
    VN_ASSERT(time >= context->now && time != VN_NEVER);
    if (link->pending) return;
    link->pending = true;
    vn_link_at(context, link, time, VN_EV_PORT, number);
}
static void vn_link_event(struct vn_context *, uint32_t link);

/* Nodes of events, for register.h: where the link starts, where it ends; the same of an id that is
 * link and class. */
static uint32_t vn_link_near(const struct vn_context *, uint32_t id);
static uint32_t vn_link_far(const struct vn_context *, uint32_t id);
static uint32_t vn_class_near(const struct vn_context *, uint32_t id);
static uint32_t vn_class_far(const struct vn_context *, uint32_t id);

/* What takes the frames of a channel now: the far end's kind of node, or faults or flow control
 * before it. */
static void vn_link_receiver(struct vn_context *, uint32_t link);
static void vn_set_rate(struct vn_link *, uint64_t rate_bps);

#endif
