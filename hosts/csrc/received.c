/* The receive side's flows: counters, sequence numbers, windows. */
#include "received.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

struct received {
    struct received_state state; /* first: Python reads it */
    struct events *events;
    struct received_flow **slots; /* a hash table, at most half full */
    uint32_t n_slots, n_flows;
};

struct received *received_new(struct events *events)
{
    struct received *received = calloc(1, sizeof *received);
    if (received == NULL) return NULL;
    received->slots = calloc(FIRST_SLOTS, sizeof *received->slots);
    received->n_slots = FIRST_SLOTS;
    received->events = events;
    received->state.timer_s = INFINITY;
    if (received->slots != NULL) return received;
    free(received);
    return NULL;
}

void received_free(struct received *received)
{
    if (received != NULL) free(received->slots);
    free(received);
}

struct received_state *received_state(struct received *received) { return &received->state; }

/* ---- flows ---- */

/* The flow's slot, or the free slot for it. */
static struct received_flow **slot_of(struct received_flow **slots, uint32_t n_slots, uint32_t src_ip, uint32_t flow)
{
    uint32_t hash = (src_ip * 0x9e3779b1u ^ flow) * 0x85ebca6bu;
    for (uint32_t i = hash >> 16;; i++) {
        struct received_flow **slot = &slots[i & (n_slots - 1)];
        if (*slot == NULL || ((*slot)->src_ip == src_ip && (*slot)->flow == flow)) return slot;
    }
}

int received_add(struct received *received, struct received_flow *flow)
{
    if (2 * (received->n_flows + 1) > received->n_slots) {
        uint32_t n_slots = 2 * received->n_slots;
        struct received_flow **slots = calloc(n_slots, sizeof *slots);
        if (slots == NULL) return -ENOMEM;
        for (uint32_t i = 0; i < received->n_slots; i++) {
            struct received_flow *old = received->slots[i];
            if (old != NULL) *slot_of(slots, n_slots, old->src_ip, old->flow) = old;
        }
        free(received->slots);
        received->slots = slots;
        received->n_slots = n_slots;
    }
    *slot_of(received->slots, received->n_slots, flow->src_ip, flow->flow) = flow;
    received->n_flows++;
    return 0;
}

void received_clear(struct received *received)
{
    memset(received->slots, 0, received->n_slots * sizeof *received->slots);
    received->n_flows = 0;
    received->state.timer_s = INFINITY;
}

/* ---- windows ---- */

/* Opens the window of the flow's grid that contains `now_s`. */
static void open_window(struct received *received, struct received_flow *flow, double now_s)
{
    double passed = floor((now_s - flow->grid_s) / flow->period_s);
    flow->window_end_s = flow->grid_s + (passed + 1) * flow->period_s;
    if (flow->window_end_s <= now_s) flow->window_end_s += flow->period_s;
    if (flow->window_end_s < received->state.timer_s) received->state.timer_s = flow->window_end_s;
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
    double timer_s = INFINITY;
    received->state.timer_s = INFINITY;
    for (uint32_t i = 0; i < received->n_slots; i++) {
        struct received_flow *flow = received->slots[i];
        if (flow == NULL || flow->window_end_s == -INFINITY) continue;
        if (flow->window_end_s <= now_s) {
            if (close_window(received, flow, now_s)) open_window(received, flow, now_s);
            else flow->window_end_s = -INFINITY;
        }
        if (flow->window_end_s > -INFINITY && flow->window_end_s < timer_s) timer_s = flow->window_end_s;
    }
    received->state.timer_s = timer_s;
}

/* ---- packets ---- */

static uint64_t *missing_word(struct received_flow *flow, uint32_t psn) { return &flow->missing[psn % PSN_MEMORY / 64]; }

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
        if (behind <= flow->advanced) flow->gaps--; /* else it precedes the first packet received: it was never missing */
        flow->reordered++;
    } else {
        flow->duplicates++;
    }
}

bool received_packet(struct received *received, const struct wire_data *data, double now_s)
{
    struct received_flow *flow = *slot_of(received->slots, received->n_slots, data->src_ip, data->flow);
    if (flow == NULL) return false;
    if (!flow->seen) {
        flow->seen = true;
        flow->expected = data->psn;
        flow->first_s = now_s;
        memset(flow->missing, 0xff, sizeof flow->missing); /* earlier PSNs may still come, reordered */
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
        flow->mark = WIRE_CE;
        if (flow->wants_marked) events_add(received->events, EVENT_MARKED, true, now_s)->flow = flow;
    } else if (data->ecn == WIRE_ECT1) {
        flow->marked_ue++;
        if (flow->mark == 0) flow->mark = WIRE_ECT1;
    }
    if (data->ack_request) {
        struct event *event = events_add(received->events, EVENT_ACK_REQUEST, true, now_s);
        event->flow = flow;
        event->count = data->psn;
        event->mark = flow->mark != 0 ? flow->mark : WIRE_ECT0;
        flow->mark = 0;
    }
    if (data->last) {
        flow->complete_s = now_s;
        struct event *event = events_add(received->events, EVENT_LAST, false, now_s);
        event->flow = flow;
        event->count = flow->packets;
    }
    return true;
}
