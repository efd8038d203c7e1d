/* The NIC's schedule. */
#include "nic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CATCH_UP_FRAMES = 2, QUANTUM_BITS = 512, FIRST_CAPACITY = 64 };

enum choice { SEND, CONTROL, END, NOTHING };

/* A ring buffer; its size is a power of two. */
struct ring {
    void *all;
    size_t element;
    uint32_t capacity, head, count;
};

struct nic {
    struct nic_state state; /* first: Python reads it */
    struct events *events;
    double line_rate_bps, delay_s, catch_up_s;
    struct nic_flow **flows; /* flows that have not ended */
    uint32_t n_flows, flows_capacity, round_robin;
    double *edges;       /* scratch space of nic_account */
    struct ring control; /* struct nic_control * */
    struct ring wire;    /* struct nic_item: started, not yet on the wire */
    double free_s;       /* when the line is free */
    double accounted_s;
    double until_s[WIRE_CLASSES];
    int paused_classes;
    bool next_valid; /* the next three members are valid */
    double next_s;
    enum choice next;
    struct nic_flow *next_flow;
};

/* ---- rings ---- */

static void *ring_at(const struct ring *ring, uint32_t ahead)
{
    return (char *)ring->all + ((ring->head + ahead) & (ring->capacity - 1)) * ring->element;
}

/* Makes room for one more. False: no memory. */
static bool ring_grow(struct ring *ring)
{
    if (ring->count < ring->capacity) return true;
    uint32_t capacity = ring->capacity ? 2 * ring->capacity : FIRST_CAPACITY;
    char *all = malloc(capacity * ring->element);
    if (all == NULL) return false;
    for (uint32_t i = 0; i < ring->count; i++) memcpy(all + i * ring->element, ring_at(ring, i), ring->element);
    free(ring->all);
    ring->all = all;
    ring->capacity = capacity;
    ring->head = 0;
    return true;
}

static void ring_push(struct ring *ring, const void *element) { memcpy(ring_at(ring, ring->count++), element, ring->element); }

static void ring_pop(struct ring *ring)
{
    ring->head = (ring->head + 1) & (ring->capacity - 1);
    ring->count--;
}

static struct nic_control *first_control(const struct nic *nic) { return *(struct nic_control **)ring_at(&nic->control, 0); }

/* ---- creation ---- */

struct nic *nic_new(double line_rate_bps, double delay_s, double catch_up_s, struct events *events)
{
    struct nic *nic = calloc(1, sizeof *nic);
    if (nic == NULL) return NULL;
    nic->line_rate_bps = line_rate_bps;
    nic->delay_s = delay_s;
    nic->catch_up_s = catch_up_s;
    nic->events = events;
    nic->control.element = sizeof(struct nic_control *);
    nic->wire.element = sizeof(struct nic_item);
    return nic;
}

void nic_free(struct nic *nic)
{
    if (nic == NULL) return;
    for (uint32_t i = 0; i < nic->control.count; i++) free(*(struct nic_control **)ring_at(&nic->control, i));
    for (uint32_t i = 0; i < nic->wire.count; i++) free(((struct nic_item *)ring_at(&nic->wire, i))->control);
    free(nic->control.all);
    free(nic->wire.all);
    free(nic->flows);
    free(nic->edges);
    free(nic);
}

struct nic_state *nic_state(struct nic *nic) { return &nic->state; }

/* ---- accounting: what the rates allow ---- */

static double demand_bps(const struct nic *nic, double at_s)
{
    double sum = 0;
    for (uint32_t i = 0; i < nic->n_flows; i++) {
        const struct nic_flow *flow = nic->flows[i];
        if (flow->start_s <= at_s && at_s < flow->end_s && nic->until_s[flow->priority] <= at_s) sum += flow->rate_bps;
    }
    return sum;
}

static void add_edge(double *edges, uint32_t *count, double at_s)
{
    uint32_t i = (*count)++;
    for (; i > 0 && edges[i - 1] > at_s; i--) edges[i] = edges[i - 1];
    edges[i] = at_s;
}

/* Brings `allowed_bits` up to now: the integral of the unpaused flows' rates, at most line rate. */
void nic_account(struct nic *nic, double now_s)
{
    double begin_s = nic->accounted_s;
    if (now_s <= begin_s) return;
    nic->accounted_s = now_s;
    if (nic->n_flows == 0) return;
    uint32_t count = 0;
    for (int i = 0; i < WIRE_CLASSES; i++) {
        if (begin_s < nic->until_s[i] && nic->until_s[i] < now_s) add_edge(nic->edges, &count, nic->until_s[i]);
    }
    for (uint32_t i = 0; i < nic->n_flows; i++) {
        const struct nic_flow *flow = nic->flows[i];
        if (begin_s < flow->start_s && flow->start_s < now_s) add_edge(nic->edges, &count, flow->start_s);
        if (begin_s < flow->end_s && flow->end_s < now_s) add_edge(nic->edges, &count, flow->end_s);
    }
    nic->edges[count++] = now_s;
    for (uint32_t i = 0; i < count; i++) {
        double end_s = nic->edges[i];
        double demand = demand_bps(nic, (begin_s + end_s) / 2);
        nic->state.allowed_bits += fmin(demand, nic->line_rate_bps) * (end_s - begin_s);
        begin_s = end_s;
    }
}

void nic_reset_counters(struct nic *nic, double now_s)
{
    nic_account(nic, now_s);
    for (int i = 0; i < WIRE_CLASSES; i++) {
        struct nic_pause *pause = &nic->state.pauses[i];
        pause->pause = pause->resume = pause->expired = 0;
        pause->paused_s = 0;
        pause->since_s = now_s;
    }
    nic->state.allowed_bits = 0;
    nic->state.sent_bits = 0;
}

/* ---- flows and control frames ---- */

int nic_add(struct nic *nic, struct nic_flow *flow, double now_s)
{
    nic_account(nic, now_s);
    if (nic->n_flows == nic->flows_capacity) {
        uint32_t capacity = nic->flows_capacity ? 2 * nic->flows_capacity : FIRST_CAPACITY;
        struct nic_flow **flows = realloc(nic->flows, capacity * sizeof *flows);
        if (flows == NULL) return -ENOMEM;
        nic->flows = flows;
        double *edges = realloc(nic->edges, (WIRE_CLASSES + 2 * capacity + 1) * sizeof *edges);
        if (edges == NULL) return -ENOMEM;
        nic->edges = edges;
        nic->flows_capacity = capacity;
    }
    nic->flows[nic->n_flows++] = flow;
    nic->next_valid = false;
    return 0;
}

static uint32_t index_of(const struct nic *nic, const struct nic_flow *flow)
{
    uint32_t index = 0;
    while (nic->flows[index] != flow) index++;
    return index;
}

/* Ends the flow; its last frame departs at `at_s`. */
static void end_flow(struct nic *nic, struct nic_flow *flow, double at_s)
{
    uint32_t index = index_of(nic, flow);
    memmove(&nic->flows[index], &nic->flows[index + 1], (--nic->n_flows - index) * sizeof(struct nic_flow *));
    if (index < nic->round_robin) nic->round_robin--;
    if (nic->round_robin >= nic->n_flows) nic->round_robin = 0;
    nic->next_valid = false;
    events_add(nic->events, EVENT_END, false, at_s)->flow = flow;
}

/* The flow starts no further frame. Frames that have started still depart. */
void nic_remove(struct nic *nic, struct nic_flow *flow, double now_s)
{
    nic_account(nic, now_s);
    end_flow(nic, flow, flow->sent ? fmax(now_s, nic->free_s + nic->delay_s) : now_s);
}

/* The new rate also applies to the gap after the flow's last frame. */
void nic_set_rate(struct nic *nic, struct nic_flow *flow, double rate_bps, double now_s)
{
    if (rate_bps == flow->rate_bps) return;
    nic_account(nic, now_s);
    flow->rate_bps = rate_bps;
    flow->interval_s = (double)flow->frame_bits / rate_bps;
    flow->next_s = fmax(fmax(flow->base_s + flow->interval_s, now_s), flow->start_s);
    nic->next_valid = false;
}

int nic_send_control(struct nic *nic, const uint8_t *frame, uint32_t length, double now_s)
{
    struct nic_control *control = ring_grow(&nic->control) ? malloc(sizeof *control + length) : NULL;
    if (control == NULL) return -ENOMEM;
    control->since_s = now_s;
    control->length = length;
    memcpy(control->frame, frame, length);
    ring_push(&nic->control, &control);
    nic->next_valid = false;
    return 0;
}

/* ---- PFC ---- */

static void end_pause(struct nic *nic, struct nic_pause *pause, double at_s)
{
    double end_s = fmin(at_s, pause->until_s);
    pause->paused_s += end_s - pause->since_s;
    pause->paused = false;
    pause->until_s = end_s;
    nic->paused_classes--;
}

/* A PFC frame arrived: pause quanta of 512 bit times by class; 0 is RESUME. */
void nic_pfc(struct nic *nic, uint8_t enabled, const uint16_t *quanta, double now_s)
{
    nic_account(nic, now_s);
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
                pause->since_s = now_s;
                nic->paused_classes++;
            }
            pause->until_s = now_s + (double)quanta[i] * QUANTUM_BITS / nic->line_rate_bps;
        } else {
            pause->resume++;
            if (pause->paused) end_pause(nic, pause, now_s);
        }
        nic->until_s[i] = pause->until_s;
    }
    nic->next_valid = false;
}

double nic_paused_s(const struct nic *nic, int priority, double now_s)
{
    const struct nic_pause *pause = &nic->state.pauses[priority];
    return pause->paused_s + (pause->paused ? fmin(now_s, pause->until_s) - pause->since_s : 0.0);
}

static void expire(struct nic *nic, double now_s)
{
    for (int i = 0; i < WIRE_CLASSES; i++) {
        struct nic_pause *pause = &nic->state.pauses[i];
        if (!pause->paused || pause->until_s > now_s) continue;
        pause->expired++;
        end_pause(nic, pause, now_s);
        events_add(nic->events, EVENT_EXPIRY, false, pause->until_s)->priority = i;
    }
}

/* ---- the schedule ---- */

static int64_t next_bits(const struct nic_flow *flow)
{
    return flow->sent + 1 == flow->packets ? flow->last_bits : flow->frame_bits;
}

/* The lateness of a frame up to which the schedule doesn't move. */
static double max_lateness_s(const struct nic *nic)
{
    int64_t longest = 0;
    for (uint32_t i = 0; i < nic->n_flows; i++) {
        if (nic->flows[i]->frame_bits > longest) longest = nic->flows[i]->frame_bits;
    }
    return fmax(nic->catch_up_s, (double)(CATCH_UP_FRAMES * longest) / nic->line_rate_bps);
}

/* Chooses what starts next, and when: the earliest eligible flow, round robin among equals; or a control frame. */
static void choose_next(struct nic *nic)
{
    double earliest_s = INFINITY, first_end_s = INFINITY;
    struct nic_flow *ending = NULL;
    for (uint32_t i = 0; i < nic->n_flows; i++) {
        struct nic_flow *flow = nic->flows[i];
        flow->eligible_s = fmax(flow->next_s, nic->until_s[flow->priority]);
        if (flow->eligible_s >= flow->end_s) {
            flow->eligible_s = INFINITY;
            if (flow->end_s < first_end_s) {
                first_end_s = flow->end_s;
                ending = flow;
            }
        } else if (flow->eligible_s < earliest_s) {
            earliest_s = flow->eligible_s;
        }
    }
    double start_s = fmax(earliest_s, nic->free_s);
    nic->next_s = start_s;
    nic->next = NOTHING;
    nic->next_flow = NULL;
    if (nic->control.count > 0 && fmax(nic->free_s, first_control(nic)->since_s) <= start_s) {
        nic->next_s = fmax(nic->free_s, first_control(nic)->since_s);
        nic->next = CONTROL;
    } else if (earliest_s < INFINITY) {
        uint32_t i = nic->round_robin;
        while (nic->flows[i]->eligible_s > start_s) i = i + 1 < nic->n_flows ? i + 1 : 0;
        nic->next = SEND;
        nic->next_flow = nic->flows[i];
    }
    if (ending != NULL && first_end_s < nic->next_s) {
        nic->next_s = first_end_s;
        nic->next = END;
        nic->next_flow = ending;
    }
    nic->next_valid = true;
}

static void start_frame(struct nic *nic, struct nic_flow *flow, double at_s, double now_s)
{
    int64_t bits = next_bits(flow);
    double length_s = (double)bits / nic->line_rate_bps;
    at_s = fmax(at_s, now_s - max_lateness_s(nic) - length_s - nic->delay_s);
    nic->free_s = at_s + length_s;
    struct nic_item item = {.due_s = nic->free_s + nic->delay_s, .flow = flow, .number = flow->sent};
    ring_push(&nic->wire, &item);
    nic->state.sent_bits += bits;
    flow->sent++;
    /* A flow that waited for the line keeps credit for one packet */
    flow->base_s = fmax(flow->next_s, at_s - flow->interval_s);
    flow->next_s = flow->base_s + flow->interval_s;
    nic->round_robin = (index_of(nic, flow) + 1) % nic->n_flows;
    if (flow->sent == flow->packets) {
        nic_account(nic, at_s);
        end_flow(nic, flow, item.due_s);
    }
}

static void start_control(struct nic *nic, double at_s)
{
    struct nic_control *control = first_control(nic);
    ring_pop(&nic->control);
    nic->free_s = at_s + (double)(control->length * 8) / nic->line_rate_bps;
    struct nic_item item = {.due_s = nic->free_s + nic->delay_s, .control = control};
    ring_push(&nic->wire, &item);
}

/* Decides all starts up to now. */
void nic_advance(struct nic *nic, double now_s)
{
    if (nic->paused_classes > 0) expire(nic, now_s);
    for (;;) {
        /* Backpressure: no new starts while the first frame is overdue */
        const struct nic_item *first = nic->wire.count > 0 ? ring_at(&nic->wire, 0) : NULL;
        if (first != NULL && first->due_s < now_s - max_lateness_s(nic)) return;
        if (!nic->next_valid) choose_next(nic);
        if (nic->next_s > now_s || nic->next == NOTHING || !ring_grow(&nic->wire)) return;
        nic->next_valid = false;
        if (nic->next == SEND) {
            start_frame(nic, nic->next_flow, nic->next_s, now_s);
        } else if (nic->next == CONTROL) {
            start_control(nic, nic->next_s);
        } else {
            nic_account(nic, nic->next_s);
            end_flow(nic, nic->next_flow, nic->next_s);
        }
    }
}

/* When nic_advance and nic_due must be called next, unless the state changes before. */
double nic_wake(struct nic *nic)
{
    if (nic->wire.count > 0) return ((const struct nic_item *)ring_at(&nic->wire, 0))->due_s;
    if (!nic->next_valid) choose_next(nic);
    if (nic->next == SEND) return nic->next_s + (double)next_bits(nic->next_flow) / nic->line_rate_bps + nic->delay_s;
    if (nic->next == CONTROL) {
        return nic->next_s + (double)(first_control(nic)->length * 8) / nic->line_rate_bps + nic->delay_s;
    }
    return nic->next_s;
}

/* ---- onto the wire ---- */

const struct nic_item *nic_due(const struct nic *nic, uint32_t ahead, double now_s)
{
    if (ahead >= nic->wire.count) return NULL;
    const struct nic_item *item = ring_at(&nic->wire, ahead);
    return item->due_s <= now_s ? item : NULL;
}

static bool ends_segment(const struct nic_flow *flow, int64_t number)
{
    return flow->segment != 0 && ((number + 1) % flow->segment == 0 || number + 1 == flow->packets);
}

void nic_departed(struct nic *nic, double now_s)
{
    const struct nic_item *item = ring_at(&nic->wire, 0);
    struct nic_flow *flow = item->flow;
    free(item->control);
    ring_pop(&nic->wire);
    if (flow == NULL) return;
    if (ends_segment(flow, item->number)) {
        struct event *event = events_add(nic->events, EVENT_SEGMENT, false, now_s - nic->delay_s);
        event->flow = flow;
        event->count = (uint64_t)item->number;
    }
    flow->departed_bytes += (item->number + 1 == flow->packets ? flow->last_bits : flow->frame_bits) / 8;
    flow->departed++;
    if (flow->departed_bytes < flow->due_bytes) return;
    flow->due_bytes = INT64_MAX;
    struct event *event = events_add(nic->events, EVENT_SENT, true, now_s);
    event->flow = flow;
    event->count = (uint64_t)flow->departed_bytes;
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
    uint32_t psn = (uint32_t)((uint64_t)flow->first_psn + (uint64_t)item->number) % WIRE_PSN_RANGE;
    wire_stamp(frame, last ? flow->last_frame : flow->frame, length, psn, ends_segment(flow, item->number));
    return length;
}
