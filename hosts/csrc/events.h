/* What the C side tells Python, in the order in which it happened. Events that want an answer are urgent: the loop
 * returns for them as soon as it has dealt with what arrived. The others wait for the next return. */
#ifndef HOSTS_EVENTS_H
#define HOSTS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

enum { EVENT_FRAME_BYTES = 256 };

/* hosts/native.py has the same names and numbers. */
enum event_kind {
    EVENT_END,     /* flow: its last frame leaves at `at_s` */
    EVENT_PAUSE,   /* priority, count: quanta */
    EVENT_RESUME,  /* priority */
    EVENT_EXPIRY,  /* priority: a PAUSE ran out without RESUME */
    EVENT_SENT,    /* flow, count: its `due_bytes` have left, so many in all. Urgent */
    EVENT_FRAME,   /* count, frame: a frame that Python has to read. Urgent */
    EVENT_UNKNOWN, /* count, frame: the head of a packet of a flow that must be added before it is taken. Urgent */
    EVENT_WINDOW,  /* flow, window: the NP's period has ended. Urgent */
    EVENT_MARKED,  /* flow: a packet marked CE arrived, and the NP wants to know each. Urgent */
    EVENT_LAST,    /* flow: the packet marked as its last arrived */
    EVENT_SEGMENT, /* flow, count: its packet of this number, the last of a segment, had left the NIC at `at_s` */
    EVENT_ASKED,   /* flow, count, mark: the packet of this PSN asks for an acknowledgement. Urgent */
};

struct window {
    uint64_t packets, marked_ce, marked_ue, bytes;
    double first_s, last_s;
};

struct event {
    int32_t kind;
    int32_t priority;
    double at_s;
    void *flow;
    uint64_t count;
    union {
        struct window window;
        uint8_t frame[EVENT_FRAME_BYTES];
        int32_t mark; /* the ECN field's value */
    };
};

struct events {
    struct event *all;
    uint64_t count, urgent, capacity;
    uint64_t lost; /* no memory: Python gives up when it sees one */
};

struct events *events_new(void);
void events_free(struct events *);

/* A new event to fill in. Never NULL: without memory it is one that nobody sees. */
struct event *events_add(struct events *, enum event_kind kind, bool urgent, double at_s);

#endif
