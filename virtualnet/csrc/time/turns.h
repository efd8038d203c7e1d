/* What a context has of the order of events: the turns of its nodes, and what is listed for the
 * present one. */
#ifndef VN_TURNS_H
#define VN_TURNS_H

#include "time/events.h"

struct vn_node;

enum { VN_QUESTION_BYTES = 128 };

/* What an event ends in that only the first context's thread can answer: an endpoint's, as Python
 * has its algorithms. The node's turn goes on when it is answered. */
struct vn_question {
    uint64_t now;
    uint32_t node; /* whose turn it is: of a group its first one */
    uint32_t endpoint; /* its kind's number */
    bool failed; /* the answer is an error */
    uint8_t about[VN_QUESTION_BYTES] __attribute__((aligned(8)));
};

/* How a node's turn has failed: the run ends when all others of the phase are over. */
struct vn_fault {
    uint32_t node; /* VN_NONE: none has */
    uint64_t now;
    char error[256];
    void *held; /* Python's error (`hold` of struct vn_order); NULL: none */
};

struct vn_turns {
    uint64_t end; /* of the current turn */
    uint64_t barrier; /* nodes advance to this time, then wait for each other */
    const uint32_t *order; /* the nodes that have turns in this pass, in their order ... */
    uint32_t turn, n; /* ... the current turn's index, and their number */
    uint32_t ahead; /* the number of those that may be prefetched */
    /* the current turn's, sorted: the next one; list and spare */
    struct vn_listed *arrivals, *arrival_lists[2];
    uint32_t arrivals_capacity;
    bool defers; /* what an event asks Python waits until the pass is over */
    bool has_question; /* the latest event has */
    uint32_t
        /* what has to end before a run with `finish` does; of one context, what has been added
         * since a round's end */
        unfinished;
    /* events at one node that start something at another, at the same time; likewise */
    uint32_t waiting;
    uint32_t *nodes, *phase_end; /* its own nodes, by phase; by phase, the index behind the last */
    uint32_t *again; /* those that go on in the next pass */
    /* of the present pass: of a node several, if an event was of several packets */
    struct vn_question *questions;
    uint32_t n_questions, most_questions;
    struct vn_fault fault;
};

/* See prefetch.h. */
struct vn_prefetch {
    bool enabled, active; /* active: the packets exceed the caches */
    /* by step: the node prefetched in the present turn, or NULL */
    const struct vn_node *upcoming[4];
    uint32_t cursor, total; /* of the current turn's prefetches: the next one, and their number */
};

#endif
