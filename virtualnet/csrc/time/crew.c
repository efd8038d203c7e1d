/* Threads, and what they wait for. Between runs they wait for the next round; a process that was forked off has none, and starts its own. */
#include "time/crew.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "time/phases.h"
#include "time/prefetch.h"

enum { SPINS = 4000 }; /* how often a thread looks before it sleeps, if there is a processor for each */

/* What a thread has done, in nanoseconds of the wall's clock. */
struct load {
    uint64_t busy __attribute__((aligned(64)));
};

struct vn_crew {
    struct vn_context *contexts[VN_MOST_THREADS]; /* the first one is the network's */
    uint32_t n;
    pthread_t threads[VN_MOST_THREADS]; /* of all but the first context */
    uint32_t meeting; /* how many meet: contexts, once all threads have started */
    pid_t process; /* whose threads they are; 0: none have started */
    uint32_t spins;
    bool stop; /* threads end */
    bool over; /* the run has failed */
    struct vn_threads stats;
    struct load loads[VN_MOST_THREADS];
    /* Where all meet: how many are there, and how often all were. */
    uint32_t arrived __attribute__((aligned(64)));
    uint32_t meetings __attribute__((aligned(64)));
    uint32_t halted[2] __attribute__((aligned(64))); /* by pass, in turn: contexts with nodes that have stopped */
};

static uint64_t wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Goes on when all threads are here. */
static void meet(struct vn_crew *crew)
{
    if (crew->n == 1) return;
    uint32_t meetings = __atomic_load_n(&crew->meetings, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&crew->arrived, 1, __ATOMIC_ACQ_REL) == __atomic_load_n(&crew->meeting, __ATOMIC_RELAXED)) {
        __atomic_store_n(&crew->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&crew->meetings, meetings + 1, __ATOMIC_RELEASE);
        syscall(SYS_futex, &crew->meetings, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
        return;
    }
    for (uint32_t i = 0; i < crew->spins; i++) {
        if (__atomic_load_n(&crew->meetings, __ATOMIC_ACQUIRE) != meetings) return;
#ifdef __x86_64__
#ifdef __x86_64__
        __builtin_ia32_pause();
#endif
#endif
    }
    while (__atomic_load_n(&crew->meetings, __ATOMIC_ACQUIRE) == meetings) {
        syscall(SYS_futex, &crew->meetings, FUTEX_WAIT_PRIVATE, meetings, NULL, NULL, 0);
    }
}

/* ---- a round ---- */

bool vn_ask(struct vn_context *context, uint32_t endpoint, const void *about, size_t bytes)
{
    struct vn_turns *turns = &context->turns;
    if (!turns->defers) return false;
    VN_ASSERT(bytes <= VN_QUESTION_BYTES);
    turns->asked = true;
    if (turns->n_questions == turns->most_questions) {
        uint32_t most = turns->most_questions == 0 ? 64 : 2 * turns->most_questions;
        struct vn_question *questions = realloc(turns->questions, most * sizeof *questions);
        if (questions == NULL) {
            vn_fail(context, "out of memory for questions");
            return true;
        }
        turns->questions = questions;
        turns->most_questions = most;
    }
    struct vn_question *question = &turns->questions[turns->n_questions++];
    *question = (struct vn_question){.now = context->now, .node = turns->order[turns->turn], .endpoint = endpoint};
    memcpy(question->about, about, bytes);
    return true;
}

/* The nodes of the phase; or those that have stopped in the pass before. */
static void begin_pass(struct vn_context *context, uint32_t phase, bool first)
{
    struct vn_turns *turns = &context->turns;
    bool alone = context->order.crew->n == 1;
    if (first) {
        turns->order = turns->nodes;
        turns->turn = phase == 0 ? 0 : turns->phase_end[phase - 1];
        turns->n = turns->phase_end[phase];
        turns->ahead = alone ? turns->phase_end[context->order.n_phases - 1] : turns->n;
    } else {
        turns->order = turns->again;
        turns->turn = turns->n = 0;
        for (uint32_t i = 0; i < turns->n_questions; i++) {
            uint32_t node = turns->questions[i].node;
            if (turns->n == 0 || turns->again[turns->n - 1] != node) turns->again[turns->n++] = node;
        }
        turns->ahead = turns->n;
    }
    turns->n_questions = 0;
    /* What is left of the turn before would look at nodes that others send to now. */
    if (!alone || !first) context->prefetch.cursor = context->prefetch.total = 0;
}

static void run_pass(struct vn_context *context, uint32_t phase, bool first)
{
    uint64_t began = wall_ns();
    begin_pass(context, phase, first);
    context->turns.defers = true;
    vn_run_turns(context);
    context->turns.defers = false;
    context->order.crew->loads[context->number].busy += wall_ns() - began;
}

/* The context whose next question is the first of all, by their nodes; NULL: all are answered. */
static struct vn_context *first_to_ask(const struct vn_crew *crew, const uint32_t *answered)
{
    struct vn_context *first = NULL;
    uint32_t node = VN_NONE;
    for (uint32_t i = 0; i < crew->n; i++) {
        struct vn_turns *turns = &crew->contexts[i]->turns;
        if (answered[i] == turns->n_questions || turns->questions[answered[i]].node >= node) continue;
        first = crew->contexts[i];
        node = turns->questions[answered[i]].node;
    }
    return first;
}

static void answer_all(struct vn_crew *crew)
{
    uint32_t answered[VN_MOST_THREADS] = {0};
    uint64_t began = wall_ns();
    struct vn_context *asks, *network = crew->contexts[0];
    while (!crew->over && (asks = first_to_ask(crew, answered)) != NULL) {
        const struct vn_question *question = &asks->turns.questions[answered[asks->number]++];
        asks->now = question->now;
        network->order.answer(asks, question);
        crew->stats.questions++;
        if (!asks->failed) continue;
        crew->over = true;
        network->failed = true;
        network->raised = asks->raised;
        network->now = asks->now;
        if (asks != network) memcpy(network->error, asks->error, sizeof network->error);
    }
    crew->stats.answering_ns += wall_ns() - began;
}

/* All turns of the pass are over: the first of the nodes whose turns have failed is the run's. */
static bool take_faults(struct vn_crew *crew)
{
    const struct vn_fault *first = NULL;
    for (uint32_t i = 0; i < crew->n; i++) {
        const struct vn_fault *fault = &crew->contexts[i]->turns.fault;
        if (fault->node != VN_NONE && (first == NULL || fault->node < first->node)) first = fault;
    }
    if (first == NULL) return false;
    struct vn_context *network = crew->contexts[0];
    network->failed = true;
    network->now = first->now;
    memcpy(network->error, first->error, sizeof network->error);
    return true;
}

/* Waits until all have done their pass. True: no node has stopped. Otherwise the first thread does what they have stopped for. */
static bool settled(struct vn_crew *crew, const struct vn_context *context, uint32_t pass)
{
    uint32_t *halted = &crew->halted[pass & 1];
    if (context->turns.n_questions != 0 || context->turns.fault.node != VN_NONE) __atomic_add_fetch(halted, 1, __ATOMIC_RELAXED);
    meet(crew);
    if (__atomic_load_n(halted, __ATOMIC_RELAXED) == 0) return true;
    if (context->number == 0) {
        crew->over = take_faults(crew);
        answer_all(crew);
    }
    meet(crew);
    if (context->number == 0) __atomic_store_n(halted, 0, __ATOMIC_RELAXED); /* it is counted again in the pass after the next */
    return false;
}

/* Its part of a round. */
static void take_part(struct vn_crew *crew, struct vn_context *context)
{
    const struct vn_context *network = crew->contexts[0];
    uint32_t pass = 0;
    context->turns.barrier = network->turns.barrier;
    context->prefetch.active = network->prefetch.active;
    for (uint32_t phase = 0; phase < context->order.n_phases; phase++) {
        for (bool first = true, over = false; !over; first = false) {
            run_pass(context, phase, first);
            over = settled(crew, context, pass++);
            if (crew->over) return;
        }
    }
    if (context->number == 0) crew->stats.passes += pass;
}

static void *work(void *of)
{
    struct vn_context *context = of;
    struct vn_crew *crew = context->order.crew;
    while (true) {
        meet(crew); /* a round begins */
        if (crew->stop) return NULL;
        take_part(crew, context);
    }
}

/* Adds what a context has counted to the network's. */
static void merge(struct vn_context *network, struct vn_context *own)
{
    struct vn_counts *to = &network->totals, *from = &own->totals;
    to->traversals += from->traversals;
    to->data_traversals += from->data_traversals;
    to->dropped += from->dropped;
    to->bad_frames += from->bad_frames;
    to->stray_frames += from->stray_frames;
    to->unusable_cnps += from->unusable_cnps;
    *from = (struct vn_counts){0};
    network->events_done += own->events_done;
    network->turns.unfinished += own->turns.unfinished;
    network->turns.waiting += own->turns.waiting;
    own->events_done = own->turns.unfinished = own->turns.waiting = 0;
    vn_packets_merge(&network->packets, &own->packets);
}

bool vn_crew_round(struct vn_context *network)
{
    struct vn_crew *crew = network->order.crew;
    uint64_t began = wall_ns();
    network->order.rounds++;
    meet(crew);
    take_part(crew, network);
    for (uint32_t i = 1; i < crew->n; i++) merge(network, crew->contexts[i]);
    crew->stats.wall_ns += wall_ns() - began;
    return !network->failed;
}

/* ---- threads ---- */

static void end_threads(struct vn_crew *crew)
{
    bool ours = crew->process == getpid();
    crew->process = 0;
    if (!ours) return;
    crew->stop = true;
    meet(crew);
    for (uint32_t i = 1; i < crew->meeting; i++) pthread_join(crew->threads[i], NULL);
    crew->stop = false;
}

/* Signals are the first thread's. */
static void start_threads(struct vn_context *network)
{
    struct vn_crew *crew = network->order.crew;
    sigset_t all, before;
    int code = 0;
    crew->spins = (long)crew->n <= sysconf(_SC_NPROCESSORS_ONLN) ? SPINS : 0;
    crew->arrived = 0;
    crew->meeting = crew->n;
    crew->process = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (uint32_t i = 1; i < crew->meeting; i++) {
        code = pthread_create(&crew->threads[i], NULL, work, crew->contexts[i]);
        if (code != 0) __atomic_store_n(&crew->meeting, i, __ATOMIC_RELAXED);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0) return;
    end_threads(crew);
    vn_fail(network, "no thread can start: %s; run with fewer (threads)", strerror(code));
}

void vn_crew_share(struct vn_context *network)
{
    struct vn_crew *crew = network->order.crew;
    if (crew == NULL || crew->n == 1) return;
    for (uint32_t i = 1; i < crew->n; i++) vn_context_share(crew->contexts[i], network);
    if (crew->process != getpid()) start_threads(network);
}

bool vn_crew_packets(struct vn_context *network)
{
    const struct vn_crew *crew = network->order.crew;
    uint32_t n = crew != NULL ? crew->n : 1;
    for (uint32_t i = 1; i < n; i++) {
        vn_context_share(crew->contexts[i], network);
        if (!vn_packets_init(crew->contexts[i], n)) return false;
    }
    return vn_packets_init(network, n);
}

struct vn_context *vn_crew_context(struct vn_context *context, uint32_t number)
{
    const struct vn_crew *crew = context->order.crew;
    if (crew == NULL) return number == 0 ? context : NULL;
    return number < crew->n ? crew->contexts[number] : NULL;
}

static bool add_context(struct vn_context *network, const uint32_t *owners)
{
    struct vn_crew *crew = network->order.crew;
    struct vn_context *own = aligned_alloc(64, vn_aligned(sizeof *own));
    if (own == NULL) return false;
    memset(own, 0, sizeof *own);
    own->number = crew->n;
    crew->contexts[crew->n++] = own;
    vn_context_share(own, network);
    own->prefetch.enabled = network->prefetch.enabled;
    return vn_turns_init(own, owners);
}

bool vn_crew_init(struct vn_context *network, uint32_t n)
{
    uint32_t most = network->order.n_turns < VN_MOST_THREADS ? network->order.n_turns : VN_MOST_THREADS;
    if (n > most) n = most;
    uint32_t *owners = n > 1 ? calloc(network->n_nodes + 1, sizeof *owners) : NULL;
    struct vn_crew *crew = network->order.crew = aligned_alloc(64, vn_aligned(sizeof *crew));
    bool ok = crew != NULL && (n <= 1 || (owners != NULL && vn_partition(network, n, owners)));
    if (crew != NULL) {
        memset(crew, 0, sizeof *crew);
        crew->contexts[crew->n++] = network;
    }
    ok = ok && vn_turns_init(network, owners);
    while (ok && crew->n < n) ok = add_context(network, owners);
    free(owners);
    if (!ok) vn_fail(network, "out of memory for nodes");
    return ok;
}

void vn_crew_free(struct vn_context *network)
{
    struct vn_crew *crew = network->order.crew;
    vn_turns_free(&network->turns);
    if (crew == NULL) return;
    end_threads(crew);
    for (uint32_t i = 1; i < crew->n; i++) {
        vn_turns_free(&crew->contexts[i]->turns);
        free(crew->contexts[i]);
    }
    free(crew);
}

void vn_threads(const struct vn_context *network, struct vn_threads *out)
{
    const struct vn_crew *crew = network->order.crew;
    *out = crew != NULL ? crew->stats : (struct vn_threads){.n = 1};
    for (uint32_t i = 0; crew != NULL && i < crew->n; i++) out->busy_ns[i] = crew->loads[i].busy;
    if (crew != NULL) out->n = crew->n;
}
