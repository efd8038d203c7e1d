/* PFC frames, one by one, where a log was requested: when a port sends one, and when one takes
 * effect at the port that it stops. Nodes don't go strictly in step, so the log isn't in the order
 * of time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "links/pfc_log.h"

#include "links/link.h"
#include "time/crew.h"

enum { FIRST_EVENTS = 1024 };

int vn_log_pfc(struct vn_context *context)
{
    for (struct vn_context *part = context; part != NULL;
         part = vn_crew_context(context, part->number + 1)) {
        if (part->pfc_log == NULL) part->pfc_log = calloc(1, sizeof *part->pfc_log);
        if (part->pfc_log == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
    }
    return 0;
}

/* Makes room for `more`. False: no memory. */
static bool grow_log(struct vn_pfc_log *log, uint64_t more)
{
    uint64_t capacity = log->capacity != 0 ? log->capacity : FIRST_EVENTS;
    if (log->n + more <= log->capacity) return true;
    while (capacity < log->n + more) capacity *= 2;
    struct vn_pfc_event *events = realloc(log->events, capacity * sizeof *events);
    if (events == NULL) return false;
    log->events = events;
    log->capacity = capacity;
    return true;
}

int64_t vn_pfc_events(struct vn_context *context, const struct vn_pfc_event **out)
{
    struct vn_pfc_log *all = context->pfc_log;
    *out = NULL;
    if (all == NULL) return 0;
    for (struct vn_context *part = context;
         (part = vn_crew_context(context, part->number + 1)) != NULL; part->pfc_log->n = 0) {
        if (!grow_log(all, part->pfc_log->n))
            return vn_refuse(context, -ENOMEM, "out of memory for events of PFC");
        if (part->pfc_log->n != 0)
            memcpy(all->events + all->n, part->pfc_log->events,
                   part->pfc_log->n * sizeof *all->events);
        all->n += part->pfc_log->n;
    }
    *out = all->events;
    return (int64_t)all->n;
}

void vn_pfc_log_add(struct vn_context *context, const struct vn_link *port, uint32_t class,
                    enum vn_pfc_kind kind)
{
    struct vn_pfc_log *log = context->pfc_log;
    if (!grow_log(log, 1)) {
        vn_fail(context, "out of memory for events of PFC");
        return;
    }
    log->events[log->n++] = (struct vn_pfc_event){
        .time_ps = context->now,
        .link = (uint32_t)(port - context->links),
        .class = (uint16_t)class,
        .kind = (uint16_t)kind,
    };
}

void vn_pfc_log_free(struct vn_context *context)
{
    for (struct vn_context *part = context; part != NULL;
         part = vn_crew_context(context, part->number + 1)) {
        if (part->pfc_log != NULL) free(part->pfc_log->events);
        free(part->pfc_log);
    }
}
