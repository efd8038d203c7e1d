/* One hop: simple_switch's rules around the two halves of a program, as softswitch/csrc/run.c has them for the live switch.
 *
 * A port without a link (the program's internal port) is served at once: what it doesn't recirculate is gone. Here a
 * packet re-enters ingress at the time at which it went round. */
#include <string.h>

#include "net.h"

enum { MAX_PASSES = 64 /* through ports without a link, one after the other */ };

static const struct sw_requests NO_REQUESTS = {SW_NONE, SW_NONE, SW_NONE, SW_NONE, SW_NONE, 0};

static void ingress(struct vn_net *, struct vn_node *, uint32_t id, uint32_t passes);

static inline uint64_t now_us(const struct vn_net *net) { return net->now / 1000000; }

/* What a packet has before it is parsed. */
static void reset(const struct vn_net *net, struct sw_packet *p)
{
    memset(p->phv, 0, net->phv_size);
    p->std = (struct sw_std){0};
}

/* Makes headroom before the frame again, after headers were added. */
static void recentre(const struct vn_net *net, struct vn_packet *packet)
{
    uint8_t *buffer = vn_packet_buffer(net, packet), *at = buffer + net->headroom;
    if (packet->p.data == at) return;
    size_t stored = net->headroom + VN_HEADER_BYTES - (size_t)(packet->p.data - buffer);
    if (stored > VN_HEADER_BYTES) stored = VN_HEADER_BYTES;
    memmove(at, packet->p.data, stored);
    packet->p.data = at;
}

static void reset_metadata(const struct vn_net *net, const struct vn_node *node, struct sw_packet *p)
{
    uint32_t from = node->instance->program->metadata_offset;
    memset((char *)p->phv + from, 0, net->phv_size - from);
    p->std = (struct sw_std){0};
}

static void preserve(const struct vn_node *node, int32_t list, const struct vn_packet *from, struct vn_packet *to,
                     enum sw_instance_type type)
{
    if (list > 0) node->instance->program->copy_list(list, &from->p, &to->p);
    to->p.std.instance_type = type;
}

/* Consumes the packet. */
static void emit(struct vn_net *net, struct vn_node *node, uint32_t number, uint32_t id, uint32_t passes)
{
    struct vn_packet *packet = vn_packet_at(net, id);
    uint32_t link = number < SW_MAX_PORTS ? node->out[number] : VN_NONE, queue = packet->p.std.priority;
    packet->p.std.enq_timestamp = (uint32_t)now_us(net);
    if (link != VN_NONE && queue < VN_CLASSES) {
        vn_port_admit(net, link, id, queue);
        return;
    }
    packet->p.std.enq_qdepth = 0;
    if (passes == MAX_PASSES) vn_fail(net, "a packet went round port %u %u times without time going on", number, passes);
    if (passes == MAX_PASSES || number >= SW_MAX_PORTS || queue >= VN_CLASSES) vn_packet_free(net, id);
    else vn_hop_egress(net, node, (uint16_t)number, id, queue, 0, passes + 1);
}

/* Consumes the packet: a copy to each replica. */
static void replicate(struct vn_net *net, struct vn_node *node, uint32_t id, const struct sw_group *group,
                      uint32_t passes)
{
    for (uint32_t i = 0; i < group->n; i++) {
        uint32_t copy = id;
        if (i + 1 < group->n) {
            copy = vn_packet_copy(net, id);
            if (copy == VN_NONE) break;
        }
        struct vn_packet *packet = vn_packet_at(net, copy);
        packet->truncate_to = group->truncate_to != 0 ? group->truncate_to : UINT32_MAX;
        packet->p.std.egress_rid = group->replicas[i].instance;
        emit(net, node, group->replicas[i].port, copy, passes);
    }
    if (group->n == 0) vn_packet_free(net, id);
}

/* The frame as it entered ingress, parsed again, with the final values of the field list. */
static void clone_ingress(struct vn_net *net, struct vn_node *node, uint32_t id, uint8_t *entered, uint32_t passes)
{
    const struct vn_packet *packet = vn_packet_at(net, id);
    const struct sw_group *session = sw_pre_find(&node->sw->clones, (uint32_t)packet->p.req.clone_session);
    uint32_t copy = session == NULL ? VN_NONE : vn_packet_new(net);
    if (copy == VN_NONE) return;
    struct vn_packet *clone = vn_packet_at(net, copy);
    memcpy(clone->p.data, entered, VN_HEADER_BYTES);
    clone->flow = VN_NONE;
    clone->in_link = packet->in_link;
    clone->p.length = clone->p.length_register = packet->p.ingress_length;
    clone->p.req = NO_REQUESTS;
    reset(net, &clone->p);
    clone->p.std.ingress_port = packet->p.std.ingress_port;
    node->instance->program->parse(node->instance, &clone->p);
    reset_metadata(net, node, &clone->p);
    preserve(node, packet->p.req.clone_list, packet, clone, SW_INGRESS_CLONE);
    replicate(net, node, copy, session, passes);
}

/* Headers as egress left them; the metadata of the field list. */
static void clone_egress(struct vn_net *net, struct vn_node *node, uint32_t id, uint32_t passes)
{
    const struct vn_packet *packet = vn_packet_at(net, id);
    const struct sw_group *session = sw_pre_find(&node->sw->clones, (uint32_t)packet->p.req.clone_session);
    uint32_t copy = session == NULL ? VN_NONE : vn_packet_copy(net, id);
    if (copy == VN_NONE) return;
    struct vn_packet *clone = vn_packet_at(net, copy);
    reset_metadata(net, node, &clone->p);
    preserve(node, packet->p.req.clone_list, packet, clone, SW_EGRESS_CLONE);
    replicate(net, node, copy, session, passes);
}

/* Back to the parser with the packet's frame. Headers and metadata but for the list's fields are gone. */
static void reenter(struct vn_net *net, struct vn_node *node, uint32_t id, int32_t list, enum sw_instance_type type,
                    uint32_t passes)
{
    uint32_t before = vn_packet_copy(net, id);
    if (before == VN_NONE) return;
    struct vn_packet *packet = vn_packet_at(net, id);
    reset(net, &packet->p);
    preserve(node, list, vn_packet_at(net, before), packet, type);
    vn_packet_free(net, before);
    recentre(net, packet);
    packet->p.std.packet_length = packet->p.length;
    ingress(net, node, id, passes);
}

static void note_truncation(struct vn_packet *packet)
{
    uint32_t to = packet->p.req.truncate_to;
    if (to != 0 && to < packet->truncate_to) packet->truncate_to = to;
}

static void ingress(struct vn_net *net, struct vn_node *node, uint32_t id, uint32_t passes)
{
    struct vn_packet *packet = vn_packet_at(net, id);
    struct sw_packet *p = &packet->p;
    struct sw_instance *instance = node->instance;
    uint8_t *entered = p->data;
    uint32_t entered_length = p->length;
    p->req = NO_REQUESTS;
    p->length_register = p->length;
    instance->now_us = now_us(net);
    instance->program->ingress(instance, p);
    note_truncation(packet);
    if (p->req.clone_session != SW_NONE) clone_ingress(net, node, id, entered, passes);
    if (p->req.resubmit_list != SW_NONE) {
        p->data = entered;
        p->length = entered_length;
        reenter(net, node, id, p->req.resubmit_list, SW_RESUBMIT, passes + 1);
        return;
    }
    if (p->std.mcast_grp != 0) {
        const struct sw_group *group = sw_pre_find(&node->sw->groups, p->std.mcast_grp);
        p->std.instance_type = SW_REPLICATION;
        if (group != NULL) replicate(net, node, id, group, passes);
        else vn_packet_free(net, id);
        return;
    }
    if (p->std.egress_spec == instance->drop_port) {
        net->dropped++;
        vn_packet_free(net, id);
        return;
    }
    p->std.instance_type = SW_NORMAL; /* recirculated packets too: BMv2 */
    emit(net, node, p->std.egress_spec, id, passes);
}

void vn_hop_ingress(struct vn_net *net, struct vn_node *node, uint16_t port, uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(net, id);
    packet->held = false;
    recentre(net, packet);
    reset(net, &packet->p);
    packet->p.std.ingress_port = port;
    packet->p.std.packet_length = packet->p.length;
    packet->p.std.ingress_global_timestamp = now_us(net);
    net->traversals++;
    ingress(net, node, id, 0);
}

enum vn_verdict vn_hop_egress(struct vn_net *net, struct vn_node *node, uint16_t port, uint32_t id, uint32_t queue,
                              uint32_t left, uint32_t passes)
{
    struct vn_packet *packet = vn_packet_at(net, id);
    struct sw_packet *p = &packet->p;
    struct sw_instance *instance = node->instance;
    p->req = NO_REQUESTS;
    instance->now_us = now_us(net);
    p->std.egress_global_timestamp = instance->now_us;
    p->std.deq_timedelta = (uint32_t)instance->now_us - p->std.enq_timestamp;
    p->std.deq_qdepth = left & 0x7ffffu; /* bit<19> */
    p->std.qid = (uint8_t)queue;
    p->std.egress_port = port;
    p->std.egress_spec = (instance->drop_port + 1) & 511; /* anything but a drop */
    p->std.packet_length = p->length_register;
    instance->program->egress(instance, p);
    note_truncation(packet);
    if (p->req.clone_session != SW_NONE) clone_egress(net, node, id, passes);
    if (p->std.egress_spec == instance->drop_port) {
        net->dropped++;
        vn_packet_free(net, id);
        return VN_GONE;
    }
    instance->program->deparse(instance, p);
    if (p->req.recirculate_list != SW_NONE) {
        reenter(net, node, id, p->req.recirculate_list, SW_RECIRC, passes);
        return VN_AGAIN;
    }
    if (node->out[port] == VN_NONE) {
        vn_packet_free(net, id);
        return VN_GONE;
    }
    if (packet->truncate_to < p->length) p->length = packet->truncate_to;
    p->length_register = p->length;
    return VN_SEND;
}
