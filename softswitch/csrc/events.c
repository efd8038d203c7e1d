/* The queue of events. */
#include "events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sw_event_node {
    struct sw_event_node *next;
    struct sw_event event;
    uint8_t data[];
};

void sw_events_init(struct sw_events *events, size_t max_bytes)
{
    *events = (struct sw_events){.max_bytes = max_bytes};
    pthread_mutex_init(&events->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&events->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

void sw_events_stop(struct sw_events *events)
{
    pthread_mutex_lock(&events->lock);
    events->stopped = true;
    pthread_cond_broadcast(&events->changed);
    pthread_mutex_unlock(&events->lock);
}

void sw_events_free(struct sw_events *events)
{
    while (events->head != NULL) {
        struct sw_event_node *next = events->head->next;
        free(events->head);
        events->head = next;
    }
    pthread_cond_destroy(&events->changed);
    pthread_mutex_destroy(&events->lock);
}

bool sw_events_put(struct sw_events *events, uint32_t kind, uint32_t id, const void *data,
                   uint32_t length, uint64_t now_ns)
{
    size_t size = sizeof(struct sw_event_node) + length;
    pthread_mutex_lock(&events->lock);
    bool full = events->bytes + size > events->max_bytes && kind != SW_EVENT_FENCE;
    struct sw_event_node *node = events->stopped || full ? NULL : malloc(size);
    if (node == NULL) {
        events->dropped++;
    } else {
        node->next = NULL;
        node->event = (struct sw_event){kind, id, length, now_ns};
        if (length != 0) memcpy(node->data, data, length);
        if (events->tail != NULL) events->tail->next = node;
        else events->head = node;
        events->tail = node;
        events->bytes += size;
        events->put++;
        pthread_cond_signal(&events->changed);
    }
    pthread_mutex_unlock(&events->lock);
    return node != NULL;
}

int sw_events_get(struct sw_events *events, int timeout_ms, struct sw_event *event, uint8_t *data,
                  uint32_t capacity)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * 1000000u;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    pthread_mutex_lock(&events->lock);
    while (events->head == NULL && !events->stopped) {
        if (pthread_cond_timedwait(&events->changed, &events->lock, &until) == ETIMEDOUT) break;
    }
    struct sw_event_node *node = events->head;
    int status = node != NULL ? 1 : events->stopped ? -ESHUTDOWN : 0;
    if (node != NULL) {
        events->head = node->next;
        if (events->head == NULL) events->tail = NULL;
        events->bytes -= sizeof *node + node->event.length;
    }
    pthread_mutex_unlock(&events->lock);
    if (node != NULL) {
        *event = node->event;
        if (event->length > capacity) event->length = capacity;
        memcpy(data, node->data, event->length);
        free(node);
    }
    return status;
}
