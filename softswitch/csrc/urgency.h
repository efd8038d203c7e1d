/* How urgently the worker thread is scheduled.
 *
 * A worker that mostly sleeps has to wake on time: under load, an ordinary thread wakes milliseconds late, which
 * moves whole packets of a shaped port. So it runs with real-time priority (SCHED_FIFO) while it uses little of its
 * core, and as an ordinary thread of high priority when it is busy, so that a switch under full load (or a packet that
 * recirculates for ever) takes its share of the machine and no more. Without the privilege it stays ordinary. */
#ifndef SW_URGENCY_H
#define SW_URGENCY_H

#include <stdbool.h>
#include <stdint.h>

struct sw_urgency {
    uint64_t window_ns, cpu_ns; /* start of the window, and the CPU time used until then */
    bool urgent, allowed;
};

/* For the calling thread. */
void sw_urgency_start(struct sw_urgency *);
/* After each turn. */
void sw_urgency_turn(struct sw_urgency *, uint64_t now_ns);

#endif
