/* Real-time priority while the worker uses little CPU. */
#define _GNU_SOURCE
#include "realtime.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW_NS = 10000000, NICE = -10 };

static bool set_policy(int policy, int priority)
{
    struct sched_param parameters = {.sched_priority = priority};
    return sched_setscheduler(0, policy, &parameters) == 0; /* 0: this thread alone, on Linux */
}

void sw_realtime_start(struct sw_realtime *realtime)
{
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
    realtime->allowed = realtime->active = set_policy(SCHED_FIFO, 1);
}

/* CPU time, not wall-clock time: a preempted thread isn't busy. */
static uint64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

void sw_realtime_update(struct sw_realtime *realtime, uint64_t now_ns, bool crowded)
{
    uint64_t window = now_ns - realtime->window_ns;
    if (crowded != realtime->crowded) {
        setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), crowded ? 0 : NICE);
        realtime->crowded = crowded;
    }
    if (!realtime->allowed || window < WINDOW_NS) return;
    uint64_t used = cpu_ns(), busy = used - realtime->cpu_ns;
    /* Hysteresis */
    if (realtime->active && (crowded || busy > window / 2)) {
        realtime->active = !set_policy(SCHED_OTHER, 0);
    } else if (!realtime->active && !crowded && busy < window / 3) {
        realtime->active = set_policy(SCHED_FIFO, 1);
    }
    realtime->window_ns = now_ns;
    realtime->cpu_ns = used;
}
