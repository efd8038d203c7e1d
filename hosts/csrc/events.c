/* A growing list of events, which Python empties. */
#include "events.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

struct events *events_new(void)
{
    struct events *events = calloc(1, sizeof *events);
    if (events == NULL) return NULL;
    /* One more than its capacity: a dummy for events that are lost */
    events->all = calloc(FIRST_CAPACITY + 1, sizeof *events->all);
    events->capacity = FIRST_CAPACITY;
    if (events->all != NULL) return events;
    free(events);
    return NULL;
}

void events_free(struct events *events)
{
    if (events != NULL) free(events->all);
    free(events);
}

struct event *events_add(struct events *events, enum event_kind kind, bool urgent, double at_s)
{
    if (events->count == events->capacity) {
        struct event *more = realloc(events->all, (2 * events->capacity + 1) * sizeof *more);
        if (more == NULL) {
            events->lost++;
            return &events->all[events->capacity];
        }
        events->all = more;
        events->capacity *= 2;
    }
    struct event *event = &events->all[events->count++];
    if (urgent) events->urgent++;
    event->kind = (int32_t)kind;
    event->priority = 0;
    event->at_s = at_s;
    event->flow = NULL;
    event->count = event->port = 0;
    return event;
}
