/* The flows of the live NIC, their windows, and what their rates allow. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nic_inside.h"

enum { CATCH_UP_FRAMES = 2, FIRST_CAPACITY = 64 };

/* ---- accounting: what the rates allow ---- */

static double demand_bps(const struct nic *nic, uint64_t at_ps)
{
    double sum = 0;
    for (uint32_t i = 0; i < nic->n_flows; i++) {
        const struct nic_flow *flow = nic->flows[i];
        bool runs = picoseconds(flow->start_s) <= at_ps && at_ps < nic->entries[i].end;
        if (runs && !pacing_closed(&nic->entries[i]) &&
            nic->state.pauses[flow->priority].until_ps <= at_ps)
            sum += flow->rate_bps;
    }
    return sum;
}

/* Adds a time that lies between `accounted_ps` and now. */
static void add_edge(struct nic *nic, uint32_t *count, uint64_t at_ps, uint64_t now_ps)
{
    if (at_ps <= nic->accounted_ps || at_ps >= now_ps) return;
    uint32_t i = (*count)++;
    for (; i > 0 && nic->edges_ps[i - 1] > at_ps; i--) nic->edges_ps[i] = nic->edges_ps[i - 1];
    nic->edges_ps[i] = at_ps;
}

/* Brings `allowed_bits` up to now: the integral of the unpaused flows' rates, at most line rate. */
void nic_account_until(struct nic *nic, uint64_t now_ps)
{
    if (now_ps <= nic->accounted_ps) return;
    uint32_t count = 0;
    if (nic->n_flows > 0) {
        for (int i = 0; i < WIRE_CLASSES; i++)
            add_edge(nic, &count, nic->state.pauses[i].until_ps, now_ps);
        for (uint32_t i = 0; i < nic->n_flows; i++) {
            add_edge(nic, &count, picoseconds(nic->flows[i]->start_s), now_ps);
            add_edge(nic, &count, nic->entries[i].end, now_ps);
        }
        nic->edges_ps[count++] = now_ps;
    }
    for (uint32_t i = 0; i < count; i++) {
        double bps = fmin(demand_bps(nic, nic->accounted_ps), nic->line_rate_bps);
        nic->state.allowed_bits += bps * nic_seconds(nic->edges_ps[i] - nic->accounted_ps);
        nic->accounted_ps = nic->edges_ps[i];
    }
    nic->accounted_ps = now_ps;
}

void nic_account(struct nic *nic, double now_s) { nic_account_until(nic, picoseconds(now_s)); }

/* ---- flows ---- */

/* After a change of the flows. */
static void flows_changed(struct nic *nic)
{
    int64_t longest = 0;
    for (uint32_t i = 0; i < nic->n_flows; i++) {
        if (nic->flows[i]->frame_bits > longest) longest = nic->flows[i]->frame_bits;
    }
    nic->max_lateness_ps = later(nic->catch_up_ps, on_line_ps(nic, CATCH_UP_FRAMES * longest));
    nic->chosen = false;
}

static int grow_flows(struct nic *nic)
{
    uint32_t capacity = nic->flows_capacity ? 2 * nic->flows_capacity : FIRST_CAPACITY;
    struct nic_flow **flows = realloc(nic->flows, capacity * sizeof *flows);
    if (flows == NULL) return -ENOMEM;
    nic->flows = flows;
    struct pacing_flow *entries = realloc(nic->entries, capacity * sizeof *entries);
    if (entries == NULL) return -ENOMEM;
    nic->entries = entries;
    uint64_t *edges_ps =
        realloc(nic->edges_ps, (WIRE_CLASSES + 2 * capacity + 1) * sizeof *edges_ps);
    if (edges_ps == NULL) return -ENOMEM;
    nic->edges_ps = edges_ps;
    nic->flows_capacity = capacity;
    return 0;
}

static int add_entry(struct nic *nic, struct nic_flow *flow, struct pacing_flow entry)
{
    if (nic->n_flows == nic->flows_capacity && grow_flows(nic) != 0) return -ENOMEM;
    entry.number = nic->added++;
    nic->entries[nic->n_flows] = entry;
    nic->flows[nic->n_flows++] = flow;
    flows_changed(nic);
    return 0;
}

static void remove_entry(struct nic *nic, uint32_t index)
{
    pacing_remove(nic->entries, &nic->n_flows, index);
    memmove(&nic->flows[index], &nic->flows[index + 1],
            (nic->n_flows - index) * sizeof *nic->flows);
    flows_changed(nic);
}

int nic_add(struct nic *nic, struct nic_flow *flow, double now_s)
{
    nic_account(nic, now_s);
    flow->interval_ps = pacing_interval((uint64_t)flow->frame_bits, flow->rate_bps);
    struct pacing_flow entry = {
        .next = picoseconds(flow->start_s),
        .end = picoseconds(flow->end_s),
        .priority = (uint8_t)flow->priority,
    };
    return add_entry(nic, flow, entry);
}

/* False: the flow has ended. Python gets the event a little later, and may call with the flow until
 * then. */
static bool find_flow(const struct nic *nic, const struct nic_flow *flow, uint32_t *index)
{
    for (*index = 0; *index < nic->n_flows; (*index)++) {
        if (nic->flows[*index] == flow) return true;
    }
    return false;
}

/* Ends the flow, as of `at_ps`: see EVENT_END. */
void nic_end_flow(struct nic *nic, uint32_t index, uint64_t at_ps)
{
    nic_event(nic, EVENT_END, nic_seconds(at_ps))->flow = nic->flows[index];
    remove_entry(nic, index);
}

/* The flow's frames that have started, and haven't left, start on the other line as it is free. */
static int move_started(struct nic *from, struct nic *to, const struct nic_flow *flow,
                        uint64_t now_ps)
{
    int status = 0;
    for (uint32_t n = from->in_flight.count; n > 0; n--) {
        struct nic_item item = *(struct nic_item *)ring_at(&from->in_flight, 0);
        ring_pop(&from->in_flight);
        bool moves = item.flow == flow;
        if (moves && !ring_grow(&to->in_flight)) {
            moves = false;
            status = -ENOMEM;
        }
        if (moves) {
            to->free_ps = later(to->free_ps, now_ps) + on_line_ps(to, bits_of(flow, item.number));
            item.due_ps = to->free_ps + to->delay_ps;
        }
        ring_push(moves ? &to->in_flight : &from->in_flight, &item);
    }
    to->chosen = false;
    return status;
}

int nic_move(struct nic *from, struct nic *to, struct nic_flow *flow, bool started, double now_s)
{
    uint32_t index;
    uint64_t now_ps = picoseconds(now_s);
    int status = started ? move_started(from, to, flow, now_ps) : 0;
    if (status != 0 || !find_flow(from, flow, &index)) return status;
    nic_account(from, now_s);
    nic_account(to, now_s);
    struct pacing_flow entry = from->entries[index];
    if (!pacing_closed(&entry)) entry.next = later(entry.next, now_ps);
    status = add_entry(to, flow, entry);
    if (status == 0) remove_entry(from, index);
    return status;
}

/* The flow starts no further frame. Frames that have started are still delivered. */
void nic_remove(struct nic *nic, struct nic_flow *flow, double now_s)
{
    uint32_t index;
    if (!find_flow(nic, flow, &index)) return;
    nic_account(nic, now_s);
    nic_end_flow(
        nic, index,
        pacing_stopped(flow->started != 0, nic->free_ps, nic->delay_ps, picoseconds(now_s)));
}

void nic_set_rate(struct nic *nic, struct nic_flow *flow, double rate_bps, double now_s)
{
    uint32_t index;
    if (rate_bps == flow->rate_bps || !find_flow(nic, flow, &index)) return;
    nic_account(nic, now_s);
    flow->rate_bps = rate_bps;
    flow->interval_ps = pacing_interval((uint64_t)flow->frame_bits, rate_bps);
    pacing_new_interval(&nic->entries[index], flow->started != 0, flow->base_ps, flow->interval_ps,
                        picoseconds(now_s));
    nic->chosen = false;
}

/* After a change of the flow's window, or of what it has in flight. */
void nic_window_changed(struct nic *nic, uint32_t index, uint64_t now_ps)
{
    const struct nic_flow *flow = nic->flows[index];
    struct pacing_flow *entry = &nic->entries[index];
    bool closed =
        repeats(flow) ? !reliable_open(&flow->reliable) : !transport_open(&flow->reliable.flow);
    if (flow->started == 0 || closed == pacing_closed(entry)) return;
    nic_account_until(nic, now_ps);
    if (closed) pacing_close(entry);
    else pacing_open(entry, flow->base_ps, flow->interval_ps, now_ps);
    nic->chosen = false;
}

void nic_set_window(struct nic *nic, struct nic_flow *flow, double window_bytes, double now_s)
{
    uint32_t index;
    flow->reliable.flow.window_bytes = window_bytes;
    if (find_flow(nic, flow, &index)) nic_window_changed(nic, index, picoseconds(now_s));
}

int64_t nic_acknowledge(struct nic *nic, struct nic_flow *flow, uint32_t psn, double now_s)
{
    uint64_t bytes;
    uint32_t index;
    if (!transport_acknowledged(&flow->reliable.flow, psn, &bytes)) return -1;
    if (find_flow(nic, flow, &index)) nic_window_changed(nic, index, picoseconds(now_s));
    return (int64_t)bytes;
}

int nic_answered(struct nic *nic, struct nic_flow *flow, struct nic_answer *answer, double now_s)
{
    uint64_t now_ps = picoseconds(now_s);
    uint32_t index;
    struct reliable_news news;
    bool sent = answer->nak ? reliable_refused(&flow->reliable, answer->psn, 0, &news)
                            : reliable_acknowledged(&flow->reliable, answer->psn, answer->in_order,
                                                    0, &news);
    if (!sent) return -1;
    answer->acked = news.acked;
    answer->lost = news.lost;
    if (news.acked != 0 || news.lost != 0) flow->progress_ps = now_ps;
    if (!find_flow(nic, flow, &index)) return 0;
    if (!reliable_complete(&flow->reliable)) {
        nic_window_changed(nic, index, now_ps);
        return 0;
    }
    nic_account_until(nic, now_ps);
    nic_end_flow(nic, index, now_ps);
    return 0;
}

int64_t nic_timeout(struct nic *nic, struct nic_flow *flow, double timeout_s, double now_s)
{
    uint64_t now_ps = picoseconds(now_s);
    uint32_t index;
    struct reliable_news news;
    if (transport_in_flight(&flow->reliable.flow) == 0 ||
        since(flow->progress_ps, now_ps) < picoseconds(timeout_s))
        return 0;
    reliable_timeout(&flow->reliable, &news);
    flow->progress_ps = now_ps;
    if (find_flow(nic, flow, &index)) nic_window_changed(nic, index, now_ps);
    return (int64_t)news.lost;
}
