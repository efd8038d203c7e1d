/* A run in real time divided by k: what is due happens in a batch, then the thread sleeps, without
 * the engine's lock, until more may be due. A batch that takes long leaves it in between to those
 * who wait. All of that is without Python's lock, which an event takes that calls Python, until the
 * engine's is left: a thread that answers a client needs Python's again and again, and would wait
 * each time. All nodes are inside, so no result depends on when a batch comes: the run has virtual
 * time's digest, however late it is. */
#include <time.h>

#include "context.h"
#include "virtualnet.h"

/* From one return to Python, which looks for Ctrl-C and shows progress, to the next. */
#define LOOK_NS 100000000u
/* About so long others wait for a lock at most. */
#define SLICE_NS 1000000u
enum { FIRST_SLICE = 4096, LEAST_SLICE = 64, MOST_SLICE = 1 << 20 }; /* events */

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The simulated time that real time has reached, at most VN_NEVER: with a small k that is soon. A
 * double's 53 bits keep picoseconds for 2.5 hours of simulated time. */
static uint64_t reached_ps(const struct vn_pace *pace, uint64_t now_ns)
{
    double passed = (double)(now_ns - pace->from_ns) * 1000.0 / pace->k;
    if (passed >= (double)(VN_NEVER - pace->from_ps)) return VN_NEVER;
    return pace->from_ps + (uint64_t)passed;
}

/* The events of a batch were due after the look before, for up to that time nothing was left: they
 * are at most as late as that is ago. */
static void note(struct vn_pace *pace, uint64_t events, uint64_t done_ns)
{
    if (events == 0) return;
    uint64_t late_ns = done_ns - pace->looked_ns;
    uint32_t bits = late_ns == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(late_ns);
    pace->late[bits < VN_PACE_BUCKETS ? bits : VN_PACE_BUCKETS - 1] += events;
    if (late_ns > pace->worst_ns) pace->worst_ns = late_ns;
}

static void leave_python(struct vn_pace *pace)
{
    if (pace->left == NULL) pace->left = pace->release();
}

/* Leaves the locks until then; a time that is over: to those who wait for them now. */
static void give_way(struct vn_pace *pace, uint64_t due_ns)
{
    struct timespec due = {.tv_sec = (time_t)(due_ns / 1000000000u),
                           .tv_nsec = (long)(due_ns % 1000000000u)};
    vn_lock_leave(pace->lock);
    leave_python(pace); /* who has the engine's may need it, to leave that */
    /* a signal ends it early: good */
    if (due_ns != 0) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    vn_lock_take(pace->lock, true);
}

/* What is due, in slices. VN_BUDGET: the budget is spent, or a look is due. */
static enum vn_reason run_batch(struct vn_net *net, struct vn_pace *pace, uint64_t look_ns)
{
    struct vn_context *context = &net->context;
    uint64_t budget = context->exchange.budget, first = context->events_done, slice = FIRST_SLICE;
    uint64_t now_ns = monotonic_ns();
    enum vn_reason reason;
    for (;;) {
        uint64_t before = context->events_done, began_ns = now_ns;
        context->exchange.budget = slice < budget ? slice : budget;
        reason = vn_run(net);
        now_ns = monotonic_ns();
        uint64_t events = context->events_done - before, took_ns = now_ns - began_ns;
        note(pace, events, now_ns);
        budget = events < budget ? budget - events : 0;
        if (reason != VN_BUDGET || budget == 0 || now_ns >= look_ns) break;
        /* the next one may take as long as this one should have */
        slice = took_ns == 0 ? MOST_SLICE : events * SLICE_NS / took_ns;
        if (slice < LEAST_SLICE) slice = LEAST_SLICE;
        if (slice > MOST_SLICE) slice = MOST_SLICE;
        give_way(pace, 0);
        now_ns = monotonic_ns();
    }
    pace->batches += context->events_done != first;
    context->exchange.budget = budget;
    return reason;
}

static enum vn_reason run_paced(struct vn_net *net, struct vn_pace *pace)
{
    struct vn_context *context = &net->context;
    struct vn_exchange *exchange = &context->exchange;
    uint64_t end_ps = exchange->until_ps, began_ns = monotonic_ns(), now_ns = began_ns;
    enum vn_reason reason;
    for (;;) {
        uint64_t due_ps = reached_ps(pace, now_ns);
        /* The clock is where the run left it, at a time that the caller asked for: not before. */
        if (due_ps < context->now) due_ps = context->now;
        exchange->until_ps = due_ps < end_ps ? due_ps : end_ps;
        reason = run_batch(net, pace, began_ns + LOOK_NS);
        if (reason != VN_UNTIL) break; /* what was due isn't over: the next batch goes on with it */
        pace->looked_ns = now_ns;
        if (exchange->until_ps == end_ps) break;
        if (now_ns - began_ns >= LOOK_NS) {
            reason = exchange->reason = VN_BUDGET;
            break;
        }
        give_way(pace, now_ns + pace->slack_ns);
        now_ns = monotonic_ns();
    }
    exchange->until_ps = end_ps;
    return reason;
}

enum vn_reason vn_run_paced(struct vn_net *net, struct vn_pace *pace)
{
    net->context.pace = pace;
    leave_python(pace);
    enum vn_reason reason = run_paced(net, pace);
    vn_take_python(pace);
    net->context.pace = NULL;
    return reason;
}
