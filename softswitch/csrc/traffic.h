/* The traffic manager: per port, strict priority queues (the highest number first, as
 * simple_switch), a shaper and a delay line. It has no clock: every call gets the time, in
 * nanoseconds, so that it runs on any clock.
 *
 * Shaping follows a schedule, not the times of the calls: a packet starts when the port is free
 * and the packet has arrived, and leaves at start + bits / rate + delay. So a late caller
 * neither accumulates delay nor lowers the rate. A caller that is late by several packets would
 * send them back to back; a port therefore releases at most two packets within the transmission
 * time of one, and catches up at twice its rate. Once they are overdue by SW_OVERDUE_PACKETS
 * transmission times and by SW_OVERDUE_NS the rate comes first, since the machine can't keep up;
 * where a transmission time is long enough for the caller to sleep (SW_BEHIND_NS), by
 * SW_OVERDUE_LONG_NS, which is longer than a process is usually stopped. A punctual caller (the
 * manual clock) is never late, and its packets leave when they are due.
 *
 * A recirculated packet takes no time on the wire, but its queue is blocked as long as if it
 * did: a paused class (PFC by recirculation) polls at the port's rate, and the other classes
 * have the whole port. (BMv2 shapes each queue alone, with the same effect.) On an unshaped
 * port, a queue whose packets keep recirculating is blocked for SW_LOOP_PAUSE_NS after each
 * round of its packets, so that a paused class doesn't use a whole core. */
#ifndef SW_TRAFFIC_H
#define SW_TRAFFIC_H

#include "packet.h"
#include "trim.h"

enum {
    SW_LOOP_PAUSE_NS = 50000,
    SW_LOOP_PASSES = 4,
    SW_OVERDUE_PACKETS = 8,
    SW_OVERDUE_NS = 10000000,
    SW_OVERDUE_LONG_NS = 1000000000,
    /* an engine's: what a frame takes on average on a port without rate where very many leave */
    SW_UNSHAPED_NS = 100,
    SW_BEHIND_NS = 100000
};

struct sw_queue {
    struct sw_fifo packets;
    uint32_t depth;
    uint32_t round;    /* unshaped: packets left in this round of a recirculating queue */
    uint64_t free_ns; /* blocked until then */
};

struct sw_tm_port {
    uint16_t port;
    bool punctual;
    uint32_t queued;
    uint64_t rate_bps, delay_ns; /* rate 0: unshaped */
    uint64_t free_ns;            /* when the wire is free */
    struct sw_queue queues[SW_PRIORITIES];
    struct sw_fifo delay_line;           /* the delay line, in order of due_ns */
    uint64_t released[2];          /* when the last two packets left */
    uint64_t dropped;              /* at full queues */
    struct sw_trimming trimming;
    uint64_t trimmed;
    uint64_t
        /* a packet leaves the queue once in this time, as by simple_switch's rates; 0: at any
         * time */
        interval_ns[SW_PRIORITIES];
    bool rated;                          /* a queue has one */
};

struct sw_tm {
    uint32_t priorities;
    uint32_t depth[SW_PRIORITIES]; /* of a port to come */
    uint64_t interval_ns[SW_PRIORITIES];
    bool punctual;
    struct sw_trimming trimming; /* of each port */
    struct sw_tm_port *ports[SW_MAX_PORTS];
    uint16_t active[SW_MAX_PORTS]; /* ports that exist */
    uint32_t n_active;
};

void sw_tm_init(struct sw_tm *, uint32_t priorities, uint32_t depth, bool punctual);
void sw_tm_free(struct sw_tm *); /* after sw_tm_flush, which returns the packets to their pool */
void sw_tm_flush(struct sw_tm *, struct sw_pool *);

/* The port's state, made on first use; NULL: no memory, or no such port number. */
struct sw_tm_port *sw_tm_port(struct sw_tm *, uint32_t port);
/* Rate 0: unshaped. Packets on the delay line keep their times. */
void sw_tm_shape(struct sw_tm_port *, uint64_t rate_bps, uint64_t delay_ns);

/* What a queue is set to; SW_AS_IT_IS: nothing. */
#define SW_AS_IT_IS UINT64_MAX
struct sw_queue_setting {
    uint64_t depth, interval_ns;
};
/* port NULL: all ports, and those to come; queue < 0: all queues. Nothing starts before now for it. */
void sw_tm_set_queue(struct sw_tm *, struct sw_tm_port *, int queue, uint64_t now_ns,
                     const struct sw_queue_setting *);

/* Of all ports, from now on. */
void sw_tm_trim(struct sw_tm *, const struct sw_trimming *);

/* A packet that a full queue would refuse may be trimmed, and is put into another. False: there is
 * no room, and the packet stays the caller's. */
bool sw_tm_enqueue(struct sw_tm_port *, uint32_t queue, struct sw_pkt *, uint64_t now_ns);

/* The next packet that may start now, with start_ns and queue set, or NULL. */
struct sw_pkt *sw_tm_dequeue(struct sw_tm *, struct sw_tm_port *, uint64_t now_ns);
/* After egress: the packet goes on the wire with `bytes` bytes, and sets due_ns; its way from there
 * is the caller's ... */
void sw_tm_timed(struct sw_tm_port *, struct sw_pkt *, uint32_t bytes);
/* ... or the delay line, unless it leaves at once ... */
void sw_tm_sent(struct sw_tm_port *, struct sw_pkt *, uint32_t bytes);
/* ... or it was recirculated. (A drop takes no time and needs no call.) */
void sw_tm_recirculated(struct sw_tm_port *, const struct sw_pkt *, uint32_t bytes,
                        uint64_t now_ns);

/* The port has no shaper, no delay and an empty delay line. */
static inline bool sw_tm_immediate(const struct sw_tm_port *port)
{
    return port->rate_bps == 0 && port->delay_ns == 0 && port->delay_line.head == NULL;
}

/* The next packet of the delay line that may leave now, or NULL. */
struct sw_pkt *sw_tm_release(struct sw_tm_port *, uint64_t now_ns);

/* Packets released since `since_ns` were sent only now, as on a live clock: the next releases keep
 * their distance from there. */
void sw_tm_note_departures(struct sw_tm_port *, uint64_t since_ns, uint64_t now_ns);

/* Packets are overdue and only wait to keep their distance. The caller then polls instead of
 * sleeping for less than SW_BEHIND_NS: it might oversleep by as much, and a port whose packets are
 * closer together would never catch up. */
static inline bool sw_tm_behind(const struct sw_tm_port *port, uint64_t now_ns)
{
    return port->rate_bps != 0 && port->delay_line.head != NULL &&
           port->delay_line.head->due_ns < now_ns;
}

/* When sw_tm_release next has a packet; UINT64_MAX: the delay line is empty. */
uint64_t sw_tm_next_release(const struct sw_tm_port *);
/* When sw_tm_dequeue next has a packet; now or earlier: at once; UINT64_MAX: no queue has any. */
uint64_t sw_tm_next_start(const struct sw_tm_port *);
/* When sw_tm_dequeue or sw_tm_release next has a packet; now or earlier: at once; UINT64_MAX:
 * never. */
uint64_t sw_tm_next(const struct sw_tm_port *);

#endif
