/* The observer "explain": of each flow its completion time in parts that sum to it, and logs of
 * what was chosen. */
#include "virtual/explain_state.h"

#include <errno.h>
#include <sys/mman.h>

#include "virtual/explain_idle.c"
#include "virtual/explain_queues.c"
#include "virtual/explain_marks.c"
#include "virtual/explain_waits.c"
#include "virtual/explain_causes.c"
#include "virtual/explain_flows.c"

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
    explain->most_packets = vn_most_packets(context);
    explain->used = calloc(context->most_links, 1);
    explain->stopped = calloc(context->most_links, sizeof *explain->stopped);
    if (explain->used == NULL || explain->stopped == NULL)
        return vn_refuse(context, -ENOMEM, "out of memory");
    explain->lines =
        vn_reserve(context, "links' accounts", sizeof *explain->lines, &explain->most_links);
    explain->senders =
        vn_reserve(context, "senders' accounts", sizeof *explain->senders, &explain->most_flows);
    explain->windows =
        vn_reserve(context, "windows' accounts", sizeof *explain->windows, &explain->most_flows);
    explain->flows =
        vn_reserve(context, "flows' parts", sizeof *explain->flows, &explain->most_flows);
    explain->traces =
        vn_reserve(context, "packets' traces", sizeof *explain->traces, &explain->most_packets);
    if (context->failed) return -ENOMEM;
    bool room =
        explain->most_links == context->most_links && explain->most_flows == rdma->most_flows;
    if (room && explain->most_packets == vn_most_packets(context)) return 0;
    return vn_refuse(context, -ENOMEM,
                     "no address space to explain flows: raise its limit (ulimit -v)");
}

/* A copy of `n` bytes; NULL: no memory, or there are none. */
static uint8_t *copied(const uint8_t *bytes, uint32_t n)
{
    uint8_t *copy = n != 0 ? malloc(n) : NULL;
    if (copy != NULL) memcpy(copy, bytes, n);
    return copy;
}

int vn_explain_log(struct vn_context *context, const uint8_t *flows, uint32_t n_flows,
                   const uint8_t *links, uint32_t n_links, uint64_t from_ps, uint64_t to_ps,
                   bool causes, bool marks)
{
    struct explain *explain = explain_of(context);
    bool ran = context->now != 0 || context->events_done != 0;
    if (explain == NULL || ran || explain->serials != NULL) {
        return vn_refuse(context, -EBUSY, "what is logged is chosen once, before the run");
    }
    explain->logged_flows = copied(flows, n_flows);
    explain->logged_links = copied(links, n_links);
    explain->serials = calloc(n_flows + 1, sizeof *explain->serials);
    if (marks) explain->marks = calloc(context->n_links, sizeof *explain->marks);
    bool flows_there = n_flows == 0 || explain->logged_flows != NULL,
         links_there = n_links == 0 || explain->logged_links != NULL;
    bool there = explain->serials != NULL && flows_there && links_there &&
                 (!marks || explain->marks != NULL);
    if (!there) return vn_refuse(context, -ENOMEM, "out of memory");
    explain->n_logged_flows = n_flows;
    explain->n_logged_links = n_links;
    explain->from = from_ps;
    explain->to = to_ps;
    explain->causes = causes;
    explain->inspects = explain->logged_flows != NULL || marks;
    return 0;
}

int vn_explained(const struct vn_context *context, uint32_t number, uint32_t n,
                 struct vn_explained *out)
{
    uint32_t n_flows = vn_rdma_of(context)->n_flows;
    const struct explain *explain = explain_of(context);
    if (explain == NULL || number > n_flows || n > n_flows - number) return -ENOENT;
    memcpy(out, &explain->flows[number], n * sizeof *out);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t sum = out[i].start_ps;
        for (uint32_t part = 0; part < VN_PARTS; part++) sum += out[i].parts_ps[part];
        if (out[i].complete_ps == 0) continue;
        bool whole = window_parts(&explain->windows[number + i], out[i].parts_ps[VN_PART_WINDOW],
                                  out[i].window_ps);
        if (sum != out[i].complete_ps || !whole) return -EPROTO;
    }
    return 0;
}

uint64_t vn_explain_entries(const struct vn_context *context, uint32_t thread, uint32_t which,
                            const void **entries)
{
    const struct explain *explain = explain_of(context);
    if (explain == NULL || thread >= VN_MOST_THREADS || which >= VN_EXPLAIN_LOGS) return 0;
    *entries = explain->logs[thread].of[which].entries;
    return explain->logs[thread].of[which].n;
}

int vn_explain_counted_marks(const struct vn_context *context, uint32_t n,
                             struct vn_explain_marks *out)
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
        for (uint32_t class = 0; class < VN_CLASSES; class++)
            free(explain->lines[link][class].spans);
    }
    for (uint32_t thread = 0; thread < VN_MOST_THREADS; thread++) {
        for (uint32_t which = 0; which < VN_EXPLAIN_LOGS; which++)
            free(explain->logs[thread].of[which].entries);
    }
    unreserve(explain->lines, sizeof *explain->lines, explain->most_links);
    unreserve(explain->senders, sizeof *explain->senders, explain->most_flows);
    unreserve(explain->windows, sizeof *explain->windows, explain->most_flows);
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
