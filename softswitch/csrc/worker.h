/* The thread that moves the packets of one switch, or of several with links in memory between
 * them. */
#ifndef SW_WORKER_H
#define SW_WORKER_H

#include "internal.h"

/* Starts a worker for these switches, which don't run. 0, or a positive errno. */
int sw_worker_start(struct sw_switch **, uint32_t n);
/* Ends a running switch; the worker ends with its last one. One call at a time. */
void sw_worker_leave(struct sw_switch *);
/* A frame from one switch arrives at another at `at_ns`: wakes the latter's worker, if that is
 * another and would sleep longer. */
void sw_worker_expect(const struct sw_switch *from, struct sw_switch *to, uint64_t at_ns);

#endif
