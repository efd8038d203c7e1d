/* The live switch: creation, worker thread, lock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "table.h"
#include "worker.h"

enum {
    MAX_SMALL = 16384,
    MAX_LARGE = 1024, /* packets inside: up to 35 + 10 MB, allocated on demand */
    MAX_EVENT_BYTES = 4 << 20,
    MAX_DEPARTED_BYTES = 256 << 20,
    WAKE = UINT16_MAX + 1,
    LINKS, /* epoll tags beyond the port numbers */
};

uint64_t sw_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Takes a mutex that the worker may hold while it waits for a core, as an ordinary thread among
 * many: for so long this thread has real-time priority, and so has the worker, by inheritance. */
static void lock_soon(pthread_mutex_t *mutex)
{
    if (pthread_mutex_trylock(mutex) == 0) return;
    struct sched_param normal = {0}, raised = {.sched_priority = 1};
    bool raises =
        sched_getscheduler(0) == SCHED_OTHER && sched_setscheduler(0, SCHED_FIFO, &raised) == 0;
    pthread_mutex_lock(mutex);
    if (raises) sched_setscheduler(0, SCHED_OTHER, &normal);
}

void sw_lock(struct sw_switch *sw)
{
    lock_soon(&sw->next);
    lock_soon(&sw->data);
    pthread_mutex_unlock(&sw->next);
}

void sw_unlock(struct sw_switch *sw) { pthread_mutex_unlock(&sw->data); }

uint64_t sw_real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sw_wake(struct sw_switch *sw)
{
    if (sw->wake < 0) return; /* it has never had a worker */
    uint64_t wakeup = 1;
    ssize_t ignored =
        write(sw->wake, &wakeup, sizeof wakeup); /* EAGAIN: a wake-up is pending already */
    (void)ignored;
}

void sw_notice(struct sw_switch *sw, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (n >= (int)sizeof line) n = sizeof line - 1;
    sw_events_put(&sw->events, SW_EVENT_NOTICE, 0, line, (uint32_t)n, sw_now_ns(sw));
}

static void log_program_message(void *context, const char *message)
{
    struct sw_switch *sw = context;
    sw_events_put(&sw->events, SW_EVENT_LOG, 0, message, (uint32_t)strlen(message), sw_now_ns(sw));
}

static void log_failed_assert(void *context, const char *message)
{
    sw_notice(context, "%s", message);
}

/* ---- the worker ---- */

static void handle_events(struct sw_switch *sw, const struct epoll_event *events, int n,
                          uint32_t batch)
{
    for (int i = 0; i < n; i++) {
        uint32_t tag = events[i].data.u32;
        if (tag == WAKE) {
            uint64_t count;
            ssize_t ignored = read(sw->wake, &count, sizeof count);
            (void)ignored;
        } else if (tag == LINKS) {
            sw_links_changed(sw);
        } else if (tag >= SW_BELLS) {
            sw_bell_rang(sw, sw->ports[tag - SW_BELLS]);
        } else if (sw->ports[tag] != NULL && sw->ports[tag]->fd >= 0) {
            if (events[i].events & EPOLLERR) sw_port_clear_error(sw->ports[tag]);
            sw_port_receive(sw, sw->ports[tag], batch);
        }
    }
}

/* Serves a port and sends. */
static void run_live_port(struct sw_switch *sw, struct sw_tm_port *port)
{
    sw_run_port(sw, port);
    struct sw_port *out = sw->ports[port->port];
    if (out == NULL || out->out.head == NULL) return;
    sw_port_flush(sw, out);
    /* egress and sending took time */
    if (port->rate_bps != 0) sw_tm_note_departures(port, sw->clock_ns, sw_clock_ns());
}

/* Serves all ports that have packets due now, or only the shaped ones. */
static void run_ports(struct sw_switch *sw, bool shaped_only)
{
    for (uint32_t i = 0; i < sw->tm.n_active; i++) {
        struct sw_tm_port *port = sw->tm.ports[sw->tm.active[i]];
        if (!shaped_only || port->rate_bps != 0) run_live_port(sw, port);
    }
}

/* Whether any port is behind (sw_tm_behind). */
static bool is_behind(const struct sw_switch *sw)
{
    for (uint32_t i = 0; i < sw->tm.n_active; i++) {
        if (sw_tm_behind(sw->tm.ports[sw->tm.active[i]], sw->clock_ns)) return true;
    }
    return false;
}

/* Where events aren't in order of time: what the engine has to do by now. It may go so far ahead that
 * a batch for a port without rate leaves at once. False: there is more. */
static bool run_engine(struct sw_switch *sw)
{
    if (sw->engine == NULL || sw_in_time(sw)) return true;
    return sw->engine->run(sw->engine, sw_now_ns(sw) + SW_BATCH * SW_UNSHAPED_NS);
}

static uint64_t engine_next(const struct sw_switch *sw)
{
    uint64_t next = sw->engine != NULL ? sw->engine->next(sw->engine) : UINT64_MAX;
    return next == UINT64_MAX ? next : sw->origin_ns + next;
}

/* One iteration of the epoll loop. Returns when the next one is due, ns; 0: at once. */
static uint64_t iteration(struct sw_switch *sw, const struct epoll_event *events, int n)
{
    sw->clock_ns = sw_clock_ns();
    bool done = sw_run_in_time(sw);
    run_engine(sw);
    /* Overdue packets leave first, or a late iteration would drop packets at queues that should
     * have room by now. */
    run_ports(sw, true);
    sw_run_generator(sw);
    /* if behind, few: receiving delays sending */
    uint32_t batch = is_behind(sw) ? SW_SMALL_BATCH : SW_BATCH;
    handle_events(sw, events, n, sw_in_time(sw) ? 0 : batch);
    sw_run_input(sw);
    sw->clock_ns = sw_clock_ns(); /* ingress took time */
    done &= run_engine(sw);
    run_ports(sw, false);
    uint64_t next = done ? engine_next(sw) : 0;
    if (sw->generator.due_ns < next) next = sw->generator.due_ns;
    for (uint32_t i = 0; i < sw->n_active; i++) {
        const struct sw_port *port = sw->ports[sw->active[i]];
        if (port->blocked_ns == 0) continue;
        uint64_t at = sw_port_retry_ns(sw, port);
        if (at < next) next = at;
    }
    if (sw->input.head != NULL) return 0;
    if (sw_in_time(sw)) {
        uint64_t arrival = sw_arrivals_next(sw);
        if (arrival < next) next = arrival;
    }
    for (uint32_t i = 0; i < sw->tm.n_active; i++) {
        const struct sw_tm_port *port = sw->tm.ports[sw->tm.active[i]];
        const struct sw_port *out = sw->ports[port->port];
        if (out != NULL && out->blocked_ns != 0) continue;
        if (out != NULL && sw_port_full(out)) {
            if (sw->clock_ns + SW_RETRY_NS < next) next = sw->clock_ns + SW_RETRY_NS;
            continue;
        }
        uint64_t at = sw_tm_next(port);
        if (sw_tm_behind(port, sw->clock_ns) && at < sw->clock_ns + SW_BEHIND_NS) return 0;
        if (at < next) next = at;
    }
    return next;
}

void sw_report(struct sw_switch *sw, uint64_t now_ns, uint64_t next_ns)
{
    enum sw_pace_change change = sw_pace_update(&sw->pace, now_ns, next_ns);
    const struct sw_pace_slot *slot = sw->pace.slot;
    if (change == SW_PACE_BEHIND) {
        sw_notice(sw,
                  "falls behind: %llu of %llu frames were more than %.3f ms late in the last %.1f "
                  "s, one %.3f ms",
                  (unsigned long long)slot->late, (unsigned long long)slot->frames,
                  (double)slot->tolerance_ns * 1e-6, (double)slot->window_ns * 1e-9,
                  (double)slot->worst_ns * 1e-6);
    } else if (change == SW_PACE_KEPT) {
        sw_notice(sw, "keeps pace again");
    }
}

/* Manual clock: processes received frames at the current time. Only callers advance it, so the loop
 * sleeps without timeout. */
static uint64_t manual_iteration(struct sw_switch *sw, const struct epoll_event *events, int n)
{
    handle_events(sw, events, n, 0);
    sw_run_due(sw);
    return UINT64_MAX;
}

uint64_t sw_iteration(struct sw_switch *sw, const struct epoll_event *events, int n)
{
    uint64_t next = sw->manual ? manual_iteration(sw, events, n) : iteration(sw, events, n);
    if (__builtin_expect(sw->captured, 0)) sw_captures_flush(sw);
    uint64_t check = sw_links_retry(sw);
    return check < next ? check : next;
}

/* ---- creation, start, stop ---- */

static int watch(struct sw_switch *sw, int fd, uint32_t tag)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = tag};
    return epoll_ctl(sw->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void close_descriptors(struct sw_switch *sw)
{
    if (sw->epoll >= 0) close(sw->epoll);
    if (sw->wake >= 0) close(sw->wake);
    if (sw->netlink >= 0) close(sw->netlink);
    sw->epoll = sw->wake = sw->netlink = -1;
}

int sw_descriptors_open(struct sw_switch *sw)
{
    if (sw->epoll >= 0) return 0;
    sw->epoll = epoll_create1(EPOLL_CLOEXEC);
    sw->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    sw->netlink = sw_links_open();
    if (sw->epoll >= 0 && sw->wake >= 0 && sw->netlink >= 0 && watch(sw, sw->wake, WAKE) == 0 &&
        watch(sw, sw->netlink, LINKS) == 0)
        return 0;
    int status = errno;
    close_descriptors(sw);
    return status;
}

struct sw_switch *sw_create(uint32_t priorities, uint32_t queue_depth, uint16_t cpu_port,
                            uint16_t drop_port, uint64_t seed, uint32_t clock,
                            char error[SW_ERROR_BYTES])
{
    error[0] = 0;
    if (priorities < 1 || priorities > SW_PRIORITIES || queue_depth < 1 ||
        drop_port >= SW_MAX_PORTS || cpu_port >= SW_MAX_PORTS || clock > SW_CLOCK_MANUAL) {
        snprintf(error, SW_ERROR_BYTES,
                 "priorities must be 1 to %d, the queue depth at least 1, the CPU and drop ports "
                 "below %d",
                 SW_PRIORITIES, SW_MAX_PORTS);
        return NULL;
    }
    struct sw_switch *sw = calloc(1, sizeof *sw);
    if (sw == NULL) {
        snprintf(error, SW_ERROR_BYTES, "out of memory");
        return NULL;
    }
    /* Priority inheritance: the worker may have real-time priority and wait for a thread
     * without. */
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&sw->next, &attributes);
    pthread_mutex_init(&sw->data, &attributes);
    pthread_mutexattr_destroy(&attributes);
    sw->manual = clock == SW_CLOCK_MANUAL;
    sw_tm_init(&sw->tm, priorities, queue_depth, sw->manual);
    sw_pool_init(&sw->pool, 0, 0, MAX_SMALL, MAX_LARGE);
    sw_events_init(&sw->events, MAX_EVENT_BYTES);
    sw_events_init(&sw->departed, MAX_DEPARTED_BYTES);
    sw->cpu_port = cpu_port;
    sw->drop_port = drop_port;
    sw->seed = seed;
    sw->tick_ns = 1000;
    sw->epoll = sw->wake = sw->netlink = sw->netns = -1;
    sw->generator.due_ns = UINT64_MAX;
    if (sw->manual) return sw;
    sw->origin_ns = sw->clock_ns = sw_clock_ns();
    int status = sw_descriptors_open(sw);
    if (status != 0) {
        snprintf(error, SW_ERROR_BYTES, "cannot set up the switch: %s%s", strerror(status),
                 status == EMFILE ? "; raise the limit (ulimit -n)" : "");
        sw_destroy(sw);
        return NULL;
    }
    return sw;
}

static void unload(struct sw_switch *sw)
{
    sw_flush(sw);
    sw_pool_free(&sw->pool);
    sw_instance_free(sw->instance);
    if (sw->library != NULL) dlclose(sw->library);
    sw->instance = NULL;
    sw->library = NULL;
}

void sw_destroy(struct sw_switch *sw)
{
    if (sw == NULL) return;
    sw_stop(sw);
    for (uint32_t i = 0; i < sw->n_active; i++) sw_port_close(sw, sw->ports[sw->active[i]]);
    unload(sw);
    for (uint32_t i = 0; i < sw->n_active; i++) {
        sw_disconnect(sw->ports[sw->active[i]]);
        sw_captures_end(sw->ports[sw->active[i]]);
        free(sw->ports[sw->active[i]]);
    }
    sw_tm_free(&sw->tm);
    sw_pre_free(&sw->clones);
    sw_pre_free(&sw->groups);
    free(sw->generator.packet_ids);
    sw_events_free(&sw->events);
    sw_events_free(&sw->departed);
    if (sw->engine != NULL) sw->engine->end(sw->engine);
    sw_trace_free(sw->trace);
    close_descriptors(sw);
    if (sw->netns >= 0) close(sw->netns);
    pthread_mutex_destroy(&sw->data);
    pthread_mutex_destroy(&sw->next);
    free(sw);
}

int sw_set_engine(struct sw_switch *sw, struct sw_engine *engine)
{
    sw_lock(sw);
    bool possible = sw->instance == NULL && sw->engine == NULL;
    if (possible) sw->engine = engine;
    sw_unlock(sw);
    return possible ? 0 : -EBUSY;
}

int sw_report_pace(struct sw_switch *sw, const struct sw_pace_board *board,
                   struct sw_pace_slot *slot)
{
    if (sw->running) return -EBUSY;
    sw->pace = (struct sw_pace){.board = board, .slot = slot, .began_ns = sw_clock_ns()};
    return 0;
}

int sw_set_slack(struct sw_switch *sw, uint64_t ns)
{
    if (sw->running) return -EBUSY;
    sw->slack_ns = ns;
    return 0;
}

int sw_start(struct sw_switch *sw, char error[SW_ERROR_BYTES])
{
    return sw_start_together(&sw, 1, error);
}

int sw_start_together(struct sw_switch **switches, uint32_t n, char error[SW_ERROR_BYTES])
{
    error[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (switches[i]->running) return n == 1 ? 0 : -EBUSY;
    }
    int status = sw_worker_start(switches, n);
    if (status != 0)
        snprintf(error, SW_ERROR_BYTES, "cannot start the worker thread: %s", strerror(status));
    for (uint32_t i = 0; i < n; i++) switches[i]->running = status == 0;
    return -status;
}

int sw_keep_namespace(struct sw_switch *sw)
{
    sw->netns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    return sw->netns < 0 ? -errno : 0;
}

int sw_stop(struct sw_switch *sw)
{
    sw_events_stop(&sw->events);
    sw_trace_end(sw->trace);
    if (!sw->running) return 0;
    sw_worker_leave(sw);
    sw->running = false;
    return 0;
}

int sw_load(struct sw_switch *sw, const char *path, uint64_t *coverage, uint32_t n_coverage,
            char error[SW_ERROR_BYTES])
{
    error[0] = 0;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(error, SW_ERROR_BYTES, "cannot load the program: %s", dlerror());
        return -ENOEXEC;
    }
    const struct sw_program *program = dlsym(library, "sw_program");
    struct sw_instance *instance = NULL;
    if (program == NULL || program->abi != SW_ABI) {
        snprintf(error, SW_ERROR_BYTES, "%s is not a program of this version of the switch", path);
    } else if (coverage != NULL && program->n_coverage != n_coverage) {
        snprintf(error, SW_ERROR_BYTES, "%s has %u counts of its coverage, not %u", path,
                 program->n_coverage, n_coverage);
    } else {
        instance = sw_instance_new(program, sw->seed, sw->drop_port, error);
    }
    if (instance == NULL) {
        dlclose(library);
        return -EINVAL;
    }
    instance->tick_ns = sw->tick_ns;
    instance->log = log_program_message;
    instance->warn = log_failed_assert;
    instance->log_context = sw;
    instance->trace = sw->trace;
    instance->collected = coverage;
    sw_lock(sw);
    unload(sw);
    sw_pool_init(&sw->pool, program->phv_size, program->headroom, MAX_SMALL, MAX_LARGE);
    sw->library = library;
    sw->instance = instance;
    sw_trace(instance, 0, SW_TRACE_LOADED, 0, 0, NULL, 0);
    for (uint32_t i = 0; i < program->n_tables; i++) {
        for (uint32_t k = 0; k < program->tables[i].n_const_entries; k++) {
            struct sw_table *table = instance->tables[i];
            sw_node_touch(table, sw_table_node(table, k), sw_call_us(sw));
        }
    }
    sw_unlock(sw);
    return 0;
}

int sw_collect(struct sw_switch *sw)
{
    sw_lock(sw);
    if (sw->instance != NULL) sw_instance_collect(sw->instance);
    sw_unlock(sw);
    return 0;
}
