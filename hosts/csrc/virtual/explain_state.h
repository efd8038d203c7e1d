/* What the observer "explain" keeps, of packets, ports, flows and logs. All state belongs to the
 * node whose event it is: a packet's to the node that has it, a port's to where it starts, a flow's
 * to one of its ends. */
#ifndef VN_EXPLAIN_STATE_H
#define VN_EXPLAIN_STATE_H

#include "virtual/explain.h"

#include <stdlib.h>
#include <string.h>

#include "switches/scheduler.h"
#include "virtual/flow.h"

/* Times of a packet have 48 bits: its sums are below 281 s, and what is between two events is the
 * difference of two clocks. Fields are packed by hand: what a compiler makes of bit fields waits for
 * its own stores. */
#define TIME_BITS 48
#define TIME_MASK ((UINT64_C(1) << TIME_BITS) - 1)
#define MOST_WORK ((UINT64_C(1) << 40) - 1) /* 1.1 s of work on a line; more counts as so much */

/* What a packet has gone through; an ACK begins with that of the packet whose arrival made it. */
struct way {
    uint64_t waited[3]; /* contention, backlog, idle by PAUSE, overtaken (48 bits each) */
    /* inside: where it comes into a queue its time is added; where it is due at a node,
     * subtracted */
    uint64_t wire, inside;
};

/* Of a packet under way, in its line of the pool. */
struct note {
    /* in a queue: when it came, shifted by 8; below, its class, and ECN_SHIFT to IN_QUEUE */
    uint64_t came;
    /* likewise: the idle time of its class (48 bits), behind, without (40 bits each): see
     * vn_explain_hop */
    uint64_t queue[2];
    struct way way;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct note) == 64, "a cache line");

/* What a packet found in its queue. */
struct queue_state {
    uint64_t idle, behind, without;
};

static inline void store_queue(struct note *note, struct queue_state queue)
{
    note->queue[0] = queue.idle << 16 | queue.behind >> 24;
    note->queue[1] = queue.behind << 40 | queue.without;
}

static inline struct queue_state load_queue(const struct note *note)
{
    uint64_t behind = (note->queue[0] & 0xffff) << 24 | note->queue[1] >> 40;
    return (struct queue_state){note->queue[0] >> 16, behind, note->queue[1] & MOST_WORK};
}

/* What it has waited for. */
struct waited {
    uint64_t contention, backlog, paused, overtaken;
};

static inline void store_waited(struct way *way, struct waited waited)
{
    way->waited[0] = waited.contention << 16 | waited.backlog >> 32;
    way->waited[1] = waited.backlog << 32 | waited.paused >> 16;
    way->waited[2] = waited.paused << 48 | waited.overtaken;
}

/* Likewise, of what was in queues where nothing was PAUSEd: their sums are at the ends of words. */
static inline void add_waited(struct way *way, uint64_t contention, uint64_t overtaken)
{
    way->waited[0] += contention << 16;
    way->waited[2] += overtaken;
}

static inline struct waited load_waited(const struct way *way)
{
    return (struct waited){
        .contention = way->waited[0] >> 16,
        .backlog = (way->waited[0] & 0xffff) << 32 | way->waited[1] >> 32,
        .paused = (way->waited[1] & 0xffffffff) << 16 | way->waited[2] >> 48,
        .overtaken = way->waited[2] & TIME_MASK,
    };
}

/* By enum vn_part, from VN_PARTS_SENDER on, of a packet that arrives now. */
static inline void parts_of_way(const struct way *way, uint64_t now,
                                uint64_t parts[VN_PARTS - VN_PARTS_SENDER])
{
    struct waited waited = load_waited(way);
    parts[VN_PART_CONTENTION - VN_PARTS_SENDER] = waited.contention;
    parts[VN_PART_PAUSE_BACKLOG - VN_PARTS_SENDER] = waited.backlog;
    parts[VN_PART_PAUSE_IDLE - VN_PARTS_SENDER] = waited.paused;
    parts[VN_PART_OVERTAKEN - VN_PARTS_SENDER] = waited.overtaken;
    parts[VN_PART_WIRE - VN_PARTS_SENDER] = way->wire;
    /* where a frame ends its way it comes into no queue */
    parts[VN_PART_INSIDE - VN_PARTS_SENDER] = way->inside + now;
}

static inline uint64_t came_at(const struct note *note) { return note->came >> 8; }
static inline uint32_t class_of(const struct note *note) { return note->came & (VN_CLASSES - 1); }

/* Behind the class in `came`, of a packet whose mark is looked at: its ECN bits then, whether its
 * queue was empty, and whether the gate had opened at this very time. */
#define ECN_SHIFT 3
#define FOUND_EMPTY 0x20
#define JUST_OPENED 0x40
#define IN_QUEUE 0x80 /* of each packet in a switch's queue, or ACK at its host: until it starts */
#define ECN_CE 3

/* Of a packet whose flow is logged, or whose packets may overtake each other. */
struct trace {
    uint64_t sender[VN_PARTS_SENDER], busy;
    uint32_t serial, queue_bytes;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct trace) == 64, "a cache line");

/* A class of a port where a gate was ever closed: a port without has the work that it would have
 * without PAUSE. Work is in ps on the line. */
struct line_class {
    /* how long the gate was closed and the line idle; since when it is, while the gate is closed */
    uint64_t idle, idle_from;
    uint64_t without, at; /* work that would wait had the port never been PAUSEd, as of `at` */
    uint64_t busy; /* since when there has been work of the class or above */
    struct span *spans; /* of a host: idle by PAUSE, in order */
    uint32_t n_spans, capacity;
    uint64_t opened; /* when the gate last did */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct line_class) == 64, "a cache line");

struct span {
    uint64_t from, to;
};

/* Of a flow at its sender. */
struct sender {
    uint64_t at; /* its parts are up to then, without its latest frame ... */
    uint64_t parts[VN_PARTS_SENDER];
    uint32_t frame; /* ... which takes so long on the line, ps; 0: they have it */
    uint8_t closed_by; /* enum vn_part: VN_PART_WINDOW or VN_PART_RECOVER */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct sender) == 64, "a cache line");

/* Of a flow at its sender, if it has a window. */
struct window {
    uint64_t at; /* when its latest ACK came, and what that had gone through */
    struct way way;
    uint64_t parts[VN_WINDOW_PARTS]; /* up to the latest time at which it opened */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct window) == 128, "two cache lines");

struct log {
    char *entries;
    uint64_t n, capacity;
};
static const size_t entry_bytes[VN_EXPLAIN_LOGS] = {
    [VN_EXPLAIN_SENT] = sizeof(struct vn_explain_sent),
    [VN_EXPLAIN_HOP] = sizeof(struct vn_explain_hop),
    [VN_EXPLAIN_LINE] = sizeof(struct vn_explain_line),
    [VN_EXPLAIN_CAUSE] = sizeof(struct vn_explain_cause),
};

struct explain {
    struct line_class (*lines)[VN_CLASSES]; /* by link */
    /* likewise: a gate was ever closed there; only from then on there is a line_class ... */
    bool *stopped;
    uint8_t *used; /* ... which is kept up for these classes, a bit mask: see class_begins */
    struct sender *senders; /* by flow ... */
    struct window *windows;
    struct vn_explained *flows; /* ... as are these */
    struct trace *traces; /* by packet */
    uint32_t most_flows, most_packets, most_links;
    bool unordered, causes, whole;
    bool inspects; /* hops of flows are logged, or marks are counted */
    uint8_t *logged_flows, *logged_links; /* NULL: none */
    uint32_t *serials; /* by flow, of those that are logged */
    struct vn_explain_marks *marks; /* by link; NULL: they aren't counted */
    uint32_t n_logged_flows, n_logged_links;
    uint64_t from, to;
    struct {
        struct log of[VN_EXPLAIN_LOGS];
    } __attribute__((aligned(64))) logs[VN_MOST_THREADS];
};

static inline struct explain *explain_of(const struct vn_context *context)
{
    return context->observed[VN_OBSERVER_explain];
}
static inline struct note *note_of(const struct vn_context *context, uint32_t id)
{
    return vn_observed(context, explain, id);
}
static inline struct line_class *line_of(const struct vn_context *context,
                                         const struct vn_link *link, uint32_t class)
{
    return &explain_of(context)->lines[link - context->links][class];
}
static inline struct trace *trace_of(const struct vn_context *context, uint32_t id)
{
    VN_ASSERT(id / context->pool.lines < explain_of(context)->most_packets);
    return &explain_of(context)->traces[id / context->pool.lines];
}
static inline bool is_logged(const struct explain *explain, uint32_t flow)
{
    return __builtin_expect(explain->logged_flows != NULL, 0) && flow < explain->n_logged_flows &&
           explain->logged_flows[flow];
}
/* Has a note: a flow's data, or an ACK or CNP. */
static inline bool is_noted(const struct vn_packet *packet) { return packet->flow != VN_NONE; }
static inline bool is_data(const struct vn_packet *packet)
{
    return packet->data != VN_NOT_DATA && packet->flow != VN_NONE;
}

/* A new entry of a log; NULL: no memory. */
static void *entry(const struct vn_context *context, enum vn_explain_logs which)
{
    struct log *log = &explain_of(context)->logs[context->number].of[which];
    if (log->n == log->capacity) {
        uint64_t capacity = log->capacity == 0 ? 1024 : 2 * log->capacity;
        char *entries = realloc(log->entries, capacity * entry_bytes[which]);
        if (entries == NULL) {
            __atomic_store_n(&explain_of(context)->whole, false, __ATOMIC_RELAXED);
            return NULL;
        }
        log->entries = entries;
        log->capacity = capacity;
    }
    return log->entries + log->n++ * entry_bytes[which];
}

#endif
