/* The network from inside: its state, and how a run fails. */
#ifndef VN_NET_H
#define VN_NET_H

#include <string.h>

#include "callback.h"
#include "model.h"
#include "wire.h"

/* In which order events happen, see order.c. */
struct vn_schedule {
    struct vn_queue queue; /* events that concern all nodes; unless by_node, all */
    uint64_t *first;       /* by node: the time of its first event; VN_NEVER: it has none */
    uint64_t *done;        /* by node: all its events before then have happened */
    uint64_t limit;        /* so far nodes go before they wait for each other */
    uint64_t lookahead;    /* the shortest delay of a link */
    uint64_t end;          /* of the present turn */
    uint32_t *round, turn; /* nodes in the order of their turns; whose it is, in that order */
    bool ordered;          /* all nodes' events until the limit in their order instead */
    struct vn_coming *coming, *lists[2]; /* what arrives until the end, in its order: the next one */
    uint32_t most_coming;
    uint32_t witness; /* a flow */
};

/* See prefetch.h. */
struct vn_prefetch {
    bool enabled, active;                   /* active: packets don't stay in the caches by themselves */
    const struct vn_node *upcoming[4];      /* by step: whose it is in the present turn; NULL: nobody's */
    uint32_t cursor, pieces;                /* what of them comes next; how many pieces there are */
};

/* A flow's number on the wire is the destination queue pair that its packets' BTH name. */
enum { VN_QPS = 1 << 24, VN_QP_PAGE = 1 << 12 };

struct vn_net {
    uint64_t now, response, digest, events_done, traversals, data_traversals, dropped, bad_frames, stray_frames;
    uint32_t longest_frame;
    uint32_t unfinished; /* flows of known size that haven't arrived whole */
    struct vn_exchange exchange;
    struct vn_python python;
    bool by_node; /* each node has a queue of its own; if not, one queue has all events, strictly in order */
    struct vn_schedule schedule;
    struct vn_prefetch prefetch;
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

static inline struct vn_link *vn_link_of(struct vn_net *net, uint32_t link) { return &net->links[link]; }

/* Digests: what happened at a node, in its order. */
static inline uint64_t vn_mixed(uint64_t digest, uint64_t what) { return (digest ^ what) * UINT64_C(0x9e3779b97f4a7c15); }
static inline void vn_note(struct vn_node *node, uint64_t what) { node->digest = vn_mixed(node->digest, what); }

/* How long so many bytes take at the link's rate, rounded to whole picoseconds. */
static inline uint64_t vn_duration(const struct vn_link *link, uint64_t bytes)
{
    if (link->ps_per_byte != 0) return bytes * (uint64_t)link->ps_per_byte;
    return (uint64_t)(((unsigned __int128)bytes * 8000000000000u + link->rate_bps / 2) / link->rate_bps);
}

#endif
