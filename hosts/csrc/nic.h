/* The live NIC: which frames leave the host, and when.
 *
 * It is a serialiser at line rate, by the rules of pacing.h; PAUSE closes a class's gate. No
 * clock and no socket: the caller passes times, which never decrease, and sends the frames that
 * `nic_due` returns. Seconds and picoseconds are nominal.
 *
 * The schedule is absolute: a frame's start follows from the model, not from when the process
 * woke up, so that pacing has no drift. Starts are decided lazily: `nic_advance(now)` decides
 * all up to now, and must be called before any call that changes the state. A frame is
 * delivered, that is given to the socket, when its last bit would arrive at the far end: at its
 * start, plus its transmission time at line rate, plus the link's delay.
 *
 * A process that is late may catch up by a burst of two packets, or of `catch_up_s`. Greater
 * lateness is lost time: the schedule moves, and `allowed_bits` grows faster than
 * `started_bits`. */
#ifndef HOSTS_NIC_H
#define HOSTS_NIC_H

#include "events.h"
#include "pacing.h"
#include "reliable.h"
#include "wire.h"

/* A flow, in memory that Python owns. It must stay until the flow has ended and `delivered` equals
 * `started`. */
struct nic_flow {
    int32_t priority;
    int64_t packets; /* its length, -1: unlimited */
    int64_t frame_bits, last_bits;
    double start_s;
    double end_s; /* starts no packet from then on */
    double rate_bps;
    uint64_t interval_ps, base_ps; /* nic.c sets them; the base: see pacing_started */
    int64_t started;         /* frames whose start is decided, those that are repeated included */
    int64_t started_bytes;   /* their bytes */
    uint64_t
        /* of a flow that repeats: when the first packet in flight left, or something new was
         * acknowledged or lost */
        progress_ps;
    int64_t delivered; /* frames given to the socket */
    int64_t due_bytes; /* EVENT_SENT, once, when started_bytes reaches this */
    /* of kind LOSSLESS nothing is repeated, and `flow` is all of it; else GO_BACK_N */
    struct reliable reliable;
    const uint8_t *frame, *last_frame; /* templates of its packets; the PSN is stamped */
};

/* PFC of one class. Counts frames and picoseconds. */
struct nic_pause {
    uint64_t until_ps, since_ps; /* since_ps: only while `paused` */
    uint64_t paused_ps;
    uint64_t pause, resume, expired;
    bool paused;
};

/* A peer causes CNPs and acknowledgements as fast as it sends, whatever this line carries. */
enum { NIC_CONTROL_FRAMES = 4096 };

/* Read by Python. */
struct nic_state {
    double allowed_bits; /* what the rates and PFC allowed, up to the last nic_account */
    int64_t started_bits; /* of the flows' frames that have started */
    uint64_t control_drops; /* control frames that found NIC_CONTROL_FRAMES waiting */
    struct nic_pause pauses[WIRE_CLASSES];
};

/* A frame to deliver at `due_ps`: packet `number` of a flow, or a control frame if `flow` is
 * NULL. */
struct nic_item {
    uint64_t due_ps;
    struct nic_flow *flow;
    int64_t number;
    struct nic_control *control;
    bool asks; /* AckReq */
};

struct nic_control {
    uint64_t since_ps;
    uint32_t length;
    uint8_t frame[];
};

struct nic;

static inline double nic_seconds(uint64_t ps)
{
    return ps == PACING_NEVER ? INFINITY : (double)ps / 1e12;
}

/* `port`: the host's, which events of the NIC have. */
struct nic *nic_new(uint32_t port, double line_rate_bps, double delay_s, double catch_up_s,
                    struct events *);
void nic_free(struct nic *);
struct nic_state *nic_state(struct nic *);

int nic_add(struct nic *, struct nic_flow *, double now_s); /* 0 or -ENOMEM */
void nic_remove(struct nic *, struct nic_flow *, double now_s);
/* Moves a flow to another NIC of the host, which has the same events; with what has `started` and
 * hasn't left: the line is down. 0 or -ENOMEM: what moved, did so. */
int nic_move(struct nic *from, struct nic *to, struct nic_flow *, bool started, double now_s);
void nic_set_rate(struct nic *, struct nic_flow *, double rate_bps, double now_s);
void nic_set_window(struct nic *, struct nic_flow *, double window_bytes, double now_s);
/* An acknowledgement of the flow's packet with this PSN came. Returns the bytes that it
 * acknowledges; -1: no such packet was sent. */
int64_t nic_acknowledge(struct nic *, struct nic_flow *, uint32_t psn, double now_s);
/* Of a flow that repeats: an acknowledgement of the packet with this PSN and of the first
 * `in_order` (modulo 2^24), or a NAK of it; it comes to `acked` and `lost` bytes of frames. The
 * flow ends when all is acknowledged. -1: no such packet was sent. */
struct nic_answer {
    uint32_t psn, in_order;
    bool nak;
    uint64_t acked, lost;
};
int nic_answered(struct nic *, struct nic_flow *, struct nic_answer *, double now_s);
/* Of a flow that repeats: all that is in flight is lost, if nothing came of it for so long. Returns
 * its bytes. */
int64_t nic_timeout(struct nic *, struct nic_flow *, double timeout_s, double now_s);
/* 0, a drop too, or -ENOMEM */
int nic_send_control(struct nic *, const uint8_t *frame, uint32_t length, double now_s);
/* Takes back the oldest control frame that hasn't left, into a buffer of WIRE_MAX_FRAME bytes;
 * returns its length, 0: there is none. */
uint32_t nic_take_control(struct nic *, uint8_t *frame);
void nic_pfc(struct nic *, uint8_t enabled, const uint16_t *quanta, double now_s);

void nic_advance(struct nic *, double now_s);
double nic_wake(struct nic *);
double nic_decides(struct nic *); /* when the next frame starts, or a flow ends */
void nic_account(struct nic *, double now_s);
double nic_paused_s(const struct nic *, int priority, double now_s);
bool nic_is_paused(const struct nic *); /* whether a class waits for RESUME */
void nic_reset_counters(struct nic *, double now_s);

/* Number `ahead` of the frames in flight, if it is due; else NULL. */
const struct nic_item *nic_due(const struct nic *, uint32_t ahead, double now_s);
/* The first of these was given to the socket. */
void nic_delivered(struct nic *, double now_s);
/* Writes the frame into a buffer of WIRE_MAX_FRAME bytes; returns its length. */
uint32_t nic_frame(const struct nic_item *, uint8_t *frame);

#endif
