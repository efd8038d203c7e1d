/* The traffic manager: per port, strict priority queues (the highest number first, as simple_switch), a shaper and a
 * delay line. It has no clock: every call gets the time, in nanoseconds, so that it runs on any clock.
 *
 * A shaped port is modelled, not approximated: a packet starts when the port is free and the packet is there, and
 * leaves at start + bits / rate + delay, however late the calls come. So lateness of the caller neither
 * accumulates nor lowers the rate. A caller that is late by several packets would send them back to back; a port
 * therefore releases at most two packets within the time that one takes, unless they are overdue by SW_PATIENCE
 * such times and by SW_PATIENCE_NS: then the machine can't keep pace otherwise, and the rate comes first. A punctual caller is
 * never late, and its packets leave when they are due.
 *
 * A packet that is recirculated instead of sent uses no time of the wire, but its queue waits as long as if it had:
 * a held class polls at the port's rate, and the other classes have the whole port. (BMv2 shapes each queue alone,
 * with the same effect.) On an unshaped port a packet that recirculates again and again is paced likewise, by
 * SW_LOOP_PAUSE_NS a turn of its queue, so that a paused class doesn't take a whole core. */
#ifndef SW_TRAFFIC_H
#define SW_TRAFFIC_H

#include "packet.h"

enum { SW_LOOP_PAUSE_NS = 50000, SW_LOOP_PASSES = 4, SW_PATIENCE = 8, SW_PATIENCE_NS = 10000000, SW_BEHIND_NS = 100000 };

struct sw_queue {
    struct sw_fifo packets;
    uint32_t depth;
    uint32_t turn;    /* unshaped: packets left in this turn of a looping queue */
    uint64_t free_ns; /* not served before */
};

struct sw_tm_port {
    uint16_t port;
    bool punctual;
    uint32_t queued;
    uint64_t rate_bps, delay_ns; /* rate 0: unshaped */
    uint64_t free_ns;            /* the wire is free */
    struct sw_queue queues[SW_PRIORITIES];
    struct sw_fifo line;           /* the delay line, in order of due_ns */
    uint64_t released[2];          /* when the last two packets left */
    uint64_t dropped;              /* full queues */
};

struct sw_tm {
    uint32_t priorities, depth;
    bool punctual;
    struct sw_tm_port *ports[SW_MAX_PORTS];
    uint16_t active[SW_MAX_PORTS]; /* ports that exist */
    uint32_t n_active;
};

void sw_tm_init(struct sw_tm *, uint32_t priorities, uint32_t depth, bool punctual);
void sw_tm_free(struct sw_tm *); /* its packets belong to a pool: sw_tm_flush first */
void sw_tm_flush(struct sw_tm *, struct sw_pool *);

/* The port's state, made on first use; NULL: no memory, or no such port number. */
struct sw_tm_port *sw_tm_port(struct sw_tm *, uint32_t port);
/* Rate 0: unshaped; depth 0: as it is. Packets inside keep the times they have. */
void sw_tm_shape(struct sw_tm_port *, uint64_t rate_bps, uint64_t delay_ns, uint32_t depth);

/* False, and the packet stays the caller's: the queue is full. */
bool sw_tm_enqueue(struct sw_tm_port *, uint32_t queue, struct sw_pkt *, uint64_t now_ns);

/* The next packet whose time has come, with start_ns and queue set, or NULL. */
struct sw_pkt *sw_tm_dequeue(struct sw_tm *, struct sw_tm_port *, uint64_t now_ns);
/* What became of it: `bytes` go on the wire (sets due_ns) ... */
void sw_tm_sent(struct sw_tm_port *, struct sw_pkt *, uint32_t bytes);
/* ... or it was recirculated. (A drop takes no time.) */
void sw_tm_recirculated(struct sw_tm_port *, const struct sw_pkt *, uint32_t bytes, uint64_t now_ns);

/* Nothing holds a packet of this port back: no rate, no delay. */
static inline bool sw_tm_immediate(const struct sw_tm_port *port)
{
    return port->rate_bps == 0 && port->delay_ns == 0 && port->line.head == NULL;
}

/* The next packet of the delay line that may leave now, or NULL. */
struct sw_pkt *sw_tm_release(struct sw_tm_port *, uint64_t now_ns);

/* What was released since `since_ns` has left only now: a caller whose clock ran on meanwhile says so, and the next release
 * keeps its distance from there. */
void sw_tm_left(struct sw_tm_port *, uint64_t since_ns, uint64_t now_ns);

/* Packets should have left before now, and only wait to keep their distance. The caller then doesn't sleep for less than
 * SW_BEHIND_NS: it may wake up as much later, and a port whose packets are closer than that would never catch up. */
static inline bool sw_tm_behind(const struct sw_tm_port *port, uint64_t now_ns)
{
    return port->rate_bps != 0 && port->line.head != NULL && port->line.head->due_ns < now_ns;
}

/* When sw_tm_dequeue or sw_tm_release has something next; 0: at once; UINT64_MAX: never. */
uint64_t sw_tm_next(const struct sw_tm_port *);

#endif
