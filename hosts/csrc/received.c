/* The receive side's flows: counters, sequence numbers, windows. */
#include "received.h"

#include "transport.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { FIRST_SLOTS_BITS = 6 };

struct received {
    struct received_state state; /* first: Python reads it */
    struct events *events;
    uint64_t key; /* of the hash */
    struct received_flow **slots; /* a hash table, at most half full */
    /* those with an open window: a binary heap, the window that ends first on top */
    struct received_flow **open;
    uint32_t slots_bits, n_flows, n_open;
};

static uint32_t n_slots(const struct received *received) { return 1u << received->slots_bits; }

struct received *received_new(struct events *events)
{
    struct received *received = calloc(1, sizeof *received);
    if (received == NULL) return NULL;
    received->slots_bits = FIRST_SLOTS_BITS;
    received->slots = calloc(n_slots(received), sizeof *received->slots);
    received->open = calloc(n_slots(received) / 2, sizeof *received->open);
    received->events = events;
    received->state.timer_s = INFINITY;
    bool drawn = getrandom(&received->key, sizeof received->key, 0) == sizeof received->key;
    received->key |= 1;
    if (drawn && received->slots != NULL && received->open != NULL) return received;
    received_free(received);
    return NULL;
}

void received_free(struct received *received)
{
    if (received == NULL) return;
    free(received->slots);
    free(received->open);
    free(received);
}

struct received_state *received_state(struct received *received) { return &received->state; }

/* ---- flows ---- */

/* Multiply-shift hashing by a random key: no peer can choose flows that share a slot. */
static uint32_t home_of(const struct received *received, uint32_t src_ip, uint32_t flow)
{
    return (uint32_t)(((uint64_t)src_ip << 24 | flow) * received->key >>
                      (64 - received->slots_bits));
}

/* The flow's slot, or the free slot for it. */
static struct received_flow **slot_of(const struct received *received, uint32_t src_ip,
                                      uint32_t flow)
{
    for (uint32_t i = home_of(received, src_ip, flow);; i++) {
        struct received_flow **slot = &received->slots[i & (n_slots(received) - 1)];
        if (*slot == NULL || ((*slot)->src_ip == src_ip && (*slot)->flow == flow)) return slot;
    }
}

static int grow(struct received *received)
{
    uint32_t before = n_slots(received);
    struct received_flow **old = received->slots, **slots = calloc(2 * before, sizeof *slots);
    struct received_flow **open = realloc(received->open, before * sizeof *open);
    if (open != NULL) received->open = open;
    if (slots == NULL || open == NULL) {
        free(slots);
        return -ENOMEM;
    }
    received->slots = slots;
    received->slots_bits++;
    for (uint32_t i = 0; i < before; i++) {
        if (old[i] != NULL) *slot_of(received, old[i]->src_ip, old[i]->flow) = old[i];
    }
    free(old);
    return 0;
}

int received_add(struct received *received, struct received_flow *flow)
{
    if (2 * (received->n_flows + 1) > n_slots(received) && grow(received) != 0) return -ENOMEM;
    struct received_flow **slot = slot_of(received, flow->src_ip, flow->flow);
    if (*slot != NULL) return 1;
    *slot = flow;
    received->n_flows++;
    return 0;
}

void received_clear(struct received *received)
{
    memset(received->slots, 0, n_slots(received) * sizeof *received->slots);
    received->n_flows = received->n_open = 0;
    received->state.timer_s = INFINITY;
}

/* ---- windows ---- */

static void put(struct received *received, uint32_t i, struct received_flow *flow)
{
    received->open[i] = flow;
    flow->place = i + 1;
}

/* Puts the flow at `i`, whose content is free, or where the end of its window belongs above or
 * below. */
static void sift(struct received *received, uint32_t i, struct received_flow *flow)
{
    struct received_flow **open = received->open;
    for (; i > 0 && flow->window_end_s < open[(i - 1) / 2]->window_end_s; i = (i - 1) / 2)
        put(received, i, open[(i - 1) / 2]);
    for (uint32_t child; (child = 2 * i + 1) < received->n_open; i = child) {
        if (child + 1 < received->n_open &&
            open[child + 1]->window_end_s < open[child]->window_end_s)
            child++;
        if (open[child]->window_end_s >= flow->window_end_s) break;
        put(received, i, open[child]);
    }
    put(received, i, flow);
}

/* -INFINITY: the flow has no open window any more. */
static void set_window_end(struct received *received, struct received_flow *flow, double end_s)
{
    flow->window_end_s = end_s;
    if (end_s > -INFINITY) {
        if (flow->place == 0) flow->place = ++received->n_open;
        sift(received, flow->place - 1, flow);
    } else if (flow->place != 0) {
        struct received_flow *last = received->open[--received->n_open];
        if (last != flow) sift(received, flow->place - 1, last);
        flow->place = 0;
    }
    received->state.timer_s = received->n_open > 0 ? received->open[0]->window_end_s : INFINITY;
}

void received_remove(struct received *received, struct received_flow *flow)
{
    uint32_t mask = n_slots(received) - 1,
             hole = (uint32_t)(slot_of(received, flow->src_ip, flow->flow) - received->slots);
    if (received->slots[hole] != flow) return;
    set_window_end(received, flow, -INFINITY);
    received->n_flows--;
    /* Flows behind it, up to a free slot, move up to where they are found: not before their
     * home. */
    struct received_flow *candidate;
    for (uint32_t i = (hole + 1) & mask; (candidate = received->slots[i]) != NULL;
         i = (i + 1) & mask) {
        uint32_t home = home_of(received, candidate->src_ip, candidate->flow);
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        received->slots[hole] = candidate;
        hole = i;
    }
    received->slots[hole] = NULL;
}

/* Opens the window of the flow's grid that contains `now_s`. */
static void open_window(struct received *received, struct received_flow *flow, double now_s)
{
    double passed = floor((now_s - flow->grid_s) / flow->period_s);
    double end_s = flow->grid_s + (passed + 1) * flow->period_s;
    if (end_s <= now_s) end_s = fmax(end_s + flow->period_s, nextafter(now_s, INFINITY));
    set_window_end(received, flow, end_s);
}

/* Adds an EVENT_WINDOW with the window's counts. False: no packet came, and there is no event. */
static bool close_window(struct received *received, struct received_flow *flow, double now_s)
{
    struct window *window_start = &flow->window_start;
    if (flow->packets == window_start->packets) return false;
    struct event *event = events_add(received->events, EVENT_WINDOW, true, now_s);
    event->flow = flow;
    event->window = (struct window){
        .packets = flow->packets - window_start->packets,
        .marked_ce = flow->marked_ce - window_start->marked_ce,
        .marked_ue = flow->marked_ue - window_start->marked_ue,
        .bytes = flow->bytes - window_start->bytes,
        .first_s = window_start->first_s,
        .last_s = flow->last_s,
    };
    *window_start = (struct window){
        .packets = flow->packets,
        .marked_ce = flow->marked_ce,
        .marked_ue = flow->marked_ue,
        .bytes = flow->bytes,
    };
    return true;
}

void received_timers(struct received *received, double now_s)
{
    while (received->state.timer_s <= now_s) {
        struct received_flow *flow = received->open[0];
        if (close_window(received, flow, now_s) && flow->period_s > 0)
            open_window(received, flow, now_s);
        else set_window_end(received, flow, -INFINITY);
    }
}

/* ---- packets ---- */

static uint64_t *missing_word(struct received_flow *flow, uint32_t psn)
{
    return &flow->missing[psn % PSN_MEMORY / 64];
}

/* A PSN at or beyond the expected one arrived: those in between are missing. */
static void skip_to(struct received_flow *flow, uint32_t psn)
{
    uint32_t ahead = (psn - flow->expected) % WIRE_PSN_RANGE;
    flow->gaps += ahead;
    for (uint32_t i = ahead < PSN_MEMORY ? 0 : ahead - PSN_MEMORY; i < ahead; i++) {
        uint32_t skipped = (flow->expected + i) % WIRE_PSN_RANGE;
        *missing_word(flow, skipped) |= (uint64_t)1 << skipped % 64;
    }
    *missing_word(flow, psn) &= ~((uint64_t)1 << psn % 64);
    flow->expected = (psn + 1) % WIRE_PSN_RANGE;
    flow->advanced += ahead + 1;
}

static void count_psn(struct received_flow *flow, uint32_t psn)
{
    uint32_t behind = (flow->expected - psn) % WIRE_PSN_RANGE; /* 0: the expected one */
    if (behind == 0 || behind > WIRE_PSN_RANGE / 2) {
        skip_to(flow, psn);
    } else if (behind <= PSN_MEMORY && *missing_word(flow, psn) >> psn % 64 & 1) {
        *missing_word(flow, psn) &= ~((uint64_t)1 << psn % 64);
        /* else it precedes the first packet received: it was never missing */
        if (behind <= flow->advanced) flow->gaps--;
        flow->reordered++;
    } else {
        flow->duplicates++;
    }
}

static void answer(struct received *received, struct received_flow *flow,
                   const struct wire_data *data, bool nak, double now_s)
{
    struct event *event = events_add(received->events, EVENT_ACK_REQUEST, true, now_s);
    event->flow = flow;
    event->count = nak ? flow->repeats.next % WIRE_PSN_RANGE : data->psn;
    event->request.mark = transport_echo(&flow->mark);
    event->request.in_order =
        data->reliable ? (uint32_t)(flow->repeats.next - flow->base) % WIRE_PSN_RANGE : 0;
    event->request.nak = nak;
    event->request.has_telemetry = data->telemetry != NULL;
    if (data->telemetry != NULL)
        memcpy(event->request.telemetry, data->telemetry, WIRE_TELEMETRY_BYTES);
}

/* Of an RC: whether the packet is the next one. The others are refused, and answered as go-back-N
 * has it; what comes before a flow's first one, has no answer: its sender's timer runs out. */
static bool in_order(struct received *received, struct received_flow *flow,
                     const struct wire_data *data, double now_s)
{
    struct reliable_receiver *repeats = &flow->repeats;
    bool begun = repeats->kind == GO_BACK_N, fresh;
    bool later =
        begun && (data->psn - (uint32_t)repeats->next) % WIRE_PSN_RANGE < WIRE_PSN_RANGE / 2;
    if (!begun && !data->first) return false;
    if (data->first && (!begun || later)) {
        *repeats = (struct reliable_receiver){.kind = GO_BACK_N, .next = data->psn};
        flow->base = data->psn;
    }
    enum reliable_answer how = reliable_take(repeats, data->psn, data->ack_request, &fresh);
    if (!fresh && how != RELIABLE_SILENT) answer(received, flow, data, how == RELIABLE_NAK, now_s);
    flow->duplicates += how == RELIABLE_ACK && !fresh;
    flow->reordered += how != RELIABLE_ACK && !fresh;
    return fresh;
}

bool received_packet(struct received *received, const struct wire_data *data, double now_s)
{
    struct received_flow *flow = *slot_of(received, data->src_ip, data->flow);
    if (flow == NULL) return false;
    if (data->reliable && !in_order(received, flow, data, now_s)) return true;
    if (!flow->seen) {
        flow->seen = true;
        flow->expected = data->psn;
        flow->first_s = now_s;
        /* earlier PSNs may still come, reordered */
        memset(flow->missing, 0xff, sizeof flow->missing);
    }
    count_psn(flow, data->psn);
    if (flow->period_s > 0 && now_s >= flow->window_end_s) {
        if (flow->window_end_s != -INFINITY) close_window(received, flow, now_s);
        open_window(received, flow, now_s);
    }
    if (flow->packets == flow->window_start.packets) flow->window_start.first_s = now_s;
    flow->packets++;
    flow->bytes += data->length;
    flow->payload_bytes += data->payload;
    flow->last_s = now_s;
    if (data->ecn == WIRE_CE) {
        flow->marked_ce++;
        if (flow->wants_marked)
            events_add(received->events, EVENT_MARKED, true, now_s)->flow = flow;
    } else if (data->ecn == WIRE_ECT1) {
        flow->marked_ue++;
    }
    transport_marked(&flow->mark, data->ecn);
    if (data->ack_request) answer(received, flow, data, false, now_s);
    if (data->last) {
        flow->complete_s = now_s;
        struct event *event = events_add(received->events, EVENT_LAST, false, now_s);
        event->flow = flow;
        event->count = flow->packets;
    }
    return true;
}
