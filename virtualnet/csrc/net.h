/* The network from inside: what the parts of the engine share. */
#ifndef VN_NET_H
#define VN_NET_H

#include <stdio.h>
#include <string.h>

#include "events.h"
#include "internal.h"
#include "lines.h"
#include "virtualnet.h"

enum { VN_ASKED = 8192 /* segments, or packets, of a flow under way at most, or their round trips are too short */ };
enum {
    VN_NONE = -1u,
    VN_STORED = 128, /* bytes of a frame, where programs don't run in place */
    VN_PFC_BYTES = 60,
    VN_QUANTUM_BITS = 512,
    VN_HIGHEST_CLASS = 7,
    VN_AHEAD = 8, /* arrivals from the one whose packet is prefetched to the one that happens */
};

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

struct vn_fifo { uint32_t head, tail, packets; };

/* A frame: two cache lines where programs run in place. Of its bytes the first are stored, at vn_frame; the rest is
 * payload, all zero but for the ICRC. */
struct vn_packet {
    uint32_t next, flow;
    uint32_t in_link; /* the link it came into this switch by, first */
    uint16_t bytes;   /* of the frame, as it was at the last link or queue */
    bool data, held;  /* a data packet; held: counted as inside by the link it came in by */
    uint32_t enq_timestamp, enq_qdepth;
    uint8_t kept[SW_INPLACE_KEPT];
} __attribute__((aligned(64)));

/* What follows where programs don't run in place; then PHV, headroom, frame. */
struct vn_plain { struct sw_packet p; uint32_t truncate_to; };

/* One class of a link: one cache line. Where the link starts, packets wait; where it ends, PFC counts what came in. */
struct vn_class {
    struct vn_fifo queue;
    uint32_t xoff, xon;
    bool lossless;               /* PFC counts it where the link ends */
    uint64_t queued_bytes;
    uint64_t until;              /* paused by PFC until then */
    uint64_t held_bytes, held_max; /* inside: now, at most so far */
    uint64_t since;              /* since when the far end is told to stop, VN_NEVER: it isn't */
} __attribute__((aligned(64)));

/* Frames on their way, in a ring: in the order in which they arrive. `due`: when the last bit has. */
struct vn_sent { uint64_t due; uint32_t packet; };

/* One of a node's ports, all of them side by side: what arrives there. */
struct vn_side {
    uint64_t arrives; /* when the first frame on its way to it does that isn't listed; VN_NEVER: there is none */
    struct vn_sent *ring;
    uint32_t head, n, capacity; /* which is a power of two */
    uint32_t link;              /* from it; what arrives came over link ^ 1 */
    uint32_t node, from;        /* whose port it is; where that link starts */
    uint64_t delay;             /* of that link */
    uint16_t port;
    bool host;
};

/* One direction of a cable; link ^ 1 is the other one. It starts at a port with its queues. What every hop needs stands
 * in the first line. */
struct vn_link {
    uint64_t free; /* when the frame that is being sent has left */
    uint64_t delay;
    uint64_t packets, bytes; /* sent */
    uint32_t ps_per_byte;    /* 0: not a whole number, or too large */
    uint32_t far, node;      /* the side where it ends; where it starts */
    uint16_t port, slot;     /* slot: of VN_EV_PORT or VN_EV_NIC among that node's events */
    uint8_t waiting, paused, looping; /* classes: packets wait; held by PFC; some were sent round */
    bool host, up, pending, serving;  /* pending: a VN_EV_PORT is on its way */
    bool urgent, captured;            /* control isn't empty; there is a file */
    uint8_t last_class;               /* that left */

    FILE *capture __attribute__((aligned(64)));
    uint64_t rate_bps;
    struct vn_fifo control, arrived; /* PFC frames that go first, or CNPs; that haven't taken effect */
    uint32_t to;
    uint16_t to_port;
    bool to_host;
    uint8_t lossless; /* classes that PFC counts where the link ends */

    struct vn_class classes[VN_CLASSES];

    uint64_t refresh, pause, resume, paused_ps, refused, expired;
    uint16_t quanta;
    uint8_t mac[6];
    uint64_t limit[VN_CLASSES];     /* that is inside at most, by what can be in flight */
    uint64_t told[VN_CLASSES];      /* when the far end was told to stop last */
    uint64_t loop_free[VN_CLASSES]; /* packets that went round wait until then */
} __attribute__((aligned(64)));

/* What a NIC looks at of each of its flows for each frame, half a cache line. `next`: when the pacer lets the next frame go;
 * `eligible`: when PFC does, too; VN_NEVER: not before the flow's end. */
struct vn_turn { uint64_t next, end, eligible; uint32_t flow; uint8_t priority; };

/* What a NIC does next. index: of a flow, of its turns. */
struct vn_choice { uint64_t when; enum { VN_NOTHING, VN_START, VN_CONTROL, VN_END } what; uint32_t index; };

struct vn_node {
    struct sw_instance *instance; /* of a switch: its program, and links by port, VN_NONE */
    uint32_t *out;
    uint64_t digest;
    struct vn_side *sides;
    uint32_t n_sides;
    bool host;
    uint8_t ip[4];
    uint32_t link; /* of a host */
    struct vn_tournament events; /* its ports', a slot each; slot 0: the first of the others. What arrives isn't there */
    struct vn_queue others;
    struct vn_queue starts;      /* of flows that begin after all whose start is among the others: a list, see nic.c */
    uint32_t n_starting;         /* starts among them */
    uint64_t last_start;         /* the latest of these */
    bool unsorted;               /* the list */
    /* The NIC, see nic.c. */
    struct vn_turn *turns; /* of its flows, in order of their numbers */
    uint32_t n_turns, capacity;
    uint32_t last; /* the flow that sent last */
    uint64_t scheduled;
    struct vn_choice choice;
    struct sw_switch *sw;
    struct sw_register state; /* of a program with registers, the first one */
    struct sw_lines lines; /* of its tables, of this generation */
    uint64_t table_generation;
} __attribute__((aligned(64)));

/* A flow, both ends of it. Hosts that have it in their turns are elsewhere before they come back to it, so what an event needs
 * stands together, in as few cache lines as can be. */
struct vn_flow {
    /* The sender: what a frame needs, ... */
    uint64_t packets, sent, sent_bytes, interval, base, due_bytes; /* packets: 0 if it has no end */
    uint64_t *asked; /* when the latest n_asked packets that ask for an acknowledgement had left; NULL if none does */
    uint16_t frame_bytes, last_frame_bytes;
    uint8_t priority;
    bool has_base;
    _Alignas(64) uint8_t data[VN_TEMPLATE_BYTES]; /* what frames begin with, as in vn_flow_config */
    uint8_t last_data[VN_TEMPLATE_BYTES];
    /* ... a start, a notice. */
    uint64_t start, end, ended, cnps_received;
    PyObject *rp;
    double rate_bps, limit_bps;
    uint32_t src, segment;

    /* The receiver: what arrives, ... */
    uint64_t window_end, window_first, received, received_bytes, received_payload, last;
    uint64_t missing; /* packets - received, beside what arrives; VN_NEVER: it has no end */
    uint32_t expected;
    uint16_t payload_bytes, last_payload_bytes;
    /* ... a window that ends, and the packets in it: what was counted when it began; */
    PyObject *np;
    uint64_t period, window_packets, window_bytes, window_ce, window_ue, marked_ce, marked_ue;
    /* a CNP, a first and a last packet. */
    uint64_t grid, phase, first, complete, cnps_sent, marked_from;
    uint32_t dst;
    uint16_t cnp_bytes, ack_bytes;
    uint8_t mark;      /* the worst since the last acknowledgement: 0, UE or CE */
    _Alignas(64) uint8_t cnp[VN_TEMPLATE_BYTES];
    uint8_t ack[VN_TEMPLATE_BYTES];
    uint64_t timer, out_of_order; /* seldom needed */
    uint32_t n_asked;
} __attribute__((aligned(64)));

/* See prefetch.h. */
struct vn_prefetch {
    bool enabled, active;                   /* active: packets don't stay in the caches by themselves */
    const struct vn_node *upcoming[4];      /* by step: whose it is in the present turn; NULL: nobody's */
    uint32_t cursor, pieces;                /* what of them comes next; how many pieces there are */
};

struct vn_sampler {
    uint64_t every, n, capacity;
    uint32_t n_sources;
    struct vn_source_spec *sources;
    uint64_t *times;
    double *values;
};

/* Methods and fields of hosts/algorithms/base.py, by name; VN_NAMES: none. */
enum vn_name {
    VN_ON_WINDOW, VN_ON_MARKED, VN_ON_CNP, VN_ON_CNM, VN_ON_ACK, VN_ON_TIMER, VN_ON_BYTES_SENT, VN_RATE_BPS, VN_TIMER_S,
    VN_SENT_BYTES, VN_DUE_BYTES, VN_MARKED_FROM_S, VN_MARK, VN_REC_RATE_BPS, VN_NAMES,
};
struct vn_python {
    PyObject *window, *cnp, *cnm, *ack, *names[VN_NAMES]; /* classes */
    PyObject *marks[4]; /* of base.py's Mark, by the ECN field's value */
    PyObject *flows, *on_window, *on_rate; /* as vn_run got them */
};

/* A method of a flow's NP or RP that is due, with its arguments. */
struct vn_callback {
    enum vn_name method;
    uint32_t flow;
    uint32_t packets, marked_ce, marked_ue; /* on_window */
    uint64_t bytes;
    double first_s, last_s;
    uint8_t mark;    /* on_cnp, on_ack: the ECN field's value */
    double feedback; /* on_cnp: RecRate; on_cnm: quantised feedback; on_ack: the round trip, in seconds */
};

/* A flow's number on the wire, 24 bits, is the destination queue pair that its packets' BTH name. */
enum { VN_QP = 47 /* byte of the frame */, VN_QPS = 1 << 24, VN_QP_PAGE = 1 << 12 };

struct vn_net {
    uint64_t now, response, digest, events_done, traversals, data_traversals, dropped, bad_frames, stray_frames;
    uint32_t longest_frame;
    uint32_t unfinished; /* flows of known size that haven't arrived whole */
    struct vn_exchange exchange;
    struct vn_python python;
    /* Order, see order.c. */
    bool by_node;
    struct vn_queue queue; /* events that concern all nodes; unless by_node, all */
    uint64_t *first;       /* by node: the time of its first event; VN_NEVER: it has none */
    uint64_t *done;        /* by node: all its events before then have happened */
    uint64_t limit;        /* so far nodes go before they wait for each other */
    uint64_t lookahead;    /* the shortest delay of a link */
    uint64_t end;          /* of the present turn */
    uint32_t *round, turn; /* nodes in the order of their turns; whose it is, in that order */
    bool ordered;          /* all nodes' events until the limit in their order instead */
    struct vn_prefetch prefetch;
    struct vn_coming *coming, *lists[2]; /* what arrives until the end, in its order: the next one */
    uint32_t most_coming;
    uint32_t witness; /* a flow */
    struct vn_side *sides; /* by node */
    /* Packets. */
    uint8_t *pool;
    uint32_t lines; /* of 64 bytes, that each takes */
    bool inplace; /* all programs have that form */
    uint32_t frame_at, stored; /* of a packet: where its frame is, and how many bytes of it */
    uint32_t phv_size, headroom, free_packet, n_packets, in_use, most_in_use;
    struct vn_node *nodes;
    uint32_t n_nodes;
    struct vn_link *links;
    uint32_t n_links;
    struct vn_flow *flows;
    uint32_t n_flows;
    struct vn_sampler *samplers;
    uint32_t n_samplers;
    uint32_t *flow_of[VN_QPS / VN_QP_PAGE]; /* by queue pair, in pages; VN_NONE: no flow */
    bool called; /* the event was one of vn_call */
    bool failed; /* the run can't go on ... */
    bool raised; /* ... because an algorithm raised an error */
    char error[256];
};

/* Ends the run: vn_run returns VN_FAILED. */
static void vn_fail(struct vn_net *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The flow of a queue pair; VN_NONE: there is none. */
static uint32_t vn_flow_named(const struct vn_net *, uint32_t qp);
static inline double vn_seconds(uint64_t ps) { return (double)ps / 1e12; }
static inline uint32_t load24(const uint8_t *at) { return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2]; }

static inline struct vn_link *vn_link_of(struct vn_net *net, uint32_t link) { return &net->links[link]; }

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

/* Digests: what happened at a node, in its order. */
static inline uint64_t vn_mixed(uint64_t digest, uint64_t what) { return (digest ^ what) * UINT64_C(0x9e3779b97f4a7c15); }
static inline void vn_note(struct vn_node *node, uint64_t what) { node->digest = vn_mixed(node->digest, what); }

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
        vn_queue_up(net, &net->queue, event);
        return;
    }
    struct vn_node *node = &net->nodes[place];
    if (slot == 0) {
        vn_queue_up(net, &node->others, event);
        if (net->failed) return;
        event = node->others.events[0];
    }
    vn_enter(&node->events, slot, event);
    if (time < net->first[place]) net->first[place] = time;
}

/* How long so many bytes take at the link's rate, rounded to whole picoseconds. */
static inline uint64_t vn_duration(const struct vn_link *link, uint64_t bytes)
{
    if (link->ps_per_byte != 0) return bytes * (uint64_t)link->ps_per_byte;
    return (uint64_t)(((unsigned __int128)bytes * 8000000000000u + link->rate_bps / 2) / link->rate_bps);
}

/* ---- order.c ---- */
/* Until there is a reason to return to Python. */
static enum vn_reason vn_run_events(struct vn_net *);
static bool vn_order_init(struct vn_net *); /* false: the run has failed */

/* ---- link.c ---- */
/* Starts to send the packet now, as the link is free; it arrives by itself. */
static inline __attribute__((always_inline)) void vn_transmit(struct vn_net *, struct vn_link *, uint32_t id);
static inline __attribute__((always_inline)) void vn_arrival(struct vn_net *, uint32_t side, uint32_t id); /* its first packet has arrived */

/* ---- hop.c: through a program in place; plain.c: through one that isn't ---- */
/* A packet that came in by `port`: through ingress, and into a queue. */
static inline __attribute__((always_inline)) void vn_hop_ingress(struct vn_net *, struct vn_node *, uint16_t port, uint32_t id);
static void vn_plain_ingress(struct vn_net *, struct vn_node *, uint16_t port, uint32_t id);
/* VN_SEND: the packet is to be sent. VN_AGAIN: it went round, back to ingress. */
enum vn_verdict { VN_SEND, VN_GONE, VN_AGAIN };
static enum vn_verdict vn_hop_egress(struct vn_net *, struct vn_node *, uint16_t port, uint32_t id, uint32_t queue,
                                     uint32_t left);
static enum vn_verdict vn_plain_egress(struct vn_net *, struct vn_node *, uint16_t port, uint32_t id, uint32_t queue,
                                       uint32_t left, uint32_t passes);
static void vn_plain_init(struct vn_net *, struct vn_packet *); /* a packet that was never used */

/* ---- port.c: a switch's ports ---- */
static inline void vn_port_admit(struct vn_net *, uint32_t link, uint32_t id, uint32_t queue);
static void vn_port_serve(struct vn_net *, struct vn_link *, uint32_t number); /* if it is free and something may leave */

/* ---- pfc.c ---- */
/* Not static: a test tells it of bytes that never came. */
void vn_pfc_admitted(struct vn_net *, uint32_t in_link, uint32_t priority, uint32_t bytes);
static void vn_pfc_departed(struct vn_net *, uint32_t in_link, uint32_t priority, uint32_t bytes);
static void vn_pfc_arrived(struct vn_net *, uint32_t link, uint32_t id);
static void vn_pfc_effect(struct vn_net *, uint32_t link);
static void vn_pfc_expiry(struct vn_net *, uint32_t link, uint32_t priority);
static void vn_pfc_refresh(struct vn_net *, uint32_t link, uint32_t priority);
static void vn_pfc_limits(struct vn_net *, uint32_t link);

/* ---- nic.c ---- */
/* The flow's next packet; in receive.c. */
static void vn_stamp(const struct vn_net *, struct vn_packet *, const struct vn_flow *, bool last);
static void vn_nic_await(struct vn_net *, uint32_t flow); /* until its start */
static void vn_nic_start(struct vn_net *, uint32_t flow);
static void vn_nic_add(struct vn_net *, uint32_t flow);
static void vn_nic_stop(struct vn_net *, uint32_t flow);
static void vn_nic_rate(struct vn_net *, uint32_t flow, double rate_bps);
static void vn_nic_control(struct vn_net *, struct vn_node *, uint32_t id);
static void vn_nic_event(struct vn_net *, uint32_t link);
static void vn_nic_changed(struct vn_net *, struct vn_node *); /* something that may start earlier or later than it could */

/* ---- receive.c ---- */
static void vn_host_receive(struct vn_net *, struct vn_node *, uint32_t id);
static void vn_window_event(struct vn_net *, uint32_t flow);
static void vn_send_cnp(struct vn_net *, uint32_t flow, uint8_t mark, double rate_bps);

/* ---- callback.c ---- */
static bool vn_python_init(struct vn_python *);
static void vn_python_end(struct vn_python *);
/* An event's last act: calls the method, and does what the algorithm wants. */
static void vn_call_back(struct vn_net *, const struct vn_callback *);

/* ---- sample.c, capture.c ---- */
static void vn_sample(struct vn_net *, uint32_t sampler);
static void vn_capture_frame(const struct vn_net *, FILE *, struct vn_packet *, uint64_t at);

#endif
