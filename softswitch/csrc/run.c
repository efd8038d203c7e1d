/* A packet's way through the live switch: rules.h decides, this file has the queues in between.
 *
 * Work is bounded: resubmitted and recirculated packets go to `input`. An iteration serves it
 * once (sw_run_input), and only the packets that wait in it then: what these send back waits for
 * the next one. So a packet that recirculates for ever can't block others. */
#include <string.h>

#include "internal.h"

typedef struct sw_switch rules_switch;
typedef struct sw_pkt *rules_packet;
#define RULES_NONE NULL
#include "rules.h"

static struct sw_instance *rules_instance(struct sw_switch *sw) { return sw->instance; }
static const struct sw_pre *rules_groups(struct sw_switch *sw) { return &sw->groups; }
static const struct sw_pre *rules_clone_sessions(struct sw_switch *sw) { return &sw->clones; }
static uint64_t rules_now(struct sw_switch *sw) { return sw_now(sw); }
static struct sw_packet *rules_view(struct sw_switch *sw, struct sw_pkt *pkt)
{
    return (void)sw, &pkt->p;
}
static uint32_t *rules_truncate_to(struct sw_switch *sw, struct sw_pkt *pkt)
{
    return (void)sw, &pkt->truncate_to;
}
static void rules_drop(struct sw_switch *sw, struct sw_pkt *pkt) { sw_pkt_free(&sw->pool, pkt); }
static void rules_drop_ungrouped(struct sw_switch *sw, struct sw_pkt *pkt) { rules_drop(sw, pkt); }

static void rules_enqueue(struct sw_switch *sw, struct sw_pkt *pkt, uint32_t number)
{
    struct sw_tm_port *port = sw_tm_port(&sw->tm, number);
    uint32_t queue = pkt->p.std.priority;
    if (port == NULL || queue >= sw->tm.priorities) {
        struct sw_port *counted = sw_port_of(sw, number);
        if (counted != NULL) counted->stats.queue_dropped++;
        sw_pkt_free(&sw->pool, pkt);
        return;
    }
    pkt->port = (uint16_t)number;
    pkt->p.std.enq_timestamp = (uint32_t)sw_now(sw);
    pkt->p.std.enq_qdepth = port->queues[queue].packets.count & 0x7ffffu; /* bit<19> */
    if (!sw_tm_enqueue(port, queue, pkt, sw->clock_ns)) sw_pkt_free(&sw->pool, pkt);
}

static struct sw_pkt *rules_copy(struct sw_switch *sw, struct sw_pkt *pkt)
{
    struct sw_pkt *copy = sw_pkt_copy_bytes(&sw->pool, pkt->p.data, pkt->p.length);
    if (copy == NULL) return NULL;
    memcpy(copy->p.phv, pkt->p.phv, sw->pool.phv_size);
    copy->p.std = pkt->p.std;
    copy->p.length_register = pkt->p.length_register;
    copy->p.ingress_length = pkt->p.ingress_length;
    copy->passes = pkt->passes;
    return copy;
}

static struct sw_pkt *rules_copy_unparsed(struct sw_switch *sw, struct sw_pkt *pkt,
                                          const uint8_t *frame, uint32_t length)
{
    struct sw_pkt *copy = sw_pkt_copy_bytes(&sw->pool, frame, length);
    if (copy == NULL) return NULL;
    copy->passes = pkt->passes;
    copy->p.std.ingress_port = pkt->p.std.ingress_port;
    return copy;
}

static void rules_digest(struct sw_switch *sw, struct sw_pkt *pkt)
{
    uint8_t packed[4096];
    int32_t list = pkt->p.req.digest_list;
    uint32_t length = sw->instance->program->pack_digest(list, &pkt->p, packed, sizeof packed);
    sw_events_put(&sw->events, SW_EVENT_DIGEST, (uint32_t)list, packed, length, sw_now_ns(sw));
}

static void rules_reenter(struct sw_switch *sw, struct sw_pkt *pkt, int32_t list,
                          enum sw_instance_type type)
{
    uint16_t ingress_port = pkt->p.std.ingress_port;
    if (type == SW_RECIRC)
        sw_tm_recirculated(sw_tm_port(&sw->tm, pkt->port), pkt, pkt->p.length, sw->clock_ns);
    struct sw_pkt *fresh = sw_pkt_take_frame(&sw->pool, pkt);
    if (fresh != NULL) {
        rules_preserve(sw, list, &pkt->p, &fresh->p, type);
        fresh->passes = pkt->passes + 1;
        fresh = sw_pkt_restore_headroom(&sw->pool, fresh);
    }
    sw_pkt_free(&sw->pool, pkt);
    if (fresh != NULL) {
        fresh->p.std.packet_length = fresh->p.length;
        fresh->due_ns = sw->clock_ns + sw->reentry_ns;
        sw_fifo_push(&sw->input, fresh);
    } else if (sw_port_of(sw, ingress_port) != NULL) {
        sw_port_of(sw, ingress_port)->stats.rx_dropped++;
    }
}

void sw_refuse(struct sw_switch *sw, struct sw_pkt *pkt, uint16_t port)
{
    struct sw_port *in = sw->ports[port];
    if (in != NULL) in->stats.rx_dropped++;
    if (in != NULL && in->present) { /* it was counted as one that has come in */
        in->stats.rx_packets--;
        in->stats.rx_bytes -= pkt->p.length;
    }
    sw_pkt_free(&sw->pool, pkt);
}

void sw_receive_at(struct sw_switch *sw, struct sw_pkt *pkt, uint16_t port, uint64_t at_ns)
{
    if (sw->engine != NULL) {
        sw->engine->receive(sw->engine, pkt, port);
        return;
    }
    pkt->p.std.ingress_port = port;
    pkt->p.std.packet_length = pkt->p.length;
    pkt->p.std.ingress_global_timestamp = at_ns / sw->tick_ns;
    rules_ingress(sw, pkt);
}

void sw_receive(struct sw_switch *sw, struct sw_pkt *pkt, uint16_t port)
{
    sw_receive_at(sw, pkt, port, sw_now_ns(sw));
}

void sw_run_input(struct sw_switch *sw)
{
    for (uint32_t n = sw->input.count; n > 0 && sw->input.head->due_ns <= sw->clock_ns; n--) {
        struct sw_pkt *pkt = sw_fifo_pop(&sw->input);
        if (sw->engine != NULL) sw->engine->receive(sw->engine, pkt, pkt->p.std.ingress_port);
        else rules_ingress(sw, pkt);
    }
}

/* Adds a frame that leaves a port without interface to `departed`. */
static void depart(struct sw_switch *sw, struct sw_port *port, const struct sw_pkt *pkt)
{
    if (!sw_events_put(&sw->departed, SW_EVENT_FRAME, port->port, pkt->p.data, pkt->p.length,
                       sw_now_ns(sw))) {
        port->stats.tx_dropped++;
        if (!port->loss_logged)
            sw_notice(sw, "port %u: nobody takes the frames that leave; they are lost from now on",
                      port->port);
        port->loss_logged = true;
        return;
    }
    port->stats.tx_packets++;
    port->stats.tx_bytes += pkt->p.length;
    sw_captured(sw, port, true, pkt);
}

static void transmit(struct sw_switch *sw, struct sw_pkt *pkt, uint16_t number)
{
    struct sw_port *port = sw_port_of(sw, number);
    if (sw->cpu_port != 0 && number == sw->cpu_port) {
        sw_events_put(&sw->events, SW_EVENT_PACKET_IN, 0, pkt->p.data, pkt->p.length,
                      sw_now_ns(sw));
    } else if (port != NULL && port->open) {
        sw_port_send(sw, port, pkt);
        return;
    } else if (port != NULL && port->no_interface) {
        depart(sw, port, pkt);
    } else if (port != NULL) {
        port->stats.tx_dropped++;
    }
    sw_pkt_free(&sw->pool, pkt);
}

static inline void start_frame(struct sw_switch *sw, struct sw_tm_port *port,
                               struct sw_port *memory, struct sw_pkt *pkt)
{
    if (memory != NULL) {
        sw_tm_timed(port, pkt, pkt->p.length);
        sw_port_deliver(sw, memory, pkt);
        return;
    }
    if (sw_tm_immediate(port)) transmit(sw, pkt, port->port);
    else sw_tm_sent(port, pkt, pkt->p.length);
}

void sw_start_frame(struct sw_switch *sw, struct sw_tm_port *port, struct sw_pkt *pkt)
{
    struct sw_port *out = sw->ports[port->port];
    bool in_memory = out != NULL && out->channel_out != NULL && sw_port_in_memory(out, port);
    start_frame(sw, port, in_memory ? out : NULL, pkt);
}

void sw_serve_port(struct sw_switch *sw, struct sw_tm_port *port)
{
    struct sw_port *out = sw->ports[port->port];
    uint32_t room = SW_BATCH;
    /* backpressure: the interface refuses frames */
    if (out != NULL && out->blocked_ns != 0) room = 0;
    bool in_memory = out != NULL && sw_port_in_memory(out, port);
    if (in_memory && sw_port_full(out)) room = 0;
    if (port->queued < room) room = port->queued;
    for (; room > 0; room--) {
        struct sw_pkt *pkt = sw_tm_dequeue(&sw->tm, port, sw->clock_ns);
        if (pkt == NULL) break;
        uint32_t deq_qdepth = port->queues[pkt->queue].packets.count;
        if (rules_egress(sw, pkt, port->port, pkt->queue, deq_qdepth) != RULES_SEND) continue;
        if (pkt->truncate_to < pkt->p.length) pkt->p.length = pkt->truncate_to;
        if (pkt->trimmed && !sw_trim(pkt->p.data, pkt->p.length, port->trimming.dscp_value)) {
            port->dropped++;
            port->trimmed--;
            sw_pkt_free(&sw->pool, pkt);
            continue;
        }
        start_frame(sw, port, in_memory ? out : NULL, pkt);
        if (in_memory && sw_port_full(out)) break;
    }
}

void sw_run_port(struct sw_switch *sw, struct sw_tm_port *port)
{
    sw_serve_port(sw, port);
    for (struct sw_pkt *pkt; (pkt = sw_tm_release(port, sw->clock_ns)) != NULL;) {
        sw_pace_note(&sw->pace, sw->clock_ns, pkt->due_ns);
        transmit(sw, pkt, port->port);
    }
}

void sw_flush(struct sw_switch *sw)
{
    if (sw->engine != NULL) sw->engine->flush(sw->engine);
    sw_tm_flush(&sw->tm, &sw->pool);
    sw_fifo_free(&sw->pool, &sw->input);
    for (uint32_t i = 0; i < sw->n_active; i++)
        sw_fifo_free(&sw->pool, &sw->ports[sw->active[i]]->out);
}
