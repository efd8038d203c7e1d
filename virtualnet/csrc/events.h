/* Events, and queues of them: what happens next, in the order of (time, key). The key is the event's kind and what it
 * belongs to, so that the order is a fact of the model, not of the queue's design. */
#ifndef VN_EVENTS_H
#define VN_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct vn_event { uint64_t time, key; };

/* A binary heap. */
struct vn_queue {
    struct vn_event *events;
    uint32_t n, capacity;
};

bool vn_queue_grow(struct vn_queue *); /* false: out of memory */

/* One comparison of 128 bits, without a branch: which of two events comes first can't be foretold. */
static inline bool vn_before(struct vn_event a, struct vn_event b)
{
    return ((unsigned __int128)a.time << 64 | a.key) < ((unsigned __int128)b.time << 64 | b.key);
}

static inline void vn_queue_rise(struct vn_event *events, uint32_t at, struct vn_event event)
{
    for (; at > 0 && vn_before(event, events[(at - 1) / 2]); at = (at - 1) / 2) events[at] = events[(at - 1) / 2];
    events[at] = event;
}

/* False: out of memory, the event is lost. */
static inline bool vn_push(struct vn_queue *queue, struct vn_event event)
{
    if (__builtin_expect(queue->n == queue->capacity, 0) && !vn_queue_grow(queue)) return false;
    vn_queue_rise(queue->events, queue->n++, event);
    return true;
}

/* Takes the first event; there is one. Its place goes down to a leaf, and the last event rises from there: seldom far. */
static inline struct vn_event vn_pop(struct vn_queue *queue)
{
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
    vn_queue_rise(events, at, events[n]);
    return first;
}

#endif
