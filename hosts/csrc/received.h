/* The receiving side: counts every data packet and closes the NP's windows. No clock and no socket.
 *
 * Windows are each flow's own: its first packet comes somewhere in one (`grid_s` says where they begin), the next follow
 * every period. A flow that goes silent for a whole window costs nothing until it comes back, on the same grid. */
#ifndef HOSTS_RECEIVED_H
#define HOSTS_RECEIVED_H

#include "events.h"
#include "wire.h"

enum { PSN_MEMORY = 4096 }; /* how far behind the latest a packet may come and still be told from a duplicate */

/* A flow, in Python's memory. */
struct received_flow {
    uint32_t src_ip, flow;
    uint32_t expected; /* PSN */
    bool seen;
    bool wants_marked; /* the NP wants to know every marked packet */
    uint8_t mark;      /* the worst since the last acknowledgement: 0, WIRE_ECT1 (UE) or WIRE_CE */
    double period_s;   /* of the NP's windows; 0: it wants none */
    double grid_s;     /* where one of them begins */
    double first_s, last_s;
    double complete_s; /* when the packet marked as last came; below 0 before */
    uint64_t packets, bytes, payload_bytes, marked_ce, marked_ue;
    int64_t gaps;
    uint64_t duplicates, reordered;
    uint64_t advanced;   /* from the first PSN that came to `expected` */
    double window_end_s; /* -INFINITY: no window is open */
    struct window before; /* the counts when the window began; first_s: its first arrival, last_s isn't used */
    uint64_t missing[PSN_MEMORY / 64]; /* a bit for each of the PSNs before `expected`: it has not come */
};

/* What Python reads. */
struct received_state {
    double timer_s; /* when `received_timers` wants to be called */
};

struct received;

struct received *received_new(struct events *);
void received_free(struct received *);
struct received_state *received_state(struct received *);

int received_add(struct received *, struct received_flow *); /* 0 or -ENOMEM */
void received_forget(struct received *);

/* Takes a packet. False if its flow must be added first. */
bool received_packet(struct received *, const struct wire_data *, double now_s);
/* Closes the windows that have ended. */
void received_timers(struct received *, double now_s);

#endif
