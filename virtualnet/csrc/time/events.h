/* Event queues, ordered by (time, key). The key is the event's kind and its object's number, so
 * that the order is a property of the model, not of these data structures. */
#ifndef VN_EVENTS_H
#define VN_EVENTS_H

#include "base.h"

enum {
    VN_CLOSED = -1u, /* no slot of a tournament is open */
    VN_AHEAD = 8,    /* a packet is prefetched so many arrivals before its own */
};

struct vn_event {
    uint64_t time, key;
};

/* One comparison of 128 bits, without a branch: it would be unpredictable. */
static inline bool vn_before(struct vn_event a, struct vn_event b)
{
    return ((unsigned __int128)a.time << 64 | a.key) < ((unsigned __int128)b.time << 64 | b.key);
}

/* ---- any number of events: a binary heap ---- */

struct vn_event_queue {
    struct vn_event *events;
    uint32_t n, capacity;
};

static bool vn_event_queue_grow(struct vn_event_queue *); /* false: out of memory */

static inline void vn_event_queue_rise(struct vn_event *events, uint32_t at, struct vn_event event)
{
    for (; at > 0 && vn_before(event, events[(at - 1) / 2]); at = (at - 1) / 2)
        events[at] = events[(at - 1) / 2];
    events[at] = event;
}

/* False: out of memory, the event is lost. */
static inline bool vn_push(struct vn_event_queue *queue, struct vn_event event)
{
    VN_ASSERT(queue->n <= queue->capacity && event.time != VN_NEVER);
    if (__builtin_expect(queue->n == queue->capacity, 0) && !vn_event_queue_grow(queue))
        return false;
    vn_event_queue_rise(queue->events, queue->n++, event);
    return true;
}

/* Removes the first event; the queue must not be empty. The hole sinks to a leaf; the last event
 * rises from there, seldom far. */
static inline struct vn_event vn_pop(struct vn_event_queue *queue)
{
    VN_ASSERT(queue->n != 0);
    struct vn_event *events = queue->events, first = events[0];
    uint32_t n = --queue->n, at = 0;
    for (uint32_t child; (child = 2 * at + 1) + 1 < n; at = child) {
        child += vn_before(events[child + 1], events[child]);
        events[at] = events[child];
    }
    if (2 * at + 1 < n) {
        events[at] = events[2 * at + 1];
        at = 2 * at + 1;
    }
    vn_event_queue_rise(events, at, events[n]);
    return first;
}

/* ---- one event a slot: a tournament tree ---- */

/* A slot's event is at[n + slot], with time VN_NEVER if it has none; at[i] is the earlier one of
 * at[2 i] and at[2 i + 1], so at[1] is the first of all. n is a power of two. Slot `open` may have
 * changed in its leaf only, until vn_replay updates the rest. */
struct vn_tournament {
    struct vn_event *at;
    uint32_t n, open;
};

/* false: no memory, no change */
static bool vn_tournament_grow(struct vn_tournament *, uint32_t slots);

/* After a slot's event changed: replays its matches up to the root, without unpredictable
 * branches. */
static inline void vn_replay(struct vn_tournament *events, uint32_t slot)
{
    enum { SIZE = sizeof(struct vn_event) };
    char *all = (char *)events->at;
    size_t at = (size_t)(events->n + slot) * SIZE; /* in bytes */
    struct vn_event first = *(struct vn_event *)(void *)(all + at);
    while (at > SIZE) {
        struct vn_event sibling = *(struct vn_event *)(void *)(all + (at ^ SIZE));
        bool later = vn_before(sibling, first);
        first.time = later ? sibling.time : first.time;
        first.key = later ? sibling.key : first.key;
        at = at / 2 & -(size_t)SIZE;
        *(struct vn_event *)(void *)(all + at) = first;
    }
}

/* Sets a slot's event. */
static inline void vn_tournament_set(struct vn_tournament *events, uint32_t slot,
                                     struct vn_event event)
{
    VN_ASSERT(slot < events->n);
    events->at[events->n + slot] = event;
    if (slot != events->open) vn_replay(events, slot);
}

/* ---- arrivals, listed before the turn in which they happen (order.c) ---- */

struct vn_listed {
    uint64_t time;
    uint32_t channel, packet;
};

/* Sorts by time, stably; times are from `first` to `last`. Returns the array that has the result:
 * the first or `spare`. */
static struct vn_listed *vn_sort(struct vn_listed *, struct vn_listed *spare, uint32_t n,
                                 uint64_t first, uint64_t last);

#endif
