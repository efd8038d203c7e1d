/* The loop between a packet socket and a host's NIC and receiving side: takes what arrived, closes windows, puts on the
 * wire what is due, sleeps until the next of these; and returns when Python has something to do. */
#ifndef HOSTS_LOOP_H
#define HOSTS_LOOP_H

#include "nic.h"
#include "received.h"

/* `real_s` are seconds of this machine, all others nominal. */
struct loop_settings {
    double origin_real_s; /* of nominal time, on CLOCK_MONOTONIC */
    double dilation;
    double receive_gap_s, transmit_gap_s, retry_s;
    uint32_t ip;
    int32_t socket, quiet; /* the loop returns when `quiet` can be read */
};

/* What Python reads. `late_s`: the most that a frame left after it was due. */
struct loop_state {
    double now_s, late_s;
    uint64_t send_retries, other_frames, bad_frames;
};

struct loop;

struct loop *loop_new(const struct loop_settings *, struct nic *, struct received *, struct events *);
void loop_free(struct loop *);
struct loop_state *loop_state(struct loop *);

/* Until `until_s`, an urgent event, or `quiet`: 1 if that can be read, else 0. -errno if the interface failed. */
int loop_run(struct loop *, double until_s);

/* A frame that arrived at `now_s`. False: not taken, its flow must be added first. */
bool loop_frame(struct loop *, const uint8_t *frame, uint32_t length, double now_s);

#endif
