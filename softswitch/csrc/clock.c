/* The manual clock: only sw_advance moves time, from one due event to the next.
 *
 * All that is due is processed at once: a frame that arrives, from an interface or by sw_inject,
 * goes through the switch before the next one. So nothing is ever late. */
#include <errno.h>
#include <stdio.h>

#include "internal.h"

enum {
    /* of `input` at one time; then it waits SW_LOOP_PAUSE_NS, or a recirculation loop would never
     * end */
    ROUNDS = 64,
    MAX_STEPS = 4096,  /* steps in one call, so that other callers get the lock */
};

/* When `input` is due next. */
static uint64_t input_due(const struct sw_switch *sw)
{
    const struct sw_pkt *head = sw->input.head;
    if (head == NULL) return UINT64_MAX;
    return head->due_ns > sw->input_at_ns ? head->due_ns : sw->input_at_ns;
}

/* When the engine has something to do next, which isn't before now. */
static uint64_t engine_due(const struct sw_switch *sw)
{
    uint64_t at = sw->engine != NULL ? sw->engine->next(sw->engine) : UINT64_MAX;
    if (at == UINT64_MAX) return at;
    at += sw->origin_ns;
    return at > sw->clock_ns ? at : sw->clock_ns;
}

/* Processes all that is due now: the packet generator's batch, then `input` and the ports, until
 * nothing is due. */
static void run_now(struct sw_switch *sw)
{
    uint32_t rounds = 0;
    sw_run_generator(sw);
    for (bool more = true; more;) {
        more = false;
        if (input_due(sw) <= sw->clock_ns) {
            more = true;
            if (++rounds < ROUNDS) sw_run_input(sw);
            else sw->input_at_ns = sw->clock_ns + SW_LOOP_PAUSE_NS;
        }
        if (engine_due(sw) <= sw->clock_ns) {
            more = true;
            sw->engine->run(sw->engine, sw_now_ns(sw));
            for (uint32_t i = 0; i < sw->n_active; i++) {
                struct sw_port *out = sw->ports[sw->active[i]];
                if (out->out.head != NULL) sw_port_flush(sw, out);
            }
        }
        for (uint32_t i = 0; i < sw->tm.n_active; i++) {
            struct sw_tm_port *port = sw->tm.ports[sw->tm.active[i]];
            if (sw_tm_next(port) > sw->clock_ns) continue;
            more = true;
            sw_run_port(sw, port);
            struct sw_port *out = sw->ports[port->port];
            if (out != NULL && out->out.head != NULL) sw_port_flush(sw, out);
        }
    }
}

void sw_run_due(struct sw_switch *sw)
{
    run_now(sw);
    for (uint32_t i = 0; i < sw->n_active; i++) {
        struct sw_port *port = sw->ports[sw->active[i]];
        uint32_t left = port->ring_frames; /* a bound: a sender at full speed must not stop time */
        while (port->fd >= 0 && left-- > 0 && sw_port_receive(sw, port, 1) != 0) run_now(sw);
    }
}

/* The next time at which anything is due, after run_now. */
static uint64_t next_due(const struct sw_switch *sw)
{
    uint64_t next = input_due(sw), engine = engine_due(sw);
    if (engine < next) next = engine;
    if (sw->generator.due_ns < next) next = sw->generator.due_ns;
    for (uint32_t i = 0; i < sw->tm.n_active; i++) {
        uint64_t at = sw_tm_next(sw->tm.ports[sw->tm.active[i]]);
        if (at < next) next = at;
    }
    return next;
}

int sw_set_tick(struct sw_switch *sw, uint32_t ns)
{
    if (ns < 1 || ns > 1000) return -EINVAL;
    sw_lock(sw);
    sw->tick_ns = ns;
    if (sw->instance != NULL) sw->instance->tick_ns = ns;
    sw_unlock(sw);
    return 0;
}

int sw_reentry(struct sw_switch *sw, uint64_t ns)
{
    if (!sw->manual) return -EPERM;
    sw_lock(sw);
    sw->reentry_ns = ns;
    sw_unlock(sw);
    return 0;
}

int sw_set_time(struct sw_switch *sw, uint64_t ns)
{
    if (!sw->manual) return -EPERM;
    sw_lock(sw);
    sw->clock_ns = ns;
    sw_unlock(sw);
    return 0;
}

uint64_t sw_time_ns(struct sw_switch *sw)
{
    if (!sw->manual) return sw_clock_ns() - sw->origin_ns;
    sw_lock(sw);
    uint64_t now = sw->clock_ns;
    sw_unlock(sw);
    return now;
}

static uint64_t tx_count(const struct sw_switch *sw, uint16_t port)
{
    return port < SW_MAX_PORTS && sw->ports[port] != NULL ? sw->ports[port]->stats.tx_packets : 0;
}

uint64_t sw_tx_count(struct sw_switch *sw, uint16_t port)
{
    sw_lock(sw);
    uint64_t left = tx_count(sw, port);
    sw_unlock(sw);
    return left;
}

int sw_advance(struct sw_switch *sw, uint64_t until_ns, uint16_t port, uint64_t frames)
{
    if (!sw->manual) return -EPERM;
    sw_lock(sw);
    uint64_t n_events = sw->events.put;
    sw_run_due(sw);
    int status = 1;
    for (uint32_t steps = 0; steps < MAX_STEPS && sw->events.put == n_events; steps++) {
        if (frames != 0 && tx_count(sw, port) >= frames) break;
        uint64_t next = next_due(sw);
        if (next > until_ns) {
            if (until_ns > sw->clock_ns) sw->clock_ns = until_ns;
            status = 0;
            break;
        }
        sw->clock_ns = next;
        run_now(sw);
    }
    if (sw->captured) sw_captures_flush(sw);
    sw_unlock(sw);
    return status;
}

int sw_inject(struct sw_switch *sw, uint16_t number, const uint8_t *frame, uint32_t length,
              char error[SW_ERROR_BYTES])
{
    error[0] = 0;
    int status = 0;
    sw_lock(sw);
    struct sw_port *port = number < SW_MAX_PORTS ? sw->ports[number] : NULL;
    struct sw_pkt *pkt = NULL;
    if (port == NULL || !port->no_interface) {
        snprintf(error, SW_ERROR_BYTES, "port %u is none of those without interface", number);
        status = -ENODEV;
    } else if (length > SW_MAX_FRAME) {
        snprintf(error, SW_ERROR_BYTES, "a frame of %u bytes is longer than %d", length,
                 SW_MAX_FRAME);
        status = -EMSGSIZE;
    } else if (sw->instance != NULL) {
        pkt = sw_pkt_copy_bytes(&sw->pool, frame, length);
    }
    if (pkt != NULL) {
        port->stats.rx_packets++;
        port->stats.rx_bytes += length;
        sw_captured(sw, port, false, pkt);
        sw_receive(sw, pkt, number);
    } else if (status == 0) {
        port->stats.rx_dropped++; /* no program, or no room, as at an interface */
    }
    if (sw->manual) sw_run_due(sw);
    if (sw->captured) sw_captures_flush(sw);
    sw_unlock(sw);
    return status;
}

int sw_departed(struct sw_switch *sw, struct sw_event *event, uint8_t *data, uint32_t capacity)
{
    int status = sw_events_get(&sw->departed, 0, event, data, capacity);
    return status < 0 ? 0 : status;
}
