/* What happens to a packet around the program's two halves: simple_switch's after-ingress and after-egress rules.
 *
 * Work is bounded: packets that re-enter go to `input` and are taken up one turn later, and a turn is what was there
 * when it began. So a packet that recirculates for ever costs its share and no more. */
#include <string.h>

#include "internal.h"

static const struct sw_requests NO_REQUESTS = {SW_NONE, SW_NONE, SW_NONE, SW_NONE, SW_NONE, 0};

/* The state that a half starts from. */
static struct sw_instance *begin(struct sw_switch *sw, struct sw_pkt *pkt)
{
    pkt->p.req = NO_REQUESTS;
    sw->instance->now_us = sw_now_us(sw);
    return sw->instance;
}

static void note_truncation(struct sw_pkt *pkt)
{
    uint32_t to = pkt->p.req.truncate_to;
    if (to != 0 && to < pkt->truncate_to) pkt->truncate_to = to;
}

static void enqueue(struct sw_switch *sw, struct sw_pkt *pkt, uint32_t number)
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
    pkt->p.std.enq_timestamp = (uint32_t)sw_now_us(sw);
    pkt->p.std.enq_qdepth = port->queues[queue].packets.count & 0x7ffffu; /* bit<19> */
    if (!sw_tm_enqueue(port, queue, pkt, sw->now_ns)) sw_pkt_free(&sw->pool, pkt);
}

/* A copy with headers and metadata; what BMv2 resets in every copy (truncation) is reset. */
static struct sw_pkt *copy_of(struct sw_switch *sw, const struct sw_pkt *pkt)
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

/* Consumes pkt: it becomes the last replica. */
static void replicate(struct sw_switch *sw, struct sw_pkt *pkt, const struct sw_group *group)
{
    pkt->truncate_to = group->truncate_to != 0 ? group->truncate_to : UINT32_MAX;
    for (uint32_t i = 0; i < group->n; i++) {
        struct sw_pkt *copy = i + 1 == group->n ? pkt : copy_of(sw, pkt);
        if (copy == NULL) continue;
        copy->truncate_to = pkt->truncate_to;
        copy->p.std.egress_rid = group->replicas[i].instance;
        enqueue(sw, copy, group->replicas[i].port);
    }
}

static void reset_metadata(const struct sw_switch *sw, struct sw_pkt *pkt)
{
    uint32_t from = sw->instance->program->metadata_offset;
    memset((char *)pkt->p.phv + from, 0, sw->pool.phv_size - from);
    pkt->p.std = (struct sw_std){0};
}

static void preserve(const struct sw_switch *sw, int32_t list, const struct sw_pkt *from, struct sw_pkt *to,
                     enum sw_instance_type type)
{
    if (list > 0) sw->instance->program->copy_list(list, &from->p, &to->p);
    to->p.std.instance_type = type;
}

/* The frame as it entered ingress, parsed again, with the final values of the field list. */
static void clone_ingress(struct sw_switch *sw, struct sw_pkt *pkt)
{
    const struct sw_group *session = sw_pre_find(&sw->clones, (uint32_t)pkt->p.req.clone_session);
    if (session == NULL) return;
    struct sw_pkt *clone = sw_pkt_copy_bytes(&sw->pool, pkt->entered, pkt->entered_length);
    if (clone == NULL) return;
    clone->passes = pkt->passes;
    clone->p.std.ingress_port = pkt->p.std.ingress_port;
    sw->instance->program->parse(sw->instance, &clone->p);
    reset_metadata(sw, clone);
    preserve(sw, pkt->p.req.clone_list, pkt, clone, SW_INGRESS_CLONE);
    replicate(sw, clone, session);
}

/* Headers as egress left them; the metadata of the field list. */
static void clone_egress(struct sw_switch *sw, struct sw_pkt *pkt)
{
    const struct sw_group *session = sw_pre_find(&sw->clones, (uint32_t)pkt->p.req.clone_session);
    if (session == NULL) return;
    struct sw_pkt *clone = copy_of(sw, pkt);
    if (clone == NULL) return;
    reset_metadata(sw, clone);
    preserve(sw, pkt->p.req.clone_list, pkt, clone, SW_EGRESS_CLONE);
    replicate(sw, clone, session);
}

static void digest(struct sw_switch *sw, const struct sw_pkt *pkt)
{
    uint8_t packed[4096];
    int32_t list = pkt->p.req.digest_list;
    uint32_t length = sw->instance->program->pack_digest(list, &pkt->p, packed, sizeof packed);
    sw_events_put(&sw->events, SW_EVENT_DIGEST, (uint32_t)list, packed, length, sw_now_ns(sw));
}

/* Back to the parser with pkt's frame. Headers and metadata but for the list's fields are gone. */
static void reenter(struct sw_switch *sw, struct sw_pkt *pkt, int32_t list, enum sw_instance_type type)
{
    uint16_t came_in = pkt->p.std.ingress_port;
    struct sw_pkt *fresh = sw_pkt_successor(&sw->pool, pkt);
    if (fresh != NULL) {
        preserve(sw, list, pkt, fresh, type);
        fresh->passes = pkt->passes + 1;
        fresh = sw_pkt_recentre(&sw->pool, fresh);
    }
    sw_pkt_free(&sw->pool, pkt);
    if (fresh != NULL) {
        fresh->p.std.packet_length = fresh->p.length;
        fresh->due_ns = sw->now_ns + sw->reentry_ns;
        sw_fifo_push(&sw->input, fresh);
    } else if (sw_port_of(sw, came_in) != NULL) {
        sw_port_of(sw, came_in)->stats.rx_dropped++;
    }
}

static void ingress(struct sw_switch *sw, struct sw_pkt *pkt)
{
    struct sw_instance *instance = begin(sw, pkt);
    pkt->entered = pkt->p.data;
    pkt->entered_length = pkt->p.length_register = pkt->p.length;
    instance->program->ingress(instance, &pkt->p);
    const struct sw_requests *req = &pkt->p.req;
    note_truncation(pkt);
    if (req->clone_session != SW_NONE) clone_ingress(sw, pkt);
    if (req->digest_list != SW_NONE) digest(sw, pkt);
    if (req->resubmit_list != SW_NONE) {
        pkt->p.data = pkt->entered;
        pkt->p.length = pkt->entered_length;
        reenter(sw, pkt, req->resubmit_list, SW_RESUBMIT);
        return;
    }
    if (pkt->p.std.mcast_grp != 0) {
        const struct sw_group *group = sw_pre_find(&sw->groups, pkt->p.std.mcast_grp);
        pkt->p.std.instance_type = SW_REPLICATION;
        if (group != NULL) replicate(sw, pkt, group);
        else sw_pkt_free(&sw->pool, pkt);
        return;
    }
    if (pkt->p.std.egress_spec == sw->drop_port) {
        sw_pkt_free(&sw->pool, pkt);
        return;
    }
    pkt->p.std.instance_type = SW_NORMAL; /* recirculated packets too: BMv2 */
    enqueue(sw, pkt, pkt->p.std.egress_spec);
}

void sw_receive(struct sw_switch *sw, struct sw_pkt *pkt, uint16_t port)
{
    pkt->p.std.ingress_port = port;
    pkt->p.std.packet_length = pkt->p.length;
    pkt->p.std.ingress_global_timestamp = sw_now_us(sw);
    ingress(sw, pkt);
}

void sw_run_input(struct sw_switch *sw)
{
    for (uint32_t n = sw->input.count; n > 0 && sw->input.head->due_ns <= sw->now_ns; n--) {
        ingress(sw, sw_fifo_pop(&sw->input));
    }
}

/* True: to be sent. False: gone. */
static bool egress(struct sw_switch *sw, struct sw_tm_port *port, struct sw_pkt *pkt)
{
    struct sw_instance *instance = begin(sw, pkt);
    struct sw_std *std = &pkt->p.std;
    std->egress_global_timestamp = instance->now_us;
    std->deq_timedelta = (uint32_t)instance->now_us - std->enq_timestamp;
    std->deq_qdepth = port->queues[pkt->queue].packets.count & 0x7ffffu;
    std->qid = pkt->queue & 31;
    std->egress_port = port->port;
    std->egress_spec = (sw->drop_port + 1) & 511; /* anything but a drop */
    std->packet_length = pkt->p.length_register;
    instance->program->egress(instance, &pkt->p);
    const struct sw_requests *req = &pkt->p.req;
    note_truncation(pkt);
    if (req->clone_session != SW_NONE) clone_egress(sw, pkt);
    if (std->egress_spec == sw->drop_port) {
        sw_pkt_free(&sw->pool, pkt);
        return false;
    }
    instance->program->deparse(instance, &pkt->p);
    if (req->recirculate_list != SW_NONE) {
        sw_tm_recirculated(port, pkt, pkt->p.length, sw->now_ns);
        reenter(sw, pkt, req->recirculate_list, SW_RECIRC);
        return false;
    }
    if (pkt->truncate_to < pkt->p.length) pkt->p.length = pkt->truncate_to;
    return true;
}

/* Out of a port without interface. */
static void depart(struct sw_switch *sw, struct sw_port *port, const struct sw_pkt *pkt)
{
    if (!sw_events_put(&sw->departed, SW_EVENT_FRAME, port->port, pkt->p.data, pkt->p.length, sw_now_ns(sw))) {
        port->stats.tx_dropped++;
        if (!port->lossy) sw_say(sw, "port %u: nobody takes the frames that leave; they are lost from now on", port->port);
        port->lossy = true;
        return;
    }
    port->stats.tx_packets++;
    port->stats.tx_bytes += pkt->p.length;
}

static void transmit(struct sw_switch *sw, struct sw_pkt *pkt, uint16_t number)
{
    struct sw_port *port = sw_port_of(sw, number);
    if (sw->cpu_port != 0 && number == sw->cpu_port) {
        sw_events_put(&sw->events, SW_EVENT_PACKET_IN, 0, pkt->p.data, pkt->p.length, sw_now_ns(sw));
    } else if (port != NULL && port->up) {
        sw_port_send(sw, port, pkt);
        return;
    } else if (port != NULL && port->bare) {
        depart(sw, port, pkt);
    } else if (port != NULL) {
        port->stats.tx_dropped++;
    }
    sw_pkt_free(&sw->pool, pkt);
}

void sw_run_port(struct sw_switch *sw, struct sw_tm_port *port)
{
    struct sw_port *out = sw->ports[port->port];
    uint32_t room = SW_BATCH;
    if (out != NULL && out->stuck_ns != 0) room = 0; /* its queues hold what the interface refuses */
    if (port->queued < room) room = port->queued;
    for (; room > 0; room--) {
        struct sw_pkt *pkt = sw_tm_dequeue(&sw->tm, port, sw->now_ns);
        if (pkt == NULL) break;
        if (!egress(sw, port, pkt)) continue;
        bool immediate = sw_tm_immediate(port);
        sw_tm_sent(port, pkt, pkt->p.length);
        if (immediate) transmit(sw, pkt, port->port);
    }
    for (struct sw_pkt *pkt; (pkt = sw_tm_release(port, sw->now_ns)) != NULL;) transmit(sw, pkt, port->port);
}

void sw_flush(struct sw_switch *sw)
{
    sw_tm_flush(&sw->tm, &sw->pool);
    sw_fifo_free(&sw->pool, &sw->input);
    for (uint32_t i = 0; i < sw->n_active; i++) sw_fifo_free(&sw->pool, &sw->ports[sw->active[i]]->out);
}
