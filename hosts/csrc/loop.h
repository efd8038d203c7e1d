/* The loop between packet sockets and a host's NICs and receive side: processes received frames,
 * closes windows, sends the frames that are due, and sleeps until the next event. Returns to Python
 * for urgent events. */
#ifndef HOSTS_LOOP_H
#define HOSTS_LOOP_H

#include "link.h"
#include "nic.h"
#include "received.h"

/* `_real_s` is real time on this machine, in seconds; other times are nominal. */
struct loop_settings {
    double origin_real_s; /* CLOCK_MONOTONIC at nominal time 0 */
    double dilation;
    double receive_gap_s;  /* where frames come densely, they are received so rarely */
    double transmit_gap_s; /* from one call that sends frames to the next, at least */
    double retry_s;        /* the same after the kernel refused a frame */
    double tolerance_s;    /* frames that leave later than due by more count as late */
    uint32_t ip;
    int32_t wakeup; /* the loop returns when it is readable */
};

/* One of the host's NICs, by the port's number. */
struct loop_port {
    struct nic *nic;
    double lead_s; /* frames are put on the link in memory so long after their start at most */
    struct link link;
    int32_t socket;
};

enum { LOOP_MOST_PORTS = 64 };

/* Read by Python. `late_s`: the greatest lateness of a delivered frame; `worst_s`, too, but Python
 * sets it back. */
struct loop_state {
    double now_s, late_s, worst_s;
    uint64_t send_retries, other_frames, bad_frames, sent_frames, late_frames;
    uint64_t failed_port; /* whose interface has failed */
};

struct loop;

/* 1 to LOOP_MOST_PORTS ports. NULL: out of memory. */
struct loop *loop_new(const struct loop_settings *, const struct loop_port *, uint32_t n_ports,
                      struct received *, struct events *);
void loop_free(struct loop *);
struct loop_state *loop_state(struct loop *);

/* Runs until `until_s`, an urgent event, or `wakeup` is readable (then returns 1, else 0). -errno
 * if an interface failed. */
int loop_run(struct loop *, double until_s);

/* Whether somebody listens at the port's interface: then frames come by it, not by the link in
 * memory. */
void loop_watch(struct loop *, uint32_t port, bool watched);

/* Processes a frame that arrived at the port at `now_s`. False: not processed; its flow must be
 * added first. */
bool loop_frame(struct loop *, uint32_t port, const uint8_t *frame, uint32_t length, double now_s);

#endif
