/* PFC frames, one by one, where a log was requested: when a port sends one, and when one takes effect at the port that it stops. Nodes
 * don't go strictly in step, so the log isn't in the order of time. */
#include <errno.h>
#include <stdlib.h>

#include "links/pfc_log.h"

#include "links/link.h"

enum { FIRST_EVENTS = 1024 };

int vn_log_pfc(struct vn_context *context)
{
    if (context->pfc_log != NULL) return 0;
    context->pfc_log = calloc(1, sizeof *context->pfc_log);
    return context->pfc_log != NULL ? 0 : vn_refuse(context, -ENOMEM, "out of memory");
}

uint64_t vn_pfc_events(const struct vn_context *context, const struct vn_pfc_event **out)
{
    *out = context->pfc_log != NULL ? context->pfc_log->events : NULL;
    return context->pfc_log != NULL ? context->pfc_log->n : 0;
}

void vn_pfc_log_add(struct vn_context *context, const struct vn_link *port, uint32_t class, enum vn_pfc_what what)
{
    struct vn_pfc_log *log = context->pfc_log;
    if (log->n == log->capacity) {
        uint64_t capacity = log->capacity != 0 ? 2 * log->capacity : FIRST_EVENTS;
        struct vn_pfc_event *events = realloc(log->events, capacity * sizeof *events);
        if (events == NULL) {
            vn_fail(context, "out of memory for events of PFC");
            return;
        }
        log->events = events;
        log->capacity = capacity;
    }
    log->events[log->n++] = (struct vn_pfc_event){
        .time_ps = context->now,
        .link = (uint32_t)(port - context->links),
        .class = (uint16_t)class,
        .what = (uint16_t)what,
    };
}

void vn_pfc_log_free(struct vn_context *context)
{
    if (context->pfc_log != NULL) free(context->pfc_log->events);
    free(context->pfc_log);
}
