/* What one thread owns: its clock, the turns of its nodes, free packets, what it counts, and an
 * error that ends its run. Besides, it knows the tables of the network: nodes, channels and
 * links, which don't move once it runs. Nodes of different contexts affect each other over
 * channels alone, as nodes of one do.
 *
 * A network has one context or several (time/crew.h). Between runs, and where events happen in
 * one order, the first one acts for all. Parts are passed a context, and know of it what they
 * include. */
#ifndef VN_CONTEXT_H
#define VN_CONTEXT_H

#include "frames/pool.h"
#include "time/node.h"
#include "time/order.h"
#include "time/turns.h"

struct vn_link;
struct vn_share;
struct vn_endpoint_kind;
struct vn_pfc_log;
struct vn_paths;

/* Kinds of endpoints, by number: see hosts/endpoint.h. */
enum vn_endpoint_number {
#define VN_ENDPOINT(name) VN_ENDPOINT_##name,
    VN_ENDPOINTS(VN_ENDPOINT)
#undef VN_ENDPOINT
        VN_ENDPOINT_KINDS
};

/* Observers, by number: see links/observer.h. */
enum vn_observer_number {
#define VN_OBSERVER(name) VN_OBSERVER_##name,
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
        VN_OBSERVER_KINDS
};

/* Of vn_totals. */
struct vn_counts {
    uint64_t traversals, data_traversals, dropped, unlinked, ungrouped, bad_frames, stray_frames,
        unusable_cnps;
};

struct vn_context {
    /* The network's: all its contexts have the same (vn_context_share), up to `now`. */
    uint32_t n_nodes, n_links, most_links;
    struct vn_node *nodes;
    struct vn_channel *channels; /* grouped by the node where they end */
    struct vn_link *links;
    struct vn_pool pool;
    uint64_t response; /* of flow control */
    uint64_t *unable; /* by node, packets lost that would end the run (vn_survive); NULL: they do */
    /* takes what a program sends round, and brings it back by vn_phv_again; NULL: it is back at
     * once */
    void (*reenters)(struct vn_context *, struct vn_node *, uint32_t packet);
    uint32_t longest_frame;
    const struct vn_endpoint_kind *const *endpoint_kinds; /* by number, VN_ENDPOINT_KINDS */
    void *endpoints[VN_ENDPOINT_KINDS]; /* what each of them keeps of the whole network */
    struct vn_order order;
    struct vn_paths *paths; /* NULL: programs choose them, and nothing logs them */
    /* of shared buffers: one class of a port each; see links/shared_buffer.h */
    struct vn_share *shares;
    uint32_t n_shares;
    void *observed[VN_OBSERVER_KINDS]; /* what each observer keeps of the whole network */

    /* Its own. */
    uint64_t now __attribute__((aligned(64)));
    uint32_t number; /* of the context, from 0 */
    bool failed; /* the run can't go on: `error` says why ... */
    bool raised; /* ... or Python's error does */
    struct vn_packets packets;
    struct vn_turns turns;
    struct vn_prefetch prefetch;
    struct vn_counts totals;
    uint64_t events_done;
    struct vn_pfc_log *pfc_log; /* NULL: none was requested */
    char error[256];

    /* The first one's. */
    uint64_t digest; /* of events that concern all nodes */
    struct vn_exchange exchange;
    struct vn_pace *pace; /* of a paced run, while it lasts */
} __attribute__((aligned(64)));

/* Gives another context what is the network's. */
static void vn_context_share(struct vn_context *to, const struct vn_context *first);

/* Ends the run: vn_run returns VN_FAILED. */
static void vn_fail(struct vn_context *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns the code; `why` is vn_error's text, if the run hasn't failed. */
static int vn_refuse(struct vn_context *, int code, const char *why);

/* What calls are refused for that make Python act on single events. */
#define VN_STRICT_ONLY "a function for each frame needs the events in one order: queues=\"one\""

/* Python's lock, which a paced run has left, is its thread's until the engine's is left. NULL: the
 * run isn't paced, and has it. */
static inline void vn_take_python(struct vn_pace *pace)
{
    if (pace == NULL || pace->left == NULL) return;
    pace->acquire(pace->left);
    pace->left = NULL;
}

static inline double vn_seconds(uint64_t ps) { return (double)ps / 1e12; }

/* A hash of events in their order. */
static inline uint64_t vn_digest_mix(uint64_t digest, uint64_t word)
{
    return (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
}
static inline void vn_digest_note(struct vn_node *node, uint64_t word)
{
    node->digest = vn_digest_mix(node->digest, word);
}

#endif
