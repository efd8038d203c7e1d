/* The engine's state, and how a run fails. */
#ifndef VN_NET_H
#define VN_NET_H

#include <string.h>

#include "callback.h"
#include "model.h"
#include "wire.h"

/* The order of events, see order.c. */
struct vn_schedule {
    struct vn_event_queue queue; /* events that concern all nodes; unless by_node, all */
    uint64_t *next_event;  /* by node: the time of its first event; VN_NEVER: it has none */
    uint64_t *clock;       /* by node: all its events before then have happened */
    uint64_t barrier;      /* nodes advance to this time, then wait for each other */
    uint64_t lookahead;    /* the shortest delay of a link */
    uint64_t turn_end;     /* of the current turn */
    uint32_t *order, turn; /* the nodes in the order of their turns in a round; the current turn's index */
    bool ordered;          /* until the barrier, all nodes' events happen in one order */
    struct vn_listed *arrivals, *arrival_lists[2]; /* the current turn's, sorted: the next one; list and spare */
    uint32_t arrivals_capacity;
    uint32_t unfinished_hint; /* the flow that cannot_finish_yet looks at first */
};

/* See prefetch.h. */
struct vn_prefetch {
    bool enabled, active;              /* active: the packets exceed the caches */
    const struct vn_node *upcoming[4]; /* by step: the node prefetched in the present turn, or NULL */
    uint32_t cursor, total;            /* of the current turn's prefetches: the next one, and their number */
};

/* On the wire a flow is named by the destination QP in its packets' BTH. */
enum { VN_QPS = 1 << 24, VN_QP_PAGE = 1 << 12 };

struct vn_net {
    uint64_t now, response, digest, events_done, traversals, data_traversals, dropped, bad_frames, stray_frames, unusable_cnps;
    uint32_t longest_frame;
    uint32_t unfinished; /* flows of known size that haven't arrived completely */
    struct vn_exchange exchange;
    struct vn_python python;
    bool by_node; /* a queue of events for each node; else one for all, strictly in order */
    struct vn_schedule schedule;
    struct vn_prefetch prefetch;
    struct vn_rx_port *rx_ports; /* grouped by node */
    /* Packets. */
    uint8_t *pool;
    uint32_t lines;            /* cache lines of a packet */
    bool inplace;              /* all programs have the form that leaves the frame in place (softswitch/codegen/inplace.py) */
    uint32_t frame_at, stored; /* in a packet: the frame's offset, and how many of its bytes are stored */
    uint32_t phv_size, headroom, free_packet, n_packets, most_packets, in_use, most_in_use;
    uint32_t flow_control; /* of those in use: flow control packets of credits, on their way */
    struct vn_node *nodes;
    uint32_t n_nodes;
    struct vn_link *links;
    uint32_t n_links, most_links;
    struct vn_flow *flows;
    uint32_t n_flows, most_flows;
    struct vn_sampler *samplers;
    uint32_t n_samplers;
    uint32_t *flow_of[VN_QPS / VN_QP_PAGE]; /* by queue pair, in pages; VN_NONE: no flow */
    bool return_due; /* the latest event was a VN_EV_RETURN */
    bool failed; /* the run can't go on ... */
    bool raised; /* ... because an algorithm raised an error */
    char error[256];
};

/* Ends the run: vn_run returns VN_FAILED. */
static void vn_fail(struct vn_net *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The flow of a queue pair; VN_NONE: there is none. */
static uint32_t vn_flow_of_qp(const struct vn_net *, uint32_t qp);
static inline uint64_t vn_pauses(const struct vn_link *link)
{
    uint64_t sum = 0;
    for (uint32_t class = 0; class < VN_CLASSES; class ++) sum += link->pause[class];
    return sum;
}

static inline double vn_seconds(uint64_t ps) { return (double)ps / 1e12; }

static inline struct vn_link *vn_link_of(struct vn_net *net, uint32_t link) { return &net->links[link]; }

/* Adds to a node's digest: a hash of its events, in their order. */
static inline uint64_t vn_digest_mix(uint64_t digest, uint64_t word) { return (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15); }
static inline void vn_digest_note(struct vn_node *node, uint64_t word) { node->digest = vn_digest_mix(node->digest, word); }

/* Serialisation time of so many bytes at the link's rate, rounded to whole picoseconds. */
static inline uint64_t vn_duration(const struct vn_link *link, uint64_t bytes)
{
    if (link->ps_per_byte != 0) return bytes * (uint64_t)link->ps_per_byte;
    return (uint64_t)(((unsigned __int128)bytes * 8000000000000u + link->rate_bps / 2) / link->rate_bps);
}

#endif
