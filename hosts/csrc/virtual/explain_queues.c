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

/* Work at the port that a packet of the class finds, or would find. */
static uint64_t work_of(const struct vn_context *context, const struct vn_link *link,
                        uint32_t class)
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
                                       .what = closes ? VN_EXPLAIN_CLOSES : VN_EXPLAIN_OPENS};
}

static void vn_explain_queued(const struct vn_context *context, const struct vn_link *link,
                              uint32_t class, uint32_t id)
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
    uint64_t before = note->came;
    note->came = now << 8 | IN_QUEUE | class;
    store_queue(note, (struct queue_state){
                          .idle = idle,
                          .behind = work < MOST_WORK ? work : MOST_WORK,
                          .without = without < MOST_WORK ? without : MOST_WORK,
                      });
    if (before & IN_QUEUE) { /* it left a queue by no line: it was recirculated */
        struct waited waited = load_waited(&note->way);
        waited.contention += now - (before >> 8);
        store_waited(&note->way, waited);
    } else {
        note->way.inside += now;
    }
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
