/* The NIC's model: what leaves the host, and when.
 *
 * It is a serialiser at line rate. Control frames (CNPs) go first and are never paused; flows share the rest round
 * robin, each paced at the rate of its RP; PFC stops the flows of a class. No clock and no socket: the caller brings
 * times, which never go back, and puts on the wire what `nic_due` returns. Seconds are nominal.
 *
 * The schedule is absolute: a frame's start follows from the model, not from when the process woke up, so that pacing
 * has no drift. Starts are decided as late as nobody could tell: `nic_advance(now)` decides all up to now, and must be
 * called before anything that changes the state is told. A frame leaves when its last bit has left: at its start, plus
 * its length at line rate, plus the link's delay.
 *
 * A process that is late may catch up by a burst of two packets, or of `catch_up_s`. What it is later than that is
 * lost: the schedule moves, and `allowed_bits` runs ahead of `sent_bits`. */
#ifndef HOSTS_NIC_H
#define HOSTS_NIC_H

#include "events.h"
#include "wire.h"

/* A flow, in Python's memory: it stays there until it has ended and `left` is `sent`. */
struct nic_flow {
    int32_t priority;
    uint32_t first_psn;
    int64_t packets; /* its length, -1 if it has no end */
    int64_t frame_bits, last_bits;
    double start_s;
    double end_s; /* when it ends at the latest */
    double rate_bps, interval_s;
    double base_s; /* from where the gap to the next frame counts: -INFINITY before the first */
    double next_s, eligible_s;
    int64_t sent;       /* frames whose start is decided */
    int64_t left;       /* frames put on the wire */
    int64_t left_bytes; /* their bytes */
    int64_t due_bytes;  /* at how many of these to tell Python, once */
    int64_t segment;    /* packets of which the last asks for an acknowledgement; 0: none does */
    const uint8_t *frame, *last_frame; /* its packets, but for the PSN */
};

/* PFC of one class. Counts frames and nominal seconds. */
struct nic_pause {
    double until_s, since_s; /* since_s: only while `paused` */
    double paused_s;
    uint64_t pause, resume, expired;
    bool paused;
};

/* What Python reads. */
struct nic_state {
    double allowed_bits; /* as of the last `nic_account` */
    int64_t sent_bits;
    struct nic_pause pauses[WIRE_CLASSES];
};

/* A frame that must be on the wire at `due_s`: packet `number` of a flow, or a control frame if `flow` is NULL. */
struct nic_item {
    double due_s;
    struct nic_flow *flow;
    int64_t number;
    struct nic_control *control;
};

struct nic_control {
    double since_s;
    uint32_t length;
    uint8_t frame[];
};

struct nic;

struct nic *nic_new(double line_rate_bps, double delay_s, double catch_up_s, struct events *);
void nic_free(struct nic *);
struct nic_state *nic_state(struct nic *);

int nic_add(struct nic *, struct nic_flow *, double now_s); /* 0 or -ENOMEM */
void nic_remove(struct nic *, struct nic_flow *, double now_s);
void nic_set_rate(struct nic *, struct nic_flow *, double rate_bps, double now_s);
int nic_send_control(struct nic *, const uint8_t *frame, uint32_t length, double now_s); /* 0 or -ENOMEM */
void nic_pfc(struct nic *, uint8_t enabled, const uint16_t *quanta, double now_s);

void nic_advance(struct nic *, double now_s);
double nic_wake(struct nic *);
void nic_account(struct nic *, double now_s);
double nic_paused_s(const struct nic *, int priority, double now_s);
void nic_reset_counters(struct nic *, double now_s);

/* The frame that is the `ahead`th to be put on the wire, if it must be there by now; NULL otherwise. */
const struct nic_item *nic_due(const struct nic *, uint32_t ahead, double now_s);
/* The first of these is on the wire. */
void nic_left(struct nic *, double now_s);
/* The frame's bytes, into a buffer of WIRE_MAX_FRAME; how many. */
uint32_t nic_frame(const struct nic_item *, uint8_t *frame);

#endif
