/* The observer "explain": of each flow its completion time in parts that sum to it, and logs of what was chosen. All state belongs to the
 * node whose event it is: a packet's to the node that has it, a port's to where it starts, a flow's to one of its ends. */
#include "virtual/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "switches/scheduler.h"
#include "virtual/flow.h"

/* Of a packet under way, in its line of the pool. Times have 48 bits: sums of a packet are below 281 s, and what is between two events is the
 * difference of two clocks. Fields are packed by hand: what a compiler makes of bit fields waits for its own stores. */
#define TIME_BITS 48
#define TIME_MASK ((UINT64_C(1) << TIME_BITS) - 1)
#define MOST_WORK ((UINT64_C(1) << 40) - 1) /* 1.1 s of work on a line; more counts as so much */
struct note {
    uint64_t came; /* in a queue: when it came, shifted by 8; struct arrival */
    uint64_t queue[2]; /* likewise: the idle time of its class (48 bits), behind, without (40 bits each): see vn_explain_hop */
    uint64_t waited[3]; /* contention, backlog, idle by PAUSE, overtaken (48 bits each) */
    uint64_t wire, inside; /* inside: where it comes into a queue its time is added; where it is due at a node, subtracted */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct note) == 64, "a cache line");

/* What a packet found in its queue. */
struct queue_state {
    uint64_t idle, behind, without;
};

static inline void store_queue(struct note *note, struct queue_state queue)
{
    note->queue[0] = queue.idle << 16 | queue.behind >> 24;
    note->queue[1] = queue.behind << 40 | queue.without;
}

static inline struct queue_state load_queue(const struct note *note)
{
    uint64_t behind = (note->queue[0] & 0xffff) << 24 | note->queue[1] >> 40;
    return (struct queue_state){note->queue[0] >> 16, behind, note->queue[1] & MOST_WORK};
}

/* What it has waited for. */
struct waited {
    uint64_t contention, backlog, paused, overtaken;
};

static inline void waited_store(struct note *note, struct waited waited)
{
    note->waited[0] = waited.contention << 16 | waited.backlog >> 32;
    note->waited[1] = waited.backlog << 32 | waited.paused >> 16;
    note->waited[2] = waited.paused << 48 | waited.overtaken;
}

static inline struct waited waited_load(const struct note *note)
{
    return (struct waited){
        .contention = note->waited[0] >> 16,
        .backlog = (note->waited[0] & 0xffff) << 32 | note->waited[1] >> 32,
        .paused = (note->waited[1] & 0xffffffff) << 16 | note->waited[2] >> 48,
        .overtaken = note->waited[2] & TIME_MASK,
    };
}

static inline uint64_t came_at(const struct note *note) { return note->came >> 8; }
static inline uint32_t class_of(const struct note *note) { return note->came & (VN_CLASSES - 1); }

/* Behind the class in `came`, of a packet whose mark is looked at: its ECN bits then, whether its queue was empty, and whether the gate had
 * opened at this very time. */
#define ECN_SHIFT 3
#define FOUND_EMPTY 0x20
#define JUST_OPENED 0x40
#define ECN_CE 3

/* Of a packet whose flow is logged, or whose packets may overtake each other. */
struct trace {
    uint64_t sender[VN_PARTS_SENDER], busy;
    uint32_t serial, queue_bytes;
};

/* A class of a port where a gate was ever closed: a port without has the work that it would have without PAUSE. Work is in ps on the line. */
struct line_class {
    uint64_t idle, idle_from; /* how long the gate was closed and the line idle; since when it is, while the gate is closed */
    uint64_t without, at; /* work that would wait had the port never been PAUSEd, as of `at` */
    uint64_t busy; /* since when there has been work of the class or above */
    struct span *spans; /* of a host: idle by PAUSE, in order */
    uint32_t n_spans, capacity;
    uint64_t opened; /* when the gate last did */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct line_class) == 64, "a cache line");

struct span {
    uint64_t from, to;
};

/* Of a flow at its sender. */
struct sender {
    uint64_t at; /* its parts are up to then, without its latest frame ... */
    uint64_t parts[VN_PARTS_SENDER];
    uint32_t frame; /* ... which takes so long on the line, ps; 0: they have it */
    uint8_t closed_by; /* enum vn_part: VN_PART_WINDOW or VN_PART_RECOVER */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct sender) == 64, "a cache line");

struct log {
    char *entries;
    uint64_t n, capacity;
};
static const size_t entry_bytes[VN_EXPLAIN_LOGS] = {
    [VN_EXPLAIN_SENT] = sizeof(struct vn_explain_sent),
    [VN_EXPLAIN_HOP] = sizeof(struct vn_explain_hop),
    [VN_EXPLAIN_LINE] = sizeof(struct vn_explain_line),
    [VN_EXPLAIN_CAUSE] = sizeof(struct vn_explain_cause),
};

struct explain {
    struct line_class (*lines)[VN_CLASSES]; /* by link */
    uint8_t *used; /* likewise: bit mask of the classes that had packets there */
    bool *stopped; /* likewise: a gate was ever closed there; only from then on there is a line_class */
    struct sender *senders; /* by flow ... */
    struct vn_explained *flows; /* ... as are these */
    struct trace *traces; /* by packet */
    uint32_t most_flows, most_packets, most_links;
    bool unordered, causes, whole;
    uint8_t *logged_flows, *logged_links; /* NULL: none */
    uint32_t *serials; /* by flow, of those that are logged */
    struct vn_explain_marks *marks; /* by link; NULL: they aren't counted */
    uint32_t n_logged_flows, n_logged_links;
    uint64_t from, to;
    struct {
        struct log of[VN_EXPLAIN_LOGS];
    } __attribute__((aligned(64))) logs[VN_MOST_THREADS];
};

static inline struct explain *explain_of(const struct vn_context *context) { return context->observed[VN_OBSERVER_explain]; }
static inline struct note *note_of(const struct vn_context *context, uint32_t id) { return vn_observed(context, explain, id); }
static inline struct line_class *line_of(const struct vn_context *context, const struct vn_link *link, uint32_t class)
{
    return &explain_of(context)->lines[link - context->links][class];
}
static inline struct trace *trace_of(const struct vn_context *context, uint32_t id)
{
    VN_ASSERT(id / context->pool.lines < explain_of(context)->most_packets);
    return &explain_of(context)->traces[id / context->pool.lines];
}
static inline bool is_logged(const struct explain *explain, uint32_t flow)
{
    return __builtin_expect(explain->logged_flows != NULL, 0) && flow < explain->n_logged_flows && explain->logged_flows[flow];
}
static inline bool is_data(const struct vn_packet *packet) { return packet->data != VN_NOT_DATA && packet->flow != VN_NONE; }

/* A new entry of a log; NULL: no memory. */
static void *entry(const struct vn_context *context, enum vn_explain_logs which)
{
    struct log *log = &explain_of(context)->logs[context->number].of[which];
    if (log->n == log->capacity) {
        uint64_t capacity = log->capacity == 0 ? 1024 : 2 * log->capacity;
        char *entries = realloc(log->entries, capacity * entry_bytes[which]);
        if (entries == NULL) {
            __atomic_store_n(&explain_of(context)->whole, false, __ATOMIC_RELAXED);
            return NULL;
        }
        log->entries = entries;
        log->capacity = capacity;
    }
    return log->entries + log->n++ * entry_bytes[which];
}

/* ---- idle time by PAUSE ---- */

static inline uint64_t idle_until(const struct vn_link *link, const struct line_class *of, uint32_t class, uint64_t now)
{
    return of->idle + (vn_gate_closed(link, class) && of->idle_from < now ? now - of->idle_from : 0);
}

/* Drops spans that no flow of the NIC needs any more. */
static void forget_spans(const struct vn_context *context, const struct vn_link *link, struct line_class *of)
{
    const struct vn_nic *nic = vn_nic_of(context, link);
    uint64_t earliest = context->now;
    for (uint32_t i = 0; i < nic->n_tx_flows; i++) {
        uint64_t at = explain_of(context)->senders[nic->tx_flows[i].number].at;
        if (at < earliest) earliest = at;
    }
    uint32_t over = 0;
    while (over < of->n_spans && of->spans[over].to <= earliest) over++;
    memmove(of->spans, of->spans + over, (of->n_spans - over) * sizeof *of->spans);
    of->n_spans -= over;
}

static void add_span(const struct vn_context *context, const struct vn_link *link, struct line_class *of, struct span span)
{
    if (of->n_spans == of->capacity) forget_spans(context, link, of);
    if (2 * of->n_spans >= of->capacity) {
        uint32_t capacity = of->capacity == 0 ? 16 : 2 * of->capacity;
        struct span *spans = realloc(of->spans, capacity * sizeof *spans);
        if (spans == NULL) {
            __atomic_store_n(&explain_of(context)->whole, false, __ATOMIC_RELAXED);
            return;
        }
        of->spans = spans;
        of->capacity = capacity;
    }
    of->spans[of->n_spans++] = span;
}

/* The line isn't idle any more, or the gate opens. */
static void idle_ends(const struct vn_context *context, const struct vn_link *link, struct line_class *of)
{
    if (of->idle_from >= context->now) return;
    of->idle += context->now - of->idle_from;
    if (!vn_near(context, link)->kind->holds) add_span(context, link, of, (struct span){of->idle_from, context->now});
}

/* Of a host's port: idle time by PAUSE from then until now. */
static uint64_t idle_since(const struct vn_context *context, const struct vn_link *link, uint32_t class, uint64_t from)
{
    const struct line_class *of = line_of(context, link, class);
    uint64_t now = context->now, sum = 0;
    if (vn_gate_closed(link, class) && of->idle_from < now) sum = now - (of->idle_from > from ? of->idle_from : from);
    for (uint32_t i = of->n_spans; i-- != 0 && of->spans[i].to > from;) {
        sum += of->spans[i].to - (of->spans[i].from > from ? of->spans[i].from : from);
    }
    return sum;
}

/* ---- a switch's queues ---- */

/* Whether packets leave in the order of their classes and, in a class, of their coming. If not, what is ahead of a packet isn't what leaves
 * before it, and nothing can be said of a port without PAUSE. */
static inline bool is_ordered(const struct vn_link *link)
{
    const struct vn_port *port = vn_port_of(link);
    return !port->scheduled && !port->weighted && !port->trims;
}

/* Work at the port that a packet of the class finds, or would find. */
static uint64_t work_of(const struct vn_context *context, const struct vn_link *link, uint32_t class)
{
    uint64_t work = link->free_at > context->now ? link->free_at - context->now : 0;
    for (uint32_t left = link->waiting & ~((1u << class) - 1); left != 0; left &= left - 1) {
        work += vn_duration(link, link->classes[__builtin_ctz(left)].queued_bytes);
    }
    if (!vn_port_of(link)->fabric) return work;
    for (uint32_t above = class; above < VN_CLASSES; above++) {
        work += vn_duration(link, vn_output_bytes(context, link, above));
    }
    return work;
}

/* Without PAUSE, as of now: Lindley's recursion, with the same arrivals. */
static inline uint64_t work_without(const struct line_class *of, uint64_t now)
{
    uint64_t passed = now - of->at;
    return of->without > passed ? of->without - passed : 0;
}

/* A packet of so many ps comes, and goes before what comes later in these classes. */
static void add_work(const struct vn_context *context, const struct vn_link *link, uint32_t classes, uint64_t duration)
{
    for (uint32_t left = explain_of(context)->used[link - context->links] & classes; left != 0; left &= left - 1) {
        struct line_class *of = line_of(context, link, (uint32_t)__builtin_ctz(left));
        of->without = work_without(of, context->now) + duration;
        of->at = context->now;
    }
}

/* The first gate of a port is about to close: until now there was no PAUSE. */
static void accounts_begin(const struct vn_context *context, const struct vn_link *link)
{
    bool at_switch = vn_near(context, link)->kind->holds;
    for (uint32_t class = 0; at_switch && class < VN_CLASSES; class++) {
        struct line_class *of = line_of(context, link, class);
        of->without = work_of(context, link, class);
        of->at = of->busy = context->now;
    }
}

static void vn_explain_gate(const struct vn_context *context, const struct vn_link *link, uint32_t class, bool closes)
{
    if (closes == vn_gate_closed(link, class)) return;
    struct line_class *of = line_of(context, link, class);
    bool *stopped = &explain_of(context)->stopped[link - context->links];
    if (closes && !*stopped) accounts_begin(context, link);
    *stopped = true;
    if (closes) {
        of->idle_from = link->free_at > context->now ? link->free_at : context->now;
    } else {
        idle_ends(context, link, of);
        of->opened = context->now;
    }
    if (!explain_of(context)->causes) return;
    struct vn_explain_cause *cause = entry(context, VN_EXPLAIN_CAUSE);
    if (cause == NULL) return;
    *cause = (struct vn_explain_cause){.time_ps = context->now,
                                       .link = (uint32_t)(link - context->links),
                                       .out = VN_NONE,
                                       .class = class,
                                       .what = closes ? VN_EXPLAIN_CLOSES : VN_EXPLAIN_OPENS};
}

static void vn_explain_queued(const struct vn_context *context, const struct vn_link *link, uint32_t class, uint32_t id)
{
    const struct vn_packet *packet = vn_packet_at(context, id);
    struct note *note = note_of(context, id);
    uint32_t number = (uint32_t)(link - context->links);
    uint64_t now = context->now, work = work_of(context, link, class), without = work, idle = 0;
    explain_of(context)->used[number] |= (uint8_t)(1u << class);
    if (explain_of(context)->stopped[number]) {
        struct line_class *of = line_of(context, link, class);
        if (work == 0) of->busy = now;
        idle = idle_until(link, of, class, now) & TIME_MASK;
        without = work_without(of, now);
        if (without == 0 && link->free_at > now && vn_port_of(link)->last_class < class) {
            without = link->free_at - now; /* no frame gives way to a higher class */
            of->without = without;
            of->at = now;
        }
        add_work(context, link, (2u << class) - 1, vn_duration(link, packet->bytes));
    }
    if (!is_ordered(link)) work = without = MOST_WORK;
    note->came = now << 8 | class;
    store_queue(note, (struct queue_state){
                          .idle = idle,
                          .behind = work < MOST_WORK ? work : MOST_WORK,
                          .without = without < MOST_WORK ? without : MOST_WORK,
                      });
    note->inside += now;
    if (!is_data(packet)) return;
    bool logged = is_logged(explain_of(context), packet->flow);
    if (__builtin_expect(!logged && explain_of(context)->marks == NULL, 1)) return;
    note->came |= (vn_frame(context, (struct vn_packet *)packet)[WIRE_TOS] & 3u) << ECN_SHIFT;
    if (link->classes[class].queued_bytes == 0) note->came |= FOUND_EMPTY;
    if (line_of(context, link, class)->opened == now) note->came |= JUST_OPENED;
    if (!logged) return;
    struct trace *trace = trace_of(context, id);
    trace->busy = explain_of(context)->stopped[number] ? line_of(context, link, class)->busy : now;
    trace->queue_bytes = (uint32_t)link->classes[class].queued_bytes;
}

/* ---- marks ---- */

static uint8_t ecn_before(const struct note *note) { return note->came >> ECN_SHIFT & 3; }
static uint8_t ecn_after(const struct vn_context *context, uint32_t id)
{
    return vn_frame(context, vn_packet_at(context, id))[WIRE_TOS] & 3;
}

static enum vn_mark_reason reason_of(const struct vn_context *context, const struct vn_link *link, uint32_t id)
{
    const struct note *note = note_of(context, id);
    uint64_t opened = line_of(context, link, class_of(note))->opened, came = came_at(note);
    if (ecn_before(note) == ECN_CE) return VN_MARK_BEFORE;
    if (ecn_after(context, id) == ECN_CE) return VN_MARK_HERE;
    if (note->came & FOUND_EMPTY) return VN_MARK_EMPTY;
    return opened > came || (opened == came && opened != 0 && !(note->came & JUST_OPENED)) ? VN_MARK_HELD : VN_MARK_OTHER;
}

static enum vn_mark_ahead ahead_of(const struct vn_context *context, const struct vn_link *link, uint32_t id)
{
    uint64_t without = load_queue(note_of(context, id)).without;
    if (!is_ordered(link)) return VN_AHEAD_UNKNOWN;
    if (without == 0) return VN_AHEAD_NOTHING;
    return without <= vn_duration(link, vn_packet_at(context, id)->bytes) ? VN_AHEAD_FRAME : VN_AHEAD_MORE;
}

static void count_mark(const struct vn_context *context, const struct vn_link *link, uint32_t id)
{
    struct vn_explain_marks *marks = &explain_of(context)->marks[link - context->links];
    marks->packets[reason_of(context, link, id)][ahead_of(context, link, id)]++;
}

static void log_hop(const struct vn_context *context, const struct vn_link *link, uint32_t id, uint64_t idle)
{
    struct vn_packet *packet = vn_packet_at(context, id);
    const struct note *note = note_of(context, id);
    const struct trace *trace = trace_of(context, id);
    struct queue_state queue = load_queue(note);
    struct vn_explain_hop *hop = entry(context, VN_EXPLAIN_HOP);
    if (hop == NULL) return;
    *hop = (struct vn_explain_hop){.since_ps = came_at(note),
                                   .start_ps = context->now,
                                   .behind_ps = queue.behind,
                                   .without_ps = queue.without,
                                   .idle_ps = idle,
                                   .busy_ps = trace->busy,
                                   .flow = packet->flow,
                                   .serial = trace->serial,
                                   .link = (uint32_t)(link - context->links),
                                   .queue_bytes = trace->queue_bytes,
                                   .bytes = packet->bytes,
                                   .class = (uint8_t)class_of(note),
                                   .ecn_before = ecn_before(note),
                                   .ecn_after = ecn_after(context, id),
                                   .reason = (uint8_t)reason_of(context, link, id)};
}

/* A packet of data leaves a switch's queue: what it waited for. */
static void add_wait(const struct vn_context *context, const struct vn_link *link, uint32_t id)
{
    struct note *note = note_of(context, id);
    uint64_t wait = context->now - came_at(note), idle = 0;
    if (wait != 0) {
        uint32_t class = class_of(note);
        struct queue_state queue = load_queue(note);
        struct waited waited = waited_load(note);
        if (explain_of(context)->stopped[link - context->links]) {
            idle = (idle_until(link, line_of(context, link, class), class, context->now) - queue.idle) & TIME_MASK;
        }
        uint64_t rest = wait - idle;
        uint64_t behind = queue.behind < rest ? queue.behind : rest;
        uint64_t without = queue.without < behind ? queue.without : behind;
        VN_ASSERT(idle <= wait);
        waited.contention += without;
        waited.backlog += behind - without;
        waited.paused += idle;
        waited.overtaken += rest - behind;
        waited_store(note, waited);
    }
    if (is_logged(explain_of(context), vn_packet_at(context, id)->flow)) log_hop(context, link, id, idle);
    if (__builtin_expect(explain_of(context)->marks != NULL, 0)) count_mark(context, link, id);
}

static void vn_explain_starts(const struct vn_context *context, const struct vn_link *link, uint32_t id)
{
    struct explain *explain = explain_of(context);
    struct vn_packet *packet = vn_packet_at(context, id);
    uint64_t now = context->now, duration = vn_duration(link, packet->bytes);
    for (uint32_t left = link->closed; __builtin_expect(left != 0, 0); left &= left - 1) {
        struct line_class *of = line_of(context, link, (uint32_t)__builtin_ctz(left));
        idle_ends(context, link, of);
        of->idle_from = now + duration;
    }
    bool data = is_data(packet), at_switch = vn_near(context, link)->kind->holds;
    if (data) {
        if (at_switch) add_wait(context, link, id);
        struct note *note = note_of(context, id);
        bool cut = __builtin_expect(link->cut, 0) && packet->bytes > VN_CUT_BYTES;
        uint64_t wire = link->delay + (cut ? vn_duration(link, VN_CUT_BYTES) : duration);
        note->wire += wire;
        note->inside -= now + wire;
    } else if (at_switch && explain->stopped[link - context->links] &&
               vn_flow_control_of(link)->is_frame(vn_frame(context, packet))) {
        add_work(context, link, 0xff, duration); /* it was never queued, and goes before all others */
    }
    if (__builtin_expect(explain->logged_links == NULL, 1)) return;
    uint32_t number = (uint32_t)(link - context->links);
    bool chosen = number < explain->n_logged_links && explain->logged_links[number];
    if (!chosen || now > explain->to || now + duration < explain->from) return;
    struct vn_explain_line *logged = entry(context, VN_EXPLAIN_LINE);
    if (logged == NULL) return;
    *logged =
        (struct vn_explain_line){.start_ps = now, .link = number, .flow = data ? packet->flow : VN_NONE, .bytes = packet->bytes};
}

/* ---- causes of PAUSE ---- */

struct portion {
    uint32_t in_link;
    uint64_t bytes;
};

static void count_portion(void *to, const struct vn_packet *packet, uint32_t class)
{
    struct portion *portion = to;
    (void)class;
    if (packet->in_link == portion->in_link) portion->bytes += packet->bytes;
}

static void vn_explain_pauses(const struct vn_context *context, const struct vn_link *end, uint32_t class, bool pauses)
{
    if (!explain_of(context)->causes) return;
    const struct vn_class *in = &end->classes[class];
    struct portion portion = {.in_link = vn_into(context, end)};
    struct vn_explain_cause *cause = entry(context, VN_EXPLAIN_CAUSE);
    if (cause == NULL) return;
    *cause = (struct vn_explain_cause){.time_ps = context->now,
                                       .link = portion.in_link,
                                       .out = VN_NONE,
                                       .class = class,
                                       .bytes = in->held_bytes,
                                       .what = pauses ? VN_EXPLAIN_XOFF : VN_EXPLAIN_XON};
    if (vn_is_shared(in)) {
        cause->used = vn_share_used(vn_share_of(context, in), in);
        cause->threshold = vn_share_threshold(vn_share_of(context, in));
    } else {
        cause->used = in->held_bytes;
        cause->threshold = vn_pfc_class((struct vn_class *)in)->xoff;
    }
    const struct vn_node *node = vn_near(context, end);
    for (uint32_t i = 0; pauses && i < node->n_in; i++) {
        const struct vn_link *out = &context->links[node->in[i].link ^ 1];
        portion.bytes = 0;
        if (vn_scheduler_waiting(out, class) != 0) vn_scheduler_each(context, out, class, count_portion, &portion);
        if (portion.bytes == 0) continue;
        bool stopped = explain_of(context)->stopped[out - context->links];
        const struct line_class *of = line_of(context, out, class);
        uint64_t work = work_of(context, out, class);
        struct vn_explain_cause *waits = entry(context, VN_EXPLAIN_CAUSE);
        if (waits == NULL) return;
        *waits = (struct vn_explain_cause){.time_ps = context->now,
                                           .work_ps = work,
                                           .without_ps = stopped ? work_without(of, context->now) : work,
                                           .busy_ps = stopped ? of->busy : context->now,
                                           .bytes = portion.bytes,
                                           .link = portion.in_link,
                                           .out = (uint32_t)(out - context->links),
                                           .class = class,
                                           .what = VN_EXPLAIN_WAITS};
    }
}

/* ---- a flow's sender ---- */

/* Brings a sender's parts up to now. What the scheme holds back is the scheme's, whether or not the port is PAUSEd meanwhile; what is left
 * is PAUSE's while the line is idle; and then other frames'. */
static void account(const struct vn_context *context, const struct vn_link *link, struct sender *sender,
                    const struct pacing_flow *flow)
{
    uint64_t now = context->now, at = sender->at + sender->frame;
    if (at > now) return; /* its latest frame is on the line */
    sender->parts[VN_PART_OWN] += sender->frame;
    sender->frame = 0;
    sender->at = now;
    if (pacing_closed(flow)) {
        sender->parts[sender->closed_by] += now - at;
        return;
    }
    if (flow->next > at) {
        uint64_t until = flow->next < now ? flow->next : now;
        sender->parts[VN_PART_RATE] += until - at;
        at = until;
    }
    if (at == now) return;
    uint64_t paused = idle_since(context, link, flow->priority, at);
    VN_ASSERT(paused <= now - at);
    sender->parts[VN_PART_PAUSED] += paused;
    sender->parts[VN_PART_NIC] += now - at - paused;
}

static void vn_explain_begins(const struct vn_context *context, uint32_t number)
{
    explain_of(context)->senders[number] = (struct sender){.at = vn_flow_at(context, number)->start, .closed_by = VN_PART_WINDOW};
}

static void vn_explain_changes(const struct vn_context *context, const struct vn_link *link, const struct pacing_flow *flow)
{
    account(context, link, &explain_of(context)->senders[flow->number], flow);
}

/* With all packets sent, and none known to be lost, it waits for news of the last ones: for a timer, if one is lost. */
static void vn_explain_closes(const struct vn_context *context, uint32_t number)
{
    const struct vn_flow *flow = vn_flow_at(context, number);
    bool all = flow->repeats && flow->packets != 0 && flow->transport->sent == flow->packets;
    bool recovers = all && vn_repeat_of(flow)->reliable.lost == 0;
    explain_of(context)->senders[number].closed_by = recovers ? VN_PART_RECOVER : VN_PART_WINDOW;
}

static void vn_explain_lost(const struct vn_context *context, uint32_t number)
{
    explain_of(context)->senders[number].closed_by = VN_PART_RECOVER;
}

static inline bool may_overtake(const struct explain *explain, const struct vn_flow *flow)
{
    return flow->repeats || flow->sprays || explain->unordered;
}

static void vn_explain_sends(const struct vn_context *context, const struct vn_link *link, const struct pacing_flow *flow,
                             uint32_t id)
{
    struct explain *explain = explain_of(context);
    struct sender *sender = &explain->senders[flow->number];
    uint32_t bytes = vn_packet_at(context, id)->bytes;
    account(context, link, sender, flow);
    sender->frame = (uint32_t)vn_duration(link, bytes);
    *note_of(context, id) = (struct note){0};
    bool logged = is_logged(explain, flow->number);
    if (logged || may_overtake(explain, vn_flow_at(context, flow->number))) {
        struct trace *trace = trace_of(context, id);
        memcpy(trace->sender, sender->parts, sizeof trace->sender);
        if (logged) trace->serial = explain->serials[flow->number]++;
    }
    if (!logged) return;
    struct vn_explain_sent *sent = entry(context, VN_EXPLAIN_SENT);
    if (sent == NULL) return;
    *sent = (struct vn_explain_sent){.time_ps = context->now,
                                     .flow = flow->number,
                                     .serial = trace_of(context, id)->serial,
                                     .bytes = bytes,
                                     .link = (uint32_t)(link - context->links)};
    memcpy(sent->parts_ps, sender->parts, sizeof sent->parts_ps);
}

/* ---- its receiver ---- */

static void vn_explain_completes(const struct vn_context *context, uint32_t number, uint32_t id)
{
    struct explain *explain = explain_of(context);
    const struct vn_flow *flow = vn_flow_at(context, number);
    const struct note *note = note_of(context, id);
    struct vn_explained *of = &explain->flows[number];
    const uint64_t *sender = may_overtake(explain, flow) ? trace_of(context, id)->sender : explain->senders[number].parts;
    of->start_ps = flow->start;
    of->complete_ps = context->now;
    memcpy(of->parts_ps, sender, VN_PARTS_SENDER * sizeof *sender);
    struct waited waited = waited_load(note);
    of->parts_ps[VN_PART_CONTENTION] = waited.contention;
    of->parts_ps[VN_PART_PAUSE_BACKLOG] = waited.backlog;
    of->parts_ps[VN_PART_PAUSE_IDLE] = waited.paused;
    of->parts_ps[VN_PART_OVERTAKEN] = waited.overtaken;
    of->parts_ps[VN_PART_WIRE] = note->wire;
    of->parts_ps[VN_PART_INSIDE] = note->inside + context->now; /* where a frame ends its way it comes into no queue */
}

/* ---- the API ---- */

int vn_explain(struct vn_context *context, bool unordered)
{
    struct vn_rdma *rdma = vn_rdma_of(context);
    if (rdma == NULL || rdma->n_flows != 0 || explain_of(context) != NULL) {
        return vn_refuse(context, -EBUSY, "flows are explained from the first one on");
    }
    struct explain *explain = aligned_alloc(64, vn_aligned(sizeof *explain));
    if (explain == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
    memset(explain, 0, sizeof *explain);
    context->observed[VN_OBSERVER_explain] = explain;
    explain->unordered = unordered;
    explain->whole = true;
    explain->most_flows = rdma->most_flows;
    explain->most_links = context->most_links;
    explain->most_packets = VN_MOST_PACKETS;
    explain->used = calloc(context->most_links, 1);
    explain->stopped = calloc(context->most_links, sizeof *explain->stopped);
    if (explain->used == NULL || explain->stopped == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
    explain->lines = vn_reserve(context, "links' accounts", sizeof *explain->lines, &explain->most_links);
    explain->senders = vn_reserve(context, "senders' accounts", sizeof *explain->senders, &explain->most_flows);
    explain->flows = vn_reserve(context, "flows' parts", sizeof *explain->flows, &explain->most_flows);
    explain->traces = vn_reserve(context, "packets' traces", sizeof *explain->traces, &explain->most_packets);
    if (context->failed) return -ENOMEM;
    bool room = explain->most_links == context->most_links && explain->most_flows == rdma->most_flows;
    if (room && explain->most_packets == VN_MOST_PACKETS) return 0;
    return vn_refuse(context, -ENOMEM, "no address space to explain flows: raise its limit (ulimit -v)");
}

/* A copy of `n` bytes; NULL: no memory, or there are none. */
static uint8_t *copied(const uint8_t *bytes, uint32_t n)
{
    uint8_t *copy = n != 0 ? malloc(n) : NULL;
    if (copy != NULL) memcpy(copy, bytes, n);
    return copy;
}

int vn_explain_log(struct vn_context *context, const uint8_t *flows, uint32_t n_flows, const uint8_t *links, uint32_t n_links,
                   uint64_t from_ps, uint64_t to_ps, bool causes, bool marks)
{
    struct explain *explain = explain_of(context);
    if (explain == NULL || context->pool.base != NULL || explain->serials != NULL) {
        return vn_refuse(context, -EBUSY, "what is logged is chosen once, before the run");
    }
    explain->logged_flows = copied(flows, n_flows);
    explain->logged_links = copied(links, n_links);
    explain->serials = calloc(n_flows + 1, sizeof *explain->serials);
    if (marks) explain->marks = calloc(context->n_links, sizeof *explain->marks);
    bool flows_there = n_flows == 0 || explain->logged_flows != NULL, links_there = n_links == 0 || explain->logged_links != NULL;
    bool there = explain->serials != NULL && flows_there && links_there && (!marks || explain->marks != NULL);
    if (!there) return vn_refuse(context, -ENOMEM, "out of memory");
    explain->n_logged_flows = n_flows;
    explain->n_logged_links = n_links;
    explain->from = from_ps;
    explain->to = to_ps;
    explain->causes = causes;
    return 0;
}

int vn_explained(const struct vn_context *context, uint32_t number, uint32_t n, struct vn_explained *out)
{
    uint32_t n_flows = vn_rdma_of(context)->n_flows;
    const struct explain *explain = explain_of(context);
    if (explain == NULL || number > n_flows || n > n_flows - number) return -ENOENT;
    memcpy(out, &explain->flows[number], n * sizeof *out);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t sum = out[i].start_ps;
        for (uint32_t part = 0; part < VN_PARTS; part++) sum += out[i].parts_ps[part];
        if (out[i].complete_ps != 0 && sum != out[i].complete_ps) return -EPROTO;
    }
    return 0;
}

uint64_t vn_explain_entries(const struct vn_context *context, uint32_t thread, uint32_t which, const void **entries)
{
    const struct explain *explain = explain_of(context);
    if (explain == NULL || thread >= VN_MOST_THREADS || which >= VN_EXPLAIN_LOGS) return 0;
    *entries = explain->logs[thread].of[which].entries;
    return explain->logs[thread].of[which].n;
}

int vn_explain_counted_marks(const struct vn_context *context, uint32_t n, struct vn_explain_marks *out)
{
    const struct explain *explain = explain_of(context);
    if (explain == NULL || explain->marks == NULL || n > context->n_links) return -ENOENT;
    memcpy(out, explain->marks, n * sizeof *out);
    return 0;
}

int vn_explain_whole(const struct vn_context *context)
{
    const struct explain *explain = explain_of(context);
    return explain != NULL && explain->whole ? 0 : -ENOMEM;
}

static void unreserve(void *area, size_t item_bytes, uint32_t most)
{
    if (area != NULL) munmap(area, item_bytes * most);
}

static void vn_explain_free(struct vn_context *context)
{
    struct explain *explain = explain_of(context);
    if (explain == NULL) return;
    for (uint32_t link = 0; explain->lines != NULL && link < context->n_links; link++) {
        for (uint32_t class = 0; class < VN_CLASSES; class++) free(explain->lines[link][class].spans);
    }
    for (uint32_t thread = 0; thread < VN_MOST_THREADS; thread++) {
        for (uint32_t which = 0; which < VN_EXPLAIN_LOGS; which++) free(explain->logs[thread].of[which].entries);
    }
    unreserve(explain->lines, sizeof *explain->lines, explain->most_links);
    unreserve(explain->senders, sizeof *explain->senders, explain->most_flows);
    unreserve(explain->flows, sizeof *explain->flows, explain->most_flows);
    unreserve(explain->traces, sizeof *explain->traces, explain->most_packets);
    free(explain->logged_flows);
    free(explain->logged_links);
    free(explain->serials);
    free(explain->marks);
    free(explain->used);
    free(explain->stopped);
    free(explain);
}
