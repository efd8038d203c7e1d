/* Events for Python, in the order in which the C side noticed them; `at_s` may be earlier than the
 * previous event's, or still to come (EVENT_END). Urgent ones need a reaction: the loop returns for
 * them as soon as it has processed the received frames. The others wait for the next return. */
#ifndef HOSTS_EVENTS_H
#define HOSTS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

enum { EVENT_FRAME_BYTES = 256 };

/* hosts/structures.py has the same names and numbers. */
enum event_kind {
    /* flow: has ended, and starts no frame any more. at_s: when its last packet is due; its
     * `end_s`, though a frame may still be in flight; or, of a stopped flow, when all its frames
     * have been due (pacing_stopped). */
    EVENT_END,
    EVENT_PAUSE, /* priority, count: quanta */
    EVENT_RESUME, /* priority */
    EVENT_EXPIRY, /* priority: a PAUSE ran out without RESUME */
    /* flow, count: `due_bytes` bytes of its frames have started; count: its bytes so far. Urgent */
    EVENT_SENT,
    /* count, frame: a WIRE_NOTIFICATION of up to EVENT_FRAME_BYTES, for Python to parse. Urgent */
    EVENT_FRAME,
    /* count, frame: the head of a data packet of a flow that Python must add first. Urgent */
    EVENT_UNKNOWN,
    EVENT_WINDOW, /* flow, window: the NP's period has ended. Urgent */
    EVENT_MARKED, /* flow: a packet marked CE arrived, if the flow has `wants_marked`. Urgent */
    EVENT_LAST, /* flow: the packet flagged as its last arrived */
    /* flow, count: its packet number `count`, which has AckReq set, has left the NIC */
    EVENT_REQUESTED,
    /* flow, count, request: the packet with PSN `count` is acknowledged, or by a NAK missing.
     * Urgent */
    EVENT_ACK_REQUEST,
};

struct window {
    uint64_t packets, marked_ce, marked_ue, bytes;
    double first_s, last_s;
};

struct ack_request {
    int32_t mark; /* value of the ECN field */
    uint32_t in_order; /* of a flow that repeats: how many packets came in order, modulo 2^24 */
    bool nak;
    bool has_telemetry;
    uint8_t telemetry[WIRE_TELEMETRY_BYTES];
};

struct event {
    int32_t kind;
    int32_t priority;
    double at_s;
    void *flow;
    uint64_t count;
    /* of the host's NIC: of EVENT_END, EVENT_PAUSE, EVENT_RESUME and EVENT_EXPIRY; else 0 */
    uint64_t port;
    union {
        struct window window;
        uint8_t frame[EVENT_FRAME_BYTES];
        struct ack_request request;
    };
};

struct events {
    struct event *all;
    uint64_t count, urgent, capacity;
    uint64_t lost; /* out of memory; Python then raises MemoryError */
};

struct events *events_new(void);
void events_free(struct events *);

/* A new event to fill in. Never NULL: out of memory it is a dummy. */
struct event *events_add(struct events *, enum event_kind kind, bool urgent, double at_s);

#endif
