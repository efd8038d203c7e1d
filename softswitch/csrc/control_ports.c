/* The control plane's calls: replication, ports, packet-out, events. Each, but for sw_next_event,
 * takes the lock, checks its arguments and calls the module in charge. */
#include <errno.h>
#include <stdio.h>

#include "internal.h"

static int set_group(struct sw_switch *sw, struct sw_pre *pre, uint32_t id,
                     const struct sw_replica *replicas, uint32_t n, uint32_t truncate_to,
                     char *error)
{
    for (uint32_t i = 0; i < n; i++) {
        if (replicas[i].port >= SW_MAX_PORTS) {
            snprintf(error, SW_ERROR_BYTES, "replica %u: port %u is beyond %d", i, replicas[i].port,
                     SW_MAX_PORTS - 1);
            return -EINVAL;
        }
    }
    sw_lock(sw);
    int status = sw_pre_set(pre, id, replicas, n, truncate_to);
    sw_unlock(sw);
    return sw_say(error, status,
                  status == 0         ? ""
                  : status == -ENOENT ? "nothing to delete"
                                      : "out of memory");
}

int sw_clone_session(struct sw_switch *sw, uint32_t session, const struct sw_replica *replicas,
                     uint32_t n, uint32_t truncate_to, char error[SW_ERROR_BYTES])
{
    return set_group(sw, &sw->clones, session, replicas, n, truncate_to, error);
}

int sw_multicast_group(struct sw_switch *sw, uint32_t group, const struct sw_replica *replicas,
                       uint32_t n, char error[SW_ERROR_BYTES])
{
    return set_group(sw, &sw->groups, group, replicas, n, 0, error);
}

/* With the lock held, which it gives back: with a higher rate, packets may be due at once. */
static int shaped(struct sw_switch *sw, bool there, char *error)
{
    if (sw->manual) sw_run_due(sw);
    sw_unlock(sw);
    if (!sw->manual) sw_wake(sw);
    return there ? 0 : sw_say(error, -EINVAL, "no such port number, or out of memory");
}

/* A port's queues, or those of all (number < 0), were set. */
static void set_engine_ports(struct sw_switch *sw, int number)
{
    for (uint32_t i = 0; sw->engine != NULL && i < sw->tm.n_active; i++) {
        if (number < 0 || sw->tm.active[i] == number) sw->engine->set(sw->engine, sw->tm.active[i]);
    }
}

int sw_port_shape(struct sw_switch *sw, uint16_t number, uint64_t rate_bps, uint64_t delay_ns,
                  char error[SW_ERROR_BYTES])
{
    error[0] = 0;
    sw_lock(sw);
    struct sw_tm_port *port = sw_tm_port(&sw->tm, number);
    if (port != NULL) sw_tm_shape(port, rate_bps, delay_ns);
    if (port != NULL) set_engine_ports(sw, number);
    return shaped(sw, port != NULL, error);
}

int sw_queue_set(struct sw_switch *sw, int number, int queue, uint64_t depth, uint64_t interval_ns,
                 char error[SW_ERROR_BYTES])
{
    error[0] = 0;
    if (queue >= (int)sw->tm.priorities)
        return sw_say(error, -EINVAL, "the port has no such queue");
    if (depth != SW_AS_IT_IS && depth > UINT32_MAX)
        return sw_say(error, -EINVAL, "a queue has no such depth");
    if (interval_ns != SW_AS_IT_IS && interval_ns > 1000000000)
        return sw_say(error, -EINVAL, "a packet leaves a queue in a second at most");
    sw_lock(sw);
    struct sw_tm_port *port = number < 0 ? NULL : sw_tm_port(&sw->tm, (uint32_t)number);
    bool there = number < 0 || port != NULL;
    if (there)
        sw_tm_set_queue(&sw->tm, port, queue, sw->clock_ns,
                        &(struct sw_queue_setting){depth, interval_ns});
    set_engine_ports(sw, number);
    return shaped(sw, there, error);
}

int sw_set_trimming(struct sw_switch *sw, const struct sw_trimming *trimming)
{
    if (!sw_trimming_possible(trimming) || trimming->queue_index >= sw->tm.priorities)
        return -EINVAL;
    sw_lock(sw);
    sw_tm_trim(&sw->tm, trimming);
    set_engine_ports(sw, -1);
    sw_unlock(sw);
    return 0;
}

int sw_port_stats(struct sw_switch *sw, uint16_t number, struct sw_port_stats *out)
{
    *out = (struct sw_port_stats){0};
    if (number >= SW_MAX_PORTS) return -EINVAL;
    sw_lock(sw);
    const struct sw_port *port = sw->ports[number];
    const struct sw_tm_port *queues = sw->tm.ports[number];
    if (port != NULL) {
        *out = port->stats;
        if (port->channel_out != NULL)
            out->tx_dropped += __atomic_load_n(&port->channel_out->lost, __ATOMIC_RELAXED);
        out->up = port->open && port->running;
    }
    if (queues != NULL) {
        out->queue_dropped += queues->dropped;
        out->trimmed = queues->trimmed;
        out->in_flight = queues->delay_line.count;
        for (uint32_t q = 0; q < SW_PRIORITIES; q++)
            out->queue_packets[q] = queues->queues[q].packets.count;
        if (sw->engine != NULL) sw->engine->count(sw->engine, number, out);
    }
    sw_unlock(sw);
    return 0;
}

int sw_packet_out(struct sw_switch *sw, uint16_t port, const uint8_t *frame, uint32_t length)
{
    if (port >= SW_MAX_PORTS || length > SW_MAX_FRAME) return -EINVAL;
    int status = -ENOMEM;
    sw_lock(sw);
    struct sw_pkt *pkt = sw->instance == NULL ? NULL : sw_pkt_copy_bytes(&sw->pool, frame, length);
    if (sw->instance == NULL) status = -ENOENT;
    if (pkt != NULL && sw->manual) {
        status = 0;
        sw_receive(sw, pkt, port);
        sw_run_due(sw);
    } else if (pkt != NULL) {
        status = 0;
        pkt->p.std.ingress_port = port;
        pkt->p.std.packet_length = length;
        pkt->p.std.ingress_global_timestamp = sw_call_ns(sw) / sw->tick_ns;
        pkt->due_ns = 0;
        sw_fifo_push(&sw->input, pkt);
    }
    sw_unlock(sw);
    if (status == 0 && !sw->manual) sw_wake(sw);
    return status;
}

int sw_next_event(struct sw_switch *sw, int timeout_ms, struct sw_event *event, uint8_t *data,
                  uint32_t capacity)
{
    return sw_events_get(&sw->events, timeout_ms, event, data, capacity);
}

int sw_fence(struct sw_switch *sw, uint32_t id)
{
    sw_lock(sw);
    bool put = sw_events_put(&sw->events, SW_EVENT_FENCE, id, NULL, 0, sw_now_ns(sw));
    sw_unlock(sw);
    return put ? 0 : -ESHUTDOWN;
}
