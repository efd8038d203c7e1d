/* The receive side: counts every data packet and closes the NP's windows. No clock and no
 * socket.
 *
 * Each flow has its own grid of windows, one a period; `grid_s` is the start of one of them.
 * After a window without packets the flow has no open window, and costs nothing, until its next
 * packet; the grid stays. */
#ifndef HOSTS_RECEIVED_H
#define HOSTS_RECEIVED_H

#include "events.h"
#include "reliable.h"
#include "wire.h"

/* reordered and duplicate packets are distinguished so far behind the latest PSN */
enum { PSN_MEMORY = 4096 };

/* A flow, in memory that Python owns. */
struct received_flow {
    uint32_t src_ip, flow;
    uint32_t expected; /* PSN */
    bool seen;
    bool wants_marked; /* EVENT_MARKED for every packet marked CE */
    /* the worst mark since the last acknowledgement: 0, WIRE_ECT1 (UE) or WIRE_CE */
    uint8_t mark;
    double period_s;   /* of the NP's windows; 0: none opens */
    double grid_s;     /* the start of one of them */
    double first_s, last_s;
    /* when a packet flagged as last came latest, whatever is missing; below 0 before */
    double complete_s;
    uint64_t packets, bytes, payload_bytes, marked_ce, marked_ue;
    int64_t gaps; /* PSNs that are missing */
    uint64_t duplicates, reordered;
    uint64_t advanced;   /* `expected` minus the first PSN received */
    double window_end_s; /* -INFINITY: no window is open */
    uint32_t place;      /* among the open windows, from 1; 0: none is open */
    /* the counts at the window's start; first_s: the window's first arrival; last_s isn't used */
    struct window window_start;
    struct reliable_receiver repeats; /* of an RC, whose sender goes back; next: by PSNs */
    uint32_t base; /* PSN of its first packet */
    /* a bit for each of the last PSNs before `expected`: not received */
    uint64_t missing[PSN_MEMORY / 64];
};

/* Read by Python. */
struct received_state {
    double timer_s; /* when to call received_timers */
};

struct received;

struct received *received_new(struct events *);
void received_free(struct received *);
struct received_state *received_state(struct received *);

int received_add(struct received *, struct received_flow *); /* 0; 1: it is known; -ENOMEM */
void received_remove(struct received *, struct received_flow *);
void received_clear(struct received *);

/* Counts a packet. False: its flow must be added first. */
bool received_packet(struct received *, const struct wire_data *, double now_s);
/* Closes the windows that have ended. */
void received_timers(struct received *, double now_s);

#endif
