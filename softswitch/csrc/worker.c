/* Worker threads: iterations of the switches that have something to do, and sleep. */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "realtime.h"

enum {
    SPIN_NS = 12000,   /* poll instead of sleeping for less than this */
    LOOK_NS = 5000000, /* look at descriptors so often at least, and do nothing later */
};
static const uint32_t WAKE = UINT32_MAX; /* epoll tag beyond the numbers of switches */

struct member {
    struct sw_switch *sw; /* NULL: it has left */
    uint64_t next_ns;
    uint64_t hard_ns; /* what has to be done by then: see sw_hard_next */
    bool ready;       /* its descriptors have something */
};

struct sw_worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t left;
    uint32_t n, there; /* members, and those that have not left */
    int epoll, wake;   /* -1: of one switch without links in memory, whose own they are */
    /* what is due may be done so late, to be done with what is due then */
    uint64_t slack_ns;
    uint64_t sleeps_until_ns;
    uint64_t looked_ns; /* when it last looked at descriptors */
    struct member members[];
};

static int wait_for(int epoll, struct epoll_event *events, uint64_t until, uint64_t now)
{
    if (until <= now + SPIN_NS) return epoll_wait(epoll, events, SW_BATCH, 0);
    if (until == UINT64_MAX) return epoll_wait(epoll, events, SW_BATCH, -1);
    struct timespec rest = {(time_t)((until - now) / 1000000000u),
                            (long)((until - now) % 1000000000u)};
#ifdef SYS_epoll_pwait2
    long n = syscall(SYS_epoll_pwait2, epoll, events, SW_BATCH, &rest, NULL, (size_t)0);
    if (n >= 0 || errno != ENOSYS) return (int)n;
#endif
    struct pollfd set = {.fd = epoll, .events = POLLIN};
    ppoll(&set, 1, &rest, NULL);
    return epoll_wait(epoll, events, SW_BATCH, 0);
}

/* The shortest delay of all links. */
static uint64_t ahead_ns(const struct sw_worker *worker)
{
    uint64_t least_ns = UINT64_MAX;
    for (uint32_t i = 0; i < worker->n; i++) {
        const struct member *member = &worker->members[i];
        if (member->sw != NULL && member->sw->ahead_ns < least_ns) least_ns = member->sw->ahead_ns;
    }
    return least_ns == UINT64_MAX ? 0 : least_ns;
}

static uint64_t at_most(uint64_t ns) { return ns < LOOK_NS ? ns : LOOK_NS; }

static void leave(struct sw_worker *worker, struct member *member)
{
    if (worker->epoll >= 0) epoll_ctl(worker->epoll, EPOLL_CTL_DEL, member->sw->epoll, NULL);
    pthread_mutex_lock(&worker->lock);
    member->sw->left = true;
    member->sw = NULL;
    worker->there--;
    pthread_cond_broadcast(&worker->left);
    pthread_mutex_unlock(&worker->lock);
}

/* An iteration of a switch with these events. */
static void run(struct sw_worker *worker, struct member *member, const struct epoll_event *events,
                int n)
{
    struct sw_switch *sw = member->sw;
    sw_lock(sw);
    if (sw->stop) {
        sw_unlock(sw);
        leave(worker, member);
        return;
    }
    member->next_ns = sw_iteration(sw, events, n < 0 ? 0 : n);
    member->hard_ns =
        sw->ahead_ns == 0 || member->next_ns == 0 ? member->next_ns : sw_hard_next(sw);
    sw_unlock(sw);
}

static uint64_t next_of(const struct member *member)
{
    uint64_t arrival = sw_channels_next(member->sw);
    return arrival < member->next_ns ? arrival : member->next_ns;
}

/* 0, which is at once, and never stay what they are. */
static uint64_t later(uint64_t at_ns, uint64_t slack_ns)
{
    return at_ns == 0 || at_ns > UINT64_MAX - slack_ns ? at_ns : at_ns + slack_ns;
}

/* Until when the worker may sleep. */
static uint64_t deadline(const struct sw_worker *worker)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < worker->n; i++) {
        const struct member *member = &worker->members[i];
        if (member->sw == NULL) continue;
        uint64_t hard = later(member->hard_ns, worker->slack_ns),
                 soft = later(next_of(member), at_most(member->sw->ahead_ns / 2));
        if (hard < first) first = hard;
        if (soft < first) first = soft;
    }
    return first;
}

/* Whether a switch has something to do, as far as its descriptors don't say so. */
static bool is_due(const struct member *member, uint64_t now)
{
    if (next_of(member) <= now) return true;
    /* a call from Python: it may change anything */
    if (pthread_mutex_trylock(&member->sw->data) != 0) return true;
    bool arrived = sw_in_time(member->sw) && sw_arrivals_next(member->sw) <= now;
    pthread_mutex_unlock(&member->sw->data);
    return arrived;
}

/* Says until when it sleeps to those who put frames that arrive earlier. */
static void announce(struct sw_worker *worker, uint64_t until)
{
    __atomic_store_n(&worker->sleeps_until_ns, until, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < worker->n; i++) {
        const struct sw_switch *sw = worker->members[i].sw;
        for (uint32_t k = 0; sw != NULL && k < sw->n_channels; k++) {
            const struct sw_port *port = sw->ports[sw->channels[k]];
            if (port->to_process)
                __atomic_store_n(&port->channel_in->sleeps_until_ns, until, __ATOMIC_RELAXED);
        }
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Waits for descriptors or the deadline. If that comes before a frame that arrives now could have
 * gone through, with a quarter of the delay to spare for waking up late, no frame is worth a
 * wake-up of its own. */
static int sleep_until_due(struct sw_worker *worker, int epoll, struct epoll_event *events)
{
    uint64_t now = sw_clock_ns(), until = deadline(worker);
    if (until > now + SPIN_NS && until - now <= at_most(ahead_ns(worker) / 4 * 3) &&
        now - worker->looked_ns < LOOK_NS) {
        struct timespec at = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        return 0;
    }
    worker->looked_ns = now;
    bool alone = worker->wake < 0; /* no peer puts frames into memory */
    if (alone || until <= now + SPIN_NS) return wait_for(epoll, events, until, now);
    /* A peer that puts a frame after this wakes the worker; one that did so before is seen by the
     * second look. */
    announce(worker, until);
    uint64_t again = deadline(worker);
    int n = wait_for(epoll, events, again < until ? again : until, now);
    announce(worker, 0);
    return n;
}

static void *work_for_one(struct sw_worker *worker, struct sw_realtime *realtime)
{
    struct member *only = &worker->members[0];
    struct sw_switch *sw = only->sw;
    struct epoll_event events[SW_BATCH];
    for (int n = 0;;) {
        run(worker, only, events, n);
        if (worker->there == 0) return NULL;
        uint64_t now = sw_clock_ns();
        sw_report(sw, now, only->next_ns);
        sw_realtime_update(realtime, now, sw->pace.crowded);
        n = sleep_until_due(worker, sw->epoll, events);
    }
}

/* Notes the members whose descriptors have something. */
static void note(struct sw_worker *worker, const struct epoll_event *events, int n)
{
    for (int i = 0; i < n; i++) {
        if (events[i].data.u32 != WAKE) {
            worker->members[events[i].data.u32].ready = true;
            continue;
        }
        uint64_t count;
        ssize_t ignored = read(worker->wake, &count, sizeof count);
        (void)ignored;
    }
}

static void *work_for_all(struct sw_worker *worker, struct sw_realtime *realtime)
{
    struct epoll_event ready[SW_BATCH], events[SW_BATCH];
    for (;;) {
        uint64_t now = sw_clock_ns();
        bool crowded = false;
        for (uint32_t i = 0; i < worker->n; i++) {
            struct member *member = &worker->members[i];
            if (member->sw == NULL || (!member->ready && !is_due(member, now))) continue;
            int n = member->ready ? epoll_wait(member->sw->epoll, events, SW_BATCH, 0) : 0;
            member->ready = false;
            crowded |= member->sw->pace.crowded;
            run(worker, member, events, n);
            if (member->sw != NULL) sw_report(member->sw, now, next_of(member));
        }
        if (worker->there == 0) return NULL;
        sw_realtime_update(realtime, sw_clock_ns(), crowded);
        note(worker, ready, sleep_until_due(worker, worker->epoll, ready));
    }
}

static void *work(void *context)
{
    struct sw_worker *worker = context;
    prctl(PR_SET_TIMERSLACK, 1ul, 0, 0, 0);
    struct sw_realtime realtime = {0};
    sw_realtime_start(&realtime);
    return worker->epoll < 0 ? work_for_one(worker, &realtime) : work_for_all(worker, &realtime);
}

static uint64_t least_slack_ns(struct sw_switch *const *switches, uint32_t n)
{
    uint64_t least_ns = UINT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (switches[i]->slack_ns < least_ns) least_ns = switches[i]->slack_ns;
    }
    return least_ns;
}

static int watch(int epoll, int fd, uint32_t tag)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = tag};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

static void free_worker(struct sw_worker *worker)
{
    if (worker->epoll >= 0) close(worker->epoll);
    if (worker->wake >= 0) close(worker->wake);
    pthread_cond_destroy(&worker->left);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}

static int open_descriptors(struct sw_worker *worker)
{
    worker->epoll = epoll_create1(EPOLL_CLOEXEC);
    worker->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (worker->epoll < 0 || worker->wake < 0) return errno;
    int status = watch(worker->epoll, worker->wake, WAKE);
    for (uint32_t i = 0; status == 0 && i < worker->n; i++)
        status = watch(worker->epoll, worker->members[i].sw->epoll, i);
    return status;
}

int sw_worker_start(struct sw_switch **switches, uint32_t n)
{
    struct sw_worker *worker = calloc(1, sizeof *worker + n * sizeof *worker->members);
    if (worker == NULL) return ENOMEM;
    worker->n = worker->there = n;
    worker->slack_ns = least_slack_ns(switches, n);
    worker->epoll = worker->wake = -1;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->left, NULL);
    for (uint32_t i = 0; i < n; i++) worker->members[i] = (struct member){.sw = switches[i]};
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < n; i++) status = sw_descriptors_open(switches[i]);
    if (status == 0 && (n > 1 || switches[0]->n_channels != 0)) status = open_descriptors(worker);
    if (status == 0) {
        for (uint32_t i = 0; i < n; i++) {
            switches[i]->stop = switches[i]->left = false;
            switches[i]->worker = worker;
            switches[i]->pace.sharers = n;
        }
        sigset_t all, before; /* the worker blocks all signals: they are for Python's main thread */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        status = pthread_create(&worker->thread, NULL, work, worker);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (status != 0) {
        for (uint32_t i = 0; i < n; i++) switches[i]->worker = NULL;
        free_worker(worker);
    }
    return status;
}

void sw_worker_leave(struct sw_switch *sw)
{
    struct sw_worker *worker = sw->worker;
    sw_lock(sw);
    sw->stop = true;
    sw_unlock(sw);
    sw_wake(sw);
    pthread_mutex_lock(&worker->lock);
    while (!sw->left) pthread_cond_wait(&worker->left, &worker->lock);
    bool last = worker->there == 0;
    pthread_mutex_unlock(&worker->lock);
    sw->worker = NULL;
    if (!last) return;
    pthread_join(worker->thread, NULL);
    free_worker(worker);
}

void sw_worker_expect(const struct sw_switch *from, struct sw_switch *to, uint64_t at_ns)
{
    struct sw_worker *worker = to->worker;
    if (worker == NULL || worker == from->worker) return;
    /* the frame is there before the peer's sleep is looked at */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&worker->sleeps_until_ns, __ATOMIC_SEQ_CST) <= at_ns) return;
    uint64_t wakeup = 1;
    ssize_t ignored = write(worker->wake, &wakeup, sizeof wakeup);
    (void)ignored;
}
