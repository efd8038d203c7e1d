/* Queues of events: memory. */
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
