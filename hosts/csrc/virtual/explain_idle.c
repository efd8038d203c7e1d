/* For how long lines were idle by PAUSE. */
#include "virtual/explain_state.h"

static inline uint64_t idle_until(const struct vn_link *link, const struct line_class *of,
                                  uint32_t class, uint64_t now)
{
    return of->idle +
           (vn_gate_closed(link, class) && of->idle_from < now ? now - of->idle_from : 0);
}

/* Drops spans that no flow of the NIC needs any more. */
static void forget_spans(const struct vn_context *context, const struct vn_link *link,
                         struct line_class *of)
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

static void add_span(const struct vn_context *context, const struct vn_link *link,
                     struct line_class *of, struct span span)
{
    if (of->n_spans != 0 && of->n_spans == of->capacity) forget_spans(context, link, of);
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
static void idle_ends(const struct vn_context *context, const struct vn_link *link,
                      struct line_class *of)
{
    if (of->idle_from >= context->now) return;
    of->idle += context->now - of->idle_from;
    if (!vn_near(context, link)->kind->holds)
        add_span(context, link, of, (struct span){of->idle_from, context->now});
}

/* Of a host's port: idle time by PAUSE from then until now. */
static uint64_t idle_since(const struct vn_context *context, const struct vn_link *link,
                           uint32_t class, uint64_t from)
{
    const struct line_class *of = line_of(context, link, class);
    uint64_t now = context->now, sum = 0;
    if (vn_gate_closed(link, class) && of->idle_from < now)
        sum = now - (of->idle_from > from ? of->idle_from : from);
    for (uint32_t i = of->n_spans; i-- != 0 && of->spans[i].to > from;) {
        sum += of->spans[i].to - (of->spans[i].from > from ? of->spans[i].from : from);
    }
    return sum;
}
