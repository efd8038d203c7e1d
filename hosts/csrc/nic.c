/* The live NIC: by the rules of pacing.h, for a process that wakes up late and a clock of nominal
 * seconds, which calls bring. Inside, times are whole picoseconds (`_ps`), as the rules have
 * them. */
#include "nic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nic_inside.h"

/* ---- creation ---- */

struct nic *nic_new(uint32_t port, double line_rate_bps, double delay_s, double catch_up_s,
                    struct events *events)
{
    struct nic *nic = calloc(1, sizeof *nic);
    if (nic == NULL) return NULL;
    nic->line_rate_bps = line_rate_bps;
    nic->delay_ps = picoseconds(delay_s);
    nic->catch_up_ps = nic->max_lateness_ps = picoseconds(catch_up_s);
    nic->events = events;
    nic->port = port;
    nic->last = UINT32_MAX;
    nic->control.element = sizeof(struct nic_control *);
    nic->in_flight.element = sizeof(struct nic_item);
    return nic;
}

void nic_free(struct nic *nic)
{
    if (nic == NULL) return;
    for (uint32_t i = 0; i < nic->control.count; i++)
        free(*(struct nic_control **)ring_at(&nic->control, i));
    for (uint32_t i = 0; i < nic->in_flight.count; i++)
        free(((struct nic_item *)ring_at(&nic->in_flight, i))->control);
    free(nic->control.all);
    free(nic->in_flight.all);
    free(nic->flows);
    free(nic->entries);
    free(nic->edges_ps);
    free(nic);
}

struct nic_state *nic_state(struct nic *nic) { return &nic->state; }

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

/* ---- control frames ---- */

int nic_send_control(struct nic *nic, const uint8_t *frame, uint32_t length, double now_s)
{
    if (nic->control.count == NIC_CONTROL_FRAMES) {
        nic->state.control_drops++;
        return 0;
    }
    struct nic_control *control =
        ring_grow(&nic->control) ? malloc(sizeof *control + length) : NULL;
    if (control == NULL) return -ENOMEM;
    control->since_ps = picoseconds(now_s);
    control->length = length;
    memcpy(control->frame, frame, length);
    ring_push(&nic->control, &control);
    nic->chosen = false;
    return 0;
}

uint32_t nic_take_control(struct nic *nic, uint8_t *frame)
{
    struct nic_control *taken = NULL;
    for (uint32_t n = nic->in_flight.count; n > 0; n--) {
        struct nic_item item = *(struct nic_item *)ring_at(&nic->in_flight, 0);
        ring_pop(&nic->in_flight);
        if (taken == NULL && item.control != NULL) taken = item.control;
        else ring_push(&nic->in_flight, &item);
    }
    if (taken == NULL && nic->control.count > 0) {
        taken = first_control(nic);
        ring_pop(&nic->control);
    }
    nic->chosen = false;
    if (taken == NULL) return 0;
    uint32_t length = taken->length;
    memcpy(frame, taken->frame, length);
    free(taken);
    return length;
}

/* ---- the schedule ---- */

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
    nic->next = pacing_choose(nic->entries, nic->n_flows, unpaused_at, nic, nic->free_ps, control,
                              nic->last);
    nic->chosen = true;
}

/* An RP counts bytes as they start, as in virtual time: how long a frame waits for its link's delay
 * is none of its. */
static void report_sent(struct nic *nic, struct nic_flow *flow, uint64_t now_ps)
{
    if (flow->started_bytes < flow->due_bytes || (flow->started == flow->packets && !repeats(flow)))
        return;
    flow->due_bytes = INT64_MAX;
    struct event *event = events_add(nic->events, EVENT_SENT, true, nic_seconds(now_ps));
    event->flow = flow;
    event->count = (uint64_t)flow->started_bytes;
}

/* Starts the frame at `at_ps`, or so much later that it is overdue by `max_lateness_ps` at most. */
static void start_frame(struct nic *nic, uint32_t index, uint64_t at_ps, uint64_t now_ps)
{
    struct nic_flow *flow = nic->flows[index];
    int64_t bits = bits_of(flow, next_number(flow));
    uint64_t length_ps = on_line_ps(nic, bits);
    at_ps = later(at_ps, since(nic->max_lateness_ps, since(length_ps + nic->delay_ps, now_ps)));
    nic->free_ps = at_ps + length_ps;
    struct nic_item item = {
        .due_ps = nic->free_ps + nic->delay_ps, .flow = flow, .number = next_number(flow)};
    item.asks = started(flow, at_ps);
    ring_push(&nic->in_flight, &item);
    nic->state.started_bits += bits;
    flow->started_bytes += bits / 8;
    flow->started++;
    flow->base_ps = pacing_started(&nic->entries[index], at_ps, flow->interval_ps);
    nic->last = nic->entries[index].number;
    report_sent(nic, flow, now_ps);
    nic_window_changed(nic, index, at_ps);
    if (flow->started == flow->packets && !repeats(flow)) {
        nic_account_until(nic, at_ps);
        nic_end_flow(nic, index, item.due_ps);
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
    if (nic->paused_classes > 0) nic_expire(nic, now_ps);
    for (;;) {
        /* Backpressure: no new starts while the first frame is overdue by more than
         * max_lateness_ps */
        const struct nic_item *first =
            nic->in_flight.count > 0 ? ring_at(&nic->in_flight, 0) : NULL;
        if (first != NULL && first->due_ps < since(nic->max_lateness_ps, now_ps)) return;
        if (!nic->chosen) choose_next(nic);
        struct pacing_choice next = nic->next;
        if (next.when > now_ps || next.action == PACING_NOTHING || !ring_grow(&nic->in_flight))
            return;
        nic->chosen = false;
        if (next.action == PACING_START) {
            start_frame(nic, next.index, next.when, now_ps);
        } else if (next.action == PACING_CONTROL) {
            start_control(nic, next.when);
        } else {
            nic_account_until(nic, next.when);
            nic_end_flow(nic, next.index, next.when);
        }
    }
}

static uint64_t wake_ps(struct nic *nic)
{
    if (!nic->chosen) choose_next(nic);
    const struct nic_flow *flow =
        nic->next.action == PACING_START ? nic->flows[nic->next.index] : NULL;
    int64_t bits = flow != NULL ? bits_of(flow, next_number(flow)) : 0;
    /* by report_sent, at a start's time */
    bool reports = flow != NULL && flow->due_bytes != INT64_MAX;
    if (nic->in_flight.count > 0) {
        uint64_t due_ps = ((const struct nic_item *)ring_at(&nic->in_flight, 0))->due_ps;
        return reports && nic->next.when < due_ps ? nic->next.when : due_ps;
    }
    if (reports) return nic->next.when;
    if (nic->next.action == PACING_CONTROL) bits = first_control(nic)->length * 8;
    else if (flow == NULL) return nic->next.when;
    return nic->next.when + on_line_ps(nic, bits) + nic->delay_ps;
}

/* When nic_advance and nic_due must be called next, unless the state changes before. */
double nic_wake(struct nic *nic)
{
    uint64_t at_ps = wake_ps(nic);
    double at_s = nic_seconds(at_ps);
    /* after half an hour a double can be too coarse */
    while (picoseconds(at_s) < at_ps) at_s = nextafter(at_s, INFINITY);
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
        struct event *event = events_add(nic->events, EVENT_REQUESTED, false,
                                         fmax(now_s, due_s) - nic_seconds(nic->delay_ps));
        event->flow = flow;
        event->count = (uint64_t)item->number;
    }
    flow->delivered++;
}

uint32_t nic_frame(const struct nic_item *item, uint8_t *frame)
{
    const struct nic_flow *flow = item->flow;
    if (flow == NULL) {
        memcpy(frame, item->control->frame, item->control->length);
        return item->control->length;
    }
    bool last = item->number + 1 == flow->packets;
    uint32_t length = (uint32_t)(bits_of(flow, item->number) / 8);
    uint32_t psn = (uint32_t)((uint64_t)flow->reliable.flow.first_psn + (uint64_t)item->number) %
                   WIRE_PSN_RANGE;
    uint8_t bits = item->asks ? WIRE_ACKREQ : 0;
    if (repeats(flow) && item->number == 0) bits |= WIRE_FIRST;
    wire_stamp(frame, last ? flow->last_frame : flow->frame, length, psn, bits);
    return length;
}
