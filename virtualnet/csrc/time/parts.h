/* Owns what a process knows of a network that several share: which nodes are its part, and what it
 * exchanges with the others. Each has all nodes' and links' numbers, and the state of its own nodes
 * alone. A phase of a round ends with an exchange: frames that cross a cut, clocks of the nodes
 * that send over it, and what is decided of all parts together; so rounds, phases and turns are the
 * same with any number of processes, as with any number of threads (crew.h).
 *
 * It may touch channels, packets and the order of events, and promises that a frame that came from
 * another process is in its channel as if its sender were here. */
#ifndef VN_PARTS_H
#define VN_PARTS_H

#include "context.h"

/* What decides how the run goes on: of one part, or of all together. */
struct vn_moment {
    uint64_t next; /* the time of the first event; VN_NEVER: there is none */
    uint64_t furthest; /* the latest clock of a node */
    uint64_t events;
    /* see struct vn_turns; packets: see vn_totals. Of one part any may be below zero */
    int64_t unfinished, waiting, packets, packets_most;
    struct vn_counts counts;
};

/* By other part. */
struct vn_neighbour {
    uint32_t *out, n_out; /* channels that lead there */
    /* of this part, those whose turns that one's wait for; of that one, those that this one's do:
     * ascending */
    uint32_t *sends, n_sends, *waits, n_waits;
    uint8_t *letter; /* what goes there next */
    size_t bytes, capacity;
    uint64_t events; /* that it had at the latest exchange */
};

struct vn_parts {
    uint32_t n, number;
    uint32_t *owners; /* by node */
    struct vn_neighbour *neighbours; /* n */
    struct vn_mail *out, *in; /* n */
    int (*exchange)(uint32_t n, const struct vn_mail *out, struct vn_mail *in);
    uint32_t fault; /* the node whose turn has failed; VN_NONE: another reason */
    struct vn_moment all; /* after the latest exchange */
    struct vn_part_stats stats;
};

/* Whether the node is of this process's part. */
static inline bool vn_here(const struct vn_context *context, uint32_t node)
{
    const struct vn_parts *parts = context->order.parts;
    return parts == NULL || parts->owners[node] == parts->number;
}

/* Before the first event, when phases are known: who exchanges what. False: the run has failed. */
static bool vn_parts_init(struct vn_context *);
static void vn_parts_free(struct vn_context *);
/* At a phase's end, VN_NONE: all nodes' turns are over. False: the run has failed, here or in
 * another process. */
static bool vn_parts_exchange(struct vn_context *, uint32_t phase);
/* The bits that any part has set. */
static uint64_t vn_parts_any(struct vn_context *, uint64_t bits);
/* The last one of all parts' events. */
static struct vn_event vn_parts_last(struct vn_context *, struct vn_event);
/* Adds up all parts' numbers. */
static void vn_parts_sum(struct vn_context *, uint64_t *numbers, uint32_t n);

#endif
