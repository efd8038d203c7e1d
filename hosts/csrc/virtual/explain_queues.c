/* A switch's queues: what is ahead of a packet, and what would be if the port had never been
 * PAUSEd. */
#include "virtual/explain_state.h"

/* Whether packets leave in the order of their classes and, in a class, of their coming. If not,
 * what is ahead of a packet isn't what leaves before it, and nothing can be said of a port without
 * PAUSE. */
static inline bool is_ordered(const struct vn_link *link)
{
    const struct vn_port *port = vn_port_of(link);
    return !port->scheduled && !port->weighted && !port->trims;
}

static __attribute__((noinline, cold)) uint64_t work_in_fabric(const struct vn_context *context,
                                                               const struct vn_link *link,
                                                               uint32_t class)
{
    uint64_t work = 0;
    for (uint32_t above = class; above < VN_CLASSES; above++) {
        work += vn_duration(link, vn_output_bytes(context, link, above));
    }
    return work;
}

/* Work at the port that a packet of the class finds, or would find. */
VN_ALWAYS uint64_t work_of(const struct vn_context *context, const struct vn_link *link,
                           uint32_t class)
{
    uint64_t work = link->free_at > context->now ? link->free_at - context->now : 0;
    for (uint32_t left = link->waiting & ~0u << class; left != 0; left &= left - 1) {
        work += vn_duration(link, link->classes[__builtin_ctz(left)].queued_bytes);
    }
    if (__builtin_expect(vn_port_of(link)->fabric, 0)) work += work_in_fabric(context, link, class);
    return work;
}

/* Without PAUSE, as of now: Lindley's recursion, with the same arrivals. */
static inline uint64_t work_without(const struct line_class *of, uint64_t now)
{
    uint64_t passed = now - of->at;
    return of->without > passed ? of->without - passed : 0;
}

/* A packet of so many ps comes, and goes before what comes later in these classes. */
static void add_work(const struct vn_context *context, const struct vn_link *link, uint32_t classes,
                     uint64_t duration)
{
    for (uint32_t left = explain_of(context)->used[link - context->links] & classes; left != 0;
         left &= left - 1) {
        struct line_class *of = line_of(context, link, (uint32_t)__builtin_ctz(left));
        of->without = work_without(of, context->now) + duration;
        of->at = context->now;
    }
}

/* The first gate of a port is about to close: until now there was no PAUSE. The highest class has an
 * account in any case: of flow control's frames. */
static void accounts_begin(const struct vn_context *context, const struct vn_link *link)
{
    bool at_switch = vn_near(context, link)->kind->holds;
    explain_of(context)->used[link - context->links] = link->waiting | 1u << (VN_CLASSES - 1);
    for (uint32_t class = 0; at_switch && class < VN_CLASSES; class++) {
        struct line_class *of = line_of(context, link, class);
        of->without = work_of(context, link, class);
        of->at = of->busy = context->now;
    }
}

/* The first packet of a class comes since then: only higher ones had work. */
static void class_begins(const struct vn_context *context, const struct vn_link *link,
                         uint32_t class)
{
    uint8_t *used = &explain_of(context)->used[link - context->links];
    if (*used >> class & 1) return;
    struct line_class *of = line_of(context, link, class);
    const struct line_class *above =
        line_of(context, link, class + (uint32_t)__builtin_ctz(*used >> class));
    of->without = above->without;
    of->at = above->at;
    of->busy = above->busy;
    *used |= (uint8_t)(1u << class);
}

static void vn_explain_gate(const struct vn_context *context, const struct vn_link *link,
                            uint32_t class, bool closes)
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
                                       .kind = closes ? VN_EXPLAIN_CLOSES : VN_EXPLAIN_OPENS};
}

/* What a packet finds that comes to a port where a gate was closed, and what it adds. */
static __attribute__((noinline)) struct queue_state
queue_of_stopped(const struct vn_context *context, const struct vn_link *link, uint32_t class,
                 uint64_t work, uint32_t bytes)
{
    class_begins(context, link, class);
    struct line_class *of = line_of(context, link, class);
    uint64_t now = context->now, without = work_without(of, now);
    if (work == 0) of->busy = now;
    if (without == 0 && link->free_at > now && vn_port_of(link)->last_class < class) {
        without = link->free_at - now; /* no frame gives way to a higher class */
        of->without = without;
        of->at = now;
    }
    add_work(context, link, (2u << class) - 1, vn_duration(link, bytes));
    return (struct queue_state){idle_until(link, of, class, now) & TIME_MASK, work, without};
}

/* Its mark will be looked at, or it is logged. */
static __attribute__((noinline, cold)) void
inspect(const struct vn_context *context, const struct vn_link *link, uint32_t class, uint32_t id)
{
    const struct explain *explain = explain_of(context);
    struct vn_packet *packet = vn_packet_at(context, id);
    struct note *note = note_of(context, id);
    bool logged = is_logged(explain, packet->flow);
    if (!is_data(packet) || (!logged && explain->marks == NULL)) return;
    const struct line_class *of = line_of(context, link, class);
    note->came |= (vn_frame(context, packet)[WIRE_TOS] & 3u) << ECN_SHIFT;
    if (link->classes[class].queued_bytes == 0) note->came |= FOUND_EMPTY;
    if (of->opened == context->now) note->came |= JUST_OPENED;
    if (!logged) return;
    struct trace *trace = trace_of(context, id);
    trace->busy = explain->stopped[link - context->links] ? of->busy : context->now;
    trace->queue_bytes = (uint32_t)link->classes[class].queued_bytes;
}

static void vn_explain_queued(const struct vn_context *context, const struct vn_link *link,
                              uint32_t class, uint32_t id)
{
    const struct explain *explain = explain_of(context);
    struct note *note = note_of(context, id);
    uint64_t now = context->now, work = work_of(context, link, class), before = note->came;
    struct queue_state queue = {0, work, work};
    if (explain->stopped[link - context->links])
        queue = queue_of_stopped(context, link, class, work, vn_packet_at(context, id)->bytes);
    if (__builtin_expect(!is_ordered(link), 0)) queue.behind = queue.without = MOST_WORK;
    if (__builtin_expect((queue.behind | queue.without) > MOST_WORK, 0)) {
        queue.behind = queue.behind < MOST_WORK ? queue.behind : MOST_WORK;
        queue.without = queue.without < MOST_WORK ? queue.without : MOST_WORK;
    }
    note->came = now << 8 | IN_QUEUE | class;
    store_queue(note, queue);
    if (__builtin_expect(before & IN_QUEUE, 0)) /* it left a queue by no line: was recirculated */
        add_waited(&note->way, now - (before >> 8), 0);
    else note->way.inside += now;
    if (__builtin_expect(explain->inspects, 0)) inspect(context, link, class, id);
}
