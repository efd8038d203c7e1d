/* One hop through a program of any kind: simple_switch's rules around its two halves, as softswitch/csrc/run.c has them
 * for the live switch.
 *
 * A port without a link (the program's internal port) is served at once: what it doesn't recirculate is gone. Here a
 * packet re-enters ingress at the time at which it went round. */
#include <string.h>

#include "packets.h"

enum { MAX_PASSES = 64 /* through ports without a link, one after the other */ };

static const struct sw_requests NO_REQUESTS = {SW_NONE, SW_NONE, SW_NONE, SW_NONE, SW_NONE, 0};

static void ingress(struct vn_net *, struct vn_node *, uint32_t id, uint32_t passes);

static uint64_t now_us(const struct vn_net *net) { return net->now / 1000000; }

/* What a packet has before it is parsed. */
static void reset(const struct vn_net *net, struct sw_packet *p)
{
    memset(p->phv, 0, net->phv_size);
    p->std = (struct sw_std){0};
}

static struct vn_plain *plain_of(struct vn_net *net, uint32_t id)
{
    return (struct vn_plain *)(void *)(vn_packet_at(net, id) + 1);
}

/* Headroom, then the frame. */
static uint8_t *buffer_of(struct vn_net *net, uint32_t id) { return vn_frame(net, vn_packet_at(net, id)) - net->headroom; }

void vn_plain_init(struct vn_net *net, struct vn_packet *packet)
{
    struct vn_plain *plain = (struct vn_plain *)(void *)(packet + 1);
    plain->p.phv = vn_frame(net, packet) - net->headroom - net->phv_size;
}

/* Puts the frame where it belongs, after headers were added or removed. */
static void settle(struct vn_net *net, uint32_t id)
{
    struct sw_packet *p = &plain_of(net, id)->p;
    uint8_t *buffer = buffer_of(net, id), *at = buffer + net->headroom;
    if (p->data == at) return;
    size_t stored = net->headroom + VN_STORED - (size_t)(p->data - buffer);
    memmove(at, p->data, stored < VN_STORED ? stored : VN_STORED);
    p->data = at;
}

/* A copy with headers and metadata, as a new packet: none of its flow's data, but it may have to do with that. */
static uint32_t copy_of(struct vn_net *net, uint32_t id)
{
    uint32_t copy = vn_packet_new(net);
    if (copy == VN_NONE) return VN_NONE;
    *vn_packet_at(net, copy) = *vn_packet_at(net, id);
    vn_packet_at(net, copy)->data = vn_packet_at(net, copy)->held = false;
    struct vn_plain *to = plain_of(net, copy);
    const struct vn_plain *from = plain_of(net, id);
    void *phv = to->p.phv;
    *to = *from;
    to->p.phv = phv;
    memcpy(phv, from->p.phv, net->phv_size);
    memcpy(buffer_of(net, copy), buffer_of(net, id), net->headroom + VN_STORED);
    to->p.data = buffer_of(net, copy) + (from->p.data - buffer_of(net, id));
    return copy;
}

static void reset_metadata(const struct vn_net *net, const struct vn_node *node, struct sw_packet *p)
{
    uint32_t from = node->instance->program->metadata_offset;
    memset((char *)p->phv + from, 0, net->phv_size - from);
    p->std = (struct sw_std){0};
}

static void preserve(const struct vn_node *node, int32_t list, const struct vn_plain *from, struct vn_plain *to,
                     enum sw_instance_type type)
{
    if (list > 0) node->instance->program->copy_list(list, &from->p, &to->p);
    to->p.std.instance_type = type;
}

/* Consumes the packet. */
static void emit(struct vn_net *net, struct vn_node *node, uint32_t number, uint32_t id, uint32_t passes)
{
    struct vn_packet *packet = vn_packet_at(net, id);
    uint32_t link = number < SW_MAX_PORTS ? node->out[number] : VN_NONE, queue = plain_of(net, id)->p.std.priority;
    packet->enq_timestamp = (uint32_t)now_us(net);
    packet->enq_qdepth = 0;
    if (link != VN_NONE && queue < VN_CLASSES) {
        vn_port_admit(net, link, id, queue);
        return;
    }
    if (passes == MAX_PASSES) vn_fail(net, "a packet went round port %u %u times without time going on", number, passes);
    if (passes == MAX_PASSES || number >= SW_MAX_PORTS || queue >= VN_CLASSES) vn_packet_free(net, id);
    else vn_plain_egress(net, node, (uint16_t)number, id, queue, 0, passes + 1);
}

/* Consumes the packet: a copy to each replica. */
static void replicate(struct vn_net *net, struct vn_node *node, uint32_t id, const struct sw_group *group,
                      uint32_t passes)
{
    for (uint32_t i = 0; i < group->n; i++) {
        uint32_t copy = i + 1 < group->n ? copy_of(net, id) : id;
        if (copy == VN_NONE) break;
        struct vn_plain *plain = plain_of(net, copy);
        plain->truncate_to = group->truncate_to != 0 ? group->truncate_to : UINT32_MAX;
        plain->p.std.egress_rid = group->replicas[i].instance;
        emit(net, node, group->replicas[i].port, copy, passes);
    }
    if (group->n == 0) vn_packet_free(net, id);
}

/* The frame as it entered ingress, parsed again, with the final values of the field list. */
static void clone_ingress(struct vn_net *net, struct vn_node *node, uint32_t id, const uint8_t *entered, uint32_t passes)
{
    const struct vn_plain *plain = plain_of(net, id);
    const struct sw_group *session = sw_pre_find(&node->sw->clones, (uint32_t)plain->p.req.clone_session);
    uint32_t copy = session == NULL ? VN_NONE : copy_of(net, id);
    if (copy == VN_NONE) return;
    struct vn_plain *clone = plain_of(net, copy);
    clone->p.data = buffer_of(net, copy) + (entered - buffer_of(net, id));
    clone->p.length = clone->p.length_register = plain->p.ingress_length;
    clone->p.req = NO_REQUESTS;
    reset(net, &clone->p);
    clone->p.std.ingress_port = plain->p.std.ingress_port;
    node->instance->program->parse(node->instance, &clone->p);
    reset_metadata(net, node, &clone->p);
    preserve(node, plain->p.req.clone_list, plain, clone, SW_INGRESS_CLONE);
    replicate(net, node, copy, session, passes);
}

/* Headers as egress left them; the metadata of the field list. */
static void clone_egress(struct vn_net *net, struct vn_node *node, uint32_t id, uint32_t passes)
{
    const struct vn_plain *plain = plain_of(net, id);
    const struct sw_group *session = sw_pre_find(&node->sw->clones, (uint32_t)plain->p.req.clone_session);
    uint32_t copy = session == NULL ? VN_NONE : copy_of(net, id);
    if (copy == VN_NONE) return;
    struct vn_plain *clone = plain_of(net, copy);
    reset_metadata(net, node, &clone->p);
    preserve(node, plain->p.req.clone_list, plain, clone, SW_EGRESS_CLONE);
    replicate(net, node, copy, session, passes);
}

/* Back to the parser with the packet's frame. Headers and metadata but for the list's fields are gone. */
static void reenter(struct vn_net *net, struct vn_node *node, uint32_t id, int32_t list, enum sw_instance_type type,
                    uint32_t passes)
{
    uint32_t before = copy_of(net, id);
    if (before == VN_NONE) return;
    struct vn_plain *plain = plain_of(net, id);
    reset(net, &plain->p);
    preserve(node, list, plain_of(net, before), plain, type);
    vn_packet_free(net, before);
    settle(net, id);
    plain->p.std.packet_length = plain->p.length;
    ingress(net, node, id, passes);
}

static void note_truncation(struct vn_plain *plain)
{
    uint32_t to = plain->p.req.truncate_to;
    if (to != 0 && to < plain->truncate_to) plain->truncate_to = to;
}

static void ingress(struct vn_net *net, struct vn_node *node, uint32_t id, uint32_t passes)
{
    struct vn_plain *plain = plain_of(net, id);
    struct sw_packet *p = &plain->p;
    struct sw_instance *instance = node->instance;
    uint8_t *entered = p->data;
    uint32_t entered_length = p->length;
    p->req = NO_REQUESTS;
    p->length_register = p->length;
    vn_packet_at(net, id)->bytes = (uint16_t)p->length;
    instance->now_us = now_us(net);
    instance->program->ingress(instance, p);
    note_truncation(plain);
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

void vn_plain_ingress(struct vn_net *net, struct vn_node *node, uint16_t port, uint32_t id)
{
    struct vn_plain *plain = plain_of(net, id);
    struct sw_packet *p = &plain->p;
    reset(net, p);
    p->data = vn_frame(net, vn_packet_at(net, id));
    p->length = p->std.packet_length = vn_packet_at(net, id)->bytes;
    p->std.ingress_port = port;
    p->std.ingress_global_timestamp = now_us(net);
    plain->truncate_to = UINT32_MAX;
    ingress(net, node, id, 0);
}

enum vn_verdict vn_plain_egress(struct vn_net *net, struct vn_node *node, uint16_t port, uint32_t id, uint32_t queue,
                                uint32_t left, uint32_t passes)
{
    struct vn_packet *packet = vn_packet_at(net, id);
    struct vn_plain *plain = plain_of(net, id);
    struct sw_packet *p = &plain->p;
    struct sw_instance *instance = node->instance;
    p->req = NO_REQUESTS;
    instance->now_us = now_us(net);
    p->std.egress_global_timestamp = instance->now_us;
    p->std.enq_timestamp = packet->enq_timestamp;
    p->std.enq_qdepth = packet->enq_qdepth;
    p->std.deq_timedelta = (uint32_t)instance->now_us - packet->enq_timestamp;
    p->std.deq_qdepth = left & 0x7ffffu; /* bit<19> */
    p->std.qid = (uint8_t)queue;
    p->std.egress_port = port;
    p->std.egress_spec = (instance->drop_port + 1) & 511; /* anything but a drop */
    p->std.packet_length = p->length_register;
    instance->program->egress(instance, p);
    note_truncation(plain);
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
    settle(net, id);
    packet->bytes = (uint16_t)(plain->truncate_to < p->length ? plain->truncate_to : p->length);
    return VN_SEND;
}
