/* The steps of a traced program: a bounded buffer with its own lock. A step that finds no room is
 * lost and counted, or the buffer is emptied first, where its reader is the thread that moves
 * packets. */
#ifndef SW_TRACE_H
#define SW_TRACE_H

#include <pthread.h>

#include "switch.h"

struct sw_trace {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint8_t *steps;
    size_t used, allocated, most;
    uint64_t packets, lost;
    uint64_t (*now_ns)(void *context); /* of a step */
    void *context;
    void (*full)(void); /* empties it; NULL: steps are lost */
    bool stopped;
};

void sw_trace_free(struct sw_trace *); /* NULL too */
void sw_trace_end(struct sw_trace *); /* wakes its reader */

#endif
