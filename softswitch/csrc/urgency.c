/* Real-time priority while it costs little, and memory that the kernel doesn't take back. */
#define _GNU_SOURCE
#include "urgency.h"

#include <sched.h>
#include <sys/mman.h>
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

void sw_urgency_start(struct sw_urgency *urgency)
{
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
    urgency->allowed = urgency->urgent = set_policy(SCHED_FIFO, 1);
    /* The whole process: what packets touch once in a while would be missing just then. Refused, it goes on without. */
    mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

/* The thread's own CPU time, not the wall's: an ordinary thread that others push aside isn't busy. */
static uint64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

void sw_urgency_turn(struct sw_urgency *urgency, uint64_t now_ns)
{
    uint64_t window = now_ns - urgency->window_ns;
    if (!urgency->allowed || window < WINDOW_NS) return;
    uint64_t used = cpu_ns(), busy = used - urgency->cpu_ns;
    /* Two thresholds, so that it doesn't swing. */
    if (urgency->urgent && busy > window / 2) {
        urgency->urgent = !set_policy(SCHED_OTHER, 0);
    } else if (!urgency->urgent && busy < window / 3) {
        urgency->urgent = set_policy(SCHED_FIFO, 1);
    }
    urgency->window_ns = now_ns;
    urgency->cpu_ns = used;
}
