/* Owns flows, both ends of them, and the NICs that send them: what the RDMA endpoint keeps. It may
 * touch its hosts, their links' gates, packets and the order of events, and calls RPs and NPs in
 * Python. It promises that a NIC sends by the live one's rules (hosts/csrc/pacing.h). */
#ifndef VN_FLOW_H
#define VN_FLOW_H

#include <pthread.h>

#include "hosts/host.h"
#include "notification_point.h"
#include "pacing_trees.h"
#include "paths.h"
#include "reaction_point.h"
#include "reliable.h"
#include "virtual/callback.h"
#include "virtual/api.h"
#include "virtual/observer.h"
#include "time/parts.h"
#include "wire.h"

/* On the wire a flow is named by the destination QP in its packets' BTH. */
enum { VN_QPS = 1 << 24, VN_QP_PAGE = 1 << 12 };

/* A flow, both ends of it. By the time of its next event it has been evicted from the caches, so
 * the fields that one event needs share few cache lines. */
struct vn_flow {
    /* Sender, for each frame. */
    /* packets: 0 if it has no end; base: see pacing.h */
    uint64_t packets, sent, sent_bytes, interval, base, due_bytes;
    /* NULL: no packet requests an acknowledgement. Its packets, and their ACKs, have as stamp when
     * the packet's last bit left the NIC */
    struct transport *transport;
    uint16_t frame_bytes, last_frame_bytes;
    uint8_t priority;
    bool needs_rec_rate; /* for each CNP */
    bool repeats; /* `transport` is a vn_repeat's */
    bool sprays; /* `paths` isn't NULL */
    _Alignas(64) uint8_t data[VN_TEMPLATE_BYTES]; /* templates, see vn_flow_kind */
    uint8_t last_data[VN_TEMPLATE_BYTES];
    /* Sender, at the start and for each notification. */
    uint64_t start, end, ended, cnps_received;
    PyObject *rp;
    double rate_bps, limit_bps;
    uint32_t port, group; /* port: of its sender, a link, by which its data leaves */

    /* Receiver, for each data packet. */
    uint64_t window_end, window_first, received, received_bytes, received_payload, last;
    uint64_t missing; /* packets - received; VN_NEVER: the flow has no end */
    uint32_t expected; /* PSN */
    uint16_t payload_bytes, last_payload_bytes;
    /* Receiver, at a window's end. window_*: totals at its start. */
    PyObject *np;
    uint64_t period, window_packets, window_bytes, window_ce, window_ue, marked_ce, marked_ue;
    /* Receiver, for a CNP, the first and the last packet. grid: the start of a window; the others
     * are whole periods later. */
    uint64_t grid, phase, first, complete, cnps_sent;
    uint64_t marked_from; /* from then on the NP's on_marked is called; VN_NEVER: it has none */
    struct notification_point *np_in_c; /* the NP, if it runs in C, in `np`'s memory */
    uint32_t back_port; /* of its receiver, likewise, by which CNPs and ACKs leave */
    uint8_t cnp_bytes, ack_bytes;
    uint8_t mark; /* the worst mark since the last ACK: 0, UE or CE */
    uint8_t turns; /* bit mask of enum np_turn: the lists of grants.c that have it */
    _Alignas(64) uint8_t cnp[VN_TEMPLATE_BYTES];
    uint8_t ack[VN_TEMPLATE_BYTES];
    /* For each method of the RP, or seldom needed. */
    uint64_t timer, out_of_order;
    struct reaction_point *compiled; /* the RP, if it runs in C, in `rp`'s memory */
    struct paths *paths; /* NULL: its packets have the template's UDP source port */
    struct reliable_receiver *receiver; /* of packets with WIRE_RC_SEND_ONLY; NULL: it has none */
    uint64_t due; /* wait.c: it starts no sooner, by the arrivals so far */
    uint32_t waits; /* wait.c: for so many flows */
    uint32_t followers; /* wait.c: an edge; VN_NONE: no flow waits for it */
    bool windowed; /* `transport` isn't NULL */
    bool waited : 1; /* wait.c: it starts after others */
    /* it raised, and isn't called any more; set while no other thread runs nodes */
    bool rp_failed : 1, np_failed : 1;
    bool awaited; /* wait.c: a flow of another host than where it ends waits for it */
    bool granted; /* its NP grants */
    uint32_t demand; /* the RP's, in WIRE_CREDIT_BYTES */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct vn_flow) == 640,
               "a flow has ten cache lines: one more cost a large Clos a seventh of its speed");

/* Numbers of events VN_EV_TIMER: a flow's is that of its RP, with these bits that of its vn_repeat,
 * of a CNP that its receiver makes, and of the next grant of its receiver's. */
enum {
    VN_REPEAT_TIMERS = 1 << 23,
    VN_CNP_TIMERS = 1 << 22,
    VN_GRANT_TIMERS = VN_REPEAT_TIMERS | VN_CNP_TIMERS
};

/* A flow's sender, if it repeats what is lost. */
struct vn_repeat {
    struct reliable reliable; /* first */
    uint64_t timeout;
    uint64_t at; /* when it runs out */
    bool awaited; /* an event of it is scheduled */
};

static inline struct vn_repeat *vn_repeat_of(const struct vn_flow *flow)
{
    return (struct vn_repeat *)(void *)flow->transport;
}
static inline bool vn_window_open(const struct vn_flow *flow)
{
    return flow->repeats ? reliable_open(&vn_repeat_of(flow)->reliable)
                         : transport_open(flow->transport);
}

/* Flows whose counts are summed. A flow's counts change from its start to its end alone: a sum
 * looks at those between. */
enum { VN_GROUP_SUMS = VN_FLOW_MARKED_UE_PACKETS - VN_FLOW_SENT_BYTES + 1 };
struct vn_flow_group {
    uint32_t *flows; /* that have started, and hadn't ended at both ends at the latest sum */
    uint32_t n, capacity;
    uint64_t at; /* when `sums` were; VN_NEVER: they never were */
    /* by source, of the flows that aren't in `flows`; of all */
    uint64_t complete[VN_GROUP_SUMS], sums[VN_GROUP_SUMS];
};

/* A flow that waits for another, and the next one that waits for the same. */
struct vn_wait {
    uint64_t delay; /* from the other's end to the earliest start */
    uint32_t flow, next;
    bool acknowledged; /* the end: at the sender, the last acknowledgement; else the arrival */
};

#define VN_MOST_CREDIT (UINT64_C(1) << 40) /* a grant has 32 bits, in WIRE_CREDIT_BYTES */
/* The flows of a receiving host whose NPs want a turn to grant: by enum np_turn. */
struct vn_grants {
    struct ring waiting[NP_TURN + 1]; /* uint32_t: flows */
    bool pending; /* the next turn is scheduled */
};

struct vn_rdma {
    struct vn_grants *grants; /* by node; NULL: no flow's NP grants */
    uint32_t n_grants; /* nodes; 0: likewise */
    struct vn_wait *waits;
    uint32_t n_waits, waits_capacity;
    /* flows under way, and some that are over, that flows of other hosts than where they end wait
     * for */
    uint32_t *awaited;
    uint32_t n_awaited, awaited_capacity;
    struct vn_flow *flows;
    struct vn_flow_group *groups;
    uint32_t n_groups;
    /* of data packets, by context and class; NULL: it isn't measured */
    uint64_t (*latency)[VN_CLASSES][VN_LATENCY_BUCKETS];
    uint32_t n_flows, most_flows;
    /* flows start in several contexts: `awaited`, and `flows` of groups */
    pthread_mutex_t starting;
    /* Of cannot_finish_yet: the flow that it looks at first; by receiving node, packets of flows
     * that it has looked at. */
    uint32_t unfinished_hint;
    uint64_t *missing;
    uint32_t n_missing;
    uint32_t shortest_bytes; /* the shortest frame of data of all flows */
    double tick_s; /* of the switches' clock, in telemetry */
    uint64_t cnp_delay; /* from the NP's decision until a CNP waits for its line */
    struct vn_python python;
    uint32_t *flow_of[VN_QPS / VN_QP_PAGE]; /* by queue pair, in pages; VN_NONE: no flow */
};

static inline struct vn_rdma *vn_rdma_of(const struct vn_context *context)
{
    return context->endpoints[VN_ENDPOINT_rdma];
}
static inline struct vn_flow *vn_flow_at(const struct vn_context *context, uint32_t flow)
{
    VN_ASSERT(flow < vn_rdma_of(context)->n_flows);
    return &vn_rdma_of(context)->flows[flow];
}

/* What it keeps of a port of a host. Starts of all of a host's flows are the first port's. */
struct vn_nic {
    struct pacing_flow *tx_flows; /* their numbers are the flows' */
    uint32_t n_tx_flows, capacity;
    struct pacing_trees *trees; /* of more than PACING_FEW flows; NULL: there were never so many */
    uint32_t last; /* the flow that sent last */
    uint32_t n_starting; /* flow starts in the node's `others` */
    struct pacing_choice choice;
    struct vn_event_queue starts; /* flow starts that aren't there yet: a list, see sender.c */
    uint64_t last_start; /* the latest of those that are */
    bool unsorted; /* `starts` isn't in order */
    struct vn_fifo cnps; /* that the host makes, for `cnp_delay`; the first port's */
};
_Static_assert(sizeof(struct vn_nic) <= VN_HOST_STATE, "a host has room for it");

static inline struct vn_nic *vn_nic_of(const struct vn_context *context, const struct vn_link *port)
{
    return vn_host_own(context, port);
}
static inline struct vn_nic *vn_first_nic(struct vn_node *node)
{
    return (struct vn_nic *)(void *)vn_host_of(node)->state;
}
static inline struct vn_link *vn_port_of_flow(const struct vn_context *context,
                                              const struct vn_flow *flow)
{
    return &context->links[flow->port];
}
/* Nodes: its sender; its receiver. */
static inline uint32_t vn_sender_of(const struct vn_context *context, const struct vn_flow *flow)
{
    return context->links[flow->port].node;
}
static inline uint32_t vn_receiver_of(const struct vn_context *context, const struct vn_flow *flow)
{
    return context->links[flow->back_port].node;
}

/* Whether each end is of this process's part; of a flow with neither nothing is here but its
 * number. */
static inline bool vn_sends_here(const struct vn_context *context, const struct vn_flow *flow)
{
    return vn_here(context, vn_sender_of(context, flow));
}
static inline bool vn_receives_here(const struct vn_context *context, const struct vn_flow *flow)
{
    return vn_here(context, vn_receiver_of(context, flow));
}

/* The flow of a queue pair; VN_NONE: there is none. */
static uint32_t vn_flow_of_qp(const struct vn_rdma *, uint32_t qp);

/* Room for one more item of n, of this size. NULL: no memory; `items` are as they were. */
static void *vn_grown(void *items, uint32_t n, uint32_t *capacity, size_t size);
/* Whether more packets of the flow are missing than are in flight on its last link, and can follow
 * them over it within that time. */
static bool vn_flow_cannot_complete(const struct vn_context *, const struct vn_flow *,
                                    uint64_t within);

/* ---- group.c ---- */
/* makes the next one; false: no memory, or no such group */
static bool vn_flow_group_exists(struct vn_rdma *, uint32_t group);
static bool vn_flow_group_started(struct vn_rdma *, uint32_t flow); /* false: no memory */
/* Of a flow whose sender is in another process: its first data. False: the run has failed. */
static bool vn_flow_group_arrives(struct vn_context *, uint32_t flow);
static double vn_flow_group_sum(const struct vn_context *, uint32_t group, enum vn_flow_source);
static void vn_flow_groups_free(struct vn_rdma *);

/* ---- wait.c ---- */
/* cannot_wake_yet of vn_order */
static bool vn_wait_cannot_end_yet(struct vn_context *, uint64_t within);
static bool vn_wait_started(struct vn_rdma *, uint32_t flow); /* false: no memory */
/* the whole flow has arrived; `acknowledged`: its sender has the last acknowledgement */
static void vn_wait_over(struct vn_context *, uint32_t flow, bool acknowledged);

/* ---- sender.c ---- */
static void vn_nic_await(struct vn_context *, uint32_t flow); /* waits for the flow's start */
static void vn_nic_start(struct vn_context *, uint32_t flow);
static void vn_nic_add(struct vn_context *, uint32_t flow);
static void vn_nic_stop(struct vn_context *, uint32_t flow);
static void vn_nic_rate(struct vn_context *, uint32_t flow, double rate_bps);
static void vn_nic_window(struct vn_context *, uint32_t flow, double window_bytes);
/* sends a CNP or ACK; cause: the packet whose arrival made it; VN_NONE: none's did */
static void vn_nic_notify(struct vn_context *, uint32_t port, uint32_t packet, uint32_t cause);
static void vn_nic_end(struct vn_context *, uint32_t flow, uint64_t ended);
static void vn_nic_act(struct vn_context *, struct vn_link *port);
/* chooses the NIC's next action anew */
static void vn_nic_changed(struct vn_context *, struct vn_link *port);

/* ---- receiver.c ---- */
/* Writes the flow's demand, if its NP grants. */
static inline void vn_stamp_demand(uint8_t *frame, const struct vn_flow *);
/* Builds the flow's next packet. */
static void vn_stamp(const struct vn_context *, struct vn_packet *, const struct vn_flow *,
                     bool last);
struct vn_answered { /* a packet: its PSN, stamp, and UDP source port */
    uint32_t id, psn; /* id: of the packet that has come, which it may be or not */
    uint16_t path;
    uint64_t stamp;
    const uint8_t *frame; /* whose telemetry goes back, if it has any; NULL: none does */
    bool last_hop; /* which has trimmed it */
};
static void vn_send_answer(struct vn_context *, uint32_t flow, const struct vn_answered *,
                           enum reliable_answer);
static bool vn_rdma_take(struct vn_context *, struct vn_node *, uint32_t port, uint32_t packet);
static void vn_window_event(struct vn_context *, uint32_t flow);
static void vn_send_cnp(struct vn_context *, uint32_t flow, uint8_t mark, double rate_bps);
static void vn_cnp_made(struct vn_context *, uint32_t flow);
/* in a CNP */
static void vn_send_grant(struct vn_context *, uint32_t flow, uint64_t granted_bytes);

/* ---- prefetch.c ---- */
static void vn_rdma_prefetch(const struct vn_context *, const struct vn_node *,
                             const struct vn_link *port, uint32_t step);
static void vn_rdma_prefetch_arrival(const struct vn_context *, uint32_t packet);

/* ---- grants.c ---- */
static bool vn_grants_new(struct vn_context *); /* false: no memory */
static void vn_grants_free(struct vn_context *);
/* its NP has decided */
static void vn_grants_demanded(struct vn_context *, uint32_t flow, enum np_turn);
/* of the host that the flow arrives at: somebody's turn */
static void vn_grants_timer(struct vn_context *, uint32_t flow);
/* One that was given its turn has none: the next NP of its host has it. */
static void vn_grants_pass(struct vn_context *, uint32_t flow);
/* After somebody's turn: his NP's decisions. */
static void vn_grants_made(struct vn_context *, uint32_t flow, uint64_t granted_bytes,
                           double pace_bytes, enum np_turn);
/* A demand as packets carry it, rounded up. */
static inline uint32_t vn_grants_demand(uint64_t bytes)
{
    uint64_t units = bytes / WIRE_CREDIT_BYTES + (bytes % WIRE_CREDIT_BYTES != 0);
    return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}
/* What the flow has left to send, in bytes of frames; RP_NEVER: it has no end. */
static uint64_t vn_grants_left(const struct vn_flow *);
/* Calls on_demand or on_turn, of an NP in Python; in C. False: it raised (Python's error is set);
 * what it decides isn't possible. */
static bool vn_grants_call(struct vn_context *, const struct vn_callback *, PyObject *now);
static bool vn_grants_call_in_c(struct vn_context *, const struct vn_callback *);
/* sets Python's error of the latter; false */
static bool vn_grants_refuse(const struct vn_context *, const struct vn_callback *);

/* ---- repeat.c ---- */
/* False: no memory. */
static bool vn_repeat_new(struct vn_flow *, const struct vn_flow_kind *);
static void vn_repeat_free(struct vn_flow *);
/* As vn_stamp, for a flow that repeats what is lost. False: the run has failed. */
static bool vn_repeat_stamp(struct vn_context *, struct vn_packet *, uint32_t flow);
/* Whether a packet with WIRE_RC_SEND_ONLY is one that hadn't come; `acks`: it is to be
 * acknowledged. Others are answered here. */
static bool vn_repeat_take(struct vn_context *, uint32_t flow, uint32_t packet,
                           const uint8_t *frame, bool *acks);
/* A packet with WIRE_RC_SEND_ONLY of which the headers have come alone. */
static void vn_repeat_trimmed(struct vn_context *, uint32_t flow, uint32_t packet,
                              const uint8_t *frame);
/* An acknowledgement or a NAK of a flow that repeats. False: of no packet of its. `lost`: bytes. */
static bool vn_repeat_answered(struct vn_context *, uint32_t flow, const struct vn_packet *,
                               const uint8_t *frame, uint64_t *acked, uint64_t *lost);
static void vn_repeat_timer(struct vn_context *, uint32_t flow);

/* ---- python.c ---- */
static bool vn_python_init(struct vn_python *);
static void vn_python_end(struct vn_python *);
/* An instance of one of base.py's named tuples; steals the references to its fields. NULL: Python's
 * error is set. */
static PyObject *vn_new_tuple(PyObject *type, uint32_t n, PyObject *const *fields);
static bool vn_succeeded(PyObject *result); /* releases a call's result. False: the call raised */
static bool vn_conversion_failed(double value);
/* steals the reference to `value`. False: Python's error is set */
static bool vn_to_double(PyObject *value, double *to);
static bool vn_in_ps(double seconds, uint64_t *to); /* false: 64 bits can't hold it */
static bool vn_to_ps(double seconds, uint64_t *to); /* the same; false: Python's error is set */
static void *vn_python_hold(struct vn_context *);
static void vn_python_release(struct vn_context *, void *held, bool raise);

/* ---- notification.c ---- */
static bool vn_is_of_np(const struct vn_callback *); /* the event is one of an NP's */
/* Brings the event to an NP in Python, and sends what it decides; or, if an NP in C has decided
 * what isn't possible, sets Python's error. False: that is set. */
static bool vn_np_call(struct vn_context *, const struct vn_callback *, PyObject *now);
/* Brings the event to an NP in C, and sends what it decides. False: that isn't possible; the
 * callback has it. */
static bool vn_np_decides_in_c(struct vn_context *, struct vn_callback *);

/* ---- reaction.c ---- */
/* Brings the event to an RP, unless one in C has decided, and applies its decision. False: Python's
 * error is set. */
static bool vn_rp_call(struct vn_context *, const struct vn_callback *, PyObject *now);
/* Brings the event to an RP in C, and applies its decision. False: that isn't possible. */
static bool vn_rp_decides_in_c(struct vn_context *, const struct vn_callback *);

/* ---- callback.c ---- */
/* The last step of an event: calls the method, and applies the algorithm's decision. */
static void vn_call_back(struct vn_context *, const struct vn_callback *);
/* of an event that had to wait for Python */
static void vn_answer(struct vn_context *, const void *callback);

#endif
