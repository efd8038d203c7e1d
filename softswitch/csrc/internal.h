/* The switch's internals, shared by switch.c, run.c, in_time.c, memory.c, ports.c, clock.c,
 * generator.c and the control plane's calls. */
#ifndef SW_INTERNAL_H
#define SW_INTERNAL_H

#include <pthread.h>
#include <stdio.h>

#include "channel.h"
#include "engine.h"
#include "events.h"
#include "generator.h"
#include "pace.h"
#include "packet.h"
#include "pre.h"
#include "ring.h"
#include "state.h"
#include "switch.h"
#include "trace.h"
#include "traffic.h"

enum {
    SW_BATCH = 64,
    SW_SMALL_BATCH = 4,  /* packets */
    SW_BELLS = 1 << 18,  /* epoll tags of bells: with the port's number */
    /* for interfaces that refuse frames, at first, and links in memory without room */
    SW_RETRY_NS = 50000,
};

/* A port that was added, or that a packet was sent to. */
struct sw_port {
    uint16_t port;
    bool present, open; /* it was added with an interface; the interface exists and is open */
    bool running;       /* IFF_UP and IFF_RUNNING: frames can leave */
    bool no_interface;          /* it was added without an interface */
    bool loss_logged;         /* a loss of frames was logged */
    bool refusal_logged;      /* that frames can't be cut was logged */
    bool open_failure_logged;       /* a failure to open the returned interface was logged */
    char interface[16]; /* IFNAMSIZ */
    int fd, sender, ifindex; /* fd: what frames come in by */
    struct sw_ring ring;
    uint32_t ring_frames;
    size_t longest; /* frame, by the interface's MTU when it was opened */
    /* frames to send in this iteration, or after the interface refused them (ENOBUFS) */
    struct sw_fifo out;
    uint64_t blocked_ns;  /* since when the interface has refused out.head; 0: it doesn't */
    struct sw_channel *channel_in, *channel_out; /* of a link in memory; NULL: it has none */
    /* at its other end, where that is of this process */
    struct sw_switch *peer;
    bool to_process;                             /* another process has the other end */
    int bell;                                    /* to it; -1: none, or it has ended */
    uint64_t dropped_at_down; /* stats.tx_dropped when the link went down */
    struct sw_port_stats stats;
    FILE *captures[2]; /* of frames that come in, and that leave; NULL: none */
};

struct sw_switch {
    /* The worker holds `data` while it moves packets. A thread holds `next` while it waits for
     * `data`, which makes the pair fair: a busy worker can't starve Python's calls. */
    pthread_mutex_t next, data;
    struct sw_pool pool;
    struct sw_tm tm;
    struct sw_engine *engine; /* NULL: the queues of `tm` */
    struct sw_pre clones, groups;
    struct sw_instance *instance; /* NULL: no program */
    uint64_t table_generation;    /* incremented before each write of a table or profile */
    void *library;
    /* resubmitted and recirculated packets and, on the live clock, packet-outs */
    struct sw_fifo input;
    struct sw_port *ports[SW_MAX_PORTS];
    uint16_t active[SW_MAX_PORTS];
    uint32_t n_active;
    struct sw_generator generator;
    struct sw_events events;
    struct sw_events departed; /* frames that left ports without interface */
    /* at creation, and in this iteration: by sw_clock_ns; manual clock: 0, and its time */
    uint64_t origin_ns, clock_ns;
    struct sw_pace pace;
    uint64_t slack_ns; /* what is due may be done so late */
    uint64_t seed;
    uint64_t links_checked_ns;        /* when the interfaces were last checked, by sw_clock_ns */
    bool manual;               /* manual clock: sw_advance alone moves it */
    uint32_t tick_ns;          /* of the clock that programs read */
    uint64_t reentry_ns; /* manual clock: the delay of resubmitted and recirculated packets */
    /* manual clock: `input` waits until then, after too many rounds at one time */
    uint64_t input_at_ns;
    uint16_t cpu_port, drop_port;
    int epoll, wake, netlink;
    int netns; /* of its interfaces; -1: the worker's */
    uint16_t channels[SW_MAX_PORTS]; /* ports with links in memory */
    uint32_t n_channels;
    /* the shortest delay of its links: what happens there matters to others only so much later */
    uint64_t ahead_ns;
    uint64_t event_ns; /* where events are in order of time (in_time.c): the last one's */
    int64_t real_ahead_ns; /* CLOCK_REALTIME, of the kernel's stamps, minus sw_clock_ns */
    struct sw_worker *worker;
    bool running, stop, left; /* `left`: the worker is done with it */
    struct sw_trace *trace; /* NULL: it isn't traced */
    bool captured; /* since the captures were last flushed */
};

/* Has a call say why, and returns its code. */
int sw_say(char *error, int code, const char *why);
void sw_lock(struct sw_switch *);
void sw_unlock(struct sw_switch *);
uint64_t sw_clock_ns(void);
uint64_t sw_real_ns(void); /* the clock of the kernel's stamps */
/* The time of the current iteration since the origin; sw_now: in ticks of the program's clock;
 * sw_call_ns: the time of a call from Python, with the lock held. */
static inline uint64_t sw_now_ns(const struct sw_switch *sw)
{
    return sw->clock_ns - sw->origin_ns;
}
static inline uint64_t sw_now(const struct sw_switch *sw) { return sw_now_ns(sw) / sw->tick_ns; }
static inline uint64_t sw_call_ns(const struct sw_switch *sw)
{
    return sw->manual ? sw_now_ns(sw) : sw_clock_ns() - sw->origin_ns;
}
static inline uint64_t sw_call_us(const struct sw_switch *sw) { return sw_call_ns(sw) / 1000; }
/* When to try a port again that is blocked or without room: one whose interface is slow less
 * often. */
static inline uint64_t sw_port_retry_ns(const struct sw_switch *sw, const struct sw_port *port)
{
    uint64_t pause = port->blocked_ns == 0 ? 0 : (sw->clock_ns - port->blocked_ns) / 16;
    return sw->clock_ns + (pause < SW_RETRY_NS ? SW_RETRY_NS : pause);
}
void sw_wake(struct sw_switch *);
void sw_notice(struct sw_switch *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* switch.c */
struct epoll_event;
/* Opens what a worker waits at, if it isn't open. Of switches on the manual clock an engine moves
 * thousands, which wait for nothing: more than a process may have descriptors for. So the first
 * interface of such a switch, or its worker, opens them. Returns errno. */
int sw_descriptors_open(struct sw_switch *);
/* One iteration, with the lock held. Returns when the next one is due, ns; 0: at once. */
uint64_t sw_iteration(struct sw_switch *, const struct epoll_event *, int n);
void sw_report(struct sw_switch *, uint64_t now_ns, uint64_t next_ns); /* after it: the pace */

/* in_time.c */
bool sw_in_time(const struct sw_switch *); /* it goes from one event to the next in order of time */
/* how long after its arrival a frame comes in time, at the latest */
uint64_t sw_in_time_ns(const struct sw_switch *);
/* all that was due until now, but what leaves by the kernel; false: the engine has more of it */
bool sw_run_in_time(struct sw_switch *);
/* when the next frame arrives, or has arrived; UINT64_MAX: none does */
uint64_t sw_arrivals_next(const struct sw_switch *);
/* Of what is due next (sw_iteration), when the first is that can't be done later, as if it were
 * done in time: what leaves by the kernel. For all else there is half of ahead_ns. */
uint64_t sw_hard_next(const struct sw_switch *);

/* memory.c */
/* when the next frame arrives by memory; needs no lock */
uint64_t sw_channels_next(const struct sw_switch *);
void sw_disconnect(struct sw_port *); /* frees a link in memory */
void sw_bell_rang(struct sw_switch *, struct sw_port *); /* its bell has something to read */
/* what has arrived by its time */
void sw_channel_receive(struct sw_switch *, struct sw_port *, uint64_t now_ns);
bool sw_port_full(const struct sw_port *); /* its link in memory has no room */
/* Its way out isn't blocked. */
static inline bool sw_port_can_run(const struct sw_switch *sw, const struct sw_tm_port *port)
{
    const struct sw_port *out = sw->ports[port->port];
    return out == NULL ||
           (out->blocked_ns == 0 && (out->channel_out == NULL || !sw_port_full(out)));
}
/* The packet's way is memory now, not the kernel. */
bool sw_port_in_memory(const struct sw_port *, const struct sw_tm_port *);
/* by memory, at due_ns; takes the packet */
void sw_port_deliver(struct sw_switch *, struct sw_port *, struct sw_pkt *);
void sw_watchers_ask(const struct sw_switch *); /* asks the kernel who listens at interfaces ... */
/* ... which is in its messages */
void sw_watchers_note(struct sw_switch *, const void *messages, size_t length);

/* run.c */
/* ingress for a received packet */
void sw_receive(struct sw_switch *, struct sw_pkt *, uint16_t port);
/* for one with an earlier timestamp */
void sw_receive_at(struct sw_switch *, struct sw_pkt *, uint16_t port, uint64_t at_ns);
/* counts and frees a received packet for which the engine has no room */
void sw_refuse(struct sw_switch *, struct sw_pkt *, uint16_t port);
void sw_run_input(struct sw_switch *); /* ingress for packets in `input` that are due */
void sw_serve_port(struct sw_switch *, struct sw_tm_port *); /* a port's queues */
/* The packet's start_ns is when it has started on the wire: takes it, on its way out. */
void sw_start_frame(struct sw_switch *, struct sw_tm_port *, struct sw_pkt *);
void sw_run_port(struct sw_switch *, struct sw_tm_port *); /* and its delay line */
void sw_flush(struct sw_switch *); /* drops every packet inside */

/* capture.c, with the lock held */
/* the port has one */
void sw_capture(struct sw_switch *, struct sw_port *, bool out, const uint8_t *frame,
                uint32_t length);
void sw_captures_flush(struct sw_switch *);
void sw_captures_end(struct sw_port *);
static inline void sw_captured(struct sw_switch *sw, struct sw_port *port, bool out,
                               const struct sw_pkt *pkt)
{
    if (__builtin_expect(port->captures[out] != NULL, 0))
        sw_capture(sw, port, out, pkt->p.data, pkt->p.length);
}

/* clock.c, with the lock held */
/* manual clock: processes all received frames and all that is due now */
void sw_run_due(struct sw_switch *);

/* generator.c, with the lock held */
void sw_run_generator(struct sw_switch *); /* ingress for a batch, if one is due */

/* ports.c */
struct sw_port *sw_port_new(struct sw_switch *, uint32_t port);
/* made on first use; NULL: no memory, or no such port */
static inline struct sw_port *sw_port_of(struct sw_switch *sw, uint32_t port)
{
    struct sw_port *there = port < SW_MAX_PORTS ? sw->ports[port] : NULL;
    return there != NULL ? there : sw_port_new(sw, port);
}
/* at most `batch` packets; returns how many */
uint32_t sw_port_receive(struct sw_switch *, struct sw_port *, uint32_t batch);
void sw_port_clear_error(struct sw_port *); /* clears the socket's pending error, e.g. ENETDOWN */
/* queued until sw_port_flush */
void sw_port_send(struct sw_switch *, struct sw_port *, struct sw_pkt *);
void sw_port_flush(struct sw_switch *, struct sw_port *);
void sw_port_close(struct sw_switch *, struct sw_port *);
int sw_links_open(void); /* a netlink socket for link events */
void sw_links_changed(struct sw_switch *);
/* Checks for lost interfaces once a second. Returns the time of the next check, by sw_clock_ns;
 * UINT64_MAX: none is lost. */
uint64_t sw_links_retry(struct sw_switch *);

#endif
