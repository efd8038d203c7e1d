/* The live NIC: by the rules of pacing.h, for a process that wakes up late and a clock of nominal seconds, which calls bring. Inside,
 * times are whole picoseconds (`_ps`), as the rules have them. */
#include "nic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rings.h"

enum { CATCH_UP_FRAMES = 2, FIRST_CAPACITY = 64 };

struct nic {
    struct nic_state state; /* first: Python reads it */
    struct events *events;
    double line_rate_bps;
    uint64_t delay_ps, catch_up_ps;
    uint64_t max_lateness_ps; /* lateness of a frame up to which the schedule doesn't move */
    struct nic_flow **flows; /* flows that have not ended, in order of addition ... */
    struct pacing_flow *entries; /* ... and their entries in the round robin */
    uint32_t n_flows, flows_capacity;
    uint32_t added, last; /* flows added so far: the next one's number; the number of the flow that sent last */
    uint64_t *edges_ps; /* scratch space of nic_account */
    struct ring control; /* struct nic_control * */
    struct ring in_flight; /* struct nic_item: started, not delivered yet */
    uint64_t free_ps; /* when the line is free */
    uint64_t accounted_ps;
    int paused_classes;
    bool chosen; /* `next` is valid */
    struct pacing_choice next;
};

/* ---- time ---- */

static uint64_t picoseconds(double s)
{
    double ps = s * 1e12 + 0.5;
    if (ps < 1) return 0;
    return ps < 1.8e19 ? (uint64_t)ps : PACING_NEVER;
}

/* How far `to` is after `from`; 0 if it isn't. */
static uint64_t since(uint64_t from_ps, uint64_t to_ps) { return to_ps > from_ps ? to_ps - from_ps : 0; }

static uint64_t later(uint64_t a_ps, uint64_t b_ps) { return a_ps > b_ps ? a_ps : b_ps; }

static uint64_t on_line_ps(const struct nic *nic, int64_t bits) { return pacing_interval((uint64_t)bits, nic->line_rate_bps); }

static struct nic_control *first_control(const struct nic *nic) { return *(struct nic_control **)ring_at(&nic->control, 0); }

/* ---- creation ---- */

struct nic *nic_new(double line_rate_bps, double delay_s, double catch_up_s, struct events *events)
{
    struct nic *nic = calloc(1, sizeof *nic);
    if (nic == NULL) return NULL;
    nic->line_rate_bps = line_rate_bps;
    nic->delay_ps = picoseconds(delay_s);
    nic->catch_up_ps = nic->max_lateness_ps = picoseconds(catch_up_s);
    nic->events = events;
    nic->last = UINT32_MAX;
    nic->control.element = sizeof(struct nic_control *);
    nic->in_flight.element = sizeof(struct nic_item);
    return nic;
}

void nic_free(struct nic *nic)
{
    if (nic == NULL) return;
    for (uint32_t i = 0; i < nic->control.count; i++) free(*(struct nic_control **)ring_at(&nic->control, i));
    for (uint32_t i = 0; i < nic->in_flight.count; i++) free(((struct nic_item *)ring_at(&nic->in_flight, i))->control);
    free(nic->control.all);
    free(nic->in_flight.all);
    free(nic->flows);
    free(nic->entries);
    free(nic->edges_ps);
    free(nic);
}

struct nic_state *nic_state(struct nic *nic) { return &nic->state; }

/* ---- accounting: what the rates allow ---- */

static double demand_bps(const struct nic *nic, uint64_t at_ps)
{
    double sum = 0;
    for (uint32_t i = 0; i < nic->n_flows; i++) {
        const struct nic_flow *flow = nic->flows[i];
        bool runs = picoseconds(flow->start_s) <= at_ps && at_ps < nic->entries[i].end;
        if (runs && !pacing_closed(&nic->entries[i]) && nic->state.pauses[flow->priority].until_ps <= at_ps) sum += flow->rate_bps;
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
static void account(struct nic *nic, uint64_t now_ps)
{
    if (now_ps <= nic->accounted_ps) return;
    uint32_t count = 0;
    if (nic->n_flows > 0) {
        for (int i = 0; i < WIRE_CLASSES; i++) add_edge(nic, &count, nic->state.pauses[i].until_ps, now_ps);
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

void nic_account(struct nic *nic, double now_s) { account(nic, picoseconds(now_s)); }

void nic_reset_counters(struct nic *nic, double now_s)
{
    nic_account(nic, now_s);
    for (int i = 0; i < WIRE_CLASSES; i++) {
        struct nic_pause *pause = &nic->state.pauses[i];
        pause->pause = pause->resume = pause->expired = pause->paused_ps = 0;
        pause->since_ps = picoseconds(now_s);
    }
    nic->state.allowed_bits = 0;
    nic->state.started_bits = 0;
    nic->state.control_drops = 0;
}

/* ---- flows and control frames ---- */

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
    uint64_t *edges_ps = realloc(nic->edges_ps, (WIRE_CLASSES + 2 * capacity + 1) * sizeof *edges_ps);
    if (edges_ps == NULL) return -ENOMEM;
    nic->edges_ps = edges_ps;
    nic->flows_capacity = capacity;
    return 0;
}

int nic_add(struct nic *nic, struct nic_flow *flow, double now_s)
{
    nic_account(nic, now_s);
    if (nic->n_flows == nic->flows_capacity && grow_flows(nic) != 0) return -ENOMEM;
    nic->entries[nic->n_flows] = (struct pacing_flow){
        .next = picoseconds(flow->start_s),
        .end = picoseconds(flow->end_s),
        .number = nic->added++,
        .priority = (uint8_t)flow->priority,
    };
    flow->interval_ps = pacing_interval((uint64_t)flow->frame_bits, flow->rate_bps);
    nic->flows[nic->n_flows++] = flow;
    flows_changed(nic);
    return 0;
}

/* False: the flow has ended. Python hears of that a little later, and may ask for something until then. */
static bool find_flow(const struct nic *nic, const struct nic_flow *flow, uint32_t *index)
{
    for (*index = 0; *index < nic->n_flows; (*index)++) {
        if (nic->flows[*index] == flow) return true;
    }
    return false;
}

/* Ends the flow, as of `at_ps`: see EVENT_END. */
static void end_flow(struct nic *nic, uint32_t index, uint64_t at_ps)
{
    events_add(nic->events, EVENT_END, false, nic_seconds(at_ps))->flow = nic->flows[index];
    pacing_remove(nic->entries, &nic->n_flows, index);
    memmove(&nic->flows[index], &nic->flows[index + 1], (nic->n_flows - index) * sizeof *nic->flows);
    flows_changed(nic);
}

/* The flow starts no further frame. Frames that have started are still delivered. */
void nic_remove(struct nic *nic, struct nic_flow *flow, double now_s)
{
    uint32_t index;
    if (!find_flow(nic, flow, &index)) return;
    nic_account(nic, now_s);
    end_flow(nic, index, pacing_stopped(flow->started != 0, nic->free_ps, nic->delay_ps, picoseconds(now_s)));
}

void nic_set_rate(struct nic *nic, struct nic_flow *flow, double rate_bps, double now_s)
{
    uint32_t index;
    if (rate_bps == flow->rate_bps || !find_flow(nic, flow, &index)) return;
    nic_account(nic, now_s);
    flow->rate_bps = rate_bps;
    flow->interval_ps = pacing_interval((uint64_t)flow->frame_bits, rate_bps);
    pacing_new_interval(&nic->entries[index], flow->started != 0, flow->base_ps, flow->interval_ps, picoseconds(now_s));
    nic->chosen = false;
}

static bool repeats(const struct nic_flow *flow) { return flow->reliable.kind != LOSSLESS; }

/* After a change of the flow's window, or of what it has in flight. */
static void window_changed(struct nic *nic, uint32_t index, uint64_t now_ps)
{
    const struct nic_flow *flow = nic->flows[index];
    struct pacing_flow *entry = &nic->entries[index];
    bool closed = repeats(flow) ? !reliable_open(&flow->reliable) : !transport_open(&flow->reliable.flow);
    if (flow->started == 0 || closed == pacing_closed(entry)) return;
    account(nic, now_ps);
    if (closed) pacing_close(entry);
    else pacing_open(entry, flow->base_ps, flow->interval_ps, now_ps);
    nic->chosen = false;
}

void nic_set_window(struct nic *nic, struct nic_flow *flow, double window_bytes, double now_s)
{
    uint32_t index;
    flow->reliable.flow.window_bytes = window_bytes;
    if (find_flow(nic, flow, &index)) window_changed(nic, index, picoseconds(now_s));
}

int64_t nic_acknowledge(struct nic *nic, struct nic_flow *flow, uint32_t psn, double now_s)
{
    uint64_t bytes;
    uint32_t index;
    if (!transport_acknowledged(&flow->reliable.flow, psn, &bytes)) return -1;
    if (find_flow(nic, flow, &index)) window_changed(nic, index, picoseconds(now_s));
    return (int64_t)bytes;
}

int nic_answered(struct nic *nic, struct nic_flow *flow, struct nic_answer *answer, double now_s)
{
    uint64_t now_ps = picoseconds(now_s);
    uint32_t index;
    struct reliable_news news;
    bool sent = answer->nak ? reliable_refused(&flow->reliable, answer->psn, 0, &news)
                            : reliable_acknowledged(&flow->reliable, answer->psn, answer->in_order, 0, &news);
    if (!sent) return -1;
    answer->acked = news.acked;
    answer->lost = news.lost;
    if (news.acked != 0 || news.lost != 0) flow->progress_ps = now_ps;
    if (!find_flow(nic, flow, &index)) return 0;
    if (!reliable_complete(&flow->reliable)) {
        window_changed(nic, index, now_ps);
        return 0;
    }
    account(nic, now_ps);
    end_flow(nic, index, now_ps);
    return 0;
}

int64_t nic_timeout(struct nic *nic, struct nic_flow *flow, double timeout_s, double now_s)
{
    uint64_t now_ps = picoseconds(now_s);
    uint32_t index;
    struct reliable_news news;
    if (transport_in_flight(&flow->reliable.flow) == 0 || since(flow->progress_ps, now_ps) < picoseconds(timeout_s)) return 0;
    reliable_timeout(&flow->reliable, &news);
    flow->progress_ps = now_ps;
    if (find_flow(nic, flow, &index)) window_changed(nic, index, now_ps);
    return (int64_t)news.lost;
}

int nic_send_control(struct nic *nic, const uint8_t *frame, uint32_t length, double now_s)
{
    if (nic->control.count == NIC_CONTROL_FRAMES) {
        nic->state.control_drops++;
        return 0;
    }
    struct nic_control *control = ring_grow(&nic->control) ? malloc(sizeof *control + length) : NULL;
    if (control == NULL) return -ENOMEM;
    control->since_ps = picoseconds(now_s);
    control->length = length;
    memcpy(control->frame, frame, length);
    ring_push(&nic->control, &control);
    nic->chosen = false;
    return 0;
}

/* ---- PFC ---- */

static void end_pause(struct nic *nic, struct nic_pause *pause, uint64_t at_ps)
{
    if (at_ps < pause->until_ps) pause->until_ps = at_ps;
    pause->paused_ps += since(pause->since_ps, pause->until_ps);
    pause->paused = false;
    nic->paused_classes--;
}

/* A PFC frame arrived: pause quanta of 512 bit times by class; 0 is RESUME. */
void nic_pfc(struct nic *nic, uint8_t enabled, const uint16_t *quanta, double now_s)
{
    uint64_t now_ps = picoseconds(now_s);
    account(nic, now_ps);
    for (int i = 0; i < WIRE_CLASSES; i++) {
        if (!(enabled >> i & 1)) continue;
        struct nic_pause *pause = &nic->state.pauses[i];
        struct event *event = events_add(nic->events, quanta[i] ? EVENT_PAUSE : EVENT_RESUME, false, now_s);
        event->priority = i;
        event->count = quanta[i];
        if (quanta[i]) {
            pause->pause++;
            if (!pause->paused) {
                pause->paused = true;
                pause->since_ps = now_ps;
                nic->paused_classes++;
            }
            pause->until_ps = now_ps + on_line_ps(nic, quanta[i] * WIRE_QUANTUM_BITS);
        } else {
            pause->resume++;
            if (pause->paused) end_pause(nic, pause, now_ps);
        }
    }
    nic->chosen = false;
}

bool nic_is_paused(const struct nic *nic) { return nic->paused_classes > 0; }

double nic_paused_s(const struct nic *nic, int priority, double now_s)
{
    const struct nic_pause *pause = &nic->state.pauses[priority];
    uint64_t now_ps = picoseconds(now_s), end_ps = now_ps < pause->until_ps ? now_ps : pause->until_ps;
    return nic_seconds(pause->paused_ps + (pause->paused ? since(pause->since_ps, end_ps) : 0));
}

static void expire(struct nic *nic, uint64_t now_ps)
{
    for (int i = 0; i < WIRE_CLASSES; i++) {
        struct nic_pause *pause = &nic->state.pauses[i];
        if (!pause->paused || pause->until_ps > now_ps) continue;
        pause->expired++;
        end_pause(nic, pause, now_ps);
        events_add(nic->events, EVENT_EXPIRY, false, nic_seconds(pause->until_ps))->priority = i;
    }
}

/* ---- the schedule ---- */

static int64_t next_number(const struct nic_flow *flow)
{
    return repeats(flow) ? (int64_t)reliable_next(&flow->reliable) : flow->started;
}

static int64_t next_bits(const struct nic_flow *flow)
{
    return next_number(flow) + 1 == flow->packets ? flow->last_bits : flow->frame_bits;
}

/* The flow's next packet leaves at `at_ps`. Returns whether it requests an acknowledgement. */
static bool started(struct nic_flow *flow, uint64_t at_ps)
{
    bool asks;
    if (!repeats(flow)) return transport_sent(&flow->reliable.flow);
    if (transport_in_flight(&flow->reliable.flow) == 0) flow->progress_ps = at_ps;
    reliable_started(&flow->reliable, 0, &asks);
    return asks;
}

/* A PAUSE's end is known; RESUME may bring it forward. */
static uint64_t unpaused_at(const void *nic, uint32_t priority, uint64_t at_ps)
{
    return later(at_ps, ((const struct nic *)nic)->state.pauses[priority].until_ps);
}

static void choose_next(struct nic *nic)
{
    uint64_t control = nic->control.count > 0 ? first_control(nic)->since_ps : PACING_NEVER;
    nic->next = pacing_choose(nic->entries, nic->n_flows, unpaused_at, nic, nic->free_ps, control, nic->last);
    nic->chosen = true;
}

/* Starts the frame at `at_ps`, or so much later that it is overdue by `max_lateness_ps` at most. */
static void start_frame(struct nic *nic, uint32_t index, uint64_t at_ps, uint64_t now_ps)
{
    struct nic_flow *flow = nic->flows[index];
    int64_t bits = next_bits(flow);
    uint64_t length_ps = on_line_ps(nic, bits);
    at_ps = later(at_ps, since(nic->max_lateness_ps, since(length_ps + nic->delay_ps, now_ps)));
    nic->free_ps = at_ps + length_ps;
    struct nic_item item = {.due_ps = nic->free_ps + nic->delay_ps, .flow = flow, .number = next_number(flow)};
    item.asks = started(flow, at_ps);
    ring_push(&nic->in_flight, &item);
    nic->state.started_bits += bits;
    flow->started_bytes += bits / 8;
    flow->started++;
    flow->base_ps = pacing_started(&nic->entries[index], at_ps, flow->interval_ps);
    nic->last = nic->entries[index].number;
    window_changed(nic, index, at_ps);
    if (flow->started == flow->packets && !repeats(flow)) {
        account(nic, at_ps);
        end_flow(nic, index, item.due_ps);
    }
}

static void start_control(struct nic *nic, uint64_t at_ps)
{
    struct nic_control *control = first_control(nic);
    ring_pop(&nic->control);
    nic->free_ps = at_ps + on_line_ps(nic, control->length * 8);
    struct nic_item item = {.due_ps = nic->free_ps + nic->delay_ps, .control = control};
    ring_push(&nic->in_flight, &item);
}

/* Decides all starts up to now. */
void nic_advance(struct nic *nic, double now_s)
{
    uint64_t now_ps = picoseconds(now_s);
    if (nic->paused_classes > 0) expire(nic, now_ps);
    for (;;) {
        /* Backpressure: no new starts while the first frame is overdue by more than max_lateness_ps */
        const struct nic_item *first = nic->in_flight.count > 0 ? ring_at(&nic->in_flight, 0) : NULL;
        if (first != NULL && first->due_ps < since(nic->max_lateness_ps, now_ps)) return;
        if (!nic->chosen) choose_next(nic);
        struct pacing_choice next = nic->next;
        if (next.when > now_ps || next.action == PACING_NOTHING || !ring_grow(&nic->in_flight)) return;
        nic->chosen = false;
        if (next.action == PACING_START) {
            start_frame(nic, next.index, next.when, now_ps);
        } else if (next.action == PACING_CONTROL) {
            start_control(nic, next.when);
        } else {
            account(nic, next.when);
            end_flow(nic, next.index, next.when);
        }
    }
}

static uint64_t wake_ps(struct nic *nic)
{
    if (nic->in_flight.count > 0) return ((const struct nic_item *)ring_at(&nic->in_flight, 0))->due_ps;
    if (!nic->chosen) choose_next(nic);
    int64_t bits = 0;
    if (nic->next.action == PACING_START) bits = next_bits(nic->flows[nic->next.index]);
    else if (nic->next.action == PACING_CONTROL) bits = first_control(nic)->length * 8;
    else return nic->next.when;
    return nic->next.when + on_line_ps(nic, bits) + nic->delay_ps;
}

/* When nic_advance and nic_due must be called next, unless the state changes before. */
double nic_wake(struct nic *nic)
{
    uint64_t at_ps = wake_ps(nic);
    double at_s = nic_seconds(at_ps);
    while (picoseconds(at_s) < at_ps) at_s = nextafter(at_s, INFINITY); /* after half an hour a double can be too coarse */
    return at_s;
}

double nic_decides(struct nic *nic)
{
    if (!nic->chosen) choose_next(nic);
    return nic_seconds(nic->next.when);
}

/* ---- delivery ---- */

const struct nic_item *nic_due(const struct nic *nic, uint32_t ahead, double now_s)
{
    if (ahead >= nic->in_flight.count) return NULL;
    const struct nic_item *item = ring_at(&nic->in_flight, ahead);
    return item->due_ps <= picoseconds(now_s) ? item : NULL;
}

void nic_delivered(struct nic *nic, double now_s)
{
    const struct nic_item *item = ring_at(&nic->in_flight, 0);
    struct nic_flow *flow = item->flow;
    double due_s = nic_seconds(item->due_ps); /* by a link in memory it is delivered before */
    free(item->control);
    ring_pop(&nic->in_flight);
    if (flow == NULL) return;
    if (item->asks) {
        struct event *event = events_add(nic->events, EVENT_ASKED, false, fmax(now_s, due_s) - nic_seconds(nic->delay_ps));
        event->flow = flow;
        event->count = (uint64_t)item->number;
    }
    flow->delivered_bytes += (item->number + 1 == flow->packets ? flow->last_bits : flow->frame_bits) / 8;
    flow->delivered++;
    if (flow->delivered_bytes < flow->due_bytes) return;
    flow->due_bytes = INT64_MAX;
    struct event *event = events_add(nic->events, EVENT_SENT, true, now_s);
    event->flow = flow;
    event->count = (uint64_t)flow->delivered_bytes;
}

uint32_t nic_frame(const struct nic_item *item, uint8_t *frame)
{
    const struct nic_flow *flow = item->flow;
    if (flow == NULL) {
        memcpy(frame, item->control->frame, item->control->length);
        return item->control->length;
    }
    bool last = item->number + 1 == flow->packets;
    uint32_t length = (uint32_t)((last ? flow->last_bits : flow->frame_bits) / 8);
    uint32_t psn = (uint32_t)((uint64_t)flow->reliable.flow.first_psn + (uint64_t)item->number) % WIRE_PSN_RANGE;
    uint8_t bits = item->asks ? WIRE_ACKREQ : 0;
    if (repeats(flow) && item->number == 0) bits |= WIRE_FIRST;
    wire_stamp(frame, last ? flow->last_frame : flow->frame, length, psn, bits);
    return length;
}
