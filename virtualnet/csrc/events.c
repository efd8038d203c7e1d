/* Events: memory. */
#include "events.h"

#include <stdlib.h>

bool vn_queue_grow(struct vn_queue *queue)
{
    uint32_t capacity = queue->capacity == 0 ? 16 : 2 * queue->capacity;
    struct vn_event *events = realloc(queue->events, capacity * sizeof *events);
    if (events == NULL) return false;
    queue->events = events;
    queue->capacity = capacity;
    return true;
}

bool vn_tournament_add(struct vn_tournament *events)
{
    uint32_t n = events->n + 1;
    struct vn_event *at = aligned_alloc(64, (2 * n * sizeof *at + 63) / 64 * 64);
    if (at == NULL) return false;
    for (uint32_t slot = 0; slot < n; slot++) {
        at[n + slot] = slot + 1 < n ? events->at[events->n + slot] : (struct vn_event){VN_NEVER, 0};
    }
    for (uint32_t i = n - 1; i > 0; i--) at[i] = vn_before(at[2 * i + 1], at[2 * i]) ? at[2 * i + 1] : at[2 * i];
    free(events->at);
    *events = (struct vn_tournament){at, n, VN_CLOSED};
    return true;
}
