/* What the files of the live NIC share: nic.c decides what leaves and when, nic_flows.c keeps the
 * flows and what their rates allow, nic_pauses.c what PFC stops. */
#ifndef HOSTS_NIC_INSIDE_H
#define HOSTS_NIC_INSIDE_H

#include "nic.h"

#include <math.h>

#include "rings.h"

struct nic {
    struct nic_state state; /* first: Python reads it */
    struct events *events;
    double line_rate_bps;
    uint64_t delay_ps, catch_up_ps;
    uint64_t max_lateness_ps; /* lateness of a frame up to which the schedule doesn't move */
    struct nic_flow **flows; /* flows that have not ended, in order of addition ... */
    struct pacing_flow *entries; /* ... and their entries in the round robin */
    uint32_t port; /* the host's: of its events */
    uint32_t n_flows, flows_capacity;
    /* flows added so far: the next one's number; the number of the flow that sent last */
    uint32_t added, last;
    uint64_t *edges_ps; /* scratch space of nic_account */
    struct ring control; /* struct nic_control * */
    struct ring in_flight; /* struct nic_item: started, not delivered yet */
    uint64_t free_ps; /* when the line is free */
    uint64_t accounted_ps;
    int paused_classes;
    bool chosen; /* `next` is valid */
    struct pacing_choice next;
};

static inline uint64_t picoseconds(double s)
{
    double ps = s * 1e12 + 0.5;
    if (ps < 1) return 0;
    return ps < 1.8e19 ? (uint64_t)ps : PACING_NEVER;
}

/* How far `to` is after `from`; 0 if it isn't. */
static inline uint64_t since(uint64_t from_ps, uint64_t to_ps)
{
    return to_ps > from_ps ? to_ps - from_ps : 0;
}

static inline uint64_t later(uint64_t a_ps, uint64_t b_ps) { return a_ps > b_ps ? a_ps : b_ps; }

static inline uint64_t on_line_ps(const struct nic *nic, int64_t bits)
{
    return pacing_interval((uint64_t)bits, nic->line_rate_bps);
}

static inline struct nic_control *first_control(const struct nic *nic)
{
    return *(struct nic_control **)ring_at(&nic->control, 0);
}

static inline bool repeats(const struct nic_flow *flow) { return flow->reliable.kind != LOSSLESS; }

static inline int64_t next_number(const struct nic_flow *flow)
{
    return repeats(flow) ? (int64_t)reliable_next(&flow->reliable) : flow->started;
}

/* Of the frame of its packet `number`. */
static inline int64_t bits_of(const struct nic_flow *flow, int64_t number)
{
    return number + 1 == flow->packets ? flow->last_bits : flow->frame_bits;
}

/* An event of this NIC. */
static inline struct event *nic_event(const struct nic *nic, enum event_kind kind, double at_s)
{
    struct event *event = events_add(nic->events, kind, false, at_s);
    event->port = nic->port;
    return event;
}

/* Brings `allowed_bits` up to now: the integral of the unpaused flows' rates, at most line rate. */
void nic_account_until(struct nic *, uint64_t now_ps);
/* After a change of the flow's window, or of what it has in flight. */
void nic_window_changed(struct nic *, uint32_t index, uint64_t now_ps);
/* Ends the flow, as of `at_ps`: see EVENT_END. */
void nic_end_flow(struct nic *, uint32_t index, uint64_t at_ps);
/* Ends the PAUSEs that have run out. */
void nic_expire(struct nic *, uint64_t now_ps);

#endif
