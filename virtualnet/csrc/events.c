/* The event queue: the heap, and memory. */
#include "events.h"

#include <stdlib.h>
#include <string.h>

bool vn_events_init(struct vn_events *q, bool wheel, uint32_t shift)
{
    memset(q, 0, sizeof *q);
    q->wheel = wheel;
    q->shift = shift;
    return !wheel || vn_slots_grow(q);
}

void vn_events_free(struct vn_events *q)
{
    free(q->heap);
    free(q->slots);
}

bool vn_slots_grow(struct vn_events *q)
{
    uint32_t n = q->n_slots == 0 ? 1024 : 2 * q->n_slots;
    struct vn_slot *slots = realloc(q->slots, n * sizeof *slots);
    if (slots == NULL) {
        q->full = true;
        return false;
    }
    q->slots = slots;
    for (uint32_t i = q->n_slots == 0 ? 1 : q->n_slots; i < n; i++) slots[i].next = i + 1 == n ? 0 : i + 1;
    q->free = q->n_slots == 0 ? 1 : q->n_slots; /* slot 0 is nobody's: 0 ends a list */
    q->n_slots = n;
    return true;
}

static bool before(struct vn_event a, struct vn_event b)
{
    return a.time < b.time || (a.time == b.time && a.key < b.key);
}

void vn_heap_push(struct vn_events *q, struct vn_event event)
{
    if (q->n == q->capacity) {
        uint32_t capacity = q->capacity == 0 ? 1024 : 2 * q->capacity;
        struct vn_event *heap = realloc(q->heap, capacity * sizeof *heap);
        if (heap == NULL) {
            q->full = true;
            return;
        }
        q->heap = heap;
        q->capacity = capacity;
    }
    uint32_t at = q->n++;
    while (at > 0 && before(event, q->heap[(at - 1) / 2])) {
        q->heap[at] = q->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    q->heap[at] = event;
}

struct vn_event vn_heap_pop(struct vn_events *q)
{
    struct vn_event top = q->heap[0], last = q->heap[--q->n];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < q->n; at = child) {
        if (child + 1 < q->n && before(q->heap[child + 1], q->heap[child])) child++;
        if (!before(q->heap[child], last)) break;
        q->heap[at] = q->heap[child];
    }
    if (q->n != 0) q->heap[at] = last;
    return top;
}
