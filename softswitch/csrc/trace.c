/* The buffer of a traced program's steps. */
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

enum { FIRST_BYTES = 1 << 16, ALIGNMENT = 8 };

static uint64_t own_now_ns(void *context) { return sw_now_ns(context); }

int sw_trace_start(struct sw_switch *sw, uint64_t most_bytes, void (*full)(void))
{
    if (sw->trace != NULL) return -EEXIST;
    struct sw_trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL) return -ENOMEM;
    *trace =
        (struct sw_trace){.most = most_bytes, .now_ns = own_now_ns, .context = sw, .full = full};
    pthread_mutex_init(&trace->lock, NULL);
    pthread_cond_init(&trace->changed, NULL);
    sw_lock(sw);
    sw->trace = trace;
    if (sw->instance != NULL) sw->instance->trace = trace;
    sw_unlock(sw);
    return 0;
}

void sw_trace_clock(struct sw_switch *sw, uint64_t (*now_ns)(void *), void *context)
{
    if (sw->trace == NULL) return;
    sw->trace->now_ns = now_ns;
    sw->trace->context = context;
}

void sw_trace_end(struct sw_trace *trace)
{
    if (trace == NULL) return;
    pthread_mutex_lock(&trace->lock);
    trace->stopped = true;
    pthread_cond_broadcast(&trace->changed);
    pthread_mutex_unlock(&trace->lock);
}

void sw_trace_free(struct sw_trace *trace)
{
    if (trace == NULL) return;
    pthread_cond_destroy(&trace->changed);
    pthread_mutex_destroy(&trace->lock);
    free(trace->steps);
    free(trace);
}

uint64_t sw_trace_begin(struct sw_instance *s)
{
    return s->trace == NULL ? 0 : ++s->trace->packets;
}

uint64_t sw_trace_latest(const struct sw_instance *s)
{
    return s->trace == NULL ? 0 : s->trace->packets;
}

/* Room for a step; NULL: there is none. With the lock held. */
static uint8_t *room(struct sw_trace *trace, size_t size)
{
    if (trace->used + size > trace->most && trace->full != NULL) {
        pthread_mutex_unlock(&trace->lock);
        trace->full();
        pthread_mutex_lock(&trace->lock);
    }
    if (trace->used + size > trace->most) return NULL;
    if (trace->used + size > trace->allocated) {
        size_t wanted = trace->allocated == 0 ? FIRST_BYTES : 2 * trace->allocated;
        while (wanted < trace->used + size) wanted *= 2;
        uint8_t *larger = realloc(trace->steps, wanted);
        if (larger == NULL) return NULL;
        trace->steps = larger;
        trace->allocated = wanted;
    }
    uint8_t *at = trace->steps + trace->used;
    trace->used += size;
    return at;
}

void sw_trace(struct sw_instance *s, uint64_t packet, uint32_t kind, uint32_t a, uint32_t b,
              const void *data, size_t length)
{
    struct sw_trace *trace = s->trace;
    if (trace == NULL) return;
    struct sw_trace_step step = {packet,          trace->now_ns(trace->context), kind, a, b,
                                 (uint32_t)length};
    size_t padded = (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    pthread_mutex_lock(&trace->lock);
    uint8_t *to = room(trace, sizeof step + padded);
    if (to == NULL) {
        trace->lost++;
    } else {
        memcpy(to, &step, sizeof step);
        if (length != 0) memcpy(to + sizeof step, data, length);
        memset(to + sizeof step + length, 0, padded - length);
    }
    pthread_cond_signal(&trace->changed);
    pthread_mutex_unlock(&trace->lock);
}

int64_t sw_trace_take(struct sw_switch *sw, int timeout_ms, uint8_t *out, uint64_t capacity,
                      uint64_t *lost)
{
    struct sw_trace *trace = sw->trace;
    if (trace == NULL) return -ENOENT;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + (uint64_t)timeout_ms * 1000000u;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    pthread_mutex_lock(&trace->lock);
    while (timeout_ms != 0 && trace->used == 0 && !trace->stopped) {
        if (pthread_cond_timedwait(&trace->changed, &trace->lock, &until) == ETIMEDOUT) break;
    }
    size_t taken = 0;
    while (taken < trace->used) {
        const struct sw_trace_step *step = (const void *)(trace->steps + taken);
        size_t size = sizeof *step + (step->length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (taken + size > capacity) break;
        taken += size;
    }
    if (taken != 0) {
        memcpy(out, trace->steps, taken);
        memmove(trace->steps, trace->steps + taken, trace->used - taken);
        trace->used -= taken;
    }
    *lost = trace->lost;
    trace->lost = 0;
    bool ended = trace->stopped && taken == 0;
    pthread_mutex_unlock(&trace->lock);
    return ended ? -ESHUTDOWN : (int64_t)taken;
}
