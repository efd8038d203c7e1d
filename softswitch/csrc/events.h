/* Events for Python: packet-ins, digests, log lines. A bounded queue with its own lock, so that a
 * slow reader never delays packets; when it is full, new events are dropped and counted. */
#ifndef SW_EVENTS_H
#define SW_EVENTS_H

#include <pthread.h>

#include "switch.h"

struct sw_event_node;

struct sw_events {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct sw_event_node *head, *tail;
    size_t bytes, max_bytes;
    uint64_t put, dropped;
    bool stopped;
};

void sw_events_init(struct sw_events *, size_t max_bytes);
/* wakes readers; they get -ESHUTDOWN once the queue is empty */
void sw_events_stop(struct sw_events *);
void sw_events_free(struct sw_events *);
/* False: dropped, since the queue is full or has stopped. */
bool sw_events_put(struct sw_events *, uint32_t kind, uint32_t id, const void *data,
                   uint32_t length, uint64_t now_ns);
int sw_events_get(struct sw_events *, int timeout_ms, struct sw_event *, uint8_t *data,
                  uint32_t capacity);

#endif
