/* Events in order of time, on the live clock: of a switch whose links have a delay.
 *
 * A frame arrives at its time, by the kernel's stamp or the channel's, and starts on the wire at
 * its own, even if the thread comes to it later: the switch goes from one event to the next,
 * like one on the manual clock. Nobody sees of an event before a link's delay has passed. So a
 * thread's lateness changes no packet's time as long as it is below that, and the thread wakes
 * up once for all that is due within half of it. What leaves by the kernel leaves when it is
 * due. */
#include "internal.h"

enum {
    MAX_EVENTS = 512,
    /* in one iteration, so that other callers get the lock */ CLOSE_NS = 5000
};

/* The shortest delay of the links; 0: one has none, or there is no link. */
static uint64_t shortest_delay(const struct sw_switch *sw)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < sw->n_active; i++) {
        if (!sw->ports[sw->active[i]]->present) continue;
        const struct sw_tm_port *port = sw->tm.ports[sw->active[i]];
        uint64_t delay_ns = port == NULL ? 0 : port->delay_ns;
        if (delay_ns < least) least = delay_ns;
    }
    return least == UINT64_MAX ? 0 : least;
}

bool sw_in_time(const struct sw_switch *sw) { return sw->ahead_ns != 0 || sw->n_channels != 0; }

uint64_t sw_in_time_ns(const struct sw_switch *sw) { return sw->ahead_ns / 4 * 3; }

/* Reads both clocks; not if the thread was preempted in between, unless it never did before. */
static void compare_clocks(struct sw_switch *sw)
{
    uint64_t before = sw_clock_ns(), real = sw_real_ns();
    sw->clock_ns = sw_clock_ns();
    if (sw->clock_ns - before < CLOSE_NS || sw->real_ahead_ns == 0)
        sw->real_ahead_ns = (int64_t)(real - before);
}

/* When the next frame arrived at a port's interface, at most now: a stamp may seem to lie in the
 * future, by the clocks' difference. */
static uint64_t ring_next(const struct sw_switch *sw, const struct sw_port *port, uint64_t now_ns)
{
    uint64_t stamp = sw_ring_next(&port->ring);
    if (stamp == UINT64_MAX) return stamp;
    uint64_t at = stamp - (uint64_t)sw->real_ahead_ns;
    return at < now_ns ? at : now_ns;
}

static uint64_t arrivals_next(const struct sw_switch *sw, uint64_t now_ns)
{
    uint64_t first = sw_channels_next(sw);
    for (uint32_t i = 0; i < sw->n_active; i++) {
        uint64_t at = ring_next(sw, sw->ports[sw->active[i]], now_ns);
        if (at < first) first = at;
    }
    return first;
}

uint64_t sw_arrivals_next(const struct sw_switch *sw) { return arrivals_next(sw, UINT64_MAX); }

uint64_t sw_hard_next(const struct sw_switch *sw)
{
    uint64_t next = sw->generator.due_ns;
    for (uint32_t i = 0; i < sw->tm.n_active; i++) {
        const struct sw_tm_port *port = sw->tm.ports[sw->tm.active[i]];
        uint64_t at = sw_port_can_run(sw, port) ? sw_tm_next_release(port)
                                                : sw_port_retry_ns(sw, sw->ports[port->port]);
        if (at < next) next = at;
    }
    return next;
}

static uint64_t next_event(const struct sw_switch *sw, uint64_t now_ns)
{
    uint64_t next = arrivals_next(sw, now_ns);
    if (sw->engine != NULL) return next; /* its own events come in their order between arrivals */
    if (sw->input.head != NULL && sw->input.head->due_ns < next) next = sw->input.head->due_ns;
    for (uint32_t i = 0; i < sw->tm.n_active; i++) {
        const struct sw_tm_port *port = sw->tm.ports[sw->tm.active[i]];
        uint64_t at = sw_tm_next_start(port);
        if (at < next && sw_port_can_run(sw, port)) next = at;
    }
    return next;
}

bool sw_run_in_time(struct sw_switch *sw)
{
    sw->ahead_ns = shortest_delay(sw);
    if (!sw_in_time(sw)) return true;
    compare_clocks(sw);
    uint64_t now_ns = sw->clock_ns;
    bool keeps_up = true; /* the engine */
    for (uint32_t events = 0; events < MAX_EVENTS; events++) {
        uint64_t next = next_event(sw, now_ns);
        if (next > now_ns) {
            sw->clock_ns = now_ns;
            if (sw->engine != NULL && keeps_up)
                keeps_up = sw->engine->run(sw->engine, sw_now_ns(sw));
            break;
        }
        /* What comes too late happens now: time doesn't go back for programs. */
        sw->clock_ns = next > sw->event_ns ? next : sw->event_ns;
        sw->event_ns = sw->clock_ns;
        /* Where it can't keep up, what comes happens when it is there: it isn't kept out. */
        if (sw->engine != NULL && keeps_up) keeps_up = sw->engine->run(sw->engine, sw_now_ns(sw));
        for (uint32_t i = 0; i < sw->n_active; i++) {
            struct sw_port *port = sw->ports[sw->active[i]];
            if (port->channel_in != NULL) sw_channel_receive(sw, port, now_ns);
            if (ring_next(sw, port, now_ns) <= sw->clock_ns) sw_port_receive(sw, port, 1);
        }
        sw_run_input(sw);
        for (uint32_t i = 0; i < sw->tm.n_active; i++) {
            struct sw_tm_port *port = sw->tm.ports[sw->tm.active[i]];
            if (sw_tm_next_start(port) <= sw->clock_ns && sw_port_can_run(sw, port))
                sw_serve_port(sw, port);
        }
    }
    sw->clock_ns = sw->event_ns = now_ns;
    return keeps_up;
}
