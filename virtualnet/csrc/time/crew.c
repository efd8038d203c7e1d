/* Threads, and what they wait for. Between runs they wait for the next round. A process that was
 * forked off has none of them: its only thread does what they would. */
#include "time/crew.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "time/parts.h"
#include "time/phases.h"
#include "time/prefetch.h"
#include "time/wall.h"

/* how often a thread looks before it sleeps, if there is a processor for each */
enum { SPINS = 4000 };

/* Of a thread, and of the context with its number. */
struct part {
    /* the last pass in which somebody has taken the context */
    uint32_t claimed __attribute__((aligned(64)));
    uint64_t busy; /* the thread, in nanoseconds of the wall's clock ... */
    uint64_t took; /* ... and the context's turns in this pass */
};

struct vn_crew {
    struct vn_context *contexts[VN_MOST_THREADS]; /* the first one is the network's */
    uint32_t n;
    pthread_t threads[VN_MOST_THREADS]; /* of all but the first context */
    pid_t process; /* whose threads they are; 0: none have started */
    uint32_t spins;
    struct vn_threads stats;
    /* What the others wait for: a pass, of this number. */
    uint32_t pass __attribute__((aligned(64)));
    uint32_t sleepers;
    uint32_t phase;
    bool first; /* of the phase */
    bool stop; /* threads end */
    /* What the first thread waits for: so many contexts' turns of the pass are over. */
    uint32_t done __attribute__((aligned(64)));
    uint32_t awaited;
    struct part parts[VN_MOST_THREADS];
};

/* Returns when *word isn't `old` any more. It says in `sleepers` that it has to be woken. */
static uint32_t wait_for(const struct vn_crew *crew, uint32_t *word, uint32_t old,
                         uint32_t *sleepers)
{
    uint32_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; now == old && i < crew->spins; i++) {
#ifdef __x86_64__
        __builtin_ia32_pause();
#endif
        now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    }
    if (now != old) return now;
    __atomic_add_fetch(sleepers, 1, __ATOMIC_SEQ_CST);
    while ((now = __atomic_load_n(word, __ATOMIC_SEQ_CST)) == old) {
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
    }
    __atomic_sub_fetch(sleepers, 1, __ATOMIC_SEQ_CST);
    return now;
}

static void wake(uint32_t *word, const uint32_t *sleepers)
{
    if (__atomic_load_n(sleepers, __ATOMIC_SEQ_CST) != 0)
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* ---- a round ---- */

bool vn_ask(struct vn_context *context, uint32_t endpoint, const void *about, size_t bytes)
{
    struct vn_turns *turns = &context->turns;
    if (!turns->defers) return false;
    VN_ASSERT(bytes <= VN_QUESTION_BYTES);
    turns->has_question = true;
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
    *question = (struct vn_question){
        .now = context->now, .node = turns->order[turns->turn], .endpoint = endpoint};
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
            if (turns->questions[i].failed) continue;
            if (turns->n == 0 || turns->again[turns->n - 1] != node)
                turns->again[turns->n++] = node;
        }
        turns->ahead = turns->n;
    }
    turns->n_questions = 0;
    /* What is left of the turn before would look at nodes that others send to now. */
    if (!alone || !first) context->prefetch.cursor = context->prefetch.total = 0;
}

/* Python's answers wait for the pass's end where other threads run turns, or where Python sees
 * their order. */
static void run_pass(struct vn_crew *crew, struct vn_context *context)
{
    begin_pass(context, crew->phase, crew->first);
    context->turns.defers = crew->n > 1 || context->order.watched;
    vn_run_turns(context);
    context->turns.defers = false;
}

/* Runs what nobody has taken yet, from the thread's own context on: a thread that is late keeps
 * nobody waiting. */
static void take_part(struct vn_crew *crew, uint32_t thread, uint32_t pass)
{
    for (uint32_t i = 0; i < crew->n; i++) {
        uint32_t number = (thread + i) % crew->n, before = pass - 1;
        uint32_t *claimed = &crew->parts[number].claimed;
        if (!__atomic_compare_exchange_n(claimed, &before, pass, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        uint64_t began = vn_wall_ns();
        run_pass(crew, crew->contexts[number]);
        crew->parts[number].took = vn_wall_ns() - began;
        crew->parts[thread].busy += crew->parts[number].took;
        if (__atomic_add_fetch(&crew->done, 1, __ATOMIC_SEQ_CST) == crew->n)
            wake(&crew->done, &crew->awaited);
    }
}

/* A pass of all contexts. */
static void run_passes(struct vn_crew *crew, uint32_t phase, bool first)
{
    crew->phase = phase;
    crew->first = first;
    crew->stats.passes++;
    __atomic_store_n(&crew->done, 0, __ATOMIC_RELAXED);
    uint32_t pass = __atomic_add_fetch(&crew->pass, 1, __ATOMIC_SEQ_CST);
    wake(&crew->pass, &crew->sleepers);
    take_part(crew, 0, pass);
    for (uint32_t done = __atomic_load_n(&crew->done, __ATOMIC_ACQUIRE); done != crew->n;) {
        done = wait_for(crew, &crew->done, done, &crew->awaited);
    }
    uint64_t longest = 0;
    for (uint32_t i = 0; i < crew->n; i++)
        longest = crew->parts[i].took > longest ? crew->parts[i].took : longest;
    crew->stats.longest_ns += longest;
}

/* The context whose next question is the first of all, by their nodes; NULL: all are answered. */
static struct vn_context *first_to_ask(const struct vn_crew *crew, const uint32_t *answered)
{
    struct vn_context *first = NULL;
    uint32_t node = VN_NONE;
    for (uint32_t i = 0; i < crew->n; i++) {
        struct vn_turns *turns = &crew->contexts[i]->turns;
        if (answered[i] == turns->n_questions || turns->questions[answered[i]].node >= node)
            continue;
        first = crew->contexts[i];
        node = turns->questions[answered[i]].node;
    }
    return first;
}

/* True: there were questions. */
static bool answer_all(struct vn_crew *crew)
{
    uint32_t answered[VN_MOST_THREADS] = {0};
    struct vn_context *asks, *network = crew->contexts[0];
    if (first_to_ask(crew, answered) == NULL) return false;
    uint64_t began = vn_wall_ns();
    while ((asks = first_to_ask(crew, answered)) != NULL) {
        struct vn_question *question = &asks->turns.questions[answered[asks->number]++];
        crew->stats.questions++;
        question->failed = question > asks->turns.questions && question[-1].failed &&
                           question[-1].node == question->node;
        if (question->failed) continue;
        asks->now = question->now;
        network->order.answer(asks, question);
        if (!asks->failed) continue;
        question->failed = true;
        vn_turn_failed(asks, question->node);
    }
    crew->stats.answering_ns += vn_wall_ns() - began;
    return true;
}

/* All turns of the phase are over: the error of the first of the nodes whose turns have failed is
 * the run's. */
static bool take_faults(const struct vn_crew *crew)
{
    struct vn_context *network = crew->contexts[0], *first = NULL;
    for (uint32_t i = 0; i < crew->n; i++) {
        struct vn_context *context = crew->contexts[i];
        if (context->turns.fault.node == VN_NONE) continue;
        if (first == NULL || context->turns.fault.node < first->turns.fault.node) first = context;
    }
    if (first == NULL) return false;
    struct vn_fault *fault = &first->turns.fault;
    if (network->order.parts != NULL) network->order.parts->fault = fault->node;
    network->failed = true;
    network->raised = fault->held != NULL;
    network->now = fault->now;
    memcpy(network->error, fault->error, sizeof network->error);
    if (fault->held != NULL) network->order.release(network, fault->held, true);
    fault->held = NULL;
    return true;
}

static void *work(void *of)
{
    const struct vn_context *context = of;
    struct vn_crew *crew = context->order.crew;
    uint32_t pass = __atomic_load_n(&crew->parts[context->number].claimed, __ATOMIC_ACQUIRE);
    while (true) {
        pass = wait_for(crew, &crew->pass, pass, &crew->sleepers);
        if (__atomic_load_n(&crew->stop, __ATOMIC_RELAXED)) return NULL;
        take_part(crew, context->number, pass);
    }
}

/* Adds what a context has counted to the network's. */
static void merge(struct vn_context *network, struct vn_context *part)
{
    struct vn_counts *to = &network->totals, *from = &part->totals;
    to->traversals += from->traversals;
    to->data_traversals += from->data_traversals;
    to->dropped += from->dropped;
    to->unlinked += from->unlinked;
    to->ungrouped += from->ungrouped;
    to->bad_frames += from->bad_frames;
    to->stray_frames += from->stray_frames;
    to->unusable_cnps += from->unusable_cnps;
    *from = (struct vn_counts){0};
    network->events_done += part->events_done;
    network->turns.unfinished += part->turns.unfinished;
    network->turns.waiting += part->turns.waiting;
    part->events_done = part->turns.unfinished = part->turns.waiting = 0;
    vn_packets_merge(&network->packets, &part->packets);
}

bool vn_crew_round(struct vn_context *network)
{
    struct vn_crew *crew = network->order.crew;
    uint64_t began = vn_wall_ns();
    bool failed = false;
    network->order.rounds++;
    for (uint32_t i = 1; i < crew->n; i++) {
        crew->contexts[i]->turns.barrier = network->turns.barrier;
        crew->contexts[i]->prefetch.active = network->prefetch.active;
    }
    for (uint32_t phase = 0; phase < network->order.n_phases && !failed; phase++) {
        bool first = true;
        do {
            run_passes(crew, phase, first);
            first = false;
        } while (answer_all(crew));
        failed = take_faults(crew);
        if (network->order.parts == NULL) continue;
        for (uint32_t i = 1; i < crew->n; i++) merge(network, crew->contexts[i]);
        failed = !vn_parts_exchange(network, phase);
    }
    for (uint32_t i = 1; i < crew->n; i++) merge(network, crew->contexts[i]);
    crew->stats.wall_ns += vn_wall_ns() - began;
    return !failed;
}

/* ---- threads ---- */

/* Of the first `n` contexts. */
static void end_threads(struct vn_crew *crew, uint32_t n)
{
    bool ours = crew->process == getpid();
    crew->process = 0;
    if (!ours) return;
    __atomic_store_n(&crew->stop, true, __ATOMIC_RELAXED);
    __atomic_add_fetch(&crew->pass, 1, __ATOMIC_SEQ_CST);
    wake(&crew->pass, &crew->sleepers);
    for (uint32_t i = 1; i < n; i++) pthread_join(crew->threads[i], NULL);
}

/* Signals are the first thread's. */
static void start_threads(struct vn_context *network)
{
    struct vn_crew *crew = network->order.crew;
    sigset_t all, before;
    int code = 0;
    crew->spins = (long)crew->n <= sysconf(_SC_NPROCESSORS_ONLN) ? SPINS : 0;
    crew->process = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    uint32_t i = 1;
    for (; i < crew->n && code == 0; i += code == 0)
        code = pthread_create(&crew->threads[i], NULL, work, crew->contexts[i]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0) return;
    end_threads(crew, i);
    vn_fail(network, "no thread can start: %s; run with fewer (threads)", strerror(code));
}

void vn_crew_share(struct vn_context *network)
{
    struct vn_crew *crew = network->order.crew;
    if (crew == NULL || crew->n == 1) return;
    for (uint32_t i = 1; i < crew->n; i++) vn_context_share(crew->contexts[i], network);
    if (crew->process == 0) start_threads(network);
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
    struct vn_context *part = aligned_alloc(64, vn_aligned(sizeof *part));
    if (part == NULL) return false;
    memset(part, 0, sizeof *part);
    part->number = crew->n;
    crew->contexts[crew->n++] = part;
    vn_context_share(part, network);
    part->prefetch.enabled = network->prefetch.enabled;
    return vn_turns_init(part, owners);
}

bool vn_crew_init(struct vn_context *network, uint32_t n)
{
    uint32_t most =
        network->order.n_turns < VN_MOST_THREADS ? network->order.n_turns : VN_MOST_THREADS;
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
    end_threads(crew, crew->n);
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
    for (uint32_t i = 0; crew != NULL && i < crew->n; i++) out->busy_ns[i] = crew->parts[i].busy;
    if (crew != NULL) out->n = crew->n;
}
