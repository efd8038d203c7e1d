/* The worker thread's scheduling policy.
 *
 * A worker that mostly sleeps must wake on time: on a loaded machine, an ordinary thread wakes
 * milliseconds late, which delays whole packets of a shaped port. So it runs with real-time
 * priority (SCHED_FIFO) while it uses little of its core, and as an ordinary thread (nice -10)
 * when it is busy, so that a switch under full load (or a packet that recirculates for ever)
 * can't starve other processes. Many that are each less busy could: while they are `crowded`
 * (pace.h) it is ordinary, too, at nice 0, so that control threads of nice -20 run before it.
 * Without the privilege it stays ordinary. */
#ifndef SW_REALTIME_H
#define SW_REALTIME_H

#include <stdbool.h>
#include <stdint.h>

struct sw_realtime {
    uint64_t window_ns, cpu_ns; /* start of the measuring window, and the CPU time used by then */
    bool active, allowed, crowded;
};

/* For the calling thread. */
void sw_realtime_start(struct sw_realtime *);
/* After each loop iteration. */
void sw_realtime_update(struct sw_realtime *, uint64_t now_ns, bool crowded);

#endif
