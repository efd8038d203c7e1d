/* The switch from inside: what switch.c, run.c, ports.c and control.c share. */
#ifndef SW_INTERNAL_H
#define SW_INTERNAL_H

#include <pthread.h>

#include "events.h"
#include "packet.h"
#include "pre.h"
#include "ring.h"
#include "state.h"
#include "switch.h"
#include "traffic.h"

enum { SW_BATCH = 64, SW_FEW = 4 /* packets */ };

/* A port that was named or has counted something. */
struct sw_port {
    uint16_t port;
    bool present, up;   /* an interface belongs to it; it is there */
    bool running;       /* the interface is up, and so is what it is connected to: frames can leave */
    bool bare;          /* it is there without one */
    bool lossy;         /* the log knows that frames were lost */
    bool refused;       /* the log knows that the interface, which is there again, can't be opened */
    char interface[16]; /* IFNAMSIZ */
    int fd, ifindex;
    struct sw_ring ring;
    uint32_t ring_frames;
    struct sw_fifo out; /* to be sent in this turn, or refused for now */
    uint64_t stuck_ns;  /* since when the interface refuses out.head; 0: it doesn't */
    uint64_t dropped_before; /* stats.tx_dropped when the link went down */
    struct sw_port_stats stats;
};

struct sw_switch {
    /* The worker holds `data` while it moves packets. `next` is held while waiting for `data`, which makes the
     * pair fair: a worker that has no rest can't keep Python out. */
    pthread_mutex_t next, data;
    struct sw_pool pool;
    struct sw_tm tm;
    struct sw_pre clones, groups;
    struct sw_instance *instance; /* NULL: no program */
    uint64_t table_generation;    /* bumped whenever a table or a profile may be written */
    void *library;
    struct sw_fifo input; /* resubmitted, recirculated and injected packets */
    struct sw_port *ports[SW_MAX_PORTS];
    uint16_t active[SW_MAX_PORTS];
    uint32_t n_active;
    struct sw_events events;
    struct sw_events departed; /* frames that left ports without interface */
    uint64_t origin_ns, now_ns, seed;
    uint64_t looked_ns;        /* by sw_clock_ns: when each port's interface was last looked at */
    bool manual;               /* the clock stands until sw_advance moves it */
    uint64_t reentry_ns;       /* with the manual clock: how long resubmitted and recirculated packets are on their way */
    uint64_t input_at_ns;      /* with the manual clock: what is in a loop without end waits until then */
    uint16_t cpu_port, drop_port;
    int epoll, wake, netlink;
    pthread_t worker;
    bool running, stop;
};

void sw_lock(struct sw_switch *);
void sw_unlock(struct sw_switch *);
uint64_t sw_clock_ns(void);
/* The time of what is being done; and with the lock held, that of a call: a live clock has gone on meanwhile. */
static inline uint64_t sw_now_ns(const struct sw_switch *sw) { return sw->now_ns - sw->origin_ns; }
static inline uint64_t sw_now_us(const struct sw_switch *sw) { return sw_now_ns(sw) / 1000; }
static inline uint64_t sw_called_us(const struct sw_switch *sw)
{
    return sw->manual ? sw_now_us(sw) : (sw_clock_ns() - sw->origin_ns) / 1000;
}
void sw_wake(struct sw_switch *);
void sw_say(struct sw_switch *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* run.c */
void sw_receive(struct sw_switch *, struct sw_pkt *, uint16_t port); /* a new packet: through ingress */
void sw_run_input(struct sw_switch *);                               /* one turn of what is due in the input queue */
void sw_run_port(struct sw_switch *, struct sw_tm_port *);           /* one turn of a port's queues and delay line */
void sw_flush(struct sw_switch *);                                   /* drops every packet inside */

/* clock.c, with the lock held */
void sw_settle(struct sw_switch *); /* with the manual clock: all that interfaces received, and all that is due now */

/* ports.c */
struct sw_port *sw_port_of(struct sw_switch *, uint32_t port); /* made on first use; NULL: no memory */
uint32_t sw_port_receive(struct sw_switch *, struct sw_port *, uint32_t batch); /* so many packets at most; how many */
void sw_port_trouble(struct sw_port *); /* the socket has an error to tell, as when its interface is down */
void sw_port_send(struct sw_switch *, struct sw_port *, struct sw_pkt *); /* queued until sw_port_flush */
void sw_port_flush(struct sw_switch *, struct sw_port *);
void sw_port_close(struct sw_switch *, struct sw_port *);
int sw_links_open(void); /* a netlink socket that tells when interfaces come and go */
void sw_links_changed(struct sw_switch *);
uint64_t sw_links_again(struct sw_switch *); /* looks for lost interfaces. Returns when to look next, by sw_clock_ns; UINT64_MAX: none is lost */

#endif
