/* What moves a live switch's packets in place of its own queues (traffic.c): an engine of virtual
 * time by the machine's clock, say. Interfaces, links in memory, the generator, captures, delays and
 * the distance of frames that leave stay the switch's. A frame that comes in goes to `receive`; one
 * that has started on the wire comes back by sw_start_frame.
 *
 * All calls come with the switch's lock held. Times are nanoseconds since its origin. */
#ifndef SW_ENGINE_H
#define SW_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

struct sw_switch;
struct sw_pkt;
struct sw_port_stats;

struct sw_engine {
    /* A frame comes in by a port now, where the last run ended; takes the packet: to sw_refuse, where
     * there is no room for it. */
    void (*receive)(struct sw_engine *, struct sw_pkt *, uint16_t port);
    /* Does what is due until then; false: very much was, and there is more: call again. */
    bool (*run)(struct sw_engine *, uint64_t until_ns);
    /* when it has something to do next: at once where a port's way out is free that wasn't;
     * UINT64_MAX: never */
    uint64_t (*next)(struct sw_engine *);
    /* Is called after a change of a port's queues, its rate or the trimming (traffic.h has them); or
     * of the program or the set of ports, by which what is inside is lost. */
    void (*set)(struct sw_engine *, uint16_t port);
    void (*flush)(struct sw_engine *);
    /* adds what waits at a port now, and what its queues have refused and trimmed */
    void (*count)(struct sw_engine *, uint16_t port, struct sw_port_stats *);
    void (*end)(struct sw_engine *); /* frees it; the switch goes */
};

/* Before the program: this engine moves the packets from now on. 0 or -errno. On the manual clock
 * all that comes in at one moment is through ingress before any port serves: `next` is then now. */
int sw_set_engine(struct sw_switch *, struct sw_engine *);

#endif
